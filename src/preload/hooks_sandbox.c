// SPDX-License-Identifier: Apache-2.0
//
// prctl and syscall, by which programs sandbox themselves (libseccomp calls the latter): see
// record/vow.c. What the kernel refuses is no vow: probes of what it supports are told by their
// arguments or by their failure.
#include "record/record.h"
#include "preload/hook.h"
#include "rt/sys.h"

#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

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
  enum tide_vow vow = tide_vow_of_prctl(what, a, b);
  if (TIDE_LIKELY(vow == TIDE_VOW_NONE))
    return tide_real.prctl(what, a, b, c, d);
  bool confined = tide_vow_take(&tide_self, vow);
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
  enum tide_vow vow = tide_vow_of_call(number, a, b, c);
  if (TIDE_LIKELY(vow == TIDE_VOW_NONE))
    return tide_real.syscall(number, a, b, c, d, e, f);
  bool confined = tide_vow_take(&tide_self, vow);
  return release_if_refused(confined, tide_real.syscall(number, a, b, c, d, e, f));
}
