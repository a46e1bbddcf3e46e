// SPDX-License-Identifier: Apache-2.0
//
// A unit of enough fixed bytes is searched for; a shorter one (a jump to the function that does the
// work) is believed only where a call of one that was found leads to it.
#define _GNU_SOURCE
#include "attach/signature.h"

#include "attach/displace.h"
#include "attach/archived.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/debugfile.h"

#include <gelf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_FIXED_BYTES = 16, MAX_ANCHOR_BYTES = 48, MAX_SEGMENTS = 8 };

// ---- the program ----

struct segment {
  const uint8_t *bytes;
  size_t n;
  uint64_t at; // the file's address
};

struct program {
  struct tide_loaded *loaded;
  const struct tide_signature_names *names;
  const struct tide_relocations *machine;
  struct segment segments[MAX_SEGMENTS];
  size_t n;
};

// A library has its functions' names in .dynsym, or nobody could call them.
static bool is_program(const struct tide_loaded *loaded, const GElf_Ehdr *header)
{
  struct tide_section dynamic = tide_elf_section(loaded->elf->elf, "dynamic");
  if (header->e_type == ET_EXEC)
    return true;
  for (size_t i = 0; dynamic.data && (i + 1) * sizeof(Elf64_Dyn) <= dynamic.n; i++) {
    Elf64_Dyn entry;
    memcpy(&entry, dynamic.data + i * sizeof entry, sizeof entry);
    if (entry.d_tag == DT_FLAGS_1)
      return entry.d_un.d_val & DF_1_PIE;
  }
  return false;
}

static bool open_program(struct tide_loaded *loaded, struct program *ret_program)
{
  GElf_Ehdr header;
  size_t n_headers = 0, n_file = 0;
  Elf *elf = loaded->elf->elf;
  const uint8_t *file = (const uint8_t *)elf_rawfile(elf, &n_file);
  bool has_names = loaded->elf->has_symtab || (loaded->debug && loaded->debug->has_symtab);
  if (has_names || !file || !gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &n_headers) ||
      !is_program(loaded, &header))
    return false;
  ret_program->machine = tide_relocations_of(header.e_machine);
  for (size_t i = 0; i < n_headers && ret_program->n < MAX_SEGMENTS; i++) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
        segment.p_flags & PF_X && segment.p_offset <= n_file &&
        segment.p_filesz <= n_file - segment.p_offset)
      ret_program->segments[ret_program->n++] =
          (struct segment){file + segment.p_offset, segment.p_filesz, segment.p_vaddr};
  }
  return ret_program->machine && ret_program->n;
}

static const uint8_t *code_at(const struct program *p, uint64_t at, size_t n)
{
  for (size_t i = 0; i < p->n; i++) {
    const struct segment *s = &p->segments[i];
    if (at >= s->at && at - s->at <= s->n && n <= s->n - (at - s->at))
      return s->bytes + (at - s->at);
  }
  return NULL;
}

// ---- placing ----

static bool is_unit(const struct tide_archived *unit, const uint8_t *code)
{
  for (size_t i = 0; i < unit->n; i++)
    if (unit->is_fixed[i] && unit->bytes[i] != code[i])
      return false;
  return true;
}

static size_t count_in_segment(const struct segment *s, struct tide_archived *unit)
{
  size_t n = 0;
  size_t n_anchor = unit->anchor_bytes < MAX_ANCHOR_BYTES ? unit->anchor_bytes : MAX_ANCHOR_BYTES;
  const uint8_t *from = s->bytes + unit->anchor, *end = s->bytes + s->n, *found;
  while (n < 2 && from < end &&
         (found = memmem(from, (size_t)(end - from), unit->bytes + unit->anchor, n_anchor))) {
    const uint8_t *begin = found - unit->anchor;
    if ((size_t)(end - begin) >= unit->n && is_unit(unit, begin)) {
      unit->at = s->at + (uint64_t)(begin - s->bytes);
      n++;
    }
    from = found + 1;
  }
  return n;
}

static void search_unit(const struct program *p, struct tide_archived *unit)
{
  size_t n = 0;
  if (unit->n_fixed < MIN_FIXED_BYTES)
    return;
  for (size_t i = 0; i < p->n; i++)
    if (p->segments[i].n >= unit->n)
      n += count_in_segment(&p->segments[i], unit);
  unit->is_placed = n == 1;
}

static uint64_t target_of(const struct program *p, const struct tide_archived *unit,
                          const struct tide_archived_call *call)
{
  uint64_t at = unit->at + call->at;
  const uint8_t *code = code_at(p, at, sizeof(uint32_t));
  return code ? p->machine->target(call->type, code, at, call->addend) : 0;
}

// A unit that a call leads to. True: it is news.
static bool place_by_call(const struct program *p, struct tide_archive *archive, const char *name,
                          uint64_t target)
{
  for (size_t i = 0; i < archive->n; i++) {
    struct tide_archived *unit = &archive->all[i];
    for (size_t k = 0; !unit->is_placed && k < unit->n_functions; k++) {
      uint64_t begin = target - unit->functions[k].at;
      const uint8_t *code =
          strcmp(unit->functions[k].name, name) == 0 ? code_at(p, begin, unit->n) : NULL;
      if (code && is_unit(unit, code)) {
        unit->at = begin;
        unit->is_placed = true;
        return true;
      }
    }
  }
  return false;
}

static bool place_called(const struct program *p, struct tide_archive *archive)
{
  bool has_news = false;
  for (size_t i = 0; i < archive->n; i++) {
    const struct tide_archived *unit = &archive->all[i];
    for (size_t k = 0; unit->is_placed && k < unit->n_calls; k++) {
      const struct tide_archived_call *call = &unit->calls[k];
      uint64_t target = call->name ? target_of(p, unit, call) : 0;
      has_news |= target && place_by_call(p, archive, call->name, target);
    }
  }
  return has_news;
}

// ---- judging ----

enum verdict { UNKNOWN, AGREES, DIFFERS };

// A name may be in several units: musl has a malloc for programs that never free, too.
static enum verdict judge_name(const struct tide_archive *archive, const char *name,
                               uint64_t target)
{
  enum verdict verdict = UNKNOWN;
  for (size_t i = 0; i < archive->n; i++) {
    const struct tide_archived *unit = &archive->all[i];
    for (size_t k = 0; unit->is_placed && k < unit->n_functions; k++)
      if (strcmp(unit->functions[k].name, name) == 0) {
        if (unit->at + unit->functions[k].at == target)
          return AGREES;
        verdict = DIFFERS;
      }
  }
  return verdict;
}

static bool is_consistent(const struct program *p, const struct tide_archive *archive)
{
  for (size_t i = 0; i < archive->n; i++) {
    const struct tide_archived *unit = &archive->all[i];
    for (size_t k = 0; unit->is_placed && k < unit->n_calls; k++) {
      const struct tide_archived_call *call = &unit->calls[k];
      uint64_t target = target_of(p, unit, call);
      if (!target)
        continue;
      if (call->name ? judge_name(archive, call->name, target) == DIFFERS
                     : target != unit->at + call->to)
        return false;
    }
  }
  return true;
}

static bool is_placed(const struct tide_archive *archive, const char *name)
{
  for (size_t i = 0; i < archive->n; i++)
    for (size_t k = 0; archive->all[i].is_placed && k < archive->all[i].n_functions; k++)
      if (strcmp(archive->all[i].functions[k].name, name) == 0)
        return true;
  return false;
}

static void add_function(struct tide_loaded *loaded, const char *name, uint64_t at, uint64_t bytes)
{
  TIDE_GROW(loaded->signed_functions, loaded->n_signed, loaded->signed_cap);
  loaded->signed_functions[loaded->n_signed++] =
      (struct tide_signed_function){.name = tide_strdup(name), .at = at, .bytes = bytes};
}

static void add_functions(const struct program *p, const struct tide_archive *archive)
{
  for (size_t i = 0; i < archive->n; i++) {
    const struct tide_archived *unit = &archive->all[i];
    for (size_t k = 0; unit->is_placed && k < unit->n_functions; k++) {
      const struct tide_archived_function *f = &unit->functions[k];
      const char *other = p->names->stands_for(f->name);
      add_function(p->loaded, f->name, unit->at + f->at, f->bytes);
      if (other && !is_placed(archive, other))
        add_function(p->loaded, other, unit->at + f->at, f->bytes);
    }
  }
}

static void try_archive(const struct program *p, const char *path)
{
  struct tide_archive archive;
  size_t before = p->loaded->n_signed;
  if (tide_archive_read(path, p->machine, p->names->is_wanted, &archive)) {
    for (size_t i = 0; i < archive.n; i++)
      search_unit(p, &archive.all[i]);
    while (place_called(p, &archive))
      ;
    if (is_consistent(p, &archive))
      add_functions(p, &archive);
  }
  tide_archive_done(&archive);
  if (p->loaded->n_signed > before && !p->loaded->signed_by)
    p->loaded->signed_by = tide_strdup(path);
}

// ---- archives ----

static void try_pattern(const struct program *p, const char *pattern)
{
  glob_t found;
  if (!glob(pattern, 0, NULL, &found))
    for (size_t i = 0; i < found.gl_pathc; i++)
      try_archive(p, found.gl_pathv[i]);
  globfree(&found);
}

// The archives that a directory has, as packages put them there or by themselves.
static bool try_dir(void *context, const char *dir)
{
  static const char *const PLACES[] = {"", "/usr/lib/*", "/lib/*", "/usr/lib/musl/lib"};
  static const char *const NAMES[] = {"libc.a",        "libjemalloc.a", "libjemalloc_pic.a",
                                      "libmimalloc.a", "libtcmalloc.a", "libtcmalloc_minimal.a"};
  for (size_t i = *dir ? 0 : 1; i < sizeof PLACES / sizeof *PLACES; i++)
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
      TIDE_CLEANUP_FREE char *pattern = tide_sprintf("%s%s/%s", dir, PLACES[i], NAMES[k]);
      try_pattern(context, pattern);
    }
  return false;
}

// rustc has a musl of its own for each of its toolchains.
static void try_toolchains(const struct program *p)
{
  const char *home = getenv("HOME"), *rustup = getenv("RUSTUP_HOME");
  if (!home && !rustup)
    return;
  TIDE_CLEANUP_FREE char *pattern =
      tide_sprintf("%s%s/toolchains/*/lib/rustlib/*-musl/lib/self-contained/libc.a",
                   rustup ? rustup : home, rustup ? "" : "/.rustup");
  try_pattern(p, pattern);
}

bool tide_signature_find(struct tide_loaded *loaded, const char *dirs,
                         const struct tide_signature_names *names)
{
  struct program program = {.loaded = loaded, .names = names};
  if (!open_program(loaded, &program))
    return false;
  tide_debugfile_each_dir(dirs, try_dir, &program);
  try_dir(&program, "");
  try_toolchains(&program);
  return true;
}

// ---- by system calls ----

static bool has_loader(Elf *elf)
{
  size_t n = 0;
  GElf_Phdr segment;
  bool has = elf_getphdrnum(elf, &n) != 0;
  for (size_t i = 0; !has && i < n; i++)
    has = gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP;
  return has;
}

void tide_signature_find_page_calls(struct tide_loaded *loaded)
{
  struct program program = {.loaded = loaded};
  const char *(*page_call)(const struct tide_code *) = tide_displacer()->page_call;
  if (!page_call || !open_program(loaded, &program) ||
      program.machine->machine != tide_displacer()->machine || has_loader(loaded->elf->elf))
    return;
  for (size_t i = 0; i < loaded->n_extents; i++) {
    const struct tide_extent *e = &loaded->extents[i];
    const uint8_t *code = code_at(&program, e->lo, e->hi - e->lo);
    const char *name = code ? page_call(&(struct tide_code){code, e->hi - e->lo, e->lo}) : NULL;
    if (name)
      add_function(loaded, name, e->lo, e->hi - e->lo);
  }
}

// ---- what would help ----

// "libc6-dev 2.36-9+deb12u10", where glibc's banner is in it and a distribution has signed it.
static void advise_package(const struct tide_loaded *loaded, struct tide_buf *out)
{
  static const char BEFORE[] = "GNU C Library (", BUILD[] = " GLIBC ";
  struct tide_section texts = tide_elf_section(loaded->elf->elf, "rodata");
  const char *end = (const char *)texts.data + texts.n;
  const char *at = texts.data ? memmem(texts.data, texts.n, BEFORE, sizeof BEFORE - 1) : NULL;
  const char *close = at ? memchr(at, ')', (size_t)(end - at)) : NULL;
  const char *build = close ? memmem(at, (size_t)(close - at), BUILD, sizeof BUILD - 1) : NULL;
  if (build)
    tide_buf_printf(out, " of libc6-dev %.*s", (int)(close - build - (long)sizeof BUILD + 1),
                    build + sizeof BUILD - 1);
}

// "GCC: (Debian 12.2.0-14+deb12u1) 12.2.0", the last that worked on it.
static void advise_compiler(const struct tide_loaded *loaded, struct tide_buf *out)
{
  struct tide_section comment = tide_elf_section(loaded->elf->elf, "comment");
  size_t n = comment.data ? comment.n : 0;
  while (n && !comment.data[n - 1])
    n--;
  size_t begin = n;
  while (begin && comment.data[begin - 1] >= ' ' && comment.data[begin - 1] < 127)
    begin--;
  if (n > begin)
    tide_buf_printf(out, " (compiled by %.*s)", (int)(n - begin), comment.data + begin);
}

char *tide_signature_advice(const struct tide_loaded *loaded)
{
  struct tide_buf out = {0};
  const struct tide_elf *elf = loaded->elf;
  if (elf->has_symtab || (loaded->debug && loaded->debug->has_symtab)) // no name would be new
    return tide_strdup("a build that calls libc's malloc, or another allocator that is known");
  TIDE_CLEANUP_FREE char *file =
      elf->build_id ? tide_debugfile_build_id_path("", elf->build_id, elf->build_id_len) : NULL;
  tide_buf_text(&out, "a build of it with symbols, ");
  if (file)
    tide_buf_printf(&out, "its debug file %s in a debug directory, ", file + 1);
  tide_buf_text(&out, "or the libc.a");
  advise_package(loaded, &out);
  tide_buf_text(&out, " that it was linked with");
  advise_compiler(loaded, &out);
  tide_buf_text(&out, " there");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}
