// SPDX-License-Identifier: Apache-2.0
//
// What is compared with what, and what comes of it. Of two captures the first is always the one
// before, whichever of them is being looked at; of two moments, the one that was kept as base; of
// two threads, the one that the selected one is held against. Without any of these, the two ends of
// the range selected, else the peak and the end, or where the run ends at its peak the start and
// that.

import { computed } from "@preact/signals-core";
import { totalAtSnapshots } from "../engine/curves.ts";
import { DIFF_GROUPS, diffGroupRefusal, diffPlaces } from "../engine/diff.ts";
import type { Diff, DiffGroup, DiffPlace } from "../engine/diff.ts";
import { makeView, partOf, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import {
  nearestSnapshot,
  refusal,
  snapshotOfKind,
  START,
  type Question,
} from "../engine/question.ts";
import { weighIn } from "../engine/narrow.ts";
import { search, searchSites, type Matches } from "../engine/search.ts";
import { buildDiffTree, type Tree } from "../engine/tree.ts";
import { shareWrappers } from "../engine/wrappers.ts";
import { TreeNames } from "../flame/names.ts";
import { nodeOf } from "../flame/walk.ts";
import { range } from "./moments.ts";
import { model, question, searchFault, searchRegex, searchText, session } from "./session.ts";
import { ordered, shape, sitesBelow, usedLook, view, zoomPath } from "./session.ts";
import { state } from "./state.ts";

export interface Side {
  model: Model;
  view: View;
  question: Question;
}

export interface Sides {
  before: Side;
  after: Side;
  areCaptures: boolean;
  areThreads: boolean;
}

// Both fold what either does.
const compared = computed(() => {
  const { other } = session.value!;
  return other ? shareWrappers(model.value, other) : null;
});

// Of the whole run: a part of one has no counterpart in the other.
function ofCaptures(other: Model, isFirstShown: boolean): Sides {
  const asked = { ...question.value, from: null, to: null };
  const viewOf = (of: Model) => (of === model.value ? view.value : makeView(of, usedLook.value));
  const side = (of: Model): Side => {
    const shown = viewOf(of);
    return { model: shown.model, view: shown, question: asked };
  };
  const [here, there] = compared.value ?? [model.value, other];
  const [before, after] = (isFirstShown ? [here, there] : [there, here]).map(side);
  return { before, after, areCaptures: true, areThreads: false };
}

// By what was live at them.
function ofMoments(before: number, after: number): Sides {
  const of = { model: model.value, view: view.value };
  const { unit } = question.value;
  const at = (to: number): Question => ({ measure: "live", unit, from: null, to });
  return {
    before: { ...of, question: at(before) },
    after: { ...of, question: at(after) },
    areCaptures: false,
    areThreads: false,
  };
}

function sinceMoment(baseNs: number): Sides {
  const { measure, to } = question.value;
  const of = model.value;
  const peak = measure === "peak" ? snapshotOfKind(of, "peak") : null;
  return ofMoments(nearestSnapshot(of, baseNs), peak ?? to ?? of.snapshots.count - 1);
}

// Both under the same question.
function ofThreads(versus: string): Sides {
  const other = makeView(model.value, { ...usedLook.value, thread: versus });
  const side = (shown: View): Side =>
    ({ model: model.value, view: shown, question: question.value });
  return { before: side(other), after: side(view.value), areCaptures: false, areThreads: true };
}

const FALLEN = 0.95; // of the peak: with more at the end, what happened is how it came to be

// Which two moments say most when nobody has chosen any; null: there are none.
export function usualMoments(of: Model): [number, number] | null {
  const last = of.snapshots.count - 1;
  const peak = snapshotOfKind(of, "peak");
  if (last < 0) return null;
  const sums = totalAtSnapshots(of);
  if (peak === null || peak === last) return [START, last];
  return sums[last] > FALLEN * sums[peak] ? [START, peak] : [peak, last];
}

// null: there is nothing to compare with.
export const sides = computed<Sides | null>(() => {
  const { base, thread, versus } = state.value;
  const { other, capture } = session.value!;
  if (thread !== null && versus !== null) return ofThreads(versus);
  if (typeof base === "number") return sinceMoment(base);
  if (other) return ofCaptures(other, capture === 0);
  const usual = range.value ? [range.value.from, range.value.to] : usualMoments(model.value);
  return usual && ofMoments(usual[0], usual[1]);
});

export const fault = computed(() => {
  const of = sides.value;
  return of
    ? (refusal(of.before.model, of.before.question) ?? refusal(of.after.model, of.after.question))
    : null;
});

// As the table is grouped, where that goes with a comparison.
export const kind = computed<DiffGroup>(() => {
  const { group } = state.value;
  return DIFF_GROUPS.find((one) => one === group) ?? "place";
});

export const groupFault = computed(() => {
  const of = sides.value;
  return of && diffGroupRefusal(of.before.model, of.after.model, kind.value);
});

function treeOf(of: Sides | null): Tree | null {
  if (!of || fault.value) return null;
  const { before, after } = of;
  const [then, now] = [before, after].map((side) => weighIn(side.view, side.question));
  return ordered(buildDiffTree(before.view, then, after.view, now, shape.value));
}
export const tree = computed<Tree | null>(() => treeOf(sides.value));

// What is left of both by what their graph is zoomed to; of two captures the sites of the one after
// come first.
const sidesLeft = computed<Sides | null>(() => {
  const [of, made, zoom] = [sides.value, tree.value, zoomPath.value];
  if (!of || !made || !zoom.length) return of;
  const models = [of.after.model, of.before.model];
  const node = nodeOf(new TreeNames(made, models, ""), zoom);
  if (!node) return of;
  const isOne = of.after.view === of.before.view;
  const n = of.after.model.sites.count;
  const is = sitesBelow(made, node, isOne ? n : n + of.before.model.sites.count);
  const part = (side: Side, only: Uint8Array) => ({ ...side, view: partOf(side.view, only) });
  const after = part(of.after, is.subarray(0, n));
  return { ...of, after, before: part(of.before, isOne ? is : is.subarray(n)) };
});

export const places = computed<Diff | null>(() => {
  const of = sidesLeft.value;
  return of && !fault.value && !groupFault.value
    ? diffPlaces(of.before, of.after, kind.value)
    : null;
});

// Of everything, however it is grouped.
export const total = computed<Diff["total"] | null>(() => {
  const of = sidesLeft.value;
  if (!of || fault.value) return null;
  return (places.value ?? diffPlaces(of.before, of.after)).total;
});

function foundIn(of: Sides | null, made: Tree | null): Matches | null {
  return searchText.value && !searchFault.value && of && made
    ? search(made, [of.after.view, of.before.view], searchText.value)
    : null;
}
export const found = computed<Matches | null>(() => foundIn(sides.value, tree.value));
export const foundLeft = computed<Matches | null>(() =>
  sidesLeft.value === sides.value ? found.value
    : foundIn(sidesLeft.value, treeOf(sidesLeft.value)),
);

// Whether a place is among what is searched for: a stack of it on either side has a match; threads
// and classes, which share stacks, go by their names.
export const foundPlace = computed<(place: DiffPlace) => boolean>(() => {
  const of = sidesLeft.value;
  const regex = searchRegex.value;
  if (!of || !regex) return () => true;
  const [then, now] = [of.before, of.after].map(({ view: shown }) =>
    searchSites(shown, searchText.value));
  return ({ beforeSites, afterSites, label }) =>
    beforeSites.some((site) => then[site] === 1) ||
    afterSites.some((site) => now[site] === 1) ||
    (label !== null && regex.test(label));
});
