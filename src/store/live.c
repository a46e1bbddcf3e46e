// SPDX-License-Identifier: Apache-2.0
//
// Chunks of the live map, mapped on demand.
#include "store/live.h"

#include "rt/sys.h"

#include <sys/mman.h>

struct tide_live_map tide_live_map;

bool tide_live_init(bool four_planes)
{
  uint64_t planes = four_planes ? 4 : 1;
  // One bit more than user space usually has: aarch64 uses 48.
  uint64_t n = (2ull << TIDE_LIVE_ROOT_BITS) * planes;
  struct tide_live **root = tide_sys_map_kept(n * sizeof *root);
  if (!root)
    return false;
  tide_live_map = (struct tide_live_map){root, n, planes - 1};
  return true;
}

// The kernel wipes chunks in a fork child; where it cannot (old kernels, emulators), do it here.
void tide_live_after_fork(void)
{
  for (uint64_t i = 0; i < tide_live_map.root_n; i++)
    if (tide_live_map.root[i])
      TIDE_SYS(SYS_madvise, tide_live_map.root[i], TIDE_LIVE_CHUNK_BYTES, MADV_DONTNEED);
}

TIDE_COLD struct tide_live *tide_live_chunk_new(uint64_t i)
{
  struct tide_live *fresh = tide_sys_map_private(TIDE_LIVE_CHUNK_BYTES), *old = NULL;
  if (!fresh)
    return NULL;
  if (__atomic_compare_exchange_n(&tide_live_map.root[i], &old, fresh, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return fresh;
  tide_sys_unmap(fresh, TIDE_LIVE_CHUNK_BYTES); // another thread was first
  return old;
}
