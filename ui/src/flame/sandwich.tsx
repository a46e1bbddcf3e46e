// SPDX-License-Identifier: Apache-2.0
//
// A function between its callers, above, and what it calls, below. The callers are an inverted tree
// with its root below, so that both grow away from the function in the middle.

import type { Tree } from "../engine/tree.ts";
import { Flame, type FlameProps } from "./flame.tsx";

type Shared = Omit<
  FlameProps,
  "tree" | "views" | "flipped" | "matches" | "zoom" | "onZoom" | "span" | "onSpan" | "rootLabel"
>;

export interface SandwichHalf {
  tree: Tree; // rooted at the function
  views: FlameProps["views"];
  matches: Uint8Array | null;
  zoom: readonly string[];
  onZoom: (path: string[]) => void;
  span: FlameProps["span"];
  onSpan: FlameProps["onSpan"];
}

export interface SandwichProps extends Shared {
  name: string; // of the function, as a label
  callers: SandwichHalf;
  callees: SandwichHalf;
}

export function Sandwich({ name, callers, callees, label, ...shared }: SandwichProps) {
  const both = { ...shared, rootLabel: name };
  return (
    <div class="flame-sandwich">
      <Flame {...both} {...callers} flipped label={`Callers: ${label}`} />
      <Flame {...both} {...callees} flipped={false} label={`Callees: ${label}`} />
    </div>
  );
}
