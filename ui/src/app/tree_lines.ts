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
  of: number; // siblings, itself included
  depth: number; // from 1
}

interface Step {
  node: number;
  key: string;
  index: number;
  of: number;
  depth: number;
  isOnWay: boolean;
}

// Opened and closed by the reader; all else is as it was at first.
export type Turned = Map<string, boolean>;

// Open at first: nodes that more than half of their parent's weight goes through.
function isFirst(tree: Tree, { node, depth }: Step): boolean {
  if (depth > FIRST_DEPTH) return false;
  return Math.abs(tree.total(node)) * 2 >= Math.abs(tree.total(tree.parent[node]));
}

function isOpenOf(tree: Tree, step: Step, turned: Turned): boolean {
  if (!tree.hasChildren(step.node)) return false;
  return turned.get(step.key) ?? (step.isOnWay && isFirst(tree, step));
}

// Children are sorted where they are shown, the weightiest first.
export function treeLines(tree: Tree, turned: Turned): TreeLine[] {
  const lines: TreeLine[] = [];
  const todo: Step[] = [];
  const push = (parent: number, key: string, depth: number, isOnWay: boolean) => {
    const children = tree.childrenByWeight(parent);
    for (let i = children.length - 1; i >= 0; i--) {
      const node = children[i];
      const ownKey = `${key}/${tree.name[node]}`;
      todo.push({ node, key: ownKey, index: i + 1, of: children.length, depth, isOnWay });
    }
  };
  push(0, "", 1, true);
  for (let step = todo.pop(); step; step = todo.pop()) {
    const { node, key, index, of, depth, isOnWay } = step;
    const isOpen = isOpenOf(tree, step, turned);
    lines.push({ node, key, isOpen, index, of, depth });
    if (isOpen) push(node, key, depth + 1, isOnWay && isFirst(tree, step));
  }
  return lines;
}
