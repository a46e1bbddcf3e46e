// SPDX-License-Identifier: Apache-2.0
//
// What changed between two views: of two captures, or of two moments of one. Stacks are gathered by
// the place they are blamed on, and places are matched by what outlives a rebuild; as
// src/view/diff.h and diff_match.h have it.

import type { View } from "./look.ts";
import type { Question } from "./question.ts";

export type Change = "added" | "gone" | "grown" | "shrunk" | "same";

export const CHANGES: readonly Change[] = ["added", "gone", "grown", "shrunk", "same"];

export interface Amount {
  bytes: number;
  blocks: number;
  stacks: number;
}

export interface DiffPlace {
  kind: "place" | "module" | "lost" | "nowhere";
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

// Both sides ask for the same measure and unit.
export function diffPlaces(_before: Side, _after: Side): Diff {
  throw new Error("not built yet");
}
