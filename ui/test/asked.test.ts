// SPDX-License-Identifier: Apache-2.0
//
// The words that depend on what is selected: what is asked, and why there is no answer, as the page
// says it and as the command does; of every measure and unit, of whole runs, moments and ranges.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { groupText } from "../src/engine/group_text.ts";
import { group, groupRefusal, type GroupKind } from "../src/engine/groups.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import { SnapshotKind, type Model } from "../src/engine/model.ts";
import { MEASURES, refusal, timeOf, type Question, type Unit } from "../src/engine/question.ts";
import { keptWords, questionWords } from "../src/engine/question_words.ts";
import { ask, attached, corpus, cut, golden, made, merged, modelOf } from "./command.ts";
import { recorded, recordedCommand, said } from "./command.ts";

// A file with moments and without a clock.
function clockless(): string {
  const file = recorded("page_shapes.c", "-pthread").replace(/\.tide$/, "-instructions.out");
  const text = readFileSync(golden("massif.out"), "utf8");
  writeFileSync(file, text.replace(/^time_unit: .*$/m, "time_unit: i"));
  return file;
}

const CAPTURES: [string, () => string][] = [
  ["a recording", () => recorded("page_shapes.c", "-pthread")],
  ["a recording that was cut", cut],
  ["stacks, made", () => made(7, 150, 12)],
  ["of several processes", () =>
    recordedCommand("several", "sh", "-c", "ls / >/dev/null; ls /tmp >/dev/null")],
  ["a process that was let go", () => attached("page_goes_on.c")],
  ["two runs merged", () => {
    const one = recorded("page_shapes.c", "-pthread");
    return merged("runs", one, one);
  }],
  ["DHAT's file", () => golden("dhat.json")],
  ["two of DHAT's files merged", () => merged("dhat", golden("dhat.json"), golden("dhat.json"))],
  ["massif's file", () => golden("massif.out")],
  ["massif's file of instructions", clockless],
  ["a pprof profile of Go", () => corpus("pprof/go.pb")],
  ["a sampled heap profile", () => corpus("heap_text/sampled.heap")],
];

// A look in the middle that is neither the peak nor the end, if there is one.
function timed(model: Model): number | null {
  const at = [...model.snapshots.kind].map((kind, i) => (kind === SnapshotKind.timed ? i : -1));
  const looks = at.filter((i) => i >= 0 && timeOf(model, i) > 0);
  return looks.length ? looks[looks.length >> 1] : null;
}

type Case = { question: Question; words: string[] };

function casesOf(model: Model): Case[] {
  const cases: Case[] = [];
  const hasClock = !model.facts.image.lacks.includes("clock");
  const look = timed(model);
  const { start_ns: start = 0, end_ns: end } = model.facts.image;
  const wholeNs = end !== undefined ? end - start : model.ticks.ns[model.ticks.count - 1];
  const word = (at: number): string => { // without a clock a moment is a share of the run
    if (hasClock)
      return `${timeOf(model, at)}ns`;
    const isEnd = model.snapshots.kind[at] === SnapshotKind.end;
    return isEnd ? "end" : `${(100 * timeOf(model, at)) / wholeNs}%`;
  };
  for (const measure of MEASURES)
    for (const unit of ["bytes", "blocks"] as Unit[]) {
      const words = ["--sort", measure, "--by", unit];
      cases.push({ question: { measure, unit, from: null, to: null }, words });
      if (look === null) continue;
      const at = word(look);
      const moment = { measure, unit, from: null, to: look };
      cases.push({ question: moment, words: [...words, "--at", at] });
      const to = model.snapshots.count - 1;
      if (look < to)
        cases.push({ question: { measure, unit, from: look, to },
          words: [...words, "--range", `${at}..${word(to)}`] });
    }
  return cases;
}

// Without what to do about it, which is worded for those who type and for those who point.
const bare = (text: string, file: string, origin: string) =>
  text.replace(/^tidemark: /, "").replaceAll(file, origin).replace(/["“”]/g, "'").trim()
    .replace(/\.$/, "").replace(/^T(?=he |emp)/, "t").split("; ")[0];

// What was not freed has one name among the lifetimes, the command's.
function checkKeptClass(model: Model, file: string) {
  const asked: Question = { measure: "total", unit: "blocks", from: null, to: null };
  const { items } = group(makeView(model, emptyLook), asked, "lifetime");
  const names = items.map((one) => groupText(model, one)).filter((text) => /live|freed/.test(text));
  const report = said("report", "--group", "lifetime", "--sort", "count", "-n", "60", file);
  for (const text of names)
    assert.ok(report.includes(` ${text}`), `${text}\nis not in ${report}`);
}

for (const [name, make] of CAPTURES)
  test(`asked: ${name}`, () => {
    const file = make();
    const model = modelOf(file);
    const origin = model.facts.image.origin ?? "the capture";
    let [answered, refused] = [0, 0];
    for (const { question, words } of casesOf(model)) {
      const why = refusal(model, question);
      const answer = ask("tree", ...words, file);
      assert.equal(why === null, answer.why === undefined, `${words}: ${why} or ${answer.why}`);
      if (why !== null) {
        refused++;
        assert.equal(bare(why, file, origin), bare(answer.why!, file, origin), words.join(" "));
        continue;
      }
      answered++;
      const title = said("tree", ...words, file);
      assert.ok(title.includes(` ${questionWords(model, question)}`),
        `${words}: ${questionWords(model, question)} is not in ${title.slice(0, 300)}`);
    }
    if (make === clockless)
      assert.match(questionWords(model, { measure: "live", unit: "bytes", from: null,
        to: timed(model)! }), /^live at [\d.]+ % of the run$/);
    assert.ok(answered > 0 && answered + refused >= 2 * MEASURES.length, `${answered} ${refused}`);
    const isLetGo = model.facts.image.end === "detached";
    assert.equal(keptWords(model), isLetGo ? "still live" : "never freed");
    const ofBlocks = model.facts.image.lacks.includes("blocks") ? [] : ["size", "lifetime"];
    for (const kind of ["thread", "function", ...ofBlocks] as GroupKind[]) {
      const why = groupRefusal(model, kind);
      const answer = ask("report", "--group", kind, file);
      if (kind === "lifetime" && !why)
        checkKeptClass(model, file);
      assert.equal(why === null, answer.why === undefined, `${kind}: ${why} or ${answer.why}`);
      if (why !== null)
        assert.equal(bare(why, file, origin), bare(answer.why!, file, origin), kind);
    }
  });
