// SPDX-License-Identifier: Apache-2.0
//
// Live bytes or blocks of sites over time, one value per snapshot, and how much of that was never
// given back; as src/profile/timeline.h has it. And the moments of the timeline worth a stop.
//
// Snapshots list what changed by time; here that is turned round and listed by site, with what was
// live then, once per model. A curve then costs a few additions per change of its sites.

import { heapSums } from "./keyframes.ts";
import { SnapshotKind, type Model } from "./model.ts";
import { atOnce, stretches, type Pieces } from "./pieces.ts";
import { nearestSnapshot, type Unit } from "./question.ts";

export interface Curve {
  live: Float64Array;
  kept: Float64Array; // the part never freed, at most: never falls, never exceeds live
}

interface Changes { // of site i: from first[i] to first[i + 1], by time
  first: Uint32Array;
  snapshot: Uint8Array | Uint16Array | Uint32Array;
}

// Per change, what is live from its snapshot on. There are as many as cells, so they are as small
// as their numbers let them be.
type Steps = Uint32Array | Float64Array;

const changesOf = new WeakMap<Model, Changes>();
const stepsOf = new WeakMap<Model, Partial<Record<Unit, Steps>>>();

function* changesInPieces(model: Model): Pieces<Changes> {
  const held = changesOf.get(model);
  if (held)
    return held;
  const { count, end, site } = model.snapshots;
  const first = new Uint32Array(model.sites.count + 1);
  yield* site.overInPieces(0, site.length, (of, from, past) => {
    for (let i = 0; i < past - from; i++)
      first[of[i] + 1]++;
  });
  for (let i = 0; i < model.sites.count; i++)
    first[i + 1] += first[i];
  yield;
  const next = first.slice();
  const n = site.length;
  const snapshot = count <= 1 << 8 ? new Uint8Array(n)
    : count <= 1 << 16 ? new Uint16Array(n) : new Uint32Array(n);
  for (let s = 0, from = 0; s < count; from = end[s++])
    yield* site.overInPieces(from, end[s], (of, begin, past) => {
      for (let i = 0; i < past - begin; i++)
        snapshot[next[of[i]]++] = s;
    });
  const made = { first, snapshot };
  changesOf.set(model, made);
  return made;
}

// The values of cells in the order of changes.
function* bySite(
  { snapshots: { site } }: Model, { first }: Changes, values: ArrayLike<number>,
): Pieces<Float64Array> {
  const next = first.slice();
  const sorted = new Float64Array(site.length);
  yield* site.overInPieces(0, site.length, (of, from, past) => {
    for (let i = from; i < past; i++)
      sorted[next[of[i - from]]++] = values[i];
  });
  return sorted;
}

// Where no curve of it is looked at any more.
export function forgetCurves(model: Model, unit: Unit): void {
  delete stepsOf.get(model)?.[unit];
}

// Makes what all curves of a unit are made of.
export function* prepareCurves(model: Model, unit: Unit): Pieces<Steps> {
  const held = stepsOf.get(model) ?? {};
  stepsOf.set(model, held);
  return (held[unit] ??= yield* makeSteps(model, model.snapshots[unit]));
}

const SITES = 1 << 14; // whose steps are made in a piece

function* makeSteps(model: Model, values: ArrayLike<number>): Pieces<Steps> {
  const of = yield* changesInPieces(model);
  const { first } = of;
  const live = yield* bySite(model, of, values);
  let most = 0;
  yield* stretches(model.sites.count, (begin, end) => {
    for (let site = begin; site < end; site++)
      most = Math.max(most, addUp(live, first[site], first[site + 1]));
  }, SITES);
  if (most >= 2 ** 32)
    return live;
  const small = new Uint32Array(live.length);
  yield* stretches(live.length, (from, past) => small.set(live.subarray(from, past), from));
  return small;
}

// From changes to what is live after each, and the most that ever is.
function addUp(live: Float64Array, from: number, past: number): number {
  let most = 0;
  for (let i = from, now = 0; i < past; i++) {
    now += live[i];
    live[i] = Math.max(0, now); // numbers of a damaged capture may be negative
    most = Math.max(most, live[i]);
  }
  return most;
}

// What one site adds to the steps of a curve, which begins at some place of its arrays. From the
// last change back, what is never freed is the least that is live then or at any later time.
function addSite(
  live: Float64Array, kept: Float64Array, begin: number, at: Steps, snapshot: Changes["snapshot"],
  from: number, past: number,
): void {
  let now = past > from ? at[past - 1] : 0;
  let least = now;
  for (let i = past - 1; i >= from; i--) {
    const before = i > from ? at[i - 1] : 0;
    const leastBefore = before < least ? before : least;
    const s = begin + snapshot[i];
    live[s] += now - before;
    kept[s] += least - leastBefore;
    now = before;
    least = leastBefore;
  }
}

// The same without what is never freed.
function addLive(
  live: Float64Array, begin: number, at: Steps, snapshot: Changes["snapshot"], from: number,
  past: number,
): void {
  for (let i = from, before = 0; i < past; i++) {
    live[begin + snapshot[i]] += at[i] - before;
    before = at[i];
  }
}

// From steps to what is live, or kept.
function addSteps(values: Float64Array, begin: number, past: number): void {
  for (let s = begin + 1; s < past; s++)
    values[s] += values[s - 1];
}

const isEndKnown = ({ facts }: Model) => !facts.image.lacks.includes("live");

// What all curves of bytes are made of; and given from elsewhere, of the same model.
export interface Changed { changes: Changes; bytes: Steps }

export function changedOf(model: Model): Changed {
  return { changes: atOnce(changesInPieces(model)), bytes: atOnce(prepareCurves(model, "bytes")) };
}

export function keepChanged(model: Model, { changes, bytes }: Changed): void {
  changesOf.set(model, changes);
  stepsOf.set(model, { ...stepsOf.get(model), bytes });
}

// Of several sites, all different.
export function curve(model: Model, sites: ArrayLike<number>, unit: Unit): Curve {
  return atOnce(curveInPieces(model, sites, unit));
}

export function* curveInPieces(
  model: Model, sites: ArrayLike<number>, unit: Unit,
): Pieces<Curve> {
  const { count } = model.snapshots;
  const live = new Float64Array(count);
  const kept = new Float64Array(count);
  const { first, snapshot } = yield* changesInPieces(model);
  const at = yield* prepareCurves(model, unit);
  yield* stretches(sites.length, (from, past) => {
    for (let k = from; k < past; k++)
      addSite(live, kept, 0, at, snapshot, first[sites[k]], first[sites[k] + 1]);
  }, SITES);
  addSteps(live, 0, count);
  addSteps(kept, 0, count);
  if (!isEndKnown(model))
    kept.fill(0);
  return { live, kept };
}

// As curveInPieces(), of what is live alone.
export function* liveInPieces(
  model: Model, sites: ArrayLike<number>, unit: Unit,
): Pieces<Float64Array> {
  const live = new Float64Array(model.snapshots.count);
  const { first, snapshot } = yield* changesInPieces(model);
  const at = yield* prepareCurves(model, unit);
  yield* stretches(sites.length, (from, past) => {
    for (let k = from; k < past; k++)
      addLive(live, 0, at, snapshot, first[sites[k]], first[sites[k] + 1]);
  }, SITES);
  addSteps(live, 0, live.length);
  return live;
}

const NUMBERS = 1 << 20; // of curves that are made together: all sites are read for each so many

// The curves of all n groups that sites are shared out among, one after another: itemOf tells
// whose each site is. Sites are read in the order in which they lie, which is many times quicker
// than group by group.
export function* eachCurve(
  model: Model, itemOf: Uint32Array, n: number, unit: Unit, see: (item: number, of: Curve) => void,
): Pieces<void> {
  const { count } = model.snapshots;
  const { first, snapshot } = yield* changesInPieces(model);
  const at = yield* prepareCurves(model, unit);
  const most = Math.max(1, Math.floor(NUMBERS / Math.max(1, count)));
  const room = Math.min(n, most) * count;
  const [live, kept] = [new Float64Array(room), new Float64Array(room)];
  for (let begin = 0; begin < n; begin += most) {
    const end = Math.min(n, begin + most);
    live.fill(0);
    kept.fill(0);
    yield* stretches(itemOf.length, (from, past) => {
      for (let site = from; site < past; site++)
        if (itemOf[site] >= begin && itemOf[site] < end)
          addSite(live, kept, (itemOf[site] - begin) * count, at, snapshot, first[site],
            first[site + 1]);
    }, SITES);
    for (let item = begin, from = 0; item < end; item++, from += count) {
      addSteps(live, from, from + count);
      addSteps(kept, from, from + count);
      if (!isEndKnown(model))
        kept.fill(0, from, from + count);
      see(item, {
        live: live.subarray(from, from + count), kept: kept.subarray(from, from + count),
      });
    }
    yield;
  }
}

// The most that each site ever held, at any snapshot.
export function* mostHeldInPieces(model: Model, unit: Unit): Pieces<Float64Array> {
  const { first } = yield* changesInPieces(model);
  const at = yield* prepareCurves(model, unit);
  const most = new Float64Array(model.sites.count);
  yield* stretches(most.length, (from, past) => {
    for (let site = from; site < past; site++)
      for (let i = first[site]; i < first[site + 1]; i++)
        if (at[i] > most[site])
          most[site] = at[i];
  });
  return most;
}

// A curve reduced to `width` columns that share the time from start to end: the largest value
// within each, so that no peak is lost. Where nobody looked it holds what was known last.
export function columns(model: Model, values: ArrayLike<number>, width: number): Float64Array {
  return columnsOf(model.snapshots.ns, values, runNs(model), width);
}

export function runNs(model: Model): number {
  const { start_ns, end_ns } = model.facts.image;
  return Math.max(0, end_ns - start_ns);
}

// As columns(), for any values at times that never fall.
export function columnsOf(
  times: ArrayLike<number>, values: ArrayLike<number>, run: number, width: number,
): Float64Array {
  const result = new Float64Array(width);
  let last = 0;
  let filled = 0;
  const raise = (column: number) => {
    result[column] = Math.max(result[column], last);
  };
  for (let i = 0; i < values.length && width; i++) {
    const share = times[i] <= 0 ? 0 : run > 0 ? times[i] / run : 1;
    const column = Math.min(width - 1, Math.floor(share * width));
    while (filled < column)
      raise(++filled);
    last = values[i];
    raise(column);
  }
  while (filled + 1 < width)
    raise(++filled);
  return result;
}

const PROMINENCE = 0.05; // of the highest: less is no hill

// Values that stand out: higher than all around until something lower by PROMINENCE of the highest.
// Of what has not fallen by then the last is one: the end, not a moment before it that looks alike.
function hilltops(values: ArrayLike<number>): number[] {
  const tops: number[] = [];
  let highest = 0;
  for (let i = 0; i < values.length; i++)
    highest = Math.max(highest, values[i]);
  const step = highest * PROMINENCE;
  let isRising = true;
  let top = 0;
  let low = 0;
  for (let i = 0; i < values.length && highest; i++) {
    if (isRising && values[i] > values[top])
      top = i;
    if (isRising && values[i] <= values[top] - step) {
      tops.push(top);
      isRising = false;
      low = i;
    }
    if (!isRising && values[i] < values[low])
      low = i;
    if (!isRising && values[i] >= values[low] + step) {
      isRising = true;
      top = i;
    }
  }
  if (isRising && highest)
    tops.push(values.length - 1);
  return tops;
}

// Snapshots at which more was live than just before and after, by enough to be seen; by time. The
// peak is one of them.
export function localPeaks(model: Model): number[] {
  const { count, kind } = model.snapshots;
  const totals = totalAtSnapshots(model);
  const found = new Set(hilltops(totals));
  for (let s = 0; s < count; s++)
    if (kind[s] === 1)
      found.add(s);
  const { ticks } = model;
  for (const tick of hilltops(ticks.liveBytes)) {
    const near = nearestSnapshot(model, ticks.ns[tick]);
    if (near >= 0 && totals[near] >= 0.9 * ticks.liveBytes[tick])
      found.add(near);
  }
  return [...found].sort((a, b) => a - b);
}

// What was live on the heap at each snapshot. The peak is what everything else calls it: with
// several threads the shares of its stacks add up to it within a bound only.
export function totalAtSnapshots(model: Model, unit: Unit = "bytes"): Float64Array {
  const { kind } = model.snapshots;
  const peak = unit === "bytes" ? model.facts.totals.peak_bytes : undefined;
  return heapSums(model, unit).map((sum, s) => (kind[s] === SnapshotKind.peak && peak) || sum);
}
