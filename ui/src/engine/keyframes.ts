// SPDX-License-Identifier: Apache-2.0
//
// What every site had at a snapshot, without starting from the first one each time: the sums so far
// are kept at some snapshots. One is kept whenever as many cells have gone by as there are sites,
// so they take no more room than the cells do, and the way from the nearest is never long.

import { SiteKind, type Model } from "./model.ts";
import { atOnce, PIECE, type Pieces } from "./pieces.ts";

export type CellColumn = "bytes" | "blocks" | "nAlloc" | "bAlloc";

interface Keyframe { snapshot: number; sums: Float64Array }
interface Kept { frames: Keyframe[]; last: Keyframe | null }

const kept = new WeakMap<Model, Partial<Record<CellColumn, Kept>>>();

function addCells(
  model: Model, column: CellColumn, first: number, past: number, sums: Float64Array,
): void {
  const { end, site } = model.snapshots;
  const values = model.snapshots[column];
  site.over(first > 0 ? end[first - 1] : 0, past > 0 ? end[past - 1] : 0, (of, from, stop) => {
    for (let i = from; i < stop; i++)
      sums[of[i - from]] += values[i];
  });
}

function* makeKeyframes(model: Model, column: CellColumn): Pieces<Kept> {
  const { count, end } = model.snapshots;
  const sums = new Float64Array(model.sites.count);
  const frames: Keyframe[] = [];
  for (let s = 0, since = 0, told = 0; s < count; s++) {
    addCells(model, column, s, s + 1, sums);
    if (end[s] - told > PIECE) {
      told = end[s];
      yield;
    }
    if (end[s] - since < model.sites.count)
      continue;
    frames.push({ snapshot: s, sums: sums.slice() });
    since = end[s];
  }
  return { frames, last: null };
}

function* keptOf(model: Model, column: CellColumn): Pieces<Kept> {
  const all = kept.get(model) ?? {};
  kept.set(model, all);
  return (all[column] ??= yield* makeKeyframes(model, column));
}

// What is made once of a column, whatever the snapshot.
export function* prepareColumn(model: Model, column: CellColumn): Pieces<void> {
  yield* keptOf(model, column);
}

// Where no moment is asked for any more: made again in as long as the cells are gone through once.
export function forgetColumns(model: Model): void {
  kept.delete(model);
}

// Sums of a column's cells up to and with a snapshot, per site; before the first, zeros. The array
// is shared: not to be written to.
export function columnAt(model: Model, column: CellColumn, snapshot: number): Float64Array {
  const held = atOnce(keptOf(model, column));
  if (held.last?.snapshot === snapshot)
    return held.last.sums;
  let nearest: Keyframe | null = null;
  for (const frame of held.frames)
    if (frame.snapshot <= snapshot)
      nearest = frame;
  if (held.last && held.last.snapshot < snapshot && held.last.snapshot > (nearest?.snapshot ?? -1))
    nearest = held.last; // dragging to the right
  if (nearest?.snapshot === snapshot)
    return nearest.sums;
  const sums = nearest ? nearest.sums.slice() : new Float64Array(model.sites.count);
  addCells(model, column, nearest ? nearest.snapshot + 1 : 0, snapshot + 1, sums);
  held.last = { snapshot, sums };
  return sums;
}

const sumsOf = new WeakMap<Model, Partial<Record<CellColumn, Float64Array>>>();

// Of the whole heap, up to and with each snapshot.
export function heapSums(model: Model, column: CellColumn): Float64Array {
  return atOnce(heapSumsInPieces(model, column));
}

export function* heapSumsInPieces(model: Model, column: CellColumn): Pieces<Float64Array> {
  const all = sumsOf.get(model) ?? {};
  sumsOf.set(model, all);
  return (all[column] ??= yield* makeSums(model, column));
}

function* makeSums(model: Model, column: CellColumn): Pieces<Float64Array> {
  const { count, end, site } = model.snapshots;
  const { kind } = model.sites;
  const values = model.snapshots[column];
  const sums = new Float64Array(count);
  for (let s = 0, now = 0; s < count; s++) {
    yield* site.overInPieces(s ? end[s - 1] : 0, end[s], (of, from, past) => {
      for (let i = from; i < past; i++)
        if (kind[of[i - from]] !== SiteKind.pages)
          now += values[i];
    });
    sums[s] = now;
  }
  return sums;
}

// The least each site had at any snapshot from `from` to `to`, both looked at.
export function* leastBetween(
  model: Model, column: CellColumn, from: number, to: number,
): Pieces<Float64Array> {
  const { end, site } = model.snapshots;
  const values = model.snapshots[column];
  const now = columnAt(model, column, from).slice();
  const least = now.slice();
  yield* site.overInPieces(end[from], end[to], (of, first, past) => {
    for (let i = first; i < past; i++) {
      const s = of[i - first];
      now[s] += values[i];
      if (now[s] < least[s])
        least[s] = now[s];
    }
  });
  return least;
}
