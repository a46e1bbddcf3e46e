// SPDX-License-Identifier: Apache-2.0
//
// Byte by byte:
//
//   0  1     version
//   1  1     how the address of .eh_frame is written: not at all
//   2  1     how the number of rows is: four bytes
//   3  1     how the rows are: relative to the table, four bytes each
//   4  4     number of rows
//   8  8 n   where a function begins, and its description; sorted by the first
#include "attach/loaded.h"

#include "base/alloc.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 8, ROW_BYTES = 8, MAX_ROWS = 4 << 20 };
#define REACH (UINT64_C(1) << 31)

static void write_rows(const struct tide_loaded *of, uint64_t at, uint8_t *to)
{
  for (size_t i = 0; i < of->n_extents; i++, to += ROW_BYTES) {
    const struct tide_extent *extent = &of->extents[i];
    const int32_t row[] = {(int32_t)(extent->lo + of->bias - at),
                           (int32_t)(extent->frame + of->bias - at)};
    memcpy(to, row, sizeof row);
  }
}

// Discarded functions are described at addresses that are not the object's.
static bool is_within_reach(const struct tide_loaded *of, uint64_t at)
{
  for (size_t i = 0; i < of->n_extents; i++) {
    int64_t lo = (int64_t)(of->extents[i].lo + of->bias - at);
    int64_t frame = (int64_t)(of->extents[i].frame + of->bias - at);
    if (lo != (int32_t)lo || frame != (int32_t)frame)
      return false;
  }
  return true;
}

bool tide_frame_table_make(struct tide_outside *outside, struct tide_frame_table *table)
{
  const struct tide_loaded *of = table->of;
  uint32_t n = (uint32_t)of->n_extents;
  size_t n_bytes = (HEAD_BYTES + of->n_extents * ROW_BYTES + 4095) & ~(size_t)4095;
  if (!n || of->n_extents > MAX_ROWS)
    return false;
  uint64_t at = tide_outside_gap(outside, of->code_hi, n_bytes, REACH - (REACH >> 3));
  if (!at || !is_within_reach(of, at))
    return false;
  tide_outside_claim(outside, at, n_bytes);
  table->at = at;
  table->n_bytes = n_bytes;
  table->bytes = tide_alloc(n_bytes);
  memset(table->bytes, 0, n_bytes);
  memcpy(table->bytes,
         (uint8_t[]){1, DW_EH_PE_omit, DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4}, 4);
  memcpy(table->bytes + 4, &n, sizeof n);
  write_rows(of, at, table->bytes + HEAD_BYTES);
  return true;
}
