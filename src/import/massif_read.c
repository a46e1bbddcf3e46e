// SPDX-License-Identifier: Apache-2.0
//
// massif.out, of valgrind or of whoever writes the same: live bytes at some fifty moments, at some
// of them with a tree. Blocks are not counted and nothing is known of what was freed, so all an
// image gets is a timeline, snapshots, and who held the peak.
//
// A tree has the innermost frame at its top. A leaf is a stack, read outwards; what massif folds
// as too small is a stack whose outer frames were left out.
//
// The peak is the largest snapshot. Massif takes no tree there when a program ends at its peak:
// then the largest tree stands in for it, what that lacks has no stack, and the origin says so.
// Massif's own peak is within --peak-inaccuracy, which is the bound.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/units.h"
#include "import/builder.h"
#include "import/importers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LACKS                                                                                      \
  (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS | TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES |                     \
   TIDE_LACK_LIFE_HIST | TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS |             \
   TIDE_LACK_TIMES)

enum { MAX_DEPTH = 1024 };

struct level { // of the tree, from the innermost frame outwards
  struct tide_import_place place;
  uint64_t bytes_left;   // not yet in a child
  uint64_t n_left;       // children still to come
  bool is_root, is_fold; // the line above all; "in 3 places, below massif's threshold"
};

struct reader {
  struct tide_stream *stream;
  struct tide_builder *builder;
  struct tide_buf scratch;
  struct tide_diag *diag;
  uint64_t ns_per_unit; // 0: the unit is no time
  double inaccuracy;    // share of the peak
  // The snapshot being read.
  bool in_snapshot, is_peak;
  uint64_t n_snapshots;
  uint64_t time, heap_bytes;
  struct level *levels;
  size_t n_levels;
  struct tide_snapshot_row *rows;
  size_t n_rows, cap_rows;
  bool has_tree;
  // What was seen so far.
  uint64_t last_time_ns, most_bytes, most_time_ns, best_bytes;
  struct tide_snapshot best; // largest with a tree; its rows are owned here
  bool last_is_known;        // who held what at the end
  bool in_line;              // the file ends in the middle of one
};

bool tide_massif_recognise(const uint8_t *head, size_t n)
{
  const char *end = n ? memmem(head, n, "\ntime_unit: ", 12) : NULL;
  return n > 6 && memcmp(head, "desc: ", 6) == 0 && end;
}

static enum tide_err wrong_line(struct reader *r, const struct tide_stream_line *line,
                                const char *what)
{
  return tide_stream_fail(r->stream, TIDE_ERR_FORMAT, line->offset, r->diag,
                          "not as massif writes it: %s", what);
}

static bool line_starts(const struct tide_stream_line *line, const char *word)
{
  size_t n = strlen(word);
  return line->n >= n && memcmp(line->text, word, n) == 0;
}

static bool take_u64(const char **at, const char *end, uint64_t *ret_value)
{
  uint64_t value = 0;
  const char *start = *at;
  for (; *at < end && isdigit((unsigned char)**at); ++*at) {
    if (value > (UINT64_MAX >> 1) / 10 - 1) // live bytes are signed in the model
      return false;
    value = value * 10 + (uint64_t)(**at - '0');
  }
  *ret_value = value;
  return *at > start;
}

static bool line_field(const struct tide_stream_line *line, const char *word, uint64_t *ret_value)
{
  const char *at = line->text + strlen(word), *end = line->text + line->n;
  return take_u64(&at, end, ret_value) && at == end;
}

static void add_row(struct reader *r, uint32_t node, uint64_t bytes)
{
  if (bytes == 0)
    return;
  TIDE_GROW(r->rows, r->n_rows, r->cap_rows);
  r->rows[r->n_rows++] = (struct tide_snapshot_row){.stack = node, .live_bytes = (int64_t)bytes};
}

// The stack that ends outermost at level `last`, with frames left out beyond it or not.
static uint32_t stack_of(struct reader *r, size_t last, bool left_out)
{
  uint32_t node = 0;
  if (left_out) {
    bool has_frames = last >= 1;
    node = tide_builder_node(
        r->builder, 0,
        (struct tide_import_place){.flags = has_frames ? TIDE_FRAME_CUT : TIDE_FRAME_LOST});
  }
  for (size_t i = last; i >= 1; i--)
    node = tide_builder_node(r->builder, node, r->levels[i].place);
  return node;
}

// The deepest level is done: what its children did not take is its own.
static void close_level(struct reader *r)
{
  size_t last = --r->n_levels;
  const struct level *level = &r->levels[last];
  bool folded = level->is_fold;
  if (level->bytes_left)
    add_row(r, stack_of(r, folded ? last - 1 : last, folded || level->is_root), level->bytes_left);
}

static int by_stack(const void *left, const void *right)
{
  const struct tide_snapshot_row *a = left, *b = right;
  return (a->stack > b->stack) - (a->stack < b->stack);
}

static void merge_rows(struct reader *r)
{
  size_t n = 0;
  if (r->n_rows)
    qsort(r->rows, r->n_rows, sizeof *r->rows, by_stack);
  for (size_t i = 0; i < r->n_rows; i++)
    if (n && r->rows[n - 1].stack == r->rows[i].stack)
      r->rows[n - 1].live_bytes =
          (int64_t)((uint64_t)r->rows[n - 1].live_bytes + (uint64_t)r->rows[i].live_bytes);
    else
      r->rows[n++] = r->rows[i];
  r->n_rows = n;
}

static struct tide_snapshot copy_of(const struct tide_snapshot *s)
{
  struct tide_snapshot copy = *s;
  copy.rows = tide_alloc_array(s->n_rows, sizeof *s->rows);
  if (s->n_rows)
    memcpy(copy.rows, s->rows, s->n_rows * sizeof *s->rows);
  return copy;
}

// Of equal ones the one that massif calls the peak.
static void finish_tree(struct reader *r)
{
  struct tide_snapshot snapshot = {.time_ns = r->last_time_ns, .kind = TIDE_SNAPSHOT_TIMED};
  while (r->n_levels)
    close_level(r);
  merge_rows(r);
  for (size_t i = 0; i < r->n_rows; i++)
    tide_builder_site(r->builder, r->rows[i].stack); // questions about a moment go by sites
  snapshot.rows = r->rows;
  snapshot.n_rows = r->n_rows;
  if (!r->best.rows || r->heap_bytes > r->best_bytes ||
      (r->is_peak && r->heap_bytes == r->best_bytes)) {
    free(r->best.rows);
    r->best = copy_of(&snapshot);
    r->best_bytes = r->heap_bytes;
  }
  tide_builder_snapshot(r->builder, copy_of(&snapshot));
}

static void finish_snapshot(struct reader *r)
{
  if (!r->in_snapshot)
    return;
  uint64_t time_ns = r->ns_per_unit ? r->time * r->ns_per_unit : r->time;
  if (time_ns > r->last_time_ns)
    r->last_time_ns = time_ns;
  tide_builder_tick(r->builder, &(struct tide_tick){.time_ns = r->last_time_ns,
                                                    .live_bytes = (int64_t)r->heap_bytes});
  if (r->heap_bytes > r->most_bytes) {
    r->most_bytes = r->heap_bytes;
    r->most_time_ns = r->last_time_ns;
  }
  if (r->has_tree)
    finish_tree(r);
  r->last_is_known = r->has_tree || r->heap_bytes == 0;
  r->in_snapshot = r->has_tree = r->is_peak = false;
  r->n_levels = 0;
}

// "n3: 4096 TEXT", the depth taken off.
static enum tide_err read_node(struct reader *r, const struct tide_stream_line *line)
{
  const char *at = line->text, *end = line->text + line->n;
  while (at < end && *at == ' ')
    at++;
  size_t depth = (size_t)(at - line->text);
  uint64_t n_children, bytes;
  if (end - at < 2 || *at++ != 'n' || !take_u64(&at, end, &n_children) || end - at < 2 ||
      at[0] != ':' || at[1] != ' ')
    return wrong_line(r, line, "a line of a tree was expected");
  at += 2;
  if (!take_u64(&at, end, &bytes))
    return wrong_line(r, line, "a node has no bytes");
  at += at < end;
  if (depth >= MAX_DEPTH)
    return wrong_line(r, line, "the tree is more than 1023 calls deep");
  while (r->n_levels > depth)
    close_level(r);
  if (depth > r->n_levels || (depth == 0) != !r->has_tree ||
      (depth && r->levels[depth - 1].n_left == 0))
    return wrong_line(r, line, "a node hangs in the air");
  struct level *level = &r->levels[r->n_levels++];
  *level = (struct level){.bytes_left = bytes, .n_left = n_children, .is_root = depth == 0};
  r->has_tree = true;
  if (depth == 0)
    return TIDE_ERR_OK;
  struct level *parent = level - 1;
  parent->n_left--;
  parent->bytes_left -= bytes < parent->bytes_left ? bytes : parent->bytes_left;
  level->is_fold = end - at > 3 && memcmp(at, "in ", 3) == 0 && isdigit((unsigned char)at[3]);
  struct tide_frame_text frame;
  tide_frame_text_parse(at, (size_t)(end - at), &r->scratch, &frame);
  if (!level->is_fold)
    level->place = tide_frame_text_place(r->builder, &frame);
  return TIDE_ERR_OK;
}

static enum tide_err read_header(struct reader *r, const struct tide_stream_line *line)
{
  struct tide_image *image = r->builder->image;
  const char *inaccuracy = memmem(line->text, line->n, "--peak-inaccuracy=", 18);
  if (line_starts(line, "desc:") && inaccuracy) {
    r->inaccuracy = strtod(inaccuracy + 18, NULL) / 100;
    r->inaccuracy = r->inaccuracy >= 0 && r->inaccuracy <= 1 ? r->inaccuracy : 1;
  } else if (line_starts(line, "cmd: ") && !image->cmdline) {
    tide_builder_command(r->builder, line->text + 5, line->n - 5);
  } else if (line_starts(line, "time_unit: ")) {
    r->ns_per_unit = line_starts(line, "time_unit: ms") ? 1000000 : 0;
    if (!r->ns_per_unit)
      image->lacks |= TIDE_LACK_CLOCK;
  }
  return TIDE_ERR_OK;
}

static enum tide_err read_field(struct reader *r, const struct tide_stream_line *line)
{
  uint64_t ignored;
  bool good = true;
  if (line_starts(line, "time="))
    good = line_field(line, "time=", &r->time) && r->time <= UINT64_MAX / 1000000 / 4;
  else if (line_starts(line, "mem_heap_B="))
    good = line_field(line, "mem_heap_B=", &r->heap_bytes);
  else if (line_starts(line, "mem_heap_extra_B="))
    good = line_field(line, "mem_heap_extra_B=", &ignored);
  else if (line_starts(line, "mem_stacks_B="))
    good = line_field(line, "mem_stacks_B=", &ignored);
  else if (line_starts(line, "heap_tree="))
    r->is_peak = line_starts(line, "heap_tree=peak");
  else
    return read_node(r, line);
  return good ? TIDE_ERR_OK : wrong_line(r, line, "a number was expected");
}

static enum tide_err read_line(struct reader *r, const struct tide_stream_line *line)
{
  if (line->n == 0 || line->text[0] == '#')
    return TIDE_ERR_OK;
  if (line_starts(line, "snapshot=")) {
    finish_snapshot(r);
    r->in_snapshot = true;
    r->n_snapshots++;
    r->time = r->heap_bytes = 0;
    r->n_rows = 0;
    return TIDE_ERR_OK;
  }
  return r->in_snapshot ? read_field(r, line) : read_header(r, line);
}

// Massif ends its file without a sign, so a file is cut where a tree or a line is.
static bool ends_in_the_middle(const struct reader *r)
{
  for (size_t i = 0; i < r->n_levels; i++)
    if (r->levels[i].n_left)
      return true;
  return false;
}

static void insert_snapshot(struct reader *r, struct tide_snapshot snapshot)
{
  const struct tide_image *image = r->builder->image;
  tide_builder_snapshot(r->builder, snapshot);
  size_t at = image->n_snapshots - 1;
  for (; at > 0 && image->snapshots[at - 1].time_ns >= snapshot.time_ns; at--)
    image->snapshots[at] = image->snapshots[at - 1];
  image->snapshots[at] = snapshot;
}

// The largest snapshot has no tree: the largest tree stands in, and the rest is without a stack.
static void make_peak(struct reader *r)
{
  char size[TIDE_UNITS_MAX];
  struct tide_image *image = r->builder->image;
  free(image->origin);
  image->origin =
      tide_sprintf("massif.out (no stacks at its peak: those of %s are shown)",
                   tide_units_bytes(size, tide_exact((int64_t)r->best_bytes), TIDE_STYLE_PLAIN));
  r->n_rows = 0;
  for (size_t i = 0; i < r->best.n_rows; i++)
    add_row(r, r->best.rows[i].stack, (uint64_t)r->best.rows[i].live_bytes);
  add_row(r, stack_of(r, 0, true), r->most_bytes - r->best_bytes);
  merge_rows(r);
  free(r->best.rows);
  struct tide_snapshot made = {
      .time_ns = r->most_time_ns, .kind = TIDE_SNAPSHOT_PEAK, .rows = r->rows, .n_rows = r->n_rows};
  r->best = copy_of(&made);
  r->best_bytes = r->most_bytes;
  insert_snapshot(r, copy_of(&made));
}

static void fill_peak(struct reader *r)
{
  struct tide_image *image = r->builder->image;
  image->start_ns = 0;
  image->end_ns = r->builder->capture->duration_ns = r->last_time_ns;
  image->end_kind = TIDE_END_UNKNOWN;
  if (!r->best.rows) {
    image->lacks |= TIDE_LACK_PEAK;
    return;
  }
  if (r->most_bytes > r->best_bytes)
    make_peak(r);
  image->peak_bytes = (int64_t)r->best_bytes;
  image->peak_ns = r->best.time_ns;
  image->peak_bound_bytes = (uint64_t)((double)r->best_bytes * r->inaccuracy);
  for (size_t i = 0; i < r->best.n_rows; i++)
    tide_builder_site(r->builder, r->best.rows[i].stack)->peak_bytes = r->best.rows[i].live_bytes;
}

static bool same_snapshot(const struct tide_snapshot *a, const struct tide_snapshot *b)
{
  bool same = a->time_ns == b->time_ns && b->rows && a->n_rows == b->n_rows;
  for (size_t i = 0; same && i < a->n_rows; i++)
    same = a->rows[i].stack == b->rows[i].stack && a->rows[i].live_bytes == b->rows[i].live_bytes;
  return same;
}

// The end is known when massif looked closely then, or nothing was left. The snapshots that are the
// peak and the end say so.
static void fill_end(struct reader *r)
{
  struct tide_image *image = r->builder->image;
  size_t peak = 0;
  while (peak < image->n_snapshots && !same_snapshot(&image->snapshots[peak], &r->best))
    peak++;
  if (peak < image->n_snapshots)
    image->snapshots[peak].kind = TIDE_SNAPSHOT_PEAK;
  if (!r->last_is_known) {
    image->lacks |= TIDE_LACK_LIVE;
    return;
  }
  const struct tide_tick *last = &image->ticks[image->n_ticks - 1];
  bool left = last->live_bytes > 0;
  struct tide_snapshot end = {.time_ns = last->time_ns, .kind = TIDE_SNAPSHOT_END};
  if (left)
    end = copy_of(&image->snapshots[image->n_snapshots - 1]);
  end.kind = TIDE_SNAPSHOT_END;
  for (size_t i = 0; i < end.n_rows; i++)
    tide_builder_site(r->builder, end.rows[i].stack)->b_alloc = (uint64_t)end.rows[i].live_bytes;
  if (!end.rows)
    end.rows = tide_alloc(sizeof *end.rows);
  tide_builder_snapshot(r->builder, end);
}

static enum tide_err finish_capture(struct reader *r, struct tide_capture **ret_capture)
{
  struct tide_diag diag = {0};
  enum tide_err err = tide_stream_status(r->stream, &diag);
  if (!err && (r->in_line || ends_in_the_middle(r)))
    err = tide_stream_fail(r->stream, TIDE_ERR_CUT, tide_stream_offset(r->stream), &diag,
                           "it ends in the middle of a %s", r->in_line ? "line" : "tree");
  if (err && err != TIDE_ERR_CUT && err != TIDE_ERR_DAMAGED) {
    *r->diag = diag;
    return err;
  }
  if (err) { // without the snapshot that is not whole
    tide_builder_cut(r->builder, diag.text);
    r->in_snapshot = false;
  }
  finish_snapshot(r);
  if (r->builder->image->n_ticks == 0)
    return err ? (*r->diag = diag, err)
               : tide_stream_fail(r->stream, TIDE_ERR_EMPTY, tide_stream_offset(r->stream), r->diag,
                                  "it holds no snapshot");
  fill_peak(r);
  fill_end(r);
  return tide_builder_finish(r->builder, ret_capture, r->diag);
}

enum tide_err tide_massif_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                               struct tide_diag *diag)
{
  struct tide_diag spare;
  struct reader r = {.stream = stream, .diag = diag ? diag : &spare, .inaccuracy = 0.01};
  r.builder = tide_builder_new("massif.out", LACKS);
  r.levels = tide_alloc_array(MAX_DEPTH, sizeof *r.levels);
  struct tide_stream_line line;
  enum tide_err err = TIDE_ERR_OK;
  while (!err && tide_stream_line(stream, &line)) {
    err = read_line(&r, &line);
    r.in_line = err && !line.is_whole;
    err = r.in_line ? TIDE_ERR_OK : err;
  }
  if (!err)
    err = finish_capture(&r, ret_capture);
  tide_builder_free(r.builder);
  tide_buf_done(&r.scratch);
  free(r.levels);
  free(r.rows);
  free(r.best.rows);
  return err;
}
