// SPDX-License-Identifier: Apache-2.0
//
// Who held the heap over time: the few groups that ever held most, one value per snapshot each, and
// what all others held. Exact at the snapshots, like everything that is known by stack; what lies
// between two is for who draws it to say.
//
// One pass over the cells of all snapshots finds the most that each group held; those chosen are
// asked for their curves. Stacks are as many as sites: what each held at most their own curves
// tell.

import { liveInPieces, mostHeldInPieces, totalAtSnapshots } from "./curves.ts";
import { heapSums, heapSumsInPieces } from "./keyframes.ts";
import { heldParts, straightAt, type HeldPart } from "./held.ts";
import { groupInPieces, type Group, type GroupKind } from "./groups.ts";
import { classSums, noGroup } from "./groups_across.ts";
import { partOf, type View } from "./look.ts";
import type { Model } from "./model.ts";
import { isGathered, NONE } from "./names.ts";
import { weighIn } from "./narrow.ts";
import { atOnce, stretches, type Pieces } from "./pieces.ts";
import { threadCoursesInPieces } from "./thread_courses.ts";
import { isHeld, prepareWeights, type Measure, type Question, type Unit } from "./question.ts";

export interface Band {
  group: Group;
  live: Float64Array; // per snapshot
}

export interface Bands {
  bands: Band[]; // by falling maximum
  others: Float64Array; // per snapshot: all that is in none of them
  total: Float64Array;
  atTicks: Float64Array[] | null; // per band and tick; null: nobody looked
  isEstimate: Uint8Array | null; // per snapshot, where that is not the same for all
}

const NO_BAND = NONE;

const LEAST = 1 / 1000; // of the most that all ever held: a band of less is nowhere to be seen

// Those with the highest values, the highest first and of equals the first; none without any, and
// none that is less than `least`.
function* highestOf(values: Float64Array, most: number, least = 0): Pieces<number[]> {
  const best: number[] = [];
  yield* stretches(values.length, (from, past) => {
    let last = best.length === most ? values[best[most - 1]] : 0;
    for (let i = from; i < past; i++) {
      if (!(values[i] > last) || values[i] < least)
        continue;
      const before = best.findIndex((one) => values[one] < values[i]);
      best.splice(before < 0 ? best.length : before, 0, i);
      best.length = Math.min(best.length, most);
      last = best.length === most ? values[best[most - 1]] : 0;
    }
  });
  return best;
}

// Gives what the cells of a snapshot add to the groups of their sites.
function* addTo(
  now: Float64Array, model: Model, unit: Unit, groupOf: Uint32Array, first: number, past: number,
): Pieces<void> {
  const { site } = model.snapshots;
  const values = model.snapshots[unit];
  yield* site.overInPieces(first, past, (of, from, to) => {
    for (let i = from; i < to; i++)
      if (groupOf[of[i - from]] !== NONE)
        now[groupOf[of[i - from]]] += values[i];
  });
}

// The most that each of n groups ever held, at any snapshot.
function* maxima(model: Model, unit: Unit, groupOf: Uint32Array, n: number): Pieces<Float64Array> {
  const { count, end } = model.snapshots;
  const now = new Float64Array(n);
  const most = new Float64Array(n);
  for (let s = 0, first = 0; s < count; first = end[s++]) {
    yield* addTo(now, model, unit, groupOf, first, end[s]);
    for (let i = 0; i < n; i++)
      if (now[i] > most[i])
        most[i] = now[i];
    yield;
  }
  return most;
}

// Of groups those that ever held most, in that order; what is nowhere to be seen is left out.
function* chosenGroups(
  view: View, asked: Question, kind: GroupKind, most: number, least: number,
): Pieces<Group[]> {
  const groups = yield* groupInPieces(view, asked, kind);
  if (groups.prepare)
    yield* groups.prepare([]);
  const groupOf = yield* groups.itemOf();
  const held = yield* maxima(view.model, asked.unit, groupOf, groups.items.length);
  groups.items.forEach(({ frame }, item) => {
    if (isGathered(view.model, frame)) // are others
      held[item] = 0;
  });
  return (yield* highestOf(held, most, least)).map((item) => groups.items[item]);
}

// Those that held the same come in the order that groups of stacks have.
function* chosenStacks(
  view: View, asked: Question, most: number, least: number,
): Pieces<Group[]> {
  const { model } = view;
  const held = yield* mostHeldInPieces(model, asked.unit);
  const weights = weighIn(view, asked);
  const isMeant = (site: number) => view.wanted[site] !== 0 && weights[site] > 0;
  yield* stretches(held.length, (from, past) => {
    for (let site = from; site < past; site++)
      if (!isMeant(site))
        held[site] = 0;
  });
  const last = (yield* highestOf(held, most, least)).at(-1);
  const only = new Uint8Array(held.length);
  if (last !== undefined)
    yield* stretches(held.length, (from, past) => {
      for (let site = from; site < past; site++)
        only[site] = Number(held[site] >= held[last]);
    });
  const { items } = yield* groupInPieces(partOf(view.whole, only), asked, "stack");
  const values = items.map(({ number, frame }) => isGathered(model, frame) ? 0 : held[number]);
  const highest = yield* highestOf(Float64Array.from(values), most, least);
  return highest.map((item) => items[item]);
}

// Whatever has been allocated may have been held.
function measureFor(model: Model): Measure {
  const order: Measure[] = ["total", "peak", "live"];
  return order.find((measure) => isHeld(model, measure)) ?? "total";
}

// What some sites held at ticks, of which `live` is what they held at snapshots, and how much of it
// was looked at then. Null: nobody looked at any of them between snapshots.
export function courseAtTicks(model: Model, sites: ArrayLike<number>, live: Float64Array) {
  const looked = new Set(model.held?.sites);
  const own = new Set<number>();
  for (let i = 0; looked.size && i < sites.length; i++)
    if (looked.has(sites[i]))
      own.add(sites[i]);
  const parts = own.size ? heldParts(model, (site) => (own.has(site) ? 0 : 1), 1) : null;
  if (!parts)
    return null;
  const [bytes] = bandsAtTicks(model, [live], totalAtSnapshots(model), parts);
  return { bytes, seen: parts[0].atTicks };
}

// What bands hold at ticks: what was looked at then, and of the rest of the heap the share that
// their own rest has of it, straight between the snapshots around.
function bandsAtTicks(
  model: Model, live: Float64Array[], total: Float64Array, held: HeldPart[],
): Float64Array[] {
  const sum = (at: (part: HeldPart) => number) => held.reduce((all, part) => all + at(part), 0);
  const rest = total.map((all, s) => all - sum((part) => part.atSnapshots[s]));
  const left = model.ticks.liveBytes.map((all, t) =>
    Math.max(0, all - sum((part) => part.atTicks[t])));
  return live.map((values, k) => {
    const { atSnapshots, atTicks } = held[k];
    const shares = values.map((value, s) =>
      rest[s] > 0 ? Math.min(1, Math.max(0, value - atSnapshots[s]) / rest[s]) : 0);
    return atTicks.map((bytes, t) =>
      bytes + straightAt(model, shares, model.ticks.ns[t]) * left[t]);
  });
}

const askedAt = (unit: Unit, to: number): Question => ({ measure: "live", unit, from: null, to });

function* classCourses(
  view: View, kind: "size" | "lifetime", unit: Unit,
): Pieces<Float64Array[]> {
  const { count } = view.model.snapshots;
  const live: Float64Array[] = [];
  for (let s = 0; s < count; s++) {
    yield* prepareWeights(view.model, askedAt(unit, s));
    const { sums } = yield* classSums(view, askedAt(unit, s), kind);
    sums.forEach((sum, i) =>
      ((live[i] ??= new Float64Array(count))[s] = Math.max(0, sum)));
  }
  return live;
}

// Threads and classes share stacks: what is of several is a band like any other, the last.
function* acrossBands(
  view: View, kind: "thread" | "size" | "lifetime", unit: Unit, most: number,
): Pieces<Bands> {
  const total = totalAtSnapshots(view.model, unit);
  const { live, isEstimate } = kind === "thread"
    ? yield* threadCoursesInPieces(view, unit)
    : { live: yield* classCourses(view, kind, unit), isEstimate: null };
  const order = yield* highestOf(
    Float64Array.from(live, (values) => Math.max(...values)), most);
  const bands = order.map((i) => {
    const isSeveral = i === live.length - 1;
    const none = noGroup(kind, isSeveral ? 0 : i);
    return { group: { ...none, several: isSeveral, last: i - 1 }, live: live[i] };
  });
  const others = total.map((sum, s) =>
    Math.max(0, bands.reduce((rest, band) => rest - band.live[s], sum)));
  return { bands, others, total, atTicks: null, isEstimate };
}

// At most `most` of them; groups that a filter leaves out are among the others.
export function makeBands(view: View, kind: GroupKind, unit: Unit, most: number): Bands {
  return atOnce(bandsInPieces(view, kind, unit, most));
}

export function* bandsInPieces(
  view: View, kind: GroupKind, unit: Unit, most: number,
): Pieces<Bands> {
  if (kind === "thread" || kind === "size" || kind === "lifetime")
    return yield* acrossBands(view, kind, unit, most);
  const { model } = view;
  yield* heapSumsInPieces(model, unit);
  const total = totalAtSnapshots(model, unit);
  const asked = { measure: measureFor(model), unit, from: null, to: null } as const;
  yield* prepareWeights(model, asked);
  const least = LEAST * heapSums(model, unit).reduce((a, b) => Math.max(a, b), 0);
  const chosen = kind === "stack" ? yield* chosenStacks(view, asked, most, least)
    : yield* chosenGroups(view, asked, kind, most, least);
  const live: Float64Array[] = [];
  const bandOf = new Uint32Array(model.sites.count).fill(NO_BAND);
  for (const [k, { sites }] of chosen.entries()) {
    live.push(yield* liveInPieces(model, sites, unit));
    for (let i = 0; i < sites.length; i++)
      bandOf[sites[i]] = k;
    yield;
  }
  const others = total.map((sum, s) => {
    for (const values of live)
      sum -= values[s];
    return Math.max(0, sum); // at the peak, shares add up to it within a bound only
  });
  const parts = unit === "bytes" ? heldParts(model, (site) => bandOf[site], chosen.length) : null;
  const atTicks = parts && bandsAtTicks(model, live, total, parts);
  return { bands: chosen.map((one, i) => ({ group: one, live: live[i] })), others, total, atTicks,
    isEstimate: null };
}

// The longest time between two snapshots that follow each other, the start and the end among them.
export function worstGap(model: Model, endNs: number): number {
  const { count, ns } = model.snapshots;
  let worst = 0;
  for (let s = 0, before = 0; s <= count; s++) {
    const at = s < count ? ns[s] : endNs;
    worst = Math.max(worst, at - before);
    before = at;
  }
  return worst;
}
