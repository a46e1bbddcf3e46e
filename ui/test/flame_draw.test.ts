// SPDX-License-Identifier: Apache-2.0
//
// What is painted, on a canvas that writes down what it is told, and the colours of its pixels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { frameModel, syntheticModel, syntheticTree, treeOf } from "../browser/synthetic.ts";
import type { Tree } from "../src/engine/tree.ts";
import { EXACT } from "../src/engine/units.ts";
import { Boxes } from "../src/flame/boxes.ts";
import { draw, rowAt, rowTop, type Canvas, type Scene, type Window } from "../src/flame/draw.ts";
import { Fitter } from "../src/flame/fit.ts";
import { Layout } from "../src/flame/layout.ts";
import { TreeMeaning } from "../src/flame/meaning.ts";
import { TreeNames } from "../src/flame/names.ts";
import { Style } from "../src/flame/palette.ts";
import { packed } from "../src/flame/surface.ts";

interface Painted {
  rects: { line: number; x: number; width: number; style: number; hasBorder: boolean }[];
  texts: { text: string; x: number; y: number; style: number }[];
}

interface Wish {
  matches?: Uint8Array;
  zoom?: number;
  flipped?: boolean;
  height?: number;
  top?: number;
}

function paint(tree: Tree, model = syntheticModel(300), wish: Wish = {}) {
  const painted: Painted = { rects: [], texts: [] };
  let isOver = false;
  const canvas: Canvas = {
    box(line, x, x1, style, hasBorder) {
      assert.ok(!isOver);
      painted.rects.push({ line, x, width: x1 - x, style, hasBorder });
    },
    end() {
      isOver = true;
    },
    text(text, x, y, style) {
      assert.ok(isOver);
      painted.texts.push({ text, x, y, style });
    },
  };
  const layout = new Layout(tree);
  const names = new TreeNames(tree, [model], "all");
  const options = {
    unit: "bytes", mark: EXACT, signed: tree.isSigned, matches: wish.matches ?? null,
  } as const;
  const zoom = wish.zoom ?? 0;
  const scene: Scene = {
    layout, meaning: new TreeMeaning(tree, names, options), range: layout.rangeOf(zoom),
    zoomRow: tree.depth(zoom), nRows: layout.nRows, flipped: wish.flipped ?? false,
  };
  const height = wish.height ?? 400;
  const content = Math.max(height, 20 * layout.nRows);
  const window: Window = { width: 1000, height, top: wish.top ?? 0, content, row: 20, gap: 1 };
  const boxes = new Boxes(1000);
  const boxesOf = (row: number) => {
    boxes.fill(layout, row, scene.range, 1000);
    return boxes.copy();
  };
  draw(canvas, scene, window, boxesOf, new Fitter(() => 6));
  return { ...painted, scene, window };
}

// A root with a line of nodes below it, each with children of these weights.
function chain(...weights: number[][]): Tree {
  const parent = [0];
  const self = [0];
  let up = 0;
  for (const row of weights) {
    const first = parent.length;
    for (const weight of row) {
      parent.push(up);
      self.push(weight);
      if (up) self[up] -= weight;
    }
    up = first;
  }
  return treeOf({ parent, self });
}

test("only rows in sight are painted, inside of the canvas", () => {
  const tree = syntheticTree(20000, 300, 4);
  const { rects } = paint(tree, undefined, { top: 95, height: 110 });
  assert.ok(rects.length > 10);
  for (const rect of rects) assert.ok(rect.x >= 0 && rect.x + rect.width <= 1000);
  assert.deepEqual([...new Set(rects.map((rect) => rect.line))], [0, 1, 2, 3, 4, 5, 6]);
});

test("labels stand inside of their boxes", () => {
  const { rects, texts } = paint(syntheticTree(5000, 300, 4));
  assert.ok(texts.length > 20);
  for (const { text, x, y } of texts) {
    const width = 6 * [...text].length;
    const line = Math.floor(y / 20);
    const box = rects.find((r) => r.line === line && r.x <= x && x < r.x + r.width);
    assert.ok(box && x + width <= box.x + box.width, text);
  }
});

test("the root is above or, flipped, below; rows are found where they are painted", () => {
  for (const flipped of [false, true]) {
    const { rects, texts, scene, window } = paint(chain([100], [60]), undefined, { flipped });
    assert.equal(rects[0].width, 999);
    assert.equal(rects[0].line, flipped ? 2 : 0);
    assert.deepEqual(texts.map(({ y }) => y), flipped ? [390, 370, 350] : [10, 30, 50]);
    for (let row = 0; row < 3; row++)
      for (const inside of [0, 10, 19])
        assert.equal(rowAt(scene, window, rowTop(scene, window, row) + inside), row);
  }
});

test("what is zoomed to is the first row, and as wide as the picture", () => {
  const tree = chain([60, 40], [30, 30], [10]);
  for (const flipped of [false, true]) {
    const { rects, texts, scene, window } = paint(tree, undefined, { zoom: 3, flipped });
    assert.deepEqual(rects.map(({ width }) => width), [999, 332]);
    assert.deepEqual(texts.map(({ y }) => y), flipped ? [390, 370] : [10, 30]);
    assert.equal(rowAt(scene, window, rowTop(scene, window, 2) + 5), 2);
  }
});

test("matches stand out, also among boxes too narrow to be seen alone", () => {
  const narrow = Array.from({ length: 5000 }, () => 1);
  const tree = chain([5000, 5000], narrow);
  const matches = new Uint8Array(tree.count);
  matches[2] = matches[1234] = 1;
  const model = frameModel(Array.from({ length: tree.count }, (_, i) => `f${i}`));
  const { rects } = paint(tree, model, { matches });
  const below = rects.slice(3); // boxes of ten nodes a pixel
  const styles = rects.map((rect) => rect.style);
  assert.deepEqual(styles.slice(0, 3), [Style.dim, Style.dim, Style.match]);
  assert.deepEqual(below.map((rect) => rect.style), [Style.many, Style.someMatch, Style.many]);
  assert.deepEqual([below[1].x, below[1].width], [Math.floor((1234 - 3) / 10), 1]);
});

test("of boxes too narrow to be seen alone, only what was searched for looks like it", () => {
  const narrow = Array.from({ length: 5000 }, () => 1);
  const tree = chain([5000, 5000], narrow);
  const matches = new Uint8Array(tree.count);
  matches.fill(1, 3 + 1000, 3 + 3150); // 43 of 100
  const model = frameModel(Array.from({ length: tree.count }, (_, i) => `f${i}`));
  const widths = new Map<number, number>();
  for (const { line, style, width } of paint(tree, model, { matches }).rects)
    if (line === 2) widths.set(style, (widths.get(style) ?? 0) + width);
  assert.deepEqual([...widths].sort(), [[Style.many, 285], [Style.match, 215]]);
  const others = new Uint8Array(tree.count);
  for (let node = 3; node < tree.count; node += 2) others[node] = 1;
  const { rects } = paint(tree, model, { matches: others });
  assert.deepEqual(rects.slice(3).map(({ style, width }) => [style, width]),
    [[Style.someMatch, 500]]);
});

test("growth and shrinking are told by arrow and colour, and shaded by how much", () => {
  const tree = treeOf({ parent: [0, 0, 0, 0], self: [0, 400, 100, 0], before: [0, 100, 350, 50] });
  const model = frameModel(["grown", "shrunk", "gone"]);
  const { rects, texts } = paint(tree, model);
  const told = ["= all  0 B", "▲ grown  300 B", "▼ shrunk  250 B", "▼ gone  50 B"];
  assert.deepEqual(texts.map(({ text }) => text), told);
  const styles = [Style.even, Style.grown, Style.shrunk, Style.shrunkSome];
  assert.deepEqual(rects.map(({ style }) => style), styles);
  const least = treeOf({ parent: [0, 0, 0], self: [0, 900, 2], before: [0, 0, 1] });
  const shades = paint(least, model).rects.map(({ style }) => style);
  assert.deepEqual(shades, [Style.grown, Style.grown, Style.grownWeak]);
});

test("frames that are none have plain words and a look of their own", () => {
  const model = frameModel(["a", "b", "c", "main"]);
  model.frames.flags.set([64, 16, 4, 0]);
  const { rects, texts } = paint(chain([300, 300, 300, 100]), model);
  assert.deepEqual(texts.slice(1).map(({ text }) => text), [
    "(other stacks)  300 B", "(stack not recorded)  300 B",
    "(frames left out)  300 B", "main  100 B",
  ]);
  assert.equal(rects.filter(({ style }) => style === Style.hatch).length, 3);
});

test("inlined frames have no border to their parent, others do", () => {
  const model = frameModel(["outer", "inlined", "called"]);
  model.frames.flags.set([0, 32, 0]);
  const { rects } = paint(chain([100], [50, 50]), model);
  assert.deepEqual(rects.map(({ hasBorder }) => hasBorder), [true, true, false, true]);
});

test("frames of the runtime are grey, recursion says how deep", () => {
  const model = frameModel(["__libc_start_main", "walk"]);
  model.frames.layer.set([2, 0]);
  const tree = treeOf({ parent: [0, 0, 0], self: [0, 500, 500], deep: [1, 1, 12] });
  const { rects, texts } = paint(tree, model);
  assert.equal(rects[1].style, Style.runtime);
  assert.equal(texts[2].text, "walk ×12  500 B");
});

test("a colour becomes a pixel of an image, opaque", () => {
  const pixel = new Uint8Array(Uint32Array.of(packed("#12abef")).buffer);
  assert.deepEqual([...pixel], [18, 171, 239, 255]);
});

test("hostile names are drawn as short, harmless text", () => {
  const names = ["<script>alert(1)</script>", "\u202eevil\u0000", "x".repeat(100000), "\n\n\n\n"];
  const model = frameModel(names);
  model.frames.layer.fill(0);
  const { texts } = paint(chain([250, 250, 250, 250]), model);
  assert.equal(texts.length, 5);
  for (const { text } of texts) {
    assert.ok(text.length < 200);
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u);
  }
});
