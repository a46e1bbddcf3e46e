// SPDX-License-Identifier: Apache-2.0
//
// What is seen of a large picture until a worker has made all of it: the boxes that are wide enough
// to be seen. Whoever searches, zooms or looks at narrow ones waits for all.

import { computed, type ReadonlySignal } from "@preact/signals-core";
import { earlyTrie, hasEarly } from "../engine/early.ts";
import type { Picture } from "../engine/errands.ts";
import { viewApart, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import type { Pieces } from "../engine/pieces.ts";
import { prepareWeights, refusal, weigh, type Question } from "../engine/question.ts";
import { keepTrie } from "../engine/trie.ts";
import { later } from "./later.ts";
import { LARGE_NODES, type Seen } from "./pictures.ts";
import type { Pane } from "./state.ts";

export interface Waiting {
  of: Model;
  pictures: Picture[]; // that are seen together
  question: Question;
  isEnough: boolean; // it is looked at, nothing is searched, nothing zoomed to
}

export const hasSight: Pane[] = ["overview", "graph"];

function* make({ of, pictures, question }: Waiting): Pieces<Seen[]> {
  yield* prepareWeights(of, question);
  const views: View[] = [];
  // The last first: which stacks go through a function is found out for its callees, as which nodes
  // are inside of it is, and then known for its callers.
  for (const { look } of [...pictures].reverse())
    views.unshift(yield* viewApart(of, look));
  const made: Seen[] = [];
  for (const [i, picture] of pictures.entries()) {
    const { inverted, byLine } = picture;
    const view = views[i];
    keepTrie(view, inverted, byLine, yield* earlyTrie(view, weigh(of, question), picture));
    made.push({ view, picture });
  }
  return made;
}

// Of what is waited for; null: nothing is, or it is not made yet, or has no such sight.
export function firstSight(
  waiting: ReadonlySignal<Waiting | null>,
): ReadonlySignal<Seen[] | null> {
  const asked = computed(() => {
    const what = waiting.value;
    const isEarly = what && what.of.nodes.count >= LARGE_NODES && what.isEnough &&
      what.pictures.every(({ look }) => hasEarly(look)) && !refusal(what.of, what.question);
    return isEarly ? what : null;
  });
  return later(asked, make);
}
