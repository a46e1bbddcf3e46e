// SPDX-License-Identifier: Apache-2.0
//
// Where boxes are, and what is painted of them: on trees made at random, held against the plainest
// way of finding the same out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { random, syntheticNodes, treeOf } from "../browser/synthetic.ts";
import { Boxes } from "../src/flame/boxes.ts";
import { Layout, NO_NODE, type Range } from "../src/flame/layout.ts";

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);

function trees(): { layout: Layout; next: () => number }[] {
  return SEEDS.map((seed) => {
    const next = random(seed * 77);
    const nodes = syntheticNodes(2 + Math.floor(next() * 3000), 50, seed);
    for (let node = 1; node < nodes.self.length; node++) // without weight under some question
      if (nodes.isLeaf[node] && next() < 0.3) nodes.self[node] = 0;
    nodes.self[0] = 5;
    return { layout: new Layout(treeOf(nodes)), next };
  });
}

function someRange(layout: Layout, next: () => number): Range {
  const node = next() < 0.3 ? 0 : Math.floor(next() * layout.tree.count);
  return layout.hasBox(node) ? layout.rangeOf(node) : layout.whole;
}

test("boxes of a row stand side by side, each inside of its parent's", () => {
  for (const { layout } of trees()) {
    const { levels, parent, count } = layout.tree;
    for (let node = 1; node < count; node++) {
      assert.ok(layout.left(node) >= layout.left(parent[node]));
      assert.ok(layout.right(node) <= layout.right(parent[node]));
      assert.equal(layout.right(node) - layout.left(node), layout.tree.width(node));
    }
    for (let row = 0; row < layout.nRows; row++)
      for (let node = levels[row] + 1; node < levels[row + 1]; node++)
        assert.ok(layout.left(node) >= layout.right(node - 1));
  }
});

test("the node at a point is the one whose box holds it", () => {
  for (const { layout, next } of trees()) {
    const { levels } = layout.tree;
    for (let i = 0; i < 200; i++) {
      const row = Math.floor(next() * layout.nRows);
      const x = next() * layout.whole.to;
      let expected = NO_NODE;
      for (let node = levels[row]; node < levels[row + 1]; node++)
        if (layout.left(node) <= x && x < layout.right(node)) expected = node;
      assert.equal(layout.nodeAt(row, x), expected);
      const after = layout.firstAfter(row, x);
      for (let node = levels[row]; node <= after; node++)
        assert.equal(layout.firstAfter(row, x, node), after);
    }
    assert.equal(layout.nodeAt(-1, 0), NO_NODE);
    assert.equal(layout.nodeAt(layout.nRows, 0), NO_NODE);
    assert.equal(layout.nodeAt(0, layout.whole.to), NO_NODE);
  }
});

test("painted boxes never overlap and stay in the picture", () => {
  for (const { layout, next } of trees()) {
    const pixels = 1 + Math.floor(next() * 900);
    const boxes = new Boxes(pixels);
    const range = someRange(layout, next);
    for (let row = 0; row < layout.nRows; row++) {
      const n = boxes.fill(layout, row, range, pixels);
      let end = 0;
      let past = 0;
      for (let i = 0; i < n; i++) {
        assert.ok(boxes.x0[i] >= end && boxes.x1[i] > boxes.x0[i]);
        assert.ok(boxes.first[i] >= past && boxes.past[i] > boxes.first[i]);
        end = boxes.x1[i];
        past = boxes.past[i];
      }
      assert.ok(end <= pixels);
    }
  }
});

test("what is a pixel wide is painted by itself, where it is", () => {
  for (const { layout, next } of trees()) {
    const pixels = 50 + Math.floor(next() * 900);
    const boxes = new Boxes(pixels);
    const range = someRange(layout, next);
    const scale = pixels / (range.to - range.from);
    for (let row = 0; row < layout.nRows; row++) {
      const n = boxes.fill(layout, row, range, pixels);
      const alone = new Map<number, number>();
      for (let i = 0; i < n; i++)
        if (boxes.past[i] - boxes.first[i] === 1) alone.set(boxes.first[i], i);
      for (let node = layout.tree.levels[row]; node < layout.rowEnd(row); node++) {
        const left = Math.max(layout.left(node), range.from);
        const right = Math.min(layout.right(node), range.to);
        if ((right - left) * scale < 1 + 1e-9) continue;
        const i = alone.get(node);
        assert.ok(i !== undefined, `node ${node} of row ${row} is not painted`);
        assert.ok(Math.abs(boxes.x0[i] - (left - range.from) * scale) <= 0.5 + 1e-6);
        assert.ok(Math.abs(boxes.x1[i] - (right - range.from) * scale) <= 0.5 + 1e-6);
        assert.equal(boxes.isMerged[i], 0);
      }
    }
  }
});

test("merged boxes hold narrow neighbours and no gap of a pixel", () => {
  let nMerged = 0;
  for (const { layout, next } of trees()) {
    const pixels = 20 + Math.floor(next() * 300);
    const boxes = new Boxes(pixels);
    const scale = pixels / layout.whole.to;
    for (let row = 0; row < layout.nRows; row++) {
      const n = boxes.fill(layout, row, layout.whole, pixels);
      for (let i = 0; i < n; i++) {
        const isMerged = boxes.past[i] - boxes.first[i] > 1;
        if (isMerged) assert.equal(boxes.isMerged[i], 1);
        if (!isMerged) continue;
        nMerged++;
        for (let node = boxes.first[i]; node < boxes.past[i]; node++) {
          assert.ok((layout.right(node) - layout.left(node)) * scale < 1 + 1e-9);
          if (node > boxes.first[i])
            assert.ok((layout.left(node) - layout.right(node - 1)) * scale <= 1);
        }
      }
    }
  }
  assert.ok(nMerged > 1000);
});

test("a row of half a million boxes costs no more boxes than pixels", () => {
  const n = 500000;
  const self = new Uint8Array(n + 1).fill(1, 1);
  const layout = new Layout(treeOf({ parent: new Uint32Array(n + 1), self }));
  const boxes = new Boxes(1000);
  assert.equal(boxes.fill(layout, 1, layout.whole, 1000), 1);
  assert.deepEqual([boxes.x0[0], boxes.x1[0], boxes.past[0] - boxes.first[0]], [0, 1000, n]);
});

test("an empty tree has no boxes, and nothing fails", () => {
  const root = new Layout(treeOf({ parent: [0], self: [0] }));
  assert.equal(root.nRows, 1);
  assert.equal(root.nodeAt(0, 0), NO_NODE);
  assert.equal(new Boxes(100).fill(root, 0, root.whole, 100), 0);
});
