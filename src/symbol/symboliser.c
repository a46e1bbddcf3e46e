// SPDX-License-Identifier: Apache-2.0
//
// The table of modules, and the answers given so far. A module is opened by the first question
// about it. Names and lines come from its DWARF; what that does not know comes from the symbol
// table. Answers are kept per (module, address): a heap profile asks for the same few thousand
// addresses again and again, once for each stack they stand in.
//
// The C library is looked up by symbol table alone, even where its debug info is installed:
// unpacking that takes some 60 ms, and no one reads the lines of malloc's callers within libc.
#define _GNU_SOURCE
#include "symbol/symbol.h"

#include "base/alloc.h"
#include "symbol/debugfile.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"
#include "symbol/names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
  struct tide_symbol_object object; // path is owned
  uint8_t build_id[32];
  uint32_t build_id_len;
  bool tried;               // the fields below are settled
  struct tide_elf *elf;     // the file itself; NULL when it cannot be used
  struct tide_elf *debug;   // its separate debug file; NULL when there is none
  struct tide_dwarf *dwarf; // of either; NULL when there is none
};

struct answer {
  uint32_t module; // index + 1; 0 marks a free slot
  uint32_t n_frames;
  uint64_t addr;
  size_t first_frame;
};

struct tide_symboliser {
  struct tide_symbol_sources sources;
  struct module **modules; // each stays where it is: objects are handed out
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
}

void tide_symboliser_free(struct tide_symboliser *s)
{
  if (!s)
    return;
  for (size_t i = 0; i < s->n_modules; i++) {
    struct module *m = s->modules[i];
    tide_dwarf_free(m->dwarf);
    tide_elf_free(m->debug);
    tide_elf_free(m->elf);
    free((char *)m->object.path);
    free(m);
  }
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
  struct module *m = tide_alloc(sizeof *m);
  m->object.path = tide_strdup(path);
  m->build_id_len = build_id_len < sizeof m->build_id ? build_id_len : sizeof m->build_id;
  if (m->build_id_len)
    memcpy(m->build_id, build_id, m->build_id_len);
  s->modules[s->n_modules] = m;
  return (uint32_t)s->n_modules++;
}

static const char *last_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// "<file> <what>". The path as a whole when it leaves room for the rest.
static void note(struct module *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct module *m, const char *format, ...)
{
  const char *path = m->object.path;
  char what[160];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (strlen(path) + strlen(what) + 2 > sizeof m->object.note)
    path = last_part(path);
  snprintf(m->object.note, sizeof m->object.note, "%.90s %s", path, what);
}

static bool has_recorded_id(const struct module *m, const struct tide_elf *elf)
{
  if (m->build_id_len == 0)
    return true; // nothing to compare with
  size_t n = elf->build_id_len;
  if (n > sizeof m->build_id)
    n = sizeof m->build_id; // the capture kept the start of it
  return n == m->build_id_len && memcmp(elf->build_id, m->build_id, n) == 0;
}

#define AS_ADDRESSES "its frames are shown as addresses"

// Opens path as the module's file if it is the recorded one.
static bool open_as_recorded(struct module *m, const char *path)
{
  struct tide_diag diag;
  struct tide_elf *elf;
  enum tide_err err = tide_elf_open(path, &elf, &diag);
  if (err == TIDE_ERR_SYSTEM && diag.sys_errno == ENOENT)
    note(m, "is no longer there: " AS_ADDRESSES);
  else if (err == TIDE_ERR_SYSTEM)
    note(m, "cannot be opened (%s): " AS_ADDRESSES, strerror(diag.sys_errno));
  else if (err != TIDE_ERR_OK)
    note(m, "is not an ELF file: " AS_ADDRESSES);
  else if (has_recorded_id(m, elf)) {
    m->elf = elf;
    return true;
  } else {
    note(m, "was rebuilt since the capture: " AS_ADDRESSES);
    tide_elf_free(elf);
  }
  return false;
}

// The kernel marks a file that was unlinked or replaced while mapped. Its successor under the same
// name will do only if its build id says it is the same.
static bool open_deleted(struct module *m, size_t name_len)
{
  TIDE_CLEANUP_FREE char *path = tide_strndup(m->object.path, name_len);
  if (m->build_id_len && open_as_recorded(m, path))
    return true;
  snprintf(m->object.note, sizeof m->object.note,
           "%.120s was deleted or replaced while the program ran: " AS_ADDRESSES, path);
  return false;
}

static bool open_file(const struct tide_symboliser *s, struct module *m)
{
  if (strcmp(m->object.path, "[vdso]") == 0)
    return (m->elf = tide_elf_open_vdso(m->build_id, m->build_id_len)) != NULL;
  if (m->object.path[0] != '/')
    return false; // not a file, and nothing is wrong with it
  static const char deleted[] = " (deleted)";
  size_t len = strlen(m->object.path), mark = sizeof deleted - 1;
  bool is_deleted = len > mark && strcmp(m->object.path + len - mark, deleted) == 0;
  size_t path_len = is_deleted ? len - mark : len;
  if (is_deleted ? open_deleted(m, path_len) : open_as_recorded(m, m->object.path))
    return true;
  TIDE_CLEANUP_FREE char *path = tide_strndup(m->object.path, path_len);
  m->elf = tide_debugfile_open_gone(path, m->build_id, m->build_id_len, s->sources.debug_dirs);
  return m->elf != NULL;
}

static bool is_c_library(const char *path)
{
  const char *name = last_part(path);
  return strncmp(name, "libc.so.", 8) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
         strncmp(name, "ld-musl", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
         strncmp(name, "ld-2.", 5) == 0;
}

static void note_no_debug_info(struct module *m)
{
  const char *path = m->object.path;
  if (m->elf->debug == TIDE_ELF_DEBUG_ZSTD || (m->debug && m->debug->debug == TIDE_ELF_DEBUG_ZSTD))
    note(m, "has zstd-packed debug info, which this libdw cannot read: "
            "unpack it with `objcopy --decompress-debug-sections`");
  else if (m->elf->by_rustc)
    note(m, "has no debug info: lines are unknown; "
            "add `debug = 1` under `[profile.release]` in Cargo.toml and rebuild");
  else if (strncmp(path, "/usr/lib", 8) == 0 || strncmp(path, "/lib", 4) == 0 ||
           strncmp(path, "/usr/bin/", 9) == 0)
    note(m,
         "has no debug info: lines are unknown; install its debug symbols (-dbgsym, -debuginfo)");
  else
    note(m, "has no debug info: lines are unknown; compile with -g");
}

// Part of the debug info is in another file, which only shows when it is asked for.
static void note_missing(struct module *m)
{
  const char *missing = tide_dwarf_missing(m->dwarf);
  if (!missing || m->object.note[0])
    return;
  TIDE_CLEANUP_FREE char *package = tide_sprintf("%s.dwp", m->elf->path);
  if (access(package, F_OK) == 0)
    note(m,
         "has its debug info in %.60s, which libdw can read from version 0.191 on: "
         "inlined calls are unknown",
         last_part(package));
  else
    note(m,
         "has part of its debug info in %.60s, which is not there: some names and inlined calls "
         "are unknown",
         last_part(missing));
}

static void settle(struct tide_symboliser *s, struct module *m)
{
  m->tried = true;
  if (!open_file(s, m))
    return;
  m->object.opened = true;
  m->object.note[0] = 0;
  if (m->elf->debug != TIDE_ELF_DEBUG_READY)
    m->debug = tide_debugfile_open(m->elf, s->sources.debug_dirs);
  if (is_c_library(m->object.path) || m->object.path[0] == '[')
    return;
  struct tide_elf *from = m->elf;
  if (from->debug != TIDE_ELF_DEBUG_READY && m->debug)
    from = m->debug;
  if (from->debug == TIDE_ELF_DEBUG_READY)
    m->dwarf = tide_dwarf_new(from, m->elf->code_lo, m->elf->code_hi, &s->names);
  m->object.has_debug_info = m->dwarf != NULL;
  if (m->dwarf)
    tide_dwarf_join_alt(m->dwarf, from->path, s->sources.debug_dirs);
  else
    note_no_debug_info(m);
}

static struct module *module_at(struct tide_symboliser *s, uint32_t module)
{
  if (module >= s->n_modules)
    return NULL;
  struct module *m = s->modules[module];
  if (!m->tried)
    settle(s, m);
  return m;
}

const struct tide_symbol_object *tide_symboliser_object(struct tide_symboliser *s, uint32_t module)
{
  struct module *m = module_at(s, module);
  return m ? &m->object : NULL;
}

static bool is_mangled(const char *name)
{
  return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

// DWARF knows C++ functions of internal linkage by their short name alone ("push"); the symbol
// table has the mangled one. out has room for TIDE_INLINE_DEPTH_MAX + 1 frames.
static size_t resolve(struct tide_symboliser *s, struct module *m, uint64_t addr,
                      struct tide_symbol_frame *out)
{
  if (!m->elf)
    return 0;
  bool has_whole_name = false;
  size_t n = 0;
  if (m->dwarf) {
    n = tide_dwarf_lookup(m->dwarf, addr, out, &has_whole_name);
    note_missing(m);
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

static const struct answer *answer(struct tide_symboliser *s, uint32_t module, uint64_t addr)
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
  const struct answer *a = answer(s, module, addr);
  size_t n = a->n_frames < max ? a->n_frames : max;
  if (n == 0)
    return 0;
  const struct tide_symbol_frame *frames = s->frames + a->first_frame;
  memcpy(out, frames, (n - 1) * sizeof *out);
  out[n - 1] = frames[a->n_frames - 1];
  return n;
}
