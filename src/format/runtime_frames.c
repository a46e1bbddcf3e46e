// SPDX-License-Identifier: Apache-2.0
//
// The built-in rules, as tables. A rule is a prefix: of a module's base name, of a source path or
// of a function's name. Rust wraps trait methods as `<T as Trait>::method` and C++ may put a return
// type in front of a template's name; what counts there is the first path inside.
//
// Kept coarse on purpose: a rule that hides too much blames a caller one step further out, a rule
// that hides too little blames a container. Neither loses a byte.
#include "format/runtime_frames.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

// Everything in these objects is plumbing.
static const char *const modules[] = {
    "libc.so",     "libc-",       "ld-linux",    "ld-2.",       "libpthread", "libdl.so",
    "librt.so",    "libm.so",     "libstdc++",   "libc++.so",   "libc++abi",  "libgcc_s",
    "libtidemark", "libjemalloc", "libmimalloc", "libtcmalloc", "[vdso]",
};

// Source paths of language runtimes, wherever they stand in the path.
static const char *const files[] = {
    "/rustc/",           "/library/alloc/src/", "/library/core/src/",
    "/library/std/src/", "/include/c++/",       "/lib/rustlib/src/",
};

// Allocators' entry points, which may be linked into the program itself.
static const char *const entries[] = {
    "malloc",         "calloc", "realloc", "reallocarray", "memalign",     "aligned_alloc",
    "posix_memalign", "valloc", "pvalloc", "operator new", "__rust_alloc", "__rust_realloc",
};

static const char *const functions[] = {
    // C and C++.
    "strdup",
    "strndup",
    "xmalloc",
    "xcalloc",
    "xrealloc",
    "xstrdup",
    "xstrndup",
    "_start",
    "__libc_start_",
    "start_thread",
    "__clone",
    "clone3",
    "_dl_",
    "__cxa_",
    "std::",
    "__gnu_cxx::",
    // Rust.
    "alloc::",
    "core::",
    "hashbrown::",
    "__rustc",
    "__rust_",
    "__rdl_",
    "__rg_",
};

static bool has_prefix(const char *text, const char *prefix)
{
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

#define ANY(table, test)                                                                           \
  do {                                                                                             \
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {                                    \
      const char *rule = table[i];                                                                 \
      if (test)                                                                                    \
        return true;                                                                               \
    }                                                                                              \
    return false;                                                                                  \
  } while (0)

static bool is_runtime_module(const char *module)
{
  ANY(modules, has_prefix(module, rule));
}

static bool is_runtime_file(const char *file)
{
  ANY(files, strstr(file, rule));
}

// The path that names the code: "<alloc::vec::Vec<T> as core::Clone>::clone" is judged by the part
// after '<', and references and pointers before a type are skipped.
static const char *judged_part(const char *function)
{
  const char *p = function;
  while (*p == '<' || *p == '&' || *p == '*' || has_prefix(p, "mut ") || has_prefix(p, "const "))
    p += *p == 'm' ? 4 : *p == 'c' ? 6 : 1;
  return p;
}

// A function rule that ends in "::" or an underscore is a family; a plain word must be the whole
// name ("malloc" is not "malloc_table_grow").
static bool function_matches(const char *name, const char *rule)
{
  if (!has_prefix(name, rule))
    return false;
  char last = rule[strlen(rule) - 1], next = name[strlen(rule)];
  return last == ':' || last == '_' || !(isalnum((unsigned char)next) || next == '_');
}

static bool is_entry(const char *name)
{
  ANY(entries, function_matches(name, rule));
}

static bool is_runtime_name(const char *name)
{
  ANY(functions, function_matches(name, rule));
}

// "void std::vector<…>::_M_realloc_insert<…>(…)": templates are printed with their return type.
static bool is_template_of_std(const char *name)
{
  const char *space = strchr(name, ' ');
  const char *stop = strpbrk(name, "(<");
  return space && stop && space < stop &&
         (has_prefix(space + 1, "std::") || has_prefix(space + 1, "__gnu_cxx::"));
}

bool tide_frame_is_allocator(const char *function, const char *module)
{
  return has_prefix(module, "libtidemark") || (function && is_entry(function));
}

bool tide_frame_is_runtime(const char *function, const char *file, const char *module)
{
  if (is_runtime_module(module) || (file && is_runtime_file(file)))
    return true;
  if (!function)
    return false;
  const char *name = judged_part(function);
  return is_entry(name) || is_runtime_name(name) || is_template_of_std(name);
}
