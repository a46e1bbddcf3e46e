// SPDX-License-Identifier: Apache-2.0
//
// What became of the blocks of a group, from its numbers and from what it held over time; the
// definitions of src/view/groups.h:
//
//   growing     never freed, and more of them came: the part never freed rose at two or more of the
//               moments looked at, and by a tenth of it in the second half of the run
//   throughout  never freed, and all were allocated within the first tenth of the run
//   held        never freed, but neither of these
//   at the end  all freed, but none before the last tenth of the run, and none allocated in it

import { eachCurve, runNs, type Curve } from "./curves.ts";
import type { Group, Groups } from "./groups.ts";
import { SnapshotKind, type Model } from "./model.ts";
import { atOnce, type Pieces } from "./pieces.ts";

export type Fate = "growing" | "held" | "throughout" | "at the end";

const MOMENTS_LEAST = 4;

function isGrowing(model: Model, kept: Float64Array): boolean {
  const half = Math.floor(runNs(model) / 2);
  let rises = 0;
  let last = 0;
  let atHalf = 0;
  for (let i = 0; i < kept.length; i++) {
    rises += kept[i] > last ? 1 : 0;
    last = kept[i];
    if (model.snapshots.ns[i] <= half)
      atHalf = last;
  }
  return rises >= 2 && last - atHalf > 0 && last - atHalf >= Math.floor(last / 10);
}

function isHeldThroughout(model: Model, group: Group): boolean {
  const noneFreed = group.liveBlocks === group.beforeBlocks + group.nAlloc - group.nResize;
  return noneFreed && group.lastNs <= Math.floor(runNs(model) / 10);
}

function isFreedAtEnd(model: Model, group: Group, live: Float64Array): boolean {
  const { count, ns, kind } = model.snapshots;
  const late = Math.floor(runNs(model) / 10) * 9;
  if (group.liveBlocks || !group.nAlloc)
    return false;
  for (let i = 0; i < count; i++)
    if (kind[i] === SnapshotKind.timed && ns[i] >= late)
      return group.lastNs <= ns[i] &&
        live[i] === group.beforeBlocks + group.nAlloc - group.nResize;
  return false;
}

function fateOf(model: Model, group: Group, { live, kept }: Curve, hasTimes: boolean): Fate | null {
  if (group.liveBlocks > 0) {
    if (hasTimes && isHeldThroughout(model, group))
      return "throughout";
    return isGrowing(model, kept) ? "growing" : "held";
  }
  return hasTimes && isFreedAtEnd(model, group, live) ? "at the end" : null;
}

// Fills in the fate of every group. Groups that share stacks with others have none, nor has any
// when the capture holds too few moments.
export function tellFates(model: Model, groups: Groups): void {
  atOnce(fatesInPieces(model, groups));
}

export function* fatesInPieces(model: Model, groups: Groups): Pieces<void> {
  const { lacks } = model.facts.image;
  const isCode = !["thread", "size", "lifetime"].includes(groups.kind);
  if (!isCode || model.snapshots.count < MOMENTS_LEAST || !runNs(model) ||
      lacks.includes("blocks") || lacks.includes("live"))
    return;
  const hasTimes = !["times", "clock", "resizes"].some((what) => lacks.includes(what));
  const { items } = groups;
  yield* eachCurve(model, yield* groups.itemOf(), items.length, "blocks", (item, course) =>
    (items[item].fate = fateOf(model, items[item], course, hasTimes)));
}
