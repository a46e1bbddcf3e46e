// SPDX-License-Identifier: Apache-2.0
//
// A tree that all goes through one function, with that function as its root.

import type { Skeleton } from "../engine/skeleton.ts";
import { Tree } from "../engine/tree.ts";

interface Below {
  skeleton: Skeleton;
  kept: Uint32Array; // per node of it, the one it was
}

const madeOf = new WeakMap<Skeleton, Map<number, Below>>();

// What hangs at a node, in the same order. The stacks keep their places.
function below(all: Skeleton, root: number): Below {
  const place = new Uint32Array(all.count); // from 1; 0: not below
  place[root] = 1;
  let n = 1;
  for (let node = root + 1; node < all.count; node++)
    if (place[all.parent[node]]) place[node] = ++n;
  const kept = new Uint32Array(n);
  for (let node = root; node < all.count; node++) if (place[node]) kept[place[node] - 1] = node;
  const of = (column: ArrayLike<number>) => kept.map((node) => column[node]);
  const parent = of(all.parent).map((node) => Math.max(1, place[node]) - 1);
  const firstChild = new Uint32Array(n + 1).fill(n);
  const levels = [0];
  for (let node = n - 1; node > 0; node--) firstChild[parent[node]] = node;
  for (let node = n - 1; node >= 0; node--)
    firstChild[node] = Math.min(firstChild[node], firstChild[node + 1]);
  for (let node = 1; node < n; node++)
    if (parent[node] >= levels[levels.length - 1]) levels.push(node);
  levels.push(n);
  const { count, stack, node } = all.slots;
  const skeleton: Skeleton = {
    count: n,
    levels: Uint32Array.from(levels),
    parent,
    name: of(all.name),
    firstChild,
    first: of(all.first),
    past: of(all.past),
    step: of(all.step),
    more: all.more,
    slots: { count, stack, node: node.map((at) => Math.max(1, place[at]) - 1) },
  };
  return { skeleton, kept };
}

function keptBelow(all: Skeleton, root: number): Below {
  const made = madeOf.get(all) ?? new Map<number, Below>();
  madeOf.set(all, made);
  const known = made.get(root) ?? below(all, root);
  made.set(root, known);
  return known;
}

// The tree as it is where that is not so.
export function rerooted(tree: Tree): Tree {
  const children = tree.children(0);
  if (children.length !== 1 || tree.self(0) !== 0) return tree;
  const { skeleton, kept } = keptBelow(tree.skeleton, children[0]);
  return new Tree(skeleton, tree.sums, {
    frame: (node) => tree.frame(kept[node]),
    line: (node) => tree.line(kept[node]),
    deep: (node) => tree.deep(kept[node]),
    side: (node) => tree.side(kept[node]),
  });
}
