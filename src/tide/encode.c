// SPDX-License-Identifier: Apache-2.0
//
// The payloads of a .tide file, model to bytes: one function per part type, in the order of
// docs/tide-format.md. Tables go out column by column: equal things side by side are what the
// compressor is good at.
#include "tide/format.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

// Difference modulo 2^64, signed.
static void put_diff(struct tide_buf *out, uint64_t now, uint64_t before)
{
  tide_buf_zigzag(out, (int64_t)(now - before));
}

static void put_bytes(struct tide_buf *out, const void *data, size_t n)
{
  tide_buf_varint(out, n);
  tide_buf_append(out, data, n);
}

// One column: `expression` for each row of the table called `row`.
#define COLUMN(put, rows, n, expression)                                                           \
  for (size_t i_ = 0; i_ < (n); i_++) {                                                            \
    __typeof__(*(rows)) *row = &(rows)[i_];                                                        \
    put(out, expression);                                                                          \
  }
// The same for a difference to the row before; zero comes before the first.
#define COLUMN_DIFF(rows, n, field)                                                                \
  for (size_t i_ = 0; i_ < (n); i_++)                                                              \
  put_diff(out, (uint64_t)(rows)[i_].field, i_ ? (uint64_t)(rows)[i_ - 1].field : 0)

void tide_encode_facts(struct tide_buf *out, const struct tide_capture *capture, uint32_t n_parts)
{
  tide_buf_string(out, capture->tool_version);
  tide_buf_varint(out, capture->arch);
  tide_buf_varint(out, capture->kernel_page_bytes);
  tide_buf_string(out, capture->hostname);
  tide_buf_string(out, capture->kernel);
  tide_buf_varint(out, capture->start_realtime_ns);
  tide_buf_varint(out, capture->duration_ns);
  tide_buf_u8(out, capture->finished);
  tide_buf_varint(out, capture->n_images_left_out);
  tide_buf_varint(out, capture->n_images);
  tide_buf_varint(out, n_parts);
  tide_buf_string(out, capture->taken ? capture->taken : "");
}

static void put_loss(struct tide_buf *out, const struct tide_loss *loss)
{
  tide_buf_varint(out, loss->n_unknown_free);
  tide_buf_varint(out, loss->n_lost_busy);
  tide_buf_varint(out, loss->n_lost_full);
  tide_buf_varint(out, loss->n_cut);
  tide_buf_varint(out, loss->n_broken);
  tide_buf_varint(out, loss->n_guessed);
  tide_buf_varint(out, loss->n_fork_lost);
  tide_buf_varint(out, loss->n_failed);
}

void tide_encode_image(struct tide_buf *out, const struct tide_image *image)
{
  tide_buf_varint(out, image->pid);
  tide_buf_varint(out, image->ppid);
  tide_buf_varint(out, image->parent_image);
  tide_buf_u8(out, image->by_fork);
  tide_buf_string(out, image->exe);
  put_bytes(out, image->cmdline, image->cmdline ? image->cmdline_len : 0);
  tide_buf_string(out, image->allocator);
  tide_buf_varint(out, image->start_ns);
  tide_buf_varint(out, image->end_ns);
  tide_buf_varint(out, image->end_kind);
  tide_buf_zigzag(out, image->end_value);
  tide_buf_varint(out, image->inherited_bytes);
  tide_buf_varint(out, image->off_reason);
  tide_buf_zigzag(out, image->peak_bytes);
  tide_buf_zigzag(out, image->peak_blocks);
  tide_buf_varint(out, image->peak_ns);
  tide_buf_varint(out, image->peak_bound_bytes);
  tide_buf_varint(out, image->max_rss_bytes);
  tide_buf_varint(out, image->rss_at_peak_bytes);
  tide_buf_zigzag(out, image->page_live_bytes);
  tide_buf_zigzag(out, image->page_peak_bytes);
  tide_buf_varint(out, image->page_n_map);
  tide_buf_varint(out, image->page_b_map);
  tide_buf_varint(out, image->page_n_unmap);
  tide_buf_varint(out, image->page_b_unmap);
  tide_buf_varint(out, image->recorder_ns);
  tide_buf_varint(out, image->cpu_ns);
  tide_buf_varint(out, image->n_threads);
  tide_buf_varint(out, image->max_live_threads);
  tide_buf_varint(out, image->depth_limit);
  put_loss(out, &image->loss);
  tide_buf_varint(out, image->lacks);
  tide_buf_string(out, image->origin);
  tide_buf_varint(out, image->sampled_every_bytes);
  tide_buf_string(out, image->refused);
  bool is_resampled = image->has_spreads && image->is_resampled;
  bool has_now = is_resampled && image->sampled_now_bytes;
  if (image->has_spreads || image->n_pauses || image->is_reset)
    tide_buf_varint(out, (image->has_spreads ? TIDE_IMAGE_SPREADS : 0) |
                             (image->is_reset ? TIDE_IMAGE_RESET : 0) |
                             (image->n_pauses ? TIDE_IMAGE_PAUSES : 0) |
                             (is_resampled ? TIDE_IMAGE_RESAMPLED : 0) |
                             (has_now ? TIDE_IMAGE_SAMPLED_NOW : 0));
  if (image->n_pauses) {
    tide_buf_varint(out, image->n_pauses);
    tide_buf_varint(out, image->paused_ns);
    tide_buf_varint(out, image->is_paused);
  }
  if (has_now)
    tide_buf_varint(out, image->sampled_now_bytes);
}

static void put_table_head(struct tide_buf *out, size_t first, size_t n)
{
  tide_buf_varint(out, first);
  tide_buf_varint(out, n);
}

void tide_encode_modules(struct tide_buf *out, const struct tide_image *image, size_t first,
                         size_t n)
{
  const struct tide_module *rows = image->modules + first;
  put_table_head(out, first, n);
  COLUMN(tide_buf_string, rows, n, row->path)
  for (size_t i = 0; i < n; i++)
    put_bytes(out, rows[i].build_id, rows[i].build_id_len);
  COLUMN_DIFF(rows, n, start);
  COLUMN(tide_buf_varint, rows, n, row->end - row->start)
  for (size_t i = 0; i < n; i++)
    put_diff(out, rows[i].start, rows[i].bias);
  COLUMN(tide_buf_varint, rows, n, row->first_ns)
  COLUMN(tide_buf_varint, rows, n, row->generation)
}

void tide_encode_threads(struct tide_buf *out, const struct tide_image *image, size_t first,
                         size_t n)
{
  const struct tide_thread_row *rows = image->threads + first;
  put_table_head(out, first, n);
  COLUMN(tide_buf_varint, rows, n, row->tid)
  COLUMN(tide_buf_varint, rows, n, row->n_owners)
  for (size_t i = 0; i < n; i++)
    put_bytes(out, rows[i].name, strnlen(rows[i].name, sizeof rows[i].name - 1));
}

// Distinct (pc, module, flags) of one part's nodes. A thousand nodes share a few hundred places, so
// a node costs two bytes instead of ten.
struct places {
  struct tide_frame *items; // parent unused
  uint32_t n;
  uint32_t *of_node; // place of each node
};

static uint64_t place_hash(const struct tide_frame *f)
{
  uint64_t h = f->pc * 0x9e3779b97f4a7c15ull + ((uint64_t)f->module << 16 | f->flags);
  return (h ^ h >> 32) * 0xd6e8feb86659fd93ull >> 32;
}

static bool same_place(const struct tide_frame *a, const struct tide_frame *b)
{
  return a->pc == b->pc && a->module == b->module && a->flags == b->flags;
}

static int by_address(const void *left, const void *right)
{
  const struct tide_frame *a = left, *b = right;
  if (a->pc != b->pc)
    return a->pc < b->pc ? -1 : 1;
  if (a->module != b->module)
    return a->module < b->module ? -1 : 1;
  return (a->flags > b->flags) - (a->flags < b->flags);
}

static void places_find(struct places *places, const struct tide_frame *nodes, size_t n)
{
  size_t n_slots = 2 * n + 1; // not for a full part: most images of a run are small
  TIDE_CLEANUP_FREE uint32_t *slots = tide_alloc_array(n_slots, sizeof *slots); // index + 1
  for (size_t i = 0; i < n; i++) {
    size_t at = place_hash(&nodes[i]) % n_slots;
    while (slots[at] && !same_place(&places->items[slots[at] - 1], &nodes[i]))
      at = (at + 1) % n_slots;
    if (!slots[at]) {
      places->items[places->n] = nodes[i];
      places->items[places->n].parent = places->n; // remembers its first number through the sort
      slots[at] = ++places->n;
    }
    places->of_node[i] = slots[at] - 1;
  }
  qsort(places->items, places->n, sizeof *places->items, by_address);
  TIDE_CLEANUP_FREE uint32_t *sorted = tide_alloc_array(places->n, sizeof *sorted);
  for (uint32_t i = 0; i < places->n; i++)
    sorted[places->items[i].parent] = i;
  for (size_t i = 0; i < n; i++)
    places->of_node[i] = sorted[places->of_node[i]];
}

void tide_encode_frames(struct tide_buf *out, const struct tide_frame *nodes, size_t first,
                        size_t n)
{
  struct places places = {tide_alloc_array(n, sizeof *places.items), 0,
                          tide_alloc_array(n, sizeof *places.of_node)};
  places_find(&places, nodes, n);
  put_table_head(out, first, n);
  tide_buf_varint(out, places.n);
  COLUMN_DIFF(places.items, places.n, pc);
  COLUMN(tide_buf_varint, places.items, places.n, row->module)
  COLUMN(tide_buf_varint, places.items, places.n, row->flags)
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, first + i - nodes[i].parent);
  COLUMN(tide_buf_varint, places.of_node, n, *row)
  free(places.items);
  free(places.of_node);
}

// The times of rows first .. first + n of a table, `step` bytes apart, as differences that never
// fall: a clock that stepped back is held instead.
static void put_times(struct tide_buf *out, const void *times, size_t step, size_t first, size_t n)
{
  uint64_t before_ns = 0, held_ns = 0;
  for (size_t i = 0; i < first + n; i++) {
    uint64_t time_ns = *(const uint64_t *)((const char *)times + i * step);
    held_ns = time_ns > held_ns ? time_ns : held_ns;
    if (i < first)
      continue;
    tide_buf_varint(out, held_ns - before_ns);
    before_ns = held_ns;
  }
}

void tide_encode_timeline(struct tide_buf *out, const struct tide_image *image, size_t first,
                          size_t n)
{
  const struct tide_tick *rows = image->ticks + first;
  put_table_head(out, first, n);
  put_times(out, &image->ticks->time_ns, sizeof *rows, first, n);
  COLUMN_DIFF(rows, n, live_bytes);
  COLUMN_DIFF(rows, n, live_blocks);
  COLUMN_DIFF(rows, n, n_alloc);
  COLUMN_DIFF(rows, n, b_alloc);
  COLUMN_DIFF(rows, n, n_free);
  COLUMN_DIFF(rows, n, rss_bytes);
  COLUMN_DIFF(rows, n, page_bytes);
  if (!image->has_tick_resizes)
    return;
  COLUMN_DIFF(rows, n, n_resize);
  COLUMN_DIFF(rows, n, b_resized);
}

void tide_encode_events(struct tide_buf *out, const struct tide_image *image, size_t first,
                        size_t n)
{
  const struct tide_event_row *rows = image->events + first;
  tide_buf_varint(out, first);
  tide_buf_varint(out, n);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].stack - (i ? rows[i - 1].stack : 0));
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].thread);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].n);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].weight);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].first_ns);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].last_ns);
}

void tide_encode_marks(struct tide_buf *out, const struct tide_image *image, size_t first, size_t n)
{
  const struct tide_mark *rows = image->marks + first;
  put_table_head(out, first, n);
  put_times(out, &image->marks->time_ns, sizeof *rows, first, n);
  COLUMN(tide_buf_string, rows, n, row->name)
}
