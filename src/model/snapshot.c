// SPDX-License-Identifier: Apache-2.0
//
// Merging sorted rows. Sums are unsigned and may wrap: they come from files and stores.
#include "model/snapshot.h"

#include "base/alloc.h"

#include <stdlib.h>

// The stack at a position of a list, or one after all others behind its end.
static uint32_t stack_at(const struct tide_snapshot_row *rows, size_t n, size_t i)
{
  return i < n ? rows[i].stack : UINT32_MAX;
}

void tide_snapshot_add_counts(struct tide_snapshot *snapshot,
                              const struct tide_snapshot_row *counts, size_t n_counts)
{
  if (n_counts == 0)
    return;
  struct tide_snapshot_row *rows = tide_alloc_array(snapshot->n_rows + n_counts, sizeof *rows);
  size_t n = 0, old = 0, more = 0;
  while (old < snapshot->n_rows || more < n_counts) {
    uint32_t own = stack_at(snapshot->rows, snapshot->n_rows, old);
    uint32_t other = stack_at(counts, n_counts, more);
    struct tide_snapshot_row row = {.stack = other};
    if (own <= other)
      row = snapshot->rows[old++];
    if (other <= own) {
      row.n_alloc += counts[more].n_alloc;
      row.b_alloc += counts[more++].b_alloc;
    }
    if (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc)
      rows[n++] = row;
  }
  free(snapshot->rows);
  snapshot->rows = tide_realloc_array(rows, n, sizeof *rows);
  snapshot->n_rows = n;
}
