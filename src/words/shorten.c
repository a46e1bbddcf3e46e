// SPDX-License-Identifier: Apache-2.0
//
// What may go first when a line is too long: parameters, type arguments, a trait, then what the
// function is in; of a path, its directories.
#define _GNU_SOURCE
#include "words/shorten.h"

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

// Past the brackets that open at p; `p` itself when they are never closed.
static const char *past_group(const char *p)
{
  int depth = 0;
  for (const char *at = p; *at; at++) {
    depth += *at == '<' || *at == '{' || *at == '(';
    depth -= *at == '}' || *at == ')' || (*at == '>' && at[-1] != '-' && at[-1] != '=');
    if (depth == 0)
      return at + 1;
  }
  return p;
}

// The next part of a path behind "::", or NULL.
static const char *next_part(const char *p)
{
  while (*p) {
    const char *behind = *p == '<' || *p == '{' || *p == '(' ? past_group(p) : p;
    if (behind > p) {
      p = behind;
      continue;
    }
    if (p[0] == ':' && p[1] == ':')
      return p + 2;
    p++;
  }
  return NULL;
}

// Whether a part says nothing alone: "{{closure}}", "{closure#0}", "{lambda(int)#1}",
// "operator()", "<…>".
static bool is_nameless(const char *part)
{
  return *part == '{' || *part == '<' || strncmp(part, "(anonymous", 10) == 0 ||
         strncmp(part, "operator()", 10) == 0;
}

// The shortest end of a path that still names a function.
static const char *least_end(const char *name)
{
  const char *least = name;
  for (const char *part = name; part; part = next_part(part))
    if (!is_nameless(part))
      least = part;
  return least;
}

// "a::b::c::f" as "…::c::f", or "c::f" where that fits alone: as many parts as there is room for,
// NULL when not even the last fits.
static char *without_outer_parts(const char *name, const char *least, size_t width,
                                 const char *ellipsis)
{
  for (const char *part = next_part(name); part && part <= least; part = next_part(part)) {
    char *shown = tide_sprintf("%s::%s", ellipsis, part);
    if (tide_utf8_width(shown) <= width)
      return shown;
    free(shown);
    if (tide_utf8_width(part) <= width)
      return tide_strdup(part);
  }
  return tide_utf8_width(least) <= width ? tide_strdup(least) : NULL;
}

// "f::{{closure}}::{{closure}}" as "f::{…}".
static char *fold_closures(const char *name, const char *ellipsis)
{
  const char *next = next_part(name);
  return next ? tide_sprintf("%.*s{%s}", (int)(next - name), name, ellipsis) : tide_strdup(name);
}

// Folded arguments say less than what a function is in.
static char *without_folds(const char *name, const char *ellipsis)
{
  TIDE_CLEANUP_FREE char *fold = tide_sprintf("<%s>", ellipsis);
  struct tide_buf out = {0};
  for (const char *p = name; *p;) {
    bool is_fold = p > name && strncmp(p, fold, strlen(fold)) == 0;
    if (!is_fold)
      tide_buf_u8(&out, (uint8_t)*p);
    p += is_fold ? strlen(fold) : 1;
  }
  tide_buf_u8(&out, 0);
  return (char *)out.data;
}

static char *keep_function(const char *folded_name, size_t width, bool utf8, const char *ellipsis)
{
  TIDE_CLEANUP_FREE char *name = without_folds(folded_name, ellipsis);
  if (tide_utf8_width(name) <= width)
    return tide_utf8_clean(name, utf8);
  const char *least = least_end(name);
  TIDE_CLEANUP_FREE char *shown = without_outer_parts(name, least, width, ellipsis);
  if (shown)
    return tide_utf8_clean(shown, utf8);
  TIDE_CLEANUP_FREE char *folded = fold_closures(least, ellipsis);
  return tide_utf8_fit(folded, width, utf8);
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
  const char *left = traitless ? traitless : folded;
  if (tide_utf8_width(left) <= width)
    return tide_utf8_clean(left, utf8);
  return keep_function(left, width, utf8, ellipsis);
}

char *tide_shorten_location(const char *location, size_t width, bool utf8)
{
  const char *ellipsis = utf8 ? "\xe2\x80\xa6" : "..";
  const char *base = strrchr(location, '/');
  if (!base || tide_utf8_width(location) <= width)
    return tide_utf8_fit(location, width, utf8);
  for (const char *at = strchr(location + 1, '/'); at; at = strchr(at + 1, '/')) {
    TIDE_CLEANUP_FREE char *shown = tide_sprintf("%s%s", ellipsis, at);
    if (tide_utf8_width(shown) <= width)
      return tide_utf8_clean(shown, utf8);
  }
  return tide_utf8_fit(base + 1, width, utf8);
}
