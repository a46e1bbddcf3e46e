// SPDX-License-Identifier: Apache-2.0
//
// Numbers for people: as tests/unit/units_test.c expects them of the command.

import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, bytes, change, changeCell, count, EXACT, percent } from "../src/engine/units.ts";
import { share, sideCell, time } from "../src/engine/units.ts";

function check<T extends unknown[]>(say: (...words: T) => string, cases: [string, ...T][]): void {
  for (const [expected, ...words] of cases)
    assert.equal(say(...words), expected, words.join(" "));
}

test("bytes", () => check((n: number) => bytes(n, EXACT), [
  ["0 B", 0], ["17 B", 17], ["1,023 B", 1023], ["1.0 KiB", 1024], ["1.2 KiB", 1280],
  ["1.8 KiB", 1792], ["1023.9 KiB", 1048471], ["1.0 MiB", 1048575], ["412.6 MiB", 432640000],
  ["1.0 GiB", 2 ** 30], ["2048.0 PiB", 2 ** 61], ["-1.5 KiB", -1536], ["-3 B", -3],
]));

test("counts", () => check((n: number) => count(n, EXACT), [
  ["0", 0], ["999", 999], ["16,204", 16204], ["999,999", 999999], ["1.0 M", 1e6],
  ["14.2 M", 14204118], ["1.0 G", 999960000], ["2.0 T", 2e12],
]));

test("times", () => check(time, [
  ["0 ns", 0], ["830 ns", 830], ["1.00 µs", 1000], ["12.4 µs", 12400], ["999 µs", 999499],
  ["1.00 ms", 999500], ["3.71 ms", 3710000], ["8.42 s", 8.42e9], ["99.9 s", 99.94e9],
  ["1 min 40 s", 99.95e9], ["2 min 05 s", 125e9], ["3 h 10 min", 11400e9],
]));

test("shares", () => {
  check((part: number, whole: number) => share(part, whole, EXACT), [
    ["0 %", 0, 10], ["0 %", 5, 0], ["<0.1 %", 1, 100000], ["0.1 %", 1, 1000], ["46.2 %", 462, 1000],
    ["99.9 %", 99999, 100000], ["100.0 %", 7, 7], ["-25.0 %", -1, 4], ["12.5 %", 1, 8],
    ["6.2 %", 1, 16],
  ]);
  check((part: number, whole: number) => percent(part, whole, EXACT), [
    ["0 %", 0, 5], ["<1 %", 1, 1000], ["61 %", 61, 100], [">99 %", 999, 1000], ["99 %", 992, 1000],
    ["100 %", 5, 5], ["0 %", 0, 0], ["12 %", 1, 8],
  ]);
});

test("amounts and changes", () => {
  assert.equal(amount(1, "blocks", EXACT), "1 block");
  assert.equal(amount(16204, "blocks", EXACT), "16,204 blocks");
  assert.equal(change(2048, "bytes", EXACT), "▲ 2.0 KiB");
  assert.equal(change(-3, "blocks", EXACT), "▼ 3 blocks");
  assert.equal(change(0, "bytes", EXACT), "0 B");
  assert.equal(changeCell(-3, "blocks", EXACT), "▼ 3");
  assert.equal(sideCell(0, "bytes", EXACT), "–");
  assert.equal(sideCell(3, "blocks", "≈ "), "≈ 3");
});

test("what is not exact says so, as the command does", () => {
  assert.equal(bytes(432013312, "≈ "), "≈ 412.0 MiB");
  assert.equal(bytes(-1536, "≈ "), "≈ -1.5 KiB");
  assert.equal(count(14204118, "≥ "), "≥ 14.2 M");
  assert.equal(amount(1, "blocks", "≤ "), "≤ 1 block");
  assert.equal(change(-2048, "bytes", "≈ "), "▼ ≈ 2.0 KiB");
  assert.equal(share(462, 1000, "≥ "), "≈ 46.2 %");
  assert.equal(share(0, 1000, "≈ "), "0 %");
  assert.equal(percent(61, 100, "≈ "), "≈ 61 %");
  assert.equal(percent(0, 100, "≈ "), "0 %");
});
