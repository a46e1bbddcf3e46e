// SPDX-License-Identifier: Apache-2.0
//
// What of the graph's width is seen: coming nearer and going away, moving along, the address of it,
// the outline of the whole, and the picture that is saved.

import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticModel, syntheticNodes, treeOf } from "../browser/synthetic.ts";
import { Layout } from "../src/flame/layout.ts";
import { TreeMeaning } from "../src/flame/meaning.ts";
import { outlineOf } from "../src/flame/minimap.tsx";
import { TreeNames } from "../src/flame/names.ts";
import type { Palette } from "../src/flame/palette.ts";
import { moved, nearer, parseSpan, rangeOfSpan, reaching } from "../src/flame/span.ts";
import { spanText, type Span } from "../src/flame/span.ts";
import { svgOf } from "../src/flame/svg.ts";

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("the point one comes nearer to stays where it is", () => {
  for (const at of [0, 0.25, 0.7, 1]) {
    let span: Span | null = null;
    const there = at; // of all
    for (let i = 0; i < 12; i++) {
      span = nearer(span, at, 0.5);
      near(span!.from + at * (span!.to - span!.from), there);
    }
    near(span!.to - span!.from, 0.5 ** 12);
    for (let i = 0; i < 12; i++) span = nearer(span, at, 2);
    assert.equal(span, null, "as far away as one came, all is seen");
  }
});

test("nearer than a millionth one does not come, and never past an end", () => {
  let span: Span | null = null;
  for (let i = 0; i < 100; i++) span = nearer(span, 1, 0.5);
  near(span!.to - span!.from, 1e-6);
  assert.ok(span!.to <= 1);
  assert.deepEqual(moved(span, 5), moved(span, Infinity));
  assert.deepEqual(moved({ from: 0.25, to: 0.5 }, -Infinity), { from: 0, to: 0.25 });
  assert.deepEqual(moved({ from: 0.25, to: 0.5 }, 1), { from: 0.5, to: 0.75 });
  assert.equal(moved(null, 1), null);
});

test("a box is reached by the shortest way", () => {
  const all = { from: 100, to: 200 };
  const span = { from: 0.2, to: 0.4 };
  const reach = (from: number, to: number) => rangeOfSpan(all, reaching(span, all, { from, to }));
  assert.deepEqual(reach(125, 130), { from: 120, to: 140 }, "in sight already");
  assert.deepEqual(reach(100, 200), { from: 120, to: 140 }, "nothing else is seen");
  assert.deepEqual(reach(150, 155), { from: 135, to: 155 });
  assert.deepEqual(reach(105, 110), { from: 105, to: 125 });
  assert.deepEqual(reach(150, 190), { from: 150, to: 170 }, "of a wide one, its near end");
  assert.equal(reaching(null, all, { from: 0, to: 1 }), null);
});

test("the address has percents, and what is none is all", () => {
  for (const text of ["25-37.5", "0-0.0001", "99.999-100"])
    assert.equal(spanText(parseSpan(text)!), text);
  for (const text of ["", "5", "50-20", "0-100", "10-101", "-1-5", "1e1-50", "5-5", "a-b"])
    assert.equal(parseSpan(text), null, text);
});

const nodes = syntheticNodes(500, 50, 4);
const tree = treeOf(nodes);

test("the outline is as deep as the boxes are", () => {
  const layout = new Layout(tree);
  const edges = [...outlineOf(layout, false).matchAll(/V(\d+)/g)].map((match) => Number(match[1]));
  assert.equal(Math.max(...edges), 24, "the deepest is as high as the map");
  assert.equal(edges.at(-1), 0, "and it ends where it began");
  const flipped = outlineOf(layout, true);
  const other = [...flipped.matchAll(/V(\d+)/g)].map((match) => 24 - Number(match[1]));
  assert.deepEqual(other, edges, "flipped, the same from below");
});

test("a saved picture has what is seen", () => {
  const names = new TreeNames(tree, [syntheticModel(50)], "all");
  const meaning = new TreeMeaning(tree, names, {
    unit: "bytes", mark: "", signed: false, matches: null,
  });
  const colours = Array.from({ length: 64 }, () => "#111111");
  const palette = { background: "#fff", fills: colours, texts: colours } as unknown as Palette;
  const rects = (span: Span | null) =>
    [...svgOf(meaning, palette, 0, span, false, "").matchAll(
      /<title>([^<]*)<\/title><rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"/g,
    )].map((match) => ({ told: match[1], x: Number(match[2]), width: Number(match[4]) }));
  const [all, half] = [rects(null), rects({ from: 0.25, to: 0.75 })];
  assert.equal(half[0].width, 1199, "the root is as wide as the picture");
  for (const { x, width } of half) assert.ok(x >= 0 && x + width <= 1200);
  const inside = all.find(({ x, width }) => x > 320 && x + width < 880 && width > 20)!;
  const same = half.find(({ told, x }) =>
    told === inside.told && Math.abs(x - 2 * (inside.x - 300)) < 0.3)!;
  assert.ok(Math.abs(same.width + 1 - 2 * (inside.width + 1)) < 0.3, "twice as wide");
});
