// SPDX-License-Identifier: Apache-2.0
//
// What may go first when a line is too long: parameters, then type arguments, then the middle.
#define _GNU_SOURCE
#include "format/shorten.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

// Past what may stand behind the parameters of a member function.
static const char *skip_qualifiers(const char *at)
{
  static const char *const words[] = {" const", " volatile", " &&", " &"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strncmp(at, words[i], strlen(words[i])) == 0)
      at += strlen(words[i]);
  return at;
}

// Where the parameter list of a C++ name starts; its length when there is none. Looks for the last
// top-level '(' so that "(anonymous namespace)::f(int)" and "operator()(int) const" come out right.
static size_t parameters_at(const char *name)
{
  size_t n = strlen(name);
  const char *close = strrchr(name, ')');
  const char *rest = close ? skip_qualifiers(close + 1) : "";
  bool is_list = close && (!*rest || strncmp(rest, " [clone", 7) == 0);
  if (!is_list)
    return n;
  int depth = 0;
  for (const char *p = close; p >= name; p--) {
    depth += *p == ')';
    depth -= *p == '(';
    if (depth == 0) {
      static const char call[] = "operator";
      size_t at = (size_t)(p - name), len = sizeof call - 1;
      bool is_name = at >= len && memcmp(p - len, call, len) == 0; // of operator() itself
      return at == 0 || is_name ? n : at;
    }
  }
  return n;
}

// Folds every <…> except one that opens the name (Rust's "<T as Trait>::f") and operators' own
// brackets. "->" and "=>" do not close anything.
static char *fold_arguments(const char *name, const char *ellipsis)
{
  struct tide_buf out = {0};
  int depth = 0;
  for (const char *p = name; *p; p++) {
    bool opens = *p == '<' && p > name && (p < name + 8 || memcmp(p - 8, "operator", 8) != 0);
    bool closes = *p == '>' && depth > 0 && p[-1] != '-' && p[-1] != '=';
    if (opens && depth++ == 0) {
      tide_buf_u8(&out, '<');
      tide_buf_text(&out, ellipsis);
    }
    if (closes)
      depth--;
    if (depth == 0)
      tide_buf_u8(&out, (uint8_t)*p);
  }
  tide_buf_u8(&out, 0);
  if (depth == 0)
    return (char *)out.data;
  tide_buf_done(&out); // unbalanced: leave it alone
  return tide_strdup(name);
}

// Rust's "<Type as Trait>::method" as "Type::method": an owned copy, NULL when it is not of that
// shape. The trait is the part a reader misses least.
static char *without_trait(const char *name)
{
  const char *as = NULL, *p = name + 1;
  int depth = 1;
  if (name[0] != '<')
    return NULL;
  for (; *p; p++) {
    if (depth == 1 && strncmp(p, " as ", 4) == 0)
      as = p;
    depth += *p == '<';
    depth -= *p == '>' && p[-1] != '-' && p[-1] != '=';
    if (depth == 0)
      break;
  }
  if (!as || !*p)
    return NULL;
  return tide_sprintf("%.*s%s", (int)(as - name - 1), name + 1, p + 1);
}

char *tide_shorten_function(const char *name, size_t width, bool utf8)
{
  const char *ellipsis = utf8 ? "\xe2\x80\xa6" : "..";
  TIDE_CLEANUP_FREE char *bare = tide_strndup(name, parameters_at(name));
  if (tide_utf8_width(bare) <= width)
    return tide_utf8_clean(bare, utf8);
  TIDE_CLEANUP_FREE char *folded = fold_arguments(bare, ellipsis);
  if (tide_utf8_width(folded) <= width)
    return tide_utf8_clean(folded, utf8);
  TIDE_CLEANUP_FREE char *traitless = without_trait(folded);
  return tide_utf8_fit(traitless ? traitless : folded, width, utf8);
}
