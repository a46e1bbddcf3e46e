// SPDX-License-Identifier: Apache-2.0
//
// Walking a tree by keyboard, and naming a node so that it is found again in another tree: by the
// names on the way from the root, since indexes change with every question.

import type { Tree } from "../engine/tree.ts";
import type { TreeNames } from "./names.ts";

// The child most of the node goes to; the node itself if it has none.
export function widestChild(tree: Tree, node: number): number {
  const first = tree.firstChild[node];
  let widest = node;
  for (let child = first; child < first + tree.nChildren[node]; child++)
    if (tree.width[child] > 0 && (widest === node || tree.width[child] > tree.width[widest]))
      widest = child;
  return widest;
}

// The next sibling to the right (step 1) or left (-1) that has a box; the node itself if none.
export function sibling(tree: Tree, node: number, step: 1 | -1): number {
  if (node === 0) return node;
  const parent = tree.parent[node];
  const first = tree.firstChild[parent];
  const past = first + tree.nChildren[parent];
  for (let at = node + step; at >= first && at < past; at += step)
    if (tree.width[at] > 0) return at;
  return node;
}

// From the root's child down to the node.
export function lineageOf(tree: Tree, node: number): number[] {
  const line: number[] = [];
  for (let at = node; at !== 0; at = tree.parent[at]) line.push(at);
  return line.reverse();
}

export function pathOf(names: TreeNames, node: number): string[] {
  return lineageOf(names.tree, node).map((at) => names.textOf(at));
}

// The node such a path leads to, or as far as it leads; the root if nowhere.
export function nodeOf(names: TreeNames, path: readonly string[]): number {
  const { tree } = names;
  let node = 0;
  for (const step of path) {
    const first = tree.firstChild[node];
    const past = first + tree.nChildren[node];
    let child = first;
    while (child < past && !(tree.width[child] > 0 && names.textOf(child) === step)) child++;
    if (child === past) break;
    node = child;
  }
  return node;
}

// The stack as text, one frame a line, from the root of the tree on.
export function stackText(names: TreeNames, node: number): string {
  const lines = lineageOf(names.tree, node).map((at) => {
    const file = names.fileOf(at);
    const line = names.lineOf(at);
    const place = file ? ` (${file}${line ? `:${line}` : ""})` : "";
    return oneLine(names.textOf(at) + place);
  });
  return lines.join("\n");
}

// What is pasted may land in a terminal.
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
