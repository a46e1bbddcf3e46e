// SPDX-License-Identifier: Apache-2.0
//
// The payload of the HELD part, both ways; docs/tide-format.md has its table. A column of one
// number per tick for each stack: 0 where it is not known, else units and one.
#include "tide/decode.h"

enum { MOST_HELD = 64, MOST_SHIFT = 62 };

static uint64_t number_of(const struct tide_held_bytes *held, size_t tick)
{
  return held->bytes[tick] < 0 ? 0 : ((uint64_t)held->bytes[tick] >> held->shift) + 1;
}

void tide_encode_held(struct tide_buf *out, const struct tide_image *image)
{
  uint64_t next = 0;
  tide_buf_varint(out, image->n_ticks);
  tide_buf_varint(out, image->n_held);
  for (size_t i = 0; i < image->n_held; i++) {
    tide_buf_varint(out, image->held[i].stack - next);
    tide_buf_varint(out, image->held[i].shift);
    next = image->held[i].stack + 1ull;
  }
  for (size_t i = 0; i < image->n_held; i++)
    for (size_t k = 0; k < image->n_ticks; k++) {
      uint64_t before = k ? number_of(&image->held[i], k - 1) : 0;
      tide_buf_zigzag(out, (int64_t)(number_of(&image->held[i], k) - before));
    }
}

bool tide_held_is_valid(const struct tide_image *image, size_t n_frames)
{
  if (image->n_held > MOST_HELD)
    return false;
  for (size_t i = 0; i < image->n_held; i++)
    if (image->held[i].stack >= n_frames || image->held[i].shift > MOST_SHIFT ||
        (i && image->held[i].stack <= image->held[i - 1].stack))
      return false;
  return true;
}

static void get_stacks(struct tide_cursor *in, size_t n_frames, struct tide_held_bytes *held,
                       size_t n)
{
  uint64_t next = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t stack = next + get_u32(in);
    in->bad |= stack >= n_frames;
    held[i] = (struct tide_held_bytes){.stack = (uint32_t)stack,
                                       .shift = (uint32_t)get_limited(in, MOST_SHIFT)};
    next = stack + 1;
  }
}

static void get_column(struct tide_cursor *in, struct tide_held_bytes *held, size_t n_ticks)
{
  uint64_t number = 0, most = (uint64_t)INT64_MAX >> held->shift;
  for (size_t k = 0; k < n_ticks; k++) {
    number = get_diff(in, number);
    in->bad |= number > most;
    held->bytes[k] = number && !in->bad ? (int64_t)((number - 1) << held->shift) : -1;
  }
}

enum tide_err tide_decode_held(struct tide_cursor *in, struct tide_image *image,
                               struct tide_budget *budget, const char **ret_why)
{
  struct tide_held_bytes held[MOST_HELD];
  if (image->held)
    return damaged(ret_why, "the image has one already");
  uint64_t n_ticks = tide_cursor_varint(in), n = tide_cursor_varint(in);
  if (in->bad || n_ticks != image->n_ticks)
    return damaged(ret_why, "it is not about the timeline before it");
  if (n > MOST_HELD || n * n_ticks > tide_cursor_left(in))
    return damaged(ret_why, "it claims more rows than it holds");
  if (!tide_budget_take(budget, n * n_ticks, sizeof *held->bytes))
    return too_much(ret_why);
  get_stacks(in, image->n_frames, held, (size_t)n);
  if (in->bad)
    return damaged(ret_why, "a stack is not known");
  image->held = tide_alloc_array((size_t)n, sizeof *held);
  for (size_t i = 0; i < n; i++) {
    held[i].bytes = tide_alloc_array((size_t)n_ticks, sizeof *held->bytes);
    image->held[image->n_held++] = held[i];
    get_column(in, &held[i], (size_t)n_ticks);
  }
  if (in->bad) {
    tide_image_drop_held(image);
    return damaged(ret_why, "a number is too large or runs past the end");
  }
  return TIDE_ERR_OK;
}
