// SPDX-License-Identifier: Apache-2.0
//
// What stands in long lists, and what is copied out of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { treeOf } from "../browser/synthetic.ts";
import type { OfferedImage } from "../src/app/load.ts";
import { layersOf, processRows, type Order } from "../src/app/process_rows.ts";
import { csv, markdown } from "../src/app/table_text.ts";
import { treeLines } from "../src/app/tree_lines.ts";
import { rowsInSight } from "../src/app/virtual.ts";

test("rows in sight, with some to spare, and never more than there are", () => {
  assert.deepEqual(rowsInSight(0, 260, 26, 100_000), { first: 0, past: 18 });
  assert.deepEqual(rowsInSight(26_000, 260, 26, 100_000), { first: 992, past: 1018 });
  assert.deepEqual(rowsInSight(0, 260, 26, 3), { first: 0, past: 3 });
  assert.deepEqual(rowsInSight(99_999, 260, 26, 3), { first: 3, past: 3 });
  assert.deepEqual(rowsInSight(0, 0, 26, 0), { first: 0, past: 0 });
});

// root: a (60: b 50, c 10), d (40: e 40)
const tree = () =>
  treeOf({
    parent: [0, 0, 0, 1, 1, 2],
    name: [0, 11, 14, 12, 13, 15],
    self: [0, 0, 0, 50, 10, 40],
  });

const nodes = (turned: [string, boolean][]) =>
  treeLines(tree(), new Map(turned)).map(({ node }) => node);

test("at first the way of most of the weight is open", () => {
  assert.deepEqual(nodes([]), [1, 3, 4, 2]);
});

test("what the reader opens and closes stays so", () => {
  assert.deepEqual(nodes([["/11", false]]), [1, 2]);
  assert.deepEqual(nodes([["/14", true]]), [1, 3, 4, 2, 5]);
  assert.deepEqual(nodes([["/99", true]]), [1, 3, 4, 2]);
});

test("under a search there are the ways to what it found, and what is below it", () => {
  const found = (node: number, turned: [string, boolean][] = []) => {
    const matches = new Uint8Array(6);
    matches[node] = 1;
    return treeLines(tree(), new Map(turned), matches).map(({ node }) => node);
  };
  assert.deepEqual(found(5), [2, 5]);
  assert.deepEqual(found(4), [1, 4]);
  assert.deepEqual(found(1), [1]);
  assert.deepEqual(found(1, [["/11", true]]), [1, 3, 4]);
  assert.deepEqual(found(5, [["/14", false]]), [2]);
});

test("the weightiest come first, and what has no weight is not there", () => {
  const other = treeOf({
    parent: [0, 0, 0, 0, 1, 1, 2],
    name: [0, 1, 2, 3, 4, 5, 6],
    self: [0, 0, 0, 70, 10, 20, 0],
  });
  const keys = (turned: [string, boolean][]) =>
    treeLines(other, new Map(turned)).map(({ key }) => key);
  assert.deepEqual(keys([]), ["/3", "/1"]);
  assert.deepEqual(keys([["/1", true]]), ["/3", "/1", "/1/5", "/1/4"]);
});

test("lines know their place among their siblings", () => {
  const lines = treeLines(tree(), new Map());
  assert.deepEqual(
    lines.map(({ key, index, of, depth }) => `${key} ${index} of ${of} at ${depth}`),
    ["/11 1 of 2 at 1", "/11/12 1 of 2 at 2", "/11/13 2 of 2 at 2", "/14 2 of 2 at 1"],
  );
});

test("CSV is quoted, and nothing in it computes", () => {
  const text = csv([
    ["name", "size"],
    ['a "b", c', "1,024"],
    ["=1+1", "-5"],
    ["@x\ny", "+5 B"],
  ]);
  assert.equal(text, 'name,size\n"a ""b"", c","1,024"\n\'=1+1,-5\n"\'@x\ny",\'+5 B\n');
});

test("Markdown keeps its columns", () => {
  const text = markdown(
    [
      ["name", "size"],
      ["a|b<T>\n*c*", "5 B"],
    ],
    [true, false],
  );
  assert.equal(text, "| name | size |\n| --- | ---: |\n| a\\|b\\<T\\> \\*c\\* | 5 B |\n");
});

const image = (index: number, program: string, more: Partial<OfferedImage>): OfferedImage => ({
  index, pid: 100 + index, program, process: `${program} (process ${100 + index})`,
  peak_exactness: { kind: "exact" } as unknown as OfferedImage["peak_exactness"], ...more,
});

// make starts two compilers, the second of which an assembler.
const IMAGES = [
  image(0, "make", { start_ns: 5, end_ns: 100, peak_bytes: 10, allocations: 3 }),
  image(1, "cc", { start_ns: 10, end_ns: 40, peak_bytes: 70, command: ["cc", "-c", "a.c"] }),
  image(2, "cc", { start_ns: 20, end_ns: 90, peak_bytes: 90, command: ["cc", "-c", "b.c"] }),
  image(3, "as", { start_ns: 30, end_ns: 35, peak_bytes: 50 }),
];
const PARENTS = [-1, 0, 0, 2];

test("processes stand below who started them, siblings in any order", () => {
  const rows = (order: Order, pattern: RegExp | null = null) =>
    processRows(IMAGES, PARENTS, order, pattern).map(({ image: { index }, depth }) =>
      `${"-".repeat(depth)}${index}`);
  assert.deepEqual(rows("start"), ["0", "-1", "-2", "--3"]);
  for (const order of ["peak", "ran"] as const)
    assert.deepEqual(rows(order), ["0", "-2", "--3", "-1"]);
  assert.deepEqual(rows("start", /a\.c/), ["0", "-1"]);
  assert.deepEqual(rows("start", /process 103/), ["0", "-2", "--3"]);
  assert.deepEqual(processRows(IMAGES, [9, 3, 1, -1], "start", null).length, 4);
});

test("layers of processes add up to what all held at each look", () => {
  const of = { steps: 4, parents: PARENTS, courses: [[0, 1, 1, 1, 1], [0, 7], [1, 9, 9], null] };
  const cases: [number, string[]][] = [
    [4, ["2", "1", "0"]], [2, ["1 2", "0"]], [1, ["1 2", "0 3"]],
  ];
  for (const [most, wanted] of cases) {
    const layers = layersOf(IMAGES, of, most);
    assert.deepEqual(layers.map(({ images }) => images.join(" ")), wanted);
    assert.deepEqual(layers.map(({ isOthers }) => isOthers), wanted.map((_, i) => i >= most));
    const sums = [0, 1, 2, 3].map((step) =>
      layers.reduce((sum, { held }) => sum + held[step], 0));
    assert.deepEqual(sums, [8, 10, 10, 1]);
  }
});
