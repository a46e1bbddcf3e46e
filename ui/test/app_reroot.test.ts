// SPDX-License-Identifier: Apache-2.0
//
// A tree seen from the one function it all goes through.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rerooted } from "../src/app/reroot.ts";
import type { Tree } from "../src/engine/tree.ts";

// root: f (60 + 40: a 10 (b 10), c 30)
function tree(): Tree {
  return {
    count: 5,
    levels: Uint32Array.of(0, 1, 2, 4, 5),
    parent: Uint32Array.of(0, 0, 1, 1, 2),
    frame: Uint32Array.of(0xffffffff, 7, 8, 9, 10),
    name: Uint32Array.of(0, 70, 80, 90, 100),
    line: Uint32Array.of(0, 1, 2, 3, 4),
    firstChild: Uint32Array.of(1, 2, 4, 5, 5),
    nChildren: Uint32Array.of(1, 2, 1, 0, 0),
    depth: Uint32Array.of(0, 1, 2, 2, 3),
    stacks: Uint32Array.of(3, 3, 1, 1, 1),
    deep: Uint32Array.of(1, 1, 1, 1, 1),
    total: Float64Array.of(100, 100, 10, 30, 10),
    self: Float64Array.of(0, 60, 0, 30, 10),
    width: Float64Array.of(100, 100, 10, 30, 10),
  };
}

test("the function is the root, and everything below keeps its place", () => {
  const made = rerooted(tree());
  assert.equal(made.count, 4);
  assert.deepEqual([...made.levels], [0, 1, 3, 4]);
  assert.deepEqual([...made.parent], [0, 0, 0, 1]);
  assert.deepEqual([...made.frame], [7, 8, 9, 10]);
  assert.deepEqual([...made.firstChild], [1, 3, 4, 4]);
  assert.deepEqual([...made.depth], [0, 1, 1, 2]);
  assert.deepEqual([...made.total], [100, 10, 30, 10]);
  assert.deepEqual([...made.self], [60, 0, 30, 10]);
});

test("a tree with several roots, or weight at its root, stays as it is", () => {
  const two = tree();
  two.nChildren[0] = 2;
  assert.equal(rerooted(two), two);
  const own = tree();
  own.self[0] = 5;
  assert.equal(rerooted(own), own);
});
