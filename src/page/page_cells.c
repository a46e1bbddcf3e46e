// SPDX-License-Identifier: Apache-2.0
//
// What is live per stack at every snapshot becomes what changed from one to the next: most stacks
// do not, most of the time. A bit per site says where to look, so that a snapshot costs what it has
// and not what all sites are. All arithmetic is modulo 2^64: rows of a damaged file add up to
// anything.
#include "page/page_sites.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct state { // of one site
  uint64_t bytes, blocks;
};

struct change {
  struct state now;
  uint64_t n_alloc, b_alloc;
};

struct cells {
  struct tide_page_column *columns;
  struct state *held;     // at the snapshot before
  struct change *changes; // in this one; zero but where touched
  uint64_t *live;         // bits: held is not zero
  uint64_t *touched;      // bits: there is a row in this one
  size_t n_words;
};

static void scatter(struct cells *cells, const struct tide_page_sites *sites,
                    const struct tide_snapshot *snapshot)
{
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    uint32_t number = sites->of_stack[row.stack];
    if (!number)
      continue; // nobody allocated there: the site would say nothing else
    struct change *change = &cells->changes[number - 1];
    change->now.bytes += (uint64_t)row.live_bytes;
    change->now.blocks += (uint64_t)row.live_blocks;
    change->n_alloc += row.n_alloc;
    change->b_alloc += row.b_alloc;
    cells->touched[(number - 1) / 64] |= 1ull << (number - 1) % 64;
  }
}

static void add_cell(struct cells *cells, enum tide_page_column_id id, double value)
{
  tide_page_column_add(&cells->columns[id], value);
}

// One site, if it changed. Returns whether it did.
static bool write_cell(struct cells *cells, size_t site, size_t last_site)
{
  struct change *change = &cells->changes[site];
  struct state *held = &cells->held[site];
  uint64_t more_bytes = change->now.bytes - held->bytes;
  uint64_t more_blocks = change->now.blocks - held->blocks;
  bool changed = more_bytes || more_blocks || change->n_alloc || change->b_alloc;
  if (changed) {
    add_cell(cells, TIDE_PAGE_CELL_STEP, (double)(site - last_site));
    add_cell(cells, TIDE_PAGE_CELL_BYTES, (double)(int64_t)more_bytes);
    add_cell(cells, TIDE_PAGE_CELL_BLOCKS, (double)(int64_t)more_blocks);
    add_cell(cells, TIDE_PAGE_CELL_N_ALLOC, (double)change->n_alloc);
    add_cell(cells, TIDE_PAGE_CELL_B_ALLOC, (double)change->b_alloc);
  }
  *held = change->now;
  *change = (struct change){0};
  uint64_t bit = 1ull << site % 64;
  if (held->bytes || held->blocks)
    cells->live[site / 64] |= bit;
  else
    cells->live[site / 64] &= ~bit;
  return changed;
}

static void write_snapshot(struct cells *cells)
{
  size_t last_site = 0;
  for (size_t w = 0; w < cells->n_words; w++) {
    for (uint64_t bits = cells->live[w] | cells->touched[w]; bits; bits &= bits - 1) {
      size_t site = w * 64 + (size_t)__builtin_ctzll(bits);
      if (write_cell(cells, site, last_site))
        last_site = site;
    }
    cells->touched[w] = 0;
  }
}

void tide_page_cells_write(const struct tide_page_sites *sites, const struct tide_image *image,
                           struct tide_page_column *columns)
{
  struct cells cells = {.columns = columns, .n_words = sites->n / 64 + 1};
  cells.held = tide_alloc_array(sites->n + 1, sizeof *cells.held);
  cells.changes = tide_alloc_array(sites->n + 1, sizeof *cells.changes);
  cells.live = tide_alloc_array(cells.n_words, sizeof *cells.live);
  cells.touched = tide_alloc_array(cells.n_words, sizeof *cells.touched);
  for (size_t i = 0; i < image->n_snapshots; i++) {
    const struct tide_snapshot *snapshot = &image->snapshots[i];
    scatter(&cells, sites, snapshot);
    write_snapshot(&cells);
    int64_t since_ns = (int64_t)(snapshot->time_ns - image->start_ns);
    add_cell(&cells, TIDE_PAGE_SNAP_NS, (double)since_ns);
    add_cell(&cells, TIDE_PAGE_SNAP_KIND, snapshot->kind);
    add_cell(&cells, TIDE_PAGE_SNAP_END, (double)columns[TIDE_PAGE_CELL_STEP].n);
  }
  free(cells.held);
  free(cells.changes);
  free(cells.live);
  free(cells.touched);
}

void tide_page_late_frees_write(const struct tide_page_sites *sites, const struct tide_image *image,
                                struct tide_page_column *columns)
{
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *late = &image->late_frees[i];
    uint32_t number = sites->of_stack[late->stack];
    if (!number)
      continue;
    tide_page_column_add(&columns[TIDE_PAGE_LATE_SITE], number - 1);
    tide_page_column_add(&columns[TIDE_PAGE_LATE_BORN], late->born);
    tide_page_column_add(&columns[TIDE_PAGE_LATE_FREED], late->freed);
    tide_page_column_add(&columns[TIDE_PAGE_LATE_BYTES], (double)late->bytes);
    tide_page_column_add(&columns[TIDE_PAGE_LATE_BLOCKS], (double)late->n_blocks);
  }
}

void tide_page_ticks_write(const struct tide_image *image, struct tide_page_column *columns)
{
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    int64_t since_ns = (int64_t)(tick->time_ns - image->start_ns);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_NS], (double)since_ns);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_LIVE_BYTES], (double)tick->live_bytes);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_LIVE_BLOCKS], (double)tick->live_blocks);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_N_ALLOC], (double)tick->n_alloc);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_B_ALLOC], (double)tick->b_alloc);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_N_FREE], (double)tick->n_free);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_RSS], (double)tick->rss_bytes);
    tide_page_column_add(&columns[TIDE_PAGE_TICK_PAGE_BYTES], (double)tick->page_bytes);
  }
}

void tide_page_kinds_write(const struct tide_image *image, struct tide_page_column *columns)
{
  for (size_t i = 0; i < image->n_rss_kinds; i++) {
    const struct tide_rss_kinds *kinds = &image->rss_kinds[i];
    int64_t since_ns = (int64_t)(kinds->time_ns - image->start_ns);
    tide_page_column_add(&columns[TIDE_PAGE_KIND_NS], (double)since_ns);
    tide_page_column_add(&columns[TIDE_PAGE_KIND_ANONYMOUS], (double)kinds->anonymous_bytes);
    tide_page_column_add(&columns[TIDE_PAGE_KIND_FILES], (double)kinds->file_bytes);
    tide_page_column_add(&columns[TIDE_PAGE_KIND_SHARED], (double)kinds->shared_bytes);
    tide_page_column_add(&columns[TIDE_PAGE_KIND_SWAPPED], (double)kinds->swapped_bytes);
  }
}

void tide_page_held_write(const struct tide_page_sites *sites, const struct tide_image *image,
                          struct tide_page_column *columns)
{
  for (size_t i = 0; i < image->n_held; i++) {
    const struct tide_held_bytes *held = &image->held[i];
    uint32_t number = sites->of_stack[held->stack];
    if (!number || number > sites->n_kept) // one of several that are gathered says nothing of them
      continue;
    tide_page_column_add(&columns[TIDE_PAGE_HELD_SITE], number - 1);
    for (size_t k = 0; k < image->n_ticks; k++)
      tide_page_column_add(&columns[TIDE_PAGE_HELD_BYTES], (double)held->bytes[k]);
  }
}
