// SPDX-License-Identifier: Apache-2.0
//
// Setting limits, and asking for them: the program sees its own.
#include "preload/hook.h"
#include "record/limits.h"
#include "rt/sys.h"

#include <sys/resource.h>

// All six functions are one: set limit (NULL: leave it), show the old one (NULL: do not).
static int change(pid_t pid, unsigned resource, const struct rlimit *limit, struct rlimit *old)
{
  struct tide_limits_change change;
  tide_real_resolve();
  if (pid && (uint32_t)pid != tide_sys_pid())
    return tide_real.prlimit(pid, resource, limit, old);
  tide_limits_change_begin(resource, limit, &change);
  int ret = tide_real.prlimit(pid, resource, limit ? &change.set : NULL, old);
  if (!ret)
    tide_limits_change_done(&change, limit, old);
  return ret;
}

int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
            struct rlimit *old)
{
  return change(pid, resource, limit, old);
}

int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
              struct rlimit64 *old)
{
  return change(pid, resource, (const struct rlimit *)limit, (struct rlimit *)old);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
  return change(0, resource, limit, NULL);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
  return change(0, resource, (const struct rlimit *)limit, NULL);
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
  return change(0, resource, NULL, limit);
}

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
  return change(0, resource, NULL, (struct rlimit *)limit);
}
