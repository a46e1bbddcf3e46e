// SPDX-License-Identifier: Apache-2.0
//
// Leads the calls of a recorded program past the recorder, and back: preloaded after
// libtidemark.so, at each SIGUSR2. So a process can be compared with itself, the same code and data
// at the same addresses.
//
//  1. Every slot that a relocation has filled with an address inside libtidemark.so is given what
//     the next object has by that name, and gets its own address back later. Objects that came
//     since are looked at each time.
//  2. Slots of names that nobody else has stay as they are, and so do libtidemark.so's own.
//  3. The program is to be started with LD_BIND_NOW: a slot that is bound later is not seen.
//  4. Where no slot is found nothing would be compared: the program is ended.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_SLOTS = 1 << 14, PAGE = 4096 };

#ifdef __x86_64__
enum { IS_SLOT = R_X86_64_JUMP_SLOT, IS_DATA = R_X86_64_GLOB_DAT, IS_WORD = R_X86_64_64 };
#else
enum { IS_SLOT = R_AARCH64_JUMP_SLOT, IS_DATA = R_AARCH64_GLOB_DAT, IS_WORD = R_AARCH64_ABS64 };
#endif

struct slot {
  uintptr_t *at;
  uintptr_t ours, past;
};

static struct slot slots[MAX_SLOTS];
static size_t n_slots;
static uintptr_t ours_from, ours_to; // libtidemark.so

static void put(uintptr_t *at, uintptr_t value)
{
  uintptr_t page = (uintptr_t)at & -(uintptr_t)PAGE;
  if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE) == 0)
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static void turn_slot(uintptr_t *at, const char *name)
{
  void *past = *at >= ours_from && *at < ours_to ? dlsym(RTLD_NEXT, name) : NULL;
  if (!past || n_slots == MAX_SLOTS)
    return;
  slots[n_slots++] = (struct slot){at, *at, (uintptr_t)past};
  put(at, (uintptr_t)past);
}

static void turn_table(const struct dl_phdr_info *object, const ElfW(Rela) * table, size_t n_bytes,
                       const ElfW(Sym) * symbols, const char *names)
{
  for (size_t i = 0; i < n_bytes / sizeof *table; i++) {
    const size_t kind = ELF64_R_TYPE(table[i].r_info);
    if (kind == IS_SLOT || kind == IS_DATA || (kind == IS_WORD && table[i].r_addend == 0))
      turn_slot((uintptr_t *)(object->dlpi_addr + table[i].r_offset),
                names + symbols[ELF64_R_SYM(table[i].r_info)].st_name);
  }
}

static int turn_object(struct dl_phdr_info *object, size_t size, void *context)
{
  (void)size, (void)context;
  const ElfW(Dyn) *dynamic = NULL;
  for (size_t i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  uintptr_t is_at = (uintptr_t)dynamic;
  if (!dynamic || strstr(object->dlpi_name, "vdso") || (is_at >= ours_from && is_at < ours_to))
    return 0;
  const ElfW(Rela) *late = NULL, *early = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  size_t n_late = 0, n_early = 0;
  for (; dynamic->d_tag != DT_NULL; dynamic++) {
    const void *there = (const void *)dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
    case DT_JMPREL: late = there; break;
    case DT_PLTRELSZ: n_late = dynamic->d_un.d_val; break;
    case DT_RELA: early = there; break;
    case DT_RELASZ: n_early = dynamic->d_un.d_val; break;
    case DT_SYMTAB: symbols = there; break;
    case DT_STRTAB: names = there; break;
    }
  }
  if (late && symbols && names)
    turn_table(object, late, n_late, symbols, names);
  if (early && symbols && names)
    turn_table(object, early, n_early, symbols, names);
  return 0;
}

static void turn(int signal)
{
  (void)signal;
  static bool is_past;
  is_past = !is_past;
  for (size_t i = 0; i < n_slots; i++)
    put(slots[i].at, is_past ? slots[i].past : slots[i].ours);
  if (is_past)
    dl_iterate_phdr(turn_object, NULL);
  if (!n_slots)
    abort();
}

static int find_ours(struct dl_phdr_info *object, size_t size, void *context)
{
  (void)size, (void)context;
  if (!strstr(object->dlpi_name, "libtidemark"))
    return 0;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD)
      continue;
    uintptr_t from = object->dlpi_addr + part->p_vaddr;
    if (!ours_from || from < ours_from)
      ours_from = from;
    if (from + part->p_memsz > ours_to)
      ours_to = from + part->p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void begin(void)
{
  dl_iterate_phdr(find_ours, NULL);
  if (ours_from)
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = turn, .sa_flags = SA_RESTART}, NULL);
}
