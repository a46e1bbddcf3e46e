// SPDX-License-Identifier: Apache-2.0
//
// What the first screen leads with: three to five places, the weightiest first. Those of which
// "tidemark explain" found that something should be changed come first and in its order; where
// there are fewer than three, the places that held most at the peak follow, by their bytes times
// how far they grew. A note is told where its place is among them.

import { liveInPieces, prepareCurves, runNs } from "./curves.ts";
import { groupInPieces, type Group } from "./groups.ts";
import { emptyLook, makeView, type View } from "./look.ts";
import type { Finding, Model } from "./model.ts";
import { isGathered, NONE } from "./names.ts";
import { atOnce, stretches, type Pieces } from "./pieces.ts";
import {
  defaultQuestion, prepareWeights, refusal, weigh, whole, type Measure, type Question,
} from "./question.ts";

export interface Card {
  finding: Finding | null; // null: nothing is said of it but its numbers
  group: Group | null; // its place; null: no one place
  question: Question; // under which that weighs
  whole: number;
  thread: number | null; // who allocated most there
  threads: number; // that allocated there
  path: number[]; // frames of libraries on the way from it to the allocator, the outermost first
}

const MOST = 5;
const LEAST = 3;
const LEAST_SHARE = 0.01; // of the peak: less is no cause of anything

function isPlace(model: Model, { frame }: Group, finding: Finding): boolean {
  if (frame === NONE || !finding.function)
    return false;
  const { function: fn, file, line } = model.frames;
  return model.text[fn[frame]] === finding.function && line[frame] === finding.line &&
    (model.text[file[frame]] || null) === finding.file;
}

// By bytes allocated there, in the whole run.
function* threadsOf(
  model: Model, sites: Uint32Array,
): Pieces<{ thread: number | null; threads: number }> {
  const { rows } = model;
  const bytes = new Map<number, number>();
  const isMeant = new Uint8Array(model.sites.count);
  yield* stretches(sites.length, (from, past) => {
    for (let i = from; i < past; i++)
      isMeant[sites[i]] = 1;
  });
  yield* stretches(rows.count, (from, past) => {
    for (let i = from; i < past; i++)
      if (isMeant[rows.site[i]] && rows.nAlloc[i])
        bytes.set(rows.thread[i], (bytes.get(rows.thread[i]) ?? 0) + rows.bAlloc[i]);
  });
  const [first] = [...bytes].sort(([a, x], [b, y]) => y - x || a - b);
  return { thread: first?.[0] ?? null, threads: bytes.size };
}

// Of the stack with the most weight.
function pathOf(view: View, of: Group, weights: Float64Array): number[] {
  let [site] = of.sites;
  for (let i = 1; i < of.sites.length; i++)
    if (weights[of.sites[i]] > weights[site])
      site = of.sites[i];
  const frames = Array.from(view.framesOf(site));
  const own = frames.indexOf(view.culprit(site));
  return frames.slice(0, Math.max(0, own)).reverse();
}

function* makeCard(
  view: View, question: Question, of: Group | null, finding: Finding | null,
): Pieces<Card> {
  const { model } = view;
  const none = { thread: null, threads: 0, path: [] };
  const own = of ? {
    ...yield* threadsOf(model, of.sites), path: pathOf(view, of, weigh(model, question)),
  } : none;
  return { finding, group: of, question, whole: of ? whole(model, question) : 0, ...own };
}

// How far it grew in the second half of the run and kept, as a share of the most it held.
function growthOf(model: Model, of: Group): number {
  const live = atOnce(liveInPieces(model, of.sites, "bytes"));
  const half = runNs(model) / 2;
  let most = 0;
  let atHalf = 0;
  live.forEach((bytes, s) => {
    most = Math.max(most, bytes);
    if (model.snapshots.ns[s] <= half)
      atHalf = bytes;
  });
  return most > 0 ? Math.max(0, live[live.length - 1] - atHalf) / most : 0;
}

function* byBytesTimesGrowth(model: Model, places: Group[]): Pieces<Group[]> {
  const score = new Map<Group, number>();
  for (const one of places) {
    score.set(one, one.weight * (1 + growthOf(model, one)));
    yield;
  }
  return [...places].sort((a, b) => score.get(b)! - score.get(a)!);
}

// The findings that are shown at once; the others are the rest of the list.
function weighty({ list }: Model["facts"]["findings"]): Finding[] {
  return list.filter(({ kind, confidence }) => kind === "fault" && confidence !== "low")
    .slice(0, MOST);
}

const known = new WeakMap<Model, Card[]>();

export function cardsOf(model: Model): Card[] {
  return atOnce(cardsInPieces(model));
}

export function* cardsInPieces(model: Model): Pieces<Card[]> {
  const cards = known.get(model) ?? (yield* makeCards(model));
  known.set(model, cards);
  return cards;
}

function* makeCards(model: Model): Pieces<Card[]> {
  const view = makeView(model, emptyLook);
  const asked = (measure: Measure): Question => ({ measure, unit: "bytes", from: null, to: null });
  function* places(question: Question): Pieces<Group[]> {
    if (refusal(model, question))
      return [];
    yield* prepareWeights(model, question);
    return (yield* groupInPieces(view, question, "place")).items;
  }
  const cards: Card[] = [];
  for (const finding of weighty(model.facts.findings)) {
    const question = asked(finding.see === "residence" ? "peak" : finding.see);
    const of = finding.see === "residence" ? undefined
      : (yield* places(question)).find((one) => isPlace(model, one, finding));
    cards.push(yield* makeCard(view, question, of ?? null, finding));
  }
  if (cards.length >= LEAST)
    return cards;
  const question = defaultQuestion(model);
  const all = yield* places(question);
  yield* prepareCurves(model, "bytes");
  const least = all.length ? whole(model, question) * LEAST_SHARE : 0;
  const isNew = (one: Group) => one.frame !== NONE && !isGathered(model, one.frame) &&
    !cards.some(({ group: held }) => held && held.frame === one.frame);
  const heaviest = all.filter((one) => one.weight >= least && isNew(one)).slice(0, 2 * MOST);
  const growing = yield* byBytesTimesGrowth(model, heaviest);
  for (const one of growing.slice(0, LEAST - cards.length)) {
    const note = model.facts.findings.list.find((finding) =>
      finding.see === question.measure && isPlace(model, one, finding) &&
      !cards.some((card) => card.finding === finding));
    cards.push(yield* makeCard(view, question, one, note ?? null));
  }
  return cards;
}
