// SPDX-License-Identifier: Apache-2.0
//
// What the largest stacks held between snapshots: they were looked at with every tick. Of bands,
// the part that is known so, at snapshots and at ticks; what is left of a band goes straight from
// one snapshot to the next.

import { liveInPieces } from "./curves.ts";
import { SiteKind, type Model } from "./model.ts";
import { atOnce } from "./pieces.ts";

export interface HeldPart {
  atSnapshots: Float64Array;
  atTicks: Float64Array;
}

// The last of the rising times that is not behind ns; -1: none.
export function lastAt(times: ArrayLike<number>, ns: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

// A value between those of two snapshots, as if it went straight.
export function straightAt({ snapshots }: Model, values: ArrayLike<number>, ns: number): number {
  const before = lastAt(snapshots.ns, ns);
  if (before < 0)
    return snapshots.count && snapshots.ns[0] > 0 ? values[0] * (ns / snapshots.ns[0]) : 0;
  if (before + 1 >= snapshots.count)
    return values[before];
  const span = snapshots.ns[before + 1] - snapshots.ns[before];
  const part = span > 0 ? (ns - snapshots.ns[before]) / span : 0;
  return values[before] + (values[before + 1] - values[before]) * part;
}

const curvesOf = new WeakMap<Model, Float64Array[]>();

// At the snapshots, what each of the sites held that were looked at.
function heldCurves(model: Model): Float64Array[] {
  const made = curvesOf.get(model) ??
    Array.from(model.held?.sites ?? [], (site) => atOnce(liveInPieces(model, [site], "bytes")));
  curvesOf.set(model, made);
  return made;
}

// Per band, and of all that is in none of the n at the end. Null: nothing was looked at.
export function heldParts(
  model: Model, bandOf: (site: number) => number, n: number,
): HeldPart[] | null {
  const { held, ticks, snapshots } = model;
  if (!held?.sites.length)
    return null;
  const parts = Array.from({ length: n + 1 }, () => ({
    atSnapshots: new Float64Array(snapshots.count),
    atTicks: new Float64Array(ticks.count),
  }));
  heldCurves(model).forEach((live, i) => {
    const site = held.sites[i];
    if (model.sites.kind[site] === SiteKind.pages)
      return;
    const { atSnapshots, atTicks } = parts[Math.min(bandOf(site), n)];
    for (let s = 0; s < snapshots.count; s++)
      atSnapshots[s] += live[s];
    for (let t = 0; t < ticks.count; t++) {
      const bytes = held.bytes[i * ticks.count + t];
      atTicks[t] += bytes < 0 ? straightAt(model, live, ticks.ns[t]) : bytes;
    }
  });
  return parts;
}
