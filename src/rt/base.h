// SPDX-License-Identifier: Apache-2.0
//
// What every file of the recorder chain shares: hints to the compiler, and the hash multiplier.
// The recorder chain is freestanding: it runs inside somebody else's process, so nothing here or
// below may call malloc, stdio or anything else of libc that could come back to a hook.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIDE_LIKELY(x) __builtin_expect(!!(x), 1)
#define TIDE_UNLIKELY(x) __builtin_expect(!!(x), 0)
// Hot: inlined into each hook. Cold: kept out of the hooks' cache lines.
#define TIDE_HOT static inline __attribute__((always_inline))
#define TIDE_COLD __attribute__((noinline, cold))
// Large tables, and what is written once, lie behind all small variables, so that those share a
// page (the linker sorts by names of sections): a fork child gets a copy of each page that it or
// its parent writes.
#define TIDE_BULKY __attribute__((section(".bss.bulky")))
// The one bulky table whose first entries every fork child writes: they share the page of the small
// variables, where there is room.
#define TIDE_BULKY_FIRST __attribute__((section(".bss.bulk")))

TIDE_HOT uint64_t tide_mix64(uint64_t x)
{
  return x * 0x9E3779B97F4A7C15ull;
}

// Number of significant bits: 0 for 0, 1 for 1, 2 for 2..3.
TIDE_HOT uint32_t tide_bits(uint64_t x)
{
  return x ? 64 - (uint32_t)__builtin_clzll(x) : 0;
}

struct tide_range { // of addresses
  uint64_t start, bytes;
};

// Atomics are named by their order, so that a release is easily matched with its acquire.
#define tide_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define tide_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define tide_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define tide_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define tide_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define tide_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
