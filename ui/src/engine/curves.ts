// SPDX-License-Identifier: Apache-2.0
//
// Live bytes or blocks of sites over time, one value per snapshot, and how much of that was never
// given back; as src/profile/timeline.h has it. And the moments of the timeline worth a stop.

import type { Model } from "./model.ts";
import type { Unit } from "./question.ts";

export interface Curve {
  live: Float64Array;
  kept: Float64Array; // the part never freed, at most: never falls, never exceeds live
}

export function curve(_model: Model, _sites: ArrayLike<number>, _unit: Unit): Curve {
  throw new Error("not built yet");
}

// A curve reduced to `width` columns that share the time from start to end: the largest value
// within each, so that no peak is lost. Where nobody looked it holds what was known last.
export function columns(_model: Model, _values: Float64Array, _width: number): Float64Array {
  throw new Error("not built yet");
}

// Snapshots at which more was live than just before and after, by enough to be seen; by time.
export function localPeaks(_model: Model): number[] {
  throw new Error("not built yet");
}
