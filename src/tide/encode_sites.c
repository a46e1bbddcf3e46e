// SPDX-License-Identifier: Apache-2.0
//
// The two big payloads of a .tide file, model to bytes: numbers per stack, and snapshots.
//
// Snapshots are chains of changes: between two neighbours most stacks are as they were, so 200
// snapshots of 20,000 stacks cost hundreds of KiB instead of tens of MiB. What was allocated in
// between is counted apart, behind them, where readers of version 1.0 do not look. One that has
// more rows than a part may have is told in pieces, a part each.
#include "tide/format.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "model/rows.h"

#include <stdlib.h>

size_t tide_snapshot_rows = 4u << 20;

// One column: `expression` for each site called `s`.
#define COLUMN(put, expression)                                                                    \
  for (size_t i_ = 0; i_ < n; i_++) {                                                              \
    const struct tide_site *s = &rows[i_];                                                         \
    put(out, expression);                                                                          \
  }

// The codes of model/numbers.def.
#define PUT_PLAIN(field) COLUMN(tide_buf_varint, (uint64_t)s->field)
#define PUT_SIGNED(field) COLUMN(tide_buf_zigzag, s->field)
#define PUT_LEFT_BLOCKS(field) COLUMN(tide_buf_zigzag, (int64_t)(s->n_alloc - s->field))
#define PUT_LEFT_BYTES(field) COLUMN(tide_buf_zigzag, (int64_t)(s->b_alloc - s->field))
#define PUT_SINCE_FIRST(field) COLUMN(tide_buf_zigzag, (int64_t)(s->field - s->first_ns))

static void put_histograms(struct tide_buf *out, const struct tide_image *image,
                           const struct tide_site *rows, size_t n)
{
  COLUMN(tide_buf_varint, s->size_mask)
  COLUMN(tide_buf_varint, s->life_mask)
  for (size_t i = 0; i < n; i++) {
    const struct tide_site *s = &rows[i];
    const uint64_t *counts = tide_site_counts(image, s);
    for (unsigned k = 0, n_counts = tide_site_n_counts(s); k < n_counts; k++)
      tide_buf_varint(out, counts[k]);
  }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The largest unit of time, in ns, in which all times of the rows are whole since the start of the
// image: what recorded them rounds (store_read.c).
static uint32_t unit_of(const struct tide_site *rows, size_t n, uint64_t start_ns)
{
  uint64_t unit = 0;
  for (size_t i = 0; i < n && unit != 1; i++) {
    uint64_t times[] = {rows[i].first_ns - start_ns, rows[i].last_ns - start_ns};
    for (size_t k = 0; k < 2; k++)
      unit = common_divisor((int64_t)times[k] < 0 ? 0 - times[k] : times[k], unit);
  }
  return unit && unit <= TIDE_MAX_UNIT_NS ? (uint32_t)unit : 1;
}

// Has each row tell its stack and its times by those of the row before.
static void tell_by_neighbours(struct tide_site *rows, size_t n, uint64_t start_ns, uint32_t unit)
{
  int64_t stack = 0;
  uint64_t first = 0;
  for (size_t i = 0; i < n; i++) {
    struct tide_site *row = &rows[i];
    uint64_t own = (uint64_t)((int64_t)(row->first_ns - start_ns) / (int64_t)unit);
    uint64_t last = (uint64_t)((int64_t)(row->last_ns - start_ns) / (int64_t)unit);
    int64_t own_stack = row->stack;
    row->stack = (uint32_t)tide_zigzag(own_stack - stack);
    row->first_ns = tide_zigzag((int64_t)(own - first));
    row->last_ns = row->first_ns + (last - own); // as it is told: since the first
    stack = own_stack;
    first = own;
  }
}

void tide_encode_sites(struct tide_buf *out, const struct tide_image *image, struct tide_site *rows,
                       size_t first, size_t n)
{
  uint32_t unit = unit_of(rows, n, image->start_ns);
  tell_by_neighbours(rows, n, image->start_ns, unit);
  tide_buf_varint(out, first);
  tide_buf_varint(out, n);
  tide_buf_varint(out, unit);
  COLUMN(tide_buf_varint, s->stack)
  COLUMN(tide_buf_varint, s->thread)
  bool has = true;
#define TIDE_NUMBER(field, type, rule, code, ...)                                                  \
  if (has) {                                                                                       \
    PUT_##code(field)                                                                              \
  }
#define TIDE_NUMBER_HISTOGRAMS put_histograms(out, image, rows, n);
#define TIDE_NUMBER_SINCE(flag, ...)                                                               \
  if (!image->flag)                                                                                \
    return;                                                                                        \
  has = true;
#define TIDE_NUMBER_WHERE(flag, ...) has = image->flag;
#include "model/numbers.def"
}

// Row i of a snapshot, or behind its end one that comes after all others and says nothing.
static struct tide_snapshot_row row_at(const struct tide_snapshot *snapshot, size_t i)
{
  return i < snapshot->n_rows ? tide_snapshot_row_at(snapshot, i)
                              : (struct tide_snapshot_row){.stack = UINT32_MAX};
}

// Rows that differ between two snapshots, as stack and change. Gives their number.
static size_t find_changes(const struct tide_snapshot *before, const struct tide_snapshot *now,
                           struct tide_snapshot_row *changes)
{
  size_t n = 0, old = 0, new = 0;
  while (old < before->n_rows || new < now->n_rows) {
    struct tide_snapshot_row a = row_at(before, old), b = row_at(now, new);
    uint32_t stack = a.stack < b.stack ? a.stack : b.stack;
    struct tide_snapshot_row change = {.stack = stack};
    if (b.stack == stack) {
      change.live_bytes = b.live_bytes;
      change.live_blocks = b.live_blocks;
      new ++;
    }
    if (a.stack == stack) { // modulo 2^64, as the reader adds
      change.live_bytes = (int64_t)((uint64_t)change.live_bytes - (uint64_t)a.live_bytes);
      change.live_blocks = (int64_t)((uint64_t)change.live_blocks - (uint64_t)a.live_blocks);
      old++;
    }
    if (change.live_bytes != 0 || change.live_blocks != 0)
      changes[n++] = change;
  }
  return n;
}

// Rows of a snapshot on their way to a part: those of the piece at hand are [from, from + n).
struct rows {
  struct tide_snapshot_row *items; // owned
  size_t n_all, from, n;
};

static void cut_rows(struct rows *rows, size_t from)
{
  rows->from = from < rows->n_all ? from : rows->n_all;
  size_t left = rows->n_all - rows->from;
  rows->n = left < tide_snapshot_rows ? left : tide_snapshot_rows;
}

// Their number, and a column of rising stacks.
static void put_gaps(struct tide_buf *out, const struct rows *rows)
{
  uint64_t next = rows->from ? rows->items[rows->from - 1].stack + UINT64_C(1) : 0;
  tide_buf_varint(out, rows->n);
  for (size_t i = rows->from; i < rows->from + rows->n; i++) {
    tide_buf_varint(out, rows->items[i].stack - next);
    next = rows->items[i].stack + UINT64_C(1);
  }
}

static void put_changes(struct tide_buf *out, const struct rows *rows)
{
  const struct tide_snapshot_row *changes = rows->items + rows->from;
  put_gaps(out, rows);
  for (size_t i = 0; i < rows->n; i++)
    tide_buf_zigzag(out, changes[i].live_bytes);
  for (size_t i = 0; i < rows->n; i++)
    tide_buf_zigzag(out, changes[i].live_blocks);
}

static void put_counts(struct tide_buf *out, const struct rows *rows)
{
  const struct tide_snapshot_row *counts = rows->items + rows->from;
  put_gaps(out, rows);
  for (size_t i = 0; i < rows->n; i++)
    tide_buf_varint(out, counts[i].n_alloc);
  for (size_t i = 0; i < rows->n; i++)
    tide_buf_varint(out, counts[i].b_alloc);
}

static struct rows changes_of(const struct tide_image *image, size_t i)
{
  static const struct tide_snapshot nothing;
  const struct tide_snapshot *now = &image->snapshots[i], *before = i ? now - 1 : &nothing;
  struct rows rows = {tide_alloc_array(before->n_rows + now->n_rows, sizeof *rows.items), 0, 0, 0};
  rows.n_all = find_changes(before, now, rows.items);
  return rows;
}

static struct rows counts_of(const struct tide_image *image, size_t i)
{
  const struct tide_snapshot *now = &image->snapshots[i];
  struct rows rows = {tide_alloc_array(now->n_rows, sizeof *rows.items), 0, 0, 0};
  for (size_t k = 0; k < now->n_rows && image->has_counts; k++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(now, k);
    if (row.n_alloc || row.b_alloc)
      rows.items[rows.n_all++] = row;
  }
  return rows;
}

// A part on its way.
struct gathering {
  struct tide_buf changes, counts;
  size_t n; // snapshots
  uint64_t time_ns;
};

// The next snapshot, or a piece of it. False: it has too many rows to share a part with others.
static bool gather_sites(struct gathering *g, const struct tide_image *image,
                         struct tide_snapshot_place *place)
{
  const struct tide_snapshot *now = &image->snapshots[place->snapshot];
  struct rows changes = changes_of(image, place->snapshot);
  struct rows counts = counts_of(image, place->snapshot);
  size_t n_rows = changes.n_all > counts.n_all ? changes.n_all : counts.n_all;
  bool is_cut = n_rows > tide_snapshot_rows, taken = !is_cut || !g->n;
  if (taken) {
    uint64_t time_ns = now->time_ns > g->time_ns ? now->time_ns : g->time_ns;
    cut_rows(&changes, place->row);
    cut_rows(&counts, place->row);
    tide_buf_varint(&g->changes, time_ns - g->time_ns);
    tide_buf_varint(&g->changes, now->kind);
    put_changes(&g->changes, &changes);
    if (image->has_counts)
      put_counts(&g->counts, &counts);
    g->time_ns = time_ns;
    g->n++;
    place->row += tide_snapshot_rows;
    if (place->row >= n_rows)
      *place = (struct tide_snapshot_place){place->snapshot + 1, 0};
  }
  free(changes.items);
  free(counts.items);
  return taken && !is_cut;
}

bool tide_encode_snapshots(struct tide_buf *out, const struct tide_image *image,
                           struct tide_snapshot_place *place)
{
  struct gathering g = {0};
  size_t first = place->snapshot;
  for (size_t i = 0; i < first; i++) // times only rise, see docs
    g.time_ns = image->snapshots[i].time_ns > g.time_ns ? image->snapshots[i].time_ns : g.time_ns;
  bool more = true;
  while (more && place->snapshot < image->n_snapshots &&
         g.changes.n + g.counts.n < TIDE_SNAPSHOTS_BYTES)
    more = gather_sites(&g, image, place);
  tide_buf_varint(out, first);
  tide_buf_varint(out, g.n);
  tide_buf_append(out, g.changes.data, g.changes.n);
  tide_buf_append(out, g.counts.data, g.counts.n);
  tide_buf_done(&g.changes);
  tide_buf_done(&g.counts);
  return place->row > 0;
}

// Each part says how many there are in all: they are of use only together.
void tide_encode_late_frees(struct tide_buf *out, const struct tide_image *image, size_t first,
                            size_t n)
{
  const struct tide_late_free *rows = image->late_frees + first;
  tide_buf_varint(out, first);
  tide_buf_varint(out, n);
  tide_buf_varint(out, image->n_late_frees);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].freed - (i ? rows[i - 1].freed : 0));
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].stack);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].freed - rows[i].born);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].n_blocks);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i].bytes);
}
