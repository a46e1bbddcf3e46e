// SPDX-License-Identifier: Apache-2.0
//
// A tree with the heaviest first is the same tree: every node has its numbers, stacks and name, and
// lies within its parent; only siblings have changed places.

import assert from "node:assert/strict";
import { test } from "node:test";
import { random, syntheticNodes, treeOf } from "../browser/synthetic.ts";
import { inOrder } from "../src/engine/order.ts";
import { pathOf, type Tree } from "../src/engine/tree.ts";
import { Layout } from "../src/flame/layout.ts";

const nodes = syntheticNodes(3000, 200, 5);
const own = { ...nodes, name: nodes.parent.map((_, node) => node) }; // each can be told
const next = random(8);
const before = nodes.self.map((weight) => Math.floor(weight * 2 * next()));
const trees = [treeOf(own), treeOf({ ...own, before })];

const stacksOf = ({ skeleton: { slots, first, past } }: Tree, node: number) =>
  [...slots.stack.slice(first[node], past[node])].sort((a, b) => a - b);

const told = (tree: Tree, node: number) => [
  tree.total(node), tree.self(node), tree.before(node), tree.beforeSelf(node), tree.width(node),
  tree.stacks(node), tree.depth(node), tree.frame(node), tree.deep(node), stacksOf(tree, node),
  tree.hasChildren(node),
];

test("every node is there with all that it says, of a comparison too", () => {
  for (const tree of trees) {
    const made = inOrder(tree, "weight");
    assert.equal(made.count, tree.count);
    for (let node = 0; node < made.count; node++) {
      const was = made.name[node]; // of the root as well
      assert.deepEqual(told(made, node), told(tree, was));
      assert.deepEqual(pathOf(made, node), pathOf(tree, was));
    }
  }
});

test("siblings come the widest first, within their parent and side by side", () => {
  for (const tree of trees) {
    const made = inOrder(tree, "weight");
    const layout = new Layout(made);
    let nMoved = 0;
    for (let node = 0; node < made.count; node++) {
      let at = layout.left(node);
      const children = made.children(node);
      for (const child of children) {
        assert.equal(made.parent[child], node);
        assert.equal(layout.left(child), at, "begins where the one before ends");
        at = layout.right(child);
      }
      assert.ok(at <= layout.right(node));
      const widths = children.map((child) => made.width(child));
      assert.deepEqual(widths, [...widths].sort((a, b) => b - a));
      nMoved += Number(children.some((child, i) => i && made.name[child] < made.name[children[0]]));
    }
    assert.ok(nMoved > 10, "nothing had to move");
    const { slots } = made.skeleton;
    for (let slot = 0; slot < slots.count; slot++)
      assert.equal(made.name[slots.node[slot]], slots.stack[slot], "where a stack ends");
  }
});

test("by name it is the tree as it was", () => {
  assert.equal(inOrder(trees[0], "name"), trees[0]);
});
