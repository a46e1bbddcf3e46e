// SPDX-License-Identifier: Apache-2.0
//
// Loaded objects, and the one piece of code that belongs to none of them.

#include "unwind/host.h"

#include "rt/maps.h"
#include "rt/sys.h"

#include <elf.h>
#include <string.h>

static uint64_t vdso_start, vdso_bytes;

// Its size is in its own program headers: a stack may hold any number, also one just behind.
void tide_object_set_vdso(uint64_t start)
{
  vdso_start = start;
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;
  const Elf64_Phdr *p = start ? (const Elf64_Phdr *)(start + elf->e_phoff) : NULL;
  for (unsigned i = 0; start && i < elf->e_phnum; i++)
    if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_filesz > vdso_bytes)
      vdso_bytes = p[i].p_offset + p[i].p_filesz;
}

bool tide_object_is_vdso(const struct tide_object *object)
{
  return vdso_start && vdso_start == object->start;
}

static void add_span(struct tide_object *object, uint64_t start, uint64_t end)
{
  start = start > object->start ? start : object->start;
  end = end < object->end ? end : object->end;
  if (start < end && object->n_readable < TIDE_OBJECT_SPANS)
    object->readable[object->n_readable++] = (struct tide_span){start, end};
}

// The program headers, if they are where linkers put them: in the first page. The program may have
// overwritten that page, or made it unreadable.
static const Elf64_Phdr *program_headers(const struct tide_object *object, uint32_t *ret_n)
{
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)object->start;
  if (!tide_sys_readable(object->start) || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
      elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > 4096 || elf->e_phoff % 8 ||
      elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > 4096)
    return NULL;
  *ret_n = elf->e_phnum;
  return (const Elf64_Phdr *)(object->start + elf->e_phoff);
}

static bool is_mapped_as(const struct tide_object *object, uint64_t start, uint64_t end)
{
  return (start & -tide_sys_page_bytes) == object->start &&
         tide_sys_whole_pages(end) == tide_sys_whole_pages(object->end);
}

// False: the headers are not those that the loader mapped the object by. Of a program with gaps
// between its segments, as on aarch64, the loader names one segment.
static bool measure_by_headers(struct tide_object *object)
{
  uint32_t n = 0;
  const Elf64_Phdr *p = program_headers(object, &n);
  uint64_t start = ~0ull, end = 0;
  bool agree = false;
  for (uint32_t i = 0; p && i < n; i++) {
    uint64_t from = object->bias + p[i].p_vaddr;
    if (p[i].p_type != PT_LOAD)
      continue;
    start = from < start ? from : start;
    end = from + p[i].p_memsz > end ? from + p[i].p_memsz : end;
    agree |= is_mapped_as(object, from, from + p[i].p_memsz);
    if (p[i].p_flags & PF_R)
      add_span(object, from, from + p[i].p_filesz);
  }
  agree |= is_mapped_as(object, start, end);
  if (!agree)
    object->n_readable = 0;
  return agree;
}

static void measure_by_maps(struct tide_object *object)
{
  struct tide_maps maps;
  uint64_t lo, hi;
  if (tide_sys_sandboxed() || !tide_maps_open(&maps))
    return;
  while (tide_maps_next_readable(&maps, &lo, &hi))
    add_span(object, lo, hi);
  tide_maps_close(&maps);
}

void tide_object_measure(struct tide_object *object)
{
  object->n_readable = 0;
  if (!measure_by_headers(object))
    measure_by_maps(object);
  uint64_t hdr = (uint64_t)object->eh_hdr;
  if (object->eh_hdr_bytes && object->n_readable < TIDE_OBJECT_SPANS)
    object->readable[object->n_readable++] = (struct tide_span){hdr, hdr + object->eh_hdr_bytes};
}

// Where there is no vDSO (an emulator), the stub sits on a page we know nothing of.
bool tide_object_is_sigreturn(uint64_t pc)
{
  static const uint8_t code[] = TIDE_SIGRETURN_CODE;
  if (vdso_start ? pc - vdso_start >= vdso_bytes || vdso_start + vdso_bytes - pc < sizeof code
                 : !tide_sys_readable(pc) || !tide_sys_readable(pc + sizeof code - 8))
    return false;
  return !memcmp((const void *)pc, code, sizeof code);
}
