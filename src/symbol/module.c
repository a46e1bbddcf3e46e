// SPDX-License-Identifier: Apache-2.0
//
// From a path and a build id to open files. What lies on this machine comes first; servers are
// asked for what is not there.
//
// The C library is looked up by symbol table alone, even where its debug info is installed:
// unpacking that takes some 60 ms, and no one reads the lines of malloc's callers within libc.
#define _GNU_SOURCE
#include "symbol/module.h"

#include "base/alloc.h"
#include "symbol/advice.h"
#include "symbol/debugfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tide_symbol_module *tide_symbol_module_new(const char *path, const uint8_t *build_id,
                                                  uint32_t build_id_len)
{
  struct tide_symbol_module *m = tide_alloc(sizeof *m);
  m->object.path = tide_strdup(path);
  m->build_id_len = build_id_len < sizeof m->build_id ? build_id_len : sizeof m->build_id;
  if (m->build_id_len)
    memcpy(m->build_id, build_id, m->build_id_len);
  return m;
}

void tide_symbol_module_free(struct tide_symbol_module *m)
{
  tide_dwarf_free(m->dwarf);
  tide_elf_free(m->debug);
  tide_elf_free(m->elf);
  free((char *)m->object.path);
  free(m);
}

static bool has_recorded_id(const struct tide_symbol_module *m, const struct tide_elf *elf)
{
  if (m->build_id_len == 0)
    return true; // nothing to compare with
  size_t n = elf->build_id_len;
  if (n > sizeof m->build_id)
    n = sizeof m->build_id; // the capture kept the start of it
  return n == m->build_id_len && memcmp(elf->build_id, m->build_id, n) == 0;
}

// Opens path as the module's file if it is the recorded one; else says why not.
static bool open_as_recorded(struct tide_symbol_module *m, const char *path, char why[128])
{
  struct tide_diag diag;
  struct tide_elf *elf;
  enum tide_err err = tide_elf_open(path, &elf, &diag);
  if (err == TIDE_ERR_SYSTEM && diag.sys_errno == ENOENT)
    strcpy(why, "is no longer there");
  else if (err == TIDE_ERR_SYSTEM)
    snprintf(why, 128, "cannot be opened (%s)", strerror(diag.sys_errno));
  else if (err != TIDE_ERR_OK)
    strcpy(why, "is not an ELF file");
  else if (has_recorded_id(m, elf)) {
    m->elf = elf;
    return true;
  } else {
    strcpy(why, "was rebuilt since the capture");
    tide_elf_free(elf);
  }
  return false;
}

// A file of the server's, if it is what was asked for.
static struct tide_elf *download(struct tide_debuginfod *servers, enum tide_debuginfod_kind kind,
                                 const uint8_t *build_id, size_t build_id_len, const char *what)
{
  struct tide_elf *elf;
  TIDE_CLEANUP_FREE char *path =
      tide_debuginfod_find(servers, kind, build_id, build_id_len, tide_advice_name(what));
  if (!path || tide_elf_open(path, &elf, NULL))
    return NULL;
  if (elf->build_id_len == build_id_len && memcmp(elf->build_id, build_id, build_id_len) == 0)
    return elf;
  tide_elf_free(elf);
  return NULL;
}

// The file is gone or another one by now: anything with its build id will do.
static bool open_stand_in(struct tide_symbol_module *m, const char *path,
                          const struct tide_symbol_sources *sources,
                          struct tide_debuginfod *servers)
{
  const uint8_t *id = m->build_id;
  uint32_t n = m->build_id_len;
  m->elf = tide_debugfile_open_gone(path, id, n, sources->debug_dirs);
  if (!m->elf)
    m->elf = download(servers, TIDE_DEBUGINFOD_DEBUGINFO, id, n, path);
  if (!m->elf)
    m->elf = download(servers, TIDE_DEBUGINFOD_EXECUTABLE, id, n, path);
  return m->elf != NULL;
}

// The kernel marks a file that was unlinked or replaced while mapped: its successor under the same
// name will do only if its build id says it is the same.
static void open_file(struct tide_symbol_module *m, const struct tide_symbol_sources *sources,
                      struct tide_debuginfod *servers)
{
  static const char deleted[] = " (deleted)";
  size_t len = strlen(m->object.path), mark = sizeof deleted - 1;
  bool is_deleted = len > mark && strcmp(m->object.path + len - mark, deleted) == 0;
  TIDE_CLEANUP_FREE char *path = tide_strndup(m->object.path, is_deleted ? len - mark : len);
  char why[128];
  if ((!is_deleted || m->build_id_len) && open_as_recorded(m, path, why))
    return;
  if (is_deleted)
    strcpy(why, "was deleted or replaced while the program ran");
  if (!open_stand_in(m, path, sources, servers))
    tide_advise_unusable(m, path, sources, servers, why);
}

static bool is_c_library(const char *path)
{
  const char *name = tide_advice_name(path);
  return strncmp(name, "libc.so.", 8) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
         strncmp(name, "ld-musl", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
         strncmp(name, "ld-2.", 5) == 0;
}

// The file to take DWARF from; NULL when there is none.
static struct tide_elf *open_debug_info(struct tide_symbol_module *m,
                                        const struct tide_symbol_sources *sources,
                                        struct tide_debuginfod *servers)
{
  struct tide_elf *elf = m->elf;
  if (elf->debug != TIDE_ELF_DEBUG_NONE)
    return elf;
  m->debug = tide_debugfile_open(elf, sources->debug_dirs);
  if (is_c_library(m->object.path))
    return NULL;
  if (!m->debug || m->debug->debug == TIDE_ELF_DEBUG_NONE) {
    struct tide_elf *found = download(servers, TIDE_DEBUGINFOD_DEBUGINFO, elf->build_id,
                                      elf->build_id_len, m->object.path);
    if (found) {
      tide_elf_free(m->debug);
      m->debug = found;
    }
  }
  return m->debug && m->debug->debug != TIDE_ELF_DEBUG_NONE ? m->debug : NULL;
}

// A file that was stripped keeps its build id, and a debug file comes and goes.
static uint64_t inputs_of(const struct tide_symbol_module *m)
{
  const struct tide_elf *files[] = {m->elf, m->debug};
  uint64_t h = 0xcbf29ce484222325u ^ is_c_library(m->object.path); // which has no lines
  if (m->build_id_len == 0 || !m->elf->build_id)
    return 0;
  for (size_t i = 0; i < 2; i++) {
    const struct tide_elf *file = files[i];
    struct stat st = {0};
    if (file && file->fd >= 0 && fstat(file->fd, &st) != 0) // without fd: unpacked from the other
      return 0;
    uint64_t facts[] = {file != NULL, (uint64_t)st.st_size, file ? file->debug : 0,
                        file && file->has_symtab};
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
      h = (h ^ facts[k]) * 0x100000001b3u;
  }
  return h | 1;
}

void tide_symbol_module_settle(struct tide_symbol_module *m,
                               const struct tide_symbol_sources *sources,
                               struct tide_debuginfod *servers)
{
  const char *path = m->object.path;
  if (m->tried)
    return;
  m->tried = true;
  if (strcmp(path, "[vdso]") == 0)
    m->elf = tide_elf_open_vdso(m->build_id, m->build_id_len);
  else if (path[0] == '/')
    open_file(m, sources, servers);
  m->object.opened = m->elf != NULL;
  if (!m->elf || path[0] != '/')
    return;
  struct tide_elf *from = open_debug_info(m, sources, servers);
  m->object.inputs = inputs_of(m);
  if (is_c_library(path))
    return;
  m->lines = from;
  m->object.has_debug_info = from != NULL;
  if (from)
    tide_advise_no_lines_in_part(m);
  else
    tide_advise_no_debug_info(m, sources, servers);
}

struct tide_dwarf *tide_symbol_module_dwarf(struct tide_symbol_module *m,
                                            const struct tide_symbol_sources *sources,
                                            struct tide_debuginfod *servers,
                                            struct tide_names *names)
{
  if (m->dwarf || !m->lines)
    return m->dwarf;
  m->dwarf = tide_dwarf_new(m->lines, m->elf->code_lo, m->elf->code_hi, names);
  if (m->dwarf) {
    tide_dwarf_join_alt(m->dwarf, m->lines->path, sources->debug_dirs, servers);
    return m->dwarf;
  }
  m->lines = NULL; // libdw finds nothing to read
  m->object.has_debug_info = false;
  tide_advise_no_debug_info(m, sources, servers);
  return NULL;
}
