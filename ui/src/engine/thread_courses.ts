// SPDX-License-Identifier: Apache-2.0
//
// What threads held over time. Snapshots know stacks; of a stack at which several threads allocate,
// whose its blocks are is known at the peak and at the end. In between its share is drawn as going
// straight from the one to the other, and before the peak as it was there: an estimate, which is
// said. Where threads free each other's blocks it is of several, all the time.

import type { View } from "./look.ts";
import { liveBlocksAt, liveBytesAt, type Model } from "./model.ts";
import { atOnce, stretches, type Pieces } from "./pieces.ts";
import { snapshotOfKind, type Unit } from "./question.ts";
import { siteRowsInPieces } from "./shares.ts";

export interface ThreadCourses {
  live: Float64Array[]; // per thread, and last what is of several; at every snapshot
  isEstimate: Uint8Array; // per snapshot
}

// Of a stack that several threads share, and whose blocks they free themselves, the share of each
// is `at` + `more` × how far it is from the peak to the end.
interface Shared {
  first: Uint32Array; // of site i: from first[i] to first[i + 1]
  thread: Uint32Array;
  at: Float64Array;
  more: Float64Array;
}

function* sharesOf(view: View, unit: Unit): Pieces<Shared> {
  const { rows, sites } = view.model;
  const { makers, ownFrees } = yield* siteRowsInPieces(view.model);
  const list: number[] = [];
  const first = new Uint32Array(sites.count + 1);
  yield* stretches(rows.count, (from, past) => {
    for (let i = from; i < past; i++) {
      const site = rows.site[i];
      if (!view.wanted[site] || makers[site] < 2 || !ownFrees[site] || !rows.nAlloc[i]) continue;
      list.push(i);
      first[site + 1]++;
    }
  });
  for (let i = 0; i < sites.count; i++)
    first[i + 1] += first[i];
  yield;
  const peak = unit === "bytes" ? "peakBytes" : "peakBlocks";
  const live = unit === "bytes" ? liveBytesAt : liveBlocksAt;
  const made = unit === "bytes" ? "bAlloc" : "nAlloc";
  const share = (of: number, all: number) => (all > 0 ? Math.max(0, of) / all : NaN);
  const [at, more] = [new Float64Array(list.length), new Float64Array(list.length)];
  yield* stretches(list.length, (from, past) => {
    for (let k = from; k < past; k++) {
      const [row, site] = [list[k], rows.site[list[k]]];
      const then = share(rows[peak][row], sites[peak][site]);
      const end = share(live(rows, row), live(sites, site));
      const neither = rows[made][row] / (sites[made][site] || 1);
      at[k] = Number.isNaN(then) ? (Number.isNaN(end) ? neither : end) : then;
      more[k] = Number.isNaN(then) || Number.isNaN(end) ? 0 : end - then;
    }
  });
  return { first, thread: Uint32Array.from(list, (row) => rows.thread[row]), at, more };
}

// How far from the peak to the end each snapshot is: 0 to 1.
function partsOf({ snapshots: { ns, count } }: Model, peak: number | null): Float64Array {
  const from = peak === null ? 0 : ns[peak];
  const span = ns[count - 1] - from;
  return Float64Array.from(ns, (at) => (span > 0 ? Math.max(0, (at - from) / span) : 0));
}

export function threadCourses(view: View, unit: Unit): ThreadCourses {
  return atOnce(threadCoursesInPieces(view, unit));
}

// Every share is a line over time, so that a change of a stack adds to two sums of each of its
// threads, and no stack is gone over that does not change.
export function* threadCoursesInPieces(view: View, unit: Unit): Pieces<ThreadCourses> {
  const { model } = view;
  const { snapshots, facts } = model;
  const { makers, maker, ownFrees } = yield* siteRowsInPieces(model);
  const nThreads = Math.max(1, facts.threads.length);
  const live = Array.from({ length: nThreads + 1 }, () => new Float64Array(snapshots.count));
  const shared = yield* sharesOf(view, unit);
  const peak = snapshotOfKind(model, "peak");
  const parts = partsOf(model, peak);
  const values = snapshots[unit];
  const now = new Float64Array(nThreads + 1);
  const [at, more] = [new Float64Array(nThreads), new Float64Array(nThreads)];
  const add = (site: number, change: number) => {
    if (!view.wanted[site]) return;
    if (makers[site] === 1) now[maker[site]] += change;
    else if (!ownFrees[site]) now[nThreads] += change;
    else
      for (let k = shared.first[site]; k < shared.first[site + 1]; k++) {
        at[shared.thread[k]] += shared.at[k] * change;
        more[shared.thread[k]] += shared.more[k] * change;
      }
  };
  for (let s = 0, first = 0; s < snapshots.count; first = snapshots.end[s++]) {
    yield* snapshots.site.overInPieces(first, snapshots.end[s], (of, from, past) => {
      for (let i = from; i < past; i++) add(of[i - from], values[i]);
    });
    for (let t = 0; t < nThreads; t++) live[t][s] = now[t] + at[t] + more[t] * parts[s];
    live[nThreads][s] = now[nThreads];
  }
  const isKnown = (s: number) => s === peak || s === snapshots.count - 1;
  const anyShared = shared.thread.length > 0;
  return {
    live: live.map((sums) => sums.map((sum) => Math.max(0, Math.round(sum)))),
    isEstimate: Uint8Array.from(snapshots.ns, (_, s) => Number(anyShared && !isKnown(s))),
  };
}
