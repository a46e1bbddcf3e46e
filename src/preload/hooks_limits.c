// SPDX-License-Identifier: Apache-2.0
//
// What would count our own memory against the program: limits, and locking everything. Of limits it
// sees its own, when it sets them and when it asks.
//
// mlockall: locks the program's memory and leaves ours alone. Locking the store would make all of
// its reserved gigabytes resident, or fail under a limit that the program alone would keep.
//
// What is mapped now is locked mapping by mapping, as /proc/self/maps tells; our own are told apart
// by their addresses (their flags keep the kernel from merging them with others). What is mapped
// later is the kernel's business; the recorder then maps its own memory in a roundabout way.
#include "preload/hook.h"
#include "record/limits.h"
#include "rt/maps.h"
#include "rt/sys.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
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

static bool may_lock_all(void)
{
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{0}};
  if (tide_sys_failed(TIDE_SYS(SYS_capget, &header, data)))
    return false;
  return data[0].effective >> CAP_IPC_LOCK & 1;
}

static uint64_t lock_limit(void)
{
  struct rlimit limit = {0};
  if (may_lock_all() || tide_sys_failed(TIDE_SYS(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, &limit)))
    return ~0ull;
  return limit.rlim_cur;
}

// Sums up (lock false) or locks the mappings that are not ours. False: the list cannot be read.
static bool each_mapping(bool lock, int flags, uint64_t *ret_bytes)
{
  struct tide_maps maps;
  uint64_t lo, hi;
  *ret_bytes = 0;
  if (!tide_maps_open(&maps))
    return false;
  while (tide_maps_next(&maps, &lo, &hi)) {
    if (tide_sys_is_ours(lo))
      continue;
    *ret_bytes += hi - lo;
    // Like mlockall, go on past what cannot be made resident (PROT_NONE and the like).
    if (lock)
      TIDE_SYS(SYS_mlock2, lo, hi - lo, flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
  }
  tide_maps_close(&maps);
  return true;
}

static int fail(int error)
{
  errno = error;
  return -1;
}

int mlockall(int flags)
{
  uint64_t bytes;
  tide_real_resolve();
  if (!(flags & (MCL_CURRENT | MCL_FUTURE)) || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ||
      tide_sys_sandboxed())
    return tide_real.mlockall(flags);
  if (!each_mapping(false, 0, &bytes)) // at least do not make the store resident
    return tide_real.mlockall(flags | MCL_ONFAULT);
  if (flags & MCL_CURRENT && bytes > lock_limit())
    return fail(lock_limit() ? ENOMEM : EPERM);
  if (flags & MCL_FUTURE) {
    int ret = tide_real.mlockall(flags & ~MCL_CURRENT);
    if (ret)
      return ret;
  }
  tide_sys_lock_future = flags & MCL_FUTURE;
  if (flags & MCL_CURRENT)
    each_mapping(true, flags, &bytes);
  return 0;
}

int munlockall(void)
{
  tide_real_resolve();
  tide_sys_lock_future = false;
  return tide_real.munlockall();
}
