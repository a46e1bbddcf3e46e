// SPDX-License-Identifier: Apache-2.0
//
// Classes of size and of lifetime, and how much of what a site weighs falls into each, as
// src/profile/classes.h has it: known where all blocks meant are of one class or all blocks counted
// are meant, and of lifetimes also for the part that was never freed. The rest is of several.

import { LIFE_BUCKETS_N, SIZE_BUCKETS_N, sizeRange } from "./histograms.ts";
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
export function* keptWeights(
  model: Model, question: Question, weights: Float64Array,
): Pieces<Float64Array> {
  const { from, to, measure, unit } = sinceReset(model, question);
  const { nFree } = model.sites;
  const told = (from !== null || to !== null) && !isBound(model, question) &&
    isKeptKnown(model, from, to);
  const kept = told ? keptColumn(model, unit, measure === "live" ? null : from, to)
    : new Float64Array(weights.length);
  yield;
  yield* stretches(kept.length, (first, past) => {
    for (let i = first; i < past; i++) {
      let one = told ? kept[i] : keptOfSite(model, question, i, weights[i]);
      if (one === null && liveBlocksAt(model.sites, i) === 0)
        one = 0;
      if (one === null && nFree[i] === 0)
        one = weights[i];
      kept[i] = one === null ? NaN : Math.max(0, Math.min(one, weights[i]));
    }
  });
  return kept;
}

// Of a bucket of the histogram, the class its blocks are of; -1: it is of the other kind.
function classOfBucket(kind: "size" | "lifetime", bucket: number): number {
  if (kind === "size")
    return bucket < SIZE_BUCKETS_N ? bucket : -1;
  const life = bucket - SIZE_BUCKETS_N;
  return life < 0 ? -1
    : life < SHORTEST_BUCKETS ? 0 : 1 + Math.floor((life - SHORTEST_BUCKETS) / CLASS_BUCKETS);
}

// What a site has of each class, of which there are 32 at most and it has few: a bit for each.
class Counts {
  readonly first: Uint32Array;
  private readonly number: Uint8Array;
  private readonly count: Float64Array;
  private readonly sums = new Float64Array(32);
  private readonly classes: Int8Array; // per bucket
  private met = 0;
  private n = 0;
  private isSmall = true;

  constructor(private readonly model: Model, private readonly kind: "size" | "lifetime") {
    const { sites, histograms } = model;
    const most = histograms.count + (kind === "lifetime" ? 2 * sites.count : 0);
    this.first = new Uint32Array(sites.count + 1);
    this.number = new Uint8Array(most);
    this.count = new Float64Array(most);
    this.classes = Int8Array.from({ length: SIZE_BUCKETS_N + LIFE_BUCKETS_N },
      (_, bucket) => classOfBucket(kind, bucket));
  }

  private add(number: number, blocks: number): void {
    this.met |= 1 << number;
    this.sums[number] += blocks;
  }

  // Lifetimes of what was freed are a histogram; what a resize took over was freed without one.
  find(site: number): void {
    const { bucket, number, first, order } = this.model.histograms;
    const { classes } = this;
    let ended = 0;
    for (let k = first[site]; k < first[site + 1]; k++) {
      const i = order ? order[k] : k;
      const of = classes[bucket[i]];
      if (of < 0)
        continue;
      this.add(of, number[i]);
      ended += number[i];
    }
    if (this.kind === "lifetime") {
      const { sites } = this.model;
      this.add(LIFE_CLASS_RESIZED, Math.max(0, sites.nFree[site] - ended));
      this.add(LIFE_CLASS_LIVE, Math.max(0, liveBlocksAt(sites, site)));
    }
    this.keep(site);
  }

  private keep(site: number): void {
    const { sums, number, count } = this;
    for (let left = this.met; left; left &= left - 1) {
      const of = 31 - Math.clz32(left & -left);
      const blocks = sums[of];
      sums[of] = 0;
      if (!blocks)
        continue;
      this.isSmall &&= blocks > 0 && blocks < 2 ** 32 && Number.isInteger(blocks);
      number[this.n] = of;
      count[this.n++] = blocks;
    }
    this.met = 0;
    this.first[site + 1] = this.n;
  }

  get classesOfSites(): SiteClasses {
    const { first, n, isSmall } = this;
    const count = this.count.subarray(0, n);
    return {
      first, number: this.number.slice(0, n),
      count: isSmall ? Uint32Array.from(count) : count.slice(),
    };
  }
}

function* findClasses(model: Model, kind: "size" | "lifetime"): Pieces<SiteClasses> {
  const counts = new Counts(model, kind);
  yield;
  yield* stretches(model.sites.count, (from, past) => {
    for (let site = from; site < past; site++)
      counts.find(site);
  }, SITES);
  return counts.classesOfSites;
}

const found = new WeakMap<Model, Partial<Record<"size" | "lifetime", SiteClasses>>>();

// Found once: a question moves weights, not blocks.
export function siteClasses(model: Model, kind: "size" | "lifetime"): SiteClasses {
  return atOnce(classesInPieces(model, kind));
}

const SITES = 1 << 14; // whose classes are found in a piece

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
