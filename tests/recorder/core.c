// SPDX-License-Identifier: Apache-2.0
//
// The recorder's core alone: a program without libc, loader and thread-local storage that is its
// host. Threads are rows of a table, blocks are numbers, and every event is brought by hand. Leaves
// core.store in the current directory, whose figures core_test.py knows.
#include "record/door.h"
#include "record/host.h"
#include "record/record.h"
#include "rt/maps.h"
#include "rt/sys.h"
#include "unwind/host.h"

#include <fcntl.h>
#include <string.h>

void _start(void);

// Compilers call these by themselves.
void *memset(void *to, int byte, size_t n)
{
  for (size_t i = 0; i < n; i++)
    ((volatile char *)to)[i] = (char)byte;
  return to;
}

void *memmove(void *to, const void *from, size_t n)
{
  volatile char *t = to;
  const volatile char *f = from;
  for (size_t i = 0; i < n; i++)
    if (to < from)
      t[i] = f[i];
    else
      t[n - 1 - i] = f[n - 1 - i];
  return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
  return memmove(to, from, n);
}

int memcmp(const void *a, const void *b, size_t n)
{
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < n; i++)
    if (x[i] != y[i])
      return x[i] - y[i];
  return 0;
}

static struct tide_seat seats[2];
static uint32_t n_began, n_at_work;
static char program[1024];
static const char *const arguments[] = {"core", "by hand"};

static bool start(struct tide_host_image *ret_image)
{
  uint64_t lo, top = 0;
  TIDE_SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1);
  tide_maps_find((uint64_t)__builtin_frame_address(0), &lo, &top);
  *ret_image = (struct tide_host_image){
      .program = program, .argv = arguments, .argc = 2, .allocator = "", .stack_top = top};
  return true;
}

static void *store(bool forked, uint64_t bytes)
{
  char name[64];
  return forked ? NULL : tide_door_file("core.store", "core", bytes, name, sizeof name);
}

static void started(void) {}

static bool object_at(uint64_t pc, struct tide_object *ret_object)
{
  extern const char __ehdr_start[], _end[];
  extern const uint8_t __GNU_EH_FRAME_HDR[];
  *ret_object = (struct tide_object){.start = (uint64_t)__ehdr_start,
                                     .end = (uint64_t)_end,
                                     .eh_hdr = __GNU_EH_FRAME_HDR,
                                     .path = "",
                                     .identity = __ehdr_start};
  return pc - ret_object->start < ret_object->end - ret_object->start;
}

static void each_object(void (*met)(uint64_t pc))
{
  met((uint64_t)&_start);
}

static void thread_began(struct tide_thread *t, uint32_t tid)
{
  n_began += t->seat == &seats[n_began] && tid;
}

static uint32_t thread_id(void)
{
  return 0;
}

static bool is_at_work(void)
{
  n_at_work++;
  return false;
}

static bool owns_block(const void *p)
{
  return p == (void *)0x77;
}

const struct tide_host tide_host = {
    .start = start,
    .store = store,
    .started = started,
    .object_at = object_at,
    .each_object = each_object,
    .thread_began = thread_began,
    .thread_id = thread_id,
    .is_at_work = is_at_work,
    .owns_block = owns_block,
};

static void *block(uint32_t i)
{
  return (void *)(0x10000000 + (uint64_t)i * 4096);
}

// Each is a stack of its own: a way in takes the registers of whoever called it.
__attribute__((noinline)) static bool allocated(struct tide_seat *seat, uint32_t i, size_t size)
{
  struct tide_thread *t = tide_enter(seat);
  if (t)
    tide_record_block(t, block(i), size, TIDE_CALLER_REGS());
  return t;
}

__attribute__((noinline)) static void resized(struct tide_seat *seat, uint32_t from, uint32_t to,
                                              size_t size)
{
  struct tide_resize resize = tide_resize_begin(seat, block(from));
  tide_resize_done(seat, resize, block(from), block(to), size, TIDE_CALLER_REGS());
}

__attribute__((noinline)) static void mapped(struct tide_seat *seat, uint64_t start, uint64_t bytes)
{
  tide_pages_mapped(seat, start, bytes, TIDE_CALLER_REGS());
}

__attribute__((noinline)) static bool place(struct tide_seat *seat, uint32_t i, size_t size)
{
  bool ok = allocated(seat, i, size);
  __asm__ volatile("");
  return ok;
}

// What was seen is checked by whoever reads the store; here, what every call answered.
__attribute__((noinline)) static int run(void)
{
  struct tide_seat *a = &seats[0], *b = &seats[1];
  struct {
    uint32_t block;
    size_t size;
    struct tide_seat *seat;
  } events[] = {{1, 100, a}, {2, 200, a}, {4, 50, b}};
  bool ok = true;
  for (int i = 0; i < 3; i++) // one place, two threads
    ok &= place(events[i].seat, events[i].block, events[i].size);
  ok &= place(a, 3, 1000);             // from another line
  ok &= tide_record_free(b, block(1)); // by another thread
  resized(a, 3, 5, 3000);
  ok &= tide_record_free(a, block(5));      // 3,250 bytes were live, now 250
  ok &= !tide_record_free(a, block(9));     // never heard of
  ok &= !tide_record_free(a, (void *)0x77); // the host's own: not counted
  tide_record_failed();
  mapped(a, 0x20000000, 2 * tide_sys_page_bytes);
  tide_pages_unmapped(a, 0x20000000, tide_sys_page_bytes);
  tide_thread_end(b);
  ok &= tide_record_free(b, block(4)); // after its end
  ok &= !b->thread && b->phase == TIDE_PHASE_GONE && n_began == 2 && n_at_work;
  tide_boot_note_end();
  return ok && tide_boot_ready() ? 0 : 1;
}

__attribute__((noreturn)) void _start(void)
{
  __asm__ volatile(TIDE_NO_CALLER);
  int status = run();
  for (;;)
    TIDE_SYS(SYS_exit_group, status);
}
