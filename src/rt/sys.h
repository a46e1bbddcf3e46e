// SPDX-License-Identifier: Apache-2.0
//
// System calls of the recorder, made directly: libc's wrappers write errno, may be interposed, and
// would not be there in a freestanding build. All return -errno on failure.
//
// A program may put a seccomp filter on itself that kills it for a call it does not make, and so
// would we. From the moment it asks for one (tide_sys_confine) not one call of ours reaches the
// kernel: each fails with ENOSYS, and memory comes from what was reserved before.
#pragma once
#include "rt/arch.h"

#include <errno.h>

extern bool tide_sys_confined;
extern uint32_t tide_sys_in_flight; // calls of ours that are under way

// Either the call sees the flag, or tide_sys_confine() sees the call and waits for its end: both
// sides write first and look then, in one order for all.
static inline long tide_sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
  __atomic_fetch_add(&tide_sys_in_flight, 1, __ATOMIC_SEQ_CST);
  long ret = __atomic_load_n(&tide_sys_confined, __ATOMIC_SEQ_CST)
                 ? -ENOSYS
                 : tide_syscall6(nr, a, b, c, d, e, f);
  __atomic_fetch_sub(&tide_sys_in_flight, 1, __ATOMIC_SEQ_CST);
  return ret;
}

#define TIDE_SYS(nr, ...) TIDE_SYS_PICK(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(nr, __VA_ARGS__)
#define TIDE_SYS_PICK(a, b, c, d, e, f, n, ...) TIDE_SYS_##n
#define TIDE_ARG(x) ((long)(x))
#define TIDE_SYS_1(nr, a) tide_sys_call(nr, TIDE_ARG(a), 0, 0, 0, 0, 0)
#define TIDE_SYS_2(nr, a, b) tide_sys_call(nr, TIDE_ARG(a), TIDE_ARG(b), 0, 0, 0, 0)
#define TIDE_SYS_3(nr, a, b, c) tide_sys_call(nr, TIDE_ARG(a), TIDE_ARG(b), TIDE_ARG(c), 0, 0, 0)
#define TIDE_SYS_4(nr, a, b, c, d)                                                                 \
  tide_sys_call(nr, TIDE_ARG(a), TIDE_ARG(b), TIDE_ARG(c), TIDE_ARG(d), 0, 0)
#define TIDE_SYS_5(nr, a, b, c, d, e)                                                              \
  tide_sys_call(nr, TIDE_ARG(a), TIDE_ARG(b), TIDE_ARG(c), TIDE_ARG(d), TIDE_ARG(e), 0)
#define TIDE_SYS_6(nr, a, b, c, d, e, f)                                                           \
  tide_sys_call(nr, TIDE_ARG(a), TIDE_ARG(b), TIDE_ARG(c), TIDE_ARG(d), TIDE_ARG(e), TIDE_ARG(f))

static inline bool tide_sys_failed(long ret)
{
  return (unsigned long)ret > -4096ul;
}

uint32_t tide_sys_pid(void);
uint32_t tide_sys_tid(void); // 0: the kernel must not be asked

// No call of ours from now on, in any thread; those under way are waited for. Reserves memory
// first.
void tide_sys_confine(void);
void tide_sys_keep_still(void); // the same without anything before
void tide_sys_release(void);    // the filter was refused after all
// wiped: the kernel has wiped what it should. The first bytes of tide_sys_map_first() stay taken.
void tide_sys_after_fork(bool wiped, size_t first_bytes);
// Gets what a fork child that records will write of it, at once; never needed.
void tide_sys_populate_first(void);
// Confined, or under a filter that was put on without our seeing it. Where there was a filter from
// the start (in a container), another one cannot be told.
bool tide_sys_sandboxed(void);
extern bool tide_sys_filtered_at_start;

// May the eight bytes at address be read? Asks the kernel; when confined, the answer is no.
bool tide_sys_readable(uint64_t address);

// 4096, or what the auxiliary vector said: up to 65536 on aarch64.
extern uint64_t tide_sys_page_bytes;
// An emulator of the kernel (qemu-user) takes any advice and follows none, and every page that is
// mapped costs it memory, used or not.
bool tide_sys_emulated(void);
static inline uint64_t tide_sys_whole_pages(uint64_t bytes)
{
  return (bytes + tide_sys_page_bytes - 1) & ~(tide_sys_page_bytes - 1);
}

// The beginning of our memory, before all else: what tide_sys_map_private() gives out first comes
// from the same mapping. wipes: the kernel wipes it in a fork child.
void *tide_sys_map_first(size_t bytes, bool *ret_wipes);
// Private zeroed memory, wiped in a fork child (which must not believe its parent's notes), on
// cache lines of its own. NULL when the kernel refuses. Never freed unless said so.
void *tide_sys_map_private(size_t bytes);
// The same for a hash table, all of which will be touched: in large pages, once it is of several. A
// probe of a table of small pages costs a walk through two page tables in a virtual machine, and
// filling it a fault for every page.
void *tide_sys_map_table(size_t bytes);
// As tide_sys_map_private(), at an address that is nothing else's in any fork child: a child's
// thread may remember it, and must find zeros there.
void *tide_sys_map_once(size_t bytes);
// The same, at a multiple of its size, a power of two: what that takes besides is address space,
// which is given back where it would be missing in the program.
void *tide_sys_map_aligned(size_t bytes);
// The same, but a fork child keeps its copy.
void *tide_sys_map_kept(size_t bytes);
// For mappings made elsewhere: counts them, and keeps them out of core dumps.
void tide_sys_adopt_map(void *p, size_t bytes);

// Every mapping above is noted as the recorder's own; what else is its own is noted by
// tide_sys_note(). From tide_sys_publish() on, a copy of these notes is kept where the supervisor
// reads it, to tell our part of the RSS; to has TIDE_SYS_MAX_RANGES entries, NULL ends it.
enum { TIDE_SYS_MAX_RANGES = 4096 };
void tide_sys_note(const void *p, size_t bytes);
void tide_sys_publish(struct tide_range *to, uint32_t *to_n);
bool tide_sys_is_ours(uint64_t address);
const struct tide_range *tide_sys_ranges(void); // TIDE_SYS_MAX_RANGES; of 0 and 1 bytes: none

// The program has asked for future mappings to be locked: ours must not be.
extern bool tide_sys_lock_future;
void tide_sys_unmap(void *p, size_t bytes);
// Zeros again, and no memory; the place stays ours.
void tide_sys_empty(void *p, size_t bytes);
void tide_sys_forget_map(void *p, size_t bytes); // it is gone already
// Bytes of address space the recorder has mapped so far. Where the program has limited itself
// (see limits.c of the recorder), each further mapping first raises the limit by as much.
uint64_t tide_sys_mapped_bytes(void);
void tide_sys_count_mapped(int64_t bytes);
extern bool tide_sys_limited[2]; // RLIMIT_AS, RLIMIT_DATA

// Writes all of text to stderr, retrying; what cannot be written is dropped.
void tide_sys_say(const char *text, size_t n);

// A spin lock for the recorder's rare slow paths (a new stack, a new rule, a new thread). Held for
// microseconds, never across a call to the allocator. Taken only while the thread is marked busy,
// so a signal handler that interrupts the holder never asks for it. A fork child resets its locks:
// the holder may have stayed behind in the parent.
//
// Yielding is not enough: a real-time thread that yields is run again before the ordinary one that
// holds the lock. Who has waited long sleeps.
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
