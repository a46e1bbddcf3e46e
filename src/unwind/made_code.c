// SPDX-License-Identifier: Apache-2.0
//
// Code that the program made while it ran: no object holds it, and nothing describes it. Where a
// call is followed by nothing but giving the frame back and returning, these instructions are what
// will be done, and so they say where the caller is. CPython's trampolines (-X perf) are such code,
// as stubs of many libraries are. Other code of that kind is left to the frame pointer.
//
// Of code that an object holds, but does not describe, one thing is read likewise: whether it ends
// the thread. musl's clone() is such, below every thread but the first.
//
// 1. What was read of made code is never kept: the program may write other code there. A rule of
//    the kind CODE says no more than that it is worth reading.
// 2. A stack may hold any number: nothing is read before the kernel was asked.
#include "rt/sys.h"
#include "unwind/arch.h"

static bool may_read(uint64_t from, uint64_t to)
{
  return tide_sys_readable(from) &&
         ((from ^ (to - 1)) < tide_sys_page_bytes || tide_sys_readable(to - 8));
}

static bool may_be_after_call(uint64_t pc)
{
  return may_read(pc - TIDE_CALL_BYTES, pc + TIDE_WAY_OUT_BYTES) &&
         tide_is_after_call((const uint8_t *)pc);
}

TIDE_COLD bool tide_made_code_rule(uint64_t pc, struct tide_rule *ret_rule)
{
  return may_be_after_call(pc) && tide_way_out((const uint8_t *)pc, ret_rule);
}

TIDE_COLD bool tide_code_ends_thread(uint64_t pc)
{
  return may_be_after_call(pc) && tide_ends_thread((const uint8_t *)pc);
}
