// SPDX-License-Identifier: Apache-2.0
//
// What changed between two views: of two captures, or of two moments of one. Stacks are gathered by
// the place they are blamed on, and places are matched by what outlives a rebuild; or by a larger
// part of the program, a thread or a class, which is known by its name. As src/view/diff.h and
// diff_match.h have it.
//
// Every stack with any weight on either side is in exactly one place, or shared out among threads
// or classes. The places of a side and what its threads leave open add up to its total, and their
// changes to the total's.

import { acrossRows, isAcross, type AcrossGroup } from "./diff_across.ts";
import { groupRefusal, viewFor } from "./groups.ts";
import type { View } from "./look.ts";
import { bareKey, commonBuilds, compareKeys, labelOf, matchKey, movedKey } from "./match.ts";
import type { Builds, MatchKey } from "./match.ts";
import { SiteKind, type Model } from "./model.ts";
import { NONE } from "./names.ts";
import { weighIn } from "./narrow.ts";
import { atOnce, PIECE, sorted, stretches, type Pieces } from "./pieces.ts";
import { prepareWeights, whole, type Question, type Unit } from "./question.ts";

export type Change = "added" | "gone" | "grown" | "shrunk" | "same";

export const CHANGES: readonly Change[] = ["added", "gone", "grown", "shrunk", "same"];

export interface Amount {
  bytes: number;
  blocks: number;
  stacks: number;
}

// What a row is: a place, which is a function whatever its lines, or something larger.
type CodeGroup = "place" | "file" | "crate" | "module";
export type DiffGroup = CodeGroup | AcrossGroup;

export const DIFF_GROUPS: readonly DiffGroup[] = [
  "place", "file", "crate", "module", "thread", "size", "lifetime",
];

// Why two models cannot be compared by such a group; null: they can.
export function diffGroupRefusal(before: Model, after: Model, group: DiffGroup): string | null {
  return groupRefusal(before, group) ?? groupRefusal(after, group);
}

export interface DiffPlace {
  kind: "place" | "module" | "lost" | "nowhere";
  label: string | null; // what all of it is; null: a place, which its frames tell
  change: Change; // under the unit asked for
  by: number; // after less before, in that unit
  beforeFrame: number; // of the weightiest stack gathered here; NONE: none on that side
  afterFrame: number;
  before: Amount;
  after: Amount;
  beforeSites: Uint32Array;
  afterSites: Uint32Array;
}

export interface Side {
  view: View;
  question: Question;
}

export interface Diff {
  places: DiffPlace[]; // by falling size of the change; unchanged ones last
  open: { before: Amount; after: Amount }; // peaks of several threads: what no stack can be given
  total: { before: Amount; after: Amount };
  counts: Record<Change, number>; // places by change, and what they changed by
  sums: Record<Change, number>;
  isOneRun: boolean;
}

type Kind = "place" | "lost" | "nowhere";
const KIND_ORDER: Record<Kind, number> = { place: 0, lost: 1, nowhere: 2 };
const NO_KEY: MatchKey = { function: "", file: "", module: "", build: "", address: 0 };

interface Half { // what one side has at one place
  kind: Kind;
  key: MatchKey;
  label: string | null;
  frame: number;
  isAfter: boolean;
  amount: Amount;
  weight: number; // how far the frame speaks for the half
  sites: number[];
  twin: Half | null; // on the other side
}

function noAmount(): Amount {
  return { bytes: 0, blocks: 0, stacks: 0 };
}

function addAmount(sum: Amount, item: Amount): void {
  sum.bytes += item.bytes;
  sum.blocks += item.blocks;
  sum.stacks += item.stacks;
}

// What is larger than a place is known by its name alone.
function knownBy(view: View, frame: number, builds: Builds, group: CodeGroup) {
  if (group === "place")
    return { key: matchKey(view.model, frame, builds), label: null };
  const label = labelOf(view.model, frame, group);
  return { key: { ...NO_KEY, function: label }, label };
}

// Halves by frame: cheap, and leaves few.
function* gatherCode(
  { view, question }: Side, isAfter: boolean, builds: Builds, group: CodeGroup,
): Pieces<Half[]> {
  const SITES = 1 << 13;
  const { model } = view;
  const [bytes, blocks] = [yield* weightsOf(view, question, "bytes"),
    yield* weightsOf(view, question, "blocks")];
  const asked = question.unit === "bytes" ? bytes : blocks;
  const halves: Half[] = [];
  const byFrame: (Half | undefined)[] = []; // after those of no place
  if (view.whole.prepareBlame)
    yield* view.whole.prepareBlame();
  const makeHalf = (frame: number, kind: Kind): Half => {
    const known = frame === NONE ? { key: NO_KEY, label: null }
      : knownBy(view, frame, builds, group);
    const nothing = { amount: noAmount(), weight: 0, sites: [], twin: null };
    const half: Half = { kind, frame, isAfter, ...known, ...nothing };
    halves.push(half);
    return half;
  };
  const halfOf = (i: number) => {
    const hasStack = model.sites.kind[i] === SiteKind.heap;
    const frame = hasStack ? view.leader(i, group) : NONE;
    const kind: Kind = frame !== NONE ? "place" : hasStack ? "nowhere" : "lost";
    const id = kind === "place" ? frame + 2 : kind === "nowhere" ? 1 : 0;
    return (byFrame[id] ??= makeHalf(frame, kind));
  };
  yield* stretches(model.sites.count, (from, past) => {
    for (let i = from; i < past; i++) {
      if (!view.wanted[i] || (!bytes[i] && !blocks[i]))
        continue;
      const half = halfOf(i);
      half.amount.bytes += bytes[i];
      half.amount.blocks += blocks[i];
      half.amount.stacks++;
      half.weight += Math.abs(asked[i]);
      half.sites.push(i);
    }
  }, SITES);
  return halves;
}

function* weightsOf(view: View, question: Question, unit: Unit): Pieces<Float64Array> {
  const asked = { ...question, unit };
  yield* prepareWeights(view.model, asked);
  return weighIn(view, asked);
}

// Threads and classes, which stacks do not fold into.
function gatherAcross({ view, question }: Side, isAfter: boolean, group: AcrossGroup): Half[] {
  return acrossRows(view, question, group).map(({ label, unit, weight, stacks }) => ({
    kind: "place", key: { ...NO_KEY, function: label }, label, frame: NONE, isAfter,
    amount: { ...noAmount(), [unit]: weight, stacks },
    weight: unit === question.unit ? Math.abs(weight) : 0, sites: [], twin: null,
  }));
}

function* gather(
  side: Side, isAfter: boolean, builds: Builds, group: DiffGroup,
): Pieces<Half[]> {
  return isAcross(group) ? gatherAcross(side, isAfter, group)
    : yield* gatherCode(side, isAfter, builds, group);
}

function compareHalves(a: Half, b: Half): number {
  return KIND_ORDER[a.kind] - KIND_ORDER[b.kind] || compareKeys(a.key, b.key) ||
    Number(a.isAfter) - Number(b.isAfter);
}

// Joins halves of one side with the same key. The weightiest frame stays, then that of the first
// line: the same one in every order.
function* fold(all: Half[], lineOf: (half: Half) => number): Pieces<Half[]> {
  const halves = yield* sorted(all, (a, b) => compareHalves(a, b) || b.weight - a.weight ||
    lineOf(a) - lineOf(b) || a.frame - b.frame);
  const folded: Half[] = [];
  for (const half of halves) {
    const last = folded[folded.length - 1];
    if (!last || compareHalves(last, half) !== 0) {
      folded.push(half);
      continue;
    }
    addAmount(last.amount, half.amount);
    last.weight += half.weight;
    for (const site of half.sites)
      last.sites.push(site);
  }
  return folded;
}

function makeTwins(a: Half, b: Half): void {
  a.twin = b;
  b.twin = a;
}

// Functions that are left over, once on each side: were there several, nobody could tell which is
// which.
function pairLeft(
  halves: Half[], keyOf: (key: MatchKey) => string, areTwins: (a: Half, b: Half) => boolean,
): void {
  const left = new Map<string, Half[]>();
  for (const half of halves) {
    if (half.twin || !half.key.function)
      continue;
    const id = keyOf(half.key);
    const same = left.get(id);
    if (same)
      same.push(half);
    else
      left.set(id, [half]);
  }
  for (const same of left.values())
    if (same.length === 2 && same[0].isAfter !== same[1].isAfter && areTwins(same[0], same[1]))
      makeTwins(same[0], same[1]);
}

function pair(halves: Half[]): void {
  for (let i = 1; i < halves.length; i++) {
    const [a, b] = [halves[i - 1], halves[i]];
    if (a.kind === b.kind && compareKeys(a.key, b.key) === 0)
      makeTwins(a, b);
  }
  pairLeft(halves, movedKey, (a, b) => a.key.file !== "" && b.key.file !== "");
  pairLeft(halves, bareKey, (a, b) => (a.key.file === "") !== (b.key.file === ""));
}

function changeOf(before: number, after: number): Change {
  if (before === after)
    return "same";
  if (before === 0)
    return "added";
  if (after === 0)
    return "gone";
  return after > before ? "grown" : "shrunk";
}

function placeOf(half: Half, unit: Unit): DiffPlace {
  const before = half.isAfter ? half.twin : half;
  const after = half.isAfter ? half : half.twin;
  const { key } = half;
  const isModule = half.frame !== NONE && !(key.function || key.file || key.build);
  const [was, is] = [before?.amount ?? noAmount(), after?.amount ?? noAmount()];
  return {
    kind: isModule ? "module" : half.kind,
    label: half.label,
    change: changeOf(was[unit], is[unit]),
    by: is[unit] - was[unit],
    beforeFrame: before ? before.frame : NONE,
    afterFrame: after ? after.frame : NONE,
    before: was,
    after: is,
    beforeSites: Uint32Array.from(before?.sites ?? []).sort(),
    afterSites: Uint32Array.from(after?.sites ?? []).sort(),
  };
}

function* makePlaces(halves: Half[], unit: Unit): Pieces<DiffPlace[]> {
  const places: DiffPlace[] = [];
  let since = 0;
  for (const half of halves) {
    if (half.isAfter && half.twin)
      continue;
    const place = placeOf(half, unit);
    places.push(place);
    since += 1 + place.beforeSites.length + place.afterSites.length;
    if (since < PIECE)
      continue;
    since = 0;
    yield;
  }
  const larger = (p: DiffPlace) => Math.max(Math.abs(p.before[unit]), Math.abs(p.after[unit]));
  // Stable: equals keep the order of their keys.
  return yield* sorted(places, (a, b) =>
    Math.abs(b.by) - Math.abs(a.by) || larger(b) - larger(a));
}

// The stacks' shares of a peak add up to it within its bound. The rest is kept apart, so that the
// total is the peak that every report tells.
function openBytes({ view, question }: Side, placed: number): number {
  if (question.measure !== "peak" || question.unit !== "bytes" || view.isFiltered)
    return 0;
  return whole(view.model, question) - placed;
}

function changesOf<T>(make: () => T): Record<Change, T> {
  return Object.fromEntries(CHANGES.map((change) => [change, make()])) as Record<Change, T>;
}

// Both sides ask for the same measure and unit.
export function diffPlaces(earlier: Side, later: Side, group: DiffGroup = "place"): Diff {
  return atOnce(diffInPieces(earlier, later, group));
}

export function* diffInPieces(
  earlier: Side, later: Side, group: DiffGroup = "place",
): Pieces<Diff> {
  const [before, after] = [earlier, later].map((side) =>
    ({ ...side, view: viewFor(side.view, group) }));
  const builds = commonBuilds(before.view.model, after.view.model);
  const lineOf = (half: Half) => half.frame === NONE ? 0
    : (half.isAfter ? after : before).view.model.frames.line[half.frame];
  const then = yield* gather(before, false, builds, group);
  const now = yield* gather(after, true, builds, group);
  const halves = yield* fold([...then, ...now], lineOf);
  yield;
  pair(halves);
  yield;
  const places = yield* makePlaces(halves, after.question.unit);
  yield;
  const total = { before: noAmount(), after: noAmount() };
  const counts = changesOf(() => 0);
  const sums = changesOf(() => 0);
  for (const place of places) {
    addAmount(total.before, place.before);
    addAmount(total.after, place.after);
    counts[place.change]++;
    sums[place.change] += place.by;
  }
  const open = {
    before: { ...noAmount(), bytes: openBytes(before, total.before.bytes) },
    after: { ...noAmount(), bytes: openBytes(after, total.after.bytes) },
  };
  addAmount(total.before, open.before);
  addAmount(total.after, open.after);
  return {
    places, open, total, counts, sums, isOneRun: before.view.model === after.view.model,
  };
}
