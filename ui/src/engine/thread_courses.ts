// SPDX-License-Identifier: Apache-2.0
//
// What threads held over time. Snapshots know stacks; of a stack at which several threads allocate,
// whose its blocks are is known at the peak and at the end. In between its share is drawn as going
// straight from the one to the other, and before the peak as it was there: an estimate, which is
// said. Where threads free each other's blocks it is of several, all the time.

import type { View } from "./look.ts";
import { liveBlocksAt, liveBytesAt, type Model } from "./model.ts";
import { snapshotOfKind, type Unit } from "./question.ts";
import { siteRows } from "./shares.ts";

export interface ThreadCourses {
  live: Float64Array[]; // per thread, and last what is of several; at every snapshot
  isEstimate: Uint8Array; // per snapshot
}

// Steps that this may cost; above, it is not told.
const STEPS_MOST = 5_000_000;

export function isToldOverTime({ snapshots, sites, rows }: Model): boolean {
  return snapshots.count * (sites.count + rows.count) <= STEPS_MOST;
}

// Of rows of stacks that several threads share, and whose blocks they free themselves.
interface Shared {
  rows: number[];
  atPeak: Float64Array; // NaN: nothing was held there
  atEnd: Float64Array;
}

function sharesOf(view: View, unit: Unit): Shared {
  const { model } = view;
  const { rows, sites } = model;
  const { makers, ownFrees } = siteRows(model);
  const list: number[] = [];
  for (let i = 0; i < rows.count; i++) {
    const site = rows.site[i];
    if (view.wanted[site] && makers[site] > 1 && ownFrees[site] && rows.nAlloc[i])
      list.push(i);
  }
  const peak = unit === "bytes" ? "peakBytes" : "peakBlocks";
  const live = unit === "bytes" ? liveBytesAt : liveBlocksAt;
  const share = (of: number, all: number) => (all > 0 ? Math.max(0, of) / all : NaN);
  return {
    rows: list,
    atPeak: Float64Array.from(list, (i) => share(rows[peak][i], sites[peak][rows.site[i]])),
    atEnd: Float64Array.from(list, (i) => share(live(rows, i), live(sites, rows.site[i]))),
  };
}

// How far from the peak to the end each snapshot is: 0 to 1.
function partsOf({ snapshots: { ns, count } }: Model, peak: number | null): Float64Array {
  const from = peak === null ? 0 : ns[peak];
  const span = ns[count - 1] - from;
  return Float64Array.from(ns, (at) => (span > 0 ? Math.max(0, (at - from) / span) : 0));
}

// Of stacks that one thread alone allocates at, and of those that nobody can tell apart.
function addWhole(view: View, now: Float64Array, sums: Float64Array[], s: number): void {
  const { makers, maker, ownFrees } = siteRows(view.model);
  const several = sums[sums.length - 1];
  for (let site = 0; site < now.length; site++)
    if (!view.wanted[site])
      continue;
    else if (makers[site] === 1)
      sums[maker[site]][s] += now[site];
    else if (!ownFrees[site])
      several[s] += now[site];
}

export function threadCourses(view: View, unit: Unit): ThreadCourses {
  const { model } = view;
  const { snapshots, rows, sites, facts } = model;
  const nThreads = Math.max(1, facts.threads.length);
  const live = Array.from({ length: nThreads + 1 }, () => new Float64Array(snapshots.count));
  const shared = sharesOf(view, unit);
  const peak = snapshotOfKind(model, "peak");
  const parts = partsOf(model, peak);
  const now = new Float64Array(sites.count);
  const values = snapshots[unit];
  for (let s = 0, i = 0; s < snapshots.count; s++) {
    for (; i < snapshots.end[s]; i++)
      now[snapshots.site[i]] += values[i];
    addWhole(view, now, live, s);
    shared.rows.forEach((row, k) => {
      const [a, b] = [shared.atPeak[k], shared.atEnd[k]];
      const site = rows.site[row];
      const share = Number.isNaN(a) ? b : Number.isNaN(b) ? a : a + (b - a) * parts[s];
      const made = unit === "bytes" ? "bAlloc" : "nAlloc"; // neither at the peak nor at the end
      live[rows.thread[row]][s] += now[site] *
        (Number.isNaN(share) ? rows[made][row] / (sites[made][site] || 1) : share);
    });
  }
  const isKnown = (s: number) => s === peak || s === snapshots.count - 1;
  return {
    live: live.map((sums) => sums.map((sum) => Math.max(0, Math.round(sum)))),
    isEstimate: Uint8Array.from(snapshots.ns, (_, s) => Number(shared.rows.length && !isKnown(s))),
  };
}
