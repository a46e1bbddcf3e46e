// SPDX-License-Identifier: Apache-2.0
//
// _dl_find_object (glibc 2.35) takes no lock, unlike dl_iterate_phdr, which must never be called
// from an allocator's hook: its lock may be held by a thread that waits for us.
#include "preload/loader.h"

#include <dlfcn.h>
#include <link.h>

bool tide_loader_object_at(uint64_t pc, struct tide_object *ret_object)
{
  struct dl_find_object found;
  if (_dl_find_object((void *)pc, &found))
    return false;
  const struct link_map *map = found.dlfo_link_map;
  *ret_object = (struct tide_object){
      .start = (uint64_t)found.dlfo_map_start,
      .end = (uint64_t)found.dlfo_map_end,
      .bias = map->l_addr,
      .eh_hdr = found.dlfo_eh_frame,
      .path = map->l_name ? map->l_name : "",
      .identity = map,
  };
  return true;
}

static int met_one(struct dl_phdr_info *info, size_t size, void *arg)
{
  (void)size;
  void (**met)(uint64_t) = arg;
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
      (*met)(info->dlpi_addr + p->p_vaddr);
      return 0;
    }
  }
  return 0;
}

void tide_loader_each_object(void (*met)(uint64_t pc))
{
  dl_iterate_phdr(met_one, &met);
}
