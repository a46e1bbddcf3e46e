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
import { codeKeys, groupRefusal, viewFor } from "./groups.ts";
import type { View } from "./look.ts";
import { bareKey, commonBuilds, compareKeys, labelOf, matchKey, movedKey } from "./match.ts";
import type { Builds, MatchKey } from "./match.ts";
import { SiteKind, type Model } from "./model.ts";
import { NONE } from "./names.ts";
import { weighIn } from "./narrow.ts";
import { atOnce, PIECE, sortByFalling, sorted, stretches, type Pieces } from "./pieces.ts";
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
  weight: number; // of the frame's stacks: how far it speaks for the half
  sites: Uint32Array[]; // each rising
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

// By what stacks of a view are gathered; the same for both sides of one.
interface Codes {
  of: Uint32Array; // per site: LOST, NOWHERE or the number of a frame from FRAMES on; NONE: no part
  codeOf: Uint32Array; // per frame: equal where what it is known by is; elsewhere it may be, too
  known: Known[]; // by those
}
interface Known { key: MatchKey; label: string | null }

const LOST = 0;
const NOWHERE = 1;
const FRAMES = 2;

function* codesOf(view: View, group: CodeGroup): Pieces<Codes> {
  const { count, kind } = view.model.sites;
  const of = new Uint32Array(count);
  if (view.whole.prepareBlame)
    yield* view.whole.prepareBlame();
  yield* stretches(count, (from, past) => {
    for (let i = from; i < past; i++) {
      const frame = kind[i] === SiteKind.heap ? view.leader(i, group) : NONE;
      of[i] = !view.wanted[i] ? NONE : frame !== NONE ? frame + FRAMES
        : kind[i] === SiteKind.heap ? NOWHERE : LOST;
    }
  });
  const { of: codeOf } = yield* codeKeys(view.model, group === "place" ? "function" : group);
  return { of, codeOf, known: [] };
}

// What is larger than a place is known by its name alone.
function knownBy(view: View, frame: number, builds: Builds, group: CodeGroup): Known {
  if (group === "place")
    return { key: matchKey(view.model, frame, builds), label: null };
  const label = labelOf(view.model, frame, group);
  return { key: { ...NO_KEY, function: label }, label };
}

// Of a side, whether a stack has anything, and what those of each number of the codes have.
interface Numbered {
  has(site: number): boolean;
  bytes: Float64Array;
  blocks: Float64Array;
  weight: Float64Array; // whatever its sign, in the unit asked for
  stacks: Uint32Array;
}

function* sumUp({ view, question }: Side, { of }: Codes): Pieces<Numbered> {
  const [bytes, blocks] = [yield* weightsOf(view, question, "bytes"),
    yield* weightsOf(view, question, "blocks")];
  const asked = question.unit === "bytes" ? bytes : blocks;
  const n = view.model.frames.count + FRAMES;
  const sums = {
    bytes: new Float64Array(n), blocks: new Float64Array(n), weight: new Float64Array(n),
    stacks: new Uint32Array(n),
  };
  const has = (i: number) => of[i] !== NONE && (bytes[i] !== 0 || blocks[i] !== 0);
  yield* stretches(of.length, (from, past) => {
    for (let i = from; i < past; i++) {
      if (!has(i))
        continue;
      sums.bytes[of[i]] += bytes[i];
      sums.blocks[of[i]] += blocks[i];
      sums.weight[of[i]] += Math.abs(asked[i]);
      sums.stacks[of[i]]++;
    }
  });
  return { has, ...sums };
}

// Frames that are known by the same are gathered at once, which leaves few halves.
function* gatherCode(
  side: Side, isAfter: boolean, codes: Codes, builds: Builds, group: CodeGroup,
): Pieces<Half[]> {
  const { view } = side;
  const { line } = view.model.frames;
  const sums = yield* sumUp(side, codes);
  const halves: Half[] = [];
  const halfOf = new Uint32Array(sums.stacks.length); // per number of the codes
  const halfOfCode: number[] = [];
  const addFrame = (id: number, frame: number) => {
    const code = codes.codeOf[frame];
    const at = halfOfCode[code] ??= halves.length;
    if (at === halves.length) {
      const by = codes.known[code] ??= knownBy(view, frame, builds, group);
      halves.push(newHalf("place", by, frame, isAfter));
    }
    const half = halves[halfOf[id] = at];
    const weight = sums.weight[id];
    if (weight > half.weight || (weight === half.weight && line[frame] < line[half.frame])) {
      half.frame = frame;
      half.weight = weight;
    }
  };
  yield* stretches(sums.stacks.length, (from, past) => {
    for (let id = from; id < past; id++) {
      if (!sums.stacks[id])
        continue;
      if (id >= FRAMES)
        addFrame(id, id - FRAMES);
      else
        halfOf[id] = halves.push(newHalf(id === LOST ? "lost" : "nowhere", NOTHING, NONE,
          isAfter)) - 1;
      const [bytes, blocks, stacks] = [sums.bytes[id], sums.blocks[id], sums.stacks[id]];
      addAmount(halves[halfOf[id]].amount, { bytes, blocks, stacks });
    }
  }, IDS);
  yield* shareSites(halves, halfOf, codes, sums);
  return halves;
}

const IDS = 1 << 13;
const NOTHING: Known = { key: NO_KEY, label: null };

function newHalf(kind: Kind, { key, label }: Known, frame: number, isAfter: boolean): Half {
  return {
    kind, key, label, frame, isAfter, amount: noAmount(), weight: 0, sites: [], twin: null,
  };
}

function* shareSites(
  halves: Half[], halfOf: Uint32Array, { of }: Codes, { has }: Numbered,
): Pieces<void> {
  const next = new Uint32Array(halves.length);
  for (let h = 1; h < halves.length; h++)
    next[h] = next[h - 1] + halves[h - 1].amount.stacks;
  const sites = new Uint32Array(halves.reduce((n, half) => n + half.amount.stacks, 0));
  halves.forEach((half, h) =>
    half.sites.push(sites.subarray(next[h], next[h] + half.amount.stacks)));
  yield* stretches(of.length, (from, past) => {
    for (let i = from; i < past; i++)
      if (has(i))
        sites[next[halfOf[of[i]]]++] = i;
  });
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
  before: Side, after: Side, builds: Builds, group: DiffGroup,
): Pieces<Half[]> {
  if (isAcross(group))
    return [...gatherAcross(before, false, group), ...gatherAcross(after, true, group)];
  const codes = yield* codesOf(before.view, group);
  const then = yield* gatherCode(before, false, codes, builds, group);
  const same = after.view === before.view ? codes : yield* codesOf(after.view, group);
  return [...then, ...yield* gatherCode(after, true, same, builds, group)];
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
    for (const sites of half.sites)
      last.sites.push(sites);
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

// Rising.
function sitesOf(half: Half | null): Uint32Array {
  const lists = half?.sites ?? [];
  if (lists.length === 1)
    return lists[0];
  const sites = new Uint32Array(lists.reduce((n, list) => n + list.length, 0));
  let n = 0;
  for (const list of lists) {
    sites.set(list, n);
    n += list.length;
  }
  return sites.sort();
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
    beforeSites: sitesOf(before),
    afterSites: sitesOf(after),
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
  const change = Float64Array.from(places, ({ by }) => Math.abs(by));
  const larger = Float64Array.from(places, ({ before, after }) =>
    Math.max(Math.abs(before[unit]), Math.abs(after[unit])));
  yield;
  const order = Uint32Array.from(places, (_, i) => i);
  yield* sortByFalling(order, [change, larger]); // equals keep the order of their keys
  return Array.from(order, (i) => places[i]);
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
  const halves = yield* fold(yield* gather(before, after, builds, group), lineOf);
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
