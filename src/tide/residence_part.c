// SPDX-License-Identifier: Apache-2.0
//
// The payload of a RESIDENCE part, both ways: one table of resident memory. docs/tide-format.md
// has its fields.
#include "model/residence_table.h"
#include "tide/decode.h"

#include <stdlib.h>

enum { IS_BOUNDED = 1, HAS_RECORDER = 2, IS_MAIN = 1, IS_MAPPED = 1 };

// In the order of the file.
#define FIELDS(table)                                                                              \
  {                                                                                                \
    &(table)->time_ns, &(table)->rss_before, &(table)->rss_after, &(table)->asked,                 \
        &(table)->untouched, &(table)->swapped, &(table)->zeros, &(table)->huge_pool,              \
        &(table)->huge, &(table)->trim, &(table)->trim_top, &(table)->purge, &(table)->pinned,     \
        &(table)->edges, &(table)->thread_tops, &(table)->n_pinned_pages, &(table)->n_shared_pins, \
        &(table)->n_resyncs, &(table)->skipped, &(table)->n_unread, &(table)->n_sites_left,        \
        &(table)->left_resident,                                                                   \
  }
#define ARENA_FIELDS(row)                                                                          \
  {                                                                                                \
    &(row)->size, &(row)->in_use, &(row)->free, &(row)->trim, &(row)->top, &(row)->trim_top        \
  }
#define SITE_FIELDS(row)                                                                           \
  {                                                                                                \
    &(row)->n_blocks, &(row)->asked, &(row)->resident, &(row)->untouched, &(row)->n_pinned,        \
        &(row)->pinned, &(row)->n_large, &(row)->large_asked, &(row)->large_touched,               \
  }
#define CLASS_FIELDS(row)                                                                          \
  {                                                                                                \
    &(row)->block_bytes, &(row)->n_runs, &(row)->n_blocks, &(row)->n_slots, &(row)->resident,      \
        &(row)->free, &(row)->sparse, &(row)->quarters[0], &(row)->quarters[1],                    \
        &(row)->quarters[2], &(row)->quarters[3],                                                  \
  }
#define N_OF(array) (sizeof(array) / sizeof *(array))

static void put_fields(struct tide_buf *out, const uint64_t *const *fields, size_t n)
{
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, *fields[i]);
}

static void put_map(struct tide_buf *out, const struct tide_residence *table)
{
  uint64_t before = 0;
  tide_buf_varint(out, table->bucket_bytes);
  tide_buf_varint(out, table->n_map);
  for (size_t i = 0; i < table->n_map; i++) {
    const struct tide_residence_bucket *row = &table->map[i];
    tide_buf_varint(out, row->at - before);
    tide_buf_varint(out, row->live);
    tide_buf_varint(out, row->free);
    tide_buf_varint(out, row->pinned);
    before = row->at;
  }
}

// What runs of equal blocks are, and the sites whose blocks alone keep some.
static void put_runs(struct tide_buf *out, const struct tide_residence *table)
{
  size_t n = 0;
  tide_buf_varint(out, table->n_classes);
  for (size_t i = 0; i < table->n_classes; i++) {
    const struct tide_residence_class *row = &table->classes[i];
    const uint64_t *columns[] = CLASS_FIELDS(row);
    put_fields(out, columns, N_OF(columns));
  }
  tide_buf_varint(out, table->n_shared_runs);
  tide_buf_varint(out, table->n_unclear_runs);
  for (size_t i = 0; i < table->n_sites; i++)
    n += table->sites[i].n_sparse || table->sites[i].sparse;
  tide_buf_varint(out, n);
  for (size_t i = 0; i < table->n_sites; i++) {
    const struct tide_residence_site *row = &table->sites[i];
    if (!row->n_sparse && !row->sparse)
      continue;
    tide_buf_varint(out, i);
    tide_buf_varint(out, row->n_sparse);
    tide_buf_varint(out, row->sparse);
  }
}

// Most processes have nothing swapped out.
static void put_swaps(struct tide_buf *out, const struct tide_residence *table)
{
  size_t n = 0;
  if (!table->swapped_blocks)
    return;
  tide_buf_varint(out, table->swapped_blocks);
  for (size_t i = 0; i < table->n_sites; i++)
    n += table->sites[i].swapped != 0;
  tide_buf_varint(out, n);
  for (size_t i = 0; i < table->n_sites; i++)
    if (table->sites[i].swapped) {
      tide_buf_varint(out, i);
      tide_buf_varint(out, table->sites[i].swapped);
    }
}

void tide_encode_residence(struct tide_buf *out, const struct tide_residence *table)
{
  const uint64_t *fields[] = FIELDS(table);
  tide_buf_varint(out,
                  (table->is_bounded ? IS_BOUNDED : 0) | (table->has_recorder ? HAS_RECORDER : 0));
  tide_buf_varint(out, table->heap);
  put_fields(out, fields, N_OF(fields));
  tide_buf_varint(out, TIDE_RESIDENCE_KINDS);
  for (int i = 0; i < TIDE_RESIDENCE_KINDS; i++)
    tide_buf_varint(out, table->rows[i]);
  tide_buf_varint(out, table->n_arenas);
  for (size_t i = 0; i < table->n_arenas; i++) {
    const struct tide_residence_arena *row = &table->arenas[i];
    const uint64_t *columns[] = ARENA_FIELDS(row);
    tide_buf_varint(out, row->is_main ? IS_MAIN : 0);
    tide_buf_varint(out, row->n_heaps);
    put_fields(out, columns, N_OF(columns));
  }
  tide_buf_varint(out, table->n_files);
  for (size_t i = 0; i < table->n_files; i++) {
    tide_buf_string(out, table->files[i].path);
    tide_buf_varint(out, table->files[i].resident);
    tide_buf_varint(out, table->files[i].copied);
    tide_buf_varint(out, table->files[i].stack);
  }
  tide_buf_varint(out, table->n_sites);
  for (size_t i = 0; i < table->n_sites; i++) {
    const struct tide_residence_site *row = &table->sites[i];
    const uint64_t *columns[] = SITE_FIELDS(row);
    tide_buf_varint(out, row->stack);
    tide_buf_varint(out, row->is_mapped ? IS_MAPPED : 0);
    put_fields(out, columns, N_OF(columns));
  }
  put_map(out, table);
  put_runs(out, table);
  put_swaps(out, table);
}

// ---- reading ----

static void get_fields(struct tide_cursor *in, uint64_t *const *fields, size_t n)
{
  for (size_t i = 0; i < n; i++)
    *fields[i] = tide_cursor_varint(in);
}

// How many rows follow, of so many bytes each at least; spoils the cursor if they cannot.
static size_t get_n_rows(struct tide_cursor *in, size_t least_bytes, size_t row_bytes,
                         struct tide_budget *budget)
{
  uint64_t n = tide_cursor_varint(in);
  if (in->bad || n > tide_cursor_left(in) / least_bytes ||
      !tide_budget_take(budget, n, row_bytes)) {
    in->bad = true;
    return 0;
  }
  return (size_t)n;
}

// Kinds that a later version has are other memory.
static void get_kinds(struct tide_cursor *in, struct tide_residence *table)
{
  uint64_t n = get_limited(in, tide_cursor_left(in));
  for (uint64_t i = 0; i < n && !in->bad; i++)
    table->rows[i < TIDE_RESIDENCE_KINDS ? i : TIDE_RESIDENCE_OTHER] += tide_cursor_varint(in);
}

static void get_arenas(struct tide_cursor *in, struct tide_residence *table,
                       struct tide_budget *budget)
{
  table->n_arenas = get_n_rows(in, 8, sizeof *table->arenas, budget);
  table->arenas = tide_alloc_array(table->n_arenas, sizeof *table->arenas);
  for (size_t i = 0; i < table->n_arenas; i++) {
    struct tide_residence_arena *row = &table->arenas[i];
    uint64_t *columns[] = ARENA_FIELDS(row);
    row->is_main = tide_cursor_varint(in) & IS_MAIN;
    row->n_heaps = get_u32(in);
    get_fields(in, columns, N_OF(columns));
  }
}

static void get_files(struct tide_cursor *in, struct tide_residence *table, size_t n_frames,
                      struct tide_budget *budget)
{
  size_t n = get_n_rows(in, 4, sizeof *table->files + 16, budget);
  table->files = tide_alloc_array(n, sizeof *table->files);
  for (size_t i = 0; i < n && !in->bad; i++) {
    struct tide_residence_file *row = &table->files[table->n_files++];
    row->path = get_string(in);
    row->resident = tide_cursor_varint(in);
    row->copied = tide_cursor_varint(in);
    row->stack = get_u32(in);
    if (row->stack >= n_frames)
      in->bad = true;
  }
}

static void get_sites(struct tide_cursor *in, struct tide_residence *table, size_t n_frames,
                      struct tide_budget *budget)
{
  table->n_sites = get_n_rows(in, 11, sizeof *table->sites, budget);
  table->sites = tide_alloc_array(table->n_sites, sizeof *table->sites);
  for (size_t i = 0; i < table->n_sites; i++) {
    struct tide_residence_site *row = &table->sites[i];
    uint64_t *columns[] = SITE_FIELDS(row);
    row->stack = get_u32(in);
    row->is_mapped = tide_cursor_varint(in) & IS_MAPPED;
    get_fields(in, columns, N_OF(columns));
    if (row->stack >= n_frames)
      in->bad = true;
  }
}

static void get_map(struct tide_cursor *in, struct tide_residence *table,
                    struct tide_budget *budget)
{
  uint64_t before = 0;
  table->bucket_bytes = tide_cursor_varint(in);
  table->n_map = get_n_rows(in, 4, sizeof *table->map, budget);
  table->map = tide_alloc_array(table->n_map, sizeof *table->map);
  for (size_t i = 0; i < table->n_map; i++) {
    struct tide_residence_bucket *row = &table->map[i];
    before += tide_cursor_varint(in);
    row->at = before;
    row->live = tide_cursor_varint(in);
    row->free = tide_cursor_varint(in);
    row->pinned = tide_cursor_varint(in);
  }
}

// The site of an index; NULL, and the cursor is spoilt, if there is none.
static struct tide_residence_site *get_site(struct tide_cursor *in, struct tide_residence *table)
{
  uint64_t site = tide_cursor_varint(in);
  in->bad = in->bad || site >= table->n_sites;
  return in->bad ? NULL : &table->sites[site];
}

// Files from before they were told end here.
static void get_runs(struct tide_cursor *in, struct tide_residence *table,
                     struct tide_budget *budget)
{
  if (in->bad || !tide_cursor_left(in))
    return;
  table->n_classes = get_n_rows(in, 11, sizeof *table->classes, budget);
  table->classes = tide_alloc_array(table->n_classes, sizeof *table->classes);
  for (size_t i = 0; i < table->n_classes; i++) {
    struct tide_residence_class *row = &table->classes[i];
    uint64_t *columns[] = CLASS_FIELDS(row);
    get_fields(in, columns, N_OF(columns));
  }
  table->n_shared_runs = tide_cursor_varint(in);
  table->n_unclear_runs = tide_cursor_varint(in);
  size_t n = get_n_rows(in, 3, 0, budget);
  for (size_t i = 0; i < n && !in->bad; i++) {
    struct tide_residence_site *site = get_site(in, table);
    if (!site)
      return;
    site->n_sparse = tide_cursor_varint(in);
    site->sparse = tide_cursor_varint(in);
  }
}

static void get_swaps(struct tide_cursor *in, struct tide_residence *table,
                      struct tide_budget *budget)
{
  if (in->bad || !tide_cursor_left(in))
    return;
  table->swapped_blocks = tide_cursor_varint(in);
  size_t n = get_n_rows(in, 2, 0, budget);
  for (size_t i = 0; i < n; i++) {
    struct tide_residence_site *site = get_site(in, table);
    if (!site)
      return;
    site->swapped = tide_cursor_varint(in);
  }
}

enum tide_err tide_decode_residence(struct tide_cursor *in, struct tide_image *image,
                                    struct tide_budget *budget, const char **ret_why)
{
  struct tide_residence table = {0};
  uint64_t *fields[] = FIELDS(&table);
  if (image->n_residences == TIDE_MAX_RESIDENCES)
    return damaged(ret_why, "the image has too many");
  uint64_t flags = tide_cursor_varint(in);
  table.is_bounded = flags & IS_BOUNDED;
  table.has_recorder = flags & HAS_RECORDER;
  uint32_t heap = get_u32(in);
  table.heap = heap <= TIDE_HEAP_JEMALLOC ? (enum tide_residence_heap)heap : TIDE_HEAP_UNKNOWN;
  get_fields(in, fields, N_OF(fields));
  get_kinds(in, &table);
  get_arenas(in, &table, budget);
  size_t n_frames = image->n_frames ? image->n_frames : 1;
  get_files(in, &table, n_frames, budget);
  get_sites(in, &table, n_frames, budget);
  get_map(in, &table, budget);
  get_runs(in, &table, budget);
  get_swaps(in, &table, budget);
  table.sum = tide_residence_sum(&table);
  bool is_early =
      image->n_residences && image->residences[image->n_residences - 1].time_ns > table.time_ns;
  if (in->bad || is_early) {
    tide_residence_done(&table);
    return damaged(ret_why, is_early ? "it is of an earlier time than the one before"
                                     : "a field is wrong or runs past the end");
  }
  image->residences = tide_realloc_array(image->residences, image->n_residences + 1, sizeof table);
  image->residences[image->n_residences++] = table;
  return TIDE_ERR_OK;
}
