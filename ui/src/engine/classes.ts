// SPDX-License-Identifier: Apache-2.0
//
// Classes of size and of lifetime, and how much of what a site weighs falls into each, as
// src/profile/classes.h has it: known where all blocks meant are of one class or all blocks counted
// are meant, and of lifetimes also for the part that was never freed. The rest is of several.

import { addSiteHistogram, LIFE_BUCKETS_N, SIZE_BUCKETS_N, sizeRange } from "./histograms.ts";
import { isKeptKnown, keptColumn } from "./kept.ts";
import { liveBlocksAt, SnapshotKind, type Column, type Model } from "./model.ts";
import { atOnce, stretches, type Pieces } from "./pieces.ts";
import { isBound, sinceReset, START, type Question } from "./question.ts";

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

// The class that blocks of so many bytes, or that lived for so many nanoseconds, are of.
export function classOf(kind: "size" | "lifetime", value: number): number {
  const n = kind === "size" ? SIZE_BUCKETS_N : LIFE_CLASS_RESIZED;
  for (let number = 0; number < n - 1; number++)
    if (value <= (classRange(kind, number).most ?? Infinity))
      return number;
  return n - 1;
}

export function classCount(kind: "size" | "lifetime"): number {
  return kind === "size" ? SIZE_BUCKETS_N : LIFE_CLASSES_N;
}

// The classes of each site's blocks: of site i those from first[i] to first[i + 1], rising.
export interface SiteClasses {
  first: Uint32Array;
  number: Uint8Array;
  count: Column; // of blocks, whatever was asked
}

function isKind(model: Model, at: number | null, kind: keyof typeof SnapshotKind): boolean {
  return at !== null && at !== START && model.snapshots.kind[at] === SnapshotKind[kind];
}

// By the question alone; null: not known.
function keptOfSite(model: Model, question: Question, site: number, weight: number) {
  const { measure, unit, from, to } = question;
  const ofPart = from !== null || to !== null;
  const { nAlloc, nFree, bAlloc, bFree } = model.sites;
  if (measure === "leak")
    return weight;
  if (measure === "temp")
    return 0;
  if (measure === "live" || measure === "grown")
    return !ofPart || isKind(model, to, "end") ? weight : null;
  if (measure === "total" && !ofPart)
    return unit === "bytes" ? bAlloc[site] - bFree[site] : nAlloc[site] - nFree[site];
  return null;
}

// Per site, how much of its weight was never freed; NaN: not known. Nobody looked at the peak:
// there it is known of sites that freed everything or nothing.
export function keptWeights(model: Model, question: Question, weights: Float64Array): Float64Array {
  const { from, to, measure, unit } = sinceReset(model, question);
  const { nFree } = model.sites;
  const told = (from !== null || to !== null) && !isBound(model, question) &&
    isKeptKnown(model, from, to);
  const kept = told ? keptColumn(model, unit, measure === "live" ? null : from, to)
    : new Float64Array(weights.length);
  for (let i = 0; i < kept.length; i++) {
    let one = told ? kept[i] : keptOfSite(model, question, i, weights[i]);
    if (one === null && liveBlocksAt(model.sites, i) === 0)
      one = 0;
    if (one === null && nFree[i] === 0)
      one = weights[i];
    kept[i] = one === null ? NaN : Math.max(0, Math.min(one, weights[i]));
  }
  return kept;
}

// Lifetimes of what was freed are a histogram; what a resize took over was freed without one.
function lifeCounts(model: Model, site: number, lifetimes: Float64Array): Float64Array {
  const { nFree } = model.sites;
  const counts = new Float64Array(LIFE_CLASSES_N);
  let ended = 0;
  lifetimes.forEach((number, bucket) => {
    const isShortest = bucket < SHORTEST_BUCKETS;
    counts[isShortest ? 0 : 1 + Math.floor((bucket - SHORTEST_BUCKETS) / CLASS_BUCKETS)] += number;
    ended += number;
  });
  counts[LIFE_CLASS_RESIZED] = Math.max(0, nFree[site] - ended);
  counts[LIFE_CLASS_LIVE] = Math.max(0, liveBlocksAt(model.sites, site));
  return counts;
}

function* findClasses(model: Model, kind: "size" | "lifetime"): Pieces<SiteClasses> {
  const first = new Uint32Array(model.sites.count + 1);
  const number: number[] = [];
  const count: number[] = [];
  const sum = {
    sizes: new Float64Array(SIZE_BUCKETS_N), lifetimes: new Float64Array(LIFE_BUCKETS_N),
  };
  const find = (site: number) => {
    sum.sizes.fill(0);
    sum.lifetimes.fill(0);
    addSiteHistogram(model, site, sum);
    (kind === "size" ? sum.sizes : lifeCounts(model, site, sum.lifetimes)).forEach((n, k) => {
      if (!n)
        return;
      number.push(k);
      count.push(n);
    });
    first[site + 1] = number.length;
  };
  yield* stretches(model.sites.count, (from, past) => {
    for (let site = from; site < past; site++)
      find(site);
  }, SITES);
  const isSmall = count.every((n) => n >= 0 && n < 2 ** 32 && Number.isInteger(n));
  const column = isSmall ? Uint32Array.from(count) : Float64Array.from(count);
  return { first, number: Uint8Array.from(number), count: column };
}

const found = new WeakMap<Model, Partial<Record<"size" | "lifetime", SiteClasses>>>();

// Found once: a question moves weights, not blocks.
export function siteClasses(model: Model, kind: "size" | "lifetime"): SiteClasses {
  return atOnce(classesInPieces(model, kind));
}

const SITES = 1 << 13; // whose classes are found in a piece

export function* classesInPieces(
  model: Model, kind: "size" | "lifetime",
): Pieces<SiteClasses> {
  const ofModel = found.get(model) ?? {};
  found.set(model, ofModel);
  return (ofModel[kind] ??= yield* findClasses(model, kind));
}

// Gives a weight to those classes of a site that are below `below`, which all of it is in. What is
// of several classes is left.
function place(
  of: SiteClasses, site: number, weight: number, inBlocks: boolean, below: number,
  give: (number: number, weight: number) => void,
): number {
  const { first, number, count } = of;
  let past = first[site];
  let blocks = 0;
  while (past < first[site + 1] && number[past] < below)
    blocks += count[past++];
  if (past === first[site] + 1) {
    give(number[past - 1], weight);
    return 0;
  }
  if (!inBlocks || weight <= 0 || weight < blocks)
    return weight;
  for (let i = first[site]; i < past; i++)
    give(number[i], count[i]);
  return weight - blocks;
}

// Shares out the weight of a site and returns what is left, of several classes below `below`. kept:
// what of it was never freed, NaN where that is not known; null: classes of size.
export function shareOut(
  of: SiteClasses, question: Question, site: number, weight: number, kept: number | null,
  give: (number: number, weight: number) => void,
): { several: number; below: number } {
  const inBlocks = question.unit === "blocks";
  if (kept === null || Number.isNaN(kept))
    return { several: place(of, site, weight, inBlocks, Infinity, give), below: Infinity };
  // Nothing that was resized was temporary.
  const below = question.measure === "temp" ? LIFE_CLASS_RESIZED : LIFE_CLASS_LIVE;
  give(LIFE_CLASS_LIVE, kept);
  const left = weight - kept;
  return { several: left ? place(of, site, left, inBlocks, below, give) : 0, below };
}
