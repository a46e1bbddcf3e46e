// SPDX-License-Identifier: Apache-2.0
//
// Walking a tree by keyboard, and naming a node so that it is found again in another tree: by the
// names on the way from the root, since indexes change with every question.

import type { Tree } from "../engine/tree.ts";
import type { TreeNames } from "./names.ts";

// The child most of the node goes to; the node itself if it has none.
export function widestChild(tree: Tree, node: number): number {
  let widest = node;
  let most = 0;
  for (let child = tree.firstChild[node]; child < tree.firstChild[node + 1]; child++)
    if (tree.width(child) > most) {
      widest = child;
      most = tree.width(child);
    }
  return widest;
}

// The next sibling to the right (step 1) or left (-1) that has a box; the node itself if none.
export function sibling(tree: Tree, node: number, step: 1 | -1): number {
  if (node === 0) return node;
  const parent = tree.parent[node];
  const first = tree.firstChild[parent];
  const past = tree.firstChild[parent + 1];
  for (let at = node + step; at >= first && at < past; at += step)
    if (tree.width(at) > 0) return at;
  return node;
}

// From the root's child down to the node.
export function lineageOf(tree: Tree, node: number): number[] {
  const line: number[] = [];
  for (let at = node; at !== 0; at = tree.parent[at]) line.push(at);
  return line.reverse();
}

// Steps are names; where siblings have the same one, as lines of one function do, with the place.
export function pathOf(names: TreeNames, node: number): string[] {
  return lineageOf(names.tree, node).map((at) => {
    const text = names.textOf(at);
    const isOnly = childWhere(names, names.tree.parent[at], (other) =>
      other !== at && names.textOf(other) === text) < 0;
    return isOnly ? text : placed(names, at);
  });
}

function placed(names: TreeNames, node: number): string {
  return `${names.textOf(node)} @ ${names.placeOf(node)}`;
}

// The first child with a box of which that holds; -1: there is none.
function childWhere(names: TreeNames, node: number, holds: (child: number) => boolean): number {
  const { tree } = names;
  for (let child = tree.firstChild[node]; child < tree.firstChild[node + 1]; child++)
    if (tree.width(child) > 0 && holds(child)) return child;
  return -1;
}

// The node such a path leads to, or as far as it leads; the root if nowhere.
export function nodeOf(names: TreeNames, path: readonly string[]): number {
  let node = 0;
  for (const step of path) {
    let child = childWhere(names, node, (at) => names.textOf(at) === step);
    if (child < 0 && step.includes(" @ "))
      child = childWhere(names, node, (at) => placed(names, at) === step);
    if (child < 0) break;
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
