// SPDX-License-Identifier: Apache-2.0
//
// Looks where the link says, then in the debug directories and on servers by build id. libdw would
// look by itself when the first name is asked for, but in its own directory alone.
#define _GNU_SOURCE
#include "symbol/altfile.h"

#include "base/alloc.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wanted {
  struct tide_altfile *alt;
  const void *build_id;
  size_t build_id_len;
};

// Takes over the path. Not tide_elf_open(): it is not an ELF file of a kind that programs load.
static bool offer(const struct wanted *w, char *owned_path)
{
  TIDE_CLEANUP_FREE char *path = owned_path;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
  const void *id = NULL;
  ssize_t n = dwarf ? dwelf_elf_gnu_build_id(dwarf_getelf(dwarf), &id) : 0;
  if (n > 0 && (size_t)n == w->build_id_len && memcmp(id, w->build_id, w->build_id_len) == 0) {
    w->alt->dwarf = dwarf;
    w->alt->fd = fd;
    return true;
  }
  dwarf_end(dwarf);
  if (fd >= 0)
    close(fd);
  return false;
}

static bool look_in(void *context, const char *dir)
{
  const struct wanted *w = context;
  char *path = tide_debugfile_build_id_path(dir, w->build_id, w->build_id_len);
  return path && offer(w, path);
}

static bool look_by_link(const struct wanted *w, const char *link, const char *from)
{
  if (link[0] == '/')
    return offer(w, tide_strdup(link));
  TIDE_CLEANUP_FREE char *real = realpath(from, NULL);
  const char *slash = real ? strrchr(real, '/') : NULL;
  return slash && offer(w, tide_sprintf("%.*s/%s", (int)(slash - real), real, link));
}

static bool look_on_servers(const struct wanted *w, const char *link,
                            struct tide_debuginfod *servers)
{
  char *path =
      tide_debuginfod_find(servers, TIDE_DEBUGINFOD_DEBUGINFO, w->build_id, w->build_id_len, link);
  return path && offer(w, path);
}

void tide_altfile_join(struct tide_altfile *alt, Dwarf *dwarf, const char *path, const char *dirs,
                       struct tide_debuginfod *servers)
{
  const char *link;
  struct wanted w = {.alt = alt};
  ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &w.build_id);
  if (n <= 0)
    return;
  w.build_id_len = (size_t)n;
  if (look_by_link(&w, link, path) || tide_debugfile_each_dir(dirs, look_in, &w) ||
      look_on_servers(&w, link, servers))
    dwarf_setalt(dwarf, alt->dwarf);
  else
    alt->missing = tide_strdup(link);
}

void tide_altfile_done(struct tide_altfile *alt)
{
  if (alt->dwarf) {
    dwarf_end(alt->dwarf);
    close(alt->fd);
  }
  free(alt->missing);
  *alt = (struct tide_altfile){0};
}
