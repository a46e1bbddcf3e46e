// SPDX-License-Identifier: Apache-2.0
//
// The kernel maps a small ELF file into every process. It has no path, but this process has a copy
// too: the same one, if the kernel is still the one of the recording.
#define _GNU_SOURCE
#include "symbol/elf.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MAX (1 << 20)

static bool find_mapping(uint64_t *ret_lo, uint64_t *ret_hi)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[512];
  bool found = false;
  while (maps && !found && fgets(line, sizeof line, maps))
    found = strstr(line, " [vdso]\n") &&
            sscanf(line, "%" SCNx64 "-%" SCNx64, ret_lo, ret_hi) == 2 &&
            *ret_hi - *ret_lo <= BYTES_MAX;
  if (maps)
    fclose(maps);
  return found;
}

struct tide_elf *tide_elf_open_vdso(const uint8_t *build_id, size_t build_id_len)
{
  uint64_t lo, hi;
  struct tide_elf *vdso;
  if (build_id_len == 0 || !find_mapping(&lo, &hi))
    return NULL;
  uint8_t *copy = tide_alloc((size_t)(hi - lo));
  memcpy(copy, (const void *)(uintptr_t)lo, (size_t)(hi - lo));
  if (tide_elf_open_bytes("[vdso]", copy, (size_t)(hi - lo), &vdso, NULL))
    return NULL;
  if (vdso->build_id_len == build_id_len && memcmp(vdso->build_id, build_id, build_id_len) == 0)
    return vdso;
  tide_elf_free(vdso);
  return NULL;
}
