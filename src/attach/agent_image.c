// SPDX-License-Identifier: Apache-2.0
//
// Our own file, but one that somebody may have replaced or cut: its offsets are checked like any
// other's.
#include "attach/agent_image.h"

#include "base/alloc.h"
#include "rt/arch.h"
#include "store/layout.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES UINT64_C(4096)
#define MAX_BYTES (UINT64_C(64) << 20)
#define RELATIVE                                                                                   \
  (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? (uint32_t)R_X86_64_RELATIVE : (uint32_t)R_AARCH64_RELATIVE)

static uint64_t page_up(uint64_t n)
{
  return (n + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static enum tide_err unfit(const struct tide_agent_image *image, const char *why,
                           struct tide_diag *diag)
{
  return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not an agent of this tidemark: %s",
                   image->elf->path, why);
}

// Code first, then what is written: that is how our linker script of flags lays it out.
static enum tide_err measure_segments(struct tide_agent_image *image, size_t n_segments,
                                      struct tide_diag *diag)
{
  for (size_t i = 0; i < n_segments; i++) {
    GElf_Phdr s;
    if (!gelf_getphdr(image->elf->elf, (int)i, &s))
      return unfit(image, "its program headers are damaged", diag);
    if (s.p_type == PT_TLS || s.p_type == PT_INTERP)
      return unfit(image, "it needs a loader", diag);
    if (s.p_type != PT_LOAD)
      continue;
    if (s.p_vaddr > MAX_BYTES || s.p_memsz > MAX_BYTES || s.p_filesz > s.p_memsz)
      return unfit(image, "a segment is too large", diag);
    uint64_t end = page_up(s.p_vaddr + s.p_memsz);
    if (!(s.p_flags & PF_W))
      image->code_bytes = end > image->code_bytes ? end : image->code_bytes;
    else if (s.p_vaddr < image->code_bytes)
      return unfit(image, "its code and data overlap", diag);
    image->n_bytes = end > image->n_bytes ? end : image->n_bytes;
  }
  return image->code_bytes ? TIDE_ERR_OK : unfit(image, "it has no code", diag);
}

static enum tide_err copy_segments(struct tide_agent_image *image, size_t n_segments,
                                   struct tide_diag *diag)
{
  size_t n_file = 0;
  const char *file = elf_rawfile(image->elf->elf, &n_file);
  for (size_t i = 0; file && i < n_segments; i++) {
    GElf_Phdr s;
    gelf_getphdr(image->elf->elf, (int)i, &s);
    if (s.p_type != PT_LOAD)
      continue;
    if (s.p_offset > n_file || s.p_filesz > n_file - s.p_offset)
      return unfit(image, "it is cut", diag);
    memcpy(image->bytes + s.p_vaddr, file + s.p_offset, s.p_filesz);
  }
  return file ? TIDE_ERR_OK : unfit(image, "it cannot be read", diag);
}

enum tide_err tide_agent_image_read(const char *path, struct tide_agent_image *ret_image,
                                    struct tide_diag *diag)
{
  struct tide_agent_image image = {0};
  size_t n_segments = 0;
  enum tide_err err = tide_elf_open(path, &image.elf, diag);
  if (err)
    return err;
  elf_getphdrnum(image.elf->elf, &n_segments);
  err = measure_segments(&image, n_segments, diag);
  if (!err) {
    image.bytes = tide_alloc(image.n_bytes);
    err = copy_segments(&image, n_segments, diag);
  }
  if (err)
    tide_agent_image_done(&image);
  else
    *ret_image = image;
  return err;
}

void tide_agent_image_done(struct tide_agent_image *image)
{
  tide_elf_free(image->elf);
  free(image->bytes);
  *image = (struct tide_agent_image){0};
}

static enum tide_err relocate(struct tide_agent_image *image, const GElf_Rela *rela,
                              struct tide_diag *diag)
{
  uint64_t value = image->base + (uint64_t)rela->r_addend;
  if (GELF_R_TYPE(rela->r_info) != RELATIVE)
    return unfit(image, "it needs symbols of others", diag);
  if (rela->r_offset > image->n_bytes || image->n_bytes - rela->r_offset < sizeof value)
    return unfit(image, "a relocation lies outside of it", diag);
  memcpy(image->bytes + rela->r_offset, &value, sizeof value);
  return TIDE_ERR_OK;
}

enum tide_err tide_agent_image_place(struct tide_agent_image *image, uint64_t base,
                                     struct tide_diag *diag)
{
  enum tide_err err = TIDE_ERR_OK;
  image->base = base;
  for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(image->elf->elf, scn));) {
    GElf_Shdr header;
    Elf_Data *data =
        gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA && header.sh_flags & SHF_ALLOC
            ? elf_getdata(scn, NULL)
            : NULL;
    size_t n = data && header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
    for (size_t i = 0; !err && i < n; i++) {
      GElf_Rela rela;
      err = gelf_getrela(data, (int)i, &rela) ? relocate(image, &rela, diag)
                                              : unfit(image, "a relocation is damaged", diag);
    }
  }
  return err;
}

uint64_t tide_agent_image_find(const struct tide_agent_image *image, const char *name)
{
  Elf *elf = image->elf->elf;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr header;
    if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_DYNSYM)
      continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    GElf_Sym symbol;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
      const char *its = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (its && !strcmp(its, name) && symbol.st_value < image->n_bytes)
        return image->base + symbol.st_value;
    }
  }
  return 0;
}
