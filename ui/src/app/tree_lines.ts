// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a tree are lines of the tree pane: those whose ancestors are all open. At first
// that is the way along which most of the weight goes; under a search, the ways to what it found,
// and nothing beside them.

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

function isOpenOf(tree: Tree, step: Step, turned: Turned, ways: Uint8Array | null): boolean {
  if (!tree.hasChildren(step.node)) return false;
  const isFound = ways ? ways[step.node] === LEADS : step.isOnWay && isFirst(tree, step);
  return turned.get(step.key) ?? isFound;
}

const LEADS = 2; // to a match further below
const INSIDE = 1; // is a match, or below one

// Of a search, which nodes are to be seen, and which of them lead on.
function waysTo(tree: Tree, matches: Uint8Array): Uint8Array {
  const ways = new Uint8Array(tree.count);
  for (let node = 1; node < tree.count; node++)
    if (matches[node] || ways[tree.parent[node]]) ways[node] = INSIDE;
  for (let node = tree.count - 1; node > 0; node--)
    if (matches[node] || ways[node] === LEADS) ways[tree.parent[node]] = LEADS;
  return ways;
}

// Children are sorted where they are shown, the weightiest first.
export function treeLines(
  tree: Tree,
  turned: Turned,
  matches: Uint8Array | null = null,
): TreeLine[] {
  const lines: TreeLine[] = [];
  const todo: Step[] = [];
  const ways = matches && waysTo(tree, matches);
  const push = (parent: number, key: string, depth: number, isOnWay: boolean) => {
    const children = tree.childrenByWeight(parent).filter((node) => !ways || ways[node]);
    for (let i = children.length - 1; i >= 0; i--) {
      const node = children[i];
      const ownKey = `${key}/${tree.name[node]}`;
      todo.push({ node, key: ownKey, index: i + 1, of: children.length, depth, isOnWay });
    }
  };
  push(0, "", 1, true);
  for (let step = todo.pop(); step; step = todo.pop()) {
    const { node, key, index, of, depth, isOnWay } = step;
    const isOpen = isOpenOf(tree, step, turned, ways);
    lines.push({ node, key, isOpen, index, of, depth });
    if (isOpen) push(node, key, depth + 1, isOnWay && isFirst(tree, step));
  }
  return lines;
}
