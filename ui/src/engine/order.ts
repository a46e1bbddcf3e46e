// SPDX-License-Identifier: Apache-2.0
//
// A tree with its siblings in another order than that of their names: the widest first. That is the
// order of one question: under the next one boxes may have other neighbours.

import { atOnce, Few, type Pieces } from "./pieces.ts";
import type { Skeleton } from "./skeleton.ts";
import { Tree, type Sums } from "./tree.ts";

export const orders = ["name", "weight"] as const;
export type Order = (typeof orders)[number];

interface Arranged {
  skeleton: Skeleton;
  nodes: Uint32Array; // per node, the one it was
  slots: Uint32Array; // per slot, the one it was
}

// All of them, since nodes without stacks have their place, too.
function widestFirst(tree: Tree, node: number): number[] {
  const children: number[] = [];
  for (let c = tree.firstChild[node]; c < tree.firstChild[node + 1]; c++)
    children.push(c);
  if (children.length < 2)
    return children;
  return children.sort((a, b) =>
    tree.width(b) - tree.width(a) || tree.total(b) - tree.total(a) || a - b);
}

const NODES = 1 << 13; // in a piece

// Level by level: of two nodes, the first one's children and stacks come first.
function* arrange(tree: Tree): Pieces<Arranged> {
  const { skeleton: all } = tree;
  const { count, levels, more } = all;
  const column = (n = count) => new Uint32Array(n);
  const [nodes, parent, first, past] = [column(), column(), column(), column()];
  const firstChild = column(count + 1);
  const slots = column(all.slots.count);
  const endsAt = column(all.slots.count);
  past[0] = all.slots.count;
  for (let node = 0, end = 1; node < count; node++) {
    const was = nodes[node];
    let at = first[node];
    firstChild[node] = end;
    for (const child of widestFirst(tree, was)) {
      nodes[end] = child;
      parent[end] = node;
      first[end] = at;
      at = past[end++] = at + all.past[child] - all.first[child];
    }
    for (let own = all.past[was] - (past[node] - at); own < all.past[was]; own++) {
      endsAt[at] = node;
      slots[at++] = own;
    }
    if (node % NODES === NODES - 1)
      yield;
  }
  firstChild[count] = count;
  const name = all.name.slice();
  for (let node = 0; node < count; node++)
    name[node] = all.name[nodes[node]];
  yield;
  const step = nodes.map((node) => all.step[node]);
  yield;
  const skeleton: Skeleton = {
    count, levels, more, parent, firstChild, first, past, name, step,
    slots: {
      count: all.slots.count, stack: slots.map((slot) => all.slots.stack[slot]), node: endsAt,
    },
  };
  return { skeleton, nodes, slots };
}

function summed<T extends Float64Array | Uint32Array>(sums: T, slots: Uint32Array): T {
  const made = sums.slice() as T;
  for (let i = 0; i < slots.length; i++)
    made[i + 1] = made[i] + sums[slots[i] + 1] - sums[slots[i]];
  return made;
}

function* heaviestFirst(tree: Tree): Pieces<Tree> {
  const { skeleton, nodes, slots } = yield* arrange(tree);
  yield;
  const { total, before, width, stacks, isSigned } = tree.sums;
  const all = summed(total, slots);
  yield;
  const sums: Sums = {
    total: all, before: before && summed(before, slots), isSigned,
    width: width === total ? all : summed(width, slots), stacks: summed(stacks, slots),
  };
  return new Tree(skeleton, sums, {
    frame: (node) => tree.frame(nodes[node]),
    line: (node) => tree.line(nodes[node]),
    deep: (node) => tree.deep(nodes[node]),
    side: (node) => tree.side(nodes[node]),
  }, tree.seen);
}

const made = new Few<Tree, Tree>(1);

// A tree comes in the order of names.
export function inOrder(tree: Tree, order: Order): Tree {
  return atOnce(orderInPieces(tree, order));
}

export function* orderInPieces(tree: Tree, order: Order): Pieces<Tree> {
  if (order === "name")
    return tree;
  return made.get(tree, order) ?? made.keep(tree, order, yield* heaviestFirst(tree));
}
