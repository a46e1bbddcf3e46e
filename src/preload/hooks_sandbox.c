// SPDX-License-Identifier: Apache-2.0
//
// prctl and syscall, by which programs sandbox themselves (libseccomp calls the latter).
//
// 1. Strict seccomp leaves read, write and exit, and on x86 forbids the cycle counter, as
// PR_SET_TSC
//    does by itself: our next event would be the program's last, so recording ends before.
// 2. Of a filter nothing is known but that it may forbid anything, and kill the program for a call
//    that only the recorder makes. Before it is put on, everything that is likely to be needed is
//    got; after that no call is made, and recording goes on until something would need one.
// 3. What the kernel refuses is no vow: probes of what it supports are told by their arguments or
//    by their failure.
#include "record/record.h"
#include "preload/hook.h"
#include "rt/sys.h"
#include "store/live.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum vow { NO_VOW, NO_CYCLES, STRICT, FILTER };

static enum vow vow_of_prctl(long what, unsigned long how, unsigned long program)
{
  if (what == PR_SET_TSC && how == PR_TSC_SIGSEGV)
    return NO_CYCLES;
  if (what != PR_SET_SECCOMP)
    return NO_VOW;
  return how == SECCOMP_MODE_STRICT              ? STRICT
         : how == SECCOMP_MODE_FILTER && program ? FILTER
                                                 : NO_VOW;
}

static enum vow vow_of_seccomp(unsigned long what, unsigned long flags, unsigned long program)
{
  if (what == SECCOMP_SET_MODE_STRICT)
    return flags || program ? NO_VOW : STRICT;
  return what == SECCOMP_SET_MODE_FILTER && program ? FILTER : NO_VOW;
}

// Before the call. True: after it, we are confined.
static bool take_vow(enum vow vow)
{
  if (vow == NO_CYCLES || vow == STRICT)
    tide_boot_off(TIDE_OFF_FORBIDDEN);
  if (vow != FILTER && vow != STRICT)
    return false;
  struct tide_thread *t =
      tide_enter(&tide_self); // NULL also when recording is off: then there is no need
  if (t) {
    tide_modules_meet_all();
    tide_leave(t);
  }
  bool first = !tide_sys_confined;
  if (first) {
    tide_live_confine();
    tide_sys_confine();
  }
  return first;
}

static long release_if_refused(bool confined, long ret)
{
  if (confined && ret < 0)
    tide_sys_release();
  return ret;
}

int prctl(int what, ...)
{
  va_list args;
  va_start(args, what);
  unsigned long a = va_arg(args, unsigned long), b = va_arg(args, unsigned long);
  unsigned long c = va_arg(args, unsigned long), d = va_arg(args, unsigned long);
  va_end(args);
  tide_real_resolve();
  enum vow vow = vow_of_prctl(what, a, b);
  if (TIDE_LIKELY(vow == NO_VOW))
    return tide_real.prctl(what, a, b, c, d);
  bool confined = take_vow(vow);
  return (int)release_if_refused(confined, tide_real.prctl(what, a, b, c, d));
}

// As many arguments as any call has; those that were not given are whatever they were.
long syscall(long number, ...)
{
  va_list args;
  va_start(args, number);
  unsigned long a = va_arg(args, unsigned long), b = va_arg(args, unsigned long);
  unsigned long c = va_arg(args, unsigned long), d = va_arg(args, unsigned long);
  unsigned long e = va_arg(args, unsigned long), f = va_arg(args, unsigned long);
  va_end(args);
  if (TIDE_UNLIKELY(!tide_real.syscall))
    tide_real_resolve();
  enum vow vow = number == SYS_seccomp ? vow_of_seccomp(a, b, c)
                 : number == SYS_prctl ? vow_of_prctl((int)a, b, c)
                                       : NO_VOW;
  if (TIDE_LIKELY(vow == NO_VOW))
    return tide_real.syscall(number, a, b, c, d, e, f);
  bool confined = take_vow(vow);
  return release_if_refused(confined, tide_real.syscall(number, a, b, c, d, e, f));
}
