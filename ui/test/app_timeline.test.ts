// SPDX-License-Identifier: Apache-2.0
//
// The numbers behind the timeline chart.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hasRates,
  indexAt,
  makeTimeline,
  rateBins,
  rates,
  steps,
} from "../src/app/timeline_data.ts";
import { localPeaks, totalAtSnapshots } from "../src/engine/curves.ts";
import type { Model } from "../src/engine/model.ts";
import { cellSites } from "./encode.ts";

// Two sites of the heap and one of pages; snapshots at 10, 20 and 40; ticks at 5, 20 and 30.
function model(): Model {
  const end = Uint32Array.of(3, 4, 6);
  return {
    facts: { totals: {} },
    sites: { kind: Uint8Array.of(0, 1, 2) },
    snapshots: {
      count: 3,
      ns: Float64Array.of(10, 20, 40),
      kind: Uint8Array.of(0, 1, 2),
      end,
      site: cellSites([0, 1, 2, 0, 0, 2], end),
      bytes: Float64Array.of(100, 5000, 7, 50, -120, -7),
      blocks: Float64Array.of(4, 1, 1, 2, -5, -1),
    },
    ticks: {
      count: 3,
      ns: Float64Array.of(5, 20, 30),
      liveBytes: Float64Array.of(60, 999, 90),
      liveBlocks: Float64Array.of(2, 99, 3),
      bAlloc: Float64Array.of(60, 210, 210),
      nAlloc: Float64Array.of(2, 8, 8),
      rss: Float64Array.of(1000, 0, 3000),
    },
  } as unknown as Model;
}

test("snapshots weigh the heap, not the program's own pages", () => {
  assert.deepEqual([...totalAtSnapshots(model(), "bytes")], [107, 157, 30]);
  assert.deepEqual([...totalAtSnapshots(model(), "blocks")], [5, 7, 1]);
});

test("the peak is the one that was seen, not the sum of its stacks' shares", () => {
  const threads = model();
  threads.facts.totals.peak_bytes = 160;
  assert.deepEqual([...totalAtSnapshots(threads, "bytes")], [107, 160, 30]);
  assert.deepEqual([...totalAtSnapshots(threads, "blocks")], [5, 7, 1]);
});

test("the line goes through ticks and snapshots; where both are, the snapshot is right", () => {
  const { ns, live, rss } = makeTimeline(model(), "bytes");
  assert.deepEqual([...ns], [0, 5, 10, 20, 30, 40]);
  assert.deepEqual([...live], [0, 60, 107, 157, 90, 30]);
  assert.deepEqual(rss, [null, 1000, 1000, 1000, 3000, 3000]);
});

test("RSS of a tick that is a snapshot as well is not lost", () => {
  const one = model();
  one.ticks.rss[1] = 2000;
  assert.deepEqual(makeTimeline(one, "bytes").rss, [null, 1000, 1000, 2000, 3000, 3000]);
});

test("RSS at the peak is what was seen then", () => {
  const one = model();
  one.facts.totals.rss_at_peak_bytes = 2500;
  assert.deepEqual(makeTimeline(one, "bytes").rss, [null, 1000, 1000, 2500, 3000, 3000]);
});

test("blocks have no RSS", () => {
  const { live, rss } = makeTimeline(model(), "blocks");
  assert.deepEqual([...live], [0, 2, 5, 7, 3, 1]);
  assert.equal(rss, null);
});

test("a run without ticks has the line of its snapshots", () => {
  const bare = model();
  bare.ticks = { ...bare.ticks, count: 0, ns: new Float64Array(), rss: new Float64Array() };
  const { ns, live, rss } = makeTimeline(bare, "bytes");
  assert.deepEqual([...ns], [0, 10, 20, 40]);
  assert.deepEqual([...live], [0, 107, 157, 30]);
  assert.equal(rss, null);
});

test("rates add up to what was allocated, however many bins there are", () => {
  for (const n of [1, 2, 3, 7, 40]) {
    const bins = rates(model(), "bytes", 40, n);
    assert.equal(bins.length, n);
    const sum = bins.reduce((total, rate) => total + (rate * (40 / n)) / 1e9, 0);
    assert.ok(Math.abs(sum - 210) < 1e-6, `${n} bins: ${sum}`);
    assert.ok(bins.every((rate) => rate >= 0));
  }
});

test("a rate is that of its time", () => {
  const bins = rates(model(), "bytes", 40, 4); // 0-10, 10-20, 20-30, 30-40
  assert.deepEqual(
    [...bins].map((rate) => Math.round(rate / 1e8)),
    [110, 100, 0, 0],
  );
});

test("no more bins than ticks or pixels, and at least one", () => {
  assert.equal(rateBins(model(), 900), 3);
  assert.equal(rateBins(model(), 6), 2);
  assert.equal(rateBins(model(), 0), 1);
});

test("the last time not after a moment", () => {
  const times = [10, 20, 20, 40];
  assert.deepEqual(
    [5, 10, 19, 20, 39, 40, 99].map((ns) => indexAt(times, ns)),
    [-1, 0, 0, 2, 2, 3, 3],
  );
  assert.equal(indexAt([], 5), -1);
});

test("axes have rising steps", () => {
  for (const base of [2, 10] as const) {
    const all = steps(base);
    assert.ok(all.every((step, i) => i === 0 || step > all[i - 1]));
  }
});

test("a rate nobody counted is not told as none", () => {
  const of = model();
  assert.ok(hasRates(of, "bytes"));
  of.ticks.bAlloc.fill(0);
  assert.ok(!hasRates(of, "bytes") && hasRates(of, "blocks"));
  of.facts.totals.allocations = 0;
  assert.ok(hasRates(of, "bytes"), "nothing was allocated");
});

test("what is held to the end is a peak at the end, not just before it", () => {
  const of = model();
  Object.assign(of.facts, { image: { lacks: [] } });
  Object.assign(of.ticks, { count: 0, ns: new Float64Array(0), liveBytes: new Float64Array(0) });
  const end = Uint32Array.of(1, 2, 3, 4, 5);
  Object.assign(of.snapshots, {
    count: 5, ns: Float64Array.of(10, 20, 30, 40, 50), kind: Uint8Array.of(0, 1, 0, 0, 2),
    end, site: cellSites([0, 0, 0, 0, 0], end),
    bytes: Float64Array.of(100, 400, -450, 200, -1),
  });
  assert.deepEqual([...totalAtSnapshots(of, "bytes")], [100, 500, 50, 250, 249]);
  assert.deepEqual(localPeaks(of), [1, 4]);
});
