// SPDX-License-Identifier: Apache-2.0
//
// What is known of a site's weight by thread and by class of size or lifetime: as
// src/view/group_across.c has it.

import { keptWeights, shareOut, siteClasses } from "./classes.ts";
import type { Model } from "./model.ts";
import { atOnce, stretches, type Pieces } from "./pieces.ts";
import { isOfNew, weigh, weighNumbers, type Question } from "./question.ts";

// The rows of each site, and what they tell about whose its blocks are.
export interface SiteRows { makers: Uint32Array; maker: Uint32Array; ownFrees: Uint8Array }

const known = new WeakMap<Model, SiteRows>();

export function siteRows(model: Model): SiteRows {
  return atOnce(siteRowsInPieces(model));
}

export function* siteRowsInPieces(model: Model): Pieces<SiteRows> {
  const found = known.get(model) ?? (yield* readRows(model));
  known.set(model, found);
  return found;
}

function* readRows({ rows, sites }: Model): Pieces<SiteRows> {
  const found = {
    makers: new Uint32Array(sites.count), maker: new Uint32Array(sites.count),
    ownFrees: new Uint8Array(sites.count).fill(1),
  };
  yield* stretches(rows.count, (from, past) => {
    for (let i = from; i < past; i++) {
      const site = rows.site[i];
      if (rows.nForeign[i])
        found.ownFrees[site] = 0;
      if (!rows.nAlloc[i])
        continue;
      found.makers[site]++;
      found.maker[site] = rows.thread[i];
    }
  });
  return found;
}

// Per site, whether its rows answer the question: of allocations in the whole run, or in a part
// that has all of them; of blocks held, where they are the holdings.
export function rowsAnswer(
  model: Model, question: Question, weights: Float64Array, rows: SiteRows,
): Uint8Array {
  const ofPart = question.from !== null || question.to !== null;
  const made = question.measure === "total" || question.measure === "temp";
  // What went of the blocks from before a reset is known of stacks alone.
  const ofStacks = model.facts.image.reset && isOfNew(question.measure);
  const all = question.unit === "bytes" ? model.sites.bAlloc : model.sites.nAlloc;
  const answers = new Uint8Array(model.sites.count);
  for (let i = 0; i < answers.length; i++)
    answers[i] = Number(ofPart ? all[i] && weights[i] === all[i]
      : !ofStacks && (made || rows.ownFrees[i]));
  return answers;
}

// What rows weigh; of a part of the run they know no more than allocations.
export function weighRows({ rows }: Model, question: Question): Float64Array {
  const ofPart = question.from !== null || question.to !== null;
  return weighNumbers(rows, rows.count, ofPart ? { ...question, measure: "total" } : question);
}

// What one thread is told as having of each site; its row among all threads is the sum.
export function threadWeights(
  model: Model, question: Question, weights: Float64Array, thread: number,
): Float64Array {
  const { rows } = model;
  const told = siteRows(model);
  const answers = rowsAnswer(model, question, weights, told);
  const rowWeights = weighRows(model, question);
  const own = weights.map((weight, i) =>
    !answers[i] && told.makers[i] === 1 && told.maker[i] === thread ? weight : 0);
  for (let i = 0; i < rows.count; i++)
    if (rows.thread[i] === thread && answers[rows.site[i]])
      own[rows.site[i]] += rowWeights[i];
  return own;
}

// Of a part of a site's weight, what was never freed is known where that is all or nothing of it.
export function* keptOf(
  model: Model, question: Question, weights: Float64Array,
): Pieces<Float64Array> {
  const all = weigh(model, question);
  const kept = yield* keptWeights(model, question, all);
  yield* stretches(weights === all ? 0 : kept.length, (from, past) => {
    for (let i = from; i < past; i++)
      if (weights[i] !== all[i])
        kept[i] = kept[i] === 0 ? 0 : kept[i] === all[i] ? weights[i] : NaN;
  });
  return kept;
}

// What is known to be of one class of each site; its row among all classes is the sum.
export function classWeights(
  model: Model, question: Question, weights: Float64Array, kind: "size" | "lifetime",
  number: number,
): Float64Array {
  const of = siteClasses(model, kind);
  const kept = kind === "lifetime" ? atOnce(keptOf(model, question, weights)) : null;
  return weights.map((weight, site) => {
    let sum = 0;
    shareOut(of, question, site, weight, kept && kept[site], (to, part) => {
      sum += to === number ? part : 0;
    });
    return sum;
  });
}
