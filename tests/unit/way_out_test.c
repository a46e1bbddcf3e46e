// SPDX-License-Identifier: Apache-2.0
//
// Code that was made at run time: which ways out of a frame are known, and that nothing else is
// taken for one.
#include "unit.h"
#include "unwind/arch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct way {
  uint8_t code[TIDE_WAY_OUT_BYTES];
  int32_t cfa, fp; // cfa 0: not known
};

#ifdef __x86_64__
static const struct way ways[] = {
    {{0x48, 0x83, 0xc4, 0x08, 0xc3}, 16, 0},                           // add $8,%rsp; ret
    {{0x48, 0x81, 0xc4, 0x00, 0x01, 0x00, 0x00, 0xc3}, 264, 0},        // add $256,%rsp; ret
    {{0x5d, 0xc3}, 16, -16},                                           // pop %rbp; ret
    {{0x48, 0x83, 0xc4, 0x10, 0x5b, 0x5d, 0x41, 0x5f, 0xc3}, 48, -24}, // add; pop, pop, pop; ret
    {{0xc3}, 0, 0},                                                    // no frame: it never called
    {{0x48, 0x83, 0xc4, 0xf8, 0xc3}, 0, 0},                            // a frame below none
    {{0x48, 0x83, 0xc4, 0x04, 0xc3}, 0, 0},                            // half a word
    {{0x48, 0x81, 0xc4, 0, 0, 0, 0x40, 0xc3}, 0, 0},                   // larger than a stack
    {{0x48, 0x83, 0xc4, 0x08, 0xc2, 0x08, 0x00}, 0, 0},                // ret $8
    {{0x5c, 0xc3}, 0, 0},                                              // pop %rsp
    {{0x48, 0x89, 0xd8, 0x5b, 0xc3}, 0, 0}, // mov %rbx,%rax first: it does more
    {{0x5b, 0xeb, 0x10}, 0, 0},             // pop %rbx; jmp
    {{0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58,
      0x58},
     0,
     0}, // longer than is looked at
    {{0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58,
      0x41},
     0,
     0}, // cut in an instruction
};
static const uint8_t calls[][8] = {{0, 0, 0, 0xe8, 1, 2, 3, 4}, {0, 0, 0, 0, 0, 0, 0xff, 0xd1}};
static const uint8_t no_call[8] = {0, 0, 0, 0, 0, 0, 0xff, 0xe1}; // jmp *%rcx
static const uint8_t ends[][TIDE_WAY_OUT_BYTES] = {
    {0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4},
    {0x89, 0xc7, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05},
};
static const uint8_t goes_on[][TIDE_WAY_OUT_BYTES] = {
    {0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3d, 0x0f, 0x05}, // another call of the kernel
    {0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05},             // of another value
};
#else
#define OP(n) ((n)&0xff), ((n) >> 8 & 0xff), ((n) >> 16 & 0xff), ((n) >> 24 & 0xff)
static const struct way ways[] = {
    {{OP(0xa8c17bfdu), OP(0xd65f03c0u)}, 16, -16},                  // ldp x29,x30,[sp],#16; ret
    {{OP(0xa8c37bfdu), OP(0xd50323bfu), OP(0xd65f03c0u)}, 48, -48}, // ldp; autiasp; ret
    {{OP(0xd65f03c0u)}, 0, 0},                                      // no frame: it never called
    {{OP(0xa8ff7bfdu), OP(0xd65f03c0u)}, 0, 0},                     // a frame below none
    {{OP(0xa8c153f3u), OP(0xd65f03c0u)}, 0, 0}, // ldp x19,x20: which is no way out
    {{OP(0xa8c17bfdu), OP(0x14000001u)}, 0, 0}, // ldp; b
};
static const uint8_t calls[][8] = {{0, 0, 0, 0, OP(0x94000001u)}, {0, 0, 0, 0, OP(0xd63f0060u)}};
static const uint8_t no_call[8] = {0, 0, 0, 0, OP(0xd61f0060u)}; // br x3
static const uint8_t ends[][TIDE_WAY_OUT_BYTES] = {{OP(0xd2800ba8u), OP(0xd4000001u)}};
static const uint8_t goes_on[][TIDE_WAY_OUT_BYTES] = {
    {OP(0xd2800bc8u), OP(0xd4000001u)}, // mov x8,#94
    {OP(0xd2800ba8u), OP(0xd65f03c0u)}, // ret
};
#endif

static void ways_out(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct tide_rule rule = {0};
    assert_int_equal(tide_way_out(ways[i].code, &rule), ways[i].cfa != 0);
    assert_int_equal(rule.cfa, ways[i].cfa);
    assert_int_equal(rule.fp, ways[i].fp);
  }
}

static void calls_are_told_from_jumps(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    assert_true(tide_is_after_call(calls[i] + 8));
  assert_false(tide_is_after_call(no_call + 8));
}

static void ends_of_threads(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    assert_true(tide_ends_thread(ends[i]));
  for (size_t i = 0; i < sizeof goes_on / sizeof *goes_on; i++)
    assert_false(tide_ends_thread(goes_on[i]));
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    assert_false(tide_ends_thread(ways[i].code));
}

UNIT_TESTS(way_out_test)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(ways_out),
      cmocka_unit_test(calls_are_told_from_jumps),
      cmocka_unit_test(ends_of_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
