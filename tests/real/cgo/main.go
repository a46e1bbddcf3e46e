// SPDX-License-Identifier: Apache-2.0

// Goroutines on several threads allocate in C: from shallow and deep stacks, which grow and so
// move, and from a Go function that C calls back. Every block has a line of Go to blame.
package main

/*
#include <stdlib.h>
static void *take(size_t n) { return malloc(n); }
void walk(void *list, int n);
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

const (
	workers = 8
	rounds  = 200
)

//go:noinline
func leaky(n int) unsafe.Pointer {
	return C.take(C.size_t(n))
}

//go:noinline
func decode() {
	block := C.malloc(300)
	C.free(block)
}

//go:noinline
func deep(level int) byte {
	var room [64]byte
	room[level%64] = byte(level)
	if level > 0 {
		return deep(level-1) + room[0]
	}
	decode()
	return room[0]
}

//export visit
func visit(i C.int) {
	block := C.malloc(C.size_t(40 + i))
	C.free(block)
}

//go:noinline
func each() {
	C.walk(nil, 3)
}

func work(id int) {
	if id%2 == 0 {
		runtime.LockOSThread()
	}
	for i := 0; i < rounds; i++ {
		leaky(100)
		deep(i % 40)
		each()
	}
	deep(1500)
}

func main() {
	var wait sync.WaitGroup
	for id := 0; id < workers; id++ {
		wait.Add(1)
		go func(id int) {
			defer wait.Done()
			work(id)
		}(id)
	}
	wait.Wait()
	for i := 0; i < 50; i++ {
		leaky(64)
	}
	fmt.Println("done")
}
