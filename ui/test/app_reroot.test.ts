// SPDX-License-Identifier: Apache-2.0
//
// A tree seen from the one function it all goes through.

import assert from "node:assert/strict";
import { test } from "node:test";
import { treeOf } from "../browser/synthetic.ts";
import { rerooted } from "../src/app/reroot.ts";

// root: g (nothing: h), f (60 + 40: a (b 10), c 30)
const NODES = {
  parent: [0, 0, 0, 1, 2, 2, 4],
  self: [0, 0, 60, 0, 0, 30, 10],
  frame: [0, 5, 7, 6, 8, 9, 10],
  line: [0, 0, 1, 0, 2, 3, 4],
};

test("the function is the root, and everything below keeps its place", () => {
  const made = rerooted(treeOf(NODES));
  const each = (tell: (node: number) => number) =>
    Array.from({ length: made.count }, (_, node) => tell(node));
  assert.equal(made.count, 4);
  assert.deepEqual([...made.levels], [0, 1, 3, 4]);
  assert.deepEqual([...made.parent], [0, 0, 0, 1]);
  assert.deepEqual([...made.firstChild], [1, 3, 4, 4, 4]);
  assert.deepEqual(each((node) => made.frame(node)).slice(1), [8, 9, 10]);
  assert.deepEqual(each((node) => made.line(node)).slice(1), [2, 3, 4]);
  assert.deepEqual(each((node) => made.depth(node)), [0, 1, 1, 2]);
  assert.deepEqual(each((node) => made.total(node)), [100, 10, 30, 10]);
  assert.deepEqual(each((node) => made.self(node)), [60, 0, 30, 10]);
  assert.deepEqual(made.children(0), [1, 2]);
  assert.equal(made.nRows, 3);
});

test("a tree with several roots, or weight at its root, stays as it is", () => {
  const two = treeOf({ ...NODES, self: [0, 0, 60, 1, 0, 30, 10] });
  assert.equal(rerooted(two), two);
  const own = treeOf({ ...NODES, self: [5, 0, 60, 0, 0, 30, 10] });
  assert.equal(rerooted(own), own);
});
