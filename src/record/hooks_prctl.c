// SPDX-License-Identifier: Apache-2.0
//
// prctl, for two vows. Strict seccomp leaves read, write and exit, and on x86 forbids the cycle
// counter, as PR_SET_TSC does by itself: our next event would be the program's last.

#include "record/record.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

static bool is_vow(int what, unsigned long how)
{
  return (what == PR_SET_SECCOMP && how == SECCOMP_MODE_STRICT) ||
         (what == PR_SET_TSC && how == PR_TSC_SIGSEGV);
}

TIDE_EXPORT int prctl(int what, ...)
{
  va_list args;
  va_start(args, what);
  unsigned long a = va_arg(args, unsigned long), b = va_arg(args, unsigned long);
  unsigned long c = va_arg(args, unsigned long), d = va_arg(args, unsigned long);
  va_end(args);
  tide_real_resolve();
  if (is_vow(what, a))
    tide_boot_off(TIDE_OFF_FORBIDDEN);
  return tide_real.prctl(what, a, b, c, d);
}
