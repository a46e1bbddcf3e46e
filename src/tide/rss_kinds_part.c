// SPDX-License-Identifier: Apache-2.0
//
// The payload of the RSS_KINDS part, both ways; docs/tide-format.md has its table. Columns of the
// RSS by kind at moments of rising time.
#include "tide/decode.h"

#include <stdlib.h>

enum { MOST_MOMENTS = 4096, COLUMNS = 5 };

#define KIND_COLUMNS(X) X(anonymous_bytes) X(file_bytes) X(shared_bytes) X(swapped_bytes)

void tide_encode_rss_kinds(struct tide_buf *out, const struct tide_image *image)
{
  const struct tide_rss_kinds *rows = image->rss_kinds;
  size_t n = image->n_rss_kinds;
  tide_buf_varint(out, n);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].time_ns - (i ? rows[i - 1].time_ns : 0));
#define PUT(field)                                                                                 \
  for (size_t i = 0; i < n; i++)                                                                   \
    tide_buf_zigzag(out, (int64_t)(rows[i].field - (i ? rows[i - 1].field : 0)));
  KIND_COLUMNS(PUT)
#undef PUT
}

bool tide_rss_kinds_are_valid(const struct tide_image *image)
{
  for (size_t i = 1; i < image->n_rss_kinds; i++)
    if (image->rss_kinds[i].time_ns < image->rss_kinds[i - 1].time_ns)
      return false;
  return image->n_rss_kinds <= MOST_MOMENTS;
}

enum tide_err tide_decode_rss_kinds(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why)
{
  if (image->rss_kinds)
    return damaged(ret_why, "the image has one already");
  uint64_t n = tide_cursor_varint(in);
  if (in->bad || n > MOST_MOMENTS || n > tide_cursor_left(in) / COLUMNS)
    return damaged(ret_why, "it claims more rows than it holds");
  if (!tide_budget_take(budget, n, sizeof *image->rss_kinds))
    return too_much(ret_why);
  struct tide_rss_kinds *rows = tide_alloc_array((size_t)n, sizeof *rows);
  bool falls = false;
  for (size_t i = 0; i < n; i++) {
    uint64_t before = i ? rows[i - 1].time_ns : 0;
    rows[i].time_ns = before + tide_cursor_varint(in);
    falls |= rows[i].time_ns < before;
  }
#define GET(field)                                                                                 \
  for (size_t i = 0; i < n; i++)                                                                   \
    rows[i].field = get_diff(in, i ? rows[i - 1].field : 0);
  KIND_COLUMNS(GET)
#undef GET
  if (in->bad || falls) {
    free(rows);
    return damaged(ret_why, falls ? "time goes back" : "a field runs past the end");
  }
  image->rss_kinds = rows;
  image->n_rss_kinds = (size_t)n;
  return TIDE_ERR_OK;
}
