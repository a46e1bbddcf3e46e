// SPDX-License-Identifier: Apache-2.0
//
// What is left of a view by what its graph is zoomed to: the same part whoever asks, as long as the
// tree is there.

import { partOf, type View } from "../engine/look.ts";
import { Few } from "../engine/pieces.ts";
import type { Tree } from "../engine/tree.ts";
import { TreeNames } from "../flame/names.ts";
import { nodeOf } from "../flame/walk.ts";

const below = new Few<Tree, Uint8Array>(2);

// Per site, whether it is below a node.
export function sitesBelow(tree: Tree, node: number, n: number): Uint8Array {
  const { first, past, slots } = tree.skeleton;
  const known = below.get(tree, `${node} ${n}`);
  if (known) return known;
  const is = new Uint8Array(n);
  for (let slot = first[node]; slot < past[node]; slot++) is[slots.stack[slot]] = 1;
  return below.keep(tree, `${node} ${n}`, is);
}

// All of it where the way leads nowhere.
export function zoomedPart(view: View, tree: Tree, zoom: string[]): View {
  const node = nodeOf(new TreeNames(tree, [view.model], ""), zoom);
  return node ? partOf(view, sitesBelow(tree, node, view.model.sites.count)) : view;
}
