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
  partOf,
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
import { TreeNames } from "../flame/names.ts";
import { nodeOf } from "../flame/walk.ts";
import type { Origin, PageFacts } from "./load.ts";
import { seen } from "./pictures.ts";
import { prepare } from "./prepare.ts";
import { settled } from "./settled.ts";
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

// The part of the state that something depends on: what stays equal as text stays the same value.
function part<T>(pick: (state: State) => T) {
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
const look = part(lookOf);

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
const wantedSearch = part((s) => s.search);

// Of a large capture it follows what is wanted as soon as it is made; all below goes by it.
// The first one came with the model.
const ready = seen(wantedModel, wantedPicture);
const asked = computed(() => {
  const picture = wantedPicture.value;
  const of = wantedModel.value;
  return {
    of,
    ...(ready.value ?? { view: makeView(of, picture.look), picture }),
    question: wantedQuestion.value,
    pane: wantedPane.value,
    group: wantedGroup.value,
    search: wantedSearch.value,
  };
});
const shown = settled(asked, prepare);

export const model = computed<Model>(() => shown.value.of);
export const pane = computed<Pane>(() => shown.value.pane);
export const question = computed<Question>(() => shown.value.question);
export const grouped = computed<GroupWord>(() => shown.value.group);

// Why there is no answer; null: there is one.
export const refused = computed(() => refusal(model.value, question.value));

export const usedLook = computed(() => shown.value.picture.look);
export const view = computed<View>(() => shown.value.view);
export const shape = computed<TreeOptions>(() => shown.value.picture);

// No stack is of the row that is selected: another build's, or of other code leading.
export const rowLost = computed(
  () => usedLook.value.row !== null && !view.value.wanted.includes(1),
);

export const weights = computed(() =>
  refused.value ? new Float64Array(model.value.sites.count) : weighIn(view.value, question.value),
);
export const wholeWeight = computed(() => (refused.value ? 0 : whole(model.value, question.value)));

const order = computed(() => state.value.order);

// As boxes are to be beside each other.
export const ordered = (made: Tree) => inOrder(made, order.value);

export const trie = computed<Trie>(() =>
  trieOf(view.value, shape.value.inverted, shape.value.byLine),
);
export const tree = computed<Tree>(() =>
  ordered(buildTree(view.value, weights.value, shape.value)),
);

// Per site, whether it is below a node.
export function sitesBelow({ skeleton }: Tree, node: number, n: number): Uint8Array {
  const is = new Uint8Array(n);
  for (let slot = skeleton.first[node]; slot < skeleton.past[node]; slot++)
    is[skeleton.slots.stack[slot]] = 1;
  return is;
}

// What the graph is zoomed to, as far as it leads; null: nothing.
export const zoomPath = part((s) => s.zoom);
const zoomed = computed<Uint8Array | null>(() => {
  const zoom = zoomPath.value;
  if (!zoom.length || refused.value) return null;
  const node = nodeOf(new TreeNames(tree.value, [model.value], ""), zoom);
  return node ? sitesBelow(tree.value, node, model.value.sites.count) : null;
});

// What everything but the graph shows, which has the rest around what it is zoomed to.
export const left = computed<View>(() => partOf(view.value, zoomed.value));
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
