// SPDX-License-Identifier: Apache-2.0
//
// A tree that all goes through one function, with that function as its root.

import type { Tree } from "../engine/tree.ts";

// The tree as it is where that is not so. Nodes come level by level: the only one of the first
// level is the first after the root.
export function rerooted(tree: Tree): Tree {
  if (tree.nChildren[0] !== 1 || tree.self[0] !== 0) return tree;
  const less = (column: Uint32Array) => column.slice(1).map((n) => Math.max(0, n - 1));
  return {
    ...tree,
    count: tree.count - 1,
    levels: less(tree.levels),
    parent: less(tree.parent),
    frame: tree.frame.slice(1),
    name: tree.name.slice(1),
    line: tree.line.slice(1),
    firstChild: less(tree.firstChild),
    nChildren: tree.nChildren.slice(1),
    depth: less(tree.depth),
    stacks: tree.stacks.slice(1),
    deep: tree.deep.slice(1),
    total: tree.total.slice(1),
    self: tree.self.slice(1),
    width: tree.width.slice(1),
  };
}
