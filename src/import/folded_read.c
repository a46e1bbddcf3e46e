// SPDX-License-Identifier: Apache-2.0
//
// Folded stacks, as flame graph tools pass them on: "outer;…;inner WEIGHT", a line each. Nothing
// says what the weights are of; they are taken for bytes in use. Names are all there is of a frame.
//
// Recognised by its first lines, all of which must be of that form; of one line that is longer than
// what is looked at, the stack will do. It is the vaguest of formats, so it is asked last.
#include "base/alloc.h"
#include "import/builder.h"
#include "import/importers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LACKS                                                                                      \
  (TIDE_LACK_PEAK | TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS | TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES |    \
   TIDE_LACK_LIFE_HIST | TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS |             \
   TIDE_LACK_TIMES | TIDE_LACK_CLOCK)

enum {
  FIRST_BYTES = 4096
}; // lines that begin later are for the reader to judge, with their offset

static const char no_stack[] = "[stack not recorded]", left_out[] = "[frames left out]";

// Where the weight starts; NULL when the line does not end in a space and digits, or holds nothing
// else.
static const char *find_weight(const char *text, size_t n)
{
  const char *at = text + n;
  while (at > text && isdigit((unsigned char)at[-1]))
    at--;
  return at < text + n && at > text + 1 && at[-1] == ' ' ? at : NULL;
}

static size_t without_return(const char *text, size_t n)
{
  return n && text[n - 1] == '\r' ? n - 1 : n;
}

static bool is_text(const char *text, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)text[i] < ' ' && text[i] != '\t')
      return false;
  return true;
}

bool tide_folded_recognise(const uint8_t *head, size_t n)
{
  size_t n_good = 0;
  const char *first = (const char *)head, *end = first + n;
  for (const char *at = first; at < end && at - first < FIRST_BYTES;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    bool is_cut = !newline && n >= TIDE_STREAM_HEAD_BYTES;
    size_t length = without_return(at, (size_t)((newline ? newline : end) - at));
    if (!is_text(at, length) || (length && !is_cut && !find_weight(at, length)))
      return false;
    n_good += is_cut ? memchr(at, ';', length) != NULL : length > 0;
    at = newline ? newline + 1 : end;
  }
  return n_good > 0;
}

struct reader {
  struct tide_stream *stream;
  struct tide_builder *builder;
  struct tide_buf name;
  struct tide_diag *diag;
};

static struct tide_import_place place_of(struct reader *r, const char *text, size_t n)
{
  if (n == strlen(left_out) && memcmp(text, left_out, n) == 0)
    return (struct tide_import_place){.flags = TIDE_FRAME_CUT};
  tide_buf_clear(&r->name);
  tide_buf_append(&r->name, n ? text : "?", n ? n : 1);
  struct tide_names_frame frame = {.function = tide_buf_cstr(&r->name)};
  return tide_builder_place(r->builder, 0, 0, &frame, 1);
}

static uint32_t stack_of(struct reader *r, const char *text, size_t n)
{
  uint32_t node = 0;
  if (n == strlen(no_stack) && memcmp(text, no_stack, n) == 0)
    return tide_builder_node(r->builder, 0, (struct tide_import_place){.flags = TIDE_FRAME_LOST});
  for (const char *at = text, *end = text + n; at <= end;) {
    const char *stop = memchr(at, ';', (size_t)(end - at));
    if (!stop)
      stop = end;
    node = tide_builder_node(r->builder, node, place_of(r, at, (size_t)(stop - at)));
    at = stop + 1;
  }
  return node;
}

static enum tide_err read_line(struct reader *r, const struct tide_stream_line *line)
{
  size_t n = without_return(line->text, line->n);
  if (n == 0)
    return TIDE_ERR_OK;
  const char *weight = find_weight(line->text, n), *end = line->text + n;
  uint64_t value = 0;
  if (!weight)
    return tide_stream_fail(r->stream, TIDE_ERR_FORMAT, line->offset, r->diag,
                            "not a folded stack: 'outer;inner WEIGHT' expected");
  for (const char *at = weight; at < end; at++) {
    if (value > INT64_MAX / 10 - 1)
      return tide_stream_fail(r->stream, TIDE_ERR_FORMAT, line->offset, r->diag,
                              "a weight is too large");
    value = value * 10 + (uint64_t)(*at - '0');
  }
  uint32_t stack = stack_of(r, line->text, (size_t)(weight - 1 - line->text));
  struct tide_site *site = tide_builder_site(r->builder, stack);
  site->b_alloc += value;
  site->n_alloc++; // of no meaning, but 0 would be: never used
  return TIDE_ERR_OK;
}

static enum tide_err read_all(struct reader *r)
{
  struct tide_stream_line line;
  while (tide_stream_line(r->stream, &line)) {
    enum tide_err err = read_line(r, &line);
    if (err)
      return err;
  }
  struct tide_diag how = {0};
  if (tide_stream_status(r->stream, &how))
    tide_builder_cut(r->builder, how.text);
  return TIDE_ERR_OK;
}

enum tide_err tide_folded_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                               struct tide_diag *diag)
{
  struct reader r = {stream, tide_builder_new("folded stacks", LACKS), {0}, diag};
  enum tide_err err = read_all(&r);
  if (!err)
    err = tide_builder_finish(r.builder, ret_capture, diag);
  tide_builder_free(r.builder);
  tide_buf_done(&r.name);
  return err;
}
