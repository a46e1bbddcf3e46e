// SPDX-License-Identifier: Apache-2.0
//
// Groups that cut across sites, as src/view/group_across.c has them. By class, each site gives its
// weight to the classes it is known to be of. What is left of a thread's blocks is its row where
// every thread freed its own, and all of the site where no other thread allocated; between these,
// and for a part of a run, which has no rows, it is of several threads.

import { classCount, keptWeights, shareOut, siteClasses } from "./classes.ts";
import type { Group, GroupKind, GroupNumbers, Groups } from "./groups.ts";
import type { View } from "./look.ts";
import type { Model } from "./model.ts";
import { NONE } from "./names.ts";
import { NUMBERS, numbersOf } from "./numbers.ts";
import { isOfNew, weigh, weighNumbers, type Question } from "./question.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function noGroup(kind: GroupKind, number: number): Writable<Group> {
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

// What a thread did, whosever blocks they were, and what of its own it held.
const DONE = numbersOf("done");
const HELD = numbersOf("held");

// The rows of each site, and what they tell about whose its blocks are.
interface SiteRows { makers: Uint32Array; maker: Uint32Array; ownFrees: Uint8Array }

function siteRows({ rows, sites }: Model): SiteRows {
  const found = {
    makers: new Uint32Array(sites.count), maker: new Uint32Array(sites.count),
    ownFrees: new Uint8Array(sites.count).fill(1),
  };
  for (let i = 0; i < rows.count; i++) {
    const site = rows.site[i];
    if (rows.nForeign[i])
      found.ownFrees[site] = 0;
    if (!rows.nAlloc[i])
      continue;
    found.makers[site]++;
    found.maker[site] = rows.thread[i];
  }
  return found;
}

// Whose each row or site is; NONE: nobody's.
type Owners = Uint32Array;

// Column by column: there are millions of rows, and few threads.
function addUp(all: Writable<Group>[], key: keyof GroupNumbers | "weight", sign: number,
  values: Float64Array, owners: Owners): void {
  const sums = new Float64Array(all.length);
  for (let i = 0; i < owners.length; i++)
    if (owners[i] !== NONE)
      sums[owners[i]] += values[i];
  all.forEach((one, i) => (one[key] += sign * sums[i]));
}

function addHeld(
  all: Writable<Group>[], of: Model["rows"] | Model["sites"], owners: Owners,
): void {
  for (const key of HELD)
    addUp(all, key, 1, of[key], owners);
  for (const key of ["beforeBlocks", "nAlloc", "nFree"] as const)
    addUp(all, "liveBlocks", key === "nFree" ? -1 : 1, of[key], owners);
  for (const key of ["beforeBytes", "bAlloc", "bFree"] as const)
    addUp(all, "liveBytes", key === "bFree" ? -1 : 1, of[key], owners);
}

function addDeeds(all: Writable<Group>[], { rows }: Model, owners: Owners): void {
  for (const key of DONE)
    addUp(all, key, 1, rows[key], owners);
  const { nAlloc, firstNs, lastNs } = rows;
  const first = new Float64Array(all.length).fill(Infinity);
  const last = new Float64Array(all.length);
  for (let i = 0; i < owners.length; i++) {
    const owner = owners[i];
    if (owner === NONE)
      continue;
    all[owner].stacks++;
    if (!nAlloc[i])
      continue;
    first[owner] = Math.min(first[owner], firstNs[i]);
    last[owner] = Math.max(last[owner], lastNs[i]);
  }
  all.forEach((one, i) => {
    one.firstNs = first[i] === Infinity ? 0 : first[i];
    one.lastNs = last[i];
  });
}

// Per site, whether its rows answer the question: of allocations in the whole run, or in a part
// that has all of them; of blocks held, where they are the holdings.
function rowsAnswer(model: Model, question: Question, weights: Float64Array, rows: SiteRows) {
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

export function threadGroups(view: View, question: Question): Groups {
  const { model } = view;
  const { rows, sites, facts } = model;
  const ofPart = question.from !== null || question.to !== null;
  const weights = weigh(model, question);
  const rowWeights = weighNumbers(rows, rows.count,
    ofPart ? { ...question, measure: "total" } : question);
  const told = siteRows(model);
  const answers = rowsAnswer(model, question, weights, told);
  const nThreads = Math.max(1, facts.threads.length);
  const all = Array.from({ length: nThreads + 1 }, (_, i) => noGroup("thread", i));
  all[nThreads].several = true;
  const ofRow = rows.thread.map((thread, i) => (view.wanted[rows.site[i]] ? thread : NONE));
  const ofSite = sites.node.map((_, i) =>
    !view.wanted[i] ? NONE : told.makers[i] === 1 ? told.maker[i] : nThreads);
  addDeeds(all, model, ofRow);
  addHeld(all, rows, ofRow.map((owner, i) => (told.ownFrees[rows.site[i]] ? owner : NONE)));
  addHeld(all, sites, ofSite.map((owner, i) => (told.ownFrees[i] ? NONE : owner)));
  addUp(all, "weight", 1, rowWeights,
    ofRow.map((owner, i) => (answers[rows.site[i]] ? owner : NONE)));
  const ofRest = ofSite.map((owner, i) => (answers[i] || !weights[i] ? NONE : owner));
  addUp(all, "weight", 1, weights, ofRest);
  for (let i = 0; i < ofRest.length; i++)
    all[nThreads].stacks += ofRest[i] === nThreads ? 1 : 0;
  const items = all.filter((g) => g.weight !== 0 || g.nAlloc || g.nFree ||
    g.liveBlocks || g.peakBlocks);
  items.sort((a, b) => b.weight - a.weight || a.number - b.number);
  return {
    kind: "thread", items, stacks: countStacks(view, weights), rest: noGroup("thread", 0),
  };
}

export function classGroups(view: View, question: Question, kind: "size" | "lifetime"): Groups {
  const { model } = view;
  const of = siteClasses(model, kind);
  const weights = weigh(model, question);
  const kept = kind === "lifetime" ? keptWeights(model, question, weights) : null;
  const all = Array.from({ length: classCount(kind) }, (_, i) => noGroup(kind, i));
  const several = { ...noGroup(kind, Infinity), several: true };
  const give = (number: number, weight: number) => {
    all[number].weight += weight;
    all[number].stacks += weight !== 0 ? 1 : 0;
  };
  for (let site = 0; site < model.sites.count; site++) {
    if (!view.wanted[site])
      continue;
    for (let i = of.first[site]; i < of.first[site + 1]; i++)
      all[of.number[i]].nAlloc += of.count[i];
    const rest = shareOut(of, question, site, weights[site], kept && kept[site], give);
    if (!rest.several)
      continue;
    const classes = of.number.subarray(of.first[site], of.first[site + 1])
      .filter((number) => number < rest.below);
    several.number = Math.min(several.number, classes.at(0) ?? 0);
    several.last = Math.max(several.last, classes.at(-1) ?? 0);
    several.weight += rest.several;
    several.stacks++;
  }
  const items = [...all, several].filter((g) => g.weight !== 0);
  return { kind, items, stacks: countStacks(view, weights), rest: noGroup(kind, 0) };
}
