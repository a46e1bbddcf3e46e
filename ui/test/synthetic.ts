// SPDX-License-Identifier: Apache-2.0
//
// Large models made from a seed, for tests and benches: the same seed gives the same model. Their
// stacks look like a program's: some deep libraries, recursion here and there, runtime frames at
// both ends, sites in several threads, snapshots in which few sites change.

import {
  FrameFlag, type Column, type Facts, type Model, type Numbers,
} from "../src/engine/model.ts";
import { NUMBERS } from "../src/engine/numbers.ts";
import { cellSites } from "./encode.ts";

export interface Shape {
  seed?: number;
  nodes: number;
  sites: number;
  frames?: number;
  snapshots?: number;
  ticks?: number;
  threads?: number;
  changed?: number; // share of the sites that change from one snapshot to the next
}

// Small, quick and good enough for shapes (mulberry32).
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MEASURE_WORDS = Object.fromEntries(
  ["peak", "live", "total", "grown", "leak", "temp"].map((measure) =>
    [measure, { bytes: measure, blocks: `blocks ${measure}` }]));

const questionWords = (measure: string) => ({
  whole: measure, part: measure, moment: `${measure} at {to}`,
  range: `${measure} from {from} to {to}`,
  range_at_least: `${measure} (at least) from {from} to {to}`, refused: null,
  part_refused: measure === "peak" || measure === "temp" ? "It has no parts." : null,
});
const wordsOf = (snapshots: number): Facts["words"] => ({
  measures: Object.fromEntries(
    ["peak", "live", "total", "grown", "leak", "temp"].map((measure) =>
      [measure, { name: measure, hint: measure, nothing: "nothing",
        bytes: questionWords(measure), blocks: questionWords(`blocks ${measure}`) }]),
  ) as Facts["words"]["measures"],
  groups_refused: {}, calls: ["not told", "malloc"],
  moments: Array.from({ length: snapshots }, (_, i) => `moment ${i}`),
  no_moment: "No moment.", no_range: "No range.",
  no_peak: "No peak.", kept: "leaks", kept_class: "(never freed)",
});

function makeFrames(model: Model, next: () => number, count: number): void {
  const string = (text: string) => model.text.push(text) - 1;
  const many = (n: number, make: (i: number) => number) =>
    Array.from({ length: n }, (_, i) => make(i));
  const files = many(1 + (count >> 5), (i) => string(`/src/part${i % 40}/f${i}.rs`));
  const crates = many(12, (i) => string(`crate${i}`));
  const modules = ["", "/usr/bin/program", "/usr/lib/libc.so.6", "/usr/lib/libz.so.1"].map(string);
  modules[0] = 0;
  model.modules = Uint32Array.from(modules);
  model.builds = new Uint32Array(modules.length);
  const { frames } = model;
  let fn = 0;
  for (let i = 0; i < count; i++) {
    if (i % 3 === 0) // a function is on some lines
      fn = string(`crate${i % 12}::part${i % 40}::function_${i}<${"T".repeat(i % 7)}>`);
    const isNameless = next() < 0.02;
    frames.function[i] = isNameless ? 0 : fn;
    frames.file[i] = isNameless ? 0 : files[Math.floor((i / count) * files.length)];
    frames.crate[i] = isNameless ? 0 : crates[i % 12];
    frames.line[i] = isNameless ? 0 : 10 + (i % 900);
    frames.module[i] = 1 + (i % 3 === 2 ? 1 : 0);
    frames.address[i] = isNameless ? 0x1000 + i * 16 : 0;
    frames.layer[i] = next() < 0.2 ? 1 + Math.floor(next() * 6) : 0;
    frames.flags[i] = next() < 0.3 ? FrameFlag.inlined : 0;
  }
}

const CALLEES_N = 6; // of a function: stacks share their inner ends as they do their outer ones
const DEPTH_MAX = 64;

// Each node hangs at one made shortly before or at one from anywhere: chains, and places where many
// ways part.
function makeNodes(model: Model, next: () => number): void {
  const { nodes, frames } = model;
  const depth = new Uint32Array(nodes.count);
  for (let i = 1; i < nodes.count; i++) {
    const near = i - 1 - Math.floor(next() * Math.min(i, 6));
    const parent = next() < 0.93 ? near : Math.floor(next() * i);
    const outer = Math.floor(next() * Math.min(i, 50));
    nodes.parent[i] = depth[parent] >= DEPTH_MAX ? outer : parent;
    depth[i] = depth[nodes.parent[i]] + 1;
    nodes.deepest = Math.max(nodes.deepest, depth[i]);
    const isRecursion = next() < 0.06 && nodes.parent[i] !== 0;
    const caller = nodes.frame[nodes.parent[i]];
    const callee = Math.imul(caller + 1, 0x9e3779b1) + Math.floor(next() * CALLEES_N) * 0x85ebca6b;
    nodes.frame[i] = isRecursion ? caller : (callee >>> 0) % frames.count;
  }
}

// Of nothing yet.
function noNumbers(count: number): Numbers {
  const columns = NUMBERS.map(({ key }) => [key, new Float64Array(count)]);
  return Object.fromEntries(columns) as Numbers;
}

function makeSites(model: Model, next: () => number, nThreads: number): void {
  const { sites, rows, nodes } = model;
  for (let i = 0; i < sites.count; i++) {
    sites.node[i] = 1 + Math.floor(((i + next()) / sites.count) * (nodes.count - 1));
    const size = 16 << Math.floor(next() * 8);
    sites.nAlloc[i] = 1 + Math.floor(1000 * next() ** 6);
    sites.bAlloc[i] = sites.nAlloc[i] * size;
    sites.nFree[i] = next() < 0.7 ? sites.nAlloc[i] : Math.floor(next() * sites.nAlloc[i]);
    sites.bFree[i] = sites.nFree[i] * size;
    sites.peakBlocks[i] = next() < 0.4 ? 0 : Math.floor(next() * sites.nAlloc[i]);
    sites.peakBytes[i] = sites.peakBlocks[i] * size;
    sites.nTemp[i] = Math.floor(next() * sites.nFree[i]);
    sites.bTemp[i] = sites.nTemp[i] * size;
    sites.lifeNs[i] = sites.nFree[i] * 1000;
    sites.firstNs[i] = Math.floor(next() * 1e9);
    sites.lastNs[i] = sites.firstNs[i] + Math.floor(next() * 1e9);
    sites.ownMax[i] = sites.peakBytes[i];
    rows.site[i] = i;
    rows.thread[i] = Math.floor(next() * nThreads);
  }
  for (const key of Object.keys(noNumbers(0)) as (keyof Numbers)[])
    rows[key].set(sites[key]);
}

function makeSnapshots(model: Model, next: () => number, changed: number): void {
  const { snapshots, sites } = model;
  const cells = { site: [] as number[], bytes: [] as number[], blocks: [] as number[] };
  const live = new Float64Array(sites.count);
  for (let s = 0; s < snapshots.count; s++) {
    for (let i = 0; i < sites.count; i++) {
      if (next() >= (s ? changed : 0.5))
        continue;
      const blocks = Math.floor(next() * 100) * (next() < 0.2 ? 0 : 1);
      cells.site.push(i);
      cells.blocks.push(blocks - live[i]);
      cells.bytes.push((blocks - live[i]) * 64);
      live[i] = blocks;
    }
    snapshots.ns[s] = ((s + 1) * 2e9) / snapshots.count;
    snapshots.end[s] = cells.site.length;
    snapshots.kind[s] = s === snapshots.count - 1 ? 2 : s === snapshots.count >> 1 ? 1 : 0;
  }
  snapshots.site = cellSites(cells.site, snapshots.end);
  snapshots.bytes = Float64Array.from(cells.bytes);
  snapshots.blocks = Float64Array.from(cells.blocks);
  snapshots.nAlloc = snapshots.blocks.map((n) => Math.max(0, n));
  snapshots.bAlloc = snapshots.bytes.map((n) => Math.max(0, n));
}

function makeTicks(model: Model, next: () => number): void {
  const { ticks } = model;
  for (let i = 0, live = 0; i < ticks.count; i++) {
    live = Math.max(0, live + (next() - 0.45) * 1e6);
    ticks.ns[i] = ((i + 1) * 2e9) / ticks.count;
    ticks.liveBytes[i] = Math.floor(live);
    ticks.liveBlocks[i] = Math.floor(live / 64);
    ticks.rss[i] = Math.floor(live * 1.3 + 4e6);
    ticks.nAlloc[i] = i * 1000;
    ticks.bAlloc[i] = i * 64000;
  }
}

function sum(values: Column): number {
  let all = 0;
  for (const one of values)
    all += one;
  return all;
}

function makeFacts(model: Model, nThreads: number): void {
  const { sites } = model;
  const image = {
    index: 0, pid: 17, ppid: 1, program: "program", exe: "/usr/bin/program",
    command: ["program"], by_fork: false, merged: false,
    start_ns: 0, end_ns: 2e9, end: "exited" as const, end_value: 0,
  };
  model.facts = {
    schema: "tidemark-page-2", tool_version: "0",
    capture: {
      file: "made.tide", complete: true, finished: true, note: null, arch: "x86_64",
      duration_ns: 2e9, run: { refused: 0, unrecorded: [] },
    },
    host: { name: "host", kernel: "6.1", start_realtime_ns: 0 },
    image: {
      ...image, origin: null, lacks: [], allocator: "", recorded_by: null, allocators: null,
      off_reason: 0, threads: nThreads, max_live_threads: nThreads, inherited_bytes: 0,
    },
    images: [{ ...image, process: "program (process 1)", peak_exactness: { is: "exact" } }],
    totals: {
      allocations: sum(sites.nAlloc), allocated_bytes: sum(sites.bAlloc), frees: sum(sites.nFree),
      freed_bytes: sum(sites.bFree), temporary: sum(sites.nTemp),
      live_blocks: sum(sites.nAlloc) - sum(sites.nFree),
      live_bytes: sum(sites.bAlloc) - sum(sites.bFree), peak_bytes: sum(sites.peakBytes),
      peak_blocks: sum(sites.peakBlocks), peak_ns: 1e9, rss_at_peak_bytes: 2 * sum(sites.peakBytes),
    },
    exactness: {
      sampled: null, allocated: { is: "exact" }, live: { is: "exact" }, peak: { is: "exact" },
      own_max: { is: "exact" }, times: { is: "exact" }, mapped: { is: "exact" },
    },
    words: wordsOf(model.snapshots.count),
    diff: {
      notes: [], moments: { bytes: "held", blocks: "blocks held" },
      measures: MEASURE_WORDS,
      unchanged: "no %s changed: %s %s, in %s",
    },
    pages: {}, completeness: { stacks: sites.count },
    threads: Array.from({ length: nThreads }, (_, i) => ({ tid: i, name: `t${i}`, owners: 1 })),
    unrecorded: [], info: [], verdict_so_far: null,
    verdict: { program: "program", title: ["exited 0 in 2.00 s"], sentences: [] },
    marks: [], blame: "own", wrappers: [], wrappers_told: null,
    has: { temporary_bytes: true, counts: true }, pruned: null,
    findings: { title: null, list: [], unjudged: null, none: null },
    residence: {
      none: "Nobody looked.", between: "", rss_is_own: true, choices: [], parts: [],
      map_words: [], grown: [], tables: [],
    },
  } satisfies Facts;
}

export function synthetic(shape: Shape): Model {
  const next = random(shape.seed ?? 1);
  const nFrames = shape.frames ?? Math.max(8, shape.nodes >> 4);
  const [nNodes, nSites] = [shape.nodes, shape.sites];
  const [nSnaps, nTicks, nThreads] = [shape.snapshots ?? 0, shape.ticks ?? 0, shape.threads ?? 4];
  const u32 = (n: number) => new Uint32Array(n);
  const f64 = (n: number) => new Float64Array(n);
  const model = {
    text: [""],
    frames: {
      count: nFrames, function: u32(nFrames), file: u32(nFrames), crate: u32(nFrames),
      line: u32(nFrames), module: u32(nFrames), address: f64(nFrames),
      layer: new Uint8Array(nFrames), flags: new Uint8Array(nFrames),
    },
    nodes: {
      count: nNodes, parent: u32(nNodes), frame: u32(nNodes), deepest: 0,
    },
    sites: {
      count: nSites, node: u32(nSites), kind: new Uint8Array(nSites),
      call: new Uint8Array(nSites), ownMax: f64(nSites),
      ...noNumbers(nSites),
    },
    rows: { count: nSites, site: u32(nSites), thread: u32(nSites), ...noNumbers(nSites) },
    histograms: {
      count: 0, first: u32(nSites + 1), order: null, bucket: new Uint8Array(0), number: f64(0),
    },
    snapshots: {
      count: nSnaps, ns: f64(nSnaps), kind: new Uint8Array(nSnaps), end: u32(nSnaps),
      site: cellSites([], u32(0)), bytes: f64(0), blocks: f64(0), nAlloc: f64(0), bAlloc: f64(0),
    },
    lateFrees: {
      count: 0, site: u32(0), born: u32(0), freed: u32(0), bytes: f64(0), blocks: f64(0),
    },
    ticks: {
      count: nTicks, ns: f64(nTicks), liveBytes: f64(nTicks), liveBlocks: f64(nTicks),
      nAlloc: f64(nTicks), bAlloc: f64(nTicks), nFree: f64(nTicks), rss: f64(nTicks),
      pageBytes: f64(nTicks),
    },
  } as unknown as Model;
  makeFrames(model, next, nFrames);
  makeNodes(model, next);
  makeSites(model, next, nThreads);
  makeSnapshots(model, next, shape.changed ?? 0.1);
  makeTicks(model, next);
  makeFacts(model, nThreads);
  return model;
}
