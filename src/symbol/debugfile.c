// SPDX-License-Identifier: Apache-2.0
//
// Where the debug info of a file lies that has none itself, in the order of the search:
//
//   DIR/.build-id/ab/cdef.debug             for each debug directory
//   LINK and .debug/LINK                    beside the file; LINK is what its .gnu_debuglink says
//   DIR/its/path.debug, DIR/its/path,
//   DIR/its/LINK, DIR/LINK,
//   DIR/name.debug, DIR/name                for each debug directory
//
// A candidate is taken only if it proves to belong to the file: by the same build id, or by the
// checksum of the link when either has no build id. Those with lines come before those with names.
#define _GNU_SOURCE
#include "symbol/debugfile.h"

#include "base/alloc.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEFAULT_DIR "/usr/lib/debug"
#define BUILD_ID_MAX 64

struct search {
  const struct tide_elf *elf; // whose debug info is wanted; NULL when the file is gone
  const char *path;           // of the file; not owned
  const uint8_t *build_id;
  size_t build_id_len;
  const char *link; // NULL: none
  GElf_Word crc;
  struct tide_elf *found; // the best so far; owned
};

static bool checksum_is(const struct tide_elf *candidate, GElf_Word wanted)
{
  size_t n = 0;
  const char *bytes = elf_rawfile(candidate->elf, &n);
  return bytes && crc32_z(0, (const Bytef *)bytes, n) == wanted;
}

static bool belongs(const struct search *s, const struct tide_elf *candidate)
{
  if (!candidate->build_id || !s->build_id_len)
    return s->link && checksum_is(candidate, s->crc);
  return candidate->build_id_len == s->build_id_len &&
         memcmp(candidate->build_id, s->build_id, s->build_id_len) == 0;
}

// 0: nothing that the file does not have itself. Of a file that is gone, anything will do.
static unsigned worth(const struct search *s, const struct tide_elf *candidate)
{
  if (candidate->debug != TIDE_ELF_DEBUG_NONE)
    return 3;
  if (candidate->has_symtab && !(s->elf && s->elf->has_symtab))
    return 2;
  return s->elf ? 0 : 1;
}

static bool is_the_file_itself(const struct search *s, const char *path)
{
  struct stat ours, theirs;
  return s->elf && stat(s->elf->path, &ours) == 0 && stat(path, &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

// Takes over the path. True when there is no need to look further.
static bool offer(struct search *s, char *owned_path)
{
  TIDE_CLEANUP_FREE char *path = owned_path;
  struct tide_elf *candidate;
  if (tide_elf_open(path, &candidate, NULL) != TIDE_ERR_OK)
    return false;
  unsigned held = s->found ? worth(s, s->found) : 0;
  if (worth(s, candidate) <= held || is_the_file_itself(s, path) || !belongs(s, candidate)) {
    tide_elf_free(candidate);
    return false;
  }
  tide_elf_free(s->found);
  s->found = candidate;
  return worth(s, candidate) == 3;
}

bool tide_debugfile_each_dir(const char *dirs, bool (*look)(void *context, const char *dir),
                             void *context)
{
  while (dirs && *dirs) {
    size_t n = strcspn(dirs, ":");
    TIDE_CLEANUP_FREE char *dir = tide_strndup(dirs, n);
    if (n && look(context, dir))
      return true;
    dirs += n + (dirs[n] == ':');
  }
  return look(context, DEFAULT_DIR);
}

char *tide_debugfile_build_id_path(const char *dir, const uint8_t *build_id, size_t build_id_len)
{
  char hex[2 * BUILD_ID_MAX + 1];
  if (build_id_len < 2 || build_id_len > BUILD_ID_MAX)
    return NULL;
  for (size_t i = 0; i < build_id_len; i++) {
    hex[2 * i] = "0123456789abcdef"[build_id[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[build_id[i] & 15];
  }
  hex[2 * build_id_len] = 0;
  return tide_sprintf("%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2);
}

static bool look_by_build_id(void *context, const char *dir)
{
  struct search *s = context;
  char *path = tide_debugfile_build_id_path(dir, s->build_id, s->build_id_len);
  if (!path)
    return false;
  // Beside the debug file there may be the file itself, or a link to it.
  char *stem = s->elf ? NULL : tide_strndup(path, strlen(path) - strlen(".debug"));
  bool enough = offer(s, path);
  return (stem && offer(s, stem)) || enough;
}

static int dir_len(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (int)(slash - path) : 0;
}

static bool look_by_path(void *context, const char *dir)
{
  struct search *s = context;
  const char *path = s->path;
  int n = dir_len(path);
  return offer(s, tide_sprintf("%s%s.debug", dir, path)) ||
         offer(s, tide_sprintf("%s%s", dir, path)) ||
         (s->link && offer(s, tide_sprintf("%s%.*s/%s", dir, n, path, s->link)));
}

static bool look_by_name(void *context, const char *dir)
{
  struct search *s = context;
  const char *name = s->path + dir_len(s->path);
  return (s->link && offer(s, tide_sprintf("%s/%s", dir, s->link))) ||
         offer(s, tide_sprintf("%s%s.debug", dir, name)) ||
         offer(s, tide_sprintf("%s%s", dir, name));
}

static bool look_beside(struct search *s, const char *path)
{
  int n = dir_len(path);
  return s->link && (offer(s, tide_sprintf("%.*s/%s", n, path, s->link)) ||
                     offer(s, tide_sprintf("%.*s/.debug/%s", n, path, s->link)));
}

static struct tide_elf *look_everywhere(struct search *s, const char *dirs, const char *path)
{
  TIDE_CLEANUP_FREE char *real = realpath(path, NULL);
  s->path = real ? real : path;
  bool enough = tide_debugfile_each_dir(dirs, look_by_build_id, s) ||
                (s->elf && look_beside(s, s->path)) ||
                tide_debugfile_each_dir(dirs, look_by_path, s);
  if (!enough && strcmp(s->path, path) != 0) { // /lib is /usr/lib these days
    s->path = path;
    enough = tide_debugfile_each_dir(dirs, look_by_path, s);
  }
  if (!enough)
    tide_debugfile_each_dir(dirs, look_by_name, s);
  return s->found;
}

struct tide_elf *tide_debugfile_open(const struct tide_elf *elf, const char *dirs)
{
  struct search s = {.elf = elf, .build_id = elf->build_id, .build_id_len = elf->build_id_len};
  s.link = tide_debugfile_link(elf, &s.crc);
  return look_everywhere(&s, dirs, elf->path);
}

struct tide_elf *tide_debugfile_open_gone(const char *path, const uint8_t *build_id,
                                          size_t build_id_len, const char *dirs)
{
  struct search s = {.build_id = build_id, .build_id_len = build_id_len};
  return build_id_len ? look_everywhere(&s, dirs, path) : NULL;
}

const char *tide_debugfile_link(const struct tide_elf *elf, uint32_t *ret_crc)
{
  GElf_Word crc = 0;
  const char *link = dwelf_elf_gnu_debuglink(elf->elf, &crc);
  if (!link || !*link || strchr(link, '/'))
    return NULL;
  *ret_crc = crc;
  return link;
}

// ---- what several debug files share ----
//
// Looks where the link says, then in the debug directories and on servers by build id. libdw would
// look by itself when the first name is asked for, but in its own directory alone.

struct wanted_alt {
  struct tide_altfile *alt;
  const void *build_id;
  size_t build_id_len;
};

// Takes over the path. Not tide_elf_open(): it is not an ELF file of a kind that programs load.
static bool offer_alt(const struct wanted_alt *w, char *owned_path)
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
  const struct wanted_alt *w = context;
  char *path = tide_debugfile_build_id_path(dir, w->build_id, w->build_id_len);
  return path && offer_alt(w, path);
}

static bool look_by_link(const struct wanted_alt *w, const char *link, const char *from)
{
  if (link[0] == '/')
    return offer_alt(w, tide_strdup(link));
  TIDE_CLEANUP_FREE char *real = realpath(from, NULL);
  const char *slash = real ? strrchr(real, '/') : NULL;
  return slash && offer_alt(w, tide_sprintf("%.*s/%s", (int)(slash - real), real, link));
}

static bool look_on_servers(const struct wanted_alt *w, const char *link,
                            struct tide_debuginfod *servers)
{
  char *path =
      tide_debuginfod_find(servers, TIDE_DEBUGINFOD_DEBUGINFO, w->build_id, w->build_id_len, link);
  return path && offer_alt(w, path);
}

void tide_altfile_join(struct tide_altfile *alt, Dwarf *dwarf, const char *path, const char *dirs,
                       struct tide_debuginfod *servers)
{
  const char *link;
  struct wanted_alt w = {.alt = alt};
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
