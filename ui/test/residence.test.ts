// SPDX-License-Identifier: Apache-2.0
//
// Where the resident memory was: the page's lines are those of "tidemark maps", of every table; and
// what the picture over time is made of.

import assert from "node:assert/strict";
import { test } from "node:test";
import { timeText } from "../src/app/state.ts";
import type { Model, Residence, ResidenceLine, ResidenceTable } from "../src/engine/model.ts";
import { axisSteps, chosenTable, joined, nearestTable } from "../src/engine/residence.ts";
import { cellAt, mapCells, WIDEST } from "../src/engine/residence.ts";
import { stacked, stretches } from "../src/engine/residence.ts";
import { bytes, share, EXACT } from "../src/engine/units.ts";
import { ask, golden, merged, modelOf, recordedInSteps, said } from "./command.ts";

const listOf = (table: ResidenceTable, key: string) =>
  table.lists.find((one) => one.key === key)?.lines ?? [];

// One table of before most was freed and one of after it.
const recording = () =>
  recordedInSteps("page_memory.c", "-O1 -fno-builtin -pthread", [
    ({ tables }) => tables.some(({ parts: [live] }) => live >= 24e6),
    ({ tables }) => tables.length > 0 && tables[tables.length - 1].parts[1] >= 16e6,
  ]);
const whole = (lines: ResidenceLine[]) => lines.reduce((sum, line) => sum + line.bytes, 0);

// As the command prints it, spaces aside.
function printedLine(line: ResidenceLine, sum: number): string {
  const part = line.share ? ` ${share(line.bytes, sum, EXACT)}` : "";
  return `${bytes(line.bytes, EXACT)}${part} ${line.words}`;
}

function checkTable(table: ResidenceTable, text: string, json: any): void {
  const { sum, rows, absent } = table;
  const kinds = Object.values(json.rows as Record<string, number>).filter((n) => n > 0);
  assert.deepEqual(rows.map((line) => line.bytes), kinds, "the rows, in order");
  assert.equal(whole(rows), sum.bytes, "they add up");
  assert.equal(sum.bytes, json.sum);
  assert.equal(table.parts.reduce((a, b) => a + b), sum.bytes, "and so do the parts");
  assert.equal(absent ? absent.bytes : 0, -json.heap.untouched || 0, "what was never touched");
  const lines = [...rows, sum, ...(absent ? [absent] : [])];
  let at = text.indexOf(table.title);
  assert.ok(at >= 0, `${table.title}\nis not in ${text}`);
  const inOrder = (what: string) => {
    const found = text.indexOf(what, at);
    assert.ok(found >= 0, `${what}\nis not behind the rest in ${text}`);
    at = found + what.length;
  };
  for (const line of lines) inOrder(printedLine(line, sum.bytes));
  for (const { label, text: words } of table.notes) inOrder(`${label}: ${words}`);
  const counted = (table.map?.step ?? []).map((_, i) =>
    [table.map!.live[i], table.map!.free[i], table.map!.pinned[i]]);
  assert.deepEqual(counted, json.map.buckets.map((bucket: number[]) => bucket.slice(1)));
  let address = 0;
  const places = (table.map?.step ?? []).map((step) => (address += step));
  assert.deepEqual(places, json.map.buckets.map(([at]: number[]) => at));
  if (table.map) assert.ok(text.includes(` ${table.map.title}, `), table.map.title);
  for (const list of table.lists) {
    inOrder(` ${list.title} `);
    for (const line of list.lines) inOrder(printedLine(line, sum.bytes));
  }
}

test("residence: every table is that of maps", () => {
  const file = recording();
  const { residence } = modelOf(file).facts;
  assert.equal(residence.none, null);
  assert.ok(residence.tables.length >= 2, `${residence.tables.length} tables`);
  for (const table of residence.tables) {
    const words = ["maps", "--at", timeText(table.time_ns), file];
    checkTable(table, said(...words), ask(...words).json);
  }
});

test("residence: who has it, who keeps it, what was never touched, arenas, files", () => {
  const { tables } = modelOf(recording()).facts.residence;
  const last = tables[tables.length - 1];
  const list = (key: string) => listOf(last, key);
  assert.match(list("places")[0].words, /^session, /);
  assert.match(list("pins")[0].words, /^session, .* on [\d,]+ pages$/);
  assert.match(list("large")[0].words,
    /^capacity, .*: 1 block, asked 20\.0 MiB, touched [\d.]+ [KM]iB$/);
  assert.equal(list("arenas").length, 3);
  assert.match(list("arenas")[0].words,
    /^main arena: .* free \(a trim gives back .*, survivors pin .*\)$/);
  assert.ok(list("files").some(({ words }) => words.includes("libc.so")), "no library");
  assert.ok(last.absent && last.absent.bytes < -17 << 20, `${last.absent?.bytes}`);
});

test("residence: what is asked for by a word is what the command takes for it", () => {
  const file = recording();
  const { facts } = modelOf(file);
  const { residence, image } = facts;
  const timeOf = (choice: "rss" | "peak" | number | null) =>
    residence.tables[chosenTable(residence, choice)].time_ns + image.start_ns;
  assert.equal(timeOf(null), ask("maps", file).json.time_ns);
  assert.equal(timeOf("rss"), ask("maps", "--at", "peak", file).json.time_ns);
  const peak = facts.totals.peak_ns! - image.start_ns;
  assert.equal(timeOf("peak"), ask("maps", "--at", timeText(peak), file).json.time_ns);
  assert.equal(timeOf(0), ask("maps", "--at", "start", file).json.time_ns);
  assert.equal(timeOf(1e15), ask("maps", "--at", "end", file).json.time_ns);
  for (const { words, table } of residence.choices)
    assert.ok(words.endsWith(`, ${residence.tables[table].when}`), words);
});

test("residence: without a table the reason is the command's", () => {
  const files = [golden("dhat.json"), golden("massif.out"),
    merged("tables", recording(), recording())];
  for (const file of files) {
    const { residence } = modelOf(file).facts;
    const { why } = ask("maps", file);
    assert.equal(residence.tables.length, 0);
    assert.ok(residence.none && why, file);
    const words = residence.none.slice(1).replace(/\.$/, "");
    assert.ok(why.replace(/\s+/g, " ").includes(words), `${words}\nis not in ${why}`);
  }
  assert.match(modelOf(files[2]).facts.residence.none!, /sum of several.*that were merged/);
});

// ---- the map of the heap ----

const MAP = {
  title: "", bucket_bytes: 100, step: [1000, 1, 5, 1], live: [100, 60, 0, 10],
  free: [0, 40, 50, 90], pinned: [0, 40, 0, 30],
};

test("residence: buckets of a map lie side by side, with a gap where nothing is in memory", () => {
  const cells = mapCells(MAP, 82, 2);
  assert.deepEqual(cells.map(({ x }) => x), [0, 20, 42, 62]);
  assert.deepEqual(cells.map(({ width }) => width), [20, 20, 20, 20]);
  assert.deepEqual(cells.map(({ address }) => address), [100_000, 100_100, 100_600, 100_700]);
  assert.deepEqual(cells[3].parts, [10, 30, 60], "in use, pinned, free");
  assert.equal(cellAt(cells, -5), 0);
  assert.deepEqual([19, 20, 41, 43, 81, 999].map((x) => cellAt(cells, x)), [0, 1, 1, 2, 3, 3]);
});

test("residence: a map of one bucket, and one wider than its room", () => {
  const one = { ...MAP, step: [7], live: [1], free: [0], pinned: [0] };
  assert.deepEqual(mapCells(one, 100, 2).map(({ x, width }) => [x, width]), [[0, WIDEST]]);
  const many = Array.from({ length: 300 }, () => 2);
  const zeros = many.map(() => 0);
  const wide = { ...MAP, step: many, live: many, free: zeros, pinned: zeros };
  const cells = mapCells(wide, 100, 2);
  const last = cells[cells.length - 1];
  assert.ok(last.x + last.width <= 100.001, `${last.x}`);
});

// ---- over time ----

const PARTS = ["live", "held", "recorder"].map((key) => ({ key, words: key }));

function tableOf(time_ns: number, ...parts: number[]): ResidenceTable {
  const sum = { bytes: parts.reduce((a, b) => a + b), share: true, words: "in all" };
  const told = { when: `at ${time_ns}`, title: "", rows: [], absent: null, notes: [] };
  return { time_ns, parts, sum, ...told, lists: [], map: null };
}

function residenceOf(...tables: ResidenceTable[]): Residence {
  const choices = [{ key: "rss" as const, words: "", table: 1 }];
  const told = { none: null, between: "", rss_is_own: true, map_words: [], grown: [] };
  return { ...told, choices, parts: PARTS, tables };
}

function modelWith(residence: Residence, ticks: [number, number][]): Model {
  return {
    facts: { residence },
    ticks: { count: ticks.length, ns: ticks.map(([ns]) => ns), rss: ticks.map(([, rss]) => rss) },
  } as unknown as Model;
}

const THREE = residenceOf(tableOf(10, 5, 3, 9), tableOf(20, 60, 40, 9), tableOf(40, 61, 40, 50));

test("residence: the nearest table, and the one chosen", () => {
  assert.deepEqual([0, 14, 15, 16, 29, 31, 99].map((ns) => nearestTable(THREE, ns)),
    [0, 0, 0, 1, 1, 2, 2]);
  assert.deepEqual([null, "rss", "peak", 12, 1e9].map((one) =>
    chosenTable(THREE, one as "rss" | "peak" | number | null)), [1, 1, 2, 0, 2]);
});

test("residence: parts lie one upon the other", () => {
  assert.deepEqual(stacked(THREE)[1], [[0, 60], [60, 100], [100, 109]]);
});

test("residence: only where RSS went straight are two joined", () => {
  const at = (...ticks: [number, number][]) => joined(modelWith(THREE, ticks));
  assert.deepEqual(at(), [true, true], "nobody saw anything else");
  assert.deepEqual(at([12, 26], [15, 54], [30, 101]), [true, true], "nearly straight");
  assert.deepEqual(at([15, 100], [30, 101]), [false, true], "it had grown at once");
  assert.deepEqual(at([15, 0], [30, 20]), [true, false], "0 is not known; it had shrunk between");
  assert.deepEqual(at([10, 99], [20, 1], [40, 1]), [true, true], "at the tables nobody asks it");
  assert.deepEqual(joined(modelWith(residenceOf(tableOf(5, 1, 1, 1)), [])), []);
});

test("residence: stretches of tables that are joined", () => {
  assert.deepEqual(stretches([]), []);
  assert.deepEqual(stretches([true, true, false, true]), [[0, 2], [3, 4]]);
  assert.deepEqual(stretches([false, false]), []);
});

test("residence: an axis has few round steps, up to the most", () => {
  assert.deepEqual(axisSteps(100, 4), [0, 32, 64, 96]);
  for (const most of [1, 1000, 2 ** 30 + 1, 2 ** 52]) {
    const steps = axisSteps(most, 5);
    assert.ok(steps.length >= 2 && steps.length <= 6, `${steps}`);
    assert.ok(steps[steps.length - 1] <= most, `${steps}`);
  }
});
