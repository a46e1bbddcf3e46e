// SPDX-License-Identifier: Apache-2.0
//
// One pass over the text, with as much memory as there are addresses wanted and names in use.
//
// 1. A name is held by the addresses that it is the last one of, and goes with the last of them.
// 2. A line longer than LINE_BYTES_MAX is none of a map, and is passed over.
// 3. A map whose lines all say something about all addresses ends the reading, not the day.
#include "symbol/perfmap.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MAX (1 << 20)
#define NAMINGS_MAX ((size_t)100 << 20)

struct name {
  size_t n_users;
  char text[];
};

struct wanted {
  uint64_t addr;
  struct name *name; // NULL: none so far
};

struct tide_perfmap {
  struct wanted *wanted; // by rising address
  size_t n_wanted;
  struct tide_buf line; // the part of a line that has come so far
  bool is_too_long;     // the rest of the line is to be passed over
  size_t n_namings;     // times that an address got a name
};

static int by_address(const void *left, const void *right)
{
  const struct wanted *a = left, *b = right;
  return (a->addr > b->addr) - (a->addr < b->addr);
}

struct tide_perfmap *tide_perfmap_new(const uint64_t *addrs, size_t n)
{
  struct tide_perfmap *map = tide_alloc(sizeof *map);
  map->wanted = tide_alloc_array(n, sizeof *map->wanted);
  map->n_wanted = n;
  for (size_t i = 0; i < n; i++)
    map->wanted[i].addr = addrs[i];
  if (n)
    qsort(map->wanted, n, sizeof *map->wanted, by_address);
  return map;
}

static void release_name(struct name *name)
{
  if (name && --name->n_users == 0)
    free(name);
}

void tide_perfmap_free(struct tide_perfmap *map)
{
  if (!map)
    return;
  for (size_t i = 0; i < map->n_wanted; i++)
    release_name(map->wanted[i].name);
  free(map->wanted);
  tide_buf_done(&map->line);
  free(map);
}

// Index of the first wanted address that is not below addr.
static size_t first_from(const struct tide_perfmap *map, uint64_t addr)
{
  return TIDE_FIRST_NOT_BELOW(map->wanted, map->n_wanted, addr, addr);
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// A number in hex, with or without 0x, and the blanks behind it. False when there is none, or more
// than 64 bits of it.
static bool take_number(const char **at, const char *end, uint64_t *ret_value)
{
  const char *p = *at;
  uint64_t value = 0;
  if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
    p += 2;
  const char *first = p;
  for (int digit; p < end && (digit = hex_digit(*p)) >= 0; p++) {
    if (value >> 60)
      return false;
    value = value << 4 | (uint64_t)digit;
  }
  if (p == first || p == end || *p != ' ')
    return false;
  while (p < end && *p == ' ')
    p++;
  *at = p;
  *ret_value = value;
  return true;
}

static struct name *name_new(const char *text, size_t n)
{
  struct name *name = tide_alloc(sizeof *name + n + 1);
  memcpy(name->text, text, n);
  return name;
}

static void take_line(struct tide_perfmap *map, const char *at, size_t n)
{
  const char *end = at + n;
  uint64_t start, size;
  while (end > at && (end[-1] == '\r' || end[-1] == ' '))
    end--;
  if (!take_number(&at, end, &start) || !take_number(&at, end, &size) || at == end ||
      memchr(at, 0, (size_t)(end - at)))
    return;
  struct name *name = NULL;
  for (size_t i = first_from(map, start); i < map->n_wanted; i++) {
    struct wanted *w = &map->wanted[i];
    if (w->addr - start >= size || map->n_namings++ >= NAMINGS_MAX)
      break;
    if (!name)
      name = name_new(at, (size_t)(end - at));
    release_name(w->name);
    w->name = name;
    name->n_users++;
  }
}

static void end_line(struct tide_perfmap *map, const char *text, size_t n)
{
  if (map->line.n && !map->is_too_long) {
    tide_buf_append(&map->line, text, n);
    take_line(map, (const char *)map->line.data, map->line.n);
  } else if (!map->is_too_long) {
    take_line(map, text, n);
  }
  tide_buf_clear(&map->line);
  map->is_too_long = false;
}

void tide_perfmap_feed(struct tide_perfmap *map, const char *text, size_t n)
{
  const char *end = text + n;
  for (const char *newline; text < end && (newline = memchr(text, '\n', (size_t)(end - text)));
       text = newline + 1)
    end_line(map, text, (size_t)(newline - text));
  size_t left = (size_t)(end - text);
  map->is_too_long |= map->line.n + left > LINE_BYTES_MAX;
  if (left && !map->is_too_long)
    tide_buf_append(&map->line, text, left);
}

void tide_perfmap_end(struct tide_perfmap *map)
{
  end_line(map, "", 0);
}

const char *tide_perfmap_name(const struct tide_perfmap *map, uint64_t addr)
{
  size_t i = first_from(map, addr);
  // Equal addresses have equal names: each line was given to all of them.
  return i < map->n_wanted && map->wanted[i].addr == addr && map->wanted[i].name
             ? map->wanted[i].name->text
             : NULL;
}

// Behind "JS:" or another word of V8's and the sign; NULL for what V8 did not write.
static const char *behind_v8_prefix(const char *name)
{
  static const char *const prefixes[] = {"JS:", "Eval:", "Script:", "Function:", "LazyCompile:"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t n = strlen(prefixes[i]);
    if (strncmp(name, prefixes[i], n) == 0)
      return name + n + strspn(name + n, "~*^+'");
  }
  return NULL;
}

// The blank before the file. Functions have blanks in their names ("get size"), files in theirs.
static const char *blank_before_file(const char *text)
{
  static const char *const starts[] = {" /", " file:", " node:"};
  const char *first = NULL;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    const char *found = strstr(text, starts[i]);
    if (found && (!first || found < first))
      first = found;
  }
  return first ? first : strrchr(text, ' ');
}

// The end of a file's name and the line, of "file:line:column" or "file:line".
static size_t file_len(const char *file, uint32_t *ret_line)
{
  size_t end = strlen(file), len = end;
  unsigned long line = 0;
  for (int i = 0; i < 2; i++) {
    size_t at = end;
    while (at > 0 && file[at - 1] >= '0' && file[at - 1] <= '9')
      at--;
    if (at == end || at < 2 || file[at - 1] != ':')
      break;
    line = strtoul(file + at, NULL, 10);
    len = end = at - 1;
  }
  *ret_line = line <= UINT32_MAX ? (uint32_t)line : 0;
  return len;
}

// CPython's "py::qualified.name:file".
static bool split_python(const char *name, struct tide_perfmap_place *ret_place)
{
  const char *function = name + strlen("py::");
  const char *colon = strncmp(name, "py::", 4) == 0 ? strchr(function, ':') : NULL;
  if (!colon || colon == function || !colon[1])
    return false;
  *ret_place = (struct tide_perfmap_place){
      .function = tide_strndup(function, (size_t)(colon - function)),
      .file = tide_strdup(colon + 1),
  };
  return true;
}

void tide_perfmap_split(const char *name, struct tide_perfmap_place *ret_place)
{
  if (split_python(name, ret_place))
    return;
  const char *text = behind_v8_prefix(name);
  const char *blank = text ? blank_before_file(text) : NULL;
  if (!blank || !blank[1]) {
    *ret_place = (struct tide_perfmap_place){.function = tide_strdup(name)};
    return;
  }
  struct tide_perfmap_place place = {0};
  const char *file = blank + 1;
  if (strncmp(file, "file://", 7) == 0)
    file += 7;
  size_t n = file_len(file, &place.line);
  place.file = tide_strndup(file, n);
  place.function =
      blank > text ? tide_strndup(text, (size_t)(blank - text)) : tide_strdup("(anonymous)");
  *ret_place = place;
}

void tide_perfmap_place_done(struct tide_perfmap_place *place)
{
  free(place->function);
  free(place->file);
  *place = (struct tide_perfmap_place){0};
}
