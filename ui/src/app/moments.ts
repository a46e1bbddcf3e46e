// SPDX-License-Identifier: Apache-2.0
//
// Moments and ranges of the run: which are selected, and the steps from one to another. A selected
// time is always that of a snapshot, since what is shown is known there and nowhere else.

import { computed } from "@preact/signals-core";
import { localPeaks, runNs, totalAtSnapshots } from "../engine/curves.ts";
import { nearestSnapshot, refusal, snapshotOfKind, START, timeOf } from "../engine/question.ts";
import { model, pane, question, session } from "./session.ts";
import { go, settle, state, type State } from "./state.ts";

// The other capture, where it is compared with the one shown.
export const otherRun = computed(() =>
  pane.value === "diff" && state.value.base === "" && state.value.versus === null
    ? session.value!.other
    : null,
);

export const endNs = computed(() => {
  const { ticks, snapshots, facts } = model.value;
  const last = (times: Float64Array, n: number) => (n ? times[n - 1] : 0);
  const run = facts.image.end_ns - facts.image.start_ns;
  const beside = otherRun.value ? runNs(otherRun.value) : 0;
  return Math.max(1, run, beside, last(ticks.ns, ticks.count), last(snapshots.ns, snapshots.count));
});

// What of the time is seen; all of it unless the reader has come nearer.
export const seenTime = computed<{ from: number; to: number }>(() => {
  const end = endNs.value;
  const from = Math.max(0, state.value.left ?? 0);
  const to = Math.min(end, state.value.right ?? end);
  return from < to ? { from, to } : { from: 0, to: end };
});

const LEAST_PART = 1e-4; // of the run: nearer there is nothing to see
const MOST_PART = 0.99; // ends are rounded: who goes away as far as they came sees all again

// Comes nearer to a moment, which stays where it is, or goes away from it. False: all is seen.
export function zoomTime(ns: number, factor: number): boolean {
  const { from, to } = seenTime.peek();
  const end = endNs.peek();
  const width = Math.max(end * LEAST_PART, (to - from) * factor);
  if (width >= end * MOST_PART) {
    const wasAll = from === 0 && to === end;
    if (!wasAll) settle({ left: null, right: null });
    return !wasAll;
  }
  const left = Math.min(end - width, Math.max(0, ns - ((ns - from) / (to - from)) * width));
  settle({ left: Math.round(left), right: Math.round(left + width) });
  return true;
}

export function panTime(part: number): void {
  const { from, to } = seenTime.peek();
  const by = Math.max(-from, Math.min(endNs.peek() - to, part * (to - from)));
  if (by) settle({ left: Math.round(from + by), right: Math.round(to + by) });
}

// By keys, around the moment selected, else the middle.
export function zoomKey(factor: number): void {
  const { from, to } = seenTime.peek();
  const at = moment.peek() === null ? -1 : timeOf(model.peek(), moment.peek()!);
  zoomTime(at >= from && at <= to ? at : (from + to) / 2, factor);
}

const unit = computed(() => question.value.unit);
export const totals = computed(() => totalAtSnapshots(model.value, unit.value));

export const range = computed<{ from: number; to: number } | null>(() => {
  const s = state.value;
  if (s.from === null && s.to === null) return null;
  const from = nearestSnapshot(model.value, s.from ?? 0);
  const to = s.to === null ? model.value.snapshots.count - 1 : nearestSnapshot(model.value, s.to);
  return { from, to };
});

// The snapshot that a moment's line stands at; null: none, as the whole run is asked for.
export const moment = computed<number | null>(() => {
  const { measure, from, to } = question.value;
  if (measure === "peak") return snapshotOfKind(model.value, "peak");
  if ((measure !== "live" && measure !== "leak") || from !== null) return null;
  return to ?? lastSnapshot();
});

function lastSnapshot(): number | null {
  const { count } = model.value.snapshots;
  return count ? count - 1 : null;
}

// The same for what is known at other moments than snapshots; null: none was selected.
export const selectedTime = computed<"peak" | number | null>(() => {
  const { measure, at, from, to } = state.value;
  if (at !== null || to !== null) return at ?? to;
  if (measure === "peak") return "peak";
  return measure === "live" || from !== null ? endNs.value : null;
});

export function isPeak(snapshot: number): boolean {
  return snapshot !== START && snapshot === snapshotOfKind(model.value, "peak");
}

export function selectMoment(snapshot: number, write: typeof go = go): void {
  const isEdge = isPeak(snapshot) || snapshot === lastSnapshot();
  const at = isEdge ? null : timeOf(model.value, snapshot);
  const measure = isPeak(snapshot) ? "peak" : "live";
  write({ measure, at, table: null, from: null, to: null });
}

// What is asked of a range, as far as that can be answered for it.
function rangeMeasure(measure: State["measure"], from: number, to: number): State["measure"] {
  const { unit } = question.peek();
  if (measure === "leak" && !refusal(model.value, { measure, unit, from, to })) return measure;
  return measure === "total" || measure === "live" ? measure : "grown";
}

export function selectRange(a: number, b: number, write: typeof go = go): void {
  const { measure, from: had } = state.peek();
  const first = Math.min(a, b);
  const last = Math.max(a, b);
  const asked = had === null && measure === "live" ? "grown" : measure; // of a moment until now
  const next = rangeMeasure(asked, first, last);
  const from = timeOf(model.value, first);
  write({ measure: next, at: null, table: null, from, to: endOf(last) });
}

// A range up to the last moment goes on with the run: while a program is recorded that moment is
// "now", and there is no look at it any more a second later.
function endOf(snapshot: number): number | null {
  return snapshot === lastSnapshot() ? null : timeOf(model.value, snapshot);
}

export function moveEdge(edge: "from" | "to", snapshot: number, write: typeof go = go): void {
  const now = range.value;
  if (!now) return;
  const other = edge === "from" ? now.to : now.from;
  if (edge === "from" ? snapshot >= other : snapshot <= other) return;
  write(edge === "from" ? { from: timeOf(model.value, snapshot) } : { to: endOf(snapshot) });
}

export function clearRange(): void {
  const { measure } = state.peek();
  const keeps = measure === "total" || measure === "leak";
  go({ from: null, to: null, at: null, measure: keeps ? measure : null });
}

export function toPeak(): void {
  go({ measure: "peak", at: null, table: null, from: null, to: null });
}

export function toEnd(): void {
  go({ measure: "live", at: null, table: null, from: null, to: null });
}

// The next of the moments that stand out, in either direction.
export function toLocalPeak(step: 1 | -1): void {
  const peaks = localPeaks(model.value);
  const here = moment.value ?? (step > 0 ? START : model.value.snapshots.count);
  const next = step > 0 ? peaks.find((p) => p > here) : peaks.filter((p) => p < here).at(-1);
  if (next !== undefined) selectMoment(next);
}
