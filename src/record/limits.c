// SPDX-License-Identifier: Apache-2.0
//
// Resource limits as the program sees them (asked) and as they are set (raised).
#include "record/limits.h"

#include "rt/sys.h"
#include "record/record.h"

#include <sys/resource.h>
#include <unistd.h>

static const int resources[2] = {RLIMIT_AS, RLIMIT_DATA};
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
  uint64_t shared = tide_store.bytes, all = tide_sys_mapped_bytes();
  return i == 0 || all < shared ? all : all - shared; // data: private mappings alone
}

static long get_limit(int i, struct rlimit *limit)
{
  return TIDE_SYS(SYS_prlimit64, 0, resources[i], 0, limit);
}

static long put_limit(int i, const struct rlimit *limit)
{
  return TIDE_SYS(SYS_prlimit64, 0, resources[i], limit, 0);
}

// The limit to set for the one asked for. Without privilege the hard limit cannot rise.
static struct rlimit raised(int i, struct rlimit limit)
{
  uint64_t own = own_bytes(i);
  struct rlimit more = {plus(limit.rlim_cur, own), plus(limit.rlim_max, own + HEADROOM)}, now;
  if (tide_sys_failed(get_limit(i, &now)))
    return limit;
  if (more.rlim_max > now.rlim_max &&
      tide_sys_failed(put_limit(i, &(struct rlimit){now.rlim_cur, more.rlim_max})))
    more.rlim_max = now.rlim_max;
  if (more.rlim_cur > more.rlim_max)
    more.rlim_cur = more.rlim_max;
  return more;
}

uint64_t tide_limits_start(void)
{
  for (int i = 0; i < 2; i++) {
    struct rlimit limit, more;
    if (tide_sys_failed(get_limit(i, &limit)) || limit.rlim_cur == RLIM_INFINITY)
      continue;
    if (!tide_sys_limited[i]) // a fork child's is its parent's, raised already
      asked[i] = limit;
    tide_sys_limited[i] = true;
    more = raised(i, asked[i]);
    put_limit(i, &more);
  }
  return tide_sys_limited[0] ? asked[0].rlim_cur : ~0ull;
}

void tide_limits_make_room(uint64_t bytes)
{
  struct rlimit limit;
  if (!tide_sys_limited[0] || tide_sys_failed(get_limit(0, &limit)) ||
      limit.rlim_max - limit.rlim_cur < bytes)
    return;
  limit.rlim_cur += bytes;
  put_limit(0, &limit);
}

void tide_limits_before_exec(void)
{
  for (int i = 0; i < 2; i++)
    if (tide_sys_limited[i])
      put_limit(i, &asked[i]);
}

void tide_limits_settle(void)
{
  for (int i = 0; i < 2; i++)
    if (tide_sys_limited[i]) {
      struct rlimit more = raised(i, asked[i]);
      put_limit(i, &more);
    }
}

// All six functions are one: set limit (NULL: leave it), show the old one (NULL: do not).
static int change(pid_t pid, unsigned resource, const struct rlimit *limit, struct rlimit *old)
{
  tide_real_resolve();
  int i = pid == 0 || (uint32_t)pid == tide_sys_pid() ? which(resource) : -1;
  bool limited = i >= 0 && tide_sys_limited[i];
  bool limits = i >= 0 && limit && (limited || limit->rlim_cur != RLIM_INFINITY);
  struct rlimit shown = limited ? asked[i] : (struct rlimit){0}, more;
  // Nobody raises a hard limit past the one shown without the privilege the kernel asks for.
  bool beyond = limits && limited && limit->rlim_max > shown.rlim_max;
  if (limits && !beyond && limit->rlim_cur <= limit->rlim_max)
    more = raised(i, *limit);
  else if (limit)
    more = *limit;
  int ret = tide_real.prlimit(pid, resource, limit ? &more : NULL, old);
  if (ret)
    return ret;
  if (old && limited)
    *old = shown;
  if (limits) {
    asked[i] = *limit;
    tide_sys_limited[i] = true;
  }
  return 0;
}

TIDE_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                        struct rlimit *old)
{
  return change(pid, resource, limit, old);
}

TIDE_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                          struct rlimit64 *old)
{
  return change(pid, resource, (const struct rlimit *)limit, (struct rlimit *)old);
}

TIDE_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
  return change(0, resource, limit, NULL);
}

TIDE_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
  return change(0, resource, (const struct rlimit *)limit, NULL);
}

TIDE_EXPORT int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
  return change(0, resource, NULL, limit);
}

TIDE_EXPORT int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
  return change(0, resource, NULL, (struct rlimit *)limit);
}
