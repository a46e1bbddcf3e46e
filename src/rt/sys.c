// SPDX-License-Identifier: Apache-2.0
//
// The few system calls that more than one file of the recorder needs.
#include "rt/sys.h"

#include "rt/cost.h"

#include <errno.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define LARGE_TABLE_BYTES (4u << 20) // two large pages

uint64_t tide_sys_page_bytes = 4096;
uint64_t tide_cold_cycles;
static uint64_t mapped_bytes;

bool tide_sys_confined;
uint32_t tide_sys_in_flight;

// What memory comes from when the kernel cannot be asked. As large as a few chunks of the live map
// and then some; a page of it costs something only when it is used.
static struct piece {
  char *at;
  uint64_t bytes, used;
} reserve;
enum { RESERVE_BYTES = 1 << 30, SMALL_RESERVE_BYTES = 96 << 20 };

// The first of our private memory, in one mapping: it is all that most processes need, and their
// fork children find it wiped and use it again, without a system call.
// Behind that is what must not be where something was in the parent: small, as threads are, and
// then room for the first chunk and segment of the live map. (A fork copies mapping by mapping,
// about 3 us for each. All but the segment has one page table, where the kernel aligns mappings.)
static struct piece first, once_small, once_large;
enum {
  FIRST_BYTES = 896 << 10,
  ONCE_SMALL_BYTES = 128 << 10,
  ONCE_LARGE_BYTES = 65 << 20, // nothing, where the kernel refuses so much, or it is scarce
  LINE_BYTES = 128,
  SMALL_BYTES = 4096,
};
// What every fork child that records writes of it. A page that is read first costs two faults, each
// of them more than all of these in one call. Kernels before 5.14 do not know it: no harm.
enum { FIRST_WRITTEN_BYTES = 3 << 12 };
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint32_t tide_sys_pid(void)
{
  static uint32_t pid; // as it was when we could ask
  long now = TIDE_SYS(SYS_getpid, 0);
  if (!tide_sys_failed(now))
    tide_store_relaxed(&pid, (uint32_t)now);
  return tide_load_relaxed(&pid);
}

bool tide_sys_filtered_at_start;

bool tide_sys_sandboxed(void)
{
  return tide_sys_confined ||
         (!tide_sys_filtered_at_start && TIDE_SYS(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) > 0);
}

void tide_sys_keep_still(void)
{
  __atomic_store_n(&tide_sys_confined, true, __ATOMIC_SEQ_CST);
}

void tide_sys_confine(void)
{
  if (!reserve.at) {
    uint64_t bytes = tide_sys_limited[0] ? SMALL_RESERVE_BYTES : RESERVE_BYTES;
    reserve.at = tide_sys_map_private(bytes);
    reserve.bytes = reserve.at ? bytes : 0;
  }
  tide_sys_pid();
  tide_sys_keep_still();
  // One that never ends is our own, interrupted by the handler in which the program confines
  // itself.
  enum { PATIENCE_MS = 1000 };
  long ms[2] = {0, 1000000};
  for (int i = 0; i < PATIENCE_MS && __atomic_load_n(&tide_sys_in_flight, __ATOMIC_SEQ_CST); i++)
    tide_syscall6(SYS_nanosleep, (long)ms, 0, 0, 0, 0, 0);
}

void tide_sys_release(void)
{
  __atomic_store_n(&tide_sys_confined, false, __ATOMIC_SEQ_CST);
}

static void *take_from(struct piece *piece, uint64_t bytes)
{
  uint64_t at = tide_add_relaxed(&piece->used, bytes);
  return at + bytes <= piece->bytes ? piece->at + at : NULL;
}

static void *from_reserve(uint64_t bytes)
{
  return take_from(&reserve, tide_sys_whole_pages(bytes));
}

// What does not fit leaves the rest to smaller ones.
static void *from_first(struct piece *piece, uint64_t bytes)
{
  bytes = (bytes + LINE_BYTES - 1) & ~(LINE_BYTES - 1ull);
  bool fits = bytes <= piece->bytes && tide_load_relaxed(&piece->used) <= piece->bytes - bytes;
  return fits ? take_from(piece, bytes) : NULL;
}

static bool is_in_first(const void *p)
{
  return (uint64_t)p - (uint64_t)first.at < first.bytes + once_small.bytes + once_large.bytes;
}

// What is mapped in advance would be missing in a program that may not have more.
static bool is_space_limited(void)
{
  struct rlimit limit;
  return !tide_sys_failed(TIDE_SYS(SYS_prlimit64, 0, RLIMIT_AS, 0, &limit)) &&
         limit.rlim_cur != RLIM_INFINITY;
}

void *tide_sys_map_first(size_t bytes, bool *ret_wipes)
{
  uint64_t small_bytes = FIRST_BYTES + ONCE_SMALL_BYTES;
  uint64_t large_bytes = is_space_limited() ? 0 : ONCE_LARGE_BYTES;
  char *p = tide_sys_map_kept(small_bytes + large_bytes);
  if (!p)
    p = tide_sys_map_kept(small_bytes + (large_bytes = 0));
  if (!p)
    return NULL;
  uint64_t all_bytes = small_bytes + large_bytes;
  *ret_wipes = !tide_sys_failed(TIDE_SYS(SYS_madvise, p, all_bytes, MADV_WIPEONFORK));
  // Whoever needs large pages of it asks for them; the first few bytes are not worth one.
  TIDE_SYS(SYS_madvise, p, all_bytes, MADV_NOHUGEPAGE);
  first = (struct piece){p, FIRST_BYTES, 0};
  once_small = (struct piece){p + FIRST_BYTES, ONCE_SMALL_BYTES, 0};
  once_large = (struct piece){p + small_bytes, large_bytes, 0};
  return from_first(&first, bytes);
}

// Calls under way in other threads stayed with the parent.
void tide_sys_after_fork(bool wiped, size_t first_bytes)
{
  tide_sys_in_flight = 0;
  first.used = wiped ? 0 : first.bytes;
  if (wiped) {
    from_first(&first, first_bytes);
  } else {
    once_small.used = once_small.bytes;
    once_large.used = once_large.bytes;
  }
}

void tide_sys_populate_first(void)
{
  TIDE_SYS(SYS_madvise, first.at, FIRST_WRITTEN_BYTES, MADV_POPULATE_WRITE);
}

// The kernel copies the set of signals before it finds that it does not know what to do with it.
bool tide_sys_readable(uint64_t address)
{
  enum { NO_SUCH_WAY = ~0 };
  return TIDE_SYS(SYS_rt_sigprocmask, NO_SUCH_WAY, address, 0, 8) == -EINVAL;
}

uint32_t tide_sys_tid(void)
{
  long tid = TIDE_SYS(SYS_gettid, 0);
  return tide_sys_failed(tid) ? 0 : (uint32_t)tid;
}

void tide_sys_count_mapped(int64_t bytes)
{
  tide_add_relaxed(&mapped_bytes, (uint64_t)bytes);
}

uint64_t tide_sys_mapped_bytes(void)
{
  return tide_load_relaxed(&mapped_bytes);
}

bool tide_sys_limited[2];

bool tide_sys_lock_future;

// Our mappings, for those who must tell them from the program's: mlockall, and the supervisor, who
// finds a copy of the table in the store. An entry of 0 bytes is free; one of 1 byte is being
// taken. What finds no room is not told apart, and the copy says that something is missing.
static struct tide_range ranges[TIDE_SYS_MAX_RANGES] TIDE_BULKY_FIRST;
static uint32_t n_ranges; // the first so many were ever used; beyond the table: one found no room
static struct tide_range *published; // NULL: nobody asks
static uint32_t *published_n;

bool tide_sys_is_ours(uint64_t address)
{
  uint32_t n = tide_load_acquire(&n_ranges);
  for (uint32_t i = 0; i < n && i < TIDE_SYS_MAX_RANGES; i++)
    if (address - ranges[i].start < ranges[i].bytes)
      return true;
  return false;
}

const struct tide_range *tide_sys_ranges(void)
{
  return ranges;
}

static void raise_to(uint32_t *count, uint32_t n)
{
  uint32_t seen = tide_load_relaxed(count);
  while (seen < n &&
         !__atomic_compare_exchange_n(count, &seen, n, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
}

static void publish_range(uint32_t i)
{
  if (!published)
    return;
  if (i < TIDE_SYS_MAX_RANGES) {
    tide_store_relaxed(&published[i].start, tide_load_relaxed(&ranges[i].start));
    tide_store_relaxed(&published[i].bytes, tide_load_relaxed(&ranges[i].bytes));
  }
  raise_to(published_n, i + 1);
}

void tide_sys_publish(struct tide_range *to, uint32_t *to_n)
{
  published = to;
  published_n = to_n;
  uint32_t n = tide_load_acquire(&n_ranges);
  for (uint32_t i = 0; i < n && i <= TIDE_SYS_MAX_RANGES; i++)
    publish_range(i);
}

void tide_sys_note(const void *p, size_t bytes)
{
  uint32_t i = 0;
  for (uint64_t none = 0; i < TIDE_SYS_MAX_RANGES;
       i++, none = 0) // unread: a page read first is two faults
    if (__atomic_compare_exchange_n(&ranges[i].bytes, &none, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      break;
  if (i < TIDE_SYS_MAX_RANGES) {
    tide_store_relaxed(&ranges[i].start, (uint64_t)p);
    tide_store_release(&ranges[i].bytes, bytes);
  }
  raise_to(&n_ranges, i + 1);
  publish_range(i);
}

static void forget_mapping(uint64_t start)
{
  uint32_t n = tide_load_acquire(&n_ranges);
  for (uint32_t i = 0; i < n && i < TIDE_SYS_MAX_RANGES; i++)
    if (tide_load_acquire(&ranges[i].bytes) > 1 && tide_load_relaxed(&ranges[i].start) == start) {
      if (published)
        tide_store_relaxed(&published[i].bytes, 0);
      tide_store_release(&ranges[i].bytes, 0);
    }
}

bool tide_sys_emulated(void)
{
  enum { NO_SUCH_ADVICE = 9999 };
  static enum { UNKNOWN, NO, YES } known;
  uint64_t page = (uint64_t)&tide_sys_page_bytes & ~(tide_sys_page_bytes - 1);
  if (!known) {
    long ret = TIDE_SYS(SYS_madvise, page, tide_sys_page_bytes, NO_SUCH_ADVICE);
    known = ret == -EINVAL ? NO : YES;
  }
  return known == YES;
}

void tide_sys_adopt_map(void *p, size_t bytes)
{
  tide_sys_note(p, bytes);
  TIDE_SYS(SYS_madvise, p, bytes, MADV_DONTDUMP);
  tide_sys_count_mapped((int64_t)tide_sys_whole_pages(bytes));
}

static bool is_scarce; // address space: what is ours is missing in the program

static void raise_limit(int resource, uint64_t bytes)
{
  struct rlimit limit = {0};
  if (tide_sys_failed(TIDE_SYS(SYS_prlimit64, 0, resource, 0, &limit)) ||
      limit.rlim_cur == RLIM_INFINITY)
    return;
  if (limit.rlim_max - limit.rlim_cur < bytes) {
    is_scarce |= resource == RLIMIT_AS;
    return;
  }
  limit.rlim_cur += bytes;
  TIDE_SYS(SYS_prlimit64, 0, resource, &limit, 0);
}

void *tide_sys_map_kept(size_t bytes)
{
  if (TIDE_UNLIKELY(tide_sys_confined))
    return from_reserve(bytes);
  bytes = tide_sys_whole_pages(bytes); // as limits count it
  if (TIDE_UNLIKELY(tide_sys_limited[0]))
    raise_limit(RLIMIT_AS, bytes);
  if (TIDE_UNLIKELY(tide_sys_limited[1]))
    raise_limit(RLIMIT_DATA, bytes);
  // Locked mappings are filled when they are made, unless nothing can be read there yet.
  int protection = tide_sys_lock_future ? PROT_NONE : PROT_READ | PROT_WRITE;
  long p =
      TIDE_SYS(SYS_mmap, 0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (TIDE_UNLIKELY(tide_sys_lock_future && !tide_sys_failed(p))) {
    TIDE_SYS(SYS_munlock, p, bytes);
    TIDE_SYS(SYS_mprotect, p, bytes, PROT_READ | PROT_WRITE);
  }
  if (tide_sys_failed(p))
    return NULL;
  tide_sys_adopt_map((void *)p, bytes);
  return (void *)p;
}

static void *map_wiped(size_t bytes)
{
  void *p = tide_sys_map_kept(bytes);
  // Kernels before 4.14 refuse; the fork handler then cleans up as well as it can.
  if (p)
    TIDE_SYS(SYS_madvise, p, bytes, MADV_WIPEONFORK);
  return p;
}

void *tide_sys_map_private(size_t bytes)
{
  void *p = from_first(&first, bytes);
  return p ? p : map_wiped(bytes);
}

void *tide_sys_map_table(size_t bytes)
{
  void *p = tide_sys_map_private(bytes);
  if (p && bytes >= LARGE_TABLE_BYTES)
    TIDE_SYS(SYS_madvise, p, bytes, MADV_HUGEPAGE);
  return p;
}

void *tide_sys_map_once(size_t bytes)
{
  void *p = from_first(bytes <= SMALL_BYTES ? &once_small : &once_large, bytes);
  return p ? p : map_wiped(bytes);
}

static void give_back(char *from, const char *end)
{
  if (end > from)
    TIDE_SYS(SYS_munmap, from, end - from);
}

void *tide_sys_map_aligned(size_t bytes)
{
  char *p = tide_sys_map_once(2 * bytes), *end = p ? p + 2 * bytes : NULL;
  char *at = p ? p + (-(uint64_t)p & (bytes - 1)) : NULL;
  bool is_reserve = (uint64_t)p - (uint64_t)reserve.at < reserve.bytes;
  bool is_own_mapping = p && !is_in_first(p) && !is_reserve;
  if (TIDE_UNLIKELY(is_scarce) && is_own_mapping && !tide_sys_confined) {
    tide_sys_forget_map(p, 2 * bytes);
    give_back(p, at);
    give_back(at + bytes, end);
    tide_sys_adopt_map(at, bytes);
  }
  return at;
}

void tide_sys_forget_map(void *p, size_t bytes)
{
  forget_mapping((uint64_t)p);
  tide_sys_count_mapped(-(int64_t)tide_sys_whole_pages(bytes));
}

void tide_sys_unmap(void *p, size_t bytes)
{
  if (is_in_first(p))
    return;                      // not worth a call
  tide_sys_forget_map(p, bytes); // first: the place may be another's at once
  TIDE_SYS(SYS_munmap, p, bytes);
}

void tide_sys_empty(void *p, size_t bytes)
{
  if (!is_in_first(p))
    TIDE_SYS(SYS_madvise, p, bytes, MADV_DONTNEED);
}

void tide_sys_say(const char *text, size_t n)
{
  while (n > 0) {
    long w = TIDE_SYS(SYS_write, 2, text, n);
    if (w == -EINTR)
      continue;
    if (tide_sys_failed(w) || w == 0)
      return;
    text += w;
    n -= (size_t)w;
  }
}
