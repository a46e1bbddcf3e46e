// SPDX-License-Identifier: Apache-2.0
//
// Resource limits as the program sees them (asked) and as they are set (raised).
#include "record/limits.h"

#include "rt/sys.h"
#include "store/store.h"

static const int resources[2] = {RLIMIT_AS, RLIMIT_DATA};
static struct rlimit asked[2];
#define HEADROOM (64ull << 30) // of the hard limit, so that the soft one can follow us

static int which(unsigned resource)
{
  return resource == RLIMIT_AS ? 0 : resource == RLIMIT_DATA ? 1 : -1;
}

static uint64_t raised_limit(uint64_t limit, uint64_t bytes)
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
  struct rlimit more = {raised_limit(limit.rlim_cur, own),
                        raised_limit(limit.rlim_max, own + HEADROOM)},
                now;
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

// Nobody raises a hard limit past the one shown without the privilege the kernel asks for.
void tide_limits_change_begin(unsigned resource, const struct rlimit *limit,
                              struct tide_limits_change *ret_change)
{
  int i = which(resource);
  bool limited = i >= 0 && tide_sys_limited[i];
  bool limits = i >= 0 && limit && (limited || limit->rlim_cur != RLIM_INFINITY);
  struct tide_limits_change change = {.which = i, .is_shown = limited, .is_kept = limits};
  if (limited)
    change.shown = asked[i];
  bool beyond = limits && limited && limit->rlim_max > change.shown.rlim_max;
  if (limits && !beyond && limit->rlim_cur <= limit->rlim_max)
    change.set = raised(i, *limit);
  else if (limit)
    change.set = *limit;
  *ret_change = change;
}

void tide_limits_change_done(const struct tide_limits_change *change, const struct rlimit *limit,
                             struct rlimit *old)
{
  if (old && change->is_shown)
    *old = change->shown;
  if (change->is_kept) {
    asked[change->which] = *limit;
    tide_sys_limited[change->which] = true;
  }
}
