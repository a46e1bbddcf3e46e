// SPDX-License-Identifier: Apache-2.0
//
// RLIMIT_AS and RLIMIT_DATA count mappings, ours too. A program that limits itself must fail where
// it would have failed without us: the limit it asks for is set higher by what we have mapped, with
// room above for what we will, and it is shown the number it asked for.

#include "record/record.h"
#include "rt/sys.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

static struct rlimit asked[2];
#define HEADROOM (64ull << 30) // of the hard limit, so that the soft one can follow us

static int which(unsigned resource)
{
  return resource == RLIMIT_AS ? 0 : resource == RLIMIT_DATA ? 1 : -1;
}

static uint64_t plus(uint64_t limit, uint64_t bytes)
{
  return limit == RLIM_INFINITY || limit > RLIM_INFINITY - 1 - bytes ? limit : limit + bytes;
}

static uint64_t own_bytes(int i)
{
  uint64_t shared = tide_store.header ? tide_store.header->store_bytes : 0;
  uint64_t all = tide_sys_mapped_bytes();
  return i == 0 || all < shared ? all : all - shared; // data: private mappings alone
}

static int set(pid_t pid, unsigned resource, const struct rlimit *limit, struct rlimit *old)
{
  int i = pid == 0 || pid == getpid() ? which(resource) : -1;
  struct rlimit shown = {0}, raised;
  if (i >= 0 && tide_sys_limited[i])
    shown = asked[i];
  else
    i = i >= 0 && limit && limit->rlim_cur != RLIM_INFINITY ? i : -1;
  bool had = i >= 0 && tide_sys_limited[i];
  if (i >= 0 && limit) {
    uint64_t own = own_bytes(i);
    raised = (struct rlimit){plus(limit->rlim_cur, own), plus(limit->rlim_max, own + HEADROOM)};
    struct rlimit now;
    // Without privilege the hard limit cannot rise: stay within it.
    if (!tide_real.prlimit(0, resource, NULL, &now) && raised.rlim_max > now.rlim_max)
      raised.rlim_max = now.rlim_max;
    if (raised.rlim_cur > raised.rlim_max)
      raised.rlim_cur = raised.rlim_max;
  }
  int ret = tide_real.prlimit(pid, resource, i >= 0 && limit ? &raised : limit, old);
  if (ret)
    return ret;
  if (old && had)
    *old = shown;
  if (i >= 0 && limit) {
    asked[i] = *limit;
    tide_sys_limited[i] = true;
  }
  return 0;
}

TIDE_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                        struct rlimit *old)
{
  tide_real_resolve();
  return set(pid, resource, limit, old);
}

TIDE_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                          struct rlimit64 *old)
{
  tide_real_resolve();
  return set(pid, resource, (const struct rlimit *)limit, (struct rlimit *)old);
}

TIDE_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
  tide_real_resolve();
  return set(0, resource, limit, NULL);
}

TIDE_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
  tide_real_resolve();
  return set(0, resource, (const struct rlimit *)limit, NULL);
}

TIDE_EXPORT int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
  tide_real_resolve();
  return set(0, resource, NULL, limit);
}

TIDE_EXPORT int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
  tide_real_resolve();
  return set(0, resource, NULL, (struct rlimit *)limit);
}
