// SPDX-License-Identifier: Apache-2.0
//
// What was not given back, by place, and what was held until the run was over: the largest first,
// whatever became of it. That a place was growing is a word beside its row, no rank.

import { liveInPieces } from "./curves.ts";
import { fatesInPieces, type Fate } from "./fate.ts";
import { groupInPieces, group, type Group } from "./groups.ts";
import { isNarrow, type View } from "./look.ts";
import type { Model } from "./model.ts";
import { weighIn } from "./narrow.ts";
import { atOnce, Few, sorted, stretches, type Pieces } from "./pieces.ts";
import { prepareWeights, weigh } from "./question.ts";

export interface Leak {
  group: Group;
  fate: Fate | null;
  bytes: number; // of what is live at the end; of what was freed by then, the most of it at once
  blocks: number; // likewise
  meanNs: number; // how old blocks are at the end or, of those freed, lived; 0: not known
  firstNs: number; // NaN: not known
}

export interface Leaks {
  kept: Leak[];
  atEnd: Leak[];
}

const mean = (sum: number, n: number) => (n > 0 && sum > 0 ? Math.floor(sum / n) : 0);

// Of what was allocated since a reset, if there was one.
function keptOf(model: Model, of: Group, unit: "bytes" | "blocks"): number {
  if (!model.facts.image.reset)
    return unit === "bytes" ? of.liveBytes : of.liveBlocks;
  const weights = weigh(model, { measure: "leak", unit, from: null, to: null });
  return of.sites.reduce((sum, site) => sum + weights[site], 0);
}

function keptLeak(model: Model, of: Group): Leak {
  return {
    group: of, fate: of.fate, bytes: keptOf(model, of, "bytes"),
    blocks: keptOf(model, of, "blocks"), meanNs: mean(of.ageNs, of.liveBlocks), firstNs: of.firstNs,
  };
}

// At any of the snapshots.
function mostHeld(model: Model, of: Group, unit: "bytes" | "blocks"): number {
  return atOnce(liveInPieces(model, of.sites, unit)).reduce((a, b) => Math.max(a, b), 0);
}

function endLeak(model: Model, of: Group): Leak {
  return {
    group: of, fate: of.fate,
    bytes: mostHeld(model, of, "bytes"), blocks: mostHeld(model, of, "blocks"),
    meanNs: mean(of.lifeNs, of.nFree - of.nResize), firstNs: of.firstNs,
  };
}

// Of a thread or a class: how much is known, and not how it came about.
function narrowLeaks(view: View): Leaks {
  const asked = (unit: "bytes" | "blocks") =>
    ({ measure: "leak", unit, from: null, to: null }) as const;
  const blocks = weighIn(view, asked("blocks"));
  const sum = (sites: Uint32Array) => sites.reduce((n, site) => n + blocks[site], 0);
  const kept = group(view, asked("bytes"), "place").items.map((one): Leak => ({
    group: one, fate: null, bytes: one.weight, blocks: sum(one.sites), meanNs: 0, firstNs: NaN,
  }));
  return { kept: kept.sort(byBytes), atEnd: [] };
}

// Numbers of a group that rows are made of.
const READ = [
  "nAlloc", "nFree", "bAlloc", "bFree", "beforeBlocks", "beforeBytes", "ageNs", "lifeNs", "nResize",
] as const;

const byBytes = (a: Leak, b: Leak) => b.bytes - a.bytes;

const known = new Few<View, Leaks>(1);

export function leaks(view: View): Leaks {
  return atOnce(leaksInPieces(view));
}

// Of what is asked again of the same view, the same rows.
export function* leaksInPieces(view: View): Pieces<Leaks> {
  return known.get(view, "") ?? known.keep(view, "",
    isNarrow(view.look) ? narrowLeaks(view) : yield* makeLeaks(view));
}

function* makeLeaks(view: View): Pieces<Leaks> {
  const GROUPS = 1 << 12;
  const { model } = view;
  const question = { measure: "total", unit: "bytes", from: null, to: null } as const;
  yield* prepareWeights(model, question);
  const places = yield* groupInPieces(view, question, "place");
  yield* places.prepare!(READ);
  yield* fatesInPieces(model, places);
  const isKept = (one: Leak) => one.blocks > 0 || one.bytes > 0;
  const isHeldToEnd = (one: Group) => one.fate === "at the end" && one.nAlloc > one.nResize;
  const kept: Leak[] = [];
  const atEnd: Leak[] = [];
  yield* stretches(places.items.length, (from, past) => {
    for (const one of places.items.slice(from, past)) {
      const leak = keptLeak(model, one);
      if (isKept(leak))
        kept.push(leak);
      if (isHeldToEnd(one))
        atEnd.push(endLeak(model, one));
    }
  }, GROUPS);
  yield;
  return { kept: yield* sorted(kept, byBytes), atEnd: yield* sorted(atEnd, byBytes) };
}
