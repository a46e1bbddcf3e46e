// SPDX-License-Identifier: Apache-2.0
//
// By libelf: the archive's index says which members define a wanted name, and only those are read.
#define _GNU_SOURCE
#include "attach/archived.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_UNIT_BYTES = 4 << 20, MAX_UNITS = 4096 };

static void unit_done(struct tide_archived *unit)
{
  for (size_t i = 0; i < unit->n_functions; i++)
    free(unit->functions[i].name);
  for (size_t i = 0; i < unit->n_calls; i++)
    free(unit->calls[i].name);
  free(unit->functions);
  free(unit->calls);
  free(unit->bytes);
  free(unit->is_fixed);
}

void tide_archive_done(struct tide_archive *archive)
{
  for (size_t i = 0; i < archive->n; i++)
    unit_done(&archive->all[i]);
  free(archive->all);
  *archive = (struct tide_archive){0};
}

// A member while it is read.
struct member {
  Elf *elf;
  Elf_Data *symbols;
  size_t n_symbols, names; // names: the section of the symbols' names
  const struct tide_relocations *machine;
  bool (*is_wanted)(const char *name);
};

static const char *symbol_name(const struct member *m, size_t i, GElf_Sym *ret_symbol)
{
  if (!gelf_getsym(m->symbols, (int)i, ret_symbol))
    return NULL;
  return elf_strptr(m->elf, m->names, ret_symbol->st_name);
}

static bool find_symbols(struct member *m)
{
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(m->elf, scn));) {
    GElf_Shdr header;
    if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize)
      continue;
    m->symbols = elf_getdata(scn, NULL);
    m->n_symbols = header.sh_size / header.sh_entsize;
    m->names = header.sh_link;
    return m->symbols;
  }
  return false;
}

// True: one of them is wanted.
static bool list_functions(const struct member *m, size_t section, struct tide_archived *unit)
{
  bool has = false;
  for (size_t i = 0; i < m->n_symbols; i++) {
    GElf_Sym symbol;
    const char *name = symbol_name(m, i, &symbol);
    if (!name || !*name || symbol.st_shndx != section || symbol.st_value >= unit->n ||
        GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
      continue;
    has |= m->is_wanted(name);
    TIDE_GROW(unit->functions, unit->n_functions, unit->functions_cap);
    unit->functions[unit->n_functions++] =
        (struct tide_archived_function){tide_strdup(name), symbol.st_value, symbol.st_size};
  }
  return has;
}

static void add_call(const struct member *m, size_t section, const GElf_Rela *rela,
                     struct tide_archived *unit)
{
  GElf_Sym symbol;
  const char *name = symbol_name(m, GELF_R_SYM(rela->r_info), &symbol);
  bool is_within = name && symbol.st_shndx == section;
  if (!name || (!is_within && !m->is_wanted(name)))
    return;
  TIDE_GROW(unit->calls, unit->n_calls, unit->calls_cap);
  unit->calls[unit->n_calls++] =
      (struct tide_archived_call){.name = is_within ? NULL : tide_strdup(name),
                                  .at = rela->r_offset,
                                  .to = is_within ? symbol.st_value : 0,
                                  .addend = rela->r_addend,
                                  .type = (uint32_t)GELF_R_TYPE(rela->r_info)};
}

static void take_relocation(const struct member *m, size_t section, const GElf_Rela *rela,
                            struct tide_archived *unit)
{
  struct tide_relocated written = m->machine->bytes((uint32_t)GELF_R_TYPE(rela->r_info));
  uint64_t at = rela->r_offset, before = (uint64_t)-written.before;
  if (at > unit->n)
    return;
  for (uint64_t i = at < before ? 0 : at - before; i < at + written.behind && i < unit->n; i++)
    unit->is_fixed[i] = 0;
  if (at + 4 <= unit->n)
    add_call(m, section, rela, unit);
}

static void apply_relocations(const struct member *m, size_t section, struct tide_archived *unit)
{
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(m->elf, scn));) {
    GElf_Shdr header;
    GElf_Rela rela;
    if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA || header.sh_info != section)
      continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (int i = 0; data && gelf_getrela(data, i, &rela); i++)
      take_relocation(m, section, &rela, unit);
  }
}

static void measure_unit(struct tide_archived *unit)
{
  size_t run = 0;
  for (size_t i = 0; i < unit->n; i++) {
    unit->n_fixed += unit->is_fixed[i];
    run = unit->is_fixed[i] ? run + 1 : 0;
    if (run > unit->anchor_bytes) {
      unit->anchor_bytes = run;
      unit->anchor = i + 1 - run;
    }
  }
}

static void read_section(const struct member *m, Elf_Scn *scn, struct tide_archive *archive)
{
  GElf_Shdr header;
  Elf_Data *data = gelf_getshdr(scn, &header) && header.sh_type == SHT_PROGBITS &&
                           header.sh_flags & SHF_EXECINSTR
                       ? elf_rawdata(scn, NULL)
                       : NULL;
  if (!data || !data->d_buf || !data->d_size || data->d_size > MAX_UNIT_BYTES ||
      archive->n == MAX_UNITS)
    return;
  struct tide_archived unit = {.n = data->d_size};
  if (!list_functions(m, elf_ndxscn(scn), &unit)) {
    unit_done(&unit);
    return;
  }
  unit.bytes = tide_alloc(unit.n);
  memcpy(unit.bytes, data->d_buf, unit.n);
  unit.is_fixed = tide_alloc(unit.n);
  memset(unit.is_fixed, 1, unit.n);
  apply_relocations(m, elf_ndxscn(scn), &unit);
  measure_unit(&unit);
  TIDE_GROW(archive->all, archive->n, archive->cap);
  archive->all[archive->n++] = unit;
}

static void read_member(Elf *elf, bool (*is_wanted)(const char *name), struct tide_archive *archive)
{
  GElf_Ehdr header;
  struct member m = {.elf = elf, .machine = archive->machine, .is_wanted = is_wanted};
  if (!gelf_getehdr(elf, &header) || header.e_type != ET_REL ||
      header.e_machine != archive->machine->machine || !find_symbols(&m))
    return;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));)
    read_section(&m, scn, archive);
}

static int compare_offsets(const void *a, const void *b)
{
  const size_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

// Where the members lie that define wanted names, each once.
static size_t find_members(Elf *archive, bool (*is_wanted)(const char *name), size_t **ret_offsets)
{
  size_t n_symbols = 0, n = 0, cap = 0, n_once = 0, *offsets = NULL;
  Elf_Arsym *symbols = elf_getarsym(archive, &n_symbols);
  for (size_t i = 0; symbols && i < n_symbols; i++)
    if (symbols[i].as_name && is_wanted(symbols[i].as_name)) {
      TIDE_GROW(offsets, n, cap);
      offsets[n++] = (size_t)symbols[i].as_off;
    }
  if (n)
    qsort(offsets, n, sizeof *offsets, compare_offsets);
  for (size_t i = 0; i < n; i++)
    if (!i || offsets[i] != offsets[i - 1])
      offsets[n_once++] = offsets[i];
  *ret_offsets = offsets;
  return n_once;
}

bool tide_archive_read(const char *path, const struct tide_relocations *machine,
                       bool (*is_wanted)(const char *name), struct tide_archive *ret_archive)
{
  *ret_archive = (struct tide_archive){.machine = machine};
  elf_version(EV_CURRENT);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  Elf *archive = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
  TIDE_CLEANUP_FREE size_t *offsets = NULL;
  size_t n =
      archive && elf_kind(archive) == ELF_K_AR ? find_members(archive, is_wanted, &offsets) : 0;
  for (size_t i = 0; i < n; i++) {
    Elf *member = elf_rand(archive, offsets[i]) ? elf_begin(fd, ELF_C_READ_MMAP, archive) : NULL;
    if (member)
      read_member(member, is_wanted, ret_archive);
    elf_end(member);
  }
  elf_end(archive);
  if (fd >= 0)
    close(fd);
  return ret_archive->n;
}
