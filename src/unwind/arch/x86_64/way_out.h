// SPDX-License-Identifier: Apache-2.0
//
// x86_64: what a function does after its last call, when that is no more than giving its frame
// back.
#pragma once
#include "unwind/rule.h"

#include <string.h>

// How many bytes are looked at: before the return address, and from there on.
enum { TIDE_CALL_BYTES = 5, TIDE_WAY_OUT_BYTES = 16 };

// Is there a call that ends here? call rel32; call *%r
static inline bool tide_is_after_call(const uint8_t *pc)
{
  return pc[-5] == 0xe8 || (pc[-2] == 0xff && (pc[-1] & 0xf8) == 0xd0);
}

// Is there nothing but the end of the thread, with what was returned? mov %eax,%edi; then one of
// xor %eax,%eax; mov $60,%al and mov $60,%eax; then syscall.
static inline bool tide_ends_thread(const uint8_t code[TIDE_WAY_OUT_BYTES])
{
  return !memcmp(code, "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05", 8) ||
         !memcmp(code, "\x89\xc7\xb8\x3c\0\0\0\x0f\x05", 9);
}

// add $n,%rsp: bytes of the instruction, 0: it is none.
static inline uint32_t tide_frame_given_back(const uint8_t *at, uint32_t left, int32_t *ret_n)
{
  if (left >= 4 && !memcmp(at, "\x48\x83\xc4", 3)) {
    *ret_n = (int8_t)at[3];
    return 4;
  }
  if (left >= 7 && !memcmp(at, "\x48\x81\xc4", 3)) {
    memcpy(ret_n, at + 3, sizeof *ret_n);
    return 7;
  }
  return 0;
}

// The rule of a frame whose return address is followed by these bytes: any of add $n,%rsp and
// pop %r, then ret. A function that calls has at least a word of its own, for the alignment.
static inline bool tide_way_out(const uint8_t code[TIDE_WAY_OUT_BYTES], struct tide_rule *ret_rule)
{
  enum { RET = 0xc3, POP = 0x58, POP_RSP = 0x5c, POP_RBP = 0x5d, REX_B = 0x41, LIMIT = 1 << 20 };
  int32_t depth = 0, fp_at = -1, n;
  uint32_t i = 0, length;
  for (; i < TIDE_WAY_OUT_BYTES && code[i] != RET; i += length) {
    if ((length = tide_frame_given_back(code + i, TIDE_WAY_OUT_BYTES - i, &n))) {
      if (n <= 0 || n % 8 || n > LIMIT)
        return false;
      depth += n;
      continue;
    }
    bool is_high = code[i] == REX_B && i + 1 < TIDE_WAY_OUT_BYTES;
    uint8_t op = code[i + is_high];
    if ((op & 0xf8) != POP || (!is_high && op == POP_RSP))
      return false;
    if (!is_high && op == POP_RBP)
      fp_at = depth;
    length = is_high ? 2 : 1;
    depth += 8;
  }
  if (i >= TIDE_WAY_OUT_BYTES || !depth)
    return false;
  int32_t cfa = depth + 8;
  *ret_rule = (struct tide_rule){
      .cfa = cfa, .ra = -8, .fp = fp_at < 0 ? 0 : fp_at - cfa, .kind = TIDE_RULE_SP};
  return true;
}
