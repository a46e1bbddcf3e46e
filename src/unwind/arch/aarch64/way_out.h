// SPDX-License-Identifier: Apache-2.0
//
// aarch64: what a function does after its last call, when that is no more than giving its frame
// back.
#pragma once
#include "unwind/rule.h"

#include <string.h>

// How many bytes are looked at: before the return address, and from there on.
enum { TIDE_CALL_BYTES = 4, TIDE_WAY_OUT_BYTES = 12 };

// Is there a call that ends here? bl; blr x
static inline bool tide_is_after_call(const uint8_t *pc)
{
  uint32_t before;
  memcpy(&before, pc - 4, sizeof before);
  return before >> 26 == 0x25 || (before & 0xfffffc1f) == 0xd63f0000;
}

// Is there nothing but the end of the thread, with what was returned? mov x8,#93; svc #0
static inline bool tide_ends_thread(const uint8_t code[TIDE_WAY_OUT_BYTES])
{
  uint32_t op[2];
  memcpy(op, code, sizeof op);
  return op[0] == 0xd2800ba8 && op[1] == 0xd4000001;
}

// The rule of a frame whose return address is followed by these bytes: ldp x29,x30,[sp],#n, then
// ret, with autiasp between them or not.
static inline bool tide_way_out(const uint8_t code[TIDE_WAY_OUT_BYTES], struct tide_rule *ret_rule)
{
  const uint32_t ldp = 0xa8c07bfd, autiasp = 0xd50323bf, ret = 0xd65f03c0, offset = 0x3f << 15;
  uint32_t op[3];
  memcpy(op, code, sizeof op);
  int32_t cfa = (int32_t)((op[0] & offset) >> 15) * 8; // without the sign, which ldp has as 0
  if ((op[0] & ~offset) != ldp || cfa < 16 || op[op[1] == autiasp ? 2 : 1] != ret)
    return false;
  *ret_rule = (struct tide_rule){.cfa = cfa, .ra = 8 - cfa, .fp = -cfa, .kind = TIDE_RULE_SP};
  return true;
}
