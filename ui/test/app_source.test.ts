// SPDX-License-Identifier: Apache-2.0
//
// What lines of code weigh.

import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf } from "../src/app/load.ts";
import { lineWeights, partsOf } from "../src/app/source_lines.ts";
import type { View } from "../src/engine/look.ts";

// Frames: 0 f a.c:1, 1 g a.c:2, 2 h b.c:9, 3 without a file.
function view(stacks: number[][], wanted = stacks.map(() => 1)): View {
  const read = new Uint32Array(8);
  return {
    model: {
      text: ["", "a.c", "b.c", "f", "g", "h"],
      frames: {
        file: Uint32Array.of(1, 1, 2, 0),
        line: Uint32Array.of(1, 2, 9, 0),
        function: Uint32Array.of(3, 4, 5, 0),
      },
      sites: { count: stacks.length },
    },
    wanted: Uint8Array.from(wanted),
    read,
    readFrames(site: number) {
      read.set(stacks[site]);
      return stacks[site].length;
    },
  } as unknown as View;
}

const told = (of: View, weights: number[]) =>
  lineWeights(of, Float64Array.from(weights)).map((file) => ({
    path: of.model.text[file.text],
    total: file.total,
    lines: [...file.lines].map(([line, { total, own, name }]) => [line, total, own, name]),
  }));

test("a stack counts once in a line and once in a file", () => {
  assert.deepEqual(told(view([[0, 1, 0, 2]]), [10]), [
    {
      path: "a.c",
      total: 10,
      lines: [
        [1, 10, 10, "f"],
        [2, 10, 0, "g"],
      ],
    },
    { path: "b.c", total: 10, lines: [[9, 10, 0, "h"]] },
  ]);
});

test("files come by weight; what is not wanted or weighs nothing is left out", () => {
  const of = view([[0], [2], [1], [2]], [1, 1, 1, 0]);
  assert.deepEqual(told(of, [5, 7, 0, 100]), [
    { path: "b.c", total: 7, lines: [[9, 7, 7, "h"]] },
    { path: "a.c", total: 5, lines: [[1, 5, 5, "f"]] },
  ]);
});

test("frames without a file have no line", () => {
  assert.deepEqual(told(view([[3], [3, 0]]), [5, 7]), [
    { path: "a.c", total: 7, lines: [[1, 7, 0, "f"]] },
  ]);
});

test("lines around what weighs, in parts", () => {
  const text = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`);
  const ends = (parts: number[][]) => parts.map((part) => [part[0], part[part.length - 1]]);
  assert.deepEqual(ends(partsOf([3, 30, 41], text)), [
    [1, 11],
    [22, 49],
  ]);
  assert.deepEqual(ends(partsOf([58, 3], text)), [
    [1, 11],
    [50, 60],
  ]);
  assert.deepEqual(partsOf([9, 2], null), [[2, 9]]);
});

test("a text with holes, as a report has it", () => {
  const parts = [
    { line: 2, text: "two\nthree" },
    { line: 9, text: "nine" },
  ];
  const { lines, note } = linesOf({ path: "/a.c", note: null, parts });
  assert.equal(note, "");
  assert.deepEqual([lines?.[0], lines?.[1], lines?.[2], lines?.[8]], [
    undefined,
    "two",
    "three",
    "nine",
  ]);
  assert.deepEqual(partsOf([3, 9, 40], lines), [[2, 3], [9], [40]]);
  const none = linesOf({ path: "/a.c", note: "cannot read /a.c", parts: [] });
  assert.deepEqual(none, { lines: null, note: "cannot read /a.c" });
});
