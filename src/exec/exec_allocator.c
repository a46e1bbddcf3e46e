// SPDX-License-Identifier: Apache-2.0
//
// The symbol table, copied and gone through: the file may change meanwhile, and nothing of it is
// believed.
#include "exec/exec_target.h"

#include "rt/sys.h"
#include "rt/text.h"
#include "store/program_signs.h"
#include "store/rust_names.h"

#include <elf.h>
#include <sys/mman.h>

enum { MAX_SECTIONS = 64, MAX_BYTES = 8 << 20, SMALL_BYTES = 4096 };

struct verdict {
  bool has_sign, is_left_alone;
  bool has_rust, has_rust_library; // see judge_rust()
};

// Of these a Rust program with an allocator of its own has the first alone, or the second: its
// __rust_alloc is a local symbol, and the standard library's is not.
static void judge_rust(const char *name, struct verdict *verdict)
{
  char plain[TIDE_RUST_NAME_BYTES];
  if (name[0] != '_' || (name[1] != 'R' && name[1] != '_'))
    return;
  name = tide_rust_plain_name(name, plain);
  verdict->has_rust |= tide_text_starts(name, "__rust_no_alloc_shim_is_unstable");
  verdict->has_sign |= tide_text_equal(name, "__rg_alloc");
  verdict->has_rust_library |= tide_text_equal(name, "__rust_alloc");
}

// One sign is enough.
static void judge_name(const char *name, struct verdict *verdict)
{
#define SIGN(symbol, of) verdict->has_sign |= tide_allocator_sign_is(name, symbol);
#define RUNTIME(symbol, of) verdict->is_left_alone |= tide_allocator_sign_is(name, symbol);
  TIDE_ALLOCATOR_SIGNS(SIGN)
  TIDE_SANITIZER_SIGNS(RUNTIME)
#undef SIGN
#undef RUNTIME
  verdict->has_sign |= tide_allocator_sign_is(name, TIDE_SIGN_OF_ANY);
  judge_rust(name, verdict);
}

// What it would call without is there or not: a weak one tells nothing.
static void judge_call(const char *name, struct verdict *verdict)
{
#define CALL(symbol, of) verdict->has_sign |= tide_allocator_sign_is(name, symbol);
  TIDE_ALLOCATOR_CALLS(CALL)
#undef CALL
  verdict->is_left_alone |= tide_allocator_sign_is(name, TIDE_SIGN_OF_US_AROUND);
}

static void look_for_signs(const Elf64_Sym *symbols, uint64_t n, const char *names,
                           uint64_t n_names, struct verdict *verdict)
{
  for (uint64_t i = 0; i < n; i++) {
    const Elf64_Sym *s = &symbols[i];
    if (ELF64_ST_BIND(s->st_info) == STB_LOCAL || s->st_name >= n_names)
      continue;
    if (s->st_shndx != SHN_UNDEF)
      judge_name(names + s->st_name, verdict);
    else if (ELF64_ST_BIND(s->st_info) == STB_GLOBAL)
      judge_call(names + s->st_name, verdict);
  }
}

static bool is_sane(const Elf64_Shdr *table, const Elf64_Shdr *names)
{
  uint64_t far = UINT64_C(1) << 40;
  return table->sh_offset % 8 == 0 && table->sh_offset < far && names->sh_offset < far &&
         table->sh_size < MAX_BYTES && names->sh_size < MAX_BYTES && names->sh_size &&
         table->sh_info < table->sh_size / sizeof(Elf64_Sym);
}

// The table and its names lie close together: one call gets both. What follows is zero.
static void judge_table(long fd, const Elf64_Shdr *table, const Elf64_Shdr *names,
                        struct verdict *verdict)
{
  if (!is_sane(table, names))
    return;
  uint64_t skipped = table->sh_info * sizeof(Elf64_Sym), lo = table->sh_offset + skipped;
  uint64_t table_lo = lo, hi = table->sh_offset + table->sh_size;
  lo = names->sh_offset < lo ? names->sh_offset & ~UINT64_C(7) : lo;
  hi = names->sh_offset + names->sh_size > hi ? names->sh_offset + names->sh_size : hi;
  if (hi - lo > MAX_BYTES)
    return;
  // That of a stripped program is a few hundred bytes: a mapping would cost more than all the rest.
  _Alignas(Elf64_Sym) char small[SMALL_BYTES];
  bool is_small = hi - lo < sizeof small;
  long p = is_small ? (long)small
                    : TIDE_SYS(SYS_mmap, 0, hi - lo + 1, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!is_small && tide_sys_failed(p))
    return;
  char *bytes = (char *)p;
  if (TIDE_SYS(SYS_pread64, fd, bytes, hi - lo, lo) == (long)(hi - lo)) {
    bytes[hi - lo] = 0;
    look_for_signs((const Elf64_Sym *)(bytes + (table_lo - lo)),
                   (table->sh_size - skipped) / sizeof(Elf64_Sym), bytes + (names->sh_offset - lo),
                   names->sh_size, verdict);
  }
  if (!is_small)
    TIDE_SYS(SYS_munmap, p, hi - lo + 1);
}

// The full table has all that the dynamic one has.
bool tide_exec_allocator_inside(long fd, const Elf64_Ehdr *elf)
{
  Elf64_Shdr sections[MAX_SECTIONS] = {0};
  struct verdict verdict = {0};
  const Elf64_Shdr *best = NULL;
  long n = (long)(elf->e_shnum * sizeof *sections);
  if (elf->e_shentsize != sizeof *sections || elf->e_shnum > MAX_SECTIONS ||
      TIDE_SYS(SYS_pread64, fd, sections, n, elf->e_shoff) != n)
    return false;
  for (unsigned i = 0; i < elf->e_shnum; i++)
    if (sections[i].sh_link < elf->e_shnum &&
        (sections[i].sh_type == SHT_SYMTAB || (sections[i].sh_type == SHT_DYNSYM && !best)))
      best = &sections[i];
  if (best)
    judge_table(fd, best, &sections[best->sh_link], &verdict);
  bool has_own_rust = verdict.has_rust && !verdict.has_rust_library;
  return (verdict.has_sign || has_own_rust) && !verdict.is_left_alone;
}
