// SPDX-License-Identifier: Apache-2.0
//
// The bands of the timeline: at every snapshot what the command's report has for that group and
// moment, together with the others the whole heap, and chosen by the most that each ever held.

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeBands, worstGap } from "../src/engine/bands.ts";
import { courseOfSites, selectedLine } from "../src/app/selected.ts";
import { courseOf } from "../src/app/spark.tsx";
import { makeTimeline } from "../src/app/timeline_data.ts";
import { curve, totalAtSnapshots } from "../src/engine/curves.ts";
import { group } from "../src/engine/groups.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { modulePath } from "../src/engine/names.ts";
import { courseIn, threadKey } from "../src/engine/narrow.ts";
import { NUMBERS } from "../src/engine/numbers.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { snapshotOfKind, weigh, type Unit } from "../src/engine/question.ts";
import { nearestSnapshot } from "../src/engine/question.ts";
import { threadCourses } from "../src/engine/thread_courses.ts";
import { ask, modelOf, recorded } from "./command.ts";
import { cellSites, sitesOf } from "./encode.ts";
import { synthetic } from "./synthetic.ts";

const UNITS: Unit[] = ["bytes", "blocks"];

function frameKey(model: Model, frame: number, isPlace: boolean) {
  const { frames, text } = model;
  const file = frames.file[frame];
  return JSON.stringify([text[frames.function[frame]], file ? text[file] : null,
    isPlace ? frames.line[frame] : 0, modulePath(model, frame)]);
}

function theirKey(one: any, isPlace: boolean): string {
  return JSON.stringify([one.function, one.file, isPlace ? one.line : 0, one.module]);
}

const CAPTURES: [string, () => string][] = [
  ["threads that hand blocks over", () => recorded("page_handover.c", "-pthread")],
  ["a recorded program of three threads", () => recorded("page_shapes.c", "-pthread")],
];

for (const [name, make] of CAPTURES)
  test(`bands have the command's numbers at its moments: ${name}`, () => {
    const file = make();
    const model = modelOf(file);
    const run = model.facts.image.end_ns - model.facts.image.start_ns;
    const moments: [string, number][] = [
      ...[13, 50, 88].map((percent): [string, number] => [
        `${percent}%`,
        nearestSnapshot(model, Number((BigInt(run) * BigInt(percent)) / 100n)),
      ]),
      ["peak", snapshotOfKind(model, "peak")!],
      ["end", snapshotOfKind(model, "end")!],
    ];
    const filters = [{}, { function: ["a"] }];
    for (const unit of UNITS)
      for (const kind of ["place", "function"] as const)
        for (const filter of filters) {
          const view = makeView(model, { ...emptyLook, ...filter });
          const all = makeBands(view, kind, unit, 40).bands;
          const bands = all.filter(({ group }) => model.frames.function[group.frame]);
          assert.ok(bands.length > 0); // what has no name is told by addresses
          const words = Object.entries(filter).flatMap(([key, [word]]) => [`--${key}`, word]);
          for (const [at, snapshot] of moments) {
            const { json } = ask("report", file, "--sort", "live", "--by", unit, "--group", kind,
              "--at", at, "-n", "100000", ...words);
            const theirs = new Map<string, number>(
              json.groups.map((one: any) => [theirKey(one, kind === "place"), one.weight]));
            for (const { group: { frame }, live } of bands) {
              const key = frameKey(model, frame, kind === "place");
              assert.equal(live[snapshot], theirs.get(key) ?? 0, `${at} ${kind} ${unit} ${key}`);
            }
          }
        }
  });

// They share stacks; of threads these are told apart at the peak and the end, as in the report.
for (const [name, make] of CAPTURES)
  test(`bands of threads and classes have the command's numbers, too: ${name}`, () => {
    const file = make();
    const model = modelOf(file);
    const view = makeView(model, emptyLook);
    const { isEstimate } = threadCourses(view, "bytes");
    const theirs = (kind: string, unit: Unit, ...words: string[]) =>
      ask("report", file, "--by", unit, "--group", kind, ...words).json.groups
        .map((one: any) => one.weight).filter(Boolean).sort((a: number, b: number) => b - a);
    for (const unit of UNITS)
      for (const kind of ["thread", "size", "lifetime"] as const) {
        const { bands, others, total } = makeBands(view, kind, unit, 100);
        assert.ok(others.every((rest) => rest <= bands.length)); // of halves
        for (const at of ["peak", "end"] as const) {
          const s = snapshotOfKind(model, at)!;
          const ours = bands.map(({ live }) => live[s]).filter(Boolean);
          const asked = kind !== "thread" ? ["--sort", "live", "--at", at]
            : ["--sort", at === "peak" ? "peak" : "live"];
          const wanted = theirs(kind, unit, ...asked);
          assert.deepEqual(ours.sort((a, b) => b - a), wanted, `${kind} ${at}`);
          assert.equal(isEstimate[s], 0);
        }
        for (const { group: one, live } of bands.filter(({ group }) => !group.several)) {
          const chosen = kind === "thread" ? threadKey(model, one.number) : one.number;
          const part = makeView(model, { ...emptyLook, [kind]: chosen });
          assert.deepEqual(courseIn(part, unit)!.live, live, `the line of ${chosen}`);
          live.forEach((held, s) => assert.ok(held <= total[s] + 1));
        }
      }
  });

// Two threads at one stack: all is the one's at the peak, and the other's at the end.
test("between the peak and the end the shares of threads go straight", () => {
  const model = synthetic({ seed: 5, nodes: 9, sites: 1, snapshots: 5 });
  const { rows, sites, snapshots } = model;
  snapshots.end.set([1, 2, 3, 4, 5]);
  snapshots.site = cellSites([0, 0, 0, 0, 0], snapshots.end);
  snapshots.bytes = Float64Array.of(40, 30, 30, 20, -20); // the peak is the third
  Object.assign(rows, { count: 2, site: Uint32Array.of(0, 0), thread: Uint32Array.of(1, 2) });
  for (const of of [rows, sites])
    for (const key of NUMBERS.map((one) => one.key)) of[key] = new Float64Array(2);
  rows.nAlloc.set([3, 1]);
  rows.bAlloc.set([300, 100]);
  rows.bFree.set([300, 0]);
  rows.peakBytes.set([100, 0]);
  sites.bAlloc[0] = 400;
  sites.bFree[0] = 300;
  sites.peakBytes[0] = 100;
  sites.kind[0] = 0;
  const { live, isEstimate } = threadCourses(makeView(model, emptyLook), "bytes");
  assert.deepEqual(live.slice(1, 3).map((one) => [...one]), [
    [40, 70, 100, 60, 0], [0, 0, 0, 60, 100],
  ]);
  assert.deepEqual([...isEstimate], [1, 1, 0, 1, 0]);
});

// So large that going over every stack at every snapshot would take seconds.
test("a very large capture has bands and lines of its threads", () => {
  const model = synthetic({ seed: 8, nodes: 60000, sites: 60000, snapshots: 60, threads: 5 });
  const { snapshots, rows } = model;
  const { bands, others, total } = makeBands(makeView(model, emptyLook), "thread", "bytes", 10);
  assert.ok(bands.length > 1);
  const last = snapshots.count - 1;
  const now = new Float64Array(model.sites.count);
  sitesOf(snapshots).forEach((site, i) => (now[site] += snapshots.bytes[i]));
  for (const { group: { number }, live } of bands) {
    let held = 0; // every stack of these is of one thread
    for (let i = 0; i < rows.count; i++)
      held += rows.thread[i] === number ? now[rows.site[i]] : 0;
    assert.equal(live[last], held, `thread ${number}`);
    const part = makeView(model, { ...emptyLook, thread: threadKey(model, number) });
    assert.deepEqual(courseIn(part, "bytes")!.live, live);
  }
  total.forEach((all, s) =>
    assert.equal(bands.reduce((sum, { live }) => sum + live[s], others[s]), all));
});

test("bands and others are the whole, and nobody who ever held more is left out", () => {
  for (const seed of [1, 2, 3, 4]) {
    const model = synthetic({ seed, nodes: 300, sites: 200, snapshots: 9 });
    const view = makeView(model, emptyLook);
    for (const unit of UNITS) {
      const { bands, others, total } = makeBands(view, "place", unit, 4);
      assert.deepEqual(total, totalAtSnapshots(model, unit));
      const asked = { measure: "total", unit, from: null, to: null } as const;
      const { items } = group(view, asked, "place");
      const held = (sites: Uint32Array, s: number) => {
        const weights = weigh(model, { measure: "live", unit, from: null, to: s });
        let sum = 0;
        for (const site of sites)
          sum += model.sites.kind[site] === 1 ? 0 : weights[site];
        return sum;
      };
      const most = (sites: Uint32Array) =>
        Math.max(...total.map((_, s) => held(sites, s)));
      const chosen = new Set(bands.map((band) => band.group.frame));
      const least = Math.min(...bands.map((band) => most(band.group.sites)));
      for (const item of items)
        assert.ok(chosen.has(item.frame) || most(item.sites) <= least);
      total.forEach((sum, s) => {
        let inBands = 0;
        for (const band of bands) {
          assert.equal(band.live[s], Math.max(0, held(band.group.sites, s)));
          inBands += band.live[s];
        }
        assert.equal(others[s], Math.max(0, sum - inBands));
      });
    }
  }
});

test("bands of as many groups as there are stacks make no list of each", () => {
  const view = makeView(synthetic({ nodes: 3000, sites: 900, snapshots: 6, ticks: 20 }), emptyLook);
  const all = group(view, { measure: "total", unit: "bytes", from: null, to: null }, "stack");
  const itemOf = atOnce(all.itemOf());
  all.items.forEach(({ sites }, i) => sites.forEach((site) => assert.equal(itemOf[site], i)));
  assert.equal(itemOf.filter((item) => item < all.items.length).length, all.items.length);
  const { subarray } = Uint32Array.prototype;
  let lists = 0;
  Uint32Array.prototype.subarray = function (...words) {
    lists++;
    return subarray.apply(this, words);
  };
  const { bands } = makeBands(view, "stack", "bytes", 8);
  Uint32Array.prototype.subarray = subarray;
  assert.equal(bands.length, 8);
  assert.ok(lists < 20, `${lists} lists`);
});

test("what is next to nothing of all is no band", () => {
  const model = synthetic({ seed: 3, nodes: 9, sites: 3, snapshots: 2 });
  const { snapshots, sites } = model;
  snapshots.end.set([3, 3]);
  snapshots.site = cellSites([0, 1, 2], snapshots.end);
  snapshots.bytes = Float64Array.of(1_000_000, 1_010, 990); // of 1,002,000 in all
  sites.kind.fill(0);
  const { bands, others } = makeBands(makeView(model, emptyLook), "stack", "bytes", 8);
  assert.deepEqual(bands.map(({ live }) => live[0]), [1_000_000, 1_010]);
  assert.equal(others[0], 990);
});

test("the longest time without a look counts the start and the end", () => {
  const model = synthetic({ seed: 5, nodes: 9, sites: 5, snapshots: 3 });
  model.snapshots.ns.set([10, 30, 45]);
  assert.equal(worstGap(model, 50), 20);
  assert.equal(worstGap(model, 80), 35);
  model.snapshots.ns.set([30, 31, 45]);
  assert.equal(worstGap(model, 50), 30);
});

// Two stacks that go up and down between two snapshots: the one was looked at, the other was not.
test("between snapshots a band is what was seen of it, and a share of what is left", () => {
  const model = synthetic({ seed: 5, nodes: 60, sites: 12, snapshots: 3, ticks: 5 });
  const { snapshots, ticks } = model;
  const view = makeView(model, emptyLook);
  const plain = makeBands(view, "stack", "bytes", 4);
  assert.equal(plain.atTicks, null);
  const site = plain.bands[0].group.sites[0];
  const seen = [...ticks.ns].map((_, t) => (t === 0 ? -1 : 1000 * t));
  const held = { sites: Uint32Array.of(site), bytes: Float64Array.from(seen) };
  const known = { ...model, held, ticks: { ...ticks, liveBytes: ticks.liveBytes.map(() => 1e12) } };
  const made = makeBands(makeView(known, emptyLook), "stack", "bytes", 4);
  assert.deepEqual(made.bands.map(({ live }) => live), plain.bands.map(({ live }) => live));
  const alone = plain.bands[0].group.sites.length === 1;
  for (let t = 1; t < ticks.count && alone; t++)
    assert.equal(made.atTicks![0][t], 1000 * t);
  for (let t = 0; t < ticks.count; t++) {
    const sum = made.atTicks!.reduce((all, values) => all + values[t], 0);
    assert.ok(sum <= 1e12 * (1 + 1e-9), "together no more than the heap");
  }
  assert.ok(snapshots.count === 3);
});

// A row has its hill between two snapshots, in its spark line as in the line of the selection.
test("what a row held between snapshots is seen wherever its course is drawn", () => {
  const model = synthetic({ seed: 5, nodes: 60, sites: 12, snapshots: 3, ticks: 5 });
  const sites = Uint32Array.of(makeBands(makeView(model, emptyLook), "stack", "bytes", 1)
    .bands[0].group.sites[0]);
  const { live } = curve(model, sites, "bytes");
  const plain = courseOf(model, sites, live);
  assert.deepEqual([plain.times, plain.values], [model.snapshots.ns, live]);
  const hill = Math.max(...live) + 5000;
  const ticks = { ...model.ticks, liveBytes: model.ticks.liveBytes.map(() => 1e12) };
  const held = { sites, bytes: Float64Array.from(ticks.ns, () => hill) };
  const seen = { ...model, ticks, held };
  const course = courseOf(seen, sites, live);
  assert.equal(course.most, hill);
  assert.ok(course.values.includes(hill) && live.every((n) => course.values.includes(n)));
  assert.deepEqual([...course.times], [...course.times].sort((a, b) => a - b));
  const line = makeTimeline(seen, "bytes");
  const selected = selectedLine(seen, atOnce(courseOfSites(seen, sites, "bytes")), line);
  ticks.ns.forEach((ns) => {
    if (!model.snapshots.ns.includes(ns))
      assert.equal(selected[line.ns.indexOf(ns)], hill);
  });
  model.snapshots.ns.forEach((ns, s) => {
    const i = line.ns.lastIndexOf(ns);
    assert.equal(selected[i], Math.min(live[s], line.live[i]));
  });
});
