// SPDX-License-Identifier: Apache-2.0
//
// The payloads of the RESIDENT and COST parts, both ways; docs/tide-format.md has the fields.
#include "tide/decode.h"

enum { RSS_IS_OWN = 1 };

void tide_encode_resident(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_varint(out, image->rss_is_own ? RSS_IS_OWN : 0);
  tide_buf_varint(out, image->max_rss_ns);
  tide_buf_zigzag(out, image->max_rss_live_bytes);
  tide_buf_varint(out, image->recorder_rss_bytes);
  tide_buf_varint(out, image->rss_bound_bytes);
  tide_buf_varint(out, image->untouched_bytes);
  tide_buf_varint(out, image->swapped_bytes);
}

enum tide_err tide_decode_resident(struct tide_cursor *in, struct tide_image *image,
                                   const char **ret_why)
{
  struct tide_image read = *image;
  if (image->has_resident)
    return damaged(ret_why, "the image has one already");
  read.has_resident = true;
  read.rss_is_own = tide_cursor_varint(in) & RSS_IS_OWN;
  read.max_rss_ns = tide_cursor_varint(in);
  read.max_rss_live_bytes = tide_cursor_zigzag(in);
  read.recorder_rss_bytes = tide_cursor_varint(in);
  read.rss_bound_bytes = tide_cursor_varint(in);
  read.untouched_bytes = tide_cursor_varint(in);
  read.swapped_bytes = tide_cursor_varint(in);
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  *image = read;
  return TIDE_ERR_OK;
}

void tide_encode_cost(struct tide_buf *out, const struct tide_cost *cost)
{
  tide_buf_varint(out, cost->cpu_ns);
  tide_buf_varint(out, cost->recorder_ns);
  tide_buf_varint(out, cost->supervisor_ns);
}

enum tide_err tide_decode_cost(struct tide_cursor *in, struct tide_capture *capture,
                               const char **ret_why)
{
  if (capture->has_cost)
    return damaged(ret_why, "the run has one already");
  struct tide_cost cost = {
      .cpu_ns = tide_cursor_varint(in),
      .recorder_ns = tide_cursor_varint(in),
      .supervisor_ns = tide_cursor_varint(in),
  };
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  capture->cost = cost;
  capture->has_cost = true;
  return TIDE_ERR_OK;
}
