// SPDX-License-Identifier: Apache-2.0
//
// Reading the page's data: what is written comes back, and what is not in order is refused with a
// sentence and never with an index out of range.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { compacted } from "../src/engine/compact.ts";
import { decode, decodeKnown } from "../src/engine/decode.ts";
import { histogram } from "../src/engine/histograms.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import { defaultQuestion, weigh } from "../src/engine/question.ts";
import { buildTree } from "../src/engine/tree.ts";
import { golden, modelOf } from "./command.ts";
import { encode, partsOf, plainOf, type Parts } from "./encode.ts";
import { random, synthetic } from "./synthetic.ts";

const MODEL = synthetic({ nodes: 300, sites: 90, snapshots: 6, ticks: 20 });

test("what is written comes back", () => {
  const { builds, ...read } = decode(encode(partsOf(MODEL)));
  const { builds: _, ...written } = MODEL;
  assert.deepEqual(plainOf(read), plainOf(written));
  assert.equal(builds.length, MODEL.modules.length);
});

test("a block need not begin at a multiple of 8 in memory", () => {
  const block = encode(partsOf(MODEL));
  const shifted = new Uint8Array(block.length + 3);
  shifted.set(block, 3);
  assert.deepEqual(plainOf(decode(shifted.subarray(3)).sites), plainOf(MODEL.sites));
});

test("numbers take room when they are asked for, and are then the same array", () => {
  const parts = partsOf(MODEL);
  parts.columns.cell_bytes = Array.from(parts.columns.cell_bytes, (n) => n % 100);
  parts.types.cell_bytes = "i8";
  const { snapshots, rows, sites } = decode(encode(parts));
  const isMade = (of: object, key: string) =>
    Object.getOwnPropertyDescriptor(of, key)!.get === undefined;
  assert.ok(!isMade(rows, "nTemp") && !isMade(sites, "nTemp"));
  assert.equal(sites.nTemp, sites.nTemp);
  assert.ok(isMade(sites, "nTemp") && isMade(rows, "nTemp"));
  assert.ok(snapshots.bytes instanceof Int8Array); // those of the block itself
});

// An object of another kind than all before it is slow in every loop.
test("models that are read one after the other are of one kind", () => {
  setFlagsFromString("--allow-natives-syntax");
  const isQuick = new Function("of", "return %HasFastProperties(of)") as (of: object) => boolean;
  for (let i = 0; i < 3; i++) {
    const { rows, sites } = decode(encode(partsOf(MODEL)));
    assert.ok(sites.nTemp.length + sites.peakBytes.length + rows.nFree.length > 0);
    assert.ok(isQuick(sites) && isQuick(rows));
  }
});

test("columns of nothing but 0 are one, and numbers of four bytes stay in the block", () => {
  const parts = partsOf(MODEL);
  parts.types.row_n_temp = "u32";
  const block = encode(parts);
  const { rows, sites } = decode(block);
  assert.equal(rows.beforeBytes, rows.nMoved);
  assert.equal(sites.beforeBytes, rows.beforeBytes);
  assert.equal(rows.nTemp.buffer, block.buffer);
  assert.equal(sites.nTemp, rows.nTemp); // each has one row
  assert.equal(sites.firstNs, rows.firstNs);
});

test("what something was made of need not be kept", () => {
  const whole = encode(partsOf(MODEL));
  const { known, places } = decodeKnown(whole);
  const cut = compacted(whole.slice().buffer as ArrayBuffer, places, known);
  assert.ok(cut.block.byteLength < whole.length);
  assert.ok(!("node_up" in cut.known.places!));
  assert.deepEqual(decode(cut.block, cut.known), decode(whole));
});

test("classes come by site, in whatever order they were written", () => {
  const parts = partsOf(MODEL);
  Object.assign(parts.columns, {
    hist_site: [4, 0, 4, 2, 0], hist_bucket: [1, 2, 35, 3, 40], hist_count: [10, 20, 30, 40, 50],
  });
  const block = encode(parts);
  const { known, places } = decodeKnown(block);
  const cut = compacted(block.slice().buffer as ArrayBuffer, places, known);
  for (const model of [decode(block), decode(cut.block, cut.known)]) {
    const { sizes, lifetimes } = histogram(model, [0, 4]);
    assert.deepEqual([sizes[1], sizes[2], sizes[3]], [10, 20, 0]);
    assert.deepEqual([lifetimes[3], lifetimes[8]], [30, 50]);
    assert.equal(histogram(model, [2]).sizes[3], 40);
  }
  parts.columns.hist_site = [90, 0, 4, 2, 0];
  assert.throws(() => decode(encode(parts)), /column hist_site holds 90, and there are 90/);
});

test("of a block whose columns share bytes everything is kept", () => {
  const whole = encode(partsOf(MODEL));
  const { known, places } = decodeKnown(whole);
  const shared = { ...places, row_n_temp: places.row_b_alloc };
  const left = compacted(whole.slice().buffer as ArrayBuffer, shared, known);
  assert.deepEqual(new Uint8Array(left.block), whole);
  assert.deepEqual(decode(left.block, left.known), decode(whole));
});

test("texts beyond ASCII", () => {
  const parts = partsOf(MODEL);
  const words = ["", "größe", "文字", "😀", "<script>", "a\u0000b"];
  const bytes = words.map((word) => new TextEncoder().encode(word));
  let end = 0;
  parts.columns.text = Uint8Array.from(bytes.flatMap((b) => [...b]));
  parts.columns.text_end = bytes.map((b) => (end += b.length));
  for (const name of ["module_path", "frame_function", "frame_file", "frame_crate"])
    parts.columns[name] = Array.from(parts.columns[name], (s) => s % words.length);
  assert.deepEqual(decode(encode(parts)).text, words);
});

// As captures of before have them, where one thread freed what another had allocated.
test("ages below zero in a row, and of a site never", () => {
  const parts = partsOf(MODEL);
  const last = MODEL.rows.count - 1;
  const site = MODEL.sites.count - 1;
  for (const name of Object.keys(parts.columns).filter((one) => one.startsWith("row_")))
    parts.columns[name] = [...Array.from(parts.columns[name]), parts.columns[name][last]];
  parts.columns.row_site = [...Array.from(parts.columns.row_site).slice(0, -1), site];
  const ages = Array.from(parts.columns.row_age_ns, () => 0);
  const aged = (a: number, b: number) => {
    [ages[last], ages[last + 1]] = [a, b];
    parts.columns.row_age_ns = ages;
    return decode(encode(parts)).sites.ageNs[site];
  };
  assert.equal(MODEL.rows.site[last], site);
  assert.equal(aged(6e15, -5.9e15), 1e14);
  assert.equal(aged(-5e9, 8e9), 3e9);
  assert.equal(aged(4, -5), 0); // rounded each by itself
});

function refuses(change: (parts: Parts) => void, why: RegExp): void {
  const parts = partsOf(MODEL);
  parts.facts = structuredClone(parts.facts);
  change(parts);
  assert.throws(() => decode(encode(parts)), why);
}

const set = (name: string, at: number, value: number) => (parts: Parts) => {
  const values = Array.from(parts.columns[name]);
  values[at] = value;
  parts.columns[name] = values;
};

test("what is not in order is refused", () => {
  refuses(({ facts }) => (facts.schema = "tidemark-page-1"), /reads tidemark-page-2.*page-1/);
  refuses(({ facts }) => delete facts.threads, /no list "threads"/);
  refuses(({ facts }) => (facts.totals = []), /no "totals"/);
  refuses(({ facts }) => delete facts.residence, /where the memory was/);
  refuses(({ facts }) => (facts.residence = { tables: [{}] }), /where the memory was/);
  refuses(({ facts }) => delete facts.findings, /what was found/);
  refuses(({ facts }) => (facts.findings = { list: [{}] }), /what was found/);
  refuses(({ columns }) => delete columns.site_node, /no column site_node/);
  refuses(set("site_node", 3, 300), /column site_node holds 300, and there are 300/);
  refuses(set("site_node", 3, -1), /site_node holds -1/);
  refuses(set("node_frame", 5, 1e6), /node 5 has no frame/);
  refuses(set("node_up", 5, 6), /node 5 hangs at no node/);
  refuses(set("node_up", 5, 0), /node 5 hangs at no node/);
  refuses(set("frame_function", 0, 1e6), /frame_function/);
  refuses(set("frame_module", 0, 9), /frame_module holds 9/);
  refuses(set("row_site", 0, 5), /rows are out of order/);
  refuses(set("row_thread", 0, 4), /row_thread holds 4/);
  refuses(set("snap_end", 5, 1e9), /snap_end/);
  refuses(set("snap_end", 0, 0), /snapshot has site|share out/);
  refuses(set("cell_step", 1, 0), /a snapshot has site/);
  refuses(set("cell_step", 0, 90), /a snapshot has site 90/);
  refuses(set("text_end", 0, 1), /first text/);
  refuses(set("text_end", 2, 0), /text_end falls/);
  refuses(set("row_b_alloc", 0, NaN), /no number/);
  refuses(({ columns }) => (columns.row_n_free = [1]), /row_n_free has 1 values and not 90/);
  refuses(({ columns }) => (columns.module_path = []), /modules|frame_module/);
  refuses(({ columns }) => (columns.node_up = columns.node_frame = []), /no root/);
});

test("cut blocks and foreign bytes are refused", () => {
  const block = encode(partsOf(MODEL));
  for (const n of [0, 4, 11, 12, 40, block.length >> 1, block.length - 8])
    assert.throws(() => decode(block.slice(0, n)), /damaged|does not begin with TidePage/, `${n}`);
  assert.throws(() => decode(new TextEncoder().encode("<!doctype html>")), /does not begin/);
});

// Whatever a flipped byte does, either the reader refuses or everything can still be computed.
test("flipped bytes do no harm", () => {
  const whole = encode(partsOf(synthetic({ nodes: 60, sites: 20, snapshots: 3, ticks: 4 })));
  const next = random(5);
  for (let round = 0; round < 3000; round++) {
    const block = whole.slice();
    block[Math.floor(next() * block.length)] = Math.floor(next() * 256);
    let model;
    try {
      model = decode(block);
    } catch (error) {
      assert.match((error as Error).message, /damaged|does not begin|page reads/);
      continue;
    }
    const view = makeView(model, emptyLook);
    const weights = weigh(model, defaultQuestion(model));
    const inverted = round % 2 > 0;
    const tree = buildTree(view, weights, { inverted, byLine: false });
    assert.ok(tree.count >= 1);
  }
});

test("captures of all formats and any bytes can be read", () => {
  for (const name of ["v1.tide", "v1_1.tide", "v1_1_names.tide", "massif.out", "dhat.json"]) {
    const process = name === "v1.tide" ? "#3" : ""; // of those in it, one that has stacks
    const model = modelOf(golden(name), process);
    const view = makeView(model, emptyLook);
    const weights = weigh(model, defaultQuestion(model));
    const tree = buildTree(view, weights, { inverted: true, byLine: true });
    assert.ok(model.sites.count > 0 && tree.count > 0, name);
  }
});
