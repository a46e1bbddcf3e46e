// SPDX-License-Identifier: Apache-2.0
//
// A look-up goes unit -> function -> inlined calls, each by address. libdw's own short cuts do not
// serve: dwarf_addrdie() needs .debug_aranges, which clang and rustc do not write, and
// dwarf_getscopes() does not look into namespaces, where rustc puts functions. dies.c has the shape
// of a unit, libdw the attributes of its entries.
//
// 1. Units, functions and inlined calls go by all their ranges: hot and cold parts are one
// function.
// 2. The spans of a function's inlined calls are kept in the order of the entries. Going through
//    them once and stepping in whenever one is called from where we stand and holds the address
//    gives the chain.
// 3. Whatever libdw cannot read is left out of the answer.
#include "symbol/dwarf.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/debugfile.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#define ORIGINS_MAX 16 // links from an inlined call to where it is named; 3 in practice
#define SCOPES_MAX 64  // around a name; entries from outside may refer to each other in a circle

struct span {
  uint64_t lo, hi;
  uint32_t die;
};

struct function {
  uint32_t die;       // index in the unit's dies
  bool indexed;       // the spans are there; built by the first address that falls into it
  struct span *spans; // owned; of the inlined calls
  size_t n_spans, spans_cap;
};

struct unit {
  Dwarf_Die die;            // as it stands in the file
  struct tide_lines *lines; // NULL until asked for
  bool indexed;             // the rest is built by the first address that falls into the unit
  Dwarf *dwarf;             // where the functions are: another file with split DWARF. Not owned
  uint64_t offset;          // of the unit there
  struct tide_dies dies;
  struct function *functions;
  size_t n_functions, functions_cap;
  struct tide_ranges ranges; // value: index in functions
};

// Units that others refer to: with link-time optimisation, or once dwz has gathered what units have
// in common, an inlined function is declared in a unit that has no code.
struct foreign {
  Dwarf *dwarf; // not owned
  uint64_t offset;
  struct tide_dies dies;
};

struct tide_dwarf {
  Dwarf *dwarf;
  struct tide_altfile alt;
  const char *missing_split; // in the file; a .dwo file that is not there; NULL: none so far
  struct tide_names *names;  // not owned
  uint64_t code_lo, code_hi;
  struct tide_section info, abbrev;
  struct tide_line_source line_source;
  bool indexed;
  struct unit *units;
  size_t n_units, units_cap;
  struct tide_ranges ranges; // value: index in units
  struct foreign *foreign;   // by offset, then file
  size_t n_foreign, foreign_cap;
};

struct tide_dwarf *tide_dwarf_new(struct tide_elf *elf, uint64_t code_lo, uint64_t code_hi,
                                  struct tide_names *names)
{
  Elf *file = tide_elf_for_dwarf(elf);
  Dwarf *dwarf = file ? dwarf_begin_elf(file, DWARF_C_READ, NULL) : NULL;
  if (!dwarf)
    return NULL;
  struct tide_dwarf *d = tide_alloc(sizeof *d);
  *d = (struct tide_dwarf){
      .dwarf = dwarf,
      .names = names,
      .code_lo = code_lo,
      .code_hi = code_hi,
      .info = tide_elf_section(file, "debug_info"),
      .abbrev = tide_elf_section(file, "debug_abbrev"),
      .line_source = {.line = tide_elf_section(file, "debug_line"),
                      .str = tide_elf_section(file, "debug_str"),
                      .line_str = tide_elf_section(file, "debug_line_str"),
                      .code_lo = code_lo,
                      .code_hi = code_hi},
  };
  return d;
}

static void unit_done(struct unit *unit)
{
  for (size_t i = 0; i < unit->n_functions; i++)
    free(unit->functions[i].spans);
  free(unit->functions);
  tide_ranges_done(&unit->ranges);
  tide_dies_done(&unit->dies);
  tide_lines_free(unit->lines);
}

void tide_dwarf_free(struct tide_dwarf *dwarf)
{
  if (!dwarf)
    return;
  for (size_t i = 0; i < dwarf->n_units; i++)
    unit_done(&dwarf->units[i]);
  free(dwarf->units);
  for (size_t i = 0; i < dwarf->n_foreign; i++)
    tide_dies_done(&dwarf->foreign[i].dies);
  free(dwarf->foreign);
  tide_ranges_done(&dwarf->ranges);
  dwarf_end(dwarf->dwarf);
  tide_altfile_done(&dwarf->alt);
  free(dwarf);
}

void tide_dwarf_join_alt(struct tide_dwarf *dwarf, const char *path, const char *dirs,
                         struct tide_debuginfod *servers)
{
  tide_altfile_join(&dwarf->alt, dwarf->dwarf, path, dirs, servers);
}

const char *tide_dwarf_missing(const struct tide_dwarf *dwarf)
{
  return dwarf->alt.missing ? dwarf->alt.missing : dwarf->missing_split;
}

static bool is_code(const struct tide_dwarf *dwarf, Dwarf_Addr lo, Dwarf_Addr hi)
{
  return lo < hi && lo >= dwarf->code_lo && hi <= dwarf->code_hi;
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

static const char *split_name(Dwarf_Die *die)
{
  Dwarf_Attribute attribute;
  const char *name = NULL;
  if (dwarf_attr(die, DW_AT_dwo_name, &attribute) ||
      dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute))
    name = dwarf_formstring(&attribute);
  return name ? name : "a .dwo file";
}

static void read_dies(struct tide_dwarf *dwarf, struct unit *unit)
{
  struct tide_section info = dwarf->info, abbrev = dwarf->abbrev;
  Dwarf_Die body = unit->die, split;
  uint8_t type;
  unit->dwarf = dwarf->dwarf;
  // Split DWARF: the functions are in a .dwo file, if that is still there.
  bool is_split = dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
                  type == DW_UT_skeleton;
  if (is_split && !split.addr)
    dwarf->missing_split = split_name(&unit->die);
  if (is_split && split.addr) {
    body = split;
    unit->dwarf = dwarf_cu_getdwarf(split.cu);
    info = tide_elf_section(dwarf_getelf(unit->dwarf), "debug_info.dwo");
    abbrev = tide_elf_section(dwarf_getelf(unit->dwarf), "debug_abbrev.dwo");
  }
  unit->offset = dwarf_dieoffset(&body) - dwarf_cuoffset(&body);
  tide_dies_read(&unit->dies, &info, &abbrev, unit->offset);
}

// Where the foreign unit is in the list, or belongs.
static size_t foreign_place(const struct tide_dwarf *dwarf, Dwarf *file, uint64_t offset)
{
  size_t low = 0, high = dwarf->n_foreign;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct foreign *at = &dwarf->foreign[middle];
    if (at->offset < offset || (at->offset == offset && at->dwarf < file))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The shape of the unit an entry is in: the asking unit's own, or one it refers to. Good until the
// next call.
static const struct tide_dies *dies_around(struct tide_dwarf *dwarf, const struct unit *unit,
                                           Dwarf_Die *entry)
{
  Dwarf *file = dwarf_cu_getdwarf(entry->cu);
  uint64_t offset = dwarf_dieoffset(entry) - dwarf_cuoffset(entry);
  if (file == unit->dwarf && offset == unit->offset)
    return &unit->dies;
  size_t place = foreign_place(dwarf, file, offset);
  if (place < dwarf->n_foreign && dwarf->foreign[place].dwarf == file &&
      dwarf->foreign[place].offset == offset)
    return &dwarf->foreign[place].dies;
  TIDE_GROW(dwarf->foreign, dwarf->n_foreign, dwarf->foreign_cap);
  struct foreign *at = dwarf->foreign + place;
  memmove(at + 1, at, (dwarf->n_foreign++ - place) * sizeof *at);
  *at = (struct foreign){.dwarf = file, .offset = offset};
  struct tide_section info = tide_elf_section(dwarf_getelf(file), "debug_info");
  struct tide_section abbrev = tide_elf_section(dwarf_getelf(file), "debug_abbrev");
  tide_dies_read(&at->dies, &info, &abbrev, offset);
  return &at->dies;
}

static void index_functions(struct tide_dwarf *dwarf, struct unit *unit)
{
  read_dies(dwarf, unit);
  for (uint32_t i = 0; i < unit->dies.n; i++) {
    const struct tide_die *at = &unit->dies.items[i];
    Dwarf_Die die;
    if (at->tag != DW_TAG_subprogram || !at->has_code ||
        !dwarf_offdie(unit->dwarf, at->offset, &die))
      continue;
    size_t n_before = unit->ranges.n;
    add_ranges(dwarf, &unit->ranges, &die, (uint32_t)unit->n_functions);
    if (unit->ranges.n == n_before)
      continue; // thrown away by the linker
    TIDE_GROW(unit->functions, unit->n_functions, unit->functions_cap);
    unit->functions[unit->n_functions++] = (struct function){.die = i};
  }
  tide_ranges_sort(&unit->ranges);
  unit->indexed = true;
}

static struct function *find_function(struct tide_dwarf *dwarf, struct unit *unit, uint64_t addr)
{
  if (!unit->indexed)
    index_functions(dwarf, unit);
  const struct tide_address_range *found = tide_ranges_find(&unit->ranges, addr);
  return found ? &unit->functions[found->value] : NULL;
}

static void index_inlined(const struct tide_dwarf *dwarf, const struct unit *unit,
                          struct function *function)
{
  uint32_t end = unit->dies.items[function->die].end;
  for (uint32_t i = function->die + 1; i < end; i++) {
    const struct tide_die *at = &unit->dies.items[i];
    Dwarf_Die die;
    if (at->tag != DW_TAG_inlined_subroutine || !at->has_code ||
        !dwarf_offdie(unit->dwarf, at->offset, &die))
      continue;
    Dwarf_Addr base, lo, hi;
    for (ptrdiff_t pos = 0; (pos = dwarf_ranges(&die, pos, &base, &lo, &hi)) > 0;) {
      if (!is_code(dwarf, lo, hi))
        continue;
      TIDE_GROW(function->spans, function->n_spans, function->spans_cap);
      function->spans[function->n_spans++] = (struct span){lo, hi, i};
    }
  }
  function->indexed = true;
}

// Writes the inlined calls that hold addr, outermost first; see invariant 2.
static size_t find_inlined(const struct tide_dwarf *dwarf, const struct unit *unit,
                           struct function *function, uint64_t addr,
                           uint32_t chain[TIDE_INLINE_DEPTH_MAX])
{
  if (!function->indexed)
    index_inlined(dwarf, unit, function);
  size_t n = 0;
  uint32_t here = function->die;
  for (size_t i = 0; i < function->n_spans && n < TIDE_INLINE_DEPTH_MAX; i++) {
    const struct span *span = &function->spans[i];
    if (addr < span->lo || addr >= span->hi || unit->dies.items[span->die].parent != here)
      continue;
    here = span->die;
    chain[n++] = here;
  }
  return n;
}

static const char *string_of(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

// Where units of Rust's own libraries, and of what those and others depend on, were compiled.
static bool is_of_library(const char *dir)
{
  return strncmp(dir, "/rustc/", 7) == 0 || strncmp(dir, "/rust/deps/", 11) == 0 ||
         strstr(dir, "/registry/src/") != NULL;
}

// Units that have their info elsewhere (split) name no producer.
static bool is_of_crate(Dwarf_Die *unit)
{
  Dwarf_Attribute split;
  const char *producer = string_of(unit, DW_AT_producer), *dir = string_of(unit, DW_AT_comp_dir);
  bool is_split = dwarf_attr(unit, DW_AT_dwo_name, &split) != NULL ||
                  dwarf_attr(unit, DW_AT_GNU_dwo_name, &split) != NULL;
  bool by_rustc = is_split || (producer && strstr(producer, "rustc"));
  return by_rustc && dir && !is_of_library(dir);
}

bool tide_dwarf_is_of_crates(struct tide_elf *elf)
{
  Elf *file = tide_elf_for_dwarf(elf);
  Dwarf *dwarf = file ? dwarf_begin_elf(file, DWARF_C_READ, NULL) : NULL;
  Dwarf_CU *cu = NULL;
  Dwarf_Die unit;
  bool found = false;
  while (dwarf && !found && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
    found = is_of_crate(&unit);
  dwarf_end(dwarf);
  return found;
}

// Where an entry is named: it may be the definition of what was declared elsewhere, or an instance
// of what stands there for all.
static Dwarf_Die named_entry(const Dwarf_Die *die)
{
  Dwarf_Die at = *die, origin;
  Dwarf_Attribute attribute;
  for (unsigned i = 0; i < ORIGINS_MAX; i++) {
    if (!(dwarf_attr(&at, DW_AT_abstract_origin, &attribute) ||
          dwarf_attr(&at, DW_AT_specification, &attribute)) ||
        !dwarf_formref_die(&attribute, &origin))
      break;
    at = origin;
  }
  return at;
}

// The names of the scopes around an entry, innermost first; gives their number. A function around
// it counts where it was declared. Unnamed types go by unnamed.
static size_t scopes_around(struct tide_dwarf *dwarf, const struct unit *unit, Dwarf_Die at,
                            const char *unnamed, const char *names[SCOPES_MAX])
{
  size_t n = 0;
  while (n < SCOPES_MAX) {
    const struct tide_dies *dies = dies_around(dwarf, unit, &at);
    uint32_t idx = tide_dies_find(dies, dwarf_dieoffset(&at));
    uint32_t parent = idx == TIDE_DIE_NONE ? idx : dies->items[idx].parent;
    if (parent == TIDE_DIE_NONE)
      break;
    bool is_namespace = dies->items[parent].tag == DW_TAG_namespace;
    Dwarf_Die scope;
    if (!dwarf_offdie(dwarf_cu_getdwarf(at.cu), dies->items[parent].offset, &scope))
      break;
    at = named_entry(&scope);
    const char *name = string_of(&at, DW_AT_name);
    names[n++] = name ? name : is_namespace ? "(anonymous namespace)" : unnamed;
  }
  return n;
}

// C++ functions of internal linkage have no mangled name: local classes and lambdas, and all that
// is in anonymous namespaces. Their name is made from where they are declared.
static const char *name_by_place(struct tide_dwarf *dwarf, const struct unit *unit, Dwarf_Die *die)
{
  Dwarf_Die at = named_entry(die);
  const char *name = string_of(&at, DW_AT_name), *scopes[SCOPES_MAX];
  if (!name)
    return NULL;
  // gcc gives the class of a lambda no name, but what else is unnamed and can be called?
  const char *unnamed = strcmp(name, "operator()") == 0 ? "{lambda}" : "(anonymous)";
  size_t n = scopes_around(dwarf, unit, at, unnamed, scopes);
  if (n == 0)
    return name;
  struct tide_buf text = {0};
  while (n > 0)
    tide_buf_printf(&text, "%s::", scopes[--n]);
  tide_buf_text(&text, name);
  const char *kept = tide_names_keep(dwarf->names, tide_strdup(tide_buf_cstr(&text)));
  tide_buf_done(&text);
  return kept;
}

static const char *name_of(struct tide_dwarf *dwarf, const struct unit *unit, uint32_t idx,
                           bool *ret_is_whole)
{
  Dwarf_Die die;
  Dwarf_Attribute attribute;
  const char *name = NULL;
  *ret_is_whole = false;
  if (!dwarf_offdie(unit->dwarf, unit->dies.items[idx].offset, &die))
    return NULL;
  if (dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute) ||
      dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &attribute))
    name = dwarf_formstring(&attribute);
  *ret_is_whole = name != NULL;
  return name ? tide_names_get(dwarf->names, name) : name_by_place(dwarf, unit, &die);
}

static struct tide_lines *lines_of(const struct tide_dwarf *dwarf, struct unit *unit)
{
  if (!unit->lines) {
    Dwarf_Attribute attribute;
    Dwarf_Word offset = UINT64_MAX; // past any section: an empty table
    if (dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute))
      dwarf_formudata(&attribute, &offset);
    unit->lines =
        tide_lines_new(&dwarf->line_source, offset, string_of(&unit->die, DW_AT_comp_dir));
  }
  return unit->lines;
}

// Where an inlined call stands in its caller.
static void set_call_site(const struct tide_dwarf *dwarf, struct unit *unit, uint32_t idx,
                          struct tide_symbol_frame *frame)
{
  Dwarf_Die die;
  Dwarf_Attribute attribute;
  Dwarf_Word line, file;
  if (!dwarf_offdie(unit->dwarf, unit->dies.items[idx].offset, &die))
    return;
  if (dwarf_attr(&die, DW_AT_call_line, &attribute) && dwarf_formudata(&attribute, &line) == 0)
    frame->line = (uint32_t)line;
  if (dwarf_attr(&die, DW_AT_call_file, &attribute) && dwarf_formudata(&attribute, &file) == 0)
    frame->file = tide_lines_file(lines_of(dwarf, unit), file);
}

size_t tide_dwarf_lookup(struct tide_dwarf *dwarf, uint64_t addr, struct tide_symbol_frame *out,
                         bool *ret_has_whole_name)
{
  *ret_has_whole_name = false;
  if (!dwarf->indexed)
    index_units(dwarf);
  const struct tide_address_range *found = tide_ranges_find(&dwarf->ranges, addr);
  if (!found)
    return 0;
  struct unit *unit = &dwarf->units[found->value];
  out[0] = (struct tide_symbol_frame){0};
  tide_lines_find(lines_of(dwarf, unit), addr, &out[0].file, &out[0].line);
  struct function *function = find_function(dwarf, unit, addr);
  if (!function)
    return 1;
  uint32_t chain[TIDE_INLINE_DEPTH_MAX];
  size_t n = find_inlined(dwarf, unit, function, addr, chain);
  for (size_t i = 0; i < n; i++) {
    uint32_t inlined = chain[n - 1 - i];
    out[i].function = name_of(dwarf, unit, inlined, ret_has_whole_name);
    out[i].inlined = true;
    out[i + 1] = (struct tide_symbol_frame){0};
    set_call_site(dwarf, unit, inlined, &out[i + 1]);
  }
  out[n].function = name_of(dwarf, unit, function->die, ret_has_whole_name);
  return n + 1;
}
