// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a tree a pattern matches, and how much goes through any of them: every stack is
// counted once, however many of its frames match.

import type { View } from "./look.ts";
import type { Tree } from "./tree.ts";

export interface Matches {
  nodes: Uint8Array; // per node of the tree: 1 where it matches
  count: number; // nodes that do
  total: number; // of the stacks through any of them
  before?: number; // of a diff
}

// views: that of the tree; of a diff, those after and before. The pattern is looked for in what a
// node says: function (or module and address), file, module; with case only if it has capitals.
export function search(_tree: Tree, _views: readonly View[], _pattern: string): Matches {
  throw new Error("not built yet");
}
