// SPDX-License-Identifier: Apache-2.0
//
// The stacks of a view as one tree: from the outermost function down to the allocation or,
// inverted, from the allocating function out to its callers. Stacks that begin alike share nodes.
// The meaning is that of src/view/tree.h:
//
//  1. total = self + the totals of the children, for every node; the root's total is the sum of the
//     weights of all stacks in the view.
//  2. A stack counts once in a node, however often its function recurs: neighbouring repetitions,
//     of one function or of a short cycle of them, become one node that says how many they were.
//  3. Nodes come level by level, and within a level in the order of their parents: so a node's
//     index is above its parent's, children are neighbours, and a row of a graph is one range.
//
// Sites without weight are left out.

import type { View } from "./look.ts";

export interface TreeOptions {
  inverted: boolean;
  byLine: boolean; // each line of a function is a node of its own
  order: "name" | "weight"; // of siblings; by weight the weightiest first
}

export interface Tree {
  count: number; // node 0 is the root
  levels: Uint32Array; // where each depth begins, and past the last one `count`
  parent: Uint32Array; // of the root: 0
  frame: Uint32Array; // of the model (see side); NONE: the root
  name: Uint32Array; // equal for what is one name, also in another tree of the same model and lines
  line: Uint32Array; // 0: unknown, or several
  firstChild: Uint32Array;
  nChildren: Uint32Array;
  depth: Uint32Array;
  stacks: Uint32Array; // through it
  deep: Uint32Array; // frames of one stack that it stands for, at most: more than 1 is recursion
  total: Float64Array; // of all stacks through it
  self: Float64Array; // of the stacks that end at it
  width: Float64Array; // what its box is as wide as: never negative, no less than its children's
  before?: Float64Array; // of a diff: the total on the side before; total is that after
  beforeSelf?: Float64Array;
  side?: Uint8Array; // of a diff: 1 where the frame is of the model before, and not after
}

export function buildTree(_view: View, _weights: Float64Array, _options: TreeOptions): Tree {
  throw new Error("not built yet");
}

// Both sides in one tree. A width is the sum of what changed at the ends of stacks below, growth
// and shrinking alike. Order by weight is by falling width. With one model and look, pass one view.
export function buildDiffTree(
  _before: View, _beforeWeights: Float64Array, _after: View, _afterWeights: Float64Array,
  _options: TreeOptions,
): Tree {
  throw new Error("not built yet");
}

// The names from below the root to a node, and the node they lead to (-1: there is none).
export function pathOf(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let n = node; n; n = tree.parent[n])
    path.push(tree.name[n]);
  return path.reverse();
}

export function findPath(tree: Tree, path: readonly number[]): number {
  let node = 0;
  for (const name of path) {
    const first = tree.firstChild[node];
    const past = first + tree.nChildren[node];
    node = first;
    while (node < past && tree.name[node] !== name)
      node++;
    if (node === past)
      return -1;
  }
  return node;
}
