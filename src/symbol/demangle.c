// SPDX-License-Identifier: Apache-2.0
//
// Mangled names to readable ones through libiberty. Rust comes first: its legacy scheme is valid
// C++ mangling too and would otherwise keep the "::h0123456789abcdef" hash. DMGL_VERBOSE stays off
// for the same reason. libiberty bounds its recursion, so hostile names are safe; it gives NULL for
// names it does not understand, and those are handed back as they are.
#include "symbol/symbol.h"

#include "base/alloc.h"
#include "symbol/names.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

char *tide_demangle(const char *name)
{
  if (name[0] != '_' && name[0] != '.')
    return tide_strdup(name); // all that follows starts so; skips most C names quickly
  char *text = rust_demangle(name, 0);
  if (!text)
    text = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
  return text ? text : tide_strdup(name);
}

void tide_names_done(struct tide_names *names)
{
  for (size_t i = 0; i < names->cap; i++)
    free(names->slots[i].demangled);
  free(names->slots);
  *names = (struct tide_names){0};
}

static size_t hash(const char *text)
{
  uint64_t h = 0xcbf29ce484222325u; // FNV-1a
  for (; *text; text++)
    h = (h ^ (uint8_t)*text) * 0x100000001b3u;
  return (size_t)(h ^ h >> 32);
}

// The slot of the name, or the free slot where it belongs. The table is never full.
static struct tide_name *slot(struct tide_names *names, const char *mangled)
{
  for (size_t i = hash(mangled);; i++) {
    struct tide_name *s = &names->slots[i & (names->cap - 1)];
    if (!s->demangled || strcmp(s->mangled, mangled) == 0)
      return s;
  }
}

static void grow(struct tide_names *names)
{
  struct tide_names bigger = {.n = names->n, .cap = names->cap ? names->cap * 2 : 256};
  bigger.slots = tide_alloc_array(bigger.cap, sizeof *bigger.slots);
  for (size_t i = 0; i < names->cap; i++)
    if (names->slots[i].demangled)
      *slot(&bigger, names->slots[i].mangled) = names->slots[i];
  free(names->slots);
  *names = bigger;
}

// Without the symbol version that .symtab keeps at the end of a name: "memcpy@@GLIBC_2.14".
static char *readable(const char *mangled)
{
  const char *version = strchr(mangled, '@');
  if (!version || version == mangled)
    return tide_demangle(mangled);
  TIDE_CLEANUP_FREE char *plain = tide_strndup(mangled, (size_t)(version - mangled));
  return tide_demangle(plain);
}

const char *tide_names_get(struct tide_names *names, const char *mangled)
{
  if (!mangled)
    return NULL;
  if (names->n * 2 >= names->cap)
    grow(names);
  struct tide_name *s = slot(names, mangled);
  if (!s->demangled) {
    *s = (struct tide_name){mangled, readable(mangled)};
    names->n++;
  }
  return s->demangled;
}
