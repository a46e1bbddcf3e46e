// SPDX-License-Identifier: Apache-2.0
//
// Everything of a large model that takes long and is about to be shown, made in pieces by the
// engine's own functions, which keep it: whoever shows it then asks them and has it at once. What
// is forgotten here is made when it is asked for, so that nothing is wrong without it.

import { cardsInPieces } from "../engine/cards.ts";
import { prepareCurves } from "../engine/curves.ts";
import type { Picture } from "../engine/errands.ts";
import { groupInPieces, groupRefusal } from "../engine/groups.ts";
import { heapSumsInPieces } from "../engine/keyframes.ts";
import { leaksInPieces } from "../engine/leaks.ts";
import { patternRefusal, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { weighIn } from "../engine/narrow.ts";
import type { Pieces } from "../engine/pieces.ts";
import { prepareWeights, refusal, whole, type Question } from "../engine/question.ts";
import { searchInPieces, searchSitesInPieces } from "../engine/search.ts";
import { treeInPieces } from "../engine/tree.ts";
import type { GroupWord, Pane } from "./state.ts";

export interface Asked {
  of: Model;
  view: View;
  picture: Picture;
  question: Question;
  pane: Pane;
  group: GroupWord;
  search: string;
}

const withTree: Pane[] = ["overview", "graph", "tree"];

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
  "nTemp", "bTemp",
] as const;

function* prepareAnswer(asked: Asked): Pieces<void> {
  const { of, view, picture, question, pane, search } = asked;
  yield* prepareWeights(of, question);
  const weights = weighIn(view, question);
  yield;
  whole(of, question);
  yield;
  const isSearch = search !== "" && !patternRefusal(search);
  if (withTree.includes(pane)) {
    const tree = yield* treeInPieces(view, weights, picture);
    if (isSearch) yield* searchInPieces(tree, [view], search);
  }
  for (const kind of groupsOf(asked)) {
    if (groupRefusal(of, kind)) continue;
    const groups = yield* groupInPieces(view, question, kind);
    if (groups.prepare) yield* groups.prepare(SHOWN);
  }
}

export function* prepare(asked: Asked): Pieces<void> {
  const { of, view, question, pane, search } = asked;
  yield* heapSumsInPieces(of, question.unit);
  if (!refusal(of, question)) yield* prepareAnswer(asked);
  if (search && !patternRefusal(search)) yield* searchSitesInPieces(view, search);
  if (pane === "overview") yield* cardsInPieces(of);
  if (pane === "leaks") yield* leaksInPieces(view);
  yield* prepareCurves(of, question.unit);
}
