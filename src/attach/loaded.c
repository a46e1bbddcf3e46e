// SPDX-License-Identifier: Apache-2.0
//
// ELF files by libelf, frame descriptions by libdw. A process's files are opened by its own view of
// the file system.
#define _GNU_SOURCE
#include "attach/loaded.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "symbol/debugfile.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES UINT64_C(4096)

void tide_loaded_done(struct tide_loaded *loaded)
{
  free(loaded->path);
  tide_elf_free(loaded->elf);
  tide_elf_free(loaded->debug);
  free(loaded->extents);
  for (size_t i = 0; i < loaded->n_signed; i++)
    free(loaded->signed_functions[i].name);
  free(loaded->signed_functions);
  free(loaded->signed_by);
  *loaded = (struct tide_loaded){0};
}

void tide_loaded_list_done(struct tide_loaded_list *list)
{
  for (size_t i = 0; i < list->n; i++)
    tide_loaded_done(&list->all[i]);
  for (size_t i = 0; i < list->n_unread; i++) {
    free(list->unread[i].path);
    free(list->unread[i].reason);
  }
  free(list->all);
  free(list->unread);
  *list = (struct tide_loaded_list){0};
}

// Unwind information.

static int compare_extents(const void *a, const void *b)
{
  const struct tide_extent *x = a, *y = b;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool has_four_bytes(int encoding)
{
  return (encoding & 15) == DW_EH_PE_sdata4 || (encoding & 15) == DW_EH_PE_udata4;
}

// How a frame description's addresses are written: what its CIE says behind an R.
static int address_encoding(const Dwarf_CIE *cie)
{
  const uint8_t *data = cie->augmentation_data;
  const uint8_t *end = data + cie->augmentation_data_size;
  if (cie->augmentation[0] != 'z')
    return DW_EH_PE_absptr;
  for (const char *a = cie->augmentation + 1; *a && data < end; a++) {
    if (*a == 'R')
      return *data;
    if (*a == 'L')
      data++;
    else if (*a == 'P')
      data += has_four_bytes(*data) ? 5 : 9;
  }
  return DW_EH_PE_absptr;
}

// Two numbers: where a function begins and how long it is. at: the file's address of the first.
static bool decode_extent(const uint8_t *bytes, const uint8_t *end, int encoding, uint64_t at,
                          struct tide_extent *ret_extent)
{
  uint64_t begin, length;
  if (has_four_bytes(encoding)) {
    int32_t pair[2];
    if (end - bytes < (ptrdiff_t)sizeof pair)
      return false;
    memcpy(pair, bytes, sizeof pair);
    begin = (uint64_t)(int64_t)pair[0];
    length = (uint32_t)pair[1];
  } else {
    uint64_t pair[2];
    if (end - bytes < (ptrdiff_t)sizeof pair)
      return false;
    memcpy(pair, bytes, sizeof pair);
    begin = pair[0];
    length = pair[1];
  }
  if ((encoding & 0x70) == DW_EH_PE_pcrel)
    begin += at;
  else if (encoding & 0x70)
    return false;
  *ret_extent = (struct tide_extent){begin, begin + length, 0};
  return length && begin + length > begin;
}

static void add_extents(struct tide_loaded *loaded, const Elf_Data *data, uint64_t address)
{
  size_t n = 0;
  const unsigned char *ident = (const unsigned char *)elf_getident(loaded->elf->elf, &n);
  Dwarf_Off at = 0, next;
  Dwarf_CFI_Entry entry, cie;
  for (; !dwarf_next_cfi(ident, (Elf_Data *)data, true, at, &next, &entry); at = next) {
    Dwarf_Off ignored;
    if (dwarf_cfi_cie_p(&entry) ||
        dwarf_next_cfi(ident, (Elf_Data *)data, true, entry.fde.CIE_pointer, &ignored, &cie) ||
        !dwarf_cfi_cie_p(&cie))
      continue;
    struct tide_extent extent;
    uint64_t begins = address + (uint64_t)(entry.fde.start - (const uint8_t *)data->d_buf);
    if (!decode_extent(entry.fde.start, entry.fde.end, address_encoding(&cie.cie), begins, &extent))
      continue;
    extent.frame = address + at;
    TIDE_GROW(loaded->extents, loaded->n_extents, loaded->extents_cap);
    loaded->extents[loaded->n_extents++] = extent;
  }
}

static void read_extents(struct tide_loaded *loaded)
{
  size_t names = 0;
  Elf *elf = loaded->elf->elf;
  if (elf_getshdrstrndx(elf, &names))
    return;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    const char *name = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
    Elf_Data *data = name && !strcmp(name, ".eh_frame") ? elf_rawdata(scn, NULL) : NULL;
    if (data && data->d_buf && header.sh_type != SHT_NOBITS && header.sh_flags & SHF_ALLOC)
      add_extents(loaded, data, header.sh_addr);
  }
  if (loaded->n_extents)
    qsort(loaded->extents, loaded->n_extents, sizeof *loaded->extents, compare_extents);
}

// The last extent that begins at or before an address of the file; n_extents: none.
static size_t extent_before(const struct tide_loaded *loaded, uint64_t address)
{
  size_t above = TIDE_FIRST_ABOVE(loaded->extents, loaded->n_extents, lo, address);
  return above ? above - 1 : loaded->n_extents;
}

bool tide_loaded_extent(const struct tide_loaded *loaded, uint64_t address,
                        struct tide_extent *ret_extent)
{
  size_t i = extent_before(loaded, address - loaded->bias);
  if (i == loaded->n_extents || address - loaded->bias >= loaded->extents[i].hi)
    return false;
  *ret_extent = (struct tide_extent){loaded->extents[i].lo + loaded->bias,
                                     loaded->extents[i].hi + loaded->bias,
                                     loaded->extents[i].frame + loaded->bias};
  return true;
}

bool tide_loaded_has_table(const struct tide_loaded *loaded)
{
  size_t n = 0;
  GElf_Phdr segment;
  bool has = false;
  if (elf_getphdrnum(loaded->elf->elf, &n))
    return false;
  for (size_t i = 0; !has && i < n; i++)
    has = gelf_getphdr(loaded->elf->elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME;
  return has;
}

void tide_loaded_each_gap(const struct tide_loaded *loaded, uint64_t lo, uint64_t hi,
                          bool (*each)(void *context, struct tide_extent gap), void *context)
{
  size_t i = extent_before(loaded, lo - loaded->bias);
  for (i = i == loaded->n_extents ? 0 : i; i + 1 < loaded->n_extents; i++) {
    struct tide_extent gap = {loaded->extents[i].hi + loaded->bias,
                              loaded->extents[i + 1].lo + loaded->bias, 0};
    if (gap.lo >= hi)
      return;
    if (gap.hi > gap.lo && gap.lo >= lo && gap.hi <= hi && each(context, gap))
      return;
  }
}

// Symbols.

static void each_symbol(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, uint64_t bias,
                        void (*each)(void *context, const struct tide_function *function),
                        void *context)
{
  Elf_Data *data = elf_getdata(scn, NULL);
  for (int i = 0; data && header->sh_entsize && i < (int)(header->sh_size / header->sh_entsize);
       i++) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, i, &symbol))
      return;
    if (symbol.st_shndx == SHN_UNDEF || !symbol.st_value ||
        GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
      continue;
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    char plain[256];
    size_t n = name ? strcspn(name, "@") : 0;
    if (!n || n >= sizeof plain)
      continue;
    memcpy(plain, name, n);
    plain[n] = 0;
    each(context, &(struct tide_function){plain, symbol.st_value + bias, symbol.st_size});
  }
}

static void each_of_file(Elf *elf, uint64_t bias,
                         void (*each)(void *context, const struct tide_function *function),
                         void *context)
{
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) &&
        (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
      each_symbol(elf, scn, &header, bias, each, context);
  }
}

void tide_loaded_each_function(const struct tide_loaded *loaded,
                               void (*each)(void *context, const struct tide_function *function),
                               void *context)
{
  each_of_file(loaded->elf->elf, loaded->bias, each, context);
  if (loaded->debug)
    each_of_file(loaded->debug->elf, loaded->bias, each, context);
  for (size_t i = 0; i < loaded->n_signed; i++) {
    const struct tide_signed_function *f = &loaded->signed_functions[i];
    each(context, &(struct tide_function){f->name, f->at + loaded->bias, f->bytes});
  }
}

bool tide_loaded_read(const struct tide_loaded *loaded, uint64_t at, void *to, size_t n)
{
  size_t n_segments = 0, n_file = 0;
  const char *file = elf_rawfile(loaded->elf->elf, &n_file);
  uint64_t address = at - loaded->bias;
  if (!file || elf_getphdrnum(loaded->elf->elf, &n_segments))
    return false;
  for (size_t i = 0; i < n_segments; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(loaded->elf->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
        address < segment.p_vaddr)
      continue;
    uint64_t end = (segment.p_vaddr + segment.p_filesz + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    uint64_t offset = segment.p_offset + (address - segment.p_vaddr);
    if (address >= end || n > end - address || offset > n_file)
      continue;
    size_t n_there = n < n_file - offset ? n : n_file - offset;
    memcpy(to, file + offset, n_there);
    memset((char *)to + n_there, 0, n - n_there);
    return true;
  }
  return false;
}

// Opening.

static void open_debug(struct tide_loaded *loaded, const char *debug_dirs)
{
  if (!loaded->elf->has_symtab)
    loaded->debug = tide_elf_open_debugdata(loaded->elf);
  if (!loaded->elf->has_symtab && !loaded->debug)
    loaded->debug = tide_debugfile_open(loaded->elf, debug_dirs);
}

enum tide_err tide_loaded_open_file(const char *path, const char *debug_dirs,
                                    struct tide_loaded *ret_loaded, struct tide_diag *diag)
{
  struct tide_loaded loaded = {.path = tide_strdup(path)};
  enum tide_err err = tide_elf_open(path, &loaded.elf, diag);
  if (err) {
    tide_loaded_done(&loaded);
    return err;
  }
  open_debug(&loaded, debug_dirs);
  read_extents(&loaded);
  loaded.code_lo = loaded.elf->code_lo;
  loaded.code_hi = loaded.elf->code_hi;
  *ret_loaded = loaded;
  return TIDE_ERR_OK;
}

// The segment that a mapping of code is of.
static bool find_segment(Elf *elf, const struct tide_mapping *mapping, GElf_Phdr *ret_segment)
{
  size_t n = 0;
  if (elf_getphdrnum(elf, &n))
    return false;
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
        segment.p_flags & PF_X && (segment.p_offset & ~UINT64_C(4095)) <= mapping->offset &&
        mapping->offset < segment.p_offset + segment.p_filesz) {
      *ret_segment = segment;
      return true;
    }
  }
  return false;
}

static bool is_listed(const struct tide_loaded_list *list, const struct tide_mapping *mapping)
{
  for (size_t i = 0; i < list->n; i++)
    if (mapping->lo >= list->all[i].code_lo && mapping->lo < list->all[i].code_hi)
      return true;
  return false;
}

static void note_unread(struct tide_loaded_list *list, const char *path, const char *reason)
{
  TIDE_GROW(list->unread, list->n_unread, list->unread_cap);
  list->unread[list->n_unread].path = tide_strdup(path);
  list->unread[list->n_unread++].reason = tide_strdup(reason);
}

static void add_loaded(struct tide_loaded_list *list, const struct tide_outside *outside,
                       const struct tide_mapping *mapping, const char *debug_dirs)
{
  char name[PATH_MAX];
  struct tide_loaded loaded;
  struct tide_diag diag;
  GElf_Phdr segment;
  tide_outside_file(outside, mapping, name);
  if (tide_loaded_open_file(name, debug_dirs, &loaded, &diag)) {
    note_unread(list, mapping->path, diag.text);
    return;
  }
  if (!find_segment(loaded.elf->elf, mapping, &segment)) {
    note_unread(list, mapping->path, "the file has changed since it was loaded");
    tide_loaded_done(&loaded);
    return;
  }
  loaded.bias = mapping->lo - mapping->offset + segment.p_offset - segment.p_vaddr;
  loaded.code_lo = loaded.bias + segment.p_vaddr;
  loaded.code_hi = loaded.code_lo + segment.p_filesz;
  free(loaded.path);
  loaded.path = tide_strdup(mapping->path);
  TIDE_GROW(list->all, list->n, list->cap);
  list->all[list->n++] = loaded;
}

void tide_loaded_list_make(const struct tide_outside *outside, const char *debug_dirs,
                           struct tide_loaded_list *ret_list)
{
  tide_loaded_list_make_of(outside, debug_dirs, NULL, NULL, ret_list);
}

void tide_loaded_list_make_of(const struct tide_outside *outside, const char *debug_dirs,
                              bool (*is_wanted)(void *context, const struct tide_mapping *mapping),
                              void *context, struct tide_loaded_list *ret_list)
{
  *ret_list = (struct tide_loaded_list){0};
  for (size_t i = 0; i < outside->n_mappings; i++) {
    const struct tide_mapping *m = &outside->mappings[i];
    if (m->executable && m->path[0] == '/' && !is_listed(ret_list, m) &&
        (!is_wanted || is_wanted(context, m)))
      add_loaded(ret_list, outside, m, debug_dirs);
  }
}
