// SPDX-License-Identifier: Apache-2.0
//
// Groups that cut across sites: what a thread did to the blocks of one stack is a row of the model,
// and a free is booked to the thread that freed; by class of size or lifetime nothing but
// allocations is known. As src/view/group_sums.c has it.

import type { Group, GroupKind, GroupNumbers, Groups } from "./groups.ts";
import { addSiteHistogram, LIFE_BUCKETS_N, SIZE_BUCKETS_N, sizeRange } from "./histograms.ts";
import type { View } from "./look.ts";
import { NONE } from "./names.ts";
import { weigh, weighNumbers, type Question } from "./question.ts";

// Lifetimes in powers of eight: a class for what is shorter than clocks are read to tell, then
// classes of three buckets each, and two for blocks that were not freed.
const SHORTEST_BUCKETS = 12;
const CLASS_BUCKETS = 3;
export const LIFE_CLASS_RESIZED = 1 + (LIFE_BUCKETS_N - SHORTEST_BUCKETS) / CLASS_BUCKETS;
export const LIFE_CLASS_LIVE = LIFE_CLASS_RESIZED + 1;
const LIFE_CLASSES_N = LIFE_CLASS_LIVE + 1;

// Limits of a class, both included; null where there is none.
export interface ClassRange { least: number | null; most: number | null }

export function classRange(kind: "size" | "lifetime", number: number): ClassRange {
  if (kind === "size") {
    const { least, most } = sizeRange(number);
    return { least, most: most === Infinity ? null : most };
  }
  if (number >= LIFE_CLASS_RESIZED)
    return { least: null, most: null };
  const past = SHORTEST_BUCKETS + number * CLASS_BUCKETS;
  const first = number ? past - CLASS_BUCKETS : 0;
  return {
    least: first ? 2 ** (first - 1) : 0,
    most: past < LIFE_BUCKETS_N ? 2 ** (past - 1) - 1 : null,
  };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function noGroup(kind: GroupKind, number: number): Writable<Group> {
  const none: GroupNumbers = {
    nAlloc: 0, bAlloc: 0, nFree: 0, bFree: 0, nTemp: 0, bTemp: 0, nForeign: 0, nResize: 0,
    bResizeOld: 0, nMoved: 0, bMoved: 0, liveBlocks: 0, liveBytes: 0, peakBlocks: 0, peakBytes: 0,
    lifeNs: 0, ageNs: 0, firstNs: 0, lastNs: 0,
  };
  return {
    ...none, kind, number, frame: NONE, crate: null, weight: 0, stacks: 0,
    sites: new Uint32Array(0), fate: null,
  };
}

function countStacks(view: View, weights: Float64Array): number {
  let n = 0;
  for (let i = 0; i < weights.length; i++)
    n += view.wanted[i] && weights[i] > 0 ? 1 : 0;
  return n;
}

const SUMMED = [
  "nAlloc", "bAlloc", "nFree", "bFree", "nTemp", "bTemp", "nForeign", "nResize", "bResizeOld",
  "nMoved", "bMoved", "peakBlocks", "peakBytes", "lifeNs", "ageNs",
] as const;

export function threadGroups(view: View, question: Question): Groups {
  const { rows, facts } = view.model;
  const weights = weighNumbers(rows, rows.count, question);
  const threads = Array.from({ length: Math.max(1, facts.threads.length) },
    (_, i) => noGroup("thread", i));
  let isNet = false;
  for (let i = 0; i < rows.count; i++) {
    if (!view.wanted[rows.site[i]])
      continue;
    const sum = threads[rows.thread[i]];
    for (const key of SUMMED)
      sum[key] += rows[key][i];
    sum.weight += weights[i];
    sum.stacks++;
    isNet ||= rows.nForeign[i] !== 0;
    if (!rows.nAlloc[i])
      continue;
    const isFirst = sum.nAlloc === rows.nAlloc[i];
    sum.firstNs = isFirst ? rows.firstNs[i] : Math.min(sum.firstNs, rows.firstNs[i]);
    sum.lastNs = Math.max(sum.lastNs, rows.lastNs[i]);
  }
  for (const sum of threads) {
    sum.liveBlocks = sum.nAlloc - sum.nFree;
    sum.liveBytes = sum.bAlloc - sum.bFree;
  }
  const items = threads.filter((sum) => sum.weight !== 0);
  items.sort((a, b) => b.weight - a.weight || a.number - b.number);
  const stacks = countStacks(view, weigh(view.model, question));
  return { kind: "thread", items, stacks, rest: noGroup("thread", 0), isNet };
}

// The classes of one site's allocations. What a resize took over was freed without a lifetime.
function siteClasses(view: View, site: number, kind: "size" | "lifetime"): Float64Array {
  const { model } = view;
  const sum = {
    sizes: new Float64Array(SIZE_BUCKETS_N), lifetimes: new Float64Array(LIFE_BUCKETS_N),
  };
  addSiteHistogram(model, site, sum);
  if (kind === "size")
    return sum.sizes;
  const classes = new Float64Array(LIFE_CLASSES_N);
  let ended = 0;
  sum.lifetimes.forEach((number, bucket) => {
    const isShortest = bucket < SHORTEST_BUCKETS;
    classes[isShortest ? 0 : 1 + Math.floor((bucket - SHORTEST_BUCKETS) / CLASS_BUCKETS)] += number;
    ended += number;
  });
  classes[LIFE_CLASS_RESIZED] = Math.max(0, model.sites.nFree[site] - ended);
  classes[LIFE_CLASS_LIVE] = Math.max(0, model.sites.nAlloc[site] - model.sites.nFree[site]);
  return classes;
}

export function classGroups(view: View, question: Question, kind: "size" | "lifetime"): Groups {
  const n = kind === "size" ? SIZE_BUCKETS_N : LIFE_CLASSES_N;
  const all = Array.from({ length: n }, (_, i) => noGroup(kind, i));
  for (let site = 0; site < view.model.sites.count; site++) {
    if (!view.wanted[site])
      continue;
    siteClasses(view, site, kind).forEach((number, k) => {
      all[k].nAlloc += number;
      all[k].weight += number;
      all[k].stacks += number !== 0 ? 1 : 0;
    });
  }
  const stacks = countStacks(view, weigh(view.model, question));
  const items = all.filter((g) => g.weight !== 0);
  return { kind, items, stacks, rest: noGroup(kind, 0), isNet: false };
}
