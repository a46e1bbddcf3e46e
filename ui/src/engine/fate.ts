// SPDX-License-Identifier: Apache-2.0
//
// What became of the blocks of a group, by the definitions of src/view/fate.h.

import type { Groups } from "./groups.ts";
import type { Model } from "./model.ts";

export type Fate = "growing" | "held" | "throughout" | "at the end";

// Fills in the fate of every group. Groups that share stacks with others have none, nor has any
// when the capture holds too few moments.
export function tellFates(_model: Model, _groups: Groups): void {
  throw new Error("not built yet");
}
