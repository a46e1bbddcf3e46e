// SPDX-License-Identifier: Apache-2.0
//
// Groups that cut across sites, as src/view/group_across.c has them. By class, each site gives its
// weight to the classes it is known to be of. What is left of a thread's blocks is its row where
// every thread freed its own, and all of the site where no other thread allocated; between these,
// and for a part of a run, which has no rows, it is of several threads.

import { classCount, classesInPieces, shareOut } from "./classes.ts";
import { isNothing } from "./decode.ts";
import type { Group, GroupKind, GroupNumbers, Groups } from "./groups.ts";
import { isNarrow, type View } from "./look.ts";
import type { Column, Model } from "./model.ts";
import { NONE } from "./names.ts";
import { threadOf, weighIn } from "./narrow.ts";
import { NUMBERS, numbersOf } from "./numbers.ts";
import { stretches, type Pieces } from "./pieces.ts";
import { weigh, type Question } from "./question.ts";
import { keptOf, rowsAnswer, siteRows, siteRowsInPieces, weighRows } from "./shares.ts";
import { sumsByGroup } from "./sums.ts";

const SITES = 1 << 13; // that are shared out in a piece

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export function noGroup(kind: GroupKind, number: number): Writable<Group> {
  const keys = [...NUMBERS.map((number) => number.key), "liveBlocks", "liveBytes"];
  const none = Object.fromEntries(keys.map((key) => [key, 0])) as GroupNumbers;
  return {
    ...none, kind, number, several: false, last: 0, frame: NONE, crate: null, weight: 0, stacks: 0,
    sites: new Uint32Array(0), fate: null,
  };
}

function countStacks(view: View, weights: Float64Array): number {
  let n = 0;
  for (let i = 0; i < weights.length; i++)
    n += view.wanted[i] && weights[i] > 0 ? 1 : 0;
  return n;
}

// They share stacks, so that none is in one of them alone.
function groupsOf(
  view: View, kind: "thread" | "size" | "lifetime", items: Group[], weights: Float64Array,
): Groups {
  return {
    kind, items, stacks: countStacks(view, weights), rest: noGroup(kind, 0),
    *itemOf() {
      return new Uint32Array(view.model.sites.count).fill(NONE);
    },
  };
}

// What a thread did, whosever blocks they were, and what of its own it held.
const DONE = numbersOf("done");
const HELD = numbersOf("held");

// Whose each row or site is; NONE: nobody's.
type Owners = Uint32Array;

const known = new WeakMap<Owners, WeakMap<Column, Float64Array>>();

// Column by column: there are millions of rows, and few threads. Some columns are asked for twice.
function* addUp(all: Writable<Group>[], key: keyof GroupNumbers | "weight", sign: number,
  values: Column, owners: Owners): Pieces<void> {
  yield; // a column is made when it is first read
  if (isNothing(values))
    return;
  const ofOwners = known.get(owners) ?? new WeakMap<Column, Float64Array>();
  known.set(owners, ofOwners);
  const sums = ofOwners.get(values) ?? (yield* sumsByGroup(all.length, owners, values));
  ofOwners.set(values, sums);
  all.forEach((one, i) => (one[key] += sign * sums[i]));
}

function* addHeld(
  all: Writable<Group>[], of: Model["rows"] | Model["sites"], owners: Owners,
): Pieces<void> {
  for (const key of HELD)
    yield* addUp(all, key, 1, of[key], owners);
  for (const key of ["beforeBlocks", "nAlloc", "nFree"] as const)
    yield* addUp(all, "liveBlocks", key === "nFree" ? -1 : 1, of[key], owners);
  for (const key of ["beforeBytes", "bAlloc", "bFree"] as const)
    yield* addUp(all, "liveBytes", key === "bFree" ? -1 : 1, of[key], owners);
}

// Whose each of so many rows or sites is.
function* ownersOf(count: number, of: (i: number) => number): Pieces<Owners> {
  const owners = new Uint32Array(count);
  yield* stretches(count, (from, past) => {
    for (let i = from; i < past; i++)
      owners[i] = of(i);
  });
  return owners;
}

function* addDeeds(all: Writable<Group>[], { rows }: Model, owners: Owners): Pieces<void> {
  for (const key of DONE)
    yield* addUp(all, key, 1, rows[key], owners);
  const { nAlloc, firstNs, lastNs } = rows;
  yield;
  const first = new Float64Array(all.length).fill(Infinity);
  const last = new Float64Array(all.length);
  yield* stretches(owners.length, (from, past) => {
    for (let i = from; i < past; i++) {
      const owner = owners[i];
      if (owner === NONE)
        continue;
      all[owner].stacks++;
      if (!nAlloc[i])
        continue;
      first[owner] = Math.min(first[owner], firstNs[i]);
      last[owner] = Math.max(last[owner], lastNs[i]);
    }
  });
  all.forEach((one, i) => {
    one.firstNs = first[i] === Infinity ? 0 : first[i];
    one.lastNs = last[i];
  });
}

// Of a class that stacks are narrowed to, by who alone allocated there; of one thread, its own.
function narrowThreads(view: View, question: Question): Groups {
  const { model } = view;
  const weights = weighIn(view, question);
  const chosen = threadOf(model, view.look.thread);
  const told = siteRows(model);
  const nThreads = Math.max(1, model.facts.threads.length);
  const all = Array.from({ length: nThreads + 1 }, (_, i) => noGroup("thread", i));
  all[nThreads].several = true;
  for (let i = 0; i < weights.length; i++) {
    if (!view.wanted[i] || !weights[i])
      continue;
    const one = all[chosen ?? (told.makers[i] === 1 ? told.maker[i] : nThreads)];
    one.weight += weights[i];
    one.stacks++;
  }
  const items = all.filter(({ weight }) => weight !== 0);
  items.sort((a, b) => b.weight - a.weight || a.number - b.number);
  return groupsOf(view, "thread", items, weights);
}

export function* threadGroups(view: View, question: Question): Pieces<Groups> {
  if (isNarrow(view.look))
    return narrowThreads(view, question);
  const { model } = view;
  const { rows, sites, facts } = model;
  const weights = weigh(model, question);
  const rowWeights = weighRows(model, question);
  yield;
  const told = yield* siteRowsInPieces(model);
  const answers = rowsAnswer(model, question, weights, told);
  yield;
  const nThreads = Math.max(1, facts.threads.length);
  const all = Array.from({ length: nThreads + 1 }, (_, i) => noGroup("thread", i));
  all[nThreads].several = true;
  const { site, thread } = rows;
  const { wanted } = view;
  const ofRow = yield* ownersOf(rows.count, (i) => (wanted[site[i]] ? thread[i] : NONE));
  const ofSite = yield* ownersOf(sites.count, (i) =>
    !wanted[i] ? NONE : told.makers[i] === 1 ? told.maker[i] : nThreads);
  yield* addDeeds(all, model, ofRow);
  const areOwn = told.ownFrees.every((own) => own === 1);
  yield* addHeld(all, rows, areOwn ? ofRow : yield* ownersOf(rows.count, (i) =>
    told.ownFrees[site[i]] ? ofRow[i] : NONE));
  if (!areOwn)
    yield* addHeld(all, sites, yield* ownersOf(sites.count, (i) =>
      told.ownFrees[i] ? NONE : ofSite[i]));
  yield* addUp(all, "weight", 1, rowWeights, yield* ownersOf(rows.count, (i) =>
    answers[site[i]] ? ofRow[i] : NONE));
  const ofRest = yield* ownersOf(sites.count, (i) =>
    answers[i] || !weights[i] ? NONE : ofSite[i]);
  yield* addUp(all, "weight", 1, weights, ofRest);
  for (let i = 0; i < ofRest.length; i++)
    all[nThreads].stacks += ofRest[i] === nThreads ? 1 : 0;
  const items = all.filter((g) => g.weight !== 0 || g.nAlloc || g.nFree ||
    g.liveBlocks || g.peakBlocks);
  items.sort((a, b) => b.weight - a.weight || a.number - b.number);
  return groupsOf(view, "thread", items, weights);
}

// What each class has of the weight, and last what is of several; of how many stacks; and which
// classes those are.
export function* classSums(view: View, question: Question, kind: "size" | "lifetime") {
  const { model } = view;
  const of = yield* classesInPieces(model, kind);
  const weights = weighIn(view, question);
  const kept = kind === "lifetime" ? yield* keptOf(model, question, weights) : null;
  const only = view.look[kind];
  const n = classCount(kind);
  const [sums, stacks] = [new Float64Array(n + 1), new Float64Array(n + 1)];
  const several = { number: Infinity, last: 0 };
  const give = (number: number, weight: number) => {
    sums[number] += weight;
    stacks[number] += weight !== 0 ? 1 : 0;
  };
  const giveAll = (site: number) => {
    if (!view.wanted[site])
      return;
    if (only !== null) {
      give(only, weights[site]);
      return;
    }
    const rest = shareOut(of, question, site, weights[site], kept && kept[site], give);
    if (!rest.several)
      return;
    const classes = of.number.subarray(of.first[site], of.first[site + 1])
      .filter((number) => number < rest.below);
    several.number = Math.min(several.number, classes.at(0) ?? 0);
    several.last = Math.max(several.last, classes.at(-1) ?? 0);
    give(n, rest.several);
  };
  yield* stretches(model.sites.count, (from, past) => {
    for (let site = from; site < past; site++)
      giveAll(site);
  }, SITES);
  return { sums, stacks, several };
}

export function* classGroups(
  view: View, question: Question, kind: "size" | "lifetime",
): Pieces<Groups> {
  const { model, wanted } = view;
  const of = yield* classesInPieces(model, kind);
  const { sums, stacks, several } = yield* classSums(view, question, kind);
  const n = classCount(kind);
  const all = Array.from(sums, (weight, i) => ({
    ...noGroup(kind, i), weight, stacks: stacks[i], ...(i === n && { ...several, several: true }),
  }));
  yield* stretches(model.sites.count, (from, past) => {
    for (let site = from; site < past; site++)
      for (let i = of.first[site]; wanted[site] && i < of.first[site + 1]; i++)
        all[of.number[i]].nAlloc += of.count[i];
  });
  return groupsOf(view, kind, all.filter((g) => g.weight !== 0), weighIn(view, question));
}
