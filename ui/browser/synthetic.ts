// SPDX-License-Identifier: Apache-2.0
//
// Profiles of any size made from a seed, for measuring and for looking at: call trees with the
// shape of real ones, a few wide ways down and very many narrow ones, and names as people have.

import type { Model } from "../src/engine/model.ts";
import { NONE } from "../src/engine/names.ts";
import type { Tree } from "../src/engine/tree.ts";

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
    layer: Uint8Array.from(functions, (_, i) => (i % 13 === 6 ? 1 : 0)),
    flags: Uint8Array.from(functions, (_, i) => (i % 9 === 4 ? 1 : 0)),
  };
  const modules = Uint32Array.of(0, text.length - 1);
  return { text, frames, modules } as unknown as Model;
}

export function syntheticModel(nFunctions: number): Model {
  return frameModel(Array.from({ length: nFunctions }, (_, i) => functionName(i)));
}

// Level by level: many ways near the root, few further in, until there are enough nodes.
export function syntheticTree(count: number, nFunctions: number, seed: number): Tree {
  const next = random(seed);
  const parent = new Uint32Array(count);
  const depth = new Uint32Array(count);
  const firstChild = new Uint32Array(count);
  const nChildren = new Uint32Array(count);
  const levels: number[] = [];
  let end = 1;
  for (let node = 0; node < count; node++) {
    if (depth[node] === levels.length) levels.push(node);
    const isLast = node === end - 1; // of its level and all: somebody must go on
    const wanted = childrenAt(depth[node], next) || (isLast ? 1 : 0);
    firstChild[node] = end;
    nChildren[node] = Math.min(wanted, count - end);
    for (let i = 0; i < nChildren[node]; i++, end++) {
      parent[end] = node;
      depth[end] = depth[node] + 1;
    }
  }
  levels.push(count);
  const skeleton = { parent, depth, firstChild, nChildren, levels: Uint32Array.from(levels) };
  return weighted(skeleton, nFunctions, next);
}

function childrenAt(depth: number, next: () => number): number {
  if (depth === 0) return 4;
  const x = next();
  if (depth < 8) return x < 0.6 ? 1 : x < 0.8 ? 2 : 3;
  return x < 0.25 ? 0 : x < 0.75 ? 1 : x < 0.93 ? 2 : 4;
}

type Skeleton = Pick<Tree, "parent" | "depth" | "firstChild" | "nChildren" | "levels">;

function weighted(skeleton: Skeleton, nFunctions: number, next: () => number): Tree {
  const count = skeleton.parent.length;
  const self = new Float64Array(count);
  const stacks = new Uint32Array(count);
  const frame = new Uint32Array(count);
  for (let node = 0; node < count; node++) {
    const isLeaf = skeleton.nChildren[node] === 0;
    if (isLeaf || next() < 0.1) self[node] = Math.ceil(64 / (next() + 0.004));
    stacks[node] = self[node] > 0 ? 1 : 0;
    frame[node] = Math.floor(next() * nFunctions);
    const isSibling = node > 1 && skeleton.parent[node] === skeleton.parent[node - 1];
    if (isSibling) frame[node] = (frame[node - 1] + 1 + (frame[node] % 8)) % nFunctions;
  }
  const total = self.slice();
  for (let node = count - 1; node > 0; node--) {
    total[skeleton.parent[node]] += total[node];
    stacks[skeleton.parent[node]] += stacks[node];
  }
  frame[0] = NONE;
  return {
    ...skeleton, count, frame, self, total, stacks, width: total.slice(),
    name: frame.map((f) => f + 1),
    line: new Uint32Array(count),
    deep: new Uint32Array(count).fill(1),
  };
}
