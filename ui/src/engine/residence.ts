// SPDX-License-Identifier: Apache-2.0
//
// Which table of resident memory is meant, and what of the time between two is known.

import type { Model, Residence } from "./model.ts";

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
