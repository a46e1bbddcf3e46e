// SPDX-License-Identifier: Apache-2.0
//
// The payloads of the ROLL, RESIDENT, ALLOCATORS and COST parts, both ways; docs/tide-format.md has
// the columns and fields.
#include "tide/decode.h"

#include "model/capture.h"

#include <stdlib.h>
#include <string.h>

// ---- ROLL ----

enum { AT_LEAST = 1, IS_COMMAND = 1, ROW_COLUMNS = 11 };

void tide_encode_roll(struct tide_buf *out, const struct tide_roll *roll)
{
  const struct tide_unrecorded *rows = roll->rows;
  size_t n = roll->n_rows;
  tide_buf_varint(out, roll->at_least ? AT_LEAST : 0);
  tide_buf_varint(out, roll->command_pid);
  tide_buf_varint(out, roll->n_recorded);
  tide_buf_varint(out, roll->n_refused);
  tide_buf_varint(out, n);
  for (size_t i = 0; i < n; i++) {
    tide_buf_string(out, rows[i].exe);
    tide_buf_string(out, rows[i].detail);
    tide_buf_string(out, rows[i].parent);
    tide_buf_varint(out, rows[i].why);
    tide_buf_varint(out, rows[i].is_command ? IS_COMMAND : 0);
    tide_buf_varint(out, rows[i].pid);
    tide_buf_varint(out, rows[i].n_processes);
    tide_buf_varint(out, rows[i].start_ns);
    tide_buf_varint(out, rows[i].end_ns);
    tide_buf_varint(out, rows[i].max_rss_bytes);
    tide_buf_varint(out, rows[i].recorded_bytes);
  }
}

static void get_row(struct tide_cursor *in, struct tide_unrecorded *row)
{
  row->exe = get_string(in);
  row->detail = get_string(in);
  row->parent = get_string(in);
  uint32_t why = get_u32(in);
  row->why = why < TIDE_WHY_N ? (enum tide_why)why : TIDE_WHY_UNKNOWN; // of a later version
  row->is_command = tide_cursor_varint(in) & IS_COMMAND;
  row->pid = get_u32(in);
  row->n_processes = tide_cursor_varint(in);
  row->start_ns = tide_cursor_varint(in);
  row->end_ns = tide_cursor_varint(in);
  row->max_rss_bytes = tide_cursor_varint(in);
  row->recorded_bytes = tide_cursor_varint(in);
}

enum tide_err tide_decode_roll(struct tide_cursor *in, struct tide_roll *roll,
                               struct tide_budget *budget, const char **ret_why)
{
  if (roll->is_known)
    return damaged(ret_why, "there is one already");
  struct tide_roll got = {.is_known = true};
  got.at_least = tide_cursor_varint(in) & AT_LEAST;
  got.command_pid = get_u32(in);
  got.n_recorded = tide_cursor_varint(in);
  got.n_refused = tide_cursor_varint(in);
  uint64_t n = tide_cursor_varint(in);
  if (in->bad || n > tide_cursor_left(in) / ROW_COLUMNS)
    return damaged(ret_why, "it claims more rows than it holds");
  if (!tide_budget_take(budget, n, sizeof *got.rows + 3 * 32))
    return too_much(ret_why);
  got.rows = tide_alloc_array((size_t)n, sizeof *got.rows);
  got.n_rows = (size_t)n;
  for (size_t i = 0; i < got.n_rows; i++)
    get_row(in, &got.rows[i]);
  if (in->bad) {
    tide_roll_done(&got);
    return damaged(ret_why, "a field runs past the end");
  }
  *roll = got;
  return TIDE_ERR_OK;
}

// ---- RESIDENT, ALLOCATORS and COST ----

enum { RSS_IS_OWN = 1, BY_AGENT = 1, MAX_ALLOCATORS = 64 };

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

void tide_encode_allocators(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_varint(out, image->by_agent ? BY_AGENT : 0);
  tide_buf_varint(out, image->n_allocators);
  for (size_t i = 0; i < image->n_allocators; i++) {
    const struct tide_allocator *row = &image->allocators[i];
    tide_buf_varint(out, row->family);
    tide_buf_varint(out, row->n_alloc);
    tide_buf_varint(out, row->b_alloc);
    tide_buf_zigzag(out, row->live_blocks);
    tide_buf_zigzag(out, row->live_bytes);
    tide_buf_zigzag(out, row->peak_blocks);
    tide_buf_zigzag(out, row->peak_bytes);
  }
}

enum tide_err tide_decode_allocators(struct tide_cursor *in, struct tide_image *image,
                                     const char **ret_why)
{
  struct tide_allocator rows[MAX_ALLOCATORS];
  if (image->has_allocators)
    return damaged(ret_why, "the image has one already");
  bool by_agent = tide_cursor_varint(in) & BY_AGENT;
  uint64_t n = tide_cursor_varint(in);
  if (in->bad || n > MAX_ALLOCATORS)
    return damaged(ret_why, "it claims more rows than there are allocators");
  for (uint64_t i = 0; i < n; i++) {
    rows[i].family = get_u32(in);
    rows[i].n_alloc = tide_cursor_varint(in);
    rows[i].b_alloc = tide_cursor_varint(in);
    rows[i].live_blocks = tide_cursor_zigzag(in);
    rows[i].live_bytes = tide_cursor_zigzag(in);
    rows[i].peak_blocks = tide_cursor_zigzag(in);
    rows[i].peak_bytes = tide_cursor_zigzag(in);
  }
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  image->allocators = tide_alloc_array((size_t)n, sizeof *rows);
  memcpy(image->allocators, rows, (size_t)n * sizeof *rows);
  image->n_allocators = (size_t)n;
  image->by_agent = by_agent;
  image->has_allocators = true;
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
