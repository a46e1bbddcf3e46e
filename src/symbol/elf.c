// SPDX-License-Identifier: Apache-2.0
//
// Reading an ELF file through libelf: section headers, symbol tables, notes. The file is mapped,
// and sections are used in place, so opening libc costs page faults on what is looked at.
//
// 1. Every offset from the file is checked by libelf or here before it is followed.
// 2. A symbol counts only if it is defined and lies within the executable sections.
// 3. A symbol without a size names an address only if no sized symbol starts in between.
#define _GNU_SOURCE
#include "symbol/elf.h"

#include "base/alloc.h"

#include <elfutils/libdwelf.h>
#include <elfutils/version.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void tide_elf_free(struct tide_elf *elf)
{
  if (!elf)
    return;
  tide_elf_free(elf->unpacked);
  elf_end(elf->elf);
  if (elf->fd >= 0)
    close(elf->fd);
  free(elf->bytes);
  tide_elf_free(elf->mini);
  tide_ranges_done(&elf->sized);
  tide_ranges_done(&elf->labels);
  free(elf->symbols);
  free(elf->path);
  free(elf);
}

static bool contains(const Elf_Data *data, const char *text)
{
  return data && data->d_buf && memmem(data->d_buf, data->d_size, text, strlen(text));
}

static enum tide_elf_debug debug_of(Elf_Scn *scn, const GElf_Shdr *header)
{
  if (header->sh_type == SHT_NOBITS || header->sh_size == 0)
    return TIDE_ELF_DEBUG_NONE;
#if !_ELFUTILS_PREREQ(0, 189)
  GElf_Chdr packed;
  if ((header->sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &packed) &&
      packed.ch_type == ELFCOMPRESS_ZSTD)
    return TIDE_ELF_DEBUG_ZSTD;
#endif
  return TIDE_ELF_DEBUG_READY;
}

static void look_at_section(struct tide_elf *elf, Elf_Scn *scn, const GElf_Shdr *header,
                            const char *name)
{
  uint64_t end = header->sh_addr + header->sh_size;
  if ((header->sh_flags & SHF_EXECINSTR) && header->sh_addr < end) {
    if (elf->code_hi == 0 || header->sh_addr < elf->code_lo)
      elf->code_lo = header->sh_addr;
    if (end > elf->code_hi)
      elf->code_hi = end;
  }
  if (header->sh_type == SHT_SYMTAB)
    elf->has_symtab = true;
  else if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
    elf->debug = debug_of(scn, header);
  else if (strcmp(name, ".comment") == 0)
    elf->by_rustc = contains(elf_rawdata(scn, NULL), "rustc version");
}

static void look_at_sections(struct tide_elf *elf)
{
  size_t names;
  if (elf_getshdrstrndx(elf->elf, &names) != 0)
    return;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf->elf, scn));) {
    GElf_Shdr header;
    if (!gelf_getshdr(scn, &header))
      continue;
    const char *name = elf_strptr(elf->elf, names, header.sh_name);
    look_at_section(elf, scn, &header, name ? name : "");
  }
}

// Stripped even of section headers: the executable segments have to do.
static void look_at_segments(struct tide_elf *elf)
{
  size_t n = 0;
  if (elf_getphdrnum(elf->elf, &n) != 0)
    return;
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
        !(segment.p_flags & PF_X))
      continue;
    uint64_t end = segment.p_vaddr + segment.p_memsz;
    if (elf->code_hi == 0 || segment.p_vaddr < elf->code_lo)
      elf->code_lo = segment.p_vaddr;
    if (end > elf->code_hi)
      elf->code_hi = end;
  }
}

static bool is_loadable(Elf *elf)
{
  // Only what this machine's programs can load: 64 bits, little endian.
  GElf_Ehdr header;
  return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

// The part of opening that does not depend on where the bytes are. Takes over elf.
static enum tide_err look_at(struct tide_elf *elf, struct tide_elf **ret_elf,
                             struct tide_diag *diag)
{
  if (!is_loadable(elf->elf)) {
    tide_fail(diag, TIDE_ERR_FORMAT, "%s is not an ELF program or library", elf->path);
    tide_elf_free(elf);
    return TIDE_ERR_FORMAT;
  }
  look_at_sections(elf);
  if (elf->code_hi == 0)
    look_at_segments(elf);
  const void *id;
  ssize_t id_len = dwelf_elf_gnu_build_id(elf->elf, &id);
  if (id_len > 0) {
    elf->build_id = id;
    elf->build_id_len = (size_t)id_len;
  }
  *ret_elf = elf;
  return TIDE_ERR_OK;
}

enum tide_err tide_elf_open(const char *path, struct tide_elf **ret_elf, struct tide_diag *diag)
{
  // O_NONBLOCK: a path from a capture may by now be a FIFO, which must not hold us up.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot open %s", path);
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a regular file", path);
  }
  elf_version(EV_CURRENT);
  struct tide_elf *elf = tide_alloc(sizeof *elf);
  elf->path = tide_strdup(path);
  elf->fd = fd;
  elf->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  return look_at(elf, ret_elf, diag);
}

enum tide_err tide_elf_open_bytes(const char *name, uint8_t *bytes, size_t n,
                                  struct tide_elf **ret_elf, struct tide_diag *diag)
{
  elf_version(EV_CURRENT);
  struct tide_elf *elf = tide_alloc(sizeof *elf);
  elf->path = tide_strdup(name);
  elf->fd = -1;
  elf->bytes = bytes;
  elf->elf = elf_memory((char *)bytes, n);
  return look_at(elf, ret_elf, diag);
}

// Public names before internal ones ("malloc", not "__libc_malloc"), global before local.
static uint8_t rank_of(const char *name, unsigned binding)
{
  size_t underscores = strspn(name, "_");
  unsigned by_binding = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  return (uint8_t)((underscores < 15 ? underscores : 15) * 4 + by_binding);
}

// A label names what follows it up to the end of its section.
static uint64_t end_of_section(const struct tide_elf *from, size_t section)
{
  GElf_Shdr header;
  if (!gelf_getshdr(elf_getscn(from->elf, section), &header))
    return 0;
  return header.sh_addr + header.sh_size;
}

static void add_symbol(struct tide_elf *elf, const struct tide_elf *from, const Elf64_Sym *sym,
                       const char *name)
{
  unsigned type = ELF64_ST_TYPE(sym->st_info);
  bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
  if (!is_function && type != STT_NOTYPE)
    return;
  if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_value < elf->code_lo ||
      sym->st_value >= elf->code_hi)
    return;
  if (name[0] == 0 || name[0] == '$' || strncmp(name, ".L", 2) == 0)
    return; // mapping symbols of aarch64, left-over labels of assemblers
  uint64_t room = elf->code_hi - sym->st_value;
  uint64_t size = sym->st_size < room ? sym->st_size : room;
  uint32_t idx = (uint32_t)elf->n_symbols;
  if (is_function && size)
    tide_ranges_add(&elf->sized, sym->st_value, sym->st_value + size, idx);
  else
    tide_ranges_add(&elf->labels, sym->st_value, end_of_section(from, sym->st_shndx), idx);
  TIDE_GROW(elf->symbols, elf->n_symbols, elf->symbols_cap);
  elf->symbols[elf->n_symbols++] =
      (struct tide_elf_symbol){name, rank_of(name, ELF64_ST_BIND(sym->st_info))};
}

static void add_table(struct tide_elf *elf, const struct tide_elf *from, Elf_Scn *scn,
                      const GElf_Shdr *header)
{
  Elf_Data *symbols = elf_getdata(scn, NULL);
  Elf_Data *strings = elf_getdata(elf_getscn(from->elf, header->sh_link), NULL);
  if (!symbols || symbols->d_type != ELF_T_SYM || !symbols->d_buf || !strings || !strings->d_buf ||
      strings->d_size == 0)
    return;
  const char *text = strings->d_buf;
  if (text[strings->d_size - 1] != 0)
    return; // the last name would have no end
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->d_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym sym; // copied: in a damaged file the table need not be aligned
    memcpy(&sym, (const char *)symbols->d_buf + at, sizeof sym);
    if (sym.st_name < strings->d_size)
      add_symbol(elf, from, &sym, text + sym.st_name);
  }
}

static void add_tables(struct tide_elf *elf, const struct tide_elf *from, unsigned wanted)
{
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(from->elf, scn));) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) && header.sh_type == wanted)
      add_table(elf, from, scn, &header);
  }
}

static void index_symbols(struct tide_elf *elf)
{
  add_tables(elf, elf, elf->has_symtab ? SHT_SYMTAB : SHT_DYNSYM);
  if (!elf->has_symtab && (elf->mini = tide_elf_open_debugdata(elf)))
    add_tables(elf, elf->mini, SHT_SYMTAB);
  tide_ranges_sort(&elf->sized);
  tide_ranges_sort(&elf->labels);
  elf->indexed = true;
}

static bool is_better(const struct tide_elf_symbol *a, const struct tide_elf_symbol *b)
{
  if (a->rank != b->rank)
    return a->rank < b->rank;
  size_t a_len = strlen(a->name), b_len = strlen(b->name);
  return a_len != b_len ? a_len < b_len : strcmp(a->name, b->name) < 0;
}

// The best of the names that start where the found one does and reach the address too.
static const char *best_alias(const struct tide_elf *elf, const struct tide_ranges *ranges,
                              const struct tide_address_range *found, uint64_t addr)
{
  const struct tide_elf_symbol *best = &elf->symbols[found->value];
  for (const struct tide_address_range *r = found; r >= ranges->items && r->lo == found->lo; r--)
    if (r->hi > addr && is_better(&elf->symbols[r->value], best))
      best = &elf->symbols[r->value];
  return best->name;
}

const char *tide_elf_function(struct tide_elf *elf, uint64_t addr)
{
  if (addr < elf->code_lo || addr >= elf->code_hi)
    return NULL;
  if (!elf->indexed)
    index_symbols(elf);
  const struct tide_address_range *found = tide_ranges_find(&elf->sized, addr);
  if (found)
    return best_alias(elf, &elf->sized, found, addr);
  const struct tide_address_range *label = tide_ranges_before(&elf->labels, addr);
  const struct tide_address_range *before = tide_ranges_before(&elf->sized, addr);
  if (!label || label->hi <= addr || (before && before->lo >= label->lo))
    return NULL;
  return best_alias(elf, &elf->labels, label, addr);
}

struct tide_section tide_elf_section(Elf *elf, const char *name)
{
  size_t names;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return (struct tide_section){0};
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    const char *own = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
    if (!own || header.sh_type == SHT_NOBITS)
      continue;
    own += strncmp(own, ".z", 2) == 0 ? 2 : own[0] == '.'; // ".zdebug_line": packed the old way
    Elf_Data *data = strcmp(own, name) == 0 ? elf_getdata(scn, NULL) : NULL;
    if (data && data->d_buf)
      return (struct tide_section){data->d_buf, data->d_size};
  }
  return (struct tide_section){0};
}

// ---- the kernel's own file ----
//
// The kernel maps a small ELF file into every process. It has no path, but this process has a copy
// too: the same one, if the kernel is still the one of the recording.

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
