// SPDX-License-Identifier: Apache-2.0
//
// The numbers behind the timeline chart, apart from how it is drawn. The line of live bytes goes
// through every tick and through every snapshot with exactly what the graph and the table show
// there, so that the three cannot disagree.

import { totalAtSnapshots } from "../engine/curves.ts";
import { SnapshotKind, type Model } from "../engine/model.ts";

export interface Timeline {
  ns: Float64Array; // never falling
  live: Float64Array;
  rss: (number | null)[] | null; // null: not known of this run, or not a matter of blocks
}

export type TimelineUnit = "bytes" | "blocks";

export function makeTimeline(model: Model, unit: TimelineUnit): Timeline {
  const { ticks, snapshots } = model;
  const totals = totalAtSnapshots(model, unit);
  const values = unit === "bytes" ? ticks.liveBytes : ticks.liveBlocks;
  const first = ticks.rss.findIndex((rss) => rss > 0);
  const isCurve = first >= 0 && ticks.ns[first] <= ticks.ns[ticks.count - 1] / 2;
  const hasRss = unit === "bytes" && isCurve; // one look at the end is none
  const ns: number[] = [0];
  const live: number[] = [0];
  const rss: (number | null)[] = [null];
  let t = 0;
  let s = 0;
  while (t < ticks.count || s < snapshots.count) {
    const isTick = t < ticks.count && (s >= snapshots.count || ticks.ns[t] < snapshots.ns[s]);
    let seen = isTick ? ticks.rss[t] : (rssAt(model, s) ?? 0);
    const isBoth = () => t < ticks.count && ticks.ns[t] === snapshots.ns[s];
    for (; !isTick && isBoth(); t++) seen ||= ticks.rss[t];
    ns.push(isTick ? ticks.ns[t] : snapshots.ns[s]);
    live.push(isTick ? values[t] : totals[s]);
    rss.push(seen || null);
    if (isTick) t++;
    else s++;
  }
  if (hasRss) fillGaps(rss);
  return { ns: Float64Array.from(ns), live: Float64Array.from(live), rss: hasRss ? rss : null };
}

// Looked at besides the ticks: at the peak.
function rssAt({ facts, snapshots }: Model, snapshot: number): number | undefined {
  return snapshots.kind[snapshot] === SnapshotKind.peak
    ? facts.totals.rss_at_peak_bytes
    : undefined;
}

// Between two looks, the last one stands.
function fillGaps(values: (number | null)[]): void {
  for (let i = 1; i < values.length; i++) values[i] ??= values[i - 1];
}

// The last index whose time is not after ns; -1: all are.
export function indexAt(times: ArrayLike<number>, ns: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// A rising count at any time, straight between two ticks; it starts at nothing.
function countAt(times: Float64Array, counts: Float64Array, ns: number): number {
  const i = indexAt(times, ns);
  if (i + 1 >= times.length) return times.length ? counts[times.length - 1] : 0;
  const t0 = i < 0 ? 0 : times[i];
  const c0 = i < 0 ? 0 : counts[i];
  const span = times[i + 1] - t0;
  return span > 0 ? c0 + ((counts[i + 1] - c0) * (ns - t0)) / span : c0;
}

// Allocated per second, in bins of equal width over the time up to endNs.
export function rates(model: Model, unit: TimelineUnit, endNs: number, n: number): Float64Array {
  const { ticks } = model;
  const counts = unit === "bytes" ? ticks.bAlloc : ticks.nAlloc;
  const bins = new Float64Array(n);
  const width = endNs / n;
  if (!(width > 0) || !ticks.count) return bins;
  let before = 0;
  for (let i = 0; i < n; i++) {
    const after = countAt(ticks.ns, counts, (i + 1) * width);
    bins[i] = ((after - before) * 1e9) / width;
    before = after;
  }
  return bins;
}

// Many tools keep no count of what was allocated by when.
export function hasRates({ ticks, facts }: Model, unit: TimelineUnit): boolean {
  const counts = unit === "bytes" ? ticks.bAlloc : ticks.nAlloc;
  return counts[ticks.count - 1] > 0 || facts.totals.allocations === 0;
}

// How many bins are worth it: no more than there are ticks to tell them apart.
export function rateBins(model: Model, pixels: number): number {
  return Math.max(1, Math.min(model.ticks.count, Math.floor(pixels / 3)));
}

// Steps of an axis that are round in binary or in decimal.
export function steps(base: 2 | 10): number[] {
  const all: number[] = [];
  if (base === 2) for (let k = 0; k < 53; k++) all.push(2 ** k);
  else for (let k = 0; k < 16; k++) all.push(10 ** k, 2 * 10 ** k, 5 * 10 ** k);
  return all;
}
