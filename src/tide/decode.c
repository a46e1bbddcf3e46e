// SPDX-License-Identifier: Apache-2.0
//
// The payloads of a .tide file, bytes to model: one function per part type, in the order of
// docs/tide-format.md. The bytes are outside data.
//
// Invariants
//  1. A count is compared with the bytes left (a row takes at least one byte per column) and taken
//     from the budget before anything is allocated for it.
//  2. All or nothing: rows are decoded behind the end of a table, and the table grows only when
//     the whole part was good.
#include "tide/decode.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool tide_budget_take(struct tide_budget *budget, uint64_t n, uint64_t bytes_each)
{
  uint64_t bytes;
  if (__builtin_mul_overflow(n, bytes_each, &bytes) || bytes > budget->left_bytes)
    return false;
  budget->left_bytes -= bytes;
  return true;
}

enum tide_err tide_decode_facts(struct tide_cursor *in, struct tide_capture *capture,
                                struct tide_facts_extra *ret_extra, const char **ret_why)
{
  capture->tool_version = get_string(in);
  capture->arch = get_u32(in);
  capture->kernel_page_bytes = get_u32(in);
  capture->hostname = get_string(in);
  capture->kernel = get_string(in);
  capture->start_realtime_ns = tide_cursor_varint(in);
  capture->duration_ns = tide_cursor_varint(in);
  capture->finished = tide_cursor_u8(in) != 0;
  capture->n_images_left_out = get_u32(in);
  struct tide_facts_extra extra = {.n_images = get_u32(in)};
  extra.n_parts = get_u32(in);
  if (!in->bad && tide_cursor_left(in) > 0) // since 1.6
    capture->taken = get_string(in);
  if (capture->taken && !*capture->taken) {
    free(capture->taken);
    capture->taken = NULL;
  }
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  *ret_extra = extra;
  return TIDE_ERR_OK;
}

static void get_loss(struct tide_cursor *in, struct tide_loss *loss)
{
  loss->n_unknown_free = tide_cursor_varint(in);
  loss->n_lost_busy = tide_cursor_varint(in);
  loss->n_lost_full = tide_cursor_varint(in);
  loss->n_cut = tide_cursor_varint(in);
  loss->n_broken = tide_cursor_varint(in);
  loss->n_guessed = tide_cursor_varint(in);
  loss->n_fork_lost = tide_cursor_varint(in);
  loss->n_failed = tide_cursor_varint(in);
}

static void get_cmdline(struct tide_cursor *in, struct tide_image *image)
{
  size_t n;
  const uint8_t *bytes = get_bytes(in, &n);
  if (n > UINT32_MAX)
    in->bad = true;
  if (!bytes || in->bad)
    n = 0;
  image->cmdline = tide_alloc(n + 1); // ends in a NUL whatever the file says
  if (n)
    memcpy(image->cmdline, bytes, n);
  image->cmdline_len = (uint32_t)n;
}

// NULL where it is empty.
static char *get_filled_string(struct tide_cursor *in)
{
  char *text = get_string(in);
  if (!text || *text)
    return text;
  free(text);
  return NULL;
}

static void get_image(struct tide_cursor *in, struct tide_image *image)
{
  image->pid = get_u32(in);
  image->ppid = get_u32(in);
  image->parent_image = get_u32(in);
  image->by_fork = tide_cursor_u8(in) != 0;
  image->exe = get_string(in);
  get_cmdline(in, image);
  image->allocator = get_string(in);
  image->start_ns = tide_cursor_varint(in);
  image->end_ns = tide_cursor_varint(in);
  uint32_t end_kind = get_u32(in);
  image->end_kind = end_kind <= TIDE_END_DETACHED ? (enum tide_end_kind)end_kind : TIDE_END_UNKNOWN;
  image->end_value = get_i32(in);
  image->inherited_bytes = tide_cursor_varint(in);
  image->off_reason = get_u32(in);
  image->peak_bytes = tide_cursor_zigzag(in);
  image->peak_blocks = tide_cursor_zigzag(in);
  image->peak_ns = tide_cursor_varint(in);
  image->peak_bound_bytes = tide_cursor_varint(in);
  image->max_rss_bytes = tide_cursor_varint(in);
  image->rss_at_peak_bytes = tide_cursor_varint(in);
  image->page_live_bytes = tide_cursor_zigzag(in);
  image->page_peak_bytes = tide_cursor_zigzag(in);
  image->page_n_map = tide_cursor_varint(in);
  image->page_b_map = tide_cursor_varint(in);
  image->page_n_unmap = tide_cursor_varint(in);
  image->page_b_unmap = tide_cursor_varint(in);
  image->recorder_ns = tide_cursor_varint(in);
  image->cpu_ns = tide_cursor_varint(in);
  image->n_threads = get_u32(in);
  image->max_live_threads = get_u32(in);
  image->depth_limit = get_u32(in);
  get_loss(in, &image->loss);
  if (in->bad || tide_cursor_left(in) == 0) // before these two were appended
    return;
  image->lacks = get_u32(in);
  image->origin = get_filled_string(in);    // empty: ours
  if (!in->bad && tide_cursor_left(in) > 0) // since 1.6
    image->sampled_every_bytes = tide_cursor_varint(in);
  if (!in->bad && tide_cursor_left(in) > 0)
    image->refused = get_filled_string(in);
  image->has_samples = image->sampled_every_bytes > TIDE_SAMPLED_SOMEHOW;
  uint64_t more = !in->bad && tide_cursor_left(in) > 0 ? tide_cursor_varint(in) : 0;
  image->has_spreads = more & TIDE_IMAGE_SPREADS && image->has_samples;
  image->is_resampled = more & TIDE_IMAGE_RESAMPLED && image->has_spreads;
  image->is_reset = more & TIDE_IMAGE_RESET;
  if (more & TIDE_IMAGE_PAUSES) {
    image->n_pauses = get_u32(in);
    image->paused_ns = tide_cursor_varint(in);
    image->is_paused = tide_cursor_varint(in);
  }
  uint64_t now_bytes = more & TIDE_IMAGE_SAMPLED_NOW ? tide_cursor_varint(in) : 0;
  image->sampled_now_bytes = image->is_resampled ? now_bytes : 0;
}

// Row 0 of the tables that have one from the start, so that index 0 is good in any file.
static void add_first_rows(struct tide_image *image)
{
  image->modules = tide_alloc(sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->frames = tide_alloc(sizeof *image->frames);
  image->threads = tide_alloc(sizeof *image->threads);
  image->n_modules = image->n_frames = image->n_threads_known = 1;
}

enum tide_err tide_decode_image(struct tide_cursor *in, struct tide_capture *capture,
                                struct tide_budget *budget, const char **ret_why)
{
  struct tide_image image = {0};
  if (!tide_budget_take(budget, 1, sizeof image + tide_cursor_left(in) + 512))
    return too_much(ret_why);
  get_image(in, &image);
  if (in->bad || image.parent_image > capture->n_images) {
    free(image.exe);
    free(image.cmdline);
    free(image.allocator);
    free(image.origin);
    free(image.refused);
    return damaged(ret_why, in->bad ? "a field runs past the end" : "its parent comes later");
  }
  add_first_rows(&image);
  capture->images =
      tide_realloc_array(capture->images, capture->n_images + 1, sizeof *capture->images);
  capture->images[capture->n_images++] = image;
  return TIDE_ERR_OK;
}

static void get_build_id(struct tide_cursor *in, struct tide_module *module)
{
  size_t n;
  const uint8_t *bytes = get_bytes(in, &n);
  if (n > sizeof module->build_id)
    in->bad = true;
  if (!bytes || in->bad)
    return;
  memcpy(module->build_id, bytes, n);
  module->build_id_len = (uint32_t)n;
}

static enum tide_err decode_modules(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_modules;
  enum tide_err err =
      get_table_head(in, budget, before, 7, sizeof *image->modules + 32, &n, ret_why);
  if (err)
    return err;
  if (before + n > TIDE_MAX_MODULES)
    return damaged(ret_why, "too many modules");
  MAKE_ROOM(image->modules, before, n);
  struct tide_module *rows = image->modules + before;
  COLUMN(rows, n, path, get_string(in));
  for (size_t i = 0; i < n; i++)
    get_build_id(in, &rows[i]);
  COLUMN_DIFF(rows, n, start);
  COLUMN(rows, n, end, rows[i].start + tide_cursor_varint(in));
  COLUMN(rows, n, bias, rows[i].start - (uint64_t)tide_cursor_zigzag(in));
  COLUMN(rows, n, first_ns, tide_cursor_varint(in));
  COLUMN(rows, n, generation, get_u32(in));
  if (in->bad) {
    for (size_t i = 0; i < n; i++)
      free(rows[i].path);
    return damaged(ret_why, "a field is too long or runs past the end");
  }
  image->n_modules += n;
  return TIDE_ERR_OK;
}

static void get_thread_name(struct tide_cursor *in, struct tide_thread_row *thread)
{
  size_t n;
  const uint8_t *bytes = get_bytes(in, &n);
  if (n >= sizeof thread->name || (bytes && memchr(bytes, 0, n)))
    in->bad = true;
  if (bytes && !in->bad)
    memcpy(thread->name, bytes, n);
}

static enum tide_err decode_threads(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_threads_known;
  enum tide_err err = get_table_head(in, budget, before, 3, sizeof *image->threads, &n, ret_why);
  if (err)
    return err;
  if (before + n > UINT32_MAX)
    return damaged(ret_why, "too many threads");
  MAKE_ROOM(image->threads, before, n);
  struct tide_thread_row *rows = image->threads + before;
  COLUMN(rows, n, tid, get_u32(in));
  COLUMN(rows, n, n_owners, get_u32(in));
  for (size_t i = 0; i < n; i++)
    get_thread_name(in, &rows[i]);
  if (in->bad)
    return damaged(ret_why, "a field is too long or runs past the end");
  image->n_threads_known += n;
  return TIDE_ERR_OK;
}

// The places of a FRAMES part as frames without a parent; owned by the caller, NULL when bad.
static struct tide_frame *get_places(struct tide_cursor *in, const struct tide_image *image,
                                     size_t n)
{
  struct tide_frame *places = tide_alloc_array(n, sizeof *places);
  COLUMN_DIFF(places, n, pc);
  COLUMN(places, n, module, get_u16(in));
  COLUMN(places, n, flags, get_u16(in));
  bool good = !in->bad;
  for (size_t i = 0; i < n; i++)
    good &= places[i].module < image->n_modules;
  if (good)
    return places;
  free(places);
  return NULL;
}

static enum tide_err decode_frames(struct tide_cursor *in, struct tide_image *image,
                                   struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_frames;
  enum tide_err err = get_table_head(in, budget, before, 2, sizeof *image->frames, &n, ret_why);
  if (err)
    return err;
  if (before + n > UINT32_MAX)
    return damaged(ret_why, "too many frames");
  uint64_t n_places = tide_cursor_varint(in);
  if (in->bad || n_places > tide_cursor_left(in) / 3)
    return damaged(ret_why, "it claims more places than it holds");
  if (!tide_budget_take(budget, n_places, sizeof *image->frames))
    return too_much(ret_why);
  TIDE_CLEANUP_FREE struct tide_frame *places = get_places(in, image, (size_t)n_places);
  if (!places)
    return damaged(ret_why, "a place is outside of all modules");
  MAKE_ROOM(image->frames, before, n);
  struct tide_frame *rows = image->frames + before;
  for (size_t i = 0; i < n; i++) {
    uint64_t up = tide_cursor_varint(in);
    if (up == 0 || up > before + i)
      return damaged(ret_why, "a frame comes before its parent");
    rows[i].parent = (uint32_t)(before + i - up);
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t place = tide_cursor_varint(in);
    if (in->bad || place >= n_places)
      return damaged(ret_why, "a frame has no place");
    rows[i].pc = places[place].pc;
    rows[i].module = places[place].module;
    rows[i].flags = places[place].flags;
  }
  image->n_frames += n;
  return TIDE_ERR_OK;
}

static enum tide_err decode_timeline(struct tide_cursor *in, struct tide_image *image,
                                     struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_ticks;
  enum tide_err err = get_table_head(in, budget, before, 8, sizeof *image->ticks, &n, ret_why);
  if (err)
    return err;
  MAKE_ROOM(image->ticks, before, n);
  struct tide_tick *rows = image->ticks + before;
  COLUMN(rows, n, time_ns, get_rise(in, i ? rows[i - 1].time_ns : 0));
  COLUMN_DIFF(rows, n, live_bytes);
  COLUMN_DIFF(rows, n, live_blocks);
  COLUMN_DIFF(rows, n, n_alloc);
  COLUMN_DIFF(rows, n, b_alloc);
  COLUMN_DIFF(rows, n, n_free);
  COLUMN_DIFF(rows, n, rss_bytes);
  COLUMN_DIFF(rows, n, page_bytes);
  bool has_resizes = image->has_tick_resizes;
  if (!get_appended(in, before, n, &has_resizes))
    return damaged(ret_why, "it has other columns than the part before");
  if (has_resizes) {
    COLUMN_DIFF(rows, n, n_resize);
    COLUMN_DIFF(rows, n, b_resized);
  }
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  if (n > 0 && before > 0 && rows[0].time_ns < rows[-1].time_ns)
    return damaged(ret_why, "time goes back");
  image->n_ticks += n;
  image->has_tick_resizes = has_resizes;
  return TIDE_ERR_OK;
}

static enum tide_err decode_events(struct tide_cursor *in, struct tide_image *image,
                                   struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_events;
  enum tide_err err = get_table_head(in, budget, before, 6, sizeof *image->events, &n, ret_why);
  if (err)
    return err;
  MAKE_ROOM(image->events, before, n);
  struct tide_event_row *rows = image->events + before;
  COLUMN(rows, n, stack, (uint32_t)get_limited(in, UINT32_MAX) + (i ? rows[i - 1].stack : 0));
  COLUMN(rows, n, thread, get_u32(in));
  COLUMN(rows, n, n, tide_cursor_varint(in));
  COLUMN(rows, n, weight, tide_cursor_varint(in));
  COLUMN(rows, n, first_ns, tide_cursor_varint(in));
  COLUMN(rows, n, last_ns, tide_cursor_varint(in));
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  for (size_t i = 0; i < n; i++) {
    const struct tide_event_row *row = &rows[i];
    if (row->stack >= image->n_frames)
      return damaged(ret_why, "an event has no stack");
    if (row->thread >= image->n_threads_known)
      return damaged(ret_why, "an event has no thread");
    if (before + i > 0 && !tide_event_row_is_before(row - 1, row))
      return damaged(ret_why, "events are out of order");
  }
  image->n_events += n;
  return TIDE_ERR_OK;
}

static enum tide_err decode_marks(struct tide_cursor *in, struct tide_image *image,
                                  struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_marks;
  enum tide_err err = get_table_head(in, budget, before, 2, sizeof *image->marks + 32, &n, ret_why);
  if (err)
    return err;
  MAKE_ROOM(image->marks, before, n);
  struct tide_mark *rows = image->marks + before;
  COLUMN(rows, n, time_ns, get_rise(in, i ? rows[i - 1].time_ns : 0));
  COLUMN(rows, n, name, get_string(in));
  bool falls = n > 0 && before > 0 && rows[0].time_ns < rows[-1].time_ns;
  if (in->bad || falls) {
    for (size_t i = 0; i < n; i++)
      free(rows[i].name);
    return damaged(ret_why, falls ? "time goes back" : "a field runs past the end");
  }
  image->n_marks += n;
  return TIDE_ERR_OK;
}

enum tide_err tide_decode_of_image(const struct tide_part *part, struct tide_cursor *in,
                                   struct tide_image *image, struct tide_budget *budget,
                                   const char **ret_why)
{
  bool by_stack = part->flags & TIDE_PART_BY_STACK, goes_on = part->flags & TIDE_PART_GOES_ON;
  switch ((enum tide_part_type)part->type) {
  case TIDE_PART_MODULES: return decode_modules(in, image, budget, ret_why);
  case TIDE_PART_THREADS: return decode_threads(in, image, budget, ret_why);
  case TIDE_PART_FRAMES: return decode_frames(in, image, budget, ret_why);
  case TIDE_PART_SITES: return tide_decode_sites(in, by_stack, image, budget, ret_why);
  case TIDE_PART_TIMELINE: return decode_timeline(in, image, budget, ret_why);
  case TIDE_PART_EVENTS: return decode_events(in, image, budget, ret_why);
  case TIDE_PART_MARKS: return decode_marks(in, image, budget, ret_why);
  case TIDE_PART_SNAPSHOTS: return tide_decode_snapshots(in, goes_on, image, budget, ret_why);
  case TIDE_PART_SYMBOLS: return tide_decode_symbols(in, image, budget, ret_why);
  case TIDE_PART_LATE_FREES: return tide_decode_late_frees(in, image, budget, ret_why);
  case TIDE_PART_RESIDENT: return tide_decode_resident(in, image, ret_why);
  case TIDE_PART_ALLOCATORS: return tide_decode_allocators(in, image, ret_why);
  case TIDE_PART_HELD: return tide_decode_held(in, image, budget, ret_why);
  case TIDE_PART_RSS_KINDS: return tide_decode_rss_kinds(in, image, budget, ret_why);
  case TIDE_PART_RESIDENCE: return tide_decode_residence(in, image, budget, ret_why);
  default: return TIDE_ERR_OK; // a type of a later version: skipped
  }
}
