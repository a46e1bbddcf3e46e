// SPDX-License-Identifier: Apache-2.0
//
// Segments are a sorted array, searched by halves; the lines of a map become some of them.
#include "import/mappings.h"

#include "base/alloc.h"
#include "base/lookup.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- segments ----

void tide_segments_done(struct tide_segments *segments)
{
  free(segments->items);
  *segments = (struct tide_segments){0};
}

void tide_segments_clear(struct tide_segments *segments)
{
  segments->n = 0;
}

void tide_segments_add(struct tide_segments *s, struct tide_segment segment)
{
  TIDE_GROW(s->items, s->n, s->cap);
  s->items[s->n++] = segment;
  s->sorted = false;
}

static int by_start(const void *left, const void *right)
{
  const struct tide_segment *a = left, *b = right;
  return (a->start > b->start) - (a->start < b->start);
}

uint16_t tide_segments_find(struct tide_segments *s, uint64_t addr)
{
  if (!s->sorted && s->n)
    qsort(s->items, s->n, sizeof *s->items, by_start);
  s->sorted = true;
  size_t above = TIDE_FIRST_ABOVE(s->items, s->n, start, addr);
  return above > 0 && addr < s->items[above - 1].end ? s->items[above - 1].module : 0;
}

// ---- lines of /proc/PID/maps ----
//
// "START-END PERMS OFFSET DEV INODE PATH", as the kernel writes it, by rising address; or, below
// "--- Memory map: ---", also "START-END: PATH".

void tide_mappings_done(struct tide_mappings *mappings)
{
  for (size_t i = 0; i < mappings->n; i++)
    free(mappings->items[i].path);
  free(mappings->items);
  tide_segments_done(&mappings->segments);
  *mappings = (struct tide_mappings){0};
}

// A line has a NUL or newline behind it, so the C library's readers end there.
static bool take_hex(const char **at, char after, uint64_t *ret_value)
{
  char *end;
  if (!isxdigit((unsigned char)**at))
    return false;
  *ret_value = strtoull(*at, &end, 16);
  bool ok = end > *at && end - *at <= 16 && *end == after;
  *at = end + 1;
  return ok;
}

static const char *skip_word(const char *at, const char *end)
{
  while (at < end && *at != ' ')
    at++;
  while (at < end && *at == ' ')
    at++;
  return at;
}

static bool is_file(const char *path, size_t n)
{
  return n > 0 && (*path == '/' || (n == 6 && memcmp(path, "[vdso]", 6) == 0));
}

// What follows the range: permissions, offset, device and inode where the kernel wrote it.
static bool skip_to_path(const char **at, const char *end, uint64_t *ret_offset)
{
  *at = skip_word(*at, end);
  if (*at >= end || !take_hex(at, ' ', ret_offset) || *at >= end)
    return false;
  *at = skip_word(*at, end);
  *at = skip_word(*at, end);
  return true;
}

static void add_file(struct tide_mappings *mappings, struct tide_import_mapping *mapping)
{
  struct tide_import_mapping *last = mappings->n ? &mappings->items[mappings->n - 1] : NULL;
  if (last && (mapping->offset || !last->offset) && last->end <= mapping->start &&
      strcmp(last->path, mapping->path) == 0) {
    last->end = mapping->end;
    last->offset = mapping->offset;
    free(mapping->path);
    return;
  }
  bool is_fixed = mapping->start < TIDE_MAPPINGS_FIXED_BELOW || mapping->offset > mapping->start;
  mapping->bias = is_fixed ? 0 : mapping->start - mapping->offset;
  TIDE_GROW(mappings->items, mappings->n, mappings->cap);
  assert(mappings->items);
  mappings->items[mappings->n++] = *mapping;
}

bool tide_mappings_add(struct tide_mappings *mappings, const struct tide_stream_line *line)
{
  static const char gone[] = " (deleted)";
  struct tide_import_mapping mapping = {0};
  const char *at = line->text, *end = line->text + line->n;
  while (at < end && *at == ' ')
    at++;
  if (at >= end || !take_hex(&at, '-', &mapping.start) || at >= end)
    return false;
  const char *past = at;
  bool is_brief = take_hex(&past, ':', &mapping.end) && past < end;
  if (!is_brief &&
      (!take_hex(&at, ' ', &mapping.end) || at >= end || !skip_to_path(&at, end, &mapping.offset)))
    return false;
  if (is_brief)
    at = past;
  while (at < end && *at == ' ')
    at++;
  if (mapping.start > mapping.end)
    return false;
  size_t n = (size_t)(end - at);
  if (n > strlen(gone) && memcmp(end - strlen(gone), gone, strlen(gone)) == 0)
    n -= strlen(gone);
  if (!is_file(at, n) || mapping.start == mapping.end)
    return true;
  mapping.path = tide_strndup(at, n);
  add_file(mappings, &mapping);
  return true;
}

void tide_mappings_build(struct tide_mappings *mappings, struct tide_builder *builder)
{
  for (size_t i = 0; i < mappings->n; i++) {
    const struct tide_import_mapping *m = &mappings->items[i];
    uint16_t module = tide_builder_module(builder, m->path, m->start, m->end, m->bias, NULL, 0);
    tide_segments_add(&mappings->segments, (struct tide_segment){m->start, m->end, module});
  }
}
