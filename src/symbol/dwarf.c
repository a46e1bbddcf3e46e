// SPDX-License-Identifier: Apache-2.0
//
// A look-up goes unit -> function -> inlined calls, each by address. libdw's own short cuts do not
// serve: dwarf_addrdie() needs .debug_aranges, which clang and rustc do not write, and
// dwarf_getscopes() does not look into namespaces, where rustc puts functions.
//
// 1. Units, functions and inlined calls go by all their ranges: hot and cold parts are one
// function.
// 2. A walk only goes forward in the file, so that damaged sibling links cannot trap it, and no
//    deeper than DEPTH_MAX.
// 3. Inlined calls are kept in pre-order. Going through them once and stepping in whenever one is
//    called from where we stand and holds the address gives the chain.
#include "symbol/dwarf.h"

#include "base/alloc.h"
#include "symbol/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 512
#define NOWHERE UINT32_MAX

struct inlined {
  Dwarf_Die die;
  uint32_t caller; // index of the inlined call it sits in, or NOWHERE: in the function itself
};

struct function {
  Dwarf_Die die;
  bool indexed;            // the rest is built by the first address that falls into the function
  struct inlined *inlined; // owned, in pre-order
  size_t n_inlined, inlined_cap;
  struct tide_range *spans; // owned, by rising index of their inlined call, never sorted
  size_t n_spans, spans_cap;
};

struct unit {
  Dwarf_Die die;            // as it stands in the file; the functions of split DWARF are elsewhere
  struct tide_lines *lines; // NULL until asked for
  bool indexed;
  bool in_depth; // functions within functions have been looked for too
  struct function *functions;
  size_t n_functions, functions_cap;
  struct tide_ranges ranges; // value: index in functions
};

struct tide_dwarf {
  Dwarf *dwarf;
  struct tide_names *names; // not owned
  uint64_t code_lo, code_hi;
  struct tide_line_source line_source;
  bool indexed;
  struct unit *units;
  size_t n_units, units_cap;
  struct tide_ranges ranges; // value: index in units
};

// Call after dwarf_begin_elf(), which unpacks compressed sections in place.
static void find_line_sections(struct tide_elf *elf, struct tide_line_source *ret_source)
{
  size_t names;
  if (elf_getshdrstrndx(elf->elf, &names) != 0)
    return;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf->elf, scn));) {
    GElf_Shdr header;
    const char *name =
        gelf_getshdr(scn, &header) ? elf_strptr(elf->elf, names, header.sh_name) : NULL;
    if (!name || header.sh_type == SHT_NOBITS)
      continue;
    name += strncmp(name, ".z", 2) == 0 ? 2 : 1; // ".zdebug_line": packed the old way
    struct tide_line_bytes *bytes = strcmp(name, "debug_line") == 0       ? &ret_source->line
                                    : strcmp(name, "debug_str") == 0      ? &ret_source->str
                                    : strcmp(name, "debug_line_str") == 0 ? &ret_source->line_str
                                                                          : NULL;
    Elf_Data *data = bytes ? elf_getdata(scn, NULL) : NULL;
    if (data && data->d_buf)
      *bytes = (struct tide_line_bytes){data->d_buf, data->d_size};
  }
}

struct tide_dwarf *tide_dwarf_new(struct tide_elf *elf, uint64_t code_lo, uint64_t code_hi,
                                  struct tide_names *names)
{
  Dwarf *dwarf = dwarf_begin_elf(elf->elf, DWARF_C_READ, NULL);
  if (!dwarf)
    return NULL;
  struct tide_dwarf *d = tide_alloc(sizeof *d);
  *d = (struct tide_dwarf){.dwarf = dwarf, .names = names, .code_lo = code_lo, .code_hi = code_hi};
  d->line_source = (struct tide_line_source){.code_lo = code_lo, .code_hi = code_hi};
  find_line_sections(elf, &d->line_source);
  return d;
}

static void forget_functions(struct unit *unit)
{
  for (size_t i = 0; i < unit->n_functions; i++) {
    free(unit->functions[i].inlined);
    free(unit->functions[i].spans);
  }
  unit->n_functions = 0;
  tide_ranges_done(&unit->ranges);
}

void tide_dwarf_free(struct tide_dwarf *dwarf)
{
  if (!dwarf)
    return;
  for (size_t i = 0; i < dwarf->n_units; i++) {
    forget_functions(&dwarf->units[i]);
    free(dwarf->units[i].functions);
    tide_lines_free(dwarf->units[i].lines);
  }
  free(dwarf->units);
  tide_ranges_done(&dwarf->ranges);
  dwarf_end(dwarf->dwarf);
  free(dwarf);
}

static bool is_code(const struct tide_dwarf *dwarf, Dwarf_Addr lo, Dwarf_Addr hi)
{
  return lo < hi && lo >= dwarf->code_lo && hi <= dwarf->code_hi;
}

// Moves to the next sibling. Only ever forward: see invariant 2.
static bool step(Dwarf_Die *die)
{
  Dwarf_Off before = dwarf_dieoffset(die);
  return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

static bool step_into(Dwarf_Die *die, Dwarf_Die *ret_child)
{
  return dwarf_haschildren(die) == 1 && dwarf_child(die, ret_child) == 0;
}

static void add_ranges(const struct tide_dwarf *dwarf, struct tide_ranges *ranges, Dwarf_Die *die,
                       uint32_t value)
{
  Dwarf_Addr base, lo, hi;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0;)
    if (is_code(dwarf, lo, hi))
      tide_ranges_add(ranges, lo, hi, value);
}

static void index_units(struct tide_dwarf *dwarf)
{
  Dwarf_CU *cu = NULL;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
    size_t n_before = dwarf->ranges.n;
    add_ranges(dwarf, &dwarf->ranges, &die, (uint32_t)dwarf->n_units);
    if (dwarf->ranges.n == n_before)
      continue; // types only, or thrown away by the linker
    TIDE_GROW(dwarf->units, dwarf->n_units, dwarf->units_cap);
    dwarf->units[dwarf->n_units++] = (struct unit){.die = die};
  }
  tide_ranges_sort(&dwarf->ranges);
  dwarf->indexed = true;
}

static void add_function(const struct tide_dwarf *dwarf, struct unit *unit, Dwarf_Die *die)
{
  size_t n_before = unit->ranges.n;
  add_ranges(dwarf, &unit->ranges, die, (uint32_t)unit->n_functions);
  if (unit->ranges.n == n_before)
    return; // a declaration, or the abstract form of inlined functions
  TIDE_GROW(unit->functions, unit->n_functions, unit->functions_cap);
  unit->functions[unit->n_functions++] = (struct function){.die = *die};
}

static void walk_functions(const struct tide_dwarf *dwarf, struct unit *unit, Dwarf_Die *parent,
                           unsigned depth)
{
  Dwarf_Die die;
  if (depth > DEPTH_MAX || !step_into(parent, &die))
    return;
  do {
    switch (dwarf_tag(&die)) {
    case DW_TAG_subprogram:
      add_function(dwarf, unit, &die);
      if (unit->in_depth)
        walk_functions(dwarf, unit, &die, depth + 1);
      break;
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
      if (unit->in_depth)
        walk_functions(dwarf, unit, &die, depth + 1);
      break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: walk_functions(dwarf, unit, &die, depth + 1); break;
    default: break;
    }
  } while (step(&die));
}

static void index_functions(const struct tide_dwarf *dwarf, struct unit *unit)
{
  forget_functions(unit);
  Dwarf_Die body = unit->die, split;
  uint8_t type;
  // Split DWARF: the functions are in a .dwo file, if that is still there.
  if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
      type == DW_UT_skeleton && split.addr)
    body = split;
  walk_functions(dwarf, unit, &body, 0);
  tide_ranges_sort(&unit->ranges);
  unit->indexed = true;
}

static struct function *find_function(const struct tide_dwarf *dwarf, struct unit *unit,
                                      uint64_t addr)
{
  if (!unit->indexed)
    index_functions(dwarf, unit);
  const struct tide_range *found = tide_ranges_find(&unit->ranges, addr);
  if (!found && !unit->in_depth) {
    // Pascal, Fortran and Ada nest functions, GNU C may; the others are spared the long walk.
    unit->in_depth = true;
    index_functions(dwarf, unit);
    found = tide_ranges_find(&unit->ranges, addr);
  }
  return found ? &unit->functions[found->value] : NULL;
}

static uint32_t add_inlined(const struct tide_dwarf *dwarf, struct function *function,
                            Dwarf_Die *die, uint32_t caller)
{
  uint32_t idx = (uint32_t)function->n_inlined;
  TIDE_GROW(function->inlined, function->n_inlined, function->inlined_cap);
  function->inlined[function->n_inlined++] = (struct inlined){*die, caller};
  Dwarf_Addr base, lo, hi;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0;) {
    if (!is_code(dwarf, lo, hi))
      continue;
    TIDE_GROW(function->spans, function->n_spans, function->spans_cap);
    function->spans[function->n_spans++] = (struct tide_range){.lo = lo, .hi = hi, .value = idx};
  }
  return idx;
}

static void walk_inlined(const struct tide_dwarf *dwarf, struct function *function,
                         Dwarf_Die *parent, uint32_t caller, unsigned depth)
{
  Dwarf_Die die;
  if (depth > DEPTH_MAX || !step_into(parent, &die))
    return;
  do {
    switch (dwarf_tag(&die)) {
    case DW_TAG_inlined_subroutine: {
      uint32_t idx = add_inlined(dwarf, function, &die, caller);
      walk_inlined(dwarf, function, &die, idx, depth + 1);
      break;
    }
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block: walk_inlined(dwarf, function, &die, caller, depth + 1); break;
    default: break;
    }
  } while (step(&die));
}

// Writes the inlined calls that hold addr, outermost first; see invariant 3.
static size_t find_inlined(const struct tide_dwarf *dwarf, struct function *function, uint64_t addr,
                           uint32_t chain[TIDE_INLINE_DEPTH_MAX])
{
  if (!function->indexed) {
    walk_inlined(dwarf, function, &function->die, NOWHERE, 0);
    function->indexed = true;
  }
  size_t n = 0;
  uint32_t here = NOWHERE;
  for (size_t i = 0; i < function->n_spans && n < TIDE_INLINE_DEPTH_MAX; i++) {
    const struct tide_range *span = &function->spans[i];
    if (addr < span->lo || addr >= span->hi || function->inlined[span->value].caller != here)
      continue;
    here = span->value;
    chain[n++] = here;
  }
  return n;
}

static const char *name_of(const struct tide_dwarf *dwarf, Dwarf_Die *die, bool *ret_is_whole)
{
  Dwarf_Attribute attribute;
  const char *name = NULL;
  if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
      dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
    name = dwarf_formstring(&attribute);
  *ret_is_whole = name != NULL;
  if (name)
    return tide_names_get(dwarf->names, name);
  return dwarf_attr_integrate(die, DW_AT_name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static struct tide_lines *lines_of(const struct tide_dwarf *dwarf, struct unit *unit)
{
  Dwarf_Attribute attribute;
  if (!unit->lines) {
    Dwarf_Word offset = UINT64_MAX; // past any section: an empty table
    if (dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute))
      dwarf_formudata(&attribute, &offset);
    const char *dir = NULL;
    if (dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute))
      dir = dwarf_formstring(&attribute);
    unit->lines = tide_lines_new(&dwarf->line_source, offset, dir);
  }
  return unit->lines;
}

// Where an inlined call stands in its caller.
static void set_call_site(const struct tide_dwarf *dwarf, struct unit *unit, Dwarf_Die *die,
                          struct tide_symbol_frame *frame)
{
  Dwarf_Attribute attribute;
  Dwarf_Word line, file;
  if (dwarf_attr(die, DW_AT_call_line, &attribute) && dwarf_formudata(&attribute, &line) == 0)
    frame->line = (uint32_t)line;
  if (dwarf_attr(die, DW_AT_call_file, &attribute) && dwarf_formudata(&attribute, &file) == 0)
    frame->file = tide_lines_file(lines_of(dwarf, unit), file);
}

size_t tide_dwarf_lookup(struct tide_dwarf *dwarf, uint64_t addr, struct tide_symbol_frame *out,
                         bool *ret_has_whole_name)
{
  *ret_has_whole_name = false;
  if (!dwarf->indexed)
    index_units(dwarf);
  const struct tide_range *found = tide_ranges_find(&dwarf->ranges, addr);
  if (!found)
    return 0;
  struct unit *unit = &dwarf->units[found->value];
  out[0] = (struct tide_symbol_frame){0};
  tide_lines_find(lines_of(dwarf, unit), addr, &out[0].file, &out[0].line);
  struct function *function = find_function(dwarf, unit, addr);
  if (!function)
    return 1;
  uint32_t chain[TIDE_INLINE_DEPTH_MAX];
  size_t n = find_inlined(dwarf, function, addr, chain);
  for (size_t i = 0; i < n; i++) {
    Dwarf_Die *die = &function->inlined[chain[n - 1 - i]].die;
    out[i].function = name_of(dwarf, die, ret_has_whole_name);
    out[i].inlined = true;
    out[i + 1] = (struct tide_symbol_frame){0};
    set_call_site(dwarf, unit, die, &out[i + 1]);
  }
  out[n].function = name_of(dwarf, &function->die, ret_has_whole_name);
  return n + 1;
}
