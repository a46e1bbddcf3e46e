// SPDX-License-Identifier: Apache-2.0
//
// The two big payloads of a .tide file, bytes to model: numbers per stack, and snapshots. The
// rules of tide_decode.c hold here too.
#include "tide/decode.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "model/rows.h"

#include <stdlib.h>

#define SITE_COLUMNS 20u // not counting the buckets

// Counts take a byte each at least, so there are no more than bytes.
static enum tide_err get_counts_of_buckets(struct tide_cursor *in, struct tide_image *image,
                                           struct tide_site *rows, size_t n,
                                           struct tide_budget *budget, const char **ret_why)
{
  size_t n_counts = 0;
  for (size_t i = 0; i < n; i++)
    n_counts += tide_site_n_counts(&rows[i]);
  if (in->bad || n_counts > tide_cursor_left(in))
    return damaged(ret_why, "a field runs past the end");
  if (!tide_budget_take(budget, n_counts, 2 * sizeof *image->counts.items))
    return too_much(ret_why);
  for (size_t i = 0; i < n; i++) {
    uint64_t *counts = tide_site_reserve_buckets(image, &rows[i]);
    for (unsigned k = 0; k < tide_site_n_counts(&rows[i]); k++)
      counts[k] = tide_cursor_varint(in);
  }
  return TIDE_ERR_OK;
}

// The codes of model/numbers.def, as tide_encode_sites.c has them.
#define GET_PLAIN(field) COLUMN(rows, n, field, (__typeof__(rows->field))tide_cursor_varint(in))
#define GET_SIGNED(field) COLUMN(rows, n, field, tide_cursor_zigzag(in))
#define GET_LEFT_BLOCKS(field)                                                                     \
  COLUMN(rows, n, field, rows[i].n_alloc - (uint64_t)tide_cursor_zigzag(in))
#define GET_LEFT_BYTES(field)                                                                      \
  COLUMN(rows, n, field, rows[i].b_alloc - (uint64_t)tide_cursor_zigzag(in))
#define GET_SINCE_FIRST(field) COLUMN(rows, n, field, get_diff(in, rows[i].first_ns))

struct known { // the flags of an image
#define TIDE_NUMBER_SINCE(flag, ...) bool flag;
#include "model/numbers.def"
};

static enum tide_err get_histograms(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_site *rows, size_t n, struct tide_budget *budget,
                                    const char **ret_why)
{
  COLUMN(rows, n, size_mask, (uint32_t)get_limited(in, (1ull << TIDE_SIZE_BUCKETS_N) - 1));
  COLUMN(rows, n, life_mask, get_limited(in, (1ull << TIDE_LIFE_BUCKETS_N) - 1));
  return get_counts_of_buckets(in, image, rows, n, budget, ret_why);
}

static enum tide_err get_numbers(struct tide_cursor *in, struct tide_image *image,
                                 struct tide_site *rows, size_t n, struct tide_budget *budget,
                                 struct known *known, const char **ret_why)
{
  size_t before = image->n_sites;
  bool has = true, since = true; // since: so far all of those that are appended
#define TIDE_NUMBER(field, type, rule, code, ...)                                                  \
  if (has)                                                                                         \
    GET_##code(field);
#define TIDE_NUMBER_SINCE(flag, ...)                                                               \
  known->flag = image->flag;                                                                       \
  if (!get_appended(in, before, n, &known->flag))                                                  \
    return damaged(ret_why, "it has other columns than the part before");                          \
  has = since = known->flag;
#define TIDE_NUMBER_WHERE(flag, ...)                                                               \
  known->flag = since && image->flag;                                                              \
  has = known->flag;
#define TIDE_NUMBER_HISTOGRAMS                                                                     \
  {                                                                                                \
    enum tide_err err = get_histograms(in, image, rows, n, budget, ret_why);                       \
    if (err)                                                                                       \
      return err;                                                                                  \
  }
#include "model/numbers.def"
  return TIDE_ERR_OK;
}

// Rows whose stack and times are told by those of the row before; the opposite of
// tell_by_neighbours() in tide_encode_sites.c. Numbers beyond 64 bits are cut, as the document has
// it.
static void take_from_neighbours(struct tide_site *rows, size_t n, uint64_t start_ns, uint32_t unit)
{
  int64_t stack = 0;
  uint64_t first = 0;
  for (size_t i = 0; i < n; i++) {
    struct tide_site *row = &rows[i];
    uint64_t since_first = row->last_ns - row->first_ns;
    stack += tide_unzigzag(row->stack);
    first += (uint64_t)tide_unzigzag(row->first_ns);
    row->stack = stack < 0 || stack > UINT32_MAX ? UINT32_MAX : (uint32_t)stack;
    row->first_ns = start_ns + first * unit;
    row->last_ns = start_ns + (first + since_first) * unit;
  }
}

enum tide_err tide_decode_sites(struct tide_cursor *in, bool by_stack, struct tide_image *image,
                                struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_sites;
  struct known known;
  enum tide_err err =
      get_table_head(in, budget, before, SITE_COLUMNS, sizeof(struct tide_site), &n, ret_why);
  if (err)
    return err;
  uint64_t unit = by_stack ? get_limited(in, TIDE_MAX_UNIT_NS) : 1;
  if (!unit)
    return damaged(ret_why, "its unit of time is none");
  TIDE_CLEANUP_FREE struct tide_site *rows = tide_alloc_array(n, sizeof *rows);
  COLUMN(rows, n, stack, get_u32(in));
  COLUMN(rows, n, thread, get_u32(in));
  err = get_numbers(in, image, rows, n, budget, &known, ret_why);
  if (err)
    return err;
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  if (by_stack)
    take_from_neighbours(rows, n, image->start_ns, (uint32_t)unit);
  for (size_t i = 0; i < n; i++) {
    if (rows[i].stack >= image->n_frames)
      return damaged(ret_why, "a site has no stack");
    if (rows[i].thread >= image->n_threads_known)
      return damaged(ret_why, "a site has no thread");
  }
  tide_image_add_sites(image, rows, n);
#define TIDE_NUMBER_SINCE(flag, ...) image->flag = known.flag;
#include "model/numbers.def"
  return TIDE_ERR_OK;
}

// Rows of a snapshot's list: a stack, above *next and all before, and two numbers as they stand in
// the file. They go behind those that the list has.
#define LIST_COLUMNS 3u

static enum tide_err get_list(struct tide_cursor *in, size_t n_frames, struct tide_budget *budget,
                              struct tide_columns **list, uint64_t *next, const char *too_many,
                              const char *no_stack, const char **ret_why)
{
  uint64_t n = tide_cursor_varint(in);
  if (in->bad || n > tide_cursor_left(in) / LIST_COLUMNS)
    return damaged(ret_why, too_many);
  if (!tide_budget_take(budget, n, sizeof(struct tide_snapshot_row)))
    return too_much(ret_why);
  TIDE_CLEANUP_FREE uint64_t(*rows)[LIST_COLUMNS] = tide_alloc_array((size_t)n, sizeof *rows);
  for (size_t i = 0; i < n; i++) {
    uint64_t gap = tide_cursor_varint(in);
    if (in->bad || *next >= n_frames || gap >= n_frames - *next)
      return damaged(ret_why, no_stack);
    rows[i][0] = *next + gap;
    *next += gap + 1;
  }
  for (unsigned column = 1; column < LIST_COLUMNS; column++)
    for (size_t i = 0; i < n; i++)
      rows[i][column] = tide_cursor_varint(in);
  if (in->bad)
    return damaged(ret_why, no_stack);
  if (!*list)
    *list = tide_columns_new(LIST_COLUMNS);
  for (size_t i = 0; i < n; i++)
    tide_columns_add(*list, rows[i]);
  return TIDE_ERR_OK;
}

// Changes: of live bytes and blocks, each a difference to the snapshot before.
static enum tide_err get_changes(struct tide_cursor *in, size_t n_frames,
                                 struct tide_budget *budget, struct tide_snapshot_pieces *pieces,
                                 const char **ret_why)
{
  return get_list(in, n_frames, budget, &pieces->changes, &pieces->next_change,
                  "a snapshot claims more rows than there are",
                  "a snapshot names a stack that does not exist", ret_why);
}

static enum tide_err get_counts(struct tide_cursor *in, size_t n_frames, struct tide_budget *budget,
                                struct tide_snapshot_pieces *pieces, const char **ret_why)
{
  return get_list(in, n_frames, budget, &pieces->counts, &pieces->next_count,
                  "a snapshot claims more counts than there are",
                  "a snapshot counts for a stack that does not exist", ret_why);
}

// A row of a list; behind its end one after all others.
struct list_row {
  uint32_t stack;
  uint64_t first, second;
};

static struct list_row list_row_at(const struct tide_columns *list, size_t i)
{
  if (i >= list->n_rows)
    return (struct list_row){.stack = UINT32_MAX};
  uint64_t row[LIST_COLUMNS];
  tide_columns_block_row(tide_columns_block_of(list, i), i % TIDE_COLUMNS_BLOCK_ROWS, 0,
                         LIST_COLUMNS, row);
  return (struct list_row){(uint32_t)row[0], row[1], row[2]};
}

static struct tide_snapshot_row row_at(const struct tide_snapshot *snapshot, size_t i)
{
  return i < snapshot->n_rows ? tide_snapshot_row_at(snapshot, i)
                              : (struct tide_snapshot_row){.stack = UINT32_MAX};
}

// rows of now = rows of before, changed; rows that end at zero go.
static void apply_changes(const struct tide_snapshot *before, struct tide_columns *changes,
                          struct tide_snapshot *now)
{
  struct tide_row_sink sink = {0};
  size_t old = 0, change = 0;
  tide_columns_finish(changes);
  struct tide_snapshot_row a = row_at(before, old);
  struct list_row b = list_row_at(changes, change);
  while (old < before->n_rows || change < changes->n_rows) {
    struct tide_snapshot_row row = {.stack = a.stack < b.stack ? a.stack : b.stack};
    if (a.stack == row.stack) {
      row.live_bytes = a.live_bytes;
      row.live_blocks = a.live_blocks;
      a = row_at(before, ++old);
    }
    if (b.stack == row.stack) {
      row.live_bytes = (int64_t)((uint64_t)row.live_bytes + (uint64_t)tide_unzigzag(b.first));
      row.live_blocks = (int64_t)((uint64_t)row.live_blocks + (uint64_t)tide_unzigzag(b.second));
      b = list_row_at(changes, ++change);
    }
    if (row.live_bytes != 0 || row.live_blocks != 0)
      tide_row_sink_add(&sink, &row);
  }
  tide_row_sink_finish(&sink, now);
}

// Adds what was allocated to the rows of a snapshot.
static void apply_counts(struct tide_columns *counts, struct tide_snapshot *snapshot)
{
  struct tide_row_sink sink = {0};
  size_t old = 0, more = 0;
  tide_columns_finish(counts);
  struct tide_snapshot_row a = row_at(snapshot, old);
  struct list_row b = list_row_at(counts, more);
  while (old < snapshot->n_rows || more < counts->n_rows) {
    struct tide_snapshot_row row = {.stack = b.stack};
    bool is_known = a.stack <= b.stack, is_counted = b.stack <= a.stack;
    if (is_known) {
      row = a;
      a = row_at(snapshot, ++old);
    }
    if (is_counted) {
      row.n_alloc += b.first;
      row.b_alloc += b.second;
      b = list_row_at(counts, ++more);
    }
    if (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc)
      tide_row_sink_add(&sink, &row);
  }
  tide_row_sink_finish(&sink, snapshot);
}

static void get_moment(struct tide_cursor *in, const struct tide_snapshot *before,
                       struct tide_snapshot *now)
{
  now->time_ns = get_rise(in, before->time_ns);
  uint32_t kind = get_u32(in);
  now->kind = kind <= TIDE_SNAPSHOT_END ? (enum tide_snapshot_kind)kind : TIDE_SNAPSHOT_TIMED;
}

static uint64_t bytes_kept(const struct tide_snapshot *snapshot)
{
  return snapshot->packed ? tide_columns_bytes(snapshot->packed)
                          : snapshot->n_rows * sizeof *snapshot->rows;
}

// A list has become rows. Of what was taken for it and for rows of their full size, those that are
// kept remain taken: most are packed, and there may be two hundred snapshots of them.
static void settle(struct tide_budget *budget, size_t n_taken, const struct tide_columns *list,
                   const struct tide_snapshot *snapshot)
{
  uint64_t kept = bytes_kept(snapshot);
  budget->left_bytes += (n_taken + list->n_rows) * sizeof *snapshot->rows;
  budget->left_bytes -= kept < budget->left_bytes ? kept : budget->left_bytes;
}

static enum tide_err take_changes(const struct tide_snapshot *before,
                                  const struct tide_snapshot_pieces *pieces,
                                  struct tide_budget *budget, struct tide_snapshot *now,
                                  const char **ret_why)
{
  size_t n = before->n_rows + pieces->changes->n_rows;
  if (!tide_budget_take(budget, n, sizeof *now->rows))
    return too_much(ret_why);
  apply_changes(before, pieces->changes, now);
  settle(budget, n, pieces->changes, now);
  return TIDE_ERR_OK;
}

static enum tide_err take_counts(const struct tide_snapshot_pieces *pieces,
                                 struct tide_budget *budget, struct tide_snapshot *snapshot,
                                 const char **ret_why)
{
  size_t n = snapshot->n_rows + pieces->counts->n_rows;
  uint64_t replaced = bytes_kept(snapshot);
  if (!tide_budget_take(budget, n, sizeof *snapshot->rows))
    return too_much(ret_why);
  if (pieces->counts->n_rows)
    apply_counts(pieces->counts, snapshot);
  settle(budget, n, pieces->counts, snapshot);
  budget->left_bytes += replaced;
  return TIDE_ERR_OK;
}

static const struct tide_snapshot *last_snapshot(const struct tide_image *image)
{
  static const struct tide_snapshot nothing;
  return image->n_snapshots ? &image->snapshots[image->n_snapshots - 1] : &nothing;
}

static enum tide_err take_pieces(const struct tide_snapshot *before,
                                 const struct tide_snapshot_pieces *pieces,
                                 struct tide_budget *budget, struct tide_snapshot *now,
                                 const char **ret_why)
{
  enum tide_err err = take_changes(before, pieces, budget, now, ret_why);
  if (!err && pieces->has_counts)
    err = take_counts(pieces, budget, now, ret_why);
  return err;
}

// A part with one snapshot, which goes on in the next part or began in the one before.
static enum tide_err decode_piece(struct tide_cursor *in, bool goes_on, struct tide_image *image,
                                  struct tide_budget *budget, const char **ret_why)
{
  bool is_first = !image->pieces;
  if (is_first)
    image->pieces = tide_alloc(sizeof *image->pieces);
  struct tide_snapshot_pieces *pieces = image->pieces;
  const struct tide_snapshot *before = last_snapshot(image);
  struct tide_snapshot now = {0};
  get_moment(in, before, &now);
  enum tide_err err = get_changes(in, image->n_frames, budget, pieces, ret_why);
  bool has_counts = is_first ? image->has_counts : pieces->has_counts;
  if (!err && !get_appended(in, is_first ? image->n_snapshots : 1, 1, &has_counts))
    err = damaged(ret_why, "it has other columns than the part before");
  pieces->has_counts = has_counts;
  if (!err && has_counts)
    err = get_counts(in, image->n_frames, budget, pieces, ret_why);
  if (err || goes_on)
    return err;
  err = take_pieces(before, pieces, budget, &now, ret_why);
  if (err) {
    tide_snapshot_done(&now);
    return err;
  }
  MAKE_ROOM(image->snapshots, image->n_snapshots, 1);
  image->snapshots[image->n_snapshots++] = now;
  image->has_counts = has_counts;
  tide_image_drop_pieces(image);
  return TIDE_ERR_OK;
}

static enum tide_err get_whole_changes(struct tide_cursor *in, const struct tide_snapshot *before,
                                       size_t n_frames, struct tide_budget *budget,
                                       struct tide_snapshot *now, const char **ret_why)
{
  struct tide_snapshot_pieces whole = {0};
  get_moment(in, before, now);
  enum tide_err err = get_changes(in, n_frames, budget, &whole, ret_why);
  if (!err)
    err = take_changes(before, &whole, budget, now, ret_why);
  tide_columns_free(whole.changes);
  return err;
}

static enum tide_err get_whole_counts(struct tide_cursor *in, size_t n_frames,
                                      struct tide_budget *budget, struct tide_snapshot *snapshot,
                                      const char **ret_why)
{
  struct tide_snapshot_pieces whole = {0};
  enum tide_err err = get_counts(in, n_frames, budget, &whole, ret_why);
  if (!err)
    err = take_counts(&whole, budget, snapshot, ret_why);
  tide_columns_free(whole.counts);
  return err;
}

enum tide_err tide_decode_snapshots(struct tide_cursor *in, bool goes_on, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why)
{
  static const struct tide_snapshot nothing;
  size_t n, before = image->n_snapshots;
  enum tide_err err = get_table_head(in, budget, before, 3, sizeof *image->snapshots, &n, ret_why);
  if (err)
    return err;
  if (before + n > TIDE_MAX_SNAPSHOTS)
    return damaged(ret_why, "too many snapshots");
  bool is_piece = goes_on || image->pieces;
  if (is_piece && n != 1)
    return damaged(ret_why, "a snapshot in pieces is not alone");
  if (is_piece)
    return decode_piece(in, goes_on, image, budget, ret_why);
  MAKE_ROOM(image->snapshots, before, n);
  for (size_t i = before; i < before + n && !err; i++)
    err = get_whole_changes(in, i ? &image->snapshots[i - 1] : &nothing, image->n_frames, budget,
                            &image->snapshots[i], ret_why);
  bool has_counts = image->has_counts;
  if (!err && !get_appended(in, before, n, &has_counts))
    err = damaged(ret_why, "it has other columns than the part before");
  for (size_t i = before; i < before + n && has_counts && !err; i++)
    err = get_whole_counts(in, image->n_frames, budget, &image->snapshots[i], ret_why);
  if (err) {
    for (size_t i = before; i < before + n; i++)
      tide_snapshot_done(&image->snapshots[i]);
    return err;
  }
  image->n_snapshots += n;
  image->has_counts = has_counts;
  return TIDE_ERR_OK;
}

enum tide_err tide_decode_late_frees(struct tide_cursor *in, struct tide_image *image,
                                     struct tide_budget *budget, const char **ret_why)
{
  size_t n, before = image->n_late_frees;
  enum tide_err err = get_table_head(in, budget, before, 5, sizeof *image->late_frees, &n, ret_why);
  if (err)
    return err;
  uint64_t total = tide_cursor_varint(in);
  MAKE_ROOM(image->late_frees, before, n);
  struct tide_late_free *rows = image->late_frees + before;
  COLUMN(rows, n, freed, (uint32_t)get_limited(in, UINT32_MAX) + (i ? rows[i - 1].freed : 0));
  COLUMN(rows, n, stack, get_u32(in));
  COLUMN(rows, n, born, rows[i].freed - get_u32(in));
  COLUMN(rows, n, n_blocks, tide_cursor_varint(in));
  COLUMN(rows, n, bytes, tide_cursor_varint(in));
  if (in->bad)
    return damaged(ret_why, "a field runs past the end");
  if (total < before + n)
    return damaged(ret_why, "it holds more late frees than there are");
  for (size_t i = 0; i < n; i++) {
    if (rows[i].freed >= image->n_snapshots || rows[i].born >= rows[i].freed)
      return damaged(ret_why, "a late free has no snapshots");
    if (rows[i].stack >= image->n_frames)
      return damaged(ret_why, "a late free has no stack");
    if (before + i > 0 && !tide_late_free_is_before(&rows[i] - 1, &rows[i]))
      return damaged(ret_why, "late frees are out of order");
  }
  image->n_late_frees += n;
  image->has_late_frees = image->n_late_frees == total;
  return TIDE_ERR_OK;
}
