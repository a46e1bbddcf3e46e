// SPDX-License-Identifier: Apache-2.0
//
// What a program can ask of the recorder that is loaded into it, with `tidemark run` or with
// libtidemark.so in LD_PRELOAD, or that is put into it while it runs, by `tidemark attach`. Nothing
// is linked: a program that has this header runs as well where there is no recorder, and is told
// so.
//
// Every function gives 0, or -1 with errno:
//   ENOSYS   there is no recorder, or it is older than this header
//   ENODATA  it does not record this process (refused, stepped aside, only samples), or not now
//   EBUSY    asked by a signal handler that came while the recorder was at work in this thread
#ifndef TIDEMARK_TIDEMARK_H
#define TIDEMARK_TIDEMARK_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// What the recorder exports, by the version of what it means. NULL: there is no recorder, or it is
// older than this header.
//
// A size that is passed along is that of the structure as the caller knows it: a recorder fills
// what both know, and what it does not know it sets to 0.
__attribute__((weak)) int tidemark_v1_pprof_write(int fd);
__attribute__((weak)) int tidemark_v1_stats(int whose, void *stats, size_t stats_bytes);
__attribute__((weak)) int tidemark_v1_region_begin(void *region, size_t region_bytes, int whose);
__attribute__((weak)) int tidemark_v1_region_read(const void *region, void *stats,
                                                  size_t stats_bytes);
__attribute__((weak)) int tidemark_v1_region_end(void *region, void *stats, size_t stats_bytes);
__attribute__((weak)) int tidemark_v1_region_check(const void *region, int what, uint64_t limit,
                                                   const char *where);

__attribute__((weak)) int tidemark_v1_mark(const char *name);
__attribute__((weak)) int tidemark_v1_pause(void);
__attribute__((weak)) int tidemark_v1_resume(void);
__attribute__((weak)) int tidemark_v1_snapshot(void);
__attribute__((weak)) int tidemark_v1_dump(const char *path);

// For a program that links the recorder (-ltidemark) and has an allocator of its own, such as the
// Rust crate's Alloc<A>: each calls what it is given, with `given`, and records that as one event
// of the caller's. What the allocator asks of malloc meanwhile is its own business. Such a program
// is left to this under `tidemark run`, too.
__attribute__((weak)) void *tidemark_v1_around_alloc(void *(*alloc)(void *given), void *given,
                                                     size_t bytes);
__attribute__((weak)) void *tidemark_v1_around_resize(void *(*resize)(void *given), void *given,
                                                      void *old, size_t bytes);
__attribute__((weak)) void tidemark_v1_around_free(void (*release)(void *given), void *given,
                                                   void *block);

__attribute__((weak)) int tidemark_v1_scope_begin(const char *name);
__attribute__((weak)) int tidemark_v1_scope_end(void);

__attribute__((weak)) int tidemark_v1_pool_begin(void);
__attribute__((weak)) int tidemark_v1_pool_end(void);
__attribute__((weak)) int tidemark_v1_block_alloc(const void *block, size_t bytes);
__attribute__((weak)) int tidemark_v1_block_free(const void *block);
__attribute__((weak)) int tidemark_v1_blocks_free(const void *from, size_t bytes);

__attribute__((weak)) int tidemark_v1_event(uint64_t weight);
__attribute__((weak)) int tidemark_v1_event_stats(void *stats, size_t stats_bytes);

// ---- a recorder that comes later ----
//
// Names are looked up when a program is loaded. A recorder that is put into it afterwards, or into
// one without a loader, finds this function: one for each program and library, which gives -ENOSYS
// until its first instruction is replaced by a jump to the recorder. When that goes, the code is as
// it was, and nothing here has an address of it. The note tells where the function is, also of a
// program without symbols. What is asked has a number for good.
#if defined(__linux__) && defined(__ELF__) && !defined(TIDEMARK_IS_RECORDER) &&                    \
    ((defined(__x86_64__) && defined(__LP64__)) || defined(__AARCH64EL__))
#define TIDEMARK_HAS_DOOR_ 1

__attribute__((visibility("hidden"))) long tidemark_private_door(int what, const void *p,
                                                                 const void *q, uint64_t n, int k);

// As bytes: the compiler may have been told another syntax of assembler.
#ifdef __x86_64__
#define TIDEMARK_DOOR_CODE_                                                                        \
  ".byte 0xf3, 0x0f, 0x1e, 0xfa\n"                   /* endbr64 */                                 \
  ".byte 0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff\n" /* mov $-38, %rax */                          \
  ".byte 0xc3\n"                                     /* ret */
#else
#define TIDEMARK_DOOR_CODE_                                                                        \
  ".inst 0xd503245f\n" /* bti c */                                                                 \
  ".inst 0x928004a0\n" /* mov x0, #-38 */                                                          \
  ".inst 0xd65f03c0\n" /* ret */
#endif
__asm__(".pushsection .text.tidemark_door,\"axG\",%progbits,tidemark_private_door,comdat\n"
        ".balign 16\n"
        ".weak tidemark_private_door\n"
        ".hidden tidemark_private_door\n"
        ".type tidemark_private_door, %function\n"
        "tidemark_private_door:\n" TIDEMARK_DOOR_CODE_
        ".size tidemark_private_door, . - tidemark_private_door\n"
        ".balign 16\n"
        ".popsection\n"
        ".pushsection .note.tidemark,\"aG\",%note,tidemark_private_door,comdat\n"
        ".balign 4\n"
        ".long 9, 8, 0x746d\n" // bytes of the name and of what it says, and its kind
        ".asciz \"Tidemark\"\n"
        ".balign 4\n"
        ".long tidemark_private_door - .\n"
        ".long 12\n" // bytes of the function
        ".popsection\n");
#endif

enum {
  tidemark_asks_pprof_write = 1,  // k: fd
  tidemark_asks_stats = 2,        // p: stats, n: their bytes, k: whose
  tidemark_asks_region_begin = 3, // p: region, n: its bytes, k: whose
  tidemark_asks_region_read = 4,  // p: region, q: stats, n: their bytes
  tidemark_asks_region_end = 5,   // the same
  tidemark_asks_region_check = 6, // p: region, q: where, n: limit, k: what
  tidemark_asks_mark = 7,         // p: name
  tidemark_asks_pause = 8,
  tidemark_asks_resume = 9,
  tidemark_asks_snapshot = 10,
  tidemark_asks_dump = 11,        // p: path
  tidemark_asks_scope_begin = 12, // p: name
  tidemark_asks_scope_end = 13,
  tidemark_asks_pool_begin = 14,
  tidemark_asks_pool_end = 15,
  tidemark_asks_block_alloc = 16, // p: block, n: bytes
  tidemark_asks_block_free = 17,  // p: block
  tidemark_asks_blocks_free = 18, // p: from, n: bytes
  tidemark_asks_event = 19,       // n: weight
  tidemark_asks_event_stats = 20  // p: stats, n: their bytes
};

// Always inlined: the function that asks is the one that is seen.
__attribute__((always_inline)) static inline int
tidemark_private_ask(int what, const void *p, const void *q, uint64_t n, int k)
{
#ifdef TIDEMARK_HAS_DOOR_
  long answer = tidemark_private_door(what, p, q, n, k);
#else
  long answer = -ENOSYS;
  (void)what, (void)p, (void)q, (void)n, (void)k;
#endif
  if (answer >= 0)
    return (int)answer;
  errno = (int)-answer;
  return -1;
}

// ---- the heap as a profile ----

// Writes the heap profile of this moment to fd, as profile.proto of pprof, not compressed, without
// names: `go tool pprof`, Pyroscope, Parca and `tidemark report` find them by build id, where the
// program's files are. Columns: alloc_objects, alloc_space, inuse_objects, inuse_space.
//
// Calls no malloc, takes no lock and stops nobody: threads that allocate meanwhile are seen at one
// moment or another. Safe in a signal handler, but for that of a fork child that has not allocated
// yet. fd must block.
//
// 0, or -1 with errno: ENOSYS where there is no recorder, ENODATA where it does not record, or not
// now, EPERM where the program has forbidden itself system calls, ENOMEM, or what write() said.
static inline int tidemark_pprof_write(int fd)
{
  if (tidemark_v1_pprof_write)
    return tidemark_v1_pprof_write(fd);
  return tidemark_private_ask(tidemark_asks_pprof_write, NULL, NULL, 0, fd);
}

// ---- numbers ----

// Whose: of all threads, or what the calling thread itself allocated and freed.
enum { TIDEMARK_PROCESS = 0, TIDEMARK_THREAD = 1 };

// Bytes are those that were asked for. A realloc of a block is a reallocation and nothing else, but
// what it grows by is also allocated, and what it shrinks by deallocated: so what is live is always
// bytes_allocated - bytes_deallocated. Of a block that the recorder does not know (it is older than
// the recording) the end is not counted, and its realloc is an allocation.
struct tidemark_stats {
  uint64_t allocations, deallocations, reallocations;
  uint64_t bytes_allocated, bytes_deallocated;
  int64_t bytes_reallocated; // new sizes less old ones
  // Live now. Below 0: more was freed than allocated, of blocks from before the region, or from
  // other threads.
  int64_t current_blocks, current_bytes;
  int64_t max_blocks, max_bytes; // max_bytes: the most that was live; max_blocks: at that moment
  uint64_t bytes_fresh;          // of the allocations alone
  uint64_t bytes_resized;        // new sizes of the reallocations
};

static inline void tidemark_private_no_stats(struct tidemark_stats *stats)
{
  if (stats)
    memset(stats, 0, sizeof *stats);
}

// TIDEMARK_PROCESS: since the program began, or the recording of it. Takes longer the more stacks
// there are.
// TIDEMARK_THREAD: since the first call of this function for it in this thread, which gives 0.
// If it fails all numbers are 0.
static inline int tidemark_stats_read(int whose, struct tidemark_stats *stats)
{
  if (tidemark_v1_stats)
    return tidemark_v1_stats(whose, stats, sizeof *stats);
  tidemark_private_no_stats(stats);
  return tidemark_private_ask(tidemark_asks_stats, stats, NULL, sizeof *stats, whose);
}

// ---- regions ----
//
// What has changed since a moment, with a peak of its own: max_bytes is the most that was live
// above what was live at that moment. Regions may be within one another, overlap, and be open in as
// many threads as there are; TIDEMARK_THREAD sees nothing of other threads. One that is never
// ended, because of a longjmp, an exception or a panic, harms nobody, and its memory may be used
// for anything: of up to 32 open ones in a thread, and 32 of the process, each is exact; of more,
// some give ENODATA.
//
// While a region is open an event costs its thread some nanoseconds more; with TIDEMARK_PROCESS all
// threads, under a lock.
struct tidemark_region {
  uint64_t opaque[24];
};

// EINVAL: whose is neither. What fails is not open, and read and end give ENODATA for it.
static inline int tidemark_region_begin(struct tidemark_region *region, int whose)
{
  region->opaque[0] = 0;
  if (tidemark_v1_region_begin)
    return tidemark_v1_region_begin(region, sizeof *region, whose);
  return tidemark_private_ask(tidemark_asks_region_begin, region, NULL, sizeof *region, whose);
}

// What has changed so far. ENODATA also where recording was paused meanwhile, or events were lost,
// and in a fork child for a region of its parent; EINVAL for one of another thread. If it fails all
// numbers are 0.
static inline int tidemark_region_read(const struct tidemark_region *region,
                                       struct tidemark_stats *stats)
{
  if (tidemark_v1_region_read)
    return tidemark_v1_region_read(region, stats, sizeof *stats);
  tidemark_private_no_stats(stats);
  return tidemark_private_ask(tidemark_asks_region_read, region, stats, sizeof *stats, 0);
}

// The same, for the last time. stats may be NULL. The region is not open any more, if it failed,
// too (but for EBUSY, and one of another thread).
static inline int tidemark_region_end(struct tidemark_region *region, struct tidemark_stats *stats)
{
  if (tidemark_v1_region_end)
    return tidemark_v1_region_end(region, stats, stats ? sizeof *stats : 0);
  tidemark_private_no_stats(stats);
  return tidemark_private_ask(tidemark_asks_region_end, region, stats, stats ? sizeof *stats : 0,
                              0);
}

// ---- assertions ----
//
// Of a region that is open. One that is not kept says on stderr what was found and where it was
// allocated, and aborts: what was recorded up to there is in the capture. One that cannot be judged
// (ENODATA) says so, once, and goes on; without a recorder none is judged, and nothing is said.
//
//   TIDEMARK_ASSERT_MAX_BYTES(&region, 65536);      live at once, at most
//   TIDEMARK_ASSERT_MAX_ALLOCATIONS(&region, 10);
//   TIDEMARK_ASSERT_NO_LEAKS(&region);              neither blocks nor bytes are left
//   TIDEMARK_ASSERT_MAX_LEFT(&region, 4096);        bytes
//   TIDEMARK_ASSERT_ALLOCATIONS(&region, 3);        exactly
//   TIDEMARK_ASSERT_BYTES(&region, 300);            allocated, exactly
#define TIDEMARK_ASSERT_MAX_BYTES(region, n) TIDEMARK_ASSERT_(region, TIDEMARK_MAX_BYTES, n)
#define TIDEMARK_ASSERT_MAX_ALLOCATIONS(region, n)                                                 \
  TIDEMARK_ASSERT_(region, TIDEMARK_MAX_ALLOCATIONS, n)
#define TIDEMARK_ASSERT_NO_LEAKS(region)                                                           \
  (TIDEMARK_ASSERT_(region, TIDEMARK_MAX_LEFT_BLOCKS, 0),                                          \
   TIDEMARK_ASSERT_(region, TIDEMARK_MAX_LEFT_BYTES, 0))
#define TIDEMARK_ASSERT_MAX_LEFT(region, n) TIDEMARK_ASSERT_(region, TIDEMARK_MAX_LEFT_BYTES, n)
#define TIDEMARK_ASSERT_ALLOCATIONS(region, n)                                                     \
  TIDEMARK_ASSERT_(region, TIDEMARK_EXACT_ALLOCATIONS, n)
#define TIDEMARK_ASSERT_BYTES(region, n) TIDEMARK_ASSERT_(region, TIDEMARK_EXACT_BYTES, n)

enum {
  TIDEMARK_MAX_BYTES = 1,
  TIDEMARK_MAX_ALLOCATIONS = 2,
  TIDEMARK_MAX_LEFT_BYTES = 3,
  TIDEMARK_MAX_LEFT_BLOCKS = 4,
  TIDEMARK_EXACT_ALLOCATIONS = 5,
  TIDEMARK_EXACT_BYTES = 6
};

// The same for who does not want to abort. 0: it is kept, 1: it is not, which was said; -1 with
// errno. where: what the message begins with, may be NULL.
static inline int tidemark_region_check(const struct tidemark_region *region, int what,
                                        uint64_t limit, const char *where)
{
  if (tidemark_v1_region_check)
    return tidemark_v1_region_check(region, what, limit, where);
  return tidemark_private_ask(tidemark_asks_region_check, region, where, limit, what);
}

#define TIDEMARK_TEXT_(x) #x
#define TIDEMARK_LINE_(line) TIDEMARK_TEXT_(line)
#define TIDEMARK_ASSERT_(region, what, n)                                                          \
  (tidemark_region_check(region, what, n, __FILE__ ":" TIDEMARK_LINE_(__LINE__)) > 0 ? abort()     \
                                                                                     : (void)0)

// ---- ad hoc events ----
//
// Whatever a program wants counted by stack: calls of a function, rows that were read, bytes that
// were copied. `tidemark report --events` shows them, and `tidemark export --events --to dhat`
// gives them to DHAT's viewer. They are no part of the heap's numbers.

// One event, with a weight, at the caller's stack. ENODATA also while recording is paused; where
// only samples of the heap are recorded events are counted all the same.
static inline int tidemark_event(uint64_t weight)
{
  if (tidemark_v1_event)
    return tidemark_v1_event(weight);
  return tidemark_private_ask(tidemark_asks_event, NULL, NULL, weight, 0);
}

struct tidemark_event_stats {
  uint64_t events, weight; // how many, and their weights
};

// Of all threads since the program began. Takes longer the more stacks there are. If it fails all
// numbers are 0.
static inline int tidemark_event_stats_read(struct tidemark_event_stats *stats)
{
  if (tidemark_v1_event_stats)
    return tidemark_v1_event_stats(stats, sizeof *stats);
  memset(stats, 0, sizeof *stats);
  return tidemark_private_ask(tidemark_asks_event_stats, stats, NULL, sizeof *stats, 0);
}

// ---- scopes ----
//
// Spans of a thread's time that have a name: what it allocates meanwhile, and counts as events, has
// that name outside of main in its stack. `tidemark report --group scope` has a row for each, and
// trees and flame graphs begin with them. Scopes may be within one another, and are a thread's own:
// a block belongs to the scope in which it was allocated, wherever it is freed.
//
// A thread without a scope pays nothing for them. Of up to 510 different ones, the same name within
// another being another, each is told apart; more are "[more scopes]".

// 1 to 55 bytes of UTF-8 without control characters (EINVAL). Each that was begun has to be ended;
// what fails was not begun.
static inline int tidemark_scope_begin(const char *name)
{
  if (tidemark_v1_scope_begin)
    return tidemark_v1_scope_begin(name);
  return tidemark_private_ask(tidemark_asks_scope_begin, name, NULL, 0, 0);
}

// The latest that was begun in this thread. EINVAL: there is none.
static inline int tidemark_scope_end(void)
{
  if (tidemark_v1_scope_end)
    return tidemark_v1_scope_end();
  return tidemark_private_ask(tidemark_asks_scope_end, NULL, NULL, 0, 0);
}

// ---- pools ----
//
// For a program that asks for memory in large pieces and hands it out itself: an arena, a pool, a
// slab. What it hands out becomes blocks of the heap, with size, stack and lifetime, as malloc's
// are: in reports, regions, scopes and assertions. The pieces must not count beside them:
//
//   tidemark_pool_begin();                  grow(): what is asked of malloc here is the pool's
//   chunk = malloc(1 << 20);
//   tidemark_pool_end();
//
//   tidemark_block_alloc(p, n);             take(): p, of n bytes, is handed out
//   tidemark_block_free(p);                 give_back()
//   tidemark_blocks_free(chunk, 1 << 20);   reset(): whatever is left of it
//
//   tidemark_pool_begin();                  drop()
//   free(chunk);
//   tidemark_pool_end();
//
// Memory that is mapped, or a part of the program, needs no begin and end. Without a recorder each
// of these is a load, a branch and a call of three instructions.

// From here on what this thread asks of malloc, and what it frees, is the pool's and not counted:
// pieces that were got so are to be freed so. May be within another. Each that was begun has to be
// ended; in between blocks cannot be told (EBUSY).
static inline int tidemark_pool_begin(void)
{
  if (tidemark_v1_pool_begin)
    return tidemark_v1_pool_begin();
  return tidemark_private_ask(tidemark_asks_pool_begin, NULL, NULL, 0, 0);
}

// EINVAL: none was begun.
static inline int tidemark_pool_end(void)
{
  if (tidemark_v1_pool_end)
    return tidemark_v1_pool_end();
  return tidemark_private_ask(tidemark_asks_pool_end, NULL, NULL, 0, 0);
}

// A block is handed out, to who called the caller. It may be of any size and alignment. One that is
// known at this address ends. EEXIST: it lies in a block of malloc's that is counted; it is not
// recorded, and that is said, once. EINVAL: no block is at NULL, or of 2^48 bytes and more.
static inline int tidemark_block_alloc(const void *block, size_t bytes)
{
  if (tidemark_v1_block_alloc)
    return tidemark_v1_block_alloc(block, bytes);
  return tidemark_private_ask(tidemark_asks_block_alloc, block, NULL, bytes, 0);
}

// It has ended. EINVAL: it is not known (where only samples are recorded that is not told).
static inline int tidemark_block_free(const void *block)
{
  if (tidemark_v1_block_free)
    return tidemark_v1_block_free(block);
  return tidemark_private_ask(tidemark_asks_block_free, block, NULL, 0, 0);
}

// All that begin in so many bytes from there on have ended: an arena is reset.
static inline int tidemark_blocks_free(const void *from, size_t bytes)
{
  if (tidemark_v1_blocks_free)
    return tidemark_v1_blocks_free(from, bytes);
  return tidemark_private_ask(tidemark_asks_blocks_free, from, NULL, bytes, 0);
}

// ---- the recording ----
//
// What `tidemark ctl` tells a recording from outside. With `tidemark run` it concerns all processes
// that are recorded together, and the supervisor is waited for; with a bare preload, or where that
// cannot be reached, this process alone. EPERM: the program has forbidden itself system calls.

// Gives this moment a name, which is shown on the timeline and taken by `tidemark report --range`;
// with a supervisor all numbers are kept for it. 1 to 55 bytes of UTF-8 without control characters
// (EINVAL), at most 256 of them (ENOSPC).
static inline int tidemark_mark(const char *name)
{
  if (tidemark_v1_mark)
    return tidemark_v1_mark(name);
  return tidemark_private_ask(tidemark_asks_mark, name, NULL, 0, 0);
}

// From here on new blocks are not recorded; ends of those that were, are.
static inline int tidemark_pause(void)
{
  if (tidemark_v1_pause)
    return tidemark_v1_pause();
  return tidemark_private_ask(tidemark_asks_pause, NULL, NULL, 0, 0);
}

static inline int tidemark_resume(void)
{
  if (tidemark_v1_resume)
    return tidemark_v1_resume();
  return tidemark_private_ask(tidemark_asks_resume, NULL, NULL, 0, 0);
}

// Keeps all numbers of this moment, so that it can be asked for. EOPNOTSUPP without a supervisor.
static inline int tidemark_snapshot(void)
{
  if (tidemark_v1_snapshot)
    return tidemark_v1_snapshot();
  return tidemark_private_ask(tidemark_asks_snapshot, NULL, NULL, 0, 0);
}

// Writes a capture of the recording so far, over what is there. EOPNOTSUPP without a supervisor,
// where the store is all there is; else what open() or write() said.
static inline int tidemark_dump(const char *path)
{
  if (tidemark_v1_dump)
    return tidemark_v1_dump(path);
  return tidemark_private_ask(tidemark_asks_dump, path, NULL, 0, 0);
}

#ifdef __cplusplus
}
#endif
#endif
