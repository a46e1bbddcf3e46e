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

import { joinNames } from "./match.ts";
import type { View } from "./look.ts";
import { frameNames, NONE } from "./names.ts";
import { makeSkeleton, type Skeleton } from "./skeleton.ts";
import { trieOf, type Trie } from "./trie.ts";

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

interface Part { // one side of a tree
  view: View;
  trie: Trie;
  weights: Float64Array;
}

// What a tree has per node of its skeleton, before what has no weight is left out.
interface Sums {
  stacks: Uint32Array;
  frame: Uint32Array;
  side: Uint8Array;
  line: Uint32Array;
  deep: Uint32Array;
  self: Float64Array[]; // per part
  width: Float64Array;
}

function addStacks(part: Part, nodeOf: Uint32Array, sums: Sums, self: Float64Array): Uint32Array {
  const { trie, weights } = part;
  const stacks = new Uint32Array(trie.count);
  for (let site = 0; site < weights.length; site++) {
    const leaf = trie.leaf[site];
    if (leaf === NONE || weights[site] === 0)
      continue;
    stacks[leaf]++;
    sums.stacks[nodeOf[leaf]]++;
    self[nodeOf[leaf]] += weights[site];
  }
  for (let i = trie.count - 1; i > 0; i--)
    stacks[trie.parent[i]] += stacks[i];
  return stacks;
}

// What steps with any stack say of their node: the first one's frame stands for all.
function tellNodes(part: Part, nodeOf: Uint32Array, stacks: Uint32Array, side: number, sums: Sums) {
  const { trie } = part;
  const lines = part.view.model.frames.line;
  for (let i = 1; i < trie.count; i++) {
    if (!stacks[i])
      continue;
    const node = nodeOf[i];
    const line = trie.oneLine[i] ? lines[trie.frame[i]] : 0;
    if (sums.frame[node] === NONE) {
      sums.frame[node] = trie.frame[i];
      sums.side[node] = side;
      sums.line[node] = line;
    } else if (sums.side[node] === side && sums.line[node] !== line) {
      sums.line[node] = 0;
    }
    if (sums.deep[node] < trie.deep[i])
      sums.deep[node] = trie.deep[i];
  }
}

// Widths of what ends at each node: without signs, since numbers of a damaged capture may be
// negative. null: none is, and the width is the total.
function ownWidths(parts: Part[], skeleton: Skeleton, self: Float64Array[]): Float64Array | null {
  const [after, before] = self;
  const widths = new Float64Array(skeleton.count);
  if (before) {
    for (let i = 0; i < widths.length; i++)
      widths[i] = Math.abs(after[i] - before[i]);
    return widths;
  }
  const { trie, weights } = parts[0];
  let anyNegative = false;
  for (let i = 0; i < weights.length && !anyNegative; i++)
    anyNegative = weights[i] < 0 && trie.leaf[i] !== NONE;
  if (!anyNegative)
    return null;
  for (let i = 0; i < weights.length; i++)
    if (trie.leaf[i] !== NONE)
      widths[skeleton.nodeOf[0][trie.leaf[i]]] += Math.abs(weights[i]);
  return widths;
}

function addUp(parent: Uint32Array, values: Uint32Array | Float64Array): void {
  for (let i = parent.length - 1; i > 0; i--)
    values[parent[i]] += values[i];
}

function weighNodes(parts: Part[], skeleton: Skeleton): Sums {
  const n = skeleton.count;
  const self = parts.map(() => new Float64Array(n));
  const sums: Sums = {
    stacks: new Uint32Array(n), frame: new Uint32Array(n).fill(NONE), side: new Uint8Array(n),
    line: new Uint32Array(n), deep: new Uint32Array(n), self, width: self[0],
  };
  parts.forEach((part, i) => {
    const stacks = addStacks(part, skeleton.nodeOf[i], sums, self[i]);
    tellNodes(part, skeleton.nodeOf[i], stacks, i, sums);
  });
  addUp(skeleton.parent, sums.stacks);
  return sums;
}

function gather<T extends Uint32Array | Uint8Array | Float64Array>(from: T, kept: Uint32Array): T {
  const to = new (from.constructor as new (n: number) => T)(kept.length);
  for (let i = 0; i < kept.length; i++)
    to[i] = from[kept[i]];
  return to;
}

// The skeleton's nodes that any stack goes through, and the root.
function nodesWithStacks(stacks: Uint32Array): Uint32Array {
  const kept = new Uint32Array(stacks.length);
  let n = 1;
  for (let i = 1; i < stacks.length; i++)
    if (stacks[i])
      kept[n++] = i;
  return kept.slice(0, n);
}

// Parents' new places, from which depth and children follow.
function linkUp(tree: Tree, skeleton: Skeleton, kept: Uint32Array): void {
  const place = new Uint32Array(skeleton.count);
  for (let i = 0; i < kept.length; i++)
    place[kept[i]] = i;
  for (let i = 1; i < kept.length; i++)
    tree.parent[i] = place[skeleton.parent[kept[i]]];
  countChildren(tree);
}

function countChildren(tree: Tree): void {
  const levels = [0];
  tree.firstChild.fill(0);
  tree.nChildren.fill(0);
  for (let i = 1; i < tree.count; i++) {
    const parent = tree.parent[i];
    tree.depth[i] = tree.depth[parent] + 1;
    if (tree.depth[i] === levels.length)
      levels.push(i);
    if (tree.nChildren[parent]++ === 0)
      tree.firstChild[parent] = i;
  }
  levels.push(tree.count);
  tree.levels = Uint32Array.from(levels);
}

function makeTree(parts: Part[], skeleton: Skeleton): Tree {
  const sums = weighNodes(parts, skeleton);
  const widths = ownWidths(parts, skeleton, sums.self);
  const kept = nodesWithStacks(sums.stacks);
  const n = kept.length;
  const self = sums.self.map((values) => gather(values, kept));
  const tree: Tree = {
    count: n, levels: new Uint32Array(0), parent: new Uint32Array(n),
    frame: gather(sums.frame, kept), name: gather(skeleton.name, kept),
    line: gather(sums.line, kept), firstChild: new Uint32Array(n), nChildren: new Uint32Array(n),
    depth: new Uint32Array(n), stacks: gather(sums.stacks, kept), deep: gather(sums.deep, kept),
    total: self[0].slice(), self: self[0], width: self[0],
  };
  linkUp(tree, skeleton, kept);
  addUp(tree.parent, tree.total);
  tree.width = widths ? gather(widths, kept) : tree.total;
  if (widths)
    addUp(tree.parent, tree.width);
  if (parts.length > 1) {
    tree.beforeSelf = self[1];
    tree.before = self[1].slice();
    tree.side = gather(sums.side, kept);
    addUp(tree.parent, tree.before);
  }
  return tree;
}

// Children of each node by falling width, then total; equals stay in the order of their names.
function weightOrder(tree: Tree): Uint32Array {
  const { width, total, firstChild, nChildren } = tree;
  const queue = new Uint32Array(tree.count);
  const compare = (a: number, b: number) => width[b] - width[a] || total[b] - total[a] || a - b;
  for (let at = 0, end = 1; at < end; at++) {
    const node = queue[at];
    const n = nChildren[node];
    for (let k = 0; k < n; k++)
      queue[end + k] = firstChild[node] + k;
    if (n > 1)
      queue.subarray(end, end + n).sort(compare);
    end += n;
  }
  return queue;
}

function sortByWeight(tree: Tree): Tree {
  const order = weightOrder(tree);
  const place = new Uint32Array(tree.count);
  for (let i = 0; i < order.length; i++)
    place[order[i]] = i;
  const sorted: Tree = {
    ...tree,
    parent: gather(tree.parent, order).map((parent) => place[parent]),
    frame: gather(tree.frame, order), name: gather(tree.name, order),
    line: gather(tree.line, order), stacks: gather(tree.stacks, order),
    deep: gather(tree.deep, order), total: gather(tree.total, order),
    self: gather(tree.self, order), width: gather(tree.width, order),
  };
  if (tree.before && tree.beforeSelf && tree.side) {
    sorted.before = gather(tree.before, order);
    sorted.beforeSelf = gather(tree.beforeSelf, order);
    sorted.side = gather(tree.side, order);
  }
  countChildren(sorted);
  return sorted;
}

const skeletons = new WeakMap<Trie, WeakMap<Trie, Skeleton>>();

function skeletonOf(a: Trie, b: Trie, make: () => Skeleton): Skeleton {
  const ofTrie = skeletons.get(a) ?? new WeakMap<Trie, Skeleton>();
  skeletons.set(a, ofTrie);
  const skeleton = ofTrie.get(b) ?? make();
  ofTrie.set(b, skeleton);
  return skeleton;
}

function ownSkeleton(view: View, trie: Trie, byLine: boolean): Skeleton {
  return skeletonOf(trie, trie, () => {
    const names = frameNames(view.model, byLine);
    return makeSkeleton([trie], [names.of], names.count);
  });
}

export function buildTree(view: View, weights: Float64Array, options: TreeOptions): Tree {
  const trie = trieOf(view, options.inverted, options.byLine);
  const tree = makeTree([{ view, trie, weights }], ownSkeleton(view, trie, options.byLine));
  return options.order === "weight" ? sortByWeight(tree) : tree;
}

// Both sides in one tree. A width is the sum of what changed at the ends of stacks below, growth
// and shrinking alike. Order by weight is by falling width. With one model and look, pass one view.
export function buildDiffTree(
  before: View, beforeWeights: Float64Array, after: View, afterWeights: Float64Array,
  options: TreeOptions,
): Tree {
  const a = trieOf(after, options.inverted, options.byLine);
  const b = trieOf(before, options.inverted, options.byLine);
  const parts = [
    { view: after, trie: a, weights: afterWeights },
    { view: before, trie: b, weights: beforeWeights },
  ];
  const skeleton = a === b ? twice(ownSkeleton(after, a, options.byLine))
    : skeletonOf(a, b, () => {
      const names = joinNames(after.model, before.model, options.byLine);
      return makeSkeleton([a, b], [names.after, names.before], names.count);
    });
  const tree = makeTree(parts, skeleton);
  return options.order === "weight" ? sortByWeight(tree) : tree;
}

function twice(skeleton: Skeleton): Skeleton {
  return { ...skeleton, nodeOf: [skeleton.nodeOf[0], skeleton.nodeOf[0]] };
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
