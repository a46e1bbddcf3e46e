// SPDX-License-Identifier: Apache-2.0
//
// One pass over the name. Brackets are stepped over as groups, so that nothing inside generic
// arguments or parameters is taken for the name itself. Text is cut at `end` pointers, never copied
// until it is known to be a path. Names come from files: whatever is unbalanced ends at the end.
#define _GNU_SOURCE
#include "view/paths.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 16 }; // of types in front of types; compilers stay far below

static bool name_starts(const char *at, const char *end, const char *word)
{
  size_t n = strlen(word);
  return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

// Past the bracket that closes the one at `at`. Inside parentheses and braces < and > may be
// operators and do not count.
static const char *skip_group(const char *at, const char *end)
{
  char open = *at, close = open == '<' ? '>' : open == '(' ? ')' : '}';
  int depth = 0;
  for (; at < end; at++) {
    if (*at == open) {
      depth++;
    } else if (*at == close && !(close == '>' && at[-1] == '-')) { // "->" closes nothing
      if (--depth == 0)
        return at + 1;
    } else if (open == '<' && (*at == '(' || *at == '{')) {
      at = skip_group(at, end) - 1;
    }
  }
  return end;
}

// "operator<<", "operator()", "operator new[]", "operator std::string": from the word to the
// parameters or template arguments. NULL when no operator's name starts here.
static const char *skip_operator(const char *start, const char *at, const char *end)
{
  static const char *const symbols[] = {
      "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&", "||",
      "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "[]", "<",  ">",
      "=",   "+",   "-",   "*",   "/",  "%",  "&",  "|",  "^",  "~",  "!",  ",",  "\"\"",
  };
  bool is_word =
      name_starts(at, end, "operator") && (at == start || at[-1] == ':' || at[-1] == ' ');
  const char *next = at + strlen("operator");
  if (!is_word || next == end || isalnum((unsigned char)*next) || *next == '_')
    return NULL;
  if (name_starts(next, end, "()"))
    return next + 2;
  if (*next == ' ') { // new, delete or a type
    while (next < end && *next != '(' && *next != '<')
      next++;
    return next;
  }
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (name_starts(next, end, symbols[i])) {
      next += strlen(symbols[i]);
      break;
    }
  return name_starts(next, end, " <") ? next + 1 : next; // "operator<< <T>"
}

static void end_path(struct tide_paths *paths)
{
  struct tide_buf *text = &paths->text;
  size_t start = paths->starts[paths->n];
  while (text->n >= start + 2 && memcmp(text->data + text->n - 2, "::", 2) == 0)
    text->n -= 2;
  while (text->n > start && text->data[text->n - 1] == ' ')
    text->n--;
  if (text->n == start)
    return;
  tide_buf_u8(text, 0);
  paths->n++;
}

static bool begin_path(struct tide_paths *paths)
{
  if (paths->n == TIDE_PATHS_MAX)
    return false;
  paths->starts[paths->n] = paths->text.n;
  return true;
}

// One more character of a path: where generic arguments were left out, "::" must not come twice.
static void put_char(struct tide_paths *paths, char c)
{
  struct tide_buf *text = &paths->text;
  size_t n = text->n - paths->starts[paths->n];
  bool doubled = c == ':' && (n == 0 || (n >= 2 && memcmp(text->data + text->n - 2, "::", 2) == 0));
  if (!doubled)
    tide_buf_u8(text, (uint8_t)c);
}

// Appends a name of the form a::b<…>::c without its arguments.
static void put_plain(struct tide_paths *paths, const char *at, const char *end)
{
  const char *start = at;
  while (at < end) {
    const char *behind = skip_operator(start, at, end);
    if (!behind && *at == '<') {
      at = skip_group(at, end);
      continue;
    }
    if (!behind)
      behind = *at == '{' || *at == '(' ? skip_group(at, end) : at + 1;
    if (*at == '.' || *at == '[') // .cold, .part.0, [abi:cxx11], [clone .cold]
      return;
    for (; at < behind; at++)
      put_char(paths, *at);
  }
}

// What names the function in "ret ns::f<T>(int) const [clone .cold]": after the last space that is
// not in brackets, up to the parameters.
static void plain_path(struct tide_paths *paths, const char *start, const char *end)
{
  const char *at = start;
  while (at < end) {
    const char *behind = skip_operator(start, at, end);
    bool is_parameters = !behind && *at == '(' && at > start &&
                         !name_starts(at, end, "(anonymous namespace)") &&
                         !(at - start == 8 && name_starts(start, end, "decltype"));
    paths->has_parameters |= is_parameters;
    if (is_parameters || (!behind && *at == '[' && at > start && at[-1] == ' '))
      break;
    if (!behind && *at == ' ')
      start = at + 1;
    at = behind ? behind : *at == '<' || *at == '(' || *at == '{' ? skip_group(at, end) : at + 1;
  }
  if (begin_path(paths)) {
    put_plain(paths, start, at);
    end_path(paths);
  }
}

// Past "&", "*const ", "mut ", "dyn ", "'a ", "for<'a> " in front of a type.
static const char *skip_qualifiers(const char *at, const char *end)
{
  static const char *const words[] = {"&", "*const ", "*mut ", "mut ", "dyn ", "impl "};
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (name_starts(at, end, words[i])) {
        at += strlen(words[i]);
        again = true;
      }
    if (name_starts(at, end, "for<") || (at < end && *at == '\'')) {
      while (at < end && *at != ' ')
        at++;
      at += at < end;
      again = at < end;
    }
  }
  return at;
}

static void rust_paths(struct tide_paths *paths, const char *at, const char *end, int depth);

// The path of a type, with what follows the brackets it stood in.
static void type_paths(struct tide_paths *paths, const char *at, const char *end, const char *tail,
                       const char *tail_end, int depth)
{
  at = skip_qualifiers(at, end);
  if (at == end)
    return;
  if (*at == '<') {
    rust_paths(paths, at, end, depth + 1);
    return;
  }
  const char *stop = at;
  bool has_colons = false;
  while (stop < end && *stop != ' ' && *stop != '+') {
    has_colons |= *stop == ':';
    stop = *stop == '<' || *stop == '(' || *stop == '{' ? skip_group(stop, end) : stop + 1;
  }
  if (!has_colons || !(isalpha((unsigned char)*at) || *at == '_') || !begin_path(paths))
    return;
  put_plain(paths, at, stop);
  put_plain(paths, tail, tail_end);
  end_path(paths);
}

// "<Self as Trait>::f" or "<Self>::f", from the bracket on.
static void rust_paths(struct tide_paths *paths, const char *at, const char *end, int depth)
{
  static const char core[] = "core";
  if (depth > DEPTH_MAX)
    return;
  const char *close = skip_group(at, end), *self = at + 1, *as = NULL;
  const char *inner_end = close > self && close[-1] == '>' ? close - 1 : close;
  for (const char *p = self; p < inner_end && !as;) {
    if (name_starts(p, inner_end, " as "))
      as = p;
    p = *p == '<' || *p == '(' || *p == '{' ? skip_group(p, inner_end) : p + 1;
  }
  size_t n_before = paths->n;
  type_paths(paths, self, as ? as : inner_end, close, end, depth);
  size_t n_of_type = paths->n;
  if (as)
    type_paths(paths, as + 4, inner_end, close, end, depth);
  if (depth == 0 && paths->n > n_of_type)
    paths->trait_at = n_of_type;
  if (paths->n == n_before && begin_path(paths)) {
    put_plain(paths, core, core + strlen(core));
    put_plain(paths, close, end);
    end_path(paths);
  }
}

void tide_function_paths(const char *function, struct tide_paths *paths)
{
  const char *end = function + strlen(function);
  tide_buf_clear(&paths->text);
  paths->n = 0;
  paths->has_parameters = false;
  paths->trait_at = SIZE_MAX;
  if (*function == '<' && !name_starts(function, end, "<lambda(")) // g++ names some so
    rust_paths(paths, function, end, 0);
  else
    plain_path(paths, function, end);
  if (paths->trait_at > paths->n)
    paths->trait_at = paths->n;
}

void tide_paths_done(struct tide_paths *paths)
{
  tide_buf_done(&paths->text);
}

// ---- crates and namespaces ----

static bool is_standard(const char *path)
{
  static const char *const crates[] = {"core::", "alloc::", "std::"};
  for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
    if (strncmp(path, crates[i], strlen(crates[i])) == 0)
      return true;
  return false;
}

char *tide_crate_of(const char *function)
{
  struct tide_paths paths = {0};
  tide_function_paths(function, &paths);
  const char *best = NULL;
  for (size_t i = 0; i < paths.n; i++) {
    const char *path = tide_paths_at(&paths, i);
    if (!best || (is_standard(best) && !is_standard(path)))
      best = path;
  }
  const char *colons = best ? strstr(best, "::") : NULL;
  bool named = colons && colons > best && *best != '(' && *best != '{';
  char *crate = named ? tide_strndup(best, (size_t)(colons - best)) : NULL;
  tide_paths_done(&paths);
  return crate;
}

// ---- source files ----

static const char *after_mark(const char *path, const char *mark)
{
  const char *at = strstr(path, mark);
  return at ? at + strlen(mark) : NULL;
}

const char *tide_shorten_path(const char *path)
{
  // A registry holds one directory per index, then one per crate:
  // "…/registry/src/INDEX/crate-1.0/…"
  const char *registry = after_mark(path, "/registry/src/");
  const char *crate = registry ? strchr(registry, '/') : NULL;
  if (crate)
    return crate + 1;
  const char *rust = after_mark(path, "/rustc/");
  const char *library = rust ? strchr(rust, '/') : NULL;
  if (library)
    return library + 1;
  const char *slash = strrchr(path, '/');
  const char *before = slash ? memrchr(path, '/', (size_t)(slash - path)) : NULL;
  return before ? before + 1 : path;
}
