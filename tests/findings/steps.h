// SPDX-License-Identifier: Apache-2.0
//
// What every program here does between its faults: work of many small steps, each of which
// allocates a few blocks of several sizes and frees all of them.
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 1200 }; // about 450 ms in all: the program is looked at every 25 ms
#define APART __attribute__((noinline, noclone))

static volatile unsigned char sink;

// Written to, so that it is in memory.
static void *filled(void *block, size_t bytes)
{
  if (!block)
    abort();
  memset(block, 0x5a, bytes);
  sink = ((unsigned char *)block)[bytes / 2];
  return block;
}

static void nap_us(long us)
{
  nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

// A request, a frame, a line: what is allocated for it goes with it.
APART static void step_work(int step)
{
  void *held[8];
  for (int i = 0; i < 8; i++) {
    size_t bytes = (size_t)(40 + (step * 7 + i * 53) % 400);
    held[i] = filled(malloc(bytes), bytes);
  }
  for (int i = 7; i >= 0; i--)
    free(held[(i * 3) % 8]);
  nap_us(300);
}
