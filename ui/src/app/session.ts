// SPDX-License-Identifier: Apache-2.0
//
// What was loaded, and what follows from it and the state: one question, one view, one set of
// weights, shared by chart, graph and tables. Each is computed when somebody looks at it, and again
// only when what it depends on has changed.

import { computed, signal } from "@preact/signals-core";
import {
  emptyLook,
  lookRefusal,
  makeView,
  patternRefusal,
  wantedWeight,
  type Look,
  type View,
} from "../engine/look.ts";
import type { Picture } from "../engine/errands.ts";
import { withLibraries } from "../engine/libraries.ts";
import type { Model } from "../engine/model.ts";
import { inOrder } from "../engine/order.ts";
import { weighIn } from "../engine/narrow.ts";
import { Few } from "../engine/pieces.ts";
import {
  defaultQuestion,
  nearestSnapshot,
  refusal,
  whole,
  type Question,
} from "../engine/question.ts";
import { buildTree, type Tree, type TreeOptions } from "../engine/tree.ts";
import { trieOf, type Trie } from "../engine/trie.ts";
import { search, searchPattern, searchSites, type Matches } from "../engine/search.ts";
import { firstSight, hasSight } from "./first_sight.ts";
import type { Origin, PageFacts } from "./load.ts";
import { seen, type Seen } from "./pictures.ts";
import { prepare, withTree, type Asked } from "./prepare.ts";
import { zoomedPart } from "./zoomed.ts";
import { settled } from "./settled.ts";
import { letGo } from "./signals.ts";
import { filterKinds, state, type GroupWord, type Pane, type State } from "./state.ts";

export interface Session {
  origin: Origin;
  facts: PageFacts;
  capture: number; // the one shown
  model: Model;
  other: Model | null; // of the other capture, where there are two
}

export const session = signal<Session | null>(null);
export const failure = signal<string | null>(null);
export const isBusy = signal(true);
export const progress = signal(""); // how far reading the capture is, in words
export const announcement = signal(""); // read out by screen readers

const libraries = computed(() => state.value.library);
const wantedModel = computed<Model>(() =>
  withLibraries(session.value!.model, libraries.value),
);

const wantedPane = computed<Pane>(
  () => state.value.pane ?? (session.value?.other ? "diff" : "overview"),
);

// Some of the state that something depends on: what stays equal as text stays the same value.
export function some<T>(pick: (state: State) => T) {
  const text = computed(() => JSON.stringify(pick(state.value)));
  return computed(() => JSON.parse(text.value) as T);
}

// While a program is being recorded, what is looked at without being asked for is its latest state.
export function questionOf(of: Model, s: State, isLive: boolean): Question {
  const measure = s.measure ?? (isLive ? "live" : defaultQuestion(of).measure);
  const { unit } = s;
  if (s.from === null && s.to === null) {
    const takesTime = measure === "live" || measure === "leak";
    const to = takesTime && s.at !== null ? nearestSnapshot(of, s.at, measure) : null;
    return { measure, unit, from: null, to };
  }
  const from = nearestSnapshot(of, s.from ?? 0, measure);
  const to = s.to === null ? of.snapshots.count - 1 : nearestSnapshot(of, s.to, measure);
  if (measure === "live") return { measure, unit, from: null, to: s.edge === "from" ? from : to };
  return { measure, unit, from, to };
}

const wantedQuestion = (() => {
  const text = computed(() =>
    JSON.stringify(questionOf(wantedModel.value, state.value, session.value!.facts.live)),
  );
  return computed(() => JSON.parse(text.value) as Question);
})();

function lookOf(s: State): Look {
  const { runtime: allFrames, blame, collapse, library, row, thread, size, lifetime } = s;
  const only = { row, rowBlame: blame, thread, size, lifetime };
  const look: Look = { ...emptyLook, allFrames, blame, collapse, libraries: library, ...only };
  for (const kind of filterKinds) look[kind] = s.filters[kind];
  return look;
}
const look = some(lookOf);

// What is wrong with the patterns; with such ones, nothing is filtered.
export const lookFault = computed(() => lookRefusal(look.value));

export const wantedPicture = (() => {
  const text = computed(() => {
    const { invert: inverted, lines: byLine } = state.value;
    return JSON.stringify({ look: lookFault.value ? emptyLook : look.value, inverted, byLine });
  });
  return computed(() => JSON.parse(text.value) as Picture);
})();

const wantedGroup = computed(() => state.value.group);
const wantedSearch = some((s) => s.search);
const wantedZoom = some((s) => s.zoom);
const wantedPart = some((s) => s.from === null && s.to === null ? null
  : questionOf(wantedModel.value, { ...s, measure: "grown" }, false));
const wantedOrder = computed(() => state.value.order);

// Of a large capture it follows what is wanted as soon as it is made; all below goes by it.
// The first one came with the model.
const ready = seen(wantedModel, wantedPicture);
const waiting = computed(() => {
  const [of, picture] = [wantedModel.value, wantedPicture.value];
  const isEnough = hasSight.includes(wantedPane.value) && !wantedSearch.value &&
    !wantedZoom.value.length;
  return !ready.value || ready.value.picture === picture ? null
    : { of, pictures: [picture], question: wantedQuestion.value, isEnough };
});
const sights = firstSight(waiting);
const sight = computed<Seen | null>(() => sights.value?.[0] ?? null);
let first: { sight: Seen; asked: Asked } | null = null; // that is shown until all is there
const asked = computed<Asked>(() => {
  const [of, picture] = [wantedModel.value, wantedPicture.value];
  const isWaiting = waiting.value !== null;
  // Whatever else is asked of it waits for all.
  if (isWaiting && !sight.value && first?.sight.picture === picture && first.asked.of === of &&
      hasSight.includes(wantedPane.value)) return first.asked;
  const what: Asked = {
    of,
    ...(sight.value ?? ready.value ?? { view: makeView(of, picture.look), picture }),
    question: wantedQuestion.value,
    part: wantedPart.value,
    pane: wantedPane.value,
    group: wantedGroup.value,
    search: wantedSearch.value,
    zoom: wantedZoom.value,
    order: wantedOrder.value,
  };
  first = sight.value && { sight: sight.value, asked: what };
  return what;
});
const shown = settled(asked, prepare);

export const model = computed<Model>(() => shown.value.of);
export const pane = computed<Pane>(() => shown.value.pane);
export const question = computed<Question>(() => shown.value.question);
export const grouped = computed<GroupWord>(() => shown.value.group);

// The part of the run that is selected; null: all of it.
export const part = computed<Question | null>(() => shown.value.part);

// Why there is no answer; null: there is one.
export const refused = computed(() => refusal(model.value, question.value));

export const usedLook = computed(() => shown.value.picture.look);
export const view = computed<View>(() => shown.value.view);
export const shape = computed<TreeOptions>(() => shown.value.picture);

// No stack is of the row that is selected: another build's, or of other code leading.
export const rowLost = computed(
  () => usedLook.value.row !== null && !view.value.wanted.includes(1),
);

// Made of the same as before they may be others: those that were prepared are what is shown.
export const weights = computed(() => {
  void shown.value;
  return refused.value ? nothing(model.value) : weighIn(view.value, question.value);
});

const none = new Few<Model, Float64Array>(1);
const nothing = (of: Model) =>
  none.get(of, "") ?? none.keep(of, "", new Float64Array(of.sites.count));

export const wholeWeight = computed(() => (refused.value ? 0 : whole(model.value, question.value)));

export const order = computed(() => shown.value.order);

// As boxes are to be beside each other.
export const ordered = (made: Tree) => inOrder(made, order.value);

// What a pane alone shows: under another one nobody waits for it.
export function inPanes<T>(panes: Pane[], make: () => T, otherwise: T) {
  return letGo(
    () => (panes.includes(pane.value) ? make() : otherwise), () => !panes.includes(pane.peek()),
  );
}

export const trie = computed<Trie>(() =>
  trieOf(view.value, shape.value.inverted, shape.value.byLine),
);

// Where no tree is drawn or asked, none is made, and nobody reads it but who is about to go.
const needsTree = computed(() =>
  withTree.includes(pane.value) || searchText.value !== "" || zoomPath.value.length > 0);
let last: { of: Model; tree: Tree } | null = null;
export const tree = computed<Tree>(() => {
  const { of } = shown.value; // as weights are
  if (needsTree.value || last?.of !== of) last = null;
  if (needsTree.value)
    last = { of, tree: ordered(buildTree(view.value, weights.value, shape.value)) };
  return last?.tree as Tree;
});

// What the graph is zoomed to, as far as it leads.
export const zoomPath = computed<string[]>(() => shown.value.zoom);

// What everything but the graph shows, which has the rest around what it is zoomed to.
export const left = computed<View>(() =>
  zoomPath.value.length && !refused.value
    ? zoomedPart(view.value, tree.value, zoomPath.value)
    : view.value,
);
export const wanted = computed(() => wantedWeight(left.value, weights.value));
export const treeLeft = computed<Tree>(() =>
  left.value === view.value ? tree.value
    : ordered(buildTree(left.value, weights.value, shape.value)),
);

export const searchText = computed(() => shown.value.search);
export const searchFault = computed(() =>
  searchText.value ? patternRefusal(searchText.value) : null,
);
const matchesIn = (of: () => Tree) => () =>
  searchText.value && !searchFault.value && !refused.value
    ? search(of(), [view.value], searchText.value)
    : null;
export const matches = computed<Matches | null>(matchesIn(() => tree.value));
export const matchesLeft = computed<Matches | null>(() =>
  left.value === view.value ? matches.value : matchesIn(() => treeLeft.value)(),
);

// Of the rows of tables: which stacks have a match, and what of a text is one. null: no search.
export const foundSites = computed<Uint8Array | null>(() =>
  searchText.value && !searchFault.value ? searchSites(view.value, searchText.value) : null,
);
export const searchRegex = computed<RegExp | null>(() =>
  searchText.value && !searchFault.value ? searchPattern(searchText.value) : null,
);
