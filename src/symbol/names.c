// SPDX-License-Identifier: Apache-2.0
//
// Demangled names, each made once.
#define _GNU_SOURCE
#include "symbol/names.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/symbol.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- demangling ----
//
// Mangled names of C++, Rust and D to readable ones through libiberty. Rust comes first: its legacy
// scheme is valid C++ mangling too and would otherwise keep the "::h0123456789abcdef" hash.
// DMGL_VERBOSE stays off for the same reason. What libiberty does not understand is handed back as
// it is.
//
// Mangled names of templates hold the return type and others do not; it is left out everywhere, so
// that a name begins with the name.
//
// By default libiberty refuses C++ names of more than 1024 bytes, which templates reach with ease,
// for fear of its recursion. Long names are therefore demangled without that limit on a stack that
// is large enough for any nesting the name has room for.

#define CXX_OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP)
#define SHORT_LEN 1024
#define LONG_LEN (128 << 10)
// Measured: 150 bytes of stack for each byte of a name that nests as deep as it can.
#define STACK_BYTES ((size_t)128 << 20) // address space; only what is used costs memory

static void *demangle_long(void *name)
{
  return cplus_demangle_v3(name, CXX_OPTIONS | DMGL_NO_RECURSE_LIMIT);
}

// NULL when it is not a mangled name, or longer than any compiler writes.
static char *demangle_on_large_stack(const char *name)
{
  pthread_attr_t attributes;
  pthread_t thread;
  void *text = NULL;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
      pthread_create(&thread, &attributes, demangle_long, (void *)name) == 0)
    pthread_join(thread, &text);
  pthread_attr_destroy(&attributes);
  return text;
}

char *tide_demangle(const char *name)
{
  if (name[0] != '_')
    return tide_strdup(name); // no mangling starts otherwise; spares most C names the trouble
  char *text = rust_demangle(name, 0);
  size_t len = strlen(name);
  if (!text && len <= SHORT_LEN && name[1] == 'D')
    text = dlang_demangle(name, 0); // of D; a longer one stays as it is
  if (!text && len <= SHORT_LEN)
    text = cplus_demangle_v3(name, CXX_OPTIONS);
  else if (!text && len <= LONG_LEN && strncmp(name, "_Z", 2) == 0)
    text = demangle_on_large_stack(name);
  return text ? text : tide_strdup(name);
}

// What C++ demanglers leave of a legacy name: escapes, and a hash at the end.
static bool is_half_demangled(const char *name, size_t len)
{
  enum { HASH_LEN = 19 }; // "::h" and 16 digits
  const char *hash = name + len - HASH_LEN;
  return len > HASH_LEN && strncmp(hash, "::h", 3) == 0 &&
         strspn(hash + 3, "0123456789abcdef") == 16;
}

// Mangles it again, "a::b" to "_ZN1a1bE", for the demangler that knows Rust.
static char *mangle_again(const char *name)
{
  struct tide_buf out = {0};
  tide_buf_text(&out, "_ZN");
  for (const char *at = name; at;) {
    const char *end = strstr(at, "::");
    size_t n = end ? (size_t)(end - at) : strlen(at);
    tide_buf_printf(&out, "%zu%.*s", n, (int)n, at);
    at = end ? end + 2 : NULL;
  }
  tide_buf_text(&out, "E");
  char *mangled = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return mangled;
}

char *tide_demangle_told(const char *name)
{
  size_t len = strlen(name);
  bool is_mangled = name[0] == '_' && name[1] && strchr("DRZ", name[1]);
  if (is_mangled) {
    char *text = tide_demangle(name);
    if (strcmp(text, name) != 0)
      return text;
    free(text);
    return NULL;
  }
  if (len > LONG_LEN || !is_half_demangled(name, len))
    return NULL;
  TIDE_CLEANUP_FREE char *mangled = mangle_again(name);
  return rust_demangle(mangled, 0);
}

// ---- the table of names ----
//
// A hash table of demangled names: open addressing, at most half full, nothing is ever removed.

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

static void grow_names(struct tide_names *names)
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
static char *readable_name(const char *mangled)
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
    grow_names(names);
  return slot(names, mangled);
}

const char *tide_names_get(struct tide_names *names, const char *mangled)
{
  if (!mangled)
    return NULL;
  struct tide_name *s = roomy_slot(names, mangled);
  if (!s->demangled) {
    *s = (struct tide_name){mangled, readable_name(mangled)};
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
