// SPDX-License-Identifier: Apache-2.0
//
// Where the debug info of a stripped file lies: under its build id in the system's debug
// directory, or under the name in its .gnu_debuglink, beside it or in the debug directory. A
// candidate is taken only if it proves to belong to the file: by the same build id, or by the
// checksum of the link when either has no build id.
#define _GNU_SOURCE
#include "symbol/elf.h"

#include "base/alloc.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define DEBUG_DIR "/usr/lib/debug"

struct tide_elf *tide_elf_open_by_build_id(const uint8_t *build_id, size_t build_id_len)
{
  char hex[2 * 64 + 1];
  if (build_id_len < 2 || build_id_len > 64)
    return NULL;
  for (size_t i = 0; i < build_id_len; i++) {
    hex[2 * i] = "0123456789abcdef"[build_id[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[build_id[i] & 15];
  }
  hex[2 * build_id_len] = 0;
  TIDE_CLEANUP_FREE char *path = tide_sprintf(DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
  struct tide_elf *found;
  if (tide_elf_open(path, &found, NULL) != TIDE_ERR_OK)
    return NULL;
  if (found->build_id_len == build_id_len && memcmp(found->build_id, build_id, build_id_len) == 0)
    return found;
  tide_elf_free(found);
  return NULL;
}

static bool checksum_is(const struct tide_elf *candidate, GElf_Word wanted)
{
  size_t n = 0;
  const char *bytes = elf_rawfile(candidate->elf, &n);
  return bytes && crc32_z(0, (const Bytef *)bytes, n) == wanted;
}

static bool belongs_to(const struct tide_elf *candidate, const struct tide_elf *elf, GElf_Word crc)
{
  if (!candidate->build_id || !elf->build_id)
    return checksum_is(candidate, crc);
  return candidate->build_id_len == elf->build_id_len &&
         memcmp(candidate->build_id, elf->build_id, elf->build_id_len) == 0;
}

// Takes over the path.
static struct tide_elf *try_link(const struct tide_elf *elf, char *owned_path, GElf_Word crc)
{
  TIDE_CLEANUP_FREE char *path = owned_path;
  struct stat ours, theirs;
  if (stat(path, &theirs) != 0 || stat(elf->path, &ours) != 0 ||
      (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino))
    return NULL; // a link may carry the file's own name, meaning another directory
  struct tide_elf *found;
  if (tide_elf_open(path, &found, NULL) != TIDE_ERR_OK)
    return NULL;
  if (belongs_to(found, elf, crc))
    return found;
  tide_elf_free(found);
  return NULL;
}

static struct tide_elf *open_by_link(const struct tide_elf *elf)
{
  GElf_Word crc = 0;
  const char *link = dwelf_elf_gnu_debuglink(elf->elf, &crc);
  if (!link || !*link || strchr(link, '/'))
    return NULL;
  TIDE_CLEANUP_FREE char *real = realpath(elf->path, NULL);
  TIDE_CLEANUP_FREE char *copy = tide_strdup(real ? real : elf->path);
  const char *dir = dirname(copy);
  struct tide_elf *found = try_link(elf, tide_sprintf("%s/%s", dir, link), crc);
  if (!found)
    found = try_link(elf, tide_sprintf("%s/.debug/%s", dir, link), crc);
  if (!found)
    found = try_link(elf, tide_sprintf(DEBUG_DIR "%s/%s", dir, link), crc);
  return found;
}

struct tide_elf *tide_elf_open_debug(const struct tide_elf *elf)
{
  struct tide_elf *found = NULL;
  if (elf->build_id)
    found = tide_elf_open_by_build_id(elf->build_id, elf->build_id_len);
  return found ? found : open_by_link(elf);
}
