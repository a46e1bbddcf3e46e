// SPDX-License-Identifier: Apache-2.0
//
// What is compared with what, and what comes of it. Of two captures the first is always the one
// before, whichever of them is being looked at; of two moments, the one that was kept as base; of
// two threads, the one that the selected one is held against. Without any of these, the two ends of
// the range selected, else the peak and the end, or where the run ends at its peak the start and
// that.

import { computed } from "@preact/signals-core";
import { totalAtSnapshots } from "../engine/curves.ts";
import { DIFF_GROUPS, diffGroupRefusal, diffInPieces } from "../engine/diff.ts";
import type { Diff, DiffGroup, DiffPlace } from "../engine/diff.ts";
import { makeView, partOf, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { orderInPieces, type Order } from "../engine/order.ts";
import type { Pieces } from "../engine/pieces.ts";
import {
  nearestSnapshot,
  prepareWeights,
  refusal,
  snapshotOfKind,
  START,
  type Question,
} from "../engine/question.ts";
import { weighIn } from "../engine/narrow.ts";
import { searchInPieces, searchSitesInPieces, type Matches } from "../engine/search.ts";
import { diffTreeInPieces, type Tree, type TreeOptions } from "../engine/tree.ts";
import { shareWrappers } from "../engine/wrappers.ts";
import { TreeNames } from "../flame/names.ts";
import { nodeOf } from "../flame/walk.ts";
import { later } from "./later.ts";
import { range } from "./moments.ts";
import { model, question, searchFault, searchRegex, searchText, session } from "./session.ts";
import { inPanes, order, shape, some, usedLook, view, zoomPath } from "./session.ts";
import { letGo } from "./signals.ts";
import { state } from "./state.ts";
import { sitesBelow } from "./zoomed.ts";

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

const chosen = some(({ base, thread, versus }) => ({ base, thread, versus }));

// null: there is nothing to compare with.
export const sides = computed<Sides | null>(() => {
  const { base, thread, versus } = chosen.value;
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

// ---- what comes of it ----

interface Asked {
  of: Model;
  sides: Sides;
  group: DiffGroup | null; // null: there are no places by it
  shape: TreeOptions;
  order: Order;
  zoom: string[];
  search: string;
}

interface Answer {
  tree: Tree;
  left: Sides; // by what the graph is zoomed to
  places: Diff | null;
  total: Diff["total"]; // of everything, however it is grouped
  found: Matches | null; // null: no search
  foundLeft: Matches | null;
  foundSites: Uint8Array[]; // of a search, per site before and after
}

function* treeInPieces({ sides: of, shape, order }: Asked): Pieces<Tree> {
  const weightsOf = function* ({ view, question }: Side) {
    yield* prepareWeights(view.model, question);
    return weighIn(view, question);
  };
  const { before, after } = of;
  const [then, now] = [yield* weightsOf(before), yield* weightsOf(after)];
  return yield* orderInPieces(
    yield* diffTreeInPieces(before.view, then, after.view, now, shape), order);
}

// What is left of both by what their graph is zoomed to; of two captures the sites of the one after
// come first.
function leftOf({ sides: of, zoom }: Asked, made: Tree): Sides {
  if (!zoom.length) return of;
  const models = [of.after.model, of.before.model];
  const node = nodeOf(new TreeNames(made, models, ""), zoom);
  if (!node) return of;
  const isOne = of.after.view === of.before.view;
  const n = of.after.model.sites.count;
  const is = sitesBelow(made, node, isOne ? n : n + of.before.model.sites.count);
  const part = (side: Side, only: Uint8Array) => ({ ...side, view: partOf(side.view, only) });
  const after = part(of.after, is.subarray(0, n));
  return { ...of, after, before: part(of.before, isOne ? is : is.subarray(n)) };
}

function* compare(asked: Asked): Pieces<Answer> {
  const { sides: of, group, search } = asked;
  const tree = yield* treeInPieces(asked);
  const left = leftOf(asked, tree);
  yield;
  const places = group && (yield* diffInPieces(left.before, left.after, group));
  const total = (places ?? (yield* diffInPieces(left.before, left.after))).total;
  const answer = { tree, left, places, total, found: null, foundLeft: null, foundSites: [] };
  if (!search) return answer;
  const treeLeft = left === of ? tree : yield* treeInPieces({ ...asked, sides: left });
  const views = ({ after, before }: Sides) => [after.view, before.view];
  const found = yield* searchInPieces(tree, views(of), search);
  return {
    ...answer, found,
    foundLeft: left === of ? found : yield* searchInPieces(treeLeft, views(left), search),
    foundSites: [
      yield* searchSitesInPieces(left.before.view, search),
      yield* searchSitesInPieces(left.after.view, search),
    ],
  };
}

const asked = inPanes<Asked | null>(["diff"], () => {
  const of = sides.value;
  if (!of || fault.value) return null;
  return {
    of: model.value, sides: of, group: groupFault.value ? null : kind.value, shape: shape.value,
    order: order.value, zoom: zoomPath.value, search: searchFault.value ? "" : searchText.value,
  };
}, null);

// null: there is nothing to compare, or it is not made yet.
const answer = later(asked, compare, { isKept: true });

export const tree = letGo<Tree | null>(() => answer.value && answer.value.tree);
export const places = letGo<Diff | null>(() => answer.value && answer.value.places);
export const total = letGo<Diff["total"] | null>(() => answer.value && answer.value.total);
export const found = letGo<Matches | null>(() => answer.value && answer.value.found);
export const foundLeft = letGo<Matches | null>(() => answer.value && answer.value.foundLeft);

// Whether a place is among what is searched for: a stack of it on either side has a match; threads
// and classes, which share stacks, go by their names.
export const foundPlace = letGo<(place: DiffPlace) => boolean>(() => {
  const [then, now] = answer.value?.foundSites ?? [];
  const regex = searchRegex.value;
  if (!then || !now || !regex) return () => true;
  return ({ beforeSites, afterSites, label }) =>
    beforeSites.some((site) => then[site] === 1) ||
    afterSites.some((site) => now[site] === 1) ||
    (label !== null && regex.test(label));
});
