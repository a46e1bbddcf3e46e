// SPDX-License-Identifier: Apache-2.0
//
// Every column of every pane against the command's numbers, on captures in which threads free each
// other's blocks. A column that is new to a pane and unknown here fails.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { type Context, tableColumns } from "../src/app/columns.ts";
import { lineWeights } from "../src/app/source_lines.ts";
import { curve } from "../src/engine/curves.ts";
import { group, GROUP_KINDS, groupRefusal } from "../src/engine/groups.ts";
import type { Group, GroupKind } from "../src/engine/groups.ts";
import { histogram } from "../src/engine/histograms.ts";
import { leaks } from "../src/engine/leaks.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { MEASURES, refusal, weigh, whole } from "../src/engine/question.ts";
import type { Measure, Question, Unit } from "../src/engine/question.ts";
import { pagePlaces } from "../src/engine/pages.ts";
import { verdict } from "../src/engine/verdict.ts";
import { ask, BUILD, made, modelOf, recorded, recordedCommand } from "./command.ts";
import { type Counts, lifeCounts, sizeCounts } from "./report.ts";

const CAPTURES: [string, () => string][] = [
  ["threads that hand blocks over", () => recorded("page_handover.c", "-pthread")],
  ["three threads", () => recorded("page_shapes.c", "-pthread")],
  ["150 stacks, made", () => made(7, 150, 12)],
];

function json(file: string, ...words: string[]): any {
  const { json, why } = ask("report", ...words, file);
  return json ?? assert.fail(why);
}

// What the command says in place of a column of the table, in bytes and in blocks.
const SAID: Record<string, (said: any, unit: Unit, startNs: number, measure: Measure) => number> = {
  weight: (said) => said.weight,
  peak: (said, unit) => said[`peak_${unit}`],
  live: (said, unit) => said[`live_${unit}`],
  total: (said, unit) => (unit === "bytes" ? said.bytes : said.allocations),
  count: (said) => said.allocations,
  temp(said, unit, _, measure) {
    const inBytes = measure === "temp" && unit === "bytes";
    const [part, whole] = inBytes ? [said.temporary_bytes, said.bytes]
      : [said.temporary, said.allocations];
    return whole ? part / whole : 0;
  },
  stacks: (said) => said.stacks,
  first: (said, _, startNs) => (said.allocations ? said.first_ns - startNs : 0),
};

// Rows of one weight may come in either order: compared as they come when sorted by all they say.
function sameRows(ours: number[][], theirs: number[][], where: string): void {
  const order = (rows: number[][]) => rows.map((row) => JSON.stringify(row)).sort();
  assert.deepEqual(order(ours), order(theirs), where);
}

function checkTable(file: string, model: Model, question: Question, kind: GroupKind) {
  if (refusal(model, question) || groupRefusal(model, kind))
    return;
  const { measure, unit } = question;
  const said = json(file, "--sort", measure, "--by", unit, "--group", kind).groups;
  const rows = group(makeView(model, emptyLook), question, kind).items;
  const columns = tableColumns(model, question, kind);
  const context: Context = { model, question, whole: whole(model, question) };
  const startNs = model.facts.image.start_ns;
  for (const { id } of columns)
    assert.ok(SAID[id], `nothing to compare the column "${id}" with`);
  sameRows(
    rows.map((row) => columns.map((column) => column.value(row, context) as number)),
    said.map((row: any) => columns.map(({ id }) => SAID[id](row, unit, startNs, measure))),
    `${measure} in ${unit} by ${kind}: ${columns.map(({ id }) => id).join(" ")}`,
  );
}

// The columns of the Threads pane that the table has not.
function checkThreads(file: string, model: Model) {
  const question: Question = { measure: "total", unit: "bytes", from: null, to: null };
  const said = json(file, "--sort", "total", "--group", "thread").groups;
  const deeds = (row: Group) =>
    [row.weight, row.nAlloc, row.bAlloc, row.bFree, row.nForeign, row.nTemp];
  sameRows(
    group(makeView(model, emptyLook), question, "thread").items.map(deeds),
    said.map((row: any) => [row.weight, row.allocations, row.bytes, row.freed_bytes,
      row.foreign_frees, row.temporary]),
    "threads",
  );
}

function checkSizes(file: string, model: Model) {
  const sites = json(file).sites.filter(({ kind }: any) => kind === "heap");
  const add = (key: string) => {
    const sums = new Map<number, number>();
    for (const [most, n] of sites.flatMap((site: any) => site[key]) as Counts)
      sums.set(most ?? Infinity, (sums.get(most ?? Infinity) ?? 0) + n);
    return [...sums].sort(([a], [b]) => a - b)
      .map(([most, n]) => [most < Infinity ? most : null, n]);
  };
  const { sizes, lifetimes } = histogram(model, null);
  assert.deepEqual(sizeCounts(sizes), add("sizes"), "sizes");
  assert.deepEqual(lifeCounts(lifetimes), add("lifetimes"), "lifetimes");
}

function checkLeaks(file: string, model: Model) {
  const { groups } = json(file, "--sort", "leak", "--group", "place");
  const { kept, atEnd } = leaks(makeView(model, emptyLook));
  const startNs = model.facts.image.start_ns;
  const runNs = model.facts.image.end_ns - startNs;
  const theirs = groups.filter((row: any) => row.live_blocks > 0 || row.live_bytes > 0);
  assert.deepEqual(kept.map(({ bytes }) => bytes), theirs.map((row: any) => row.live_bytes),
    "the largest leak comes first");
  const numbers = (row: any) => [row.live_bytes, row.live_blocks, row.mean_age_ns ?? 0,
    row.first_ns - startNs, row.fate];
  sameRows(
    kept.map(({ bytes, blocks, meanNs, firstNs, fate }) =>
      [bytes, blocks, meanNs, firstNs, fate] as number[]),
    theirs.map(numbers), "leaks: bytes, blocks, mean age, since, course",
  );
  const total = json(file, "--sort", "total", "--group", "place").groups;
  const held = total.filter((row: any) =>
    row.fate === "at the end" && row.allocations > row.resizes);
  sameRows(
    atEnd.map(({ group, meanNs, firstNs }) => [group.bAlloc, meanNs, firstNs]),
    held.map((row: any) => [row.bytes, row.mean_life_ns ?? 0, row.first_ns - startNs]),
    "freed at the end",
  );
  return { kept, atEnd, runNs };
}

// What a function's stacks held over time, from the command's export.
function checkCurves(file: string, model: Model, name: string) {
  const view = makeView(model, { ...emptyLook, function: [`^${name}$`] });
  const sites = Uint32Array.from(model.sites.node.keys()).filter((site) => view.wanted[site]);
  const words = ["export", "--to", "csv", "--function", `^${name}$`, file];
  const env = { ...process.env, TIDEMARK_CACHE: "off", DEBUGINFOD_URLS: "" };
  const text = execFileSync(`${BUILD}/tidemark`, words, { encoding: "utf8", env });
  const [head, ...rows] = text.trim().split("\n").map((line) => line.split(","));
  for (const unit of ["bytes", "blocks"] as Unit[]) {
    const at = head.indexOf(`live_${unit}`);
    assert.deepEqual([...curve(model, sites, unit).live], rows.map((row) => Number(row[at])),
      `${name} over time, in ${unit}`);
  }
}

// A stack counts once in a line, however often the line is on it.
function checkSource(file: string, model: Model) {
  const question: Question = { measure: "total", unit: "bytes", from: null, to: null };
  const theirs = new Map<string, number>();
  for (const site of json(file, "--sort", "total").sites) {
    if (site.kind !== "heap")
      continue;
    const lines = site.frames.filter(({ file, line }: any) => file && line)
      .map(({ file, line }: any) => `${file}:${line}`);
    for (const line of new Set<string>(lines))
      theirs.set(line, (theirs.get(line) ?? 0) + site.weight);
  }
  const ours = new Map<string, number>();
  const view = makeView(model, { ...emptyLook, allFrames: true });
  for (const { text, lines } of lineWeights(view, weigh(model, question)))
    for (const [line, { total }] of lines)
      if (text && line && total)
        ours.set(`${model.text[text]}:${line}`, total);
  const order = (of: Map<string, number>) => [...of].filter(([, n]) => n).sort();
  assert.deepEqual(order(ours), order(theirs), "lines of source files");
}

for (const [name, make] of CAPTURES)
  test(`panes: ${name}`, async (t) => {
    const file = make();
    const model = modelOf(file);
    await t.test("table", () => {
      for (const kind of GROUP_KINDS)
        for (const measure of MEASURES)
          for (const unit of ["bytes", "blocks"] as Unit[])
            checkTable(file, model, { measure, unit, from: null, to: null }, kind);
    });
    await t.test("threads", () => checkThreads(file, model));
    await t.test("sizes and lifetimes", () => checkSizes(file, model));
    await t.test("leaks", () => void checkLeaks(file, model));
    await t.test("source", () => checkSource(file, model));
  });

test("who mapped memory beside the heap", () => {
  const file = recordedCommand("python-pages", "python3", "-c", "kept = list(range(300000))");
  const model = modelOf(file);
  const places = pagePlaces(makeView(model, emptyLook));
  const { groups, pages } = json(file, "--group", "pages", "--sort", "total");
  const sums = (rows: any[], ...keys: string[]) =>
    keys.map((key) => rows.reduce((all, row) => all + row[key], 0));
  assert.ok(places.length > 0 && pages.maps > 0, "CPython maps its arenas");
  assert.deepEqual(sums(places, "liveBytes", "bytes", "maps"),
    sums(groups, "live_bytes", "bytes", "allocations"));
  assert.equal(sums(places, "liveBytes")[0], pages.live_bytes);
  for (const { liveBytes, sites } of places)
    assert.equal(curve(model, sites, "bytes").live.at(-1), liveBytes, "at the end");
  for (const { bytes, words } of model.facts.residence.grown)
    assert.ok(bytes > 0 && /: (from|to) .* (ms|s|µs)/.test(words), words);
});

test("what threads hand over: rows of several threads, ages within the run, curves", () => {
  const file = recorded("page_handover.c", "-pthread");
  const model = modelOf(file);
  const { kept, atEnd, runNs } = checkLeaks(file, model);
  assert.ok(model.rows.nForeign.some((n) => n > 100), "nobody freed another's blocks");
  assert.ok(kept.length >= 4 && kept.every(({ meanNs }) => meanNs > 0 && meanNs <= runNs));
  assert.equal(kept[0].bytes, 16 << 20);
  assert.equal(kept[0].fate, "held");
  assert.ok(kept.some(({ fate, bytes }) => fate === "growing" && bytes === 30 * 16));
  assert.ok(model.frames.file.some((text) => text !== 0));
  assert.deepEqual(atEnd.map(({ bytes }) => bytes), [50000]);
  const leak = verdict(model).find(({ kind }) => kind === "leak")?.text ?? "";
  assert.ok(!leak.includes("look"), leak); // 480 bytes are not worth a word beside 16 MiB
  for (const name of ["leak_a_little", "leak_a_lot", "block_new", "take"])
    checkCurves(file, model, name);
});
