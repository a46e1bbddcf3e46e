// SPDX-License-Identifier: Apache-2.0
//
// Sums of a column by group: of rows, or of the sites that groups share out among themselves.

import type { Column } from "./model.ts";
import { NONE } from "./names.ts";
import { stretches, type Pieces } from "./pieces.ts";

const FEW = 1 << 10;
const LANES = 4;

// groupOf: per entry; NONE: no group. entries: which rows they are; null: all, in order.
export function* sumsByGroup(
  n: number, groupOf: Uint32Array, values: Column, entries: Uint32Array | null = null,
): Pieces<Float64Array> {
  const sums = new Float64Array(n);
  const lanes = n > FEW ? null : new Float64Array((n + 1) * LANES);
  yield* stretches(groupOf.length, (from, past) => {
    if (lanes)
      addInTurn(lanes, n, groupOf, values, entries, from, past);
    else
      add(sums, groupOf, values, entries, from, past);
  });
  for (let i = 0; lanes && i < n * LANES; i++)
    sums[Math.floor(i / LANES)] += lanes[i];
  return sums;
}

function add(
  sums: Float64Array, groupOf: Uint32Array, values: Column, entries: Uint32Array | null,
  from: number, past: number,
): void {
  for (let i = from; i < past; i++)
    if (groupOf[i] !== NONE)
      sums[groupOf[i]] += values[entries ? entries[i] : i];
}

// Where there are few groups each addition would wait for the one before. So a group has several
// sums that take turns, one behind another, and what is of no group one of its own.
function addInTurn(
  lanes: Float64Array, n: number, groupOf: Uint32Array, values: Column,
  entries: Uint32Array | null, from: number, past: number,
): void {
  for (let i = from, lane = 0; i < past; i++, lane = (lane + 1) & (LANES - 1)) {
    const group = groupOf[i] < n ? groupOf[i] : n;
    lanes[group * LANES + lane] += values[entries ? entries[i] : i];
  }
}
