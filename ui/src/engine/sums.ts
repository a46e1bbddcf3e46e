// SPDX-License-Identifier: Apache-2.0
//
// Sums of a column by group: of rows, or of the sites that groups share out among themselves.

import type { Column } from "./model.ts";
import { NONE } from "./names.ts";

const FEW = 1 << 10;
const LANES = 4;

// groupOf: per entry; NONE: no group. entries: which rows they are; null: all, in order.
//
// Where there are few groups each addition would wait for the one before. Then a group has several
// sums that take turns, one behind another, and what is of no group one of its own.
export function sumsByGroup(
  n: number, groupOf: Uint32Array, values: Column, entries: Uint32Array | null = null,
): Float64Array {
  const sums = new Float64Array(n);
  if (n > FEW) {
    for (let i = 0; i < groupOf.length; i++)
      if (groupOf[i] !== NONE)
        sums[groupOf[i]] += values[entries ? entries[i] : i];
    return sums;
  }
  const lanes = new Float64Array((n + 1) * LANES);
  for (let i = 0; i < groupOf.length; i++)
    lanes[Math.min(n, groupOf[i]) * LANES + (i % LANES)] += values[entries ? entries[i] : i];
  for (let g = 0; g < n; g++)
    for (let lane = 0; lane < LANES; lane++)
      sums[g] += lanes[g * LANES + lane];
  return sums;
}
