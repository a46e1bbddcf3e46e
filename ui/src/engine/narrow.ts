// SPDX-License-Identifier: Apache-2.0
//
// Threads and classes of size and lifetime cut across stacks: what a selection of one leaves of a
// stack is what is known to be of it, so that it adds up to its row in the table. What is of
// several is left out; how much that is, is told.

import { groupText } from "./group_text.ts";
import { isNarrow, wantedWeight, type View } from "./look.ts";
import type { Model } from "./model.ts";
import { atOnce, Few, type Pieces } from "./pieces.ts";
import { prepareWeights, weigh, whole, type Question, type Unit } from "./question.ts";
import { classWeights, threadWeights } from "./shares.ts";
import { threadCoursesInPieces } from "./thread_courses.ts";

// What a thread is called in an address: its name, with its number where others have the same.
export function threadKey(model: Model, number: number): string {
  const { threads } = model.facts;
  const name = threadName(model, number);
  const isAlone = threads.every((_, i) => i === number || threadName(model, i) !== name);
  return isAlone ? name : `${name} #${number}`;
}

function threadName(model: Model, number: number): string {
  return groupText(model, { kind: "thread", number, several: false });
}

// null: there is none of that name.
export function threadOf(model: Model, key: string | null): number | null {
  if (key === null)
    return null;
  const n = Math.max(1, model.facts.threads.length);
  for (let i = 0; i < n; i++)
    if (threadKey(model, i) === key)
      return i;
  return null;
}

function compute({ model, look }: View, question: Question): Float64Array {
  let weights = weigh(model, question);
  if (look.thread !== null) {
    const thread = threadOf(model, look.thread);
    weights = thread === null ? new Float64Array(weights.length)
      : threadWeights(model, question, weights, thread);
  }
  for (const kind of ["size", "lifetime"] as const) {
    const number = look[kind];
    if (number !== null)
      weights = classWeights(model, question, weights, kind, number);
  }
  return weights;
}

export interface Course {
  live: Float64Array; // at every snapshot
  isEstimate: boolean;
}

// Steps that classes may cost, whose shares are worked out anew at every snapshot; above, what they
// held over time is not told.
const STEPS_MOST = 5_000_000;

export function classesAreToldOverTime({ snapshots, sites, rows }: Model): boolean {
  return snapshots.count * (sites.count + rows.count) <= STEPS_MOST;
}

// What a thread or a class held over time; null: of several such at once that is not told.
export function courseIn(view: View, unit: Unit): Course | null {
  return atOnce(courseInPieces(view, unit));
}

export function* courseInPieces(view: View, unit: Unit): Pieces<Course | null> {
  const { model, look } = view;
  const { thread, size, lifetime } = look;
  const nChosen = [thread, size, lifetime].filter((one) => one !== null).length;
  if (nChosen !== 1)
    return null;
  const number = threadOf(model, thread);
  if (number !== null) {
    const { live, isEstimate } = yield* threadCoursesInPieces(view, unit);
    return { live: live[number], isEstimate: isEstimate.includes(1) };
  }
  if (!classesAreToldOverTime(model))
    return null;
  const at = (to: number) =>
    compute(view.whole, { measure: "live", unit, from: null, to });
  const live = new Float64Array(model.snapshots.count);
  for (let to = 0; to < live.length; to++) {
    live[to] = Math.max(0, wantedWeight(view, at(to)));
    yield;
  }
  return { live, isEstimate: false };
}

const CACHE_MAX = 8;
const cache = new WeakMap<View, Map<string, Float64Array>>();

// The weight of every site under the question, of what the view is narrowed to. Not to be written
// to.
export function weighIn({ whole: view }: View, question: Question): Float64Array {
  if (!isNarrow(view.look))
    return weigh(view.model, question);
  const key = `${question.measure} ${question.unit} ${question.from} ${question.to}`;
  const held = cache.get(view) ?? new Map<string, Float64Array>();
  cache.set(view, held);
  const weights = held.get(key) ?? compute(view, question);
  held.delete(key);
  held.set(key, weights);
  if (held.size > CACHE_MAX)
    held.delete(held.keys().next().value!);
  return weights;
}

const sums = new Few<View, number>(8);

// What a view holds under a question, of everything or of what it lets through.
export function sumIn(view: View, question: Question): number {
  return atOnce(sumInPieces(view, question));
}

export function* sumInPieces(view: View, question: Question): Pieces<number> {
  const { measure, unit, from, to } = question;
  const key = `${measure} ${unit} ${from} ${to}`;
  const held = sums.get(view, key);
  if (held !== undefined)
    return held;
  yield* prepareWeights(view.model, question);
  const sum = view.isFiltered ? wantedWeight(view, weighIn(view, question))
    : whole(view.model, question);
  yield;
  return sums.keep(view, key, sum);
}
