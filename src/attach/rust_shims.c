// SPDX-License-Identifier: Apache-2.0
//
// Every address of each function, looked up: they are short.
#include "attach/rust_shims.h"

#include "base/alloc.h"
#include "symbol/dwarf.h"

enum { MAX_BYTES = 4096 };

// Is this function there as it was written, by the word of the debug info?
static bool is_as_written(struct tide_dwarf *dwarf, const struct tide_hookable *shim)
{
  struct tide_symbol_frame frames[TIDE_INLINE_DEPTH_MAX + 1];
  bool ignored;
  for (uint64_t i = 0; i < shim->bytes; i++)
    if (tide_dwarf_lookup(dwarf, shim->at + i, frames, &ignored) != 1 || !frames[0].function)
      return false;
  return shim->bytes && shim->bytes <= MAX_BYTES;
}

static bool are_as_written(const struct tide_loaded *loaded, const struct tide_hookables *entries)
{
  struct tide_elf *with_lines = loaded->debug ? loaded->debug : loaded->elf;
  struct tide_names names = {0};
  struct tide_dwarf *dwarf =
      tide_dwarf_new(with_lines, loaded->elf->code_lo, loaded->elf->code_hi, &names);
  bool is_any = false, is_all = dwarf;
  for (size_t i = 0; is_all && i < entries->n; i++)
    if (entries->all[i].family == TIDE_FAMILY_RUST) {
      is_any = true;
      is_all = is_as_written(dwarf, &entries->all[i]);
    }
  tide_dwarf_free(dwarf);
  tide_names_done(&names);
  return is_any && is_all;
}

bool tide_rust_shims_are_called(const char *path, const char *debug_dirs)
{
  struct tide_loaded_list list = {.n = 1, .all = tide_alloc(sizeof *list.all)};
  struct tide_hookables entries;
  struct tide_diag ignored;
  bool are_called = false;
  if (tide_loaded_open_file(path, debug_dirs, &list.all[0], &ignored)) {
    list.n = 0;
  } else {
    tide_hookables_find(&list, &entries);
    are_called = are_as_written(&list.all[0], &entries);
    tide_hookables_done(&entries);
  }
  tide_loaded_list_done(&list);
  return are_called;
}
