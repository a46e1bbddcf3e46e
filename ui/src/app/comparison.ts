// SPDX-License-Identifier: Apache-2.0
//
// What is compared with what, and what comes of it. Of two captures the first is always the one
// before, whichever of them is being looked at; of two moments, the one that was kept as base.

import { computed } from "@preact/signals-core";
import { DIFF_GROUPS, diffGroupRefusal, diffPlaces } from "../engine/diff.ts";
import type { Diff, DiffGroup } from "../engine/diff.ts";
import { makeView, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import {
  nearestSnapshot,
  refusal,
  snapshotOfKind,
  type Question,
} from "../engine/question.ts";
import { weighIn } from "../engine/narrow.ts";
import { search, type Matches } from "../engine/search.ts";
import { buildDiffTree, type Tree } from "../engine/tree.ts";
import { shareWrappers } from "../engine/wrappers.ts";
import { model, question, searchFault, searchText, session } from "./session.ts";
import { shape, usedLook, view } from "./session.ts";
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
  const side = (of: Model): Side => ({ model: of, view: viewOf(of), question: asked });
  const [here, there] = compared.value ?? [model.value, other];
  const [before, after] = (isFirstShown ? [here, there] : [there, here]).map(side);
  return { before, after, areCaptures: true };
}

// By what was live at them.
function ofMoments(baseNs: number): Sides {
  const of = { model: model.value, view: view.value };
  const { measure, unit, to } = question.value;
  const peak = measure === "peak" ? snapshotOfKind(of.model, "peak") : null;
  const at = (to: number): Question => ({ measure: "live", unit, from: null, to });
  return {
    before: { ...of, question: at(nearestSnapshot(of.model, baseNs)) },
    after: { ...of, question: at(peak ?? to ?? of.model.snapshots.count - 1) },
    areCaptures: false,
  };
}

// null: there is nothing to compare with.
export const sides = computed<Sides | null>(() => {
  const { base } = state.value;
  const { other, capture } = session.value!;
  if (typeof base === "number") return ofMoments(base);
  return other ? ofCaptures(other, capture === 0) : null;
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

export const places = computed<Diff | null>(() => {
  const of = sides.value;
  return of && !fault.value && !groupFault.value
    ? diffPlaces(of.before, of.after, kind.value)
    : null;
});

// Of everything, however it is grouped.
export const total = computed<Diff["total"] | null>(() => {
  const of = sides.value;
  if (!of || fault.value) return null;
  return (places.value ?? diffPlaces(of.before, of.after)).total;
});

export const tree = computed<Tree | null>(() => {
  const of = sides.value;
  if (!of || fault.value) return null;
  const { before, after } = of;
  const [then, now] = [before, after].map((side) => weighIn(side.view, side.question));
  return buildDiffTree(before.view, then, after.view, now, shape.value);
});

export const found = computed<Matches | null>(() =>
  searchText.value && !searchFault.value && tree.value
    ? search(tree.value, [sides.value!.after.view, sides.value!.before.view], searchText.value)
    : null,
);
