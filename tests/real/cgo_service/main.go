// SPDX-License-Identifier: Apache-2.0
//
// For each word on stdin, eight goroutines allocate a thousand blocks of 100 bytes each in C, and
// free every other one.
package main

/*
#include <stdlib.h>
#include <string.h>

static void *keep(size_t n)
{
  void *p = malloc(n);
  memset(p, 1, n);
  return p;
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"sync"
)

func part(done *sync.WaitGroup) {
	for i := 0; i < 1000; i++ {
		p := C.keep(100)
		if i%2 == 0 {
			C.free(p)
		}
	}
	done.Done()
}

func main() {
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	for {
		if _, err := in.ReadByte(); err != nil {
			return
		}
		var done sync.WaitGroup
		done.Add(8)
		for k := 0; k < 8; k++ {
			go part(&done)
		}
		done.Wait()
		fmt.Println("ok")
	}
}
