// SPDX-License-Identifier: Apache-2.0
//
// A model written as the block that docs/page-data.md describes: for tests of the reader, which can
// then bend single bytes, facts and columns.

import assert from "node:assert/strict";
import { CellSites, knownSites } from "../src/engine/cells.ts";
import type { Model, Snapshots } from "../src/engine/model.ts";
import { NUMBERS } from "../src/engine/numbers.ts";

type Values = ArrayLike<number>;

export interface Parts {
  facts: Record<string, unknown>;
  columns: Record<string, Values>;
  types: Record<string, string>; // of columns that are not to have the narrowest
}

// Of all cells.
export function sitesOf({ site }: Snapshots): Uint32Array {
  const all = new Uint32Array(site.length);
  site.over(0, site.length, (of, from, past) => all.set(of.slice(0, past - from), from));
  return all;
}

export function cellSites(sites: ArrayLike<number>, end: Uint32Array): CellSites {
  const starts = new Set([0, ...end]);
  const step = Uint32Array.from(sites, (site, i) => site - (starts.has(i) ? 0 : sites[i - 1]));
  const known = knownSites(step, end, 2 ** 31, (site) => assert.fail(`no such site: ${site}`));
  return new CellSites(step, end, known);
}

function steps(model: Model): number[] {
  const { count, end } = model.snapshots;
  const site = sitesOf(model.snapshots);
  const list: number[] = [];
  for (let s = 0, i = 0; s < count; s++)
    for (let before = 0; i < end[s]; before = site[i++])
      list.push(site[i] - before);
  return list;
}

// A model's numbers, however wide its columns are.
export function plainOf(value: unknown): unknown {
  if (ArrayBuffer.isView(value))
    return Array.from(value as Float64Array);
  if (Array.isArray(value) || typeof value !== "object" || value === null)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainOf(one)]));
}

export function partsOf(model: Model): Parts {
  const { frames, nodes, sites, rows, histograms: h, snapshots: s, ticks: t } = model;
  const texts = model.text.map((text) => new TextEncoder().encode(text));
  let end = 0;
  const columns: Record<string, Values> = {
    text: Uint8Array.from(texts.flatMap((text) => [...text])),
    text_end: texts.map((text) => (end += text.length)),
    module_path: model.modules,
    frame_function: frames.function, frame_file: frames.file, frame_crate: frames.crate,
    frame_line: frames.line, frame_module: frames.module, frame_address: frames.address,
    frame_layer: frames.layer, frame_flags: frames.flags,
    node_up: Array.from(nodes.parent, (parent, i) => i - parent), node_frame: nodes.frame,
    site_node: sites.node, site_kind: sites.kind, site_call: sites.call, site_own_max: sites.ownMax,
    row_site: rows.site, row_thread: rows.thread,
    hist_site: Array.from(h.bucket, (_, i) => h.first.findIndex((first) => first > i) - 1),
    hist_bucket: h.bucket, hist_count: h.number,
    snap_ns: s.ns, snap_kind: s.kind, snap_end: s.end, cell_step: steps(model),
    cell_bytes: s.bytes, cell_blocks: s.blocks, cell_n_alloc: s.nAlloc, cell_b_alloc: s.bAlloc,
    tick_ns: t.ns, tick_live_bytes: t.liveBytes, tick_live_blocks: t.liveBlocks,
    tick_n_alloc: t.nAlloc, tick_b_alloc: t.bAlloc, tick_n_free: t.nFree, tick_rss: t.rss,
    tick_page_bytes: t.pageBytes,
  };
  const { lateFrees: late, rssKinds: kinds } = model;
  if (kinds)
    Object.assign(columns, {
      kind_ns: kinds.ns, kind_anonymous: kinds.anonymous, kind_files: kinds.files,
      kind_shared: kinds.shared, kind_swapped: kinds.swapped,
    });
  Object.assign(columns, {
    late_site: late.site, late_born: late.born, late_freed: late.freed, late_bytes: late.bytes,
    late_blocks: late.blocks,
  });
  for (const { key, column } of NUMBERS)
    columns[column] = rows[key];
  const types = { cell_bytes: "f64", cell_blocks: "f64", cell_n_alloc: "f64", cell_b_alloc: "f64" };
  return { facts: { ...model.facts }, columns, types }; // what is read is as wide
}

const TYPES: [string, number, number, new (values: number[]) => { buffer: ArrayBufferLike }][] = [
  ["u8", 0, 2 ** 8, Uint8Array], ["i8", -(2 ** 7), 2 ** 7, Int8Array],
  ["u16", 0, 2 ** 16, Uint16Array], ["i16", -(2 ** 15), 2 ** 15, Int16Array],
  ["u32", 0, 2 ** 32, Uint32Array], ["i32", -(2 ** 31), 2 ** 31, Int32Array],
  ["f64", -Infinity, Infinity, Float64Array],
];

function pack(values: Values, type: string | undefined): { type: string; bytes: Uint8Array } {
  const list = Array.from(values);
  const fits = ([name, least, past]: (typeof TYPES)[number]) => type ? name === type
    : list.every((n) => Number.isInteger(n) && n >= least && n < past);
  const [name, , , kind] = TYPES.find(fits) ?? TYPES[TYPES.length - 1];
  return { type: name, bytes: new Uint8Array(new kind(list).buffer) };
}

const upTo8 = (n: number) => (n + 7) & ~7;

export function encode({ facts, columns, types }: Parts): Uint8Array {
  const packed = Object.entries(columns).map(([name, values]) =>
    ({ name, count: values.length, ...pack(values, types[name]) }));
  const places = (start: number) => {
    const list: Record<string, unknown> = {};
    let offset = start;
    for (const { name, type, count, bytes } of packed) {
      list[name] = { type, offset, count };
      offset = upTo8(offset + bytes.length);
    }
    return { list, end: offset };
  };
  const json = (start: number) =>
    new TextEncoder().encode(JSON.stringify({ ...facts, columns: places(start).list }));
  const room = upTo8(12 + json(2 ** 30).length) - 12; // offsets are shorter than that
  const block = new Uint8Array(places(12 + room).end);
  block.set(new TextEncoder().encode("TidePage"));
  new DataView(block.buffer).setUint32(8, room, true);
  block.fill(32, 12, 12 + room);
  block.set(json(12 + room), 12);
  const { list } = places(12 + room);
  for (const { name, bytes } of packed)
    block.set(bytes, (list[name] as { offset: number }).offset);
  return block;
}
