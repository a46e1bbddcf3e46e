// SPDX-License-Identifier: Apache-2.0
//
// Profiles of any size made from a seed, for measuring and for looking at: call trees with the
// shape of real ones, a few wide ways down and very many narrow ones, and names as people have.

import type { Model } from "../src/engine/model.ts";
import type { Skeleton } from "../src/engine/skeleton.ts";
import { sumUp, sumUpBoth, Tree, type Sums } from "../src/engine/tree.ts";

export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const CRATES = "indexer tokio serde_json regex hyper rusqlite std core alloc rayon ring".split(" ");
const PARTS = "store query parse build merge cache page token block table plan route".split(" ");
const VERBS = "push insert decode intern resize collect flush spawn read visit drop".split(" ");

function functionName(i: number): string {
  const crate = CRATES[i % CRATES.length];
  const part = PARTS[(i >> 2) % PARTS.length];
  const verb = VERBS[(i >> 3) % VERBS.length];
  const kind = i % 7;
  if (kind === 0) return `<${crate}::${part}::Type${i} as core::iter::Iterator>::${verb}`;
  if (kind === 1) return `${crate}::${part}::Builder<alloc::vec::Vec<u8>, K>::${verb}_${i}`;
  if (kind === 2) return `std::vector<${part}, std::allocator<${part}> >::${verb}${i}(int, char*)`;
  if (kind === 3) return `${crate}::${part}::${verb}_${i}::{{closure}}`;
  return `${crate}::${part}::${verb}_${i}`;
}

// A model with frames alone: what a graph needs of one.
export function frameModel(functions: readonly string[]): Model {
  const n = functions.length;
  const text = ["", ...functions, ...CRATES, "src/store/postings.rs", "/usr/lib/libindexer.so"];
  const crateAt = 1 + n;
  const frames = {
    count: n,
    function: Uint32Array.from(functions, (_, i) => i + 1),
    file: new Uint32Array(n).fill(text.length - 2),
    crate: Uint32Array.from(functions, (_, i) => crateAt + (i % CRATES.length)),
    line: Uint32Array.from(functions, (_, i) => 10 + (i % 900)),
    module: new Uint32Array(n).fill(1),
    address: new Float64Array(n),
    layer: Uint8Array.from(functions, (_, i) => (i % 13 === 6 ? 2 : 0)),
    flags: Uint8Array.from(functions, (_, i) => (i % 9 === 4 ? 1 : 0)),
  };
  const modules = Uint32Array.of(0, text.length - 1);
  return { text, frames, modules } as unknown as Model;
}

export function syntheticModel(nFunctions: number): Model {
  return frameModel(Array.from({ length: nFunctions }, (_, i) => functionName(i)));
}

// What a tree is made of by hand: per node, level by level and in the order of their parents.
export interface Nodes {
  parent: ArrayLike<number>;
  self: ArrayLike<number>;
  before?: ArrayLike<number>; // of a diff: self, on the side before
  frame?: ArrayLike<number>; // else each its own
  name?: ArrayLike<number>;
  line?: ArrayLike<number>;
  deep?: ArrayLike<number>;
}

// Every node has one stack that ends at it.
export function treeOf(nodes: Nodes): Tree {
  const { frame, line, deep } = nodes;
  const parent = Uint32Array.from(nodes.parent);
  const count = parent.length;
  const first = new Uint32Array(count);
  const through = new Uint32Array(count).fill(1);
  for (let node = count - 1; node > 0; node--) through[parent[node]] += through[node];
  const firstChild = new Uint32Array(count + 1).fill(count);
  const levels = [0];
  const place = new Uint32Array(count); // where the next child's stacks begin
  for (let node = 1, up = 0; node < count; node++) {
    if (node === 1 || parent[node] !== parent[node - 1]) {
      for (; up <= parent[node]; up++) firstChild[up] = node;
      if (parent[node] >= levels[levels.length - 1]) levels.push(node);
    }
    first[node] = place[node] = place[parent[node]];
    place[parent[node]] += through[node];
  }
  levels.push(count);
  const past = first.map((at, node) => at + through[node]);
  const slots = { count, stack: new Uint32Array(count), node: new Uint32Array(count) };
  for (let node = 0; node < count; node++) slots.stack[past[node] - 1] = node;
  slots.node.set(slots.stack);
  const none = new Uint32Array(0);
  const skeleton: Skeleton = {
    count, parent, firstChild, first, past, slots, levels: Uint32Array.from(levels),
    name: Uint32Array.from(nodes.name ?? frame ?? parent.map((_, i) => i)), step: none, more: none,
  };
  return new Tree(skeleton, sumsOf(skeleton, nodes), {
    frame: (node) => (frame ? frame[node] : node - 1),
    line: (node) => line?.[node] ?? 0,
    deep: (node) => deep?.[node] ?? 1,
    side: () => 0,
  });
}

function sumsOf(skeleton: Skeleton, nodes: Nodes): Sums {
  const after = Float64Array.from(nodes.self);
  if (!nodes.before) return sumUp(skeleton, after);
  const before = Float64Array.from(nodes.before);
  return sumUpBoth(skeleton, (i) => after[i], (i) => before[i]);
}

// Level by level: many ways near the root, few further in, until there are enough nodes.
export function syntheticNodes(count: number, nFunctions: number, seed: number) {
  const next = random(seed);
  const parent = new Uint32Array(count);
  const depth = new Uint32Array(count);
  const isLeaf = new Uint8Array(count);
  let end = 1;
  for (let node = 0; node < count; node++) {
    const isLast = node === end - 1; // of its level and all: somebody must go on
    const wanted = childrenAt(depth[node], next) || (isLast ? 1 : 0);
    const n = Math.min(wanted, count - end);
    isLeaf[node] = n ? 0 : 1;
    for (let i = 0; i < n; i++, end++) {
      parent[end] = node;
      depth[end] = depth[node] + 1;
    }
  }
  const self = new Float64Array(count);
  const frame = new Uint32Array(count);
  for (let node = 0; node < count; node++) {
    if (isLeaf[node] || next() < 0.1) self[node] = Math.ceil(64 / (next() + 0.004));
    frame[node] = Math.floor(next() * nFunctions);
    const isSibling = node > 1 && parent[node] === parent[node - 1];
    if (isSibling) frame[node] = (frame[node - 1] + 1 + (frame[node] % 8)) % nFunctions;
  }
  return { parent, self, frame, isLeaf, name: frame.map((f) => f + 1) };
}

function childrenAt(depth: number, next: () => number): number {
  if (depth === 0) return 4;
  const x = next();
  if (depth < 8) return x < 0.6 ? 1 : x < 0.8 ? 2 : 3;
  return x < 0.25 ? 0 : x < 0.75 ? 1 : x < 0.93 ? 2 : 4;
}

export function syntheticTree(count: number, nFunctions: number, seed: number): Tree {
  return treeOf(syntheticNodes(count, nFunctions, seed));
}
