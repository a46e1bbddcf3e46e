// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a tree are lines of the tree pane: those whose ancestors are all open. At first
// that is the way along which most of the weight goes.

import type { Tree } from "../engine/tree.ts";

const FIRST_DEPTH = 16;

export interface TreeLine {
  node: number;
  key: string; // names from the root: stays the same while numbers change
  isOpen: boolean;
  index: number; // among its siblings, from 1
}

// Opened and closed by the reader; all else is as it was at first.
export type Turned = Map<string, boolean>;

// Open at first: nodes that more than half of their parent's weight goes through.
function isFirst(tree: Tree, node: number): boolean {
  if (tree.depth[node] > FIRST_DEPTH) return false;
  const parent = tree.parent[node];
  return node === 0 || Math.abs(tree.total[node]) * 2 >= Math.abs(tree.total[parent]);
}

function isOpenOf(
  tree: Tree,
  node: number,
  key: string,
  turned: Turned,
  isOnWay: boolean,
): boolean {
  if (!tree.nChildren[node]) return false;
  return turned.get(key) ?? (isOnWay && isFirst(tree, node));
}

export function treeLines(tree: Tree, turned: Turned): TreeLine[] {
  const lines: TreeLine[] = [];
  interface Step {
    node: number;
    key: string;
    index: number;
    isOnWay: boolean;
  }
  const todo: Step[] = [];
  const push = (parent: number, key: string, isOnWay: boolean) => {
    const first = tree.firstChild[parent];
    for (let i = tree.nChildren[parent] - 1; i >= 0; i--)
      todo.push({ node: first + i, key: `${key}/${tree.name[first + i]}`, index: i + 1, isOnWay });
  };
  push(0, "", true);
  for (let step = todo.pop(); step; step = todo.pop()) {
    const { node, key, index, isOnWay } = step;
    const isOpen = isOpenOf(tree, node, key, turned, isOnWay);
    lines.push({ node, key, isOpen, index });
    if (isOpen) push(node, key, isOnWay && isFirst(tree, node));
  }
  return lines;
}
