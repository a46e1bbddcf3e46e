// SPDX-License-Identifier: Apache-2.0
//
// The table of modules, and the answers given so far. A module is opened by the first question
// about it. Names and lines come from its DWARF; what that does not know comes from the symbol
// table. Answers are kept per (module, address): a heap profile asks for the same few thousand
// addresses again and again, once for each stack they stand in.
#define _GNU_SOURCE
#include "symbol/symbol.h"

#include "base/alloc.h"
#include "symbol/advice.h"
#include "symbol/debugfile.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"
#include "symbol/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- modules and their files ----
//
// From a path and a build id to open files. What lies on this machine comes first; servers are
// asked for what is not there.
//
// The C library is looked up by symbol table alone, even where its debug info is installed:
// unpacking that takes some 60 ms, and no one reads the lines of malloc's callers within libc.

static struct tide_symbol_module *module_new(const char *path, const uint8_t *build_id,
                                             uint32_t build_id_len)
{
  struct tide_symbol_module *m = tide_alloc(sizeof *m);
  m->object.path = tide_strdup(path);
  m->build_id_len = build_id_len < sizeof m->build_id ? build_id_len : sizeof m->build_id;
  if (m->build_id_len)
    memcpy(m->build_id, build_id, m->build_id_len);
  return m;
}

static void module_free(struct tide_symbol_module *m)
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

// Finds what there is, the first time. servers may be NULL.
static void module_settle(struct tide_symbol_module *m, const struct tide_symbol_sources *sources,
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
  m->object.main_is_made = m->elf && m->elf->by_rustc;
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

// The debug info of a settled module, NULL when there is none. Opened the first time, which unpacks
// it as a whole if it is packed. names must outlive the module.
static struct tide_dwarf *module_dwarf(struct tide_symbol_module *m,
                                       const struct tide_symbol_sources *sources,
                                       struct tide_debuginfod *servers, struct tide_names *names)
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

// ---- answers ----

struct answer {
  uint32_t module; // index + 1; 0 marks a free slot
  uint32_t n_frames;
  uint64_t addr;
  size_t first_frame;
};

struct tide_symboliser {
  struct tide_symbol_sources sources;
  struct tide_debuginfod *servers;     // NULL: not to be asked
  struct tide_symbol_module **modules; // each stays where it is: objects are handed out
  size_t n_modules, modules_cap;
  struct answer *answers; // open addressing
  size_t n_answers, answers_cap;
  struct tide_symbol_frame *frames; // of all answers
  size_t n_frames, frames_cap;
  struct tide_names names;
};

struct tide_symboliser *tide_symboliser_new(void)
{
  return tide_alloc(sizeof(struct tide_symboliser));
}

void tide_symboliser_set_sources(struct tide_symboliser *s,
                                 const struct tide_symbol_sources *sources)
{
  s->sources = sources ? *sources : (struct tide_symbol_sources){0};
  tide_debuginfod_free(s->servers);
  s->servers = s->sources.download ? tide_debuginfod_new(s->sources.watch) : NULL;
}

void tide_symboliser_free(struct tide_symboliser *s)
{
  if (!s)
    return;
  for (size_t i = 0; i < s->n_modules; i++)
    module_free(s->modules[i]);
  tide_debuginfod_free(s->servers);
  free(s->modules);
  free(s->answers);
  free(s->frames);
  tide_names_done(&s->names);
  free(s);
}

uint32_t tide_symboliser_add(struct tide_symboliser *s, const char *path, const uint8_t *build_id,
                             uint32_t build_id_len)
{
  TIDE_GROW(s->modules, s->n_modules, s->modules_cap);
  s->modules[s->n_modules] = module_new(path, build_id, build_id_len);
  return (uint32_t)s->n_modules++;
}

static struct tide_symbol_module *module_at(struct tide_symboliser *s, uint32_t module)
{
  if (module >= s->n_modules)
    return NULL;
  module_settle(s->modules[module], &s->sources, s->servers);
  return s->modules[module];
}

const struct tide_symbol_object *tide_symboliser_object(struct tide_symboliser *s, uint32_t module)
{
  struct tide_symbol_module *m = module_at(s, module);
  return m ? &m->object : NULL;
}

static bool is_mangled(const char *name)
{
  return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

// DWARF knows C++ functions of internal linkage by their short name alone ("push"); the symbol
// table has the mangled one. out has room for TIDE_INLINE_DEPTH_MAX + 1 frames.
static size_t resolve(struct tide_symboliser *s, struct tide_symbol_module *m, uint64_t addr,
                      struct tide_symbol_frame *out)
{
  if (!m->elf)
    return 0;
  bool has_whole_name = false;
  struct tide_dwarf *dwarf = module_dwarf(m, &s->sources, s->servers, &s->names);
  size_t n = 0;
  if (dwarf) {
    n = tide_dwarf_lookup(dwarf, addr, out, &has_whole_name);
    tide_advise_missing_part(m);
    if (tide_dwarf_missing(dwarf))
      m->object.inputs = 0;
  }
  if (has_whole_name)
    return n;
  struct tide_elf *from = m->debug && m->debug->has_symtab ? m->debug : m->elf;
  const char *symbol = tide_elf_function(from, addr);
  if (!symbol)
    return n;
  if (n == 0)
    out[n++] = (struct tide_symbol_frame){0};
  if (!out[n - 1].function || is_mangled(symbol))
    out[n - 1].function = tide_names_get(&s->names, symbol);
  return n;
}

static struct answer *answer_slot(struct answer *answers, size_t cap, uint32_t key, uint64_t addr)
{
  uint64_t h = (addr ^ (uint64_t)key << 40) * 0x9e3779b97f4a7c15u;
  for (size_t i = (size_t)(h >> 32);; i++) {
    struct answer *a = &answers[i & (cap - 1)];
    if (a->module == 0 || (a->module == key && a->addr == addr))
      return a;
  }
}

static void grow_answers(struct tide_symboliser *s)
{
  size_t cap = s->answers_cap ? s->answers_cap * 2 : 1024;
  struct answer *bigger = tide_alloc_array(cap, sizeof *bigger);
  for (size_t i = 0; i < s->answers_cap; i++)
    if (s->answers[i].module)
      *answer_slot(bigger, cap, s->answers[i].module, s->answers[i].addr) = s->answers[i];
  free(s->answers);
  s->answers = bigger;
  s->answers_cap = cap;
}

static const struct answer *answer_for(struct tide_symboliser *s, uint32_t module, uint64_t addr)
{
  if (s->n_answers * 2 >= s->answers_cap)
    grow_answers(s);
  struct answer *a = answer_slot(s->answers, s->answers_cap, module + 1, addr);
  if (a->module)
    return a;
  struct tide_symbol_frame frames[TIDE_INLINE_DEPTH_MAX + 1];
  size_t n = resolve(s, module_at(s, module), addr, frames);
  *a = (struct answer){module + 1, (uint32_t)n, addr, s->n_frames};
  s->n_answers++;
  for (size_t i = 0; i < n; i++) {
    TIDE_GROW(s->frames, s->n_frames, s->frames_cap);
    s->frames[s->n_frames++] = frames[i];
  }
  return a;
}

size_t tide_symboliser_lookup(struct tide_symboliser *s, uint32_t module, uint64_t addr,
                              struct tide_symbol_frame *out, size_t max)
{
  if (module >= s->n_modules || max == 0)
    return 0;
  const struct answer *a = answer_for(s, module, addr);
  size_t n = a->n_frames < max ? a->n_frames : max;
  if (n == 0)
    return 0;
  const struct tide_symbol_frame *frames = s->frames + a->first_frame;
  memcpy(out, frames, (n - 1) * sizeof *out);
  out[n - 1] = frames[a->n_frames - 1];
  return n;
}
