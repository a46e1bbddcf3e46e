// SPDX-License-Identifier: Apache-2.0
//
// What heads a column, on the page and where the command has the same column: in Markdown, above a
// tree and above a comparison (compared.test.ts); and what is said instead of a table.

import assert from "node:assert/strict";
import { test } from "node:test";
import { tableColumns } from "../src/app/columns.ts";
import { growthWords } from "../src/app/leaks.tsx";
import { markOf } from "../src/engine/exactness.ts";
import { leaks } from "../src/engine/leaks.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import { GROUP_KINDS } from "../src/engine/groups.ts";
import { measureTerm } from "../src/engine/question_words.ts";
import { MEASURES, refusal } from "../src/engine/question.ts";
import type { Measure, Question, Unit } from "../src/engine/question.ts";
import { GROUP_TERMS, TERMS } from "../src/engine/terms.ts";
import { corpus, cut, golden, merged, modelOf, printed, recorded, recordedCommand, said }
  from "./command.ts";

const shapes = () => recorded("page_shapes.c", "-pthread");

const CAPTURES: [string, () => string][] = [
  ["a recording", shapes],
  ["a recording that was cut", cut],
  ["two runs merged", () => merged("runs", shapes(), shapes())],
  ["several processes", () =>
    recordedCommand("several", "sh", "-c", "ls / >/dev/null; ls /tmp >/dev/null")],
  ["DHAT's file", () => golden("dhat.json")],
  ["massif's file", () => golden("massif.out")],
  ["a sampled profile", () => corpus("pprof/go.pb")],
];

const rowOf = (text: string) =>
  text.split("\n")[0].split("|").slice(1, -1).map((one) => one.trim());
const lower = (text: string) => text[0].toLowerCase() + text.slice(1);

for (const [name, make] of CAPTURES)
  test(`headings: ${name}`, () => {
    const file = make();
    const model = modelOf(file);
    let asked = 0;
    for (const measure of MEASURES)
      for (const unit of ["bytes", "blocks"] as Unit[]) {
        const question: Question = { measure, unit, from: null, to: null };
        if (refusal(model, question))
          continue;
        asked++;
        const head = rowOf(printed("report", "--md", "--sort", measure, "--by", unit, file));
        const columns = tableColumns(model, question, "place");
        const titles = columns.map(({ title }) => lower(title));
        assert.equal(head[0], TERMS.share.text);
        assert.equal(head[1], titles[0], `${measure} in ${unit}`);
        assert.equal(new Set(titles).size, titles.length, `two are called alike: ${titles}`);
        assert.ok(columns.every(({ hint }) => hint.length > 3), "each says what it is");
        if (measure === "temp")
          assert.ok(titles.includes(head[2]), `${head[2]} is none of ${titles}`);
        assert.deepEqual(head.slice(-2), [TERMS.function.text, TERMS.source.text]);
      }
    assert.ok(asked > 0, "every question was refused");
    const top = printed("tree", file).split("\n")[1];
    assert.match(top.trim(), new RegExp(
      `^${TERMS.share.text} +${TERMS.total.text} +${TERMS.self.text} +${TERMS.function.text}, `));
  });

test("headings: what a table is grouped by", () => {
  const file = shapes();
  for (const kind of GROUP_KINDS) {
    const head = rowOf(printed("report", "--md", "--group", kind, "--sort", "count", file));
    const isOfFunction = kind === "place" || kind === "stack";
    assert.equal(head.at(-2), isOfFunction ? TERMS.function.text : GROUP_TERMS[kind].word);
  }
  assert.match(said("report", "-n", "1", file), / in 3 more places/);
  assert.equal(GROUP_TERMS.place.many, "places");
});

test("headings: what is said instead of a table", () => {
  const file = recorded("page_nothing.c", "-O0");
  const model = modelOf(file);
  for (const measure of ["live", "grown", "leak"] as Measure[]) {
    const { nothing } = measureTerm(model, measure);
    const text = said("report", "--sort", measure, file);
    assert.ok(text.includes(` ${nothing} `), `${nothing}\nis not in ${text}`);
  }
});

test("headings: what became of blocks", () => {
  const file = shapes();
  const model = modelOf(file);
  const { kept } = leaks(makeView(model, emptyLook));
  const words = growthWords(kept, markOf(model, "live", "bytes"));
  assert.ok(words.includes(TERMS.growing.text) && words.includes(TERMS.held.text), words);
  assert.ok(said("report", "--sort", "leak", file).includes(` ${words} `), words);
});
