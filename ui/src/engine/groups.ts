// SPDX-License-Identifier: Apache-2.0
//
// Sites gathered into rows: by the line of code they are blamed on (a place), by a larger part of
// the program, by thread, or by class of size or lifetime; as src/view/groups.h has it.

import type { View } from "./look.ts";
import type { Model } from "./model.ts";
import type { Question } from "./question.ts";
import type { Fate } from "./fate.ts";

export type GroupKind =
  | "place" | "function" | "file" | "crate" | "module" | "thread" | "size" | "lifetime" | "stack";

export const GROUP_KINDS: readonly GroupKind[] = [
  "place", "function", "file", "crate", "module", "thread", "size", "lifetime", "stack",
];

// What a group's numbers are called; sums over its sites but for the times.
export interface GroupNumbers {
  nAlloc: number; bAlloc: number; nFree: number; bFree: number;
  nTemp: number; bTemp: number; nForeign: number;
  nResize: number; bResizeOld: number; nMoved: number; bMoved: number;
  liveBlocks: number; liveBytes: number; peakBlocks: number; peakBytes: number;
  lifeNs: number; ageNs: number;
  firstNs: number; lastNs: number; // of allocations; both 0 when there were none
}

export interface Group extends GroupNumbers {
  kind: GroupKind;
  frame: number; // stands for all of it; NONE for lost events and for what is no part of the code
  crate: string | null; // of kind crate; null: none, and the group is its module
  number: number; // thread, class of size or lifetime, site: as the kind is
  weight: number; // under the question
  stacks: number;
  sites: Uint32Array; // rising; empty for threads and classes, which share them
  fate: Fate | null; // null: none, or not told yet (see fate.ts)
}

export interface Groups {
  kind: GroupKind;
  items: Group[]; // by falling weight; classes of size and lifetime by rising number
  stacks: number; // with any weight
  rest: Group; // sums of stacks without a frame to show; no sites when there are none
  isNet: boolean; // threads: some freed what others allocated, so some may be below zero
}

// Why a kind of group cannot answer a question; null: it can.
export function groupRefusal(_model: Model, _question: Question, _kind: GroupKind): string | null {
  throw new Error("not built yet");
}

export function group(_view: View, _question: Question, _kind: GroupKind): Groups {
  throw new Error("not built yet");
}

// What a group is called: "parse", "src/a.c:12", "worker", "17 to 32 B", "freed within 2.05 µs".
export function groupText(_model: Model, _group: Group): string {
  throw new Error("not built yet");
}
