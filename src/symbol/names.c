// SPDX-License-Identifier: Apache-2.0
//
// A hash table of demangled names: open addressing, at most half full, nothing is ever removed.
#include "symbol/names.h"

#include "base/alloc.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

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

// One mark of gcc's or clang's, with its number: ".cold", ".isra.0". NULL when it is none of them;
// other languages have dots in their names ("main.main").
static const char *behind_mark(const char *at)
{
  static const char *const marks[] = {".cold",   ".part",       ".isra",       ".constprop",
                                      ".__part", ".lto_priv",   ".localalias", ".llvm",
                                      ".__uniq", ".specialized"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    size_t len = strlen(marks[i]);
    if (strncmp(at, marks[i], len) != 0)
      continue;
    at += len;
    size_t digits = at[0] == '.' ? strspn(at + 1, "0123456789") : 0;
    at += digits ? digits + 1 : 0;
    return *at == 0 || *at == '.' ? at : NULL;
  }
  return NULL;
}

// Cuts off what tells apart the parts and copies a compiler made of one function.
static void drop_marks(char *text)
{
  char *first = strstr(text, " [clone ");
  for (char *dot = text; !first && (dot = strchr(dot, '.')); dot++) {
    const char *end = dot;
    while (end && *end)
      end = behind_mark(end);
    if (end)
      first = dot;
  }
  if (first && first > text)
    *first = 0;
}

// Without the symbol version that .symtab keeps at the end of a name ("memcpy@@GLIBC_2.14"), and
// without marks of parts and copies: it is one function to whoever wrote it.
static char *readable(const char *mangled)
{
  const char *version = strchr(mangled, '@');
  TIDE_CLEANUP_FREE char *plain =
      version && version > mangled ? tide_strndup(mangled, (size_t)(version - mangled)) : NULL;
  char *text = tide_demangle(plain ? plain : mangled);
  drop_marks(text);
  return text;
}

// The slot of the name after making room for one more.
static struct tide_name *roomy_slot(struct tide_names *names, const char *mangled)
{
  if (names->n * 2 >= names->cap)
    grow(names);
  return slot(names, mangled);
}

const char *tide_names_get(struct tide_names *names, const char *mangled)
{
  if (!mangled)
    return NULL;
  struct tide_name *s = roomy_slot(names, mangled);
  if (!s->demangled) {
    *s = (struct tide_name){mangled, readable(mangled)};
    names->n++;
  }
  return s->demangled;
}

const char *tide_names_keep(struct tide_names *names, char *text)
{
  struct tide_name *s = roomy_slot(names, text);
  if (s->demangled) {
    free(text);
  } else {
    *s = (struct tide_name){text, text};
    names->n++;
  }
  return s->demangled;
}
