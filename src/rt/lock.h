// SPDX-License-Identifier: Apache-2.0
//
// A spin lock for the recorder's rare slow paths (a new stack, a new rule, a new thread). Held for
// microseconds, never across a call to the allocator. Taken only while the thread is marked busy,
// so a signal handler that interrupts the holder never asks for it. A fork child resets its locks:
// the holder may have stayed behind in the parent.
//
// Yielding is not enough: a real-time thread that yields is run again before the ordinary one that
// holds the lock. Who has waited long sleeps.
#pragma once
#include "rt/sys.h"

struct tide_lock {
  uint32_t held;
};

static inline void tide_lock_take(struct tide_lock *lock)
{
  for (uint32_t spins = 0; __atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE); spins++) {
    long nap[2] = {0, 50000};
    if (spins < 64)
      tide_cpu_relax();
    else if (spins < 96)
      TIDE_SYS(SYS_sched_yield, 0);
    else
      TIDE_SYS(SYS_nanosleep, nap, 0);
  }
}

static inline void tide_lock_drop(struct tide_lock *lock)
{
  tide_store_release(&lock->held, 0);
}
