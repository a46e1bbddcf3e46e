// SPDX-License-Identifier: Apache-2.0
//
// The engine against the command on the same captures: the same numbers for every measure, unit,
// moment, range, grouping and filter, the same trees, the same diffs, and the same refusals.

import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { DIFF_GROUPS, diffGroupRefusal, diffPlaces } from "../src/engine/diff.ts";
import type { DiffGroup } from "../src/engine/diff.ts";
import { isAcross } from "../src/engine/diff_across.ts";
import { GROUP_KINDS, groupRefusal, type GroupKind } from "../src/engine/groups.ts";
import { emptyLook, makeView, wantedWeight, type Look } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { MEASURES, nearestSnapshot, refusal, snapshotOfKind } from "../src/engine/question.ts";
import { START, timeOf, weigh, whole } from "../src/engine/question.ts";
import type { Measure, Question, Unit } from "../src/engine/question.ts";
import { buildTree } from "../src/engine/tree.ts";
import { shareWrappers } from "../src/engine/wrappers.ts";
import { amountsJson, diffJson, groupsJson, sitesJson, treeJson } from "./agree.ts";
import { ask, compiled, corpus, golden, made, merged, modelOf, recorded } from "./command.ts";
import { recordedCommand, recordedReset, reportOf } from "./command.ts";

// A large one is asked less: the command writes every stack each time.
const CAPTURES: [string, () => string, "large"?][] = [
  ["150 stacks, 12 snapshots", () => made(7, 150, 12)],
  ["90 stacks, 3 snapshots", () => made(2, 90, 3)],
  ["a recorded program of three threads", () => recorded("page_shapes.c", "-pthread")],
  ["threads that hand blocks over", () => recorded("page_handover.c", "-pthread")],
  ["own code, a library's and nameless code", () => recorded("page_blame.c", "-O1")],
  ["CPython, recorded", () => recordedCommand("python", "python3", "-c", PYTHON),
    "large"],
  ["a program whose numbers were reset", () => recordedReset()],
  ["massif's file", () => golden("massif.out")],
  ["DHAT's file", () => golden("dhat.json")],
  ["two of DHAT's files merged", () => merged("dhat", golden("dhat.json"), golden("dhat.json"))],
  ["heaptrack's file", () => corpus("heaptrack/interpreted"), "large"],
  ["a pprof profile", () => corpus("pprof/tidemark.pb")],
];

const PYTHON = "import json, time\nkept = []\n" +
  "for i in range(12):\n  kept.append(json.loads(json.dumps(list(range(i * 100)))))\n" +
  "  time.sleep(0.02)\n";

const opened = new Map<string, Model>();

function open(file: string): Model {
  const model = opened.get(file) ?? modelOf(file);
  opened.set(file, model);
  return model;
}

// What the command alone tells: where frames lay in that run. Of a class, in a comparison, the page
// tells its limits in its name alone.
const OF_RUNS = ["address"];
const OF_CLASSES = ["ending", "least_ns", "most_ns", "least_bytes", "most_bytes", "several"];

// Where two answers first differ and how, null if nowhere. A member that a side lacks is a
// difference, unless the command alone has it and it is on the list.
function difference(ours: unknown, theirs: unknown, more: string[]): string | null {
  if (Object.is(ours, theirs))
    return null;
  if (!ours || !theirs || typeof ours !== "object" || typeof theirs !== "object")
    return `: ${JSON.stringify(ours)}, of the command ${JSON.stringify(theirs)}`;
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length !== theirs.length)
    return `: ${ours.length}, of the command ${theirs.length}`;
  for (const key of Object.keys(theirs))
    if (!Object.hasOwn(ours, key) && !more.includes(key))
      return `: only the command has ${key}`;
  for (const [key, value] of Object.entries(ours)) {
    if (!Object.hasOwn(theirs, key))
      return `: the command has no ${key}`;
    const within = difference(value, (theirs as Record<string, unknown>)[key], more);
    if (within !== null)
      return `.${key}${within}`;
  }
  return null;
}

function assertSame(ours: unknown, theirs: unknown, where: string, more: string[] = []): void {
  const found = difference(ours, theirs, more);
  assert.ok(found === null, `${where}${found}`);
}

test("a member that one side lacks is a difference", () => {
  assertSame({ a: [{ b: 1 }] }, { a: [{ b: 1, address: 2 }] }, "allowed", OF_RUNS);
  assert.throws(() => assertSame({ a: [{ b: 1 }] }, { a: [{ b: 1, address: 2 }] }, "theirs"));
  assert.throws(() => assertSame({ a: 1, address: 2 }, { a: 1 }, "ours", OF_RUNS));
  assert.throws(() => assertSame([{ a: [1, 2] }], [{ a: [1, 3] }], "within"),
    { message: "within.0.a.1: 2, of the command 3" });
  for (const [ours, theirs] of [[[1], [1, 2]], [null, 0], [{}, null], ["1", 1], [[0], { 0: 1 }]])
    assert.throws(() => assertSame(ours, theirs, "not the same"));
});

interface Window { words: string[]; from: number | null; to: number | null }

// The command takes times in words; what they mean to the engine is found as the page does.
function windows(model: Model, measure: Measure): Window[] {
  const { start_ns, end_ns } = model.facts.image;
  const at = (percent: number) =>
    nearestSnapshot(model, Number((BigInt(end_ns - start_ns) * BigInt(percent)) / 100n), measure);
  const peak = snapshotOfKind(model, "peak");
  const beside = (snapshot: number) => (measure === "leak" && snapshot === peak
    ? nearestSnapshot(model, timeOf(model, snapshot), measure) : snapshot);
  const list: Window[] = [{ words: [], from: null, to: null }];
  if (!model.snapshots.count)
    return list;
  for (const percent of [0, 13, 50, 88])
    list.push({ words: ["--at", `${percent}%`], from: null, to: at(percent) });
  for (const kind of ["peak", "end"] as const)
    if (snapshotOfKind(model, kind) !== null)
      list.push({ words: ["--at", kind], from: null, to: beside(snapshotOfKind(model, kind)!) });
  for (const [a, b] of [[10, 60], [0, 45], [50, 99]])
    list.push({ words: ["--range", `${a}%..${b}%`], from: at(a), to: at(b) });
  if (peak !== null)
    list.push({ words: ["--range", "start..peak"], from: START, to: beside(peak) });
  return list;
}

interface Asked { question: Question; words: string[] }

function questions(model: Model, measures = MEASURES): Asked[] {
  const all: Asked[] = [];
  for (const measure of measures)
    for (const unit of ["bytes", "blocks"] as Unit[])
      for (const { words, from, to } of windows(model, measure))
        all.push({
          question: { measure, unit, from, to },
          words: ["--sort", measure, "--by", unit, ...words],
        });
  return all;
}

// Sites in an order that both have: by numbers that the capture holds, and by what they say.
function inOrder(sites: any[], like: any): any[] {
  const keys = ["kind", "weight", "bytes", "allocations", "frees", "peak_bytes", "peak_blocks",
    "own_max_bytes", "first_ns", "last_ns", "temporary", "mean_life_ns"]
    .filter((key) => key in like);
  const rank = (site: any) => JSON.stringify([...keys.map((key) => site[key]),
    site.frames.map((f: any) => [f.function, f.file, f.line, f.module])]);
  return sites.map((site) => ({ rank: rank(site), site }))
    .sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0))
    .map(({ site }) => (site.kind === "heap" ? site : { ...site, frames: [], culprit: null }));
}

// Groups of one weight come in an order that depends on where code was loaded.
function tiesInOrder(groups: any[], like: any): any[] {
  for (let i = 1; i < groups.length; i++)
    assert.ok("least_ns" in like || "least_bytes" in like ||
      groups[i].weight <= groups[i - 1].weight, "groups are out of order");
  const keys = Object.keys(like).sort();
  const rank = (g: any) => JSON.stringify(keys.map((key) => g[key]));
  return groups.map((g) => ({ rank: rank(g), g }))
    .sort((a, b) => b.g.weight - a.g.weight || (a.rank < b.rank ? -1 : 1)).map(({ g }) => g);
}

function checkReport(file: string, { question, words }: Asked, look: Look, more: string[]) {
  const model = open(file);
  const where = [...words, ...more].join(" ");
  const { json, why } = ask("report", ...words, ...more, file);
  assert.equal(refusal(model, question) !== null, why !== undefined,
    `${where}: ${why ?? refusal(model, question)}`);
  if (!json)
    return;
  const view = makeView(model, look);
  assert.equal(whole(model, question), json.whole, `${where}: whole`);
  assert.equal(wantedWeight(view, weigh(model, question)), json.wanted, `${where}: wanted`);
  for (const end of ["from", "to"] as const)
    if (json.question[end])
      assert.equal(timeOf(model, question[end]!), json.question[end].seen_ns, `${where}: ${end}`);
  if (view.isFiltered) // pages are no part of a view
    json.sites = json.sites.filter((site: any) => site.kind !== "pages");
  const like = json.sites[0] ?? {};
  const ours = inOrder(sitesJson(view, question), like);
  assertSame(ours, inOrder(json.sites, like), `${where}: sites`, OF_RUNS);
}

function checkGroups(file: string, { question, words }: Asked, kind: GroupKind, look: Look,
  more: string[] = []) {
  const model = open(file);
  if (refusal(model, question))
    return;
  const all = [...words, "--group", kind, ...more];
  const { json, why } = ask("report", ...all, file);
  const ours = groupRefusal(model, kind);
  assert.equal(ours !== null, why !== undefined, `${all.join(" ")}: ${why ?? ours}`);
  if (!json)
    return;
  const like = json.groups[0] ?? {};
  const groups = groupsJson(makeView(model, look), question, kind);
  const where = all.join(" ");
  assertSame(tiesInOrder(groups, like), tiesInOrder(json.groups, like), where);
  const sum = json.groups.reduce((all: number, g: any) => all + g.weight, json.rest.weight);
  assert.equal(sum, json.wanted, `${where}: the rows add up`);
}

// Functions and files that the capture has, to make patterns of.
function patterns(model: Model) {
  const used = (column: Uint32Array) => [...new Set(column)].filter((s) => s)
    .map((s) => model.text[s]).sort();
  const simple = (text: string) => text.replace(/[^A-Za-z0-9_]+/g, ".");
  const functions = used(model.frames.function).map(simple);
  const files = used(model.frames.file).map(simple);
  const modules = used(model.modules).map(simple);
  const at = (list: string[], share: number) => list[Math.floor(list.length * share)] ?? "x";
  return { functions, files, modules, at };
}

function looks(model: Model): [Partial<Look>, string[]][] {
  const { functions, files, modules, at } = patterns(model);
  const f = (share: number) => at(functions, share);
  return [
    [{ allFrames: true }, ["--all-frames"]],
    [{ function: [f(0.3)] }, ["--function", f(0.3)]],
    [{ function: ["a.*e|o$"] }, ["--function", "a.*e|o$"]],
    [{ file: [at(files, 0.5)] }, ["--file", at(files, 0.5)]],
    [{ module: [at(modules, 0.5)] }, ["--module", at(modules, 0.5)]],
    [{ ignore: [f(0.6)] }, ["--ignore", f(0.6)]],
    [{ focus: [f(0.8)] }, ["--focus", f(0.8)]],
    [{ focus: ["[aeiou]n"] }, ["--focus", "[aeiou]n"]],
    [{ hide: ["^[a-m]"] }, ["--hide", "^[a-m]"]],
    [{ hide: ["."] }, ["--hide", "."]],
    [{ focus: ["e"], hide: ["a"], ignore: ["z"] },
      ["--focus", "e", "--hide", "a", "--ignore", "z"]],
    [{ function: [f(0.5)], allFrames: true, hide: [f(0.2)] },
      ["--function", f(0.5), "--all-frames", "--hide", f(0.2)]],
  ];
}

function checkTree(file: string, { question, words }: Asked, look: Look, more: string[],
  inverted: boolean, byLine: boolean) {
  const model = open(file);
  if (refusal(model, question))
    return;
  const flags = [...(inverted ? ["--invert"] : []), ...(byLine ? ["--lines"] : [])];
  const all = [...words, ...more, ...flags];
  const { json, why } = ask("tree", ...all, "--min-share", "0", file);
  assert.equal(why, undefined, all.join(" "));
  const view = makeView(model, look);
  const tree = buildTree(view, weigh(model, question), { inverted, byLine });
  assertSame(treeJson(model, tree), json.tree, all.join(" "), ["more"]); // beyond 256 levels
}

for (const [name, make, large] of CAPTURES)
  test(name, async (t) => {
    const file = make();
    const model = open(file);
    const plain = (measure: Measure, unit: Unit): Asked =>
      ({ question: { measure, unit, from: null, to: null }, words: ["-s", measure, "--by", unit] });
    const few = looks(model).filter((_, i) => !large || i % 5 === 1);
    const some = <T>(list: readonly T[]) => list.filter((_, i) => !large || i % 19 === 0);
    await t.test("every measure, unit, moment and range", () => {
      for (const asked of some(questions(model)))
        checkReport(file, asked, emptyLook, []);
    });
    await t.test("every kind of group", () => {
      for (const kind of GROUP_KINDS)
        for (const measure of some(MEASURES))
          for (const unit of some(["bytes", "blocks"] as Unit[]))
            checkGroups(file, plain(measure, unit), kind, emptyLook);
      for (const kind of ["place", "crate", "module"] as GroupKind[])
        for (const blame of ["own", "library"] as const)
          checkGroups(file, plain("total", "bytes"), kind, { ...emptyLook, blame },
            ["--blame", blame]);
    });
    await t.test("groups of moments and ranges", () => {
      for (const asked of some(questions(model, ["live", "total", "grown"])))
        for (const kind of ["place", "function", "thread", "size", "lifetime"] as GroupKind[])
          checkGroups(file, asked, kind, emptyLook);
    });
    await t.test("every filter", () => {
      for (const [look, words] of few)
        for (const asked of some([plain("total", "blocks"), plain("peak", "bytes")])) {
          checkReport(file, asked, { ...emptyLook, ...look }, words);
          for (const kind of some(["place", "crate", "stack", "thread", "lifetime"] as GroupKind[]))
            checkGroups(file, asked, kind, { ...emptyLook, ...look }, words);
        }
    });
    await t.test("trees", () => {
      const sandwich: [Partial<Look>, string[]][] = ["a", "[rs]t"].flatMap((p) => [
        [{ callers: [p] }, ["--callers", p]], [{ callees: [p] }, ["--callees", p]],
      ]);
      for (const [look, words] of [[{}, []] as [Partial<Look>, string[]], ...few])
        for (const inverted of [false, true])
          for (const byLine of [false, true])
            checkTree(file, plain("total", "bytes"), { ...emptyLook, ...look }, words, inverted,
              byLine);
      for (const [look, words] of sandwich) // callers are seen from the inside, as inverted trees
        checkTree(file, plain("total", "bytes"), { ...emptyLook, ...look }, words,
          Boolean(look.callers), false);
      for (const asked of some(questions(model, ["live", "grown", "total"])))
        checkTree(file, asked, emptyLook, [], false, false);
    });
  });

// Two builds of a program, each where it is installed.
function aPool(name: string, flags: string): string {
  const program = compiled("page_wrapper.c", flags);
  const directory = join(dirname(program), name);
  mkdirSync(directory, { recursive: true });
  copyFileSync(program, join(directory, "pool"));
  chmodSync(join(directory, "pool"), 0o755);
  return recordedCommand(`pool-${name}`, join(directory, "pool"));
}

const PAIRS: [string, () => [string, string]][] = [
  ["a wrapper by its shape on one side", () => [aPool("few", "-O1"), aPool("many", "-O1 -DMANY")]],
  ["two seeds", () => [made(7, 150, 12), made(8, 140, 9)]],
  ["two shapes of one program", () => [
    recorded("page_shapes.c", "-pthread"), recorded("page_shapes.c", "-pthread -DMORE -O2"),
  ]],
  ["one program without names, recorded twice", () => {
    const before = recorded("page_shapes.c", "-pthread -s");
    return [before, recordedCommand("page-shapes-again", before.replace(/\.tide$/, ""))];
  }],
];

function checkDiff(before: string, after: string, measure: Measure, unit: Unit, group: DiffGroup) {
  const [a, b] = shareWrappers(open(before), open(after));
  const question: Question = { measure, unit, from: null, to: null };
  const { json, why } = ask("diff", "-s", measure, "--by", unit, "-g", group, before, after);
  const ours = refusal(a, question) ?? refusal(b, question) ?? diffGroupRefusal(a, b, group);
  assert.equal(ours !== null, why !== undefined, `${measure} ${unit}: ${why ?? ours}`);
  if (!json)
    return;
  const diff = diffPlaces(
    { view: makeView(a, emptyLook), question }, { view: makeView(b, emptyLook), question }, group,
  );
  const where = `diff ${measure} ${unit} by ${group}`;
  assertSame(diffJson(a, b, diff, group), json.places, where, OF_CLASSES);
  assertSame({ ...diff.counts, ...amountsJson(diff.total) }, json.totals, `${where}: totals`);
  assertSame(amountsJson(diff.open), json.open, `${where}: open`);
}

for (const [name, make] of PAIRS)
  test(`diff: ${name}`, () => {
    const [before, after] = make();
    for (const measure of MEASURES)
      for (const unit of ["bytes", "blocks"] as Unit[])
        for (const group of DIFF_GROUPS)
          checkDiff(before, after, measure, unit, group);
  });

test("both sides of a comparison fold the wrappers of either", () => {
  const files = PAIRS[0][1]();
  const [few, many] = files.map(open);
  assert.deepEqual(few.facts.wrappers, []);
  assert.deepEqual(many.facts.wrappers.map((one) => one.function), ["pool_get"]);
  const [a, b] = shareWrappers(few, many);
  assert.deepEqual(a.facts.wrappers, b.facts.wrappers);
  assert.equal(b, many, "which has them all");
  const question: Question = { measure: "total", unit: "bytes", from: null, to: null };
  const of = (side: Model) => ({ view: makeView(side, emptyLook), question });
  const places = (before: Model, after: Model) => diffPlaces(of(before), of(after)).places.length;
  assert.equal(places(a, b), 12, "each is a caller of it");
  assert.equal(places(few, many), 13, "as if one side did not fold it");
});

const countless = (rows: Record<string, unknown>[]) =>
  rows.map(({ before_stacks: _, after_stacks: __, ...row }) => row);

// Of what is gathered by place, nothing but the callers is lost; of threads and classes what told
// stacks apart is.
test("a file too small for all stacks has every place", () => {
  const files = [PYTHON, PYTHON.replace("100", "170")].map((program, i) =>
    recordedCommand(`python-${i}`, "python3", "-c", program));
  const all = reportOf(files, 1 << 30);
  const { bytes, models } = reportOf(files, all.bytes - Math.floor(all.dataBytes / 2));
  assert.ok(bytes < all.bytes - all.dataBytes / 2);
  for (const { facts } of models)
    assert.ok(facts.pruned?.by_place && facts.pruned.stacks > facts.pruned.of / 4);
  const [before, after] = models.map((model) => makeView(model, emptyLook));
  for (const measure of ["peak", "leak", "total", "temp"] as Measure[])
    for (const group of DIFF_GROUPS.filter((one) => !isAcross(one))) {
      const question: Question = { measure, unit: "bytes", from: null, to: null };
      const words = ["-s", measure, "--by", "bytes", "-g", group, "--blame", "own"];
      const { json } = ask("diff", ...words, ...files);
      const diff = diffPlaces({ view: before, question }, { view: after, question }, group);
      assertSame(countless(diffJson(models[0], models[1], diff, group)), countless(json.places),
        `gathered: ${measure} by ${group}`);
    }
  for (const kind of ["place", "function", "file", "crate", "module"] as GroupKind[]) {
    const question: Question = { measure: "grown", unit: "bytes", from: null, to: null };
    const { json } = ask("report", "-s", "grown", "-g", kind, "--blame", "own", files[1]);
    const weights = groupsJson(after, question, kind).map(({ weight }) => weight);
    assert.deepEqual(weights, json.groups.map(({ weight }: { weight: number }) => weight), kind);
  }
});

test("diff: two moments", () => {
  const file = made(7, 150, 12);
  const model = open(file);
  const ofCommand = (group: DiffGroup) =>
    ask("diff", "--from", "20%", "--to", "80%", "-g", group, file).json ??
    assert.fail("the command compares no moments");
  const view = makeView(model, emptyLook);
  const run = model.facts.image.end_ns - model.facts.image.start_ns;
  const at = (share: number): Question => ({
    measure: "live", unit: "bytes", from: null, to: nearestSnapshot(model, run * share),
  });
  for (const group of DIFF_GROUPS) {
    const diff = diffPlaces({ view, question: at(0.2) }, { view, question: at(0.8) }, group);
    assertSame(diffJson(model, model, diff, group), ofCommand(group).places, `moments by ${group}`,
      OF_CLASSES);
  }
});
