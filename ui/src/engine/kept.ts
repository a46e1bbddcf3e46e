// SPDX-License-Identifier: Apache-2.0
//
// What was allocated in a part of a run and never freed, as src/profile/profile.h has it: what
// sites held at its end and never freed, which is all but the late frees, less the same at its
// beginning.

import { columnAt } from "./keyframes.ts";
import { SnapshotKind, type Model } from "./model.ts";

// from and to are snapshots; null or below 0: the start, when nothing was there.
type Moment = number | null;

function isPeak(model: Model, at: Moment): boolean {
  return at !== null && at >= 0 && model.snapshots.kind[at] === SnapshotKind.peak;
}

// Nobody looked at the peak.
export function isKeptKnown(model: Model, from: Moment, to: Moment): boolean {
  return model.facts.has.late_frees === true && !isPeak(model, from) && !isPeak(model, to);
}

function addKeptAt(
  model: Model, unit: "bytes" | "blocks", at: Moment, sign: number, sums: Float64Array,
): void {
  if (at === null || at < 0)
    return;
  const live = columnAt(model, unit, at);
  for (let i = 0; i < sums.length; i++)
    sums[i] += sign * live[i];
  const { count, site, born, freed } = model.lateFrees;
  for (let i = 0; i < count; i++)
    if (born[i] <= at && freed[i] > at)
      sums[site[i]] -= sign * model.lateFrees[unit][i];
}

export function keptColumn(
  model: Model, unit: "bytes" | "blocks", from: Moment, to: Moment,
): Float64Array {
  const sums = new Float64Array(model.sites.count);
  addKeptAt(model, unit, to, 1, sums);
  addKeptAt(model, unit, from, -1, sums);
  return sums;
}
