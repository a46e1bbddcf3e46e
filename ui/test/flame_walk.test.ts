// SPDX-License-Identifier: Apache-2.0
//
// Walking the graph by keyboard, finding a node again by its path, what the table beside the canvas
// holds, and where tooltip and menu go.

import assert from "node:assert/strict";
import { test } from "node:test";
import { frameModel, random, syntheticModel } from "../browser/synthetic.ts";
import { syntheticNodes, treeOf } from "../browser/synthetic.ts";
import { copyOf, itemsFor } from "../src/flame/actions.ts";
import { commandOf } from "../src/flame/keys.ts";
import { nextItem } from "../src/flame/menu.tsx";
import { rowsAround } from "../src/flame/mirror.tsx";
import { TreeNames } from "../src/flame/names.ts";
import { placeTip } from "../src/flame/tooltip.tsx";
import { lineageOf, nodeOf, pathOf, sibling, stackText, widestChild } from "../src/flame/walk.ts";

const nodes = syntheticNodes(2000, 300, 9);
const tree = treeOf(nodes);
const names = new TreeNames(tree, [syntheticModel(300)], "all");

const plain = { shiftKey: false, ctrlKey: false, altKey: false, metaKey: false };
const press = (key: string, cursor: number, more = {}) =>
  commandOf({ ...plain, key }, { tree, cursor, zoom: 0, isNear: false, flipped: false, ...more });

function nodeWhere(test: (node: number) => boolean): number {
  for (let node = 1; node < tree.count; node++) if (test(node)) return node;
  throw new Error("no such node");
}

test("arrows go where they point, whichever way the graph is turned", () => {
  const node = nodeWhere((n) => tree.children(n).length > 1 && tree.depth(n) > 2);
  const up = { do: "go", node: tree.parent[node] };
  const down = { do: "go", node: widestChild(tree, node) };
  assert.deepEqual(press("ArrowUp", node), up);
  assert.deepEqual(press("ArrowDown", node), down);
  assert.deepEqual(press("ArrowUp", node, { flipped: true }), down);
  assert.deepEqual(press("ArrowDown", node, { flipped: true }), up);
  assert.equal(tree.parent[down.node], node);
});

test("sideways stays among siblings that have a box", () => {
  const isLeaf = (n: number) => !tree.hasChildren(n);
  const node = nodeWhere((n) => tree.children(n).length === 3 && isLeaf(tree.firstChild[n] + 1));
  const [a, b, c] = [0, 1, 2].map((i) => tree.firstChild[node] + i);
  assert.equal(sibling(tree, a, 1), b);
  assert.equal(sibling(tree, c, -1), b);
  assert.equal(sibling(tree, a, -1), a);
  assert.equal(sibling(tree, c, 1), c);
  const self = nodes.self.map((weight, n) => (n === b ? 0 : weight));
  assert.equal(sibling(treeOf({ ...nodes, self }), a, 1), c);
  assert.deepEqual(press("ArrowRight", a, { zoom: a }), { do: "go", node: a });
  assert.equal(sibling(tree, 0, 1), 0);
});

test("plus and minus come nearer and go away; then Shift moves along, Escape sees all", () => {
  assert.deepEqual(press("+", 9), { do: "near", factor: 0.5 });
  assert.deepEqual(press("-", 9), { do: "near", factor: 2 });
  const at = { tree, cursor: 9, zoom: 9, flipped: false };
  const shifted = (key: string, isNear: boolean) =>
    commandOf({ ...plain, key, shiftKey: true }, { ...at, isNear });
  assert.deepEqual(shifted("ArrowRight", true), { do: "move", by: 0.2 });
  assert.deepEqual(shifted("ArrowLeft", true), { do: "move", by: -0.2 });
  assert.deepEqual(shifted("ArrowLeft", false), { do: "go", node: 9 });
  assert.deepEqual(press("Escape", 9, { zoom: 9, isNear: true }), { do: "all" });
});

test("Enter zooms, Escape goes out one step and is the page's when there is none", () => {
  assert.deepEqual(press("Enter", 7), { do: "zoom", node: 7 });
  assert.deepEqual(press("Escape", 9, { zoom: 9 }), { do: "zoom", node: tree.parent[9] });
  assert.deepEqual(press("Backspace", 9, { zoom: 9 }), { do: "zoom", node: tree.parent[9] });
  assert.equal(press("Escape", 9), null);
  assert.deepEqual(press("Home", 9), { do: "go", node: 0 });
  assert.deepEqual(press("ContextMenu", 9), { do: "menu" });
  const f10 = { ...plain, key: "F10", shiftKey: true };
  const at = { tree, cursor: 9, zoom: 0, isNear: false, flipped: false };
  assert.deepEqual(commandOf(f10, at), { do: "menu" });
  assert.equal(press("p", 9), null);
});

test("keys of the browser are left to it", () => {
  for (const key of ["ArrowLeft", "Home", "Enter", "f", "r"])
    for (const held of ["ctrlKey", "altKey", "metaKey"]) {
      const state = { tree, cursor: 9, zoom: 0, isNear: false, flipped: false };
      assert.equal(commandOf({ ...plain, key, [held]: true }, state), null);
    }
});

test("a path leads back to its node, or as far as there is one", () => {
  const next = random(3);
  for (let i = 0; i < 100; i++) {
    const node = Math.floor(next() * tree.count);
    const path = pathOf(names, node);
    const found = nodeOf(names, path);
    assert.deepEqual(pathOf(names, found), path);
    assert.equal(tree.depth(found), tree.depth(node));
  }
  const path = pathOf(names, 50);
  assert.equal(nodeOf(names, [...path, "no such function"]), nodeOf(names, path));
  assert.equal(nodeOf(names, ["no such function", ...path]), 0);
  assert.equal(nodeOf(names, []), 0);
});

test("lines of one function have paths of their own", () => {
  const lines = treeOf({
    parent: [0, 0, 0], self: [0, 1, 1], frame: [0, 0, 0], line: [0, 10, 20],
  });
  const byLine = new TreeNames(lines, [frameModel(["f"])], "all");
  assert.deepEqual(pathOf(byLine, 2), ["f @ store/postings.rs:20"]);
  for (const node of [1, 2]) assert.equal(nodeOf(byLine, pathOf(byLine, node)), node);
});

test("the table holds the node, all that leads to it, and never many rows", () => {
  for (let node = 0; node < tree.count; node += 13) {
    const rows = rowsAround(tree, node);
    assert.ok(rows.includes(node));
    assert.equal(new Set(rows).size, rows.length);
    assert.ok(rows.length <= 12 + 13 + 12);
    for (const at of lineageOf(tree, node).slice(-12)) assert.ok(rows.includes(at));
    for (let i = 1; i < rows.length; i++)
      assert.ok(tree.depth(rows[i]) <= tree.depth(rows[i - 1]) + 1);
  }
});

test("a node with 100,000 siblings has a table like any other", () => {
  const n = 100001;
  const wide = treeOf({ parent: new Uint32Array(n), self: new Uint8Array(n).fill(1) });
  assert.equal(rowsAround(wide, 50000).length, 14);
  assert.equal(rowsAround(wide, 0).length, 13);
  assert.deepEqual(rowsAround(wide, 1).slice(0, 3), [0, 1, 2]);
});

test("the tooltip never leaves the window", () => {
  const next = random(8);
  for (let i = 0; i < 2000; i++) {
    const [width, height] = [20 + next() * 500, 20 + next() * 300];
    const [windowWidth, windowHeight] = [600 + next() * 800, 400 + next() * 600];
    const y = next() * windowHeight;
    const target = { x: next() * windowWidth, y, below: y + next() * 20 };
    const place = placeTip(target, width, height, windowWidth, windowHeight);
    assert.ok(place.x >= 0 && place.x + width <= windowWidth);
    assert.ok(place.y >= 0 && place.y + height <= windowHeight);
  }
  const place = placeTip({ x: 100, y: 100, below: 120 }, 5000, 5000, 800, 600);
  assert.deepEqual(place, { x: 8, y: 8 });
});

test("menus are walked by arrows and first letters, around their ends", () => {
  const labels = ["Zoom", "Copy stack", "Copy name", "Hide"];
  const go = (key: string, at: number) => nextItem({ ...plain, key }, labels, at);
  assert.deepEqual([go("ArrowDown", 3), go("ArrowUp", 0)], [0, 3]);
  assert.deepEqual([go("End", 1), go("Home", 2)], [3, 0]);
  assert.deepEqual([go("c", 0), go("c", 1), go("C", 2), go("x", 2)], [1, 2, 1, -1]);
  assert.equal(nextItem({ ...plain, key: "c", ctrlKey: true }, labels, 0), -1);
});

test("what is copied is one line a frame, and nothing a terminal would obey", () => {
  const hostile = frameModel(["main", "a\nrm -rf ~\n\u001b[2J"]);
  const small = treeOf({ parent: [0, 0, 1], self: [0, 0, 1], line: [0, 10, 0] });
  const text = stackText(new TreeNames(small, [hostile], "all"), 2);
  const lines = text.split("\n");
  assert.deepEqual(lines, [
    "main (src/store/postings.rs:10)",
    "a\ufffdrm -rf ~\ufffd\ufffd[2J (src/store/postings.rs)",
  ]);
  const copy = copyOf(new TreeNames(small, [hostile], "all"), 2, "copy-name");
  assert.equal(copy?.text, "a\ufffdrm -rf ~\ufffd\ufffd[2J");
});

test("a menu offers what makes sense, and no link that is a script", () => {
  const ids = (node: number, link?: (file: string, line: number) => string | null) =>
    itemsFor(names, node, 0, link).map((item) => item.id);
  assert.deepEqual(ids(0), ["collapse"]);
  assert.ok(ids(5).includes("hide") && ids(5).includes("copy-stack") && !ids(5).includes("editor"));
  assert.ok(ids(5, (file, line) => `editor://${file}:${line}`).includes("editor"));
  assert.ok(!ids(5, () => " JavaScript:alert(1)").includes("editor"));
  assert.ok(!ids(5, () => null).includes("editor"));
});

test("what is not a function cannot be hidden or searched, only copied", () => {
  const model = syntheticModel(300);
  model.frames.flags.fill(64);
  const items = itemsFor(new TreeNames(tree, [model], "all"), 5, 0).map((item) => item.id);
  assert.deepEqual(items, ["zoom", "copy-stack", "collapse"]);
});
