// SPDX-License-Identifier: Apache-2.0
//
// The payload of the SYMBOLS part, both ways; docs/tide-format.md has the columns.
#include "tide/decode.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "tide/format.h"

#include <stdlib.h>
#include <string.h>

// ---- writing ----
//
// Places, their chains of frames, and the strings of both, each once per part.

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

// ---- reading ----
//
// The bytes are outside data: see decode.c for what that asks of a decoder. Strings go behind the
// text the image has already; what a bad part leaves there is not counted and so not seen.

// Copies n_strings strings behind the image's text and notes where each lies, number 0 standing for
// "unknown". Gives where the text ends then, 0 when the bytes are bad.
static size_t get_strings(struct tide_cursor *in, struct tide_stored_names *names, size_t n_strings,
                          uint32_t *offsets)
{
  size_t end = names->text_bytes ? names->text_bytes : 1; // behind the first, empty one
  for (size_t i = 1; i <= n_strings; i++) {
    size_t n;
    const uint8_t *bytes = get_bytes(in, &n);
    if (!bytes || memchr(bytes, 0, n))
      return 0;
    if (n == 0)
      continue; // as good as unknown
    offsets[i] = (uint32_t)end;
    memcpy(names->text + end, bytes, n);
    names->text[end + n] = 0;
    end += n + 1;
  }
  return end;
}

// Room for every string the rest of the payload can hold.
static enum tide_err make_text_room(struct tide_stored_names *names, size_t n_more,
                                    struct tide_budget *budget, const char **ret_why)
{
  size_t bytes = 1 + names->text_bytes + n_more;
  if (bytes > UINT32_MAX || !tide_budget_take(budget, 1, 1 + 2 * n_more))
    return too_much(ret_why);
  names->text = tide_realloc_array(names->text, bytes, 1);
  if (names->text_bytes == 0)
    names->text[0] = 0;
  return TIDE_ERR_OK;
}

// Gives the number of frames of all the places, 0 when something is wrong with them.
static uint64_t get_places(struct tide_cursor *in, const struct tide_image *image,
                           struct tide_stored_place *rows, size_t n)
{
  const struct tide_stored_names *names = &image->names;
  size_t n_frames = names->n_frames, most = tide_cursor_left(in);
  COLUMN(rows, n, module, get_u16(in));
  COLUMN_DIFF(rows, n, addr);
  COLUMN(rows, n, n_frames, get_u32(in));
  for (size_t i = 0; i < n; i++) {
    bool is_first = names->n_places + i == 0;
    if (rows[i].module >= image->n_modules || rows[i].n_frames == 0 || rows[i].n_frames > most ||
        (!is_first && !tide_stored_place_is_before(&rows[i] - 1, &rows[i])))
      return 0;
    rows[i].first_frame = n_frames;
    n_frames += rows[i].n_frames;
    most -= rows[i].n_frames;
  }
  return in->bad ? 0 : n_frames - names->n_frames;
}

static uint32_t get_offset(struct tide_cursor *in, const uint32_t *offsets, size_t n_strings)
{
  return offsets[get_limited(in, n_strings)];
}

static enum tide_err get_frames(struct tide_cursor *in, struct tide_stored_names *names,
                                uint64_t n_frames, const uint32_t *offsets, size_t n_strings,
                                struct tide_budget *budget, const char **ret_why)
{
  if (n_frames > tide_cursor_left(in) / 4)
    return damaged(ret_why, "it claims more frames than it holds");
  if (!tide_budget_take(budget, n_frames, 2 * sizeof *names->frames))
    return too_much(ret_why);
  size_t n = (size_t)n_frames;
  MAKE_ROOM(names->frames, names->n_frames, n);
  struct tide_stored_frame *rows = names->frames + names->n_frames;
  COLUMN(rows, n, function, get_offset(in, offsets, n_strings));
  COLUMN(rows, n, file, get_offset(in, offsets, n_strings));
  COLUMN(rows, n, line, get_u32(in));
  COLUMN(rows, n, inlined, tide_cursor_varint(in) & 1);
  return in->bad ? damaged(ret_why, "a frame has no name") : TIDE_ERR_OK;
}

enum tide_err tide_decode_symbols(struct tide_cursor *in, struct tide_image *image,
                                  struct tide_budget *budget, const char **ret_why)
{
  struct tide_stored_names *names = &image->names;
  size_t n;
  enum tide_err err = get_table_head(in, budget, names->n_places, 3 + 4, sizeof *names->places, &n,
                                     ret_why); // a place has at least one frame
  if (err || n == 0)
    return err;
  uint64_t n_strings = tide_cursor_varint(in);
  if (in->bad || n_strings > tide_cursor_left(in))
    return damaged(ret_why, "it claims more strings than it holds");
  if (!tide_budget_take(budget, n_strings + 1, sizeof(uint32_t)))
    return too_much(ret_why);
  err = make_text_room(names, tide_cursor_left(in), budget, ret_why);
  if (err)
    return err;
  TIDE_CLEANUP_FREE uint32_t *offsets = tide_alloc_array((size_t)n_strings + 1, sizeof *offsets);
  size_t text_bytes = get_strings(in, names, (size_t)n_strings, offsets);
  if (!text_bytes)
    return damaged(ret_why, "a string has a zero byte or runs past the end");
  MAKE_ROOM(names->places, names->n_places, n);
  uint64_t n_frames = get_places(in, image, names->places + names->n_places, n);
  if (!n_frames)
    return damaged(ret_why, "its places are not in order, or outside of all modules");
  err = get_frames(in, names, n_frames, offsets, (size_t)n_strings, budget, ret_why);
  if (err)
    return err;
  names->text_bytes = text_bytes;
  names->n_places += n;
  names->n_frames += (size_t)n_frames;
  return TIDE_ERR_OK;
}
