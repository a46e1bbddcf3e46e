// SPDX-License-Identifier: Apache-2.0
//
// A heap of Go's, written by its own profiler: as pprof, and as text.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

//go:noinline
func hold(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 4096))
	}
}

//go:noinline
func churn(n int) {
	for i := 0; i < n; i++ {
		block := make([]byte, 1<<16)
		block[i] = 1
		kept[0] = block[:1]
	}
}

func write(path string, debug int) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	pprof.Lookup("heap").WriteTo(file, debug)
}

func main() {
	runtime.MemProfileRate = 512
	hold(1000)
	churn(200)
	runtime.GC()
	write(os.Args[1], 0)
	write(os.Args[2], 1)
}
