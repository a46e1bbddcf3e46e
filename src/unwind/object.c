// SPDX-License-Identifier: Apache-2.0
//
// Loaded objects, and the one piece of code that belongs to none of them.

#include "unwind/object.h"

#include "rt/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

static uint64_t vdso_start, vdso_bytes;

bool tide_object_find(uint64_t pc, struct tide_object *ret_object)
{
  struct dl_find_object found;
  if (_dl_find_object((void *)pc, &found))
    return false;
  const struct link_map *map = found.dlfo_link_map;
  bool is_vdso = vdso_start && vdso_start == (uint64_t)found.dlfo_map_start;
  *ret_object = (struct tide_object){
      .start = (uint64_t)found.dlfo_map_start,
      .end = (uint64_t)found.dlfo_map_end,
      .bias = map->l_addr,
      .eh_hdr = found.dlfo_eh_frame,
      .path = is_vdso       ? "[vdso]"
              : map->l_name ? map->l_name
                            : "",
      .identity = map,
  };
  return true;
}

// Its size is in its own program headers: a stack may hold any number, also one just behind.
void tide_object_set_vdso(uint64_t start)
{
  vdso_start = start;
  const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)start;
  const ElfW(Phdr) *p = start ? (const ElfW(Phdr) *)(start + elf->e_phoff) : NULL;
  for (unsigned i = 0; start && i < elf->e_phnum; i++)
    if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_filesz > vdso_bytes)
      vdso_bytes = p[i].p_offset + p[i].p_filesz;
}

// Where there is no vDSO (an emulator), the stub sits on a page we know nothing of. The kernel
// tells whether it can be read: a path at an unreadable address is EFAULT.
static bool readable(uint64_t pc)
{
  return TIDE_SYS(SYS_faccessat, AT_FDCWD, pc, 0) != -EFAULT;
}

bool tide_object_is_sigreturn(uint64_t pc)
{
  static const uint8_t code[] = TIDE_SIGRETURN_CODE;
  if (vdso_start ? pc - vdso_start >= vdso_bytes || vdso_start + vdso_bytes - pc < sizeof code
                 : !pc || !readable(pc))
    return false;
  return !memcmp((const void *)pc, code, sizeof code);
}
