// SPDX-License-Identifier: Apache-2.0
//
// What a comparison says, on the page and by the command: what is compared, notes, what did not
// change, and refusals; of captures that are recorded, cut, merged, sampled and of other tools.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DIFF_GROUPS, diffGroupRefusal, diffPlaces } from "../src/engine/diff.ts";
import type { Diff, DiffGroup } from "../src/engine/diff.ts";
import { comparedWords, diffNotes, unchangedWords } from "../src/engine/diff_words.ts";
import { markOfAnswer, markOfTwo } from "../src/engine/exactness.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { MEASURES, refusal, type Question, type Unit } from "../src/engine/question.ts";
import { TERMS } from "../src/engine/terms.ts";
import { amount, changeCell, EXACT, sideCell } from "../src/engine/units.ts";
import { ask, corpus, cut, golden, merged, modelOf, offerOf, printed } from "./command.ts";
import { printedWide, recorded, recordedCommand, said } from "./command.ts";

const shapes = () => recorded("page_shapes.c", "-pthread");

const PAIRS: [string, () => string, () => string, RegExp?][] = [
  ["a recording and itself", shapes, shapes],
  ["a recording and one that was cut", shapes, cut, /^after: its file is damaged/],
  ["two programs", shapes, () => recorded("page_blame.c", "-O1"), /^these are two programs, /],
  ["two command lines", () => recordedCommand("true-a", "sh", "-c", ": a"),
    () => recordedCommand("true-b", "sh", "-c", ": b"), /^the command lines differ$/],
  ["a recording and two of it merged", shapes, () => merged("runs", shapes(), shapes()),
    /^the peaks are exact to ± /],
  ["massif's file and DHAT's", () => golden("massif.out"), () => golden("dhat.json"),
    /^the peaks are exact to ± 2\.8 MiB together$/],
  ["two sampled profiles", () => corpus("pprof/go.pb"), () => corpus("heap_text/sampled.heap")],
];

// The notes of the command, each in one line.
function notesIn(text: string): string[] {
  const found = text.matchAll(/^ {2}note: (.*(?:\n {8}.*)*)/gm);
  return [...found].map((note) => note[1].replace(/\s+/g, " "));
}

// A row of the table but for its name, as the command prints it and as the page does.
const cellsOf = (line: string) => line.trim().split(/ {2,}/).slice(0, 5).join(" | ");

function checkRows({ before, after, files }: Sides, question: Question, diff: Diff) {
  const { measure, unit } = question;
  const text = printedWide("diff", "--sort", measure, "--by", unit, "-n", "1000000", ...files);
  const lines = text.split("\n");
  const other = unit === "bytes" ? "blocks" : "bytes";
  const head = [TERMS.change, TERMS.before, TERMS.after, TERMS[other]].map((term) => term.text);
  const at = lines.findIndex((line) => line.trim().split(/ {2,}/).join() === head.join());
  assert.ok(at > 0, `${head.join(" ")}\nis not in ${text}`);
  const theirs = lines.slice(at + 1).filter((line) => / (?:added|gone|grown|shrunk)  /.test(line));
  const ofSide = (model: Model, in_: Unit) => markOfAnswer(model, { ...question, unit: in_ });
  const changed = (in_: Unit) => markOfTwo(ofSide(before, in_), ofSide(after, in_));
  const rows = diff.places.filter(({ change }) => change !== "same");
  const ours = rows.map((place) => [
    changeCell(place.by, unit, changed(unit)),
    sideCell(place.before[unit], unit, ofSide(before, unit)),
    sideCell(place.after[unit], unit, ofSide(after, unit)),
    changeCell(place.after[other] - place.before[other], other, changed(other)),
    place.change,
  ].join(" | "));
  const isKnown = ![before, after].some(({ facts }) => facts.image.lacks.includes("blocks"));
  const known = (row: string) => (isKnown ? row : row.replace(/[^|]+\|([^|]+)$/, "$1"));
  assert.deepEqual(theirs.map(cellsOf).map(known).sort(), ours.map(known).sort(),
    `${measure} in ${unit}`);
}

type Sides = { before: Model; after: Model; files: string[] };

const stopped = (text: string) => text.replace(/\.$/, "");

// Without quotes, and what to do about it: that is worded for those who type or point.
function bare(text: string, { before, after, files }: Sides): string {
  const source = ({ facts }: Model) => facts.image.origin ?? "the capture";
  const named = text.replaceAll(files[0], source(before)).replaceAll(files[1], source(after));
  const plain = named.replace(/^tidemark: /, "").replace(/["“”]/g, "'").trim();
  return stopped(plain).replace(/^T(?=he |emp)/, "t").split("; ")[0];
}

function checkNotes({ before, after, files }: Sides, text: string) {
  const ofBoth = offerOf(files).captures.map(({ compared, largest }) => compared![largest]);
  assert.deepEqual(ofBoth[0], ofBoth[1], "it is the same whichever side is looked at");
  const ours = diffNotes(ofBoth[0], before, after).map(stopped);
  const theirs = notesIn(text).map(stopped);
  for (const note of theirs)
    assert.ok(ours.includes(note), `${note}\nis not on the page: ${ours.join("\n")}`);
  // Of names the command tells what concerns the places it shows.
  const ofNames = [before, after].flatMap(({ facts }) => facts.verdict.sentences)
    .filter(({ kind }) => kind === "note").map((note) => stopped(note.text));
  for (const note of ours)
    assert.ok(theirs.includes(note) || ofNames.includes(note.replace(/^(?:before|after): /, "")),
      `${note}\nis not said by the command: ${theirs.join("\n")}`);
  return ours;
}

// false: it was refused, by both.
function checkMeasure(sides: Sides, question: Question): boolean {
  const { before, after, files } = sides;
  const { measure, unit } = question;
  const words = ["--sort", measure, "--by", unit];
  const why = refusal(before, question) ?? refusal(after, question);
  const answer = ask("diff", ...words, ...files);
  assert.equal(why === null, answer.why === undefined, `${words}: ${why} or ${answer.why}`);
  if (why !== null) {
    assert.equal(bare(why, sides), bare(answer.why!, sides), words.join(" "));
    return false;
  }
  const text = said("diff", ...words, ...files);
  const side = (model: Model) => ({ view: makeView(model, emptyLook), question });
  const diff = diffPlaces(side(before), side(after));
  const { places, total } = diff;
  if (places.some(({ change }) => change !== "same")) {
    assert.ok(text.includes(` ${comparedWords(after, question)}, place by place:`), text);
    checkRows(sides, question, diff);
    return true;
  }
  const held = amount(total.after[unit], unit, EXACT).replace(/ blocks?$/, "");
  const told = unchangedWords(after, question, "place", held, places.length);
  assert.ok(text.includes(` ${told}`), `${told}\nis not in ${text}`);
  return true;
}

function checkGroup(sides: Sides, group: DiffGroup) {
  const { before, after, files } = sides;
  const question: Question = { measure: "live", unit: "bytes", from: null, to: null };
  const words = ["--sort", "live", "--group", group === "place" ? "function" : group];
  const why = refusal(before, question) ?? refusal(after, question) ??
    diffGroupRefusal(before, after, group);
  const answer = ask("diff", ...words, ...files);
  assert.equal(why === null, answer.why === undefined, `${words}: ${why} or ${answer.why}`);
  if (why !== null)
    assert.equal(bare(why, sides), bare(answer.why!, sides), group);
}

for (const [name, first, second, note] of PAIRS)
  test(`compared: ${name}`, () => {
    const files = [first(), second()];
    const [before, after] = files.map((file) => modelOf(file));
    const notes = checkNotes({ before, after, files }, printed("diff", ...files));
    if (note)
      assert.ok(notes.some((text) => note.test(text)), `${note}: ${notes.join("\n")}`);
    let answered = 0;
    for (const measure of MEASURES)
      for (const unit of ["bytes", "blocks"] as Unit[])
        answered += Number(
          checkMeasure({ before, after, files }, { measure, unit, from: null, to: null }));
    assert.ok(answered > 0, "every question was refused");
    for (const group of DIFF_GROUPS)
      checkGroup({ before, after, files }, group);
  });

test("compared: two moments", () => {
  const file = shapes();
  const model = modelOf(file);
  for (const unit of ["bytes", "blocks"] as Unit[]) {
    const question: Question = { measure: "live", unit, from: null, to: model.snapshots.count - 1 };
    const text = said("diff", "--from", "peak", "--to", "end", "--by", unit, file);
    assert.ok(text.includes(` ${comparedWords(model, question)}, place by place:`), text);
  }
});
