// SPDX-License-Identifier: Apache-2.0
//
// What happened, as the page says it and as the command does: in JSON the same sentences, on the
// screen the same words beside the same numbers; of captures that are merged, of other tools, cut,
// estimated by their tools, and of several processes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { peakText } from "../src/engine/exactness.ts";
import type { SentenceKind, Told } from "../src/engine/model.ts";
import { ask, completenessIn, corpus, cut, golden, made, merged, modelOf } from "./command.ts";
import { printed, recorded, recordedCommand, said } from "./command.ts";

const several = () => recordedCommand("several", "sh", "-c", "ls / >/dev/null; ls /tmp >/dev/null");

const CAPTURES: [string, () => string, string?][] = [
  ["three threads", () => recorded("page_shapes.c", "-pthread")],
  ["nameless code", () => recorded("page_blame.c", "-O1")],
  ["150 stacks, made", () => made(7, 150, 12)],
  ["the first of several processes", several, "#0"],
  ["the second of several processes", several, "#1"],
  ["two runs merged", () => {
    const one = recorded("page_shapes.c", "-pthread");
    return merged("runs", one, one);
  }],
  ["DHAT's file", () => golden("dhat.json")],
  ["two of DHAT's files merged", () => merged("dhat", golden("dhat.json"), golden("dhat.json"))],
  ["DHAT's and a recording merged", () =>
    merged("mixed", golden("dhat.json"), recorded("page_shapes.c", "-pthread"))],
  ["massif's file", () => golden("massif.out")],
  ["massif's file, cut", () => corpus("massif/cut")],
  ["heaptrack's file", () => corpus("heaptrack/interpreted")],
  ["a pprof profile", () => corpus("pprof/tidemark.pb")],
  ["a pprof profile of Go", () => corpus("pprof/go.pb")],
  ["a sampled heap profile", () => corpus("heap_text/sampled.heap")],
  ["jemalloc's heap profile", () => golden("jemalloc.heap")],
  ["folded stacks", () => golden("stacks.folded")],
  ["a recording that was cut", cut],
];

const texts = (told: Told, ...kinds: SentenceKind[]) =>
  told.sentences.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text);

const UNIT = "(?:[KMGT]i)?B";

// "peak heap 412.6 MiB" of the report: the number, and the words beside it.
function fact(report: string, label: string): { number: string; words: string } | null {
  const next = "untouched|max RSS|at exit|at the end|churn|own pages|allocators? |top |" +
    "never freed \\(|temporary:|complete:|incomplete:|read from:|wrappers:|(?:≈ )?<?\\d[\\d.]* %";
  const number = `(?:[≈≥] )?[\\d.,]+ ${UNIT}`;
  const found = new RegExp(` ${label} +(${number}) (.*?)(?= (?:${next}))`).exec(report);
  return found && { number: found[1], words: found[2].trim() };
}

// As in the report, where a number stands before its words: "98 % of blocks temporary".
const terse = (text: string) =>
  text.replace(/ (?:was|were) (?=never|not|allocated|temporary)/g, " ");

function checkFacts(told: Told, report: string) {
  const peak = fact(report, "peak heap");
  if (peak)
    assert.ok(texts(told, "peak")[0].includes(peak.number), texts(told, "peak")[0]);
  const end = fact(report, "at exit") ?? fact(report, "at the end");
  if (end) {
    const [text] = texts(told, "end", "leak");
    const tail = end.words.startsWith("every block ") ? end.words : `${end.number} ${end.words}`;
    assert.ok(terse(text).includes(tail) || text.includes(end.words), `${tail}\nis not in ${text}`);
  }
  const churn = fact(report, "churn");
  if (churn) {
    const text = terse(texts(told, "churn")[0]);
    const tail = `${churn.number} ${churn.words}`;
    assert.ok(text.startsWith(tail), `${tail}\nis not in ${text}`);
  }
  const high = fact(report, "max RSS");
  if (high)
    assert.ok(texts(told, "rss").some((text) => text.includes(`${high.number} at its highest`) &&
      text.includes(high.words)), `${high.words}\nis not in ${texts(told, "rss")}`);
  return { peak, end, churn };
}

// The labels of rows that "info" has of image n; where several are listed, each has its own.
function labelsOf(text: string, n: number): string[] {
  const [capture, ...images] = text.split(/^ {2}(?=#\d+ )/m);
  const labels = (part: string, indent: string) =>
    [...part.matchAll(new RegExp(`^${indent}([A-Za-z]+(?: [a-z]+)*)  +\\S`, "gm"))]
      .map((found) => found[1]).filter((label) => !["modules", "run"].includes(label));
  return [...labels(capture, " {2}"), ...labels(images[n] ?? "", " {6}")];
}

for (const [name, make, process] of CAPTURES)
  test(`told: what info tells of ${name} is on the page`, () => {
    const file = make();
    const { info, image } = modelOf(file, process).facts;
    const text = printed("info", file);
    assert.deepEqual(info.map(({ label }) => label), labelsOf(text, image.index), text);
    const bare = (words: string) => words.replace(/\s+/g, ""); // a long path is broken anywhere
    for (const { label, text: row } of info)
      assert.ok(bare(text).includes(bare(label + row)), `${label} ${row}\nis not in ${text}`);
    const when = info.find(({ label }) => label === "recorded");
    if (when)
      assert.match(when.text, /^(?:at an unknown time|[\d-]+ [\d:]+ [+-]\d{4}), /, "the zone");
    const untold = info.find(({ label }) => label === "not told")?.text.split("; ") ?? [];
    assert.equal(untold.length, image.lacks.length, `${untold} of ${image.lacks}`);
  });

for (const [name, make, process] of CAPTURES)
  test(`told: ${name}`, () => {
    const file = make();
    const words = process ? ["--process", process, file] : [file];
    const { verdict } = modelOf(file, process).facts;
    const { json, why } = ask("report", ...words);
    assert.deepEqual(verdict, json?.verdict ?? assert.fail(why), "the JSON's sentences");
    const report = said("report", ...words);
    assert.ok(report.startsWith(verdict.program) || report.includes(` ${verdict.program}`), report);
    for (const part of verdict.title)
      assert.ok(report.includes(part), `${part}\nis not in ${report}`);
    const how = completenessIn(report) ?? assert.fail(report);
    const [complete] = texts(verdict, "complete");
    assert.equal(complete.replace("Read from ", "Read from: "),
      how[0].toUpperCase() + how.slice(1) + (/[.!?]$/.test(how) ? "" : "."));
    for (const note of texts(verdict, "note").filter((text) => !/debug info|addresses/.test(text)))
      assert.ok(report.includes(note.slice(1, -1)), `${note}\nis not in ${report}`);
    const { peak, end, churn } = checkFacts(verdict, report);
    assert.ok(peak || end || churn, `no fact of the report was found: ${report}`);
    for (const { text, kind } of verdict.sentences)
      if (kind !== "title") // what begins with a name begins as that does
        assert.match(text,
          kind === "note" || kind === "unrecorded" ? /[.!?]$/ : /^[^a-z].*[.!?]$/s);
  });

for (const [name, make, process] of CAPTURES)
  test(`told: peaks in the list of processes, of ${name}`, () => {
    const file = make();
    const { info, images, image } = modelOf(file, process).facts;
    const heap = info.find(({ label }) => label === "heap")?.text;
    const peak = images[image.index].peak_bytes !== undefined;
    assert.equal(heap?.startsWith("peak "), peak, `${heap}`);
    if (peak)
      assert.ok(`${heap},`.startsWith(`peak ${peakText(images[image.index])},`), `${heap}`);
  });

test("told: wrappers that were folded by their shape", () => {
  const file = recorded("page_wrapper.c", "-O1 -DMANY");
  const { wrappers, wrappers_told: words } = modelOf(file).facts;
  assert.ok(wrappers.length > 0 && words, "none was found");
  assert.ok(said("report", file).includes(` wrappers: ${words}; `), `${words}`);
  assert.equal(modelOf(recorded("page_shapes.c", "-pthread")).facts.wrappers_told, null);
});

test("told: a sum says that it is one, and how far its peak may be off", () => {
  const { verdict } = modelOf(merged("dhat", golden("dhat.json"), golden("dhat.json"))).facts;
  assert.match(verdict.title[0], /^several (?:processes|recordings) merged/);
  assert.match(texts(verdict, "peak")[0], /^The peaks of all that was merged add up to /);
  assert.match(texts(verdict, "complete")[0], /, peak too high by [\d.]+ \w+ at most/);
});

test("told: what is cut is not called complete, and what is not known is not told", () => {
  const { verdict, capture } = modelOf(cut()).facts;
  assert.equal(capture.complete, false);
  assert.match(texts(verdict, "complete")[0], /^Incomplete: /);
  assert.ok(verdict.sentences.some(({ kind, warning }) => kind === "note" && warning));
});

test("told: of a run that has not ended there is also what is known so far", () => {
  const ended = modelOf(recorded("page_shapes.c", "-pthread")).facts;
  assert.equal(ended.verdict_so_far, null);
  const { verdict_so_far: now, verdict } = modelOf(made(3, 40)).facts;
  if (verdict.sentences.some(({ text }) => /not ended properly/.test(text))) {
    assert.ok(now && !now.sentences.some(({ kind, text }) =>
      kind === "complete" || /not ended properly|^At (?:exit|the end) /.test(text)), "so far");
    assert.match(now.title[0], /^for .* so far$/);
  }
});
