// SPDX-License-Identifier: Apache-2.0
//
// Everything of a large model that takes long and is about to be shown, made in pieces by the
// engine's own functions, which keep it: whoever shows it then asks them and has it at once. What
// is forgotten here is made when it is asked for, so that nothing is wrong without it.

import { cardsInPieces } from "../engine/cards.ts";
import { forgetCurves, prepareCurves } from "../engine/curves.ts";
import type { Picture } from "../engine/errands.ts";
import { groupInPieces, groupRefusal, ofSeveralInPieces } from "../engine/groups.ts";
import { forgetColumns, heapSumsInPieces } from "../engine/keyframes.ts";
import { leaksInPieces } from "../engine/leaks.ts";
import { patternRefusal, wantedWeight, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { sumInPieces, weighIn } from "../engine/narrow.ts";
import { orderInPieces, type Order } from "../engine/order.ts";
import type { Pieces } from "../engine/pieces.ts";
import {
  forgetMoments, keepWeights, prepareWeights, questionsOfPart, refusal, weigh, wholeInPieces,
  type Question,
} from "../engine/question.ts";
import { forgetMatches, searchInPieces, searchSitesInPieces } from "../engine/search.ts";
import { treeInPieces } from "../engine/tree.ts";
import { waysInPieces } from "../engine/ways.ts";
import { zoomedPart } from "./zoomed.ts";
import type { GroupWord, Pane } from "./state.ts";

export interface Asked {
  of: Model;
  view: View;
  picture: Picture;
  question: Question;
  part: Question | null; // of the run, that is selected
  pane: Pane;
  group: GroupWord;
  search: string;
  zoom: string[];
  order: Order;
}

export const withTree: Pane[] = ["overview", "graph", "tree"];

function groupsOf({ pane, group }: Asked): GroupWord[] {
  switch (pane) {
    case "overview":
    case "table":
      return [group];
    case "threads":
      return ["thread"];
    case "callers":
      return ["function"];
    case "sizes":
      return ["size", "lifetime"];
    default:
      return [];
  }
}

// Numbers of groups that a table shows.
const SHOWN = [
  "peakBytes", "peakBlocks", "beforeBytes", "bAlloc", "bFree", "beforeBlocks", "nAlloc", "nFree",
  "nTemp", "bTemp", "allocBytesSpread", "allocBlocksSpread", "liveBytesSpread", "liveBlocksSpread",
  "peakBytesSpread", "peakBlocksSpread",
] as const;

const shownByRow: Pane[] = ["overview", "table"];

// The trees that are drawn, and what of them is found.
function* prepareTrees(asked: Asked, weights: Float64Array, isSearch: boolean): Pieces<View> {
  const { view, picture, pane, search, zoom, order } = asked;
  if (!withTree.includes(pane) && !isSearch && !zoom.length) return view;
  const treeOf = function* (of: View) {
    const tree = yield* orderInPieces(yield* treeInPieces(of, weights, picture), order);
    if (isSearch) yield* searchInPieces(tree, [view], search);
    else forgetMatches(tree);
    return tree;
  };
  const tree = yield* treeOf(view);
  const left = zoom.length ? zoomedPart(view, tree, zoom) : view;
  yield;
  if (left !== view && (pane === "tree" || isSearch)) yield* treeOf(left);
  return left;
}

// What the timeline tells of a part of the run.
function* prepareSums(left: View, part: Question | null): Pieces<void> {
  if (!part || part.from === null || part.to === null) return;
  const { unit, from, to } = part;
  for (const asked of questionsOfPart(unit, from, to))
    if (!refusal(left.model, asked)) yield* sumInPieces(left, asked);
}

// Returns what is left by what the graph is zoomed to.
function* prepareAnswer(asked: Asked): Pieces<View> {
  const { of, view, question, search } = asked;
  yield* prepareWeights(of, question);
  const weights = weighIn(view, question);
  yield;
  yield* wholeInPieces(of, question);
  yield;
  const isSearch = search !== "" && !patternRefusal(search);
  const left = yield* prepareTrees(asked, weights, isSearch);
  wantedWeight(left, weights);
  yield;
  yield* prepareSums(left, asked.part);
  for (const kind of groupsOf(asked)) {
    if (groupRefusal(of, kind)) continue;
    const groups = yield* groupInPieces(left, question, kind);
    if (!shownByRow.includes(asked.pane)) continue;
    if (groups.prepare) yield* groups.prepare(SHOWN);
    yield* waysInPieces(left, question, groups.items);
  }
  for (const kind of ["thread", "size", "lifetime"] as const)
    if (view.look[kind] !== null) yield* ofSeveralInPieces(left, question, kind);
  return left;
}

export function* prepare(asked: Asked): Pieces<void> {
  const { of, question } = asked;
  const isAnswered = !refusal(of, question);
  if (isAnswered) yield* prepareWeights(of, question);
  const weights = isAnswered && weigh(of, question);
  yield* prepareAll(asked);
  if (weights) keepWeights(of, question, weights);
}

function* prepareAll(asked: Asked): Pieces<void> {
  const { of, view, question, part, pane, search } = asked;
  if (!part && question.to === null && pane !== "diff") {
    forgetColumns(of);
    forgetMoments(of);
  }
  // Rows of leaks are told by their blocks, too.
  if (pane !== "leaks" && question.unit === "bytes") forgetCurves(of, "blocks");
  yield* heapSumsInPieces(of, question.unit);
  const left = refusal(of, question) ? view : yield* prepareAnswer(asked);
  if (search && !patternRefusal(search)) yield* searchSitesInPieces(view, search);
  if (pane === "overview") yield* cardsInPieces(of);
  if (pane === "leaks") yield* leaksInPieces(left);
  yield* prepareCurves(of, question.unit);
}
