// SPDX-License-Identifier: Apache-2.0
//
// A program binds itself.
//
// 1. Strict seccomp leaves read, write and exit, and on x86 forbids the cycle counter, as
//    PR_SET_TSC does by itself: our next event would be the program's last, so recording ends
//    before.
// 2. Of a filter nothing is known but that it may forbid anything, and kill the program for a call
//    that only the recorder makes. Before it is put on, everything that is likely to be needed is
//    got; after that no call is made, and recording goes on until something would need one.
#include "record/record.h"

#include "record/thread.h"
#include "rt/sys.h"
#include "store/live.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum tide_vow tide_vow_of_prctl(long what, uint64_t how, uint64_t program)
{
  if (what == PR_SET_TSC && how == PR_TSC_SIGSEGV)
    return TIDE_VOW_NO_CYCLES;
  if (what != PR_SET_SECCOMP)
    return TIDE_VOW_NONE;
  return how == SECCOMP_MODE_STRICT              ? TIDE_VOW_STRICT
         : how == SECCOMP_MODE_FILTER && program ? TIDE_VOW_FILTER
                                                 : TIDE_VOW_NONE;
}

static enum tide_vow vow_of_seccomp(uint64_t what, uint64_t flags, uint64_t program)
{
  if (what == SECCOMP_SET_MODE_STRICT)
    return flags || program ? TIDE_VOW_NONE : TIDE_VOW_STRICT;
  return what == SECCOMP_SET_MODE_FILTER && program ? TIDE_VOW_FILTER : TIDE_VOW_NONE;
}

enum tide_vow tide_vow_of_call(long number, uint64_t a, uint64_t b, uint64_t c)
{
  return number == SYS_seccomp ? vow_of_seccomp(a, b, c)
         : number == SYS_prctl ? tide_vow_of_prctl((int)a, b, c)
                               : TIDE_VOW_NONE;
}

bool tide_vow_take(struct tide_seat *seat, enum tide_vow vow)
{
  if (vow == TIDE_VOW_NO_CYCLES || vow == TIDE_VOW_STRICT)
    tide_boot_off(TIDE_OFF_FORBIDDEN);
  if (vow != TIDE_VOW_FILTER && vow != TIDE_VOW_STRICT)
    return false;
  struct tide_thread *t =
      tide_enter(seat); // NULL also when recording is off: then there is no need
  if (t) {
    tide_modules_meet_all();
    tide_leave(t);
  }
  bool first = !tide_sys_confined;
  if (first) {
    tide_live_confine();
    tide_boot_disinherit();
    tide_sys_confine();
  }
  return first;
}
