// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a model: one of six measures, in bytes or blocks, of a run or a part of it. The
// meaning is that of src/profile/question.h and profile.c, number by number.
//
//   peak   live at the peak                     live   live at a time, else at the end
//   total  allocated                            grown  allocated in a range and live at its end
//   leak   never freed; allocated in a range    temp   freed within one further allocation
//          or live at a time, and never freed
//
// Whole runs are answered from the sites' own numbers, which are exact; parts from the snapshots.

import { isKeptKnown, keptColumn } from "./kept.ts";
import { columnAt, heapSumsInPieces, leastBetween, prepareColumn } from "./keyframes.ts";
import { SiteKind, SnapshotKind, type Column, type Model, type Numbers } from "./model.ts";
import { atOnce, Few, type Pieces } from "./pieces.ts";

export type Measure = "peak" | "live" | "total" | "grown" | "leak" | "temp";
export type Unit = "bytes" | "blocks";

export const MEASURES: readonly Measure[] = ["peak", "live", "total", "grown", "leak", "temp"];

export const START = -1; // as a snapshot: the start, when nothing was there

// from and to are snapshots or START. Both null: the whole run; from alone null: the moment `to`.
export interface Question {
  measure: Measure;
  unit: Unit;
  from: number | null;
  to: number | null;
}

export function timeOf(model: Model, snapshot: number): number {
  return snapshot === START ? 0 : model.snapshots.ns[snapshot];
}

// The snapshot nearest to a moment; the start counts as one, and the later of equals answers. What
// is never freed nobody saw at the peak: the one beside it answers.
export function nearestSnapshot(model: Model, ns: number, measure?: Measure): number {
  let best = START;
  for (let i = 0; i < model.snapshots.count; i++) {
    const isLook = measure !== "leak" || !isPeak(model, i);
    if (isLook && Math.abs(model.snapshots.ns[i] - ns) <= Math.abs(timeOf(model, best) - ns))
      best = i;
  }
  return best;
}

export function snapshotOfKind(model: Model, kind: keyof typeof SnapshotKind): number | null {
  const found = model.snapshots.kind.indexOf(SnapshotKind[kind]);
  return found < 0 ? null : found;
}

const NEEDS: Record<Measure, string> = {
  peak: "peak", live: "live", total: "total", grown: "live", leak: "live", temp: "temporary",
};

export function isHeld(model: Model, measure: Measure): boolean {
  return !model.facts.image.lacks.includes(NEEDS[measure]);
}

// The first that the image can answer of peak, live and total.
export function defaultQuestion(model: Model): Question {
  const order: Measure[] = ["peak", "live", "total"];
  const measure = order.find((m) => isHeld(model, m)) ?? "peak";
  return { measure, unit: "bytes", from: null, to: null };
}

// Why a moment or a range has no answer; null: it has one.
function refusalOfTimes(model: Model, question: Question): string | null {
  const { measure, from, to } = sinceReset(model, question);
  const { count } = model.snapshots;
  const { no_moment, no_range, no_peak } = model.facts.words;
  const isMoment = (at: number) => Number.isInteger(at) && at >= START && at < count;
  if (to === null || !isMoment(to) || (from !== null && !isMoment(from)))
    return no_moment;
  if (from !== null && from >= to)
    return no_range;
  if (measure === "leak" && !isKeptKnown(model, from, to))
    return no_peak;
  return null;
}

// Why a question has no answer, in the command's words; null: it has one.
export function refusal(model: Model, question: Question): string | null {
  const { measure, unit, from, to } = question;
  const words = model.facts.words.measures[measure][unit];
  if (from === null && to === null)
    return words.refused;
  return words.part_refused ?? refusalOfTimes(model, question);
}

// What sites or rows weigh over the whole run, by their own numbers: these themselves where they
// are the answer.
export function weighNumbers(numbers: Numbers, count: number, question: Question): Float64Array {
  const inBytes = question.unit === "bytes";
  const plus = pick(numbers, question.measure, inBytes);
  const { measure } = question;
  const isLess = measure === "live" || isOfNew(measure);
  if (!isLess && plus instanceof Float64Array && plus.length === count)
    return plus;
  const weights = new Float64Array(count);
  weights.set(plus);
  if (isLess) {
    const minus = inBytes ? numbers.bFree : numbers.nFree;
    const before = inBytes ? numbers.beforeBytes : numbers.beforeBlocks;
    for (let i = 0; i < count; i++)
      weights[i] += (measure === "live" ? before[i] : 0) - minus[i];
  }
  return weights;
}

// What is asked of new blocks alone: after a reset, of those since then.
export function isOfNew(measure: Measure): boolean {
  return measure === "grown" || measure === "leak";
}

// After a reset: is it told which of the blocks from before were freed since?
function isResetTold(model: Model): boolean {
  const { image, has } = model.facts;
  return has.late_frees === true && model.snapshots.count > 0 && !image.merged;
}

// What was allocated since a reset and is held; where single blocks are not told, at least.
function weighSinceReset(model: Model, question: Question): Float64Array {
  const weights = weighNumbers(model.sites, model.sites.count, question);
  const { count, site, born } = model.lateFrees;
  for (let i = 0; i < count && isResetTold(model); i++)
    if (born[i] === 0) // the snapshot of the reset
      weights[site[i]] += model.lateFrees[question.unit][i];
  return weights.map((weight) => Math.max(0, weight));
}

function pick(numbers: Numbers, measure: Measure, inBytes: boolean): Column {
  if (measure === "peak")
    return inBytes ? numbers.peakBytes : numbers.peakBlocks;
  if (measure === "temp")
    return inBytes ? numbers.bTemp : numbers.nTemp;
  return inBytes ? numbers.bAlloc : numbers.nAlloc;
}

function isPeak(model: Model, snapshot: number | null): boolean {
  return snapshot !== null && model.snapshots.kind[snapshot] === SnapshotKind.peak;
}

// Whether the answer is a lower bound. From the start on everything is new; between two snapshots
// the late frees tell; at the peak nobody looked.
export function isBound(model: Model, question: Question): boolean {
  const { measure, from, to } = sinceReset(model, question);
  if (model.facts.image.reset && from === null && to === null && isOfNew(measure))
    return !isResetTold(model);
  if (measure !== "grown" || from === null || from === START)
    return false;
  return !model.facts.has.late_frees || isPeak(model, from) || isPeak(model, to);
}

// What was allocated in a range and is held at its end. Exactly: what more is held then than at the
// beginning, and as much again as went of what was held at the beginning. Where single blocks are
// not known: at least what a site holds beyond the least it held at any look since the beginning.
function* weighGrown(
  model: Model, question: Question, from: number | null, to: number,
): Pieces<Float64Array> {
  const { unit } = question;
  const weights = columnAt(model, unit, to).slice();
  if (from === null || from === START)
    return weights;
  yield;
  const bound = isBound(model, question);
  const less = bound ? yield* leastBetween(model, unit, from, to) : columnAt(model, unit, from);
  yield;
  for (let i = 0; i < weights.length; i++)
    weights[i] -= less[i];
  const { count, site, born, freed } = model.lateFrees;
  for (let i = 0; i < count && !bound; i++)
    if (born[i] <= from && freed[i] > from && freed[i] <= to)
      weights[site[i]] += model.lateFrees[unit][i];
  return weights;
}

function* weighCounts(
  model: Model, column: "bAlloc" | "nAlloc", from: number | null, to: number,
): Pieces<Float64Array> {
  const weights = columnAt(model, column, to).slice();
  if (from === null || from === START)
    return weights;
  yield;
  const before = columnAt(model, column, from);
  for (let i = 0; i < weights.length; i++)
    weights[i] -= before[i];
  return weights;
}

// The start of an image that was reset is its first snapshot: something was there.
export function sinceReset(model: Model, question: Question): Question {
  const { image } = model.facts;
  const hasFirst = image.reset && !image.merged &&
    model.snapshots.kind[0] === SnapshotKind.timed;
  return question.from === START && hasFirst ? { ...question, from: 0 } : question;
}

function* compute(model: Model, asked: Question): Pieces<Float64Array> {
  const question = sinceReset(model, asked);
  const { measure, unit, from, to } = question;
  if (from === null && to === null && model.facts.image.reset && isOfNew(measure))
    return weighSinceReset(model, question);
  if (from === null && to === null)
    return weighNumbers(model.sites, model.sites.count, question);
  const last = to ?? model.snapshots.count - 1;
  if (measure === "leak")
    return keptColumn(model, unit, from, last);
  if (measure === "grown")
    return yield* weighGrown(model, question, from, last);
  if (measure === "total")
    return yield* weighCounts(model, unit === "bytes" ? "bAlloc" : "nAlloc", from, last);
  return columnAt(model, unit, last).slice();
}

const CACHE_MAX = 8;
const CACHE_NUMBERS = 2_000_000; // of all, where that is less
const cache = new WeakMap<Model, Map<string, Float64Array>>();

const WHOLE_RUN = { from: null, to: null };
const keyOfTimes = ({ from, to }: Pick<Question, "from" | "to">) => `${from} ${to}`;
const keyOf = (of: Question) => `${of.measure} ${of.unit} ${keyOfTimes(of)}`;

// The weight of every site. Kept for the next few who ask the same: not to be written to.
export function weigh(model: Model, question: Question): Float64Array {
  return atOnce(weighInPieces(model, question));
}

function* weighInPieces(model: Model, question: Question): Pieces<Float64Array> {
  const key = keyOf(question);
  const held = cache.get(model)?.get(key);
  return keepWeights(model, question, held ?? (yield* compute(model, question)));
}

// As the latest, which were made before others: whoever made something of them finds it.
export function keepWeights(
  model: Model, question: Question, weights: Float64Array,
): Float64Array {
  const held = cache.get(model) ?? new Map<string, Float64Array>();
  cache.set(model, held);
  held.delete(keyOf(question));
  held.set(keyOf(question), weights);
  if (held.size > Math.max(2, Math.min(CACHE_MAX, CACHE_NUMBERS / weights.length)))
    held.delete(held.keys().next().value!);
  return weights;
}

// Where no moment is asked for any more.
export function forgetMoments(model: Model): void {
  const held = cache.get(model);
  for (const key of held?.keys() ?? [])
    if (!key.endsWith(keyOfTimes(WHOLE_RUN)))
      held!.delete(key);
}

// All that is told of a part of a run, from one snapshot to another.
export function questionsOfPart(unit: Unit, from: number, to: number): Question[] {
  const of = (measure: Measure, since: number | null, at: number): Question =>
    ({ measure, unit, from: since, to: at });
  return [
    of("grown", from, to), of("total", from, to), of("leak", from, to), of("live", null, from),
    of("live", null, to),
  ];
}

// Makes what a question is answered from, and the answer.
export function* prepareWeights(model: Model, question: Question): Pieces<void> {
  const { measure, unit, from, to } = question;
  if (from !== null || to !== null)
    yield* prepareColumn(model, measure !== "total" ? unit : unit === "bytes" ? "bAlloc"
      : "nAlloc");
  yield* weighInPieces(model, question);
  yield;
}

// Of a part of the run, where the snapshots' own sums tell it; null: they do not.
function* wholeOfPart(
  model: Model, { measure, unit, from, to }: Question,
): Pieces<number | null> {
  if (to === null || (measure !== "live" && measure !== "total"))
    return null;
  const column = measure === "live" ? unit : unit === "bytes" ? "bAlloc" : "nAlloc";
  const sums = yield* heapSumsInPieces(model, column);
  const at = (snapshot: number | null) => (snapshot === null || snapshot < 0 ? 0 : sums[snapshot]);
  return at(to) - (measure === "total" ? at(from) : 0);
}

// What weights are shares of: the heap's sum of them; of bytes at the peak, the peak.
export function whole(model: Model, question: Question): number {
  return atOnce(wholeInPieces(model, question));
}

export function* wholeInPieces(model: Model, question: Question): Pieces<number> {
  const peak = model.facts.totals.peak_bytes;
  if (question.measure === "peak" && question.unit === "bytes" && peak !== undefined)
    return peak;
  const ofPart = yield* wholeOfPart(model, question);
  if (ofPart !== null)
    return ofPart;
  const key = keyOf(question);
  return wholes.get(model, key) ?? wholes.keep(model, key, sumOfHeap(model, question));
}

function sumOfHeap(model: Model, question: Question): number {
  const weights = weigh(model, question);
  let sum = 0;
  for (let i = 0; i < weights.length; i++)
    if (model.sites.kind[i] !== SiteKind.pages)
      sum += weights[i];
  return sum;
}

const wholes = new Few<Model, number>(16);
