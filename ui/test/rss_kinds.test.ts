// SPDX-License-Identifier: Apache-2.0
//
// Resident memory by kind: read as it was written, and drawn and told as far as it is known.

import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "../src/engine/decode.ts";
import { kindEdges, kindsSeen, mostOfKinds, lookNear, nearRuns } from "../src/engine/rss_kinds.ts";
import type { RssKinds } from "../src/engine/model.ts";
import { encode, partsOf } from "./encode.ts";
import { synthetic } from "./synthetic.ts";

const of = (...rows: number[][]): RssKinds => {
  const column = (i: number) => Float64Array.from(rows, (row) => row[i]);
  return {
    ns: column(0), anonymous: column(1), files: column(2), shared: column(3), swapped: column(4),
  };
};

const LOOKS = of([10, 4, 2, 0, 0], [20, 5, 2, 0, 1], [60, 1, 3, 0, 3]);

test("it comes back as it was written", () => {
  const model = { ...synthetic({ nodes: 60, sites: 20, snapshots: 3, ticks: 4 }), rssKinds: LOOKS };
  assert.deepEqual(decode(encode(partsOf(model))).rssKinds, LOOKS);
  const alone = { ...model, rssKinds: of([10, 4, 2, 0, 0]) };
  assert.equal(decode(encode(partsOf(alone))).rssKinds, undefined, "one look is no course");
  const falling = { ...model, rssKinds: of([20, 4, 2, 0, 0], [10, 4, 2, 0, 0]) };
  assert.throws(() => decode(encode(partsOf(falling))), /out of order/);
});

test("kinds lie upon each other, and those of which there is nothing are left out", () => {
  assert.deepEqual(kindsSeen(LOOKS), ["anonymous", "files", "swapped"]);
  assert.equal(mostOfKinds(LOOKS), 8);
  assert.deepEqual(kindEdges(LOOKS, "anonymous"), [[0, 4], [0, 5], [0, 1]]);
  assert.deepEqual(kindEdges(LOOKS, "swapped"), [[6, 6], [7, 8], [4, 7]]);
});

test("what is far from every look is not known", () => {
  assert.equal(lookNear(LOOKS, 14, 5, null), 0);
  assert.equal(lookNear(LOOKS, 16, 5, null), 1);
  assert.equal(lookNear(LOOKS, 2, 5, null), -1);
  assert.equal(lookNear(LOOKS, 5, 5, null), 0);
  assert.equal(lookNear(LOOKS, 40, 5, null), -1);
  assert.equal(lookNear(LOOKS, 1000, Infinity, null), 2);
  assert.equal(lookNear(LOOKS, 21, 50, 4), 2, "it had gone by then");
  assert.equal(lookNear(LOOKS, 59, 50, 7), 1, "it had not gone yet");
  assert.equal(lookNear(LOOKS, 30, 50, 20), -1, "nobody saw as much");
  assert.deepEqual(nearRuns(LOOKS, 10), [[0, 1], [2, 2]]);
  assert.deepEqual(nearRuns(LOOKS, 9), [[0, 0], [1, 1], [2, 2]]);
  assert.deepEqual(nearRuns(LOOKS, 40), [[0, 2]]);
});
