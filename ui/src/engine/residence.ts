// SPDX-License-Identifier: Apache-2.0
//
// Which table of resident memory is meant, and what of the time between two is known.

import type { HeapMap, Model, Residence } from "./model.ts";

export type Choice = "rss" | "peak" | number; // a number: the time that the table is nearest to

// The index of the table nearest to a time; of two, the earlier. There must be one.
export function nearestTable({ tables }: Residence, ns: number): number {
  let best = 0;
  tables.forEach(({ time_ns: at }, i) => {
    if (Math.abs(at - ns) < Math.abs(tables[best].time_ns - ns)) best = i;
  });
  return best;
}

// Without a choice it is the one that the command shows.
export function chosenTable(of: Residence, choice: Choice | null): number {
  if (typeof choice === "number") return nearestTable(of, choice);
  return of.choices.find(({ key }) => key === (choice ?? "rss"))?.table ?? of.tables.length - 1;
}

// What a table counts of what the timeline calls RSS.
export function comparableSum({ rss_is_own, parts }: Residence, bytes: number[]): number {
  const counted = rss_is_own ? parts.length - 1 : parts.length;
  return bytes.slice(0, counted).reduce((sum, part) => sum + part, 0);
}

const MOST_OFF = 1 / 8; // of the higher of the two tables

// Per two neighbouring tables: whether RSS went straight from the one to the other, as far as it
// was looked at. Where it did not, what lies between is not known.
export function joined({ facts: { residence }, ticks }: Model): boolean[] {
  const { tables } = residence;
  return tables.slice(1).map((after, i) => {
    const before = tables[i];
    const from = comparableSum(residence, before.parts);
    const to = comparableSum(residence, after.parts);
    const span = after.time_ns - before.time_ns;
    for (let t = 0; t < ticks.count; t++) {
      const passed = (ticks.ns[t] - before.time_ns) / span;
      if (!(passed > 0 && passed < 1) || !ticks.rss[t]) continue;
      const straight = from + (to - from) * passed;
      if (Math.abs(ticks.rss[t] - straight) > Math.max(from, to) * MOST_OFF) return false;
    }
    return true;
  });
}

// Runs of tables that are joined, as [first, last].
export function stretches(areJoined: boolean[]): [number, number][] {
  const all: [number, number][] = [];
  areJoined.forEach((is, i) => {
    if (!is) return;
    if (all.length && all[all.length - 1][1] === i) all[all.length - 1][1] = i + 1;
    else all.push([i, i + 1]);
  });
  return all;
}

// Per table, part by part from below: [from, to].
export function stacked({ tables }: Residence): [number, number][][] {
  return tables.map(({ parts }) => {
    let below = 0;
    return parts.map((bytes): [number, number] => [below, (below += bytes)]);
  });
}

// Round steps of an axis from 0 up to the most, few enough to be read.
export function axisSteps(most: number, few: number): number[] {
  let step = 1;
  while (most / step > few) step *= 2;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

// ---- the map of the heap ----

export interface MapCell {
  x: number;
  width: number;
  address: number;
  parts: [number, number, number]; // bytes in use, pinned, free besides
}

export const WIDEST = 24; // pixels of a bucket

// Buckets side by side from the left; where some lie between them that have nothing in memory, a
// gap of so many pixels, or of less where there is no room.
export function mapCells(map: HeapMap, width: number, gap: number): MapCell[] {
  const isGap = (i: number) => i > 0 && map.step[i] !== 1;
  const gaps = map.step.filter((_, i) => isGap(i)).length;
  const between = Math.min(gap, gaps ? width / 2 / gaps : gap);
  const each = Math.min(WIDEST, Math.max(0, width - gaps * between) / Math.max(1, map.step.length));
  let [x, at] = [0, 0];
  return map.step.map((step, i) => {
    at += step;
    if (isGap(i)) x += between;
    const pinned = Math.min(map.pinned[i], map.free[i]);
    const parts: MapCell["parts"] = [map.live[i], pinned, map.free[i] - pinned];
    const cell = { x, width: each, address: at * map.bucket_bytes, parts };
    x += each;
    return cell;
  });
}

// The cell at a place, or the last before it.
export function cellAt(cells: MapCell[], x: number): number {
  let found = 0;
  cells.forEach((cell, i) => {
    if (cell.x <= x) found = i;
  });
  return found;
}
