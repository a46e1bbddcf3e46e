// SPDX-License-Identifier: Apache-2.0
//
// Displaced instructions do what they did in their place. On the machine that we run on, the moved
// code is run: functions whose beginnings hold every kind of operand, and libc's own allocator. For
// the other one, and for what is refused, bytes are compared.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "attach/displace.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool moves(const struct tide_displacer *d, const void *bytes, size_t n, uint64_t at,
                  size_t need, uint64_t to, struct tide_displaced *ret, const char **why)
{
  struct tide_code function = {bytes, n, at};
  return d->move(&function, d->landing(&function), need, to, ret, why);
}

static void expect_moved(const struct tide_displacer *d, const void *bytes, size_t n, size_t need,
                         int64_t distance, const void *expected, size_t n_expected)
{
  const char *why = NULL;
  struct tide_displaced displaced;
  const uint64_t at = 0x400000;
  assert_true(moves(d, bytes, n, at, need, at + (uint64_t)distance, &displaced, &why));
  assert_true(displaced.n_bytes >= n_expected);
  assert_memory_equal(displaced.code, expected, n_expected);
}

static void expect_refused(const struct tide_displacer *d, const void *bytes, size_t n,
                           int64_t distance, const char *reason)
{
  const char *why = NULL;
  struct tide_displaced displaced;
  const uint64_t at = 0x400000;
  assert_false(moves(d, bytes, n, at, d->jump_bytes, at + (uint64_t)distance, &displaced, &why));
  assert_non_null(strstr(why, reason));
}

#define X86 (&tide_displacer_x86_64)
#define ARM (&tide_displacer_aarch64)

static void x86_operands_are_rewritten(void **state)
{
  (void)state;
  // mov 0x10(%rip), %rax: 0x1000 farther away, the operand is as much nearer
  expect_moved(X86, "\x48\x8b\x05\x10\x00\x00\x00", 7, 5, 0x1000,
               "\x48\x8b\x05\x10\xf0\xff\xff\xe9", 8);
  // je +0x10 becomes a near one, with the push behind it
  expect_moved(X86, "\x74\x10\x55\x41\x57", 5, 5, 0x1000,
               "\x0f\x84\x0c\xf0\xff\xff\x55\x41\x57\xe9", 10);
  // jmp +0x20
  expect_moved(X86, "\xeb\x20", 2, 2, 0x1000, "\xe9\x1d\xf0\xff\xff", 5);
  // jrcxz has only a short form
  expect_moved(X86, "\xe3\x10", 2, 2, 0x1000, "\xe3\x02\xeb\x05\xe9\x09\xf0\xff\xff", 9);
}

static void x86_pads_stay(void **state)
{
  (void)state;
  const char *why;
  struct tide_displaced displaced;
  const char code[] = "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x90\x90";
  assert_true(moves(X86, code, 10, 0x400000, 5, 0x401000, &displaced, &why));
  assert_int_equal(displaced.taken, 5);
  // Back behind pad and what was taken: 0x400009 from the end of the jump at 0x40100a.
  assert_memory_equal(displaced.code, "\x48\x83\xec\x08\x90\xe9\xff\xef\xff\xff", 10);
}

static void x86_refuses(void **state)
{
  (void)state;
  expect_refused(X86, "\xe8\x00\x00\x00\x00\x90", 6, 0x1000, "a call");
  expect_refused(X86, "\xc3\x90\x90\x90\x90\x90", 6, 0x1000, "shorter than a jump");
  expect_refused(X86, "\x55\xeb\xfd\x90\x90\x90", 6, 0x1000, "a loop");
  expect_refused(X86, "\x06\x06\x06\x06\x06\x06", 6, 0x1000, "cannot be decoded");
  expect_refused(X86, "\x48\x8b\x05\x10\x00\x00\x00", 7, INT64_C(1) << 33, "out of reach");
  expect_refused(X86, "\x55\x48\x89\xe5\x90", 5, INT64_C(1) << 33, "within reach");
  expect_refused(X86, "\x55\x48", 2, 0x1000, "cannot be decoded"); // cut off
}

static void x86_branches_back_are_seen(void **state)
{
  (void)state;
  // push %rbp; push %rbx; nop; jmp to the second instruction
  const uint8_t back[] = {0x55, 0x53, 0x90, 0x90, 0x90, 0xeb, 0xfa};
  const uint8_t start[] = {0x55, 0x53, 0x90, 0x90, 0x90, 0xeb, 0xf9};
  assert_true(X86->branches_into(&(struct tide_code){back, sizeof back, 0x1000}, 0, 5));
  assert_false(X86->branches_into(&(struct tide_code){start, sizeof start, 0x1000}, 0, 5));
  // Data among the code could be anything.
  uint8_t data[64];
  memset(data, 0x06, sizeof data);
  assert_true(X86->branches_into(&(struct tide_code){data, sizeof data, 0x1000}, 0, 5));
}

static void x86_padding_is_not_data(void **state)
{
  (void)state;
  const uint8_t nops[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xcc, 0x90};
  const uint8_t zeros[8] = {0};
  const uint8_t code[] = {0x90, 0x55, 0x90};
  assert_true(X86->is_padding(&(struct tide_code){nops, sizeof nops, 0}));
  assert_false(X86->is_padding(&(struct tide_code){zeros, sizeof zeros, 0}));
  assert_false(X86->is_padding(&(struct tide_code){code, sizeof code, 0}));
}

static void expect_arm(uint32_t insn, const uint32_t *expected, size_t n)
{
  expect_moved(ARM, &insn, 4, 4, 0x1000, expected, n * sizeof *expected);
}

static uint64_t passed_on(const char *bytes, size_t n)
{
  return X86->passes_on(&(struct tide_code){(const uint8_t *)bytes, n, 0x400000});
}

static void x86_what_is_passed_on(void **state)
{
  (void)state;
  // push %rbx; mov %rdi, %rbx; call +0x10; test %rax, %rax; je +2; pop %rbx; ret
  static const char passes[] = "\x53\x48\x89\xfb\xe8\x10\0\0\0\x48\x85\xc0\x74\x02\x5b\xc3";
  assert_int_equal(passed_on(passes, 16), 0x400019);
  // call +0x10; lea 8(%rax), %rax; ret: another block than that which came
  assert_int_equal(passed_on("\xe8\x10\0\0\0\x48\x8d\x40\x08\xc3", 10), 0);
  // call +0x10; call +0x10; ret
  assert_int_equal(passed_on("\xe8\x10\0\0\0\xe8\x10\0\0\0\xc3", 11), 0);
  // je +2; call +0x10; ret: not always
  assert_int_equal(passed_on("\x74\x02\xe8\x10\0\0\0\xc3", 8), 0);
  // call *%rax; ret: nobody knows whom
  assert_int_equal(passed_on("\xff\xd0\xc3", 3), 0);
  // ret; call +0x10 and no end
  assert_int_equal(passed_on("\xc3", 1), 0);
  assert_int_equal(passed_on("\xe8\x10\0\0\0", 5), 0);
}

static void arm_operands_are_rewritten(void **state)
{
  (void)state;
  // 0x400000: adr x0, +8; adrp x1, +1 page
  expect_arm(0x10000040, (uint32_t[]){0xd2800100, 0xf2a00800, 0x17fffbff}, 3);
  expect_arm(0xb0000001, (uint32_t[]){0xd2820001, 0xf2a00801, 0x17fffbff}, 3);
  // ldr x2, +16: the address, then what is there
  expect_arm(0x58000082, (uint32_t[]){0xd2800202, 0xf2a00802, 0xf9400042}, 3);
  // ldr q3, +16 by way of x17
  expect_arm(0x9c000083, (uint32_t[]){0xd2800211, 0xf2a00811, 0x3dc00223}, 3);
  // prfm (literal) is a hint
  expect_arm(0xd8000080, (uint32_t[]){0xd503201f, 0x17fffc00}, 2);
  // b +64; cbz x0, +32; b.ne +32; tbnz w0, #3, +32
  expect_arm(0x14000010, (uint32_t[]){0x17fffc10}, 1);
  expect_arm(0xb4000100, (uint32_t[]){0xb4000040, 0x14000002, 0x17fffc06, 0x17fffbfe}, 4);
  expect_arm(0x54000101, (uint32_t[]){0x54000041, 0x14000002, 0x17fffc06, 0x17fffbfe}, 4);
  expect_arm(0x37180100, (uint32_t[]){0x37180040, 0x14000002, 0x17fffc06, 0x17fffbfe}, 4);
  // stp x29, x30, [sp, #-16]! is as it is
  expect_arm(0xa9bf7bfd, (uint32_t[]){0xa9bf7bfd, 0x17fffc00}, 2);
}

static void arm_refuses(void **state)
{
  (void)state;
  const uint32_t call = 0x94000010, loop = 0x14000000, far = 0x15ffffff, plain = 0xa9bf7bfd;
  expect_refused(ARM, &call, 4, 0x1000, "a call");
  expect_refused(ARM, &loop, 4, 0x1000, "a loop");
  expect_refused(ARM, &far, 4, -0x1000000, "out of reach");
  expect_refused(ARM, &plain, 4, INT64_C(1) << 28, "within reach");
  expect_refused(ARM, &plain, 3, 0x1000, "shorter than a jump");
}

static void arm_pads_stay(void **state)
{
  (void)state;
  const char *why;
  struct tide_displaced d;
  const uint32_t bti[] = {0xd503245f, 0xa9bf7bfd}, pac[] = {0xd503233f, 0xa9bf7bfd};
  assert_true(moves(ARM, bti, 8, 0x400000, 4, 0x401000, &d, &why));
  assert_int_equal(d.n_undo, 0);
  assert_memory_equal(d.code, ((uint32_t[]){0xa9bf7bfd, 0x17fffc01}), 8);
  // The hook gets the return address unsigned; what follows the pad has it signed again.
  assert_true(moves(ARM, pac, 8, 0x400000, 4, 0x401000, &d, &why));
  assert_memory_equal(d.undo, ((uint32_t[]){0xd50323bf}), 4);
  assert_memory_equal(d.code, ((uint32_t[]){0xd503233f, 0xa9bf7bfd, 0x17fffc00}), 12);
  assert_int_equal(d.moved[0], 4);
  // Whether or not the pages insist on it.
  struct tide_code function = {(const uint8_t *)pac, 8, 0x400000};
  assert_int_equal(ARM->landing(&function), 4);
}

// Moved code that runs.

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        "displace_data: .quad 77\n"
        "displace_by_flag: test %rdi, %rdi; je 1f; mov $1, %eax; ret; 1: mov $2, %eax; ret\n"
        "displace_by_count: mov %rdi, %rcx; jrcxz 1f; mov $3, %eax; ret; 1: mov $4, %eax; ret\n"
        "displace_by_data: mov displace_data(%rip), %rax; add %rdi, %rax; ret\n"
        "displace_by_jump: jmp 1f; nop; nop; nop; nop; 1: lea 5(%rdi), %rax; ret\n"
        "displace_by_pad: endbr64; push %rbp; mov %rsp, %rbp; lea 6(%rdi), %rax; pop %rbp; ret\n"
        "displace_entered: ret\n"
        ".popsection");
#else
__asm__(".pushsection .text\n.balign 8\n"
        "displace_data: .quad 77\n"
        "displace_by_flag: cbz x0, 1f; mov x0, #1; ret; 1: mov x0, #2; ret\n"
        "displace_by_count: tbz x0, #0, 1f; mov x0, #3; ret; 1: mov x0, #4; ret\n"
        "displace_by_data: ldr x1, displace_data; add x0, x0, x1; ret\n"
        "displace_by_jump: b 1f; nop; 1: add x0, x0, #5; ret\n"
        "displace_by_pad: paciasp; add x0, x0, #6; autiasp; ret\n"
        "displace_entered: mov x0, x17; ret\n"
        ".popsection");
#endif
typedef uint64_t function(uint64_t);
extern function displace_by_flag, displace_by_count, displace_by_data, displace_by_jump,
    displace_by_pad, displace_entered;

enum { ROOM = 64 << 10 };

// Memory near a function, in which code can be put and run.
static uint8_t *room_near(const void *near)
{
  for (intptr_t step = 1; step < 1000; step++) {
    void *at = (void *)(((intptr_t)near & ~4095l) - (step << 16));
    void *p = mmap(at, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == at)
      return p;
    if (p != MAP_FAILED)
      munmap(p, ROOM);
  }
  fail_msg("no memory near %p", near);
  return NULL;
}

// The function by way of its moved beginning.
static void *displaced_copy(const void *of, uint8_t *room)
{
  const struct tide_displacer *d = tide_displacer();
  const char *why = "";
  struct tide_displaced displaced;
  struct tide_code code = {of, 64, (uint64_t)of};
  size_t pad = d->landing(&code);
  if (!d->move(&code, pad, d->jump_bytes, (uint64_t)room, &displaced, &why) &&
      !d->move(&code, pad, d->short_bytes, (uint64_t)room, &displaced, &why))
    fail_msg("%s", why);
  memcpy(room, displaced.code, displaced.n_bytes);
  __builtin___clear_cache((char *)room, (char *)room + displaced.n_bytes);
  return room;
}

static void moved_functions_do_the_same(void **state)
{
  (void)state;
  function *const all[] = {displace_by_flag, displace_by_count, displace_by_data, displace_by_jump,
                           displace_by_pad};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    uint8_t *room = room_near((const void *)all[i]);
    function *copy = (function *)displaced_copy((const void *)all[i], room);
    for (uint64_t n = 0; n < 4; n++)
      assert_int_equal(copy(n), all[i](n));
    munmap(room, ROOM);
  }
}

static uint64_t entered_quickly(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                uint64_t hook)
{
  return hook + a + 10 * b + 100 * c + 1000 * d + 10000 * e;
}

typedef uint64_t called(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

static uint64_t call_island(uint8_t *at, struct tide_way way)
{
  way.at = (uint64_t)at;
  way.enter = (uint64_t)displace_entered;
  tide_displacer()->enter(at, &way);
  __builtin___clear_cache((char *)at, (char *)at + TIDE_ENTER_BYTES);
  return ((called *)(uintptr_t)at)(1, 2, 3, 4, 5) + 0; // not the last thing done: we are the caller
}

static void islands_lead_to_the_hook(void **state)
{
  (void)state;
  uint64_t here = (uint64_t)call_island & ~UINT64_C(0xfffff), quick = (uint64_t)entered_quickly;
  uint8_t *near = room_near((const void *)entered_quickly);
  uint8_t *far = mmap((void *)(UINT64_C(1) << 45), ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  assert_ptr_not_equal(far, MAP_FAILED);
  uint8_t *const rooms[] = {near, far};
  const uint64_t hooks[] = {(uint64_t)near + 4096, UINT64_C(0x123456789abc000)};
  for (size_t i = 0; i < 4; i++) {
    uint64_t hook = hooks[i / 2];
    struct tide_way way = {.hook = hook};
    assert_int_equal(call_island(rooms[i % 2], way), hook);
    way.quick = quick;
    assert_int_equal(call_island(rooms[i % 2], way), hook + 54321);
    way.own_lo = here;
    way.own_bytes = 2 << 20;
    assert_int_equal(call_island(rooms[i % 2], way), hook);
  }
  munmap(near, ROOM);
  munmap(far, ROOM);
}

static void x86_islands_jump_straight_where_they_can(void **state)
{
  (void)state;
  uint8_t code[TIDE_ENTER_BYTES];
  struct tide_way way = {.at = 0x400000, .hook = 0x500000, .enter = 0x600000};
  X86->enter(code, &way);
  assert_memory_equal(code, "\x48\x8d\x05\xf9\xff\x0f\x00\xe9\xf4\xff\x1f\x00", 12);
  way.hook += UINT64_C(1) << 32;
  X86->enter(code, &way);
  assert_memory_equal(code, "\x48\xb8\x00\x00\x50\x00\x01\x00\x00\x00\xff\x25", 12);
}

static void libcs_allocator_runs_displaced(void **state)
{
  (void)state;
  uint8_t *room = room_near(dlsym(RTLD_NEXT, "malloc"));
  void *(*my_malloc)(size_t) = displaced_copy(dlsym(RTLD_NEXT, "malloc"), room);
  void *(*my_calloc)(size_t, size_t) = displaced_copy(dlsym(RTLD_NEXT, "calloc"), room + 128);
  void *(*my_realloc)(void *, size_t) = displaced_copy(dlsym(RTLD_NEXT, "realloc"), room + 256);
  void (*my_free)(void *) = displaced_copy(dlsym(RTLD_NEXT, "free"), room + 384);
  for (size_t n = 1; n < 300000; n = n * 3 + 1) {
    char *p = my_malloc(n), *q = my_calloc(n, 2);
    memset(p, 1, n);
    for (size_t i = 0; i < 2 * n; i++)
      assert_int_equal(q[i], 0);
    p = my_realloc(p, 4 * n);
    assert_int_equal(p[n - 1], 1);
    my_free(p);
    my_free(q);
  }
  munmap(room, ROOM);
}

UNIT_TESTS(displace_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(x86_operands_are_rewritten),
      cmocka_unit_test(x86_pads_stay),
      cmocka_unit_test(x86_refuses),
      cmocka_unit_test(x86_branches_back_are_seen),
      cmocka_unit_test(x86_padding_is_not_data),
      cmocka_unit_test(x86_what_is_passed_on),
      cmocka_unit_test(arm_operands_are_rewritten),
      cmocka_unit_test(arm_refuses),
      cmocka_unit_test(arm_pads_stay),
      cmocka_unit_test(moved_functions_do_the_same),
      cmocka_unit_test(islands_lead_to_the_hook),
      cmocka_unit_test(x86_islands_jump_straight_where_they_can),
      cmocka_unit_test(libcs_allocator_runs_displaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
