// SPDX-License-Identifier: Apache-2.0
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
#define _GNU_SOURCE
#include "symbol/symbol.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
