// SPDX-License-Identifier: Apache-2.0
//
// Sites gathered into rows: by the line of code they are blamed on (a place), by a larger part of
// the program, by thread, or by class of size or lifetime; as src/view/groups.h has it. A question
// costs one addition per site and the sorting of rows; their other numbers are summed when somebody
// reads them.

import { isNothing } from "./decode.ts";
import type { Fate } from "./fate.ts";
import { classGroups, threadGroups } from "./groups_across.ts";
import { blameByKind, otherView, type View } from "./look.ts";
import { SiteKind, type Model, type Numbers } from "./model.ts";
import { weighIn } from "./narrow.ts";
import { NONE, numberFrames, textRanks, type FrameNames } from "./names.ts";
import { numbersOf, type NumberKey } from "./numbers.ts";
import { atOnce, Few, sortByFalling, stretches, type Pieces } from "./pieces.ts";
import type { Question } from "./question.ts";
import { sumsByGroup } from "./sums.ts";

export type GroupKind =
  | "place" | "function" | "file" | "crate" | "module" | "thread" | "size" | "lifetime" |
  "call" | "stack";

export const GROUP_KINDS: readonly GroupKind[] = [
  "place", "function", "file", "crate", "module", "thread", "size", "lifetime", "call",
  "stack",
];

// Sums over its sites but for the times, which are of allocations: both 0 when there were none.
export type GroupNumbers = Record<NumberKey | "liveBlocks" | "liveBytes", number>;

// Read it, do not copy it by its keys: most of them are computed.
export interface Group extends GroupNumbers {
  readonly kind: GroupKind;
  readonly frame: number; // stands for all of it; NONE for lost events and what is no code
  readonly crate: string | null; // of kind crate; null: none, and the group is its module
  readonly number: number; // thread, class of size or lifetime, call, site: as the kind is
  readonly several: boolean; // threads or classes not told apart; of classes number is the first
  readonly last: number; // and this the last
  readonly weight: number; // under the question
  readonly stacks: number;
  readonly sites: Uint32Array; // rising; empty for threads and classes, which share them
  fate: Fate | null; // null: none, or not told yet (see fate.ts)
}

export interface Groups {
  kind: GroupKind;
  items: Group[]; // by falling weight; classes of size and lifetime by rising number
  stacks: number; // with any weight
  itemOf(): Pieces<Uint32Array>; // per site the item it is in; NONE: in none, or in several
  rest: Group; // sums of stacks without a frame to show; no sites when there are none
  // Their sites, and of columns that are read later the sums of all, with the times.
  prepare?(columns: readonly NumberKey[]): Pieces<void>;
}

// Why a model has no groups of a kind, in the command's words; null: it has.
export function groupRefusal(model: Model, kind: GroupKind): string | null {
  return model.facts.words.groups_refused[kind] ?? null;
}

interface Times { first: Float64Array; last: Float64Array } // first: Infinity where there is none

// The sites of each group, from first[group] to first[group + 1].
interface Lists { first: Uint32Array; sites: Uint32Array }

// Sites shared out among groups 0 to n - 1, whatever they weigh.
class Division {
  private lists: Lists | null = null;

  constructor(
    readonly count: number,
    readonly entries: Uint32Array, // sites
    readonly groupOf: Uint32Array, // per entry
    readonly frames: Uint32Array, // per group
    readonly stacks: Uint32Array, // per group
  ) {}

  sitesOf(group: number): Uint32Array {
    const { first, sites } = this.lists ?? atOnce(this.listSites());
    return sites.subarray(first[group], first[group + 1]);
  }

  *listSites(): Pieces<Lists> {
    const { count, groupOf, entries } = this;
    if (this.lists)
      return this.lists;
    const first = new Uint32Array(count + 1);
    yield* stretches(entries.length, (from, past) => {
      for (let i = from; i < past; i++)
        first[groupOf[i] + 1]++;
    });
    for (let g = 0; g < count; g++)
      first[g + 1] += first[g];
    const next = first.slice();
    const sites = new Uint32Array(entries.length);
    yield* stretches(entries.length, (from, past) => {
      for (let i = from; i < past; i++)
        sites[next[groupOf[i]]++] = entries[i];
    });
    return (this.lists = { first, sites });
  }
}

// A division under a question; sums per group are made when asked for.
class Sharing {
  private readonly sums = new Map<keyof Numbers, Float64Array>();
  private times: Times | null = null;
  readonly count: number;
  private readonly entries: Uint32Array;
  private readonly groupOf: Uint32Array;

  constructor(
    readonly model: Model,
    readonly kind: GroupKind,
    readonly division: Division,
    readonly weights: Float64Array, // per group
  ) {
    this.count = division.count;
    this.entries = division.entries;
    this.groupOf = division.groupOf;
  }

  // Each stack is a group of its own, so that there is nothing to be summed.
  get isOne(): boolean {
    return this.kind === "stack";
  }

  *prepare(columns: readonly NumberKey[]): Pieces<void> {
    for (const column of this.isOne ? [] : columns)
      yield* this.sumInPieces(column);
    if (!this.isOne)
      yield* this.division.listSites();
    if (!this.isOne && columns.length)
      yield* this.findTimes();
  }

  sumOf(column: keyof Numbers, group: number): number {
    return this.isOne ? this.model.sites[column][this.entries[group]] : this.sum(column)[group];
  }

  sum(column: keyof Numbers): Float64Array {
    return this.sums.get(column) ?? atOnce(this.sumInPieces(column));
  }

  *sumInPieces(column: keyof Numbers): Pieces<Float64Array> {
    const known = this.sums.get(column);
    if (known)
      return known;
    const values = this.model.sites[column];
    yield; // it is made when it is first read
    const sums = isNothing(values) ? new Float64Array(this.count)
      : yield* sumsByGroup(this.count, this.groupOf, values, this.entries);
    this.sums.set(column, sums);
    return sums;
  }

  // Of the allocations of a group; both 0 when there were none.
  timesOf(group: number): { first: number; last: number } {
    if (this.isOne) {
      const { nAlloc, firstNs, lastNs } = this.model.sites;
      const site = this.entries[group];
      return { first: nAlloc[site] ? firstNs[site] : 0, last: lastNs[site] };
    }
    const { first, last } = this.times ?? atOnce(this.findTimes());
    return { first: first[group] === Infinity ? 0 : first[group], last: last[group] };
  }

  private *findTimes(): Pieces<Times> {
    const { entries, groupOf, model: { sites } } = this;
    const { nAlloc } = sites;
    const first = new Float64Array(this.count).fill(Infinity);
    const last = new Float64Array(this.count);
    yield;
    const { firstNs } = sites; // each is made when it is first read
    yield;
    const { lastNs } = sites;
    yield;
    yield* stretches(entries.length, (from, past) => {
      for (let i = from; i < past; i++) {
        const site = entries[i];
        const g = groupOf[i];
        if (nAlloc[site] && firstNs[site] < first[g])
          first[g] = firstNs[site];
        if (lastNs[site] > last[g])
          last[g] = lastNs[site];
      }
    });
    const times = { first, last };
    return (this.times = times);
  }

  sitesOf(group: number): Uint32Array {
    return this.isOne ? this.entries.subarray(group, group + 1) : this.division.sitesOf(group);
  }
}

// Its sums are made getters of below.
interface SharedGroup extends GroupNumbers {}

class SharedGroup implements Group {
  fate: Fate | null = null;
  private own: Uint32Array | null = null;

  constructor(private readonly sharing: Sharing, private readonly index: number) {}

  get kind() { return this.sharing.kind; }
  get frame() { return this.sharing.division.frames[this.index]; }
  get weight() { return this.sharing.weights[this.index]; }
  get stacks() { return this.sharing.division.stacks[this.index]; }
  get sites() { return (this.own ??= this.sharing.sitesOf(this.index)); }
  get number() {
    if (this.kind === "stack") return this.sites[0];
    const ofCall = this.kind === "call" && this.sites.length > 0;
    return ofCall ? this.sharing.model.sites.call[this.sites[0]] : 0;
  }
  get several() { return false; }
  get last() { return 0; }
  get crate() {
    const { model, kind } = this.sharing;
    const crate = kind === "crate" && this.frame !== NONE ? model.frames.crate[this.frame] : 0;
    return crate ? model.text[crate] : null;
  }
  get liveBlocks() { return this.sum("beforeBlocks") + this.sum("nAlloc") - this.sum("nFree"); }
  get liveBytes() { return this.sum("beforeBytes") + this.sum("bAlloc") - this.sum("bFree"); }

  get firstNs() { return this.sharing.timesOf(this.index).first; }
  get lastNs() { return this.sharing.timesOf(this.index).last; }

  private sum(column: keyof Numbers): number {
    return this.sharing.sumOf(column, this.index);
  }

  static {
    for (const key of numbersOf("done", "held"))
      Object.defineProperty(this.prototype, key, {
        get(this: SharedGroup) { return this.sum(key); },
      });
  }
}

type CodeKind = "place" | "function" | "file" | "crate" | "module";
type SiteKeyKind = CodeKind | "call" | "stack";

const keysOf = new WeakMap<Model, Map<CodeKind, FrameNames>>();

// Numbers for frames: equal where a kind calls them the same, rising in the order of their names.
export function* codeKeys(model: Model, kind: CodeKind): Pieces<FrameNames> {
  const ofModel = keysOf.get(model) ?? new Map<CodeKind, FrameNames>();
  keysOf.set(model, ofModel);
  const keys = ofModel.get(kind) ??
    (yield* numberFrames(model.frames.count, comparison(model, kind)));
  ofModel.set(kind, keys);
  return keys;
}

function comparison(model: Model, kind: CodeKind): (a: number, b: number) => number {
  const { function: fn, file, line, module, crate, address } = model.frames;
  const ranks = textRanks(model);
  const path = (f: number) => ranks[model.modules[module[f]]];
  const places = (a: number, b: number) =>
    ranks[fn[a]] - ranks[fn[b]] || ranks[file[a]] - ranks[file[b]] || line[a] - line[b] ||
    (file[a] ? 0 : module[a] - module[b]) || (fn[a] ? 0 : address[a] - address[b]);
  switch (kind) {
    case "place":
      return places;
    case "function":
      return (a, b) => ranks[fn[a]] - ranks[fn[b]] ||
        (fn[a] ? ranks[file[a]] - ranks[file[b]] || (file[a] ? 0 : module[a] - module[b])
          : places(a, b));
    case "file":
      return (a, b) => ranks[file[a]] - ranks[file[b]] || (file[a] ? 0 : path(a) - path(b));
    case "crate":
      return (a, b) => ranks[crate[a]] - ranks[crate[b]] || (crate[a] ? 0 : path(a) - path(b));
    case "module":
      return (a, b) => path(a) - path(b);
  }
}

export interface SiteKeys {
  of: Uint32Array; // per site; 0 where a site has no frame and none is hidden
  count: number;
}

const UNWANTED = NONE;
const HIDDEN = NONE - 1; // on the heap, without a frame to show

const siteKeysOf = new WeakMap<View, Map<SiteKeyKind, SiteKeys>>();

// What sites are gathered by, whatever they weigh. made: elsewhere, of the same view.
export function siteKeys(view: View, kind: SiteKeyKind, made?: SiteKeys): SiteKeys {
  return atOnce(siteKeysInPieces(view, kind, made));
}

function* siteKeysInPieces(
  view: View, kind: SiteKeyKind, made?: SiteKeys,
): Pieces<SiteKeys> {
  const ofView = siteKeysOf.get(view) ?? new Map<SiteKeyKind, SiteKeys>();
  siteKeysOf.set(view, ofView);
  const keys = made ?? ofView.get(kind) ?? (yield* makeSiteKeys(view, kind));
  ofView.set(kind, keys);
  return keys;
}

function* makeSiteKeys(view: View, kind: SiteKeyKind): Pieces<SiteKeys> {
  const { sites } = view.model;
  const names = kind === "stack" || kind === "call" ? null : yield* codeKeys(view.model, kind);
  const count = names ? names.count
    : kind === "call" ? view.model.facts.words.calls.length : sites.count;
  const of = new Uint32Array(sites.count).fill(UNWANTED);
  if (view.whole.prepareBlame)
    yield* view.whole.prepareBlame();
  yield* stretches(sites.count, (from, past) => {
    for (let i = from; i < past; i++) {
      if (!view.wanted[i])
        continue;
      const frame = view.leader(i, kind);
      if (kind === "call")
        of[i] = sites.call[i]; // which has nothing to do with frames
      else if (frame === NONE && sites.kind[i] === SiteKind.heap)
        of[i] = HIDDEN;
      else
        of[i] = !names ? i : frame === NONE ? 0 : names.of[frame];
    }
  });
  return { of, count };
}

// By what sites are gathered, where they are: a group's other numbers are those of all its sites.
function* collect(keyOf: Uint32Array) {
  const sites = new Uint32Array(keyOf.length);
  const keys = new Uint32Array(keyOf.length);
  let n = 0;
  yield* stretches(keyOf.length, (from, past) => {
    for (let i = from; i < past; i++)
      if (keyOf[i] < HIDDEN) {
        sites[n] = i;
        keys[n++] = keyOf[i];
      }
  });
  const isAll = n === keyOf.length;
  return { sites: isAll ? sites : sites.slice(0, n), keys: isAll ? keys : keys.slice(0, n) };
}

// How many sites have any weight, and those of them that are hidden: these are told where they
// weigh.
function* countStacks(weights: Float64Array, keyOf: Uint32Array) {
  const hidden: number[] = [];
  let stacks = 0;
  yield* stretches(weights.length, (from, past) => {
    for (let i = from; i < past; i++) {
      if (keyOf[i] === UNWANTED || !(weights[i] > 0))
        continue;
      stacks++;
      if (keyOf[i] === HIDDEN)
        hidden.push(i);
    }
  });
  return { hidden: Uint32Array.from(hidden), stacks };
}

// Keys to groups, in the order of keys; those that no site has are left out.
function* divide(
  view: View, kind: GroupKind, sites: Uint32Array, keys: Uint32Array, nKeys: number,
): Pieces<Division> {
  const groupOfKey = new Uint32Array(nKeys);
  for (let i = 0; i < keys.length; i++)
    groupOfKey[keys[i]] = 1;
  let n = 0;
  for (let k = 0; k < nKeys; k++)
    groupOfKey[k] = groupOfKey[k] ? n++ : NONE;
  yield;
  const groupOf = keys; // one after the other
  const stacks = new Uint32Array(n);
  const frames = new Uint32Array(n).fill(NONE);
  yield* stretches(sites.length, (from, past) => {
    for (let i = from; i < past; i++) {
      const g = groupOf[i] = groupOfKey[keys[i]];
      stacks[g]++;
      if (kind !== "call")
        frames[g] = Math.min(frames[g], view.leader(sites[i], kind)); // the same in every order
    }
  });
  return new Division(n, sites, groupOf, frames, stacks);
}

const divisions = new Few<View, Division>(2);

function* divisionOf(view: View, kind: SiteKeyKind, { of, count }: SiteKeys): Pieces<Division> {
  const held = divisions.get(view, kind);
  if (held)
    return held;
  const { sites, keys } = yield* collect(of);
  return divisions.keep(view, kind, yield* divide(view, kind, sites, keys, count));
}

function* share(
  { model }: View, kind: GroupKind, weights: Float64Array, division: Division,
): Pieces<Sharing> {
  const { count, entries, groupOf } = division;
  const sums = yield* sumsByGroup(count, groupOf, weights, entries);
  return new Sharing(model, kind, division, sums);
}

// Those that weigh anything. Those of one weight stay in the order of their names; stacks by what
// they allocated.
function* ranked(sharing: Sharing): Pieces<Uint32Array> {
  const { count, weights, kind } = sharing;
  const all = new Uint32Array(count);
  let n = 0;
  for (let g = 0; g < count; g++)
    if (weights[g] > 0)
      all[n++] = g;
  yield;
  const order = all.subarray(0, n);
  // A stack's key is its site: those of one weight come in the order of sites.
  const levels = [weights];
  for (const column of kind === "stack" ? ["bAlloc", "nAlloc"] as const : []) {
    levels.push(yield* sharing.sumInPieces(column));
  }
  yield* sortByFalling(order, levels);
  return order;
}

function* itemsOfSites(
  { model, division: { count, entries, groupOf } }: Sharing, order: Uint32Array,
): Pieces<Uint32Array> {
  const rank = new Uint32Array(count).fill(NONE);
  yield* stretches(order.length, (from, past) => {
    for (let i = from; i < past; i++)
      rank[order[i]] = i;
  });
  const item = new Uint32Array(model.sites.count).fill(NONE);
  yield* stretches(entries.length, (from, past) => {
    for (let i = from; i < past; i++)
      item[entries[i]] = rank[groupOf[i]];
  });
  return item;
}

function* codeGroups(view: View, question: Question, kind: SiteKeyKind): Pieces<Groups> {
  const weights = weighIn(view, question);
  const keyOf = yield* siteKeysInPieces(view, kind);
  const { hidden, stacks } = yield* countStacks(weights, keyOf.of);
  const sharing = yield* share(view, kind, weights, yield* divisionOf(view, kind, keyOf));
  const rest = hidden.length
    ? yield* divide(view, kind, hidden, new Uint32Array(hidden.length), 1)
    : new Division(1, hidden, hidden, Uint32Array.of(NONE), new Uint32Array(1));
  const noSharing = yield* share(view, kind, weights, rest);
  const order = yield* ranked(sharing);
  const items: Group[] = [];
  yield* stretches(order.length, (from, past) => {
    for (let i = from; i < past; i++)
      items.push(new SharedGroup(sharing, order[i]));
  });
  return {
    kind, items, stacks,
    itemOf: () => itemsOfSites(sharing, order),
    rest: new SharedGroup(noSharing, 0),
    prepare: (columns) => sharing.prepare(columns),
  };
}

// Whom the rows of a kind lead with.
export function blameOf({ model, look }: View, kind: string): "own" | "library" {
  return look.blame ?? blameByKind(model, kind);
}

const blamedOther = new WeakMap<View, View>();

// The view that groups of a kind are made of.
export function viewFor(view: View, kind: string): View {
  const blame = blameOf(view, kind);
  if (blame === (view.look.blame ?? view.model.facts.blame))
    return view;
  const other = blamedOther.get(view) ?? otherView(view, { blame });
  blamedOther.set(view, other);
  return other;
}

const KEPT_MAX = 2;
const kept = new Few<View, Groups>(KEPT_MAX);

export function group(view: View, question: Question, kind: GroupKind): Groups {
  return atOnce(groupInPieces(view, question, kind));
}

// Of what is asked again of the same view, the same groups.
export function* groupInPieces(view: View, question: Question, kind: GroupKind): Pieces<Groups> {
  const { measure, unit, from, to } = question;
  const key = `${kind} ${measure} ${unit} ${from} ${to}`;
  return kept.get(view, key) ??
    kept.keep(view, key, yield* makeGroups(view, question, kind));
}

function makeGroups(view: View, question: Question, kind: GroupKind): Pieces<Groups> {
  if (kind === "thread")
    return threadGroups(view, question);
  if (kind === "size" || kind === "lifetime")
    return classGroups(view, question, kind);
  return codeGroups(viewFor(view, kind), question, kind);
}

const widerOf = new WeakMap<View, Map<GroupKind, View>>();

// How much is of several, and so of none that could be selected; of all that the rest lets through.
export function ofSeveral(view: View, question: Question, kind: GroupKind): number {
  return atOnce(ofSeveralInPieces(view, question, kind));
}

export function* ofSeveralInPieces(
  view: View, question: Question, kind: GroupKind,
): Pieces<number> {
  const ofView = widerOf.get(view) ?? new Map<GroupKind, View>();
  widerOf.set(view, ofView);
  const wider = ofView.get(kind) ?? otherView(view, { [kind]: null });
  ofView.set(kind, wider);
  const { items } = yield* groupInPieces(wider, question, kind);
  return items.find(({ several }) => several)?.weight ?? 0;
}
