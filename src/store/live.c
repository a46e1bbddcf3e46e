// SPDX-License-Identifier: Apache-2.0
//
// Chunks of the live map, mapped on demand.
#include "store/live.h"

#include "rt/sys.h"

#include <sys/mman.h>

struct tide_live_map tide_live_map;

#define ROOT_BYTES (sizeof(struct tide_live *) << TIDE_LIVE_ROOT_BITS)

bool tide_live_init(bool four_planes)
{
  int planes = four_planes ? TIDE_LIVE_PLANES : 1;
  for (int i = 0; i < planes; i++)
    if (!(tide_live_map.root[i] = tide_sys_map_kept(ROOT_BYTES)))
      return false;
  tide_live_map.plane_mask = (uint64_t)planes - 1;
  return true;
}

// The kernel wipes chunks in a fork child; where it cannot (old kernels, emulators), do it here.
void tide_live_after_fork(void)
{
  for (int plane = 0; plane < TIDE_LIVE_PLANES && tide_live_map.root[plane]; plane++)
    for (uint64_t i = 0; i < 1u << TIDE_LIVE_ROOT_BITS; i++)
      if (tide_live_map.root[plane][i])
        TIDE_SYS(SYS_madvise, tide_live_map.root[plane][i], TIDE_LIVE_CHUNK_BYTES, MADV_DONTNEED);
}

TIDE_COLD struct tide_live *tide_live_chunk_new(struct tide_live **entry)
{
  struct tide_live *fresh = tide_sys_map_private(TIDE_LIVE_CHUNK_BYTES), *old = NULL;
  if (!fresh)
    return NULL;
  if (__atomic_compare_exchange_n(entry, &old, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  tide_sys_unmap(fresh, TIDE_LIVE_CHUNK_BYTES); // another thread was first
  return old;
}
