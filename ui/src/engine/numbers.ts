// SPDX-License-Identifier: Apache-2.0
//
// Made from src/model/numbers.def and src/store/codes.h by tools/page_numbers.py.

// What is counted per stack:
//
//   done      adds up; what a thread did, whosever blocks they were
//   held      adds up; of the blocks that a thread allocated
//   earliest  the first, of rows with allocations
//   latest    the last, of rows with allocations

export const NUMBERS = [
  { key: "nAlloc", column: "row_n_alloc", rule: "done", json: "allocations" },
  { key: "bAlloc", column: "row_b_alloc", rule: "done", json: "bytes" },
  { key: "nFree", column: "row_n_free", rule: "done", json: "frees" },
  { key: "bFree", column: "row_b_free", rule: "done", json: "freed_bytes" },
  { key: "peakBlocks", column: "row_peak_blocks", rule: "held", json: "peak_blocks" },
  { key: "peakBytes", column: "row_peak_bytes", rule: "held", json: "peak_bytes" },
  { key: "lifeNs", column: "row_life_ns", rule: "done", json: null },
  { key: "ageNs", column: "row_age_ns", rule: "held", json: null },
  { key: "nTemp", column: "row_n_temp", rule: "done", json: "temporary" },
  { key: "nForeign", column: "row_n_foreign", rule: "done", json: "foreign_frees" },
  { key: "nResize", column: "row_n_resize", rule: "done", json: "resizes" },
  { key: "bResizeOld", column: "row_b_resize_old", rule: "done", json: "resized_old_bytes" },
  { key: "nMoved", column: "row_n_moved", rule: "done", json: "moved" },
  { key: "firstNs", column: "row_first_ns", rule: "earliest", json: "first_ns" },
  { key: "lastNs", column: "row_last_ns", rule: "latest", json: "last_ns" },
  { key: "bTemp", column: "row_b_temp", rule: "done", json: "temporary_bytes" },
  { key: "bMoved", column: "row_b_moved", rule: "done", json: "moved_bytes" },
  { key: "bResizeNew", column: "row_b_resize_new", rule: "done", json: "resized_new_bytes" },
  { key: "nSamples", column: "row_n_samples", rule: "done", json: "samples" },
] as const;

export type NumberKey = (typeof NUMBERS)[number]["key"];
export type NumberRule = (typeof NUMBERS)[number]["rule"];

export function numbersOf(...rules: NumberRule[]): NumberKey[] {
  return NUMBERS.filter((number) => rules.includes(number.rule)).map((number) => number.key);
}

export const FrameFlag = {
  isExact: 1,
  guessed: 2,
  cut: 4,
  pages: 8,
  lost: 16,
  stored: 31,
  inlined: 32,
  pruned: 64,
} as const;
export const SiteKind = {
  heap: 0,
  pages: 1,
  lost: 2,
} as const;
