// SPDX-License-Identifier: Apache-2.0
//
// The SYMBOLS payload of a .tide file, model to bytes: places, their chains of frames, and the
// strings of both, each once per part.
#include "tide/format.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

// How many places from first on make one part, at least 1.
static size_t count_places(const struct tide_stored_names *names, size_t first)
{
  size_t n = 0, bytes = 0;
  while (first + n < names->n_places && n < TIDE_ROWS_SYMBOLS && bytes < TIDE_SYMBOLS_BYTES) {
    const struct tide_stored_place *place = &names->places[first + n++];
    for (uint32_t i = 0; i < place->n_frames; i++) {
      const struct tide_stored_frame *frame = &names->frames[place->first_frame + i];
      bytes += strlen(names->text + frame->function) + strlen(names->text + frame->file) + 6;
    }
  }
  return n;
}

static int by_value(const void *left, const void *right)
{
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

// The distinct offsets of texts that frames use, rising and behind a 0 for "unknown", so that an
// offset's index is its number in the file. Owned by the caller; *ret_n of them.
static uint32_t *find_strings(const struct tide_stored_frame *frames, size_t n_frames,
                              size_t *ret_n)
{
  uint32_t *offsets = tide_alloc_array(1 + 2 * n_frames, sizeof *offsets);
  for (size_t i = 0; i < n_frames; i++) {
    offsets[1 + 2 * i] = frames[i].function;
    offsets[2 + 2 * i] = frames[i].file;
  }
  qsort(offsets, 1 + 2 * n_frames, sizeof *offsets, by_value);
  size_t n = 1;
  for (size_t i = 1; i < 1 + 2 * n_frames; i++)
    if (offsets[i] != offsets[n - 1])
      offsets[n++] = offsets[i];
  *ret_n = n;
  return offsets;
}

static void put_number(struct tide_buf *out, const uint32_t *strings, size_t n, uint32_t offset)
{
  const uint32_t *found = bsearch(&offset, strings, n, sizeof *strings, by_value);
  tide_buf_varint(out, (uint64_t)(found - strings));
}

static void put_places(struct tide_buf *out, const struct tide_stored_place *places, size_t n)
{
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, places[i].module);
  for (size_t i = 0; i < n; i++)
    tide_buf_zigzag(out, (int64_t)(places[i].addr - (i ? places[i - 1].addr : 0)));
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, places[i].n_frames);
}

size_t tide_encode_symbols(struct tide_buf *out, const struct tide_image *image, size_t first)
{
  const struct tide_stored_names *names = &image->names;
  size_t n = count_places(names, first), n_frames = 0, n_strings;
  const struct tide_stored_place *places = names->places + first;
  for (size_t i = 0; i < n; i++)
    n_frames += places[i].n_frames;
  const struct tide_stored_frame *frames = names->frames + places[0].first_frame;
  TIDE_CLEANUP_FREE uint32_t *strings = find_strings(frames, n_frames, &n_strings);
  tide_buf_varint(out, first);
  tide_buf_varint(out, n);
  tide_buf_varint(out, n_strings - 1);
  for (size_t i = 1; i < n_strings; i++)
    tide_buf_string(out, names->text + strings[i]);
  put_places(out, places, n);
  for (size_t i = 0; i < n_frames; i++)
    put_number(out, strings, n_strings, frames[i].function);
  for (size_t i = 0; i < n_frames; i++)
    put_number(out, strings, n_strings, frames[i].file);
  for (size_t i = 0; i < n_frames; i++)
    tide_buf_varint(out, frames[i].line);
  for (size_t i = 0; i < n_frames; i++)
    tide_buf_varint(out, frames[i].inlined);
  return n;
}
