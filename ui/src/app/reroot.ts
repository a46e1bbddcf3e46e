// SPDX-License-Identifier: Apache-2.0
//
// A tree that all goes through one function, with that function as its root.

import { atOnce, stretches, type Pieces } from "../engine/pieces.ts";
import type { Skeleton } from "../engine/skeleton.ts";
import { Tree } from "../engine/tree.ts";

interface Below {
  skeleton: Skeleton;
  kept: Uint32Array; // per node of it, the one it was
}

const madeOf = new WeakMap<Skeleton, Map<number, Below>>();

// What hangs at a node, in the same order. The stacks keep their places.
function* below(all: Skeleton, root: number): Pieces<Below> {
  const place = new Uint32Array(all.count); // from 1; 0: not below
  place[root] = 1;
  let n = 1;
  yield* stretches(all.count - root - 1, (from, past) => {
    for (let node = root + 1 + from; node < root + 1 + past; node++)
      if (place[all.parent[node]]) place[node] = ++n;
  });
  const kept = new Uint32Array(n);
  yield* stretches(all.count - root, (from, past) => {
    for (let node = root + from; node < root + past; node++)
      if (place[node]) kept[place[node] - 1] = node;
  });
  const of = function* (column: ArrayLike<number>): Pieces<Uint32Array> {
    const made = new Uint32Array(n);
    yield* stretches(n, (from, past) => {
      for (let i = from; i < past; i++) made[i] = column[kept[i]];
    });
    return made;
  };
  const parent = yield* of(all.parent);
  const firstChild = new Uint32Array(n + 1).fill(n);
  const levels = [0];
  yield* stretches(n, (from, past) => {
    for (let node = from; node < past; node++)
      parent[node] = Math.max(1, place[parent[node]]) - 1;
  });
  yield* stretches(n - 1, (from, past) => {
    for (let node = n - 1 - from; node > n - 1 - past; node--) firstChild[parent[node]] = node;
  });
  yield* stretches(n, (from, past) => {
    for (let node = n - 1 - from; node > n - 1 - past; node--)
      firstChild[node] = Math.min(firstChild[node], firstChild[node + 1]);
  });
  for (let node = 1; node < n; node++)
    if (parent[node] >= levels[levels.length - 1]) levels.push(node);
  levels.push(n);
  yield;
  const { count, stack, node } = all.slots;
  const endsAt = new Uint32Array(count);
  yield* stretches(count, (from, past) => {
    for (let i = from; i < past; i++) endsAt[i] = Math.max(1, place[node[i]]) - 1;
  });
  const skeleton: Skeleton = {
    count: n,
    levels: Uint32Array.from(levels),
    parent,
    name: yield* of(all.name),
    firstChild,
    first: yield* of(all.first),
    past: yield* of(all.past),
    step: yield* of(all.step),
    more: all.more,
    slots: { count, stack, node: endsAt },
  };
  return { skeleton, kept };
}

function* keptBelow(all: Skeleton, root: number): Pieces<Below> {
  const made = madeOf.get(all) ?? new Map<number, Below>();
  madeOf.set(all, made);
  const known = made.get(root) ?? (yield* below(all, root));
  made.set(root, known);
  return known;
}

export function rerooted(tree: Tree): Tree {
  return atOnce(rerootInPieces(tree));
}

// The tree as it is where that is not so.
export function* rerootInPieces(tree: Tree): Pieces<Tree> {
  const children = tree.children(0);
  if (children.length !== 1 || tree.self(0) !== 0) return tree;
  const { skeleton, kept } = yield* keptBelow(tree.skeleton, children[0]);
  return new Tree(skeleton, tree.sums, {
    frame: (node) => tree.frame(kept[node]),
    line: (node) => tree.line(kept[node]),
    deep: (node) => tree.deep(kept[node]),
    side: (node) => tree.side(kept[node]),
  });
}
