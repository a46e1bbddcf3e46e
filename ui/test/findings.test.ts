// SPDX-License-Identifier: Apache-2.0
//
// Findings are the command's: the page shows the sentences of "explain" as they are, and what a
// click selects is the place that the sentence is about.

import assert from "node:assert/strict";
import test from "node:test";
import { stepTo, stepToCard } from "../src/app/finding_step.ts";
import { cardsOf } from "../src/engine/cards.ts";
import { group, GROUP_KINDS } from "../src/engine/groups.ts";
import { emptyLook, makeView, wantedWeight } from "../src/engine/look.ts";
import { refusal, weigh, type Question } from "../src/engine/question.ts";
import { defaultQuestion, type Measure } from "../src/engine/question.ts";
import { checkSelected } from "./agree.ts";
import { ask, golden, made, modelOf, recorded, said } from "./command.ts";

const CAPTURES: [string, () => string][] = [
  ["a program with faults", () => recorded("page_faults.c", "-O1")],
  ["a handover between threads", () => recorded("page_handover.c", "-pthread")],
  ["shapes", () => recorded("page_shapes.c", "-pthread")],
  ["another tool's", () => golden("dhat.json")],
  ["as chance would have it", () => made(3, 40)],
];

for (const [name, make] of CAPTURES)
  test(`findings: ${name}`, () => {
    const file = make();
    const { findings } = modelOf(file).facts;
    const { json, why } = ask("explain", file);
    assert.deepEqual(findings.list, json?.findings ?? assert.fail(why), "the JSON's");
    const text = said("explain", "--top", "50", file);
    assert.ok(findings.title && text.startsWith(findings.title), `${findings.title}\n${text}`);
    for (const { heading, sentence, advice } of findings.list)
      assert.ok(text.includes(`${heading} ${sentence} ${advice}`), `${sentence}\n${text}`);
    assert.equal(text.includes("not judged: "), findings.unjudged !== null);
    if (findings.unjudged)
      assert.ok(text.includes(`not judged: ${findings.unjudged}`), text);
  });

test("findings: a click selects the place that a sentence is about", () => {
  const model = modelOf(recorded("page_faults.c", "-O1"));
  const { list } = model.facts.findings;
  assert.ok(list.some(({ see }) => see === "temp"), JSON.stringify(list));
  for (const finding of list) {
    const { filters, measure, pane } = stepTo(finding);
    if (finding.see === "residence") {
      assert.equal(pane, "memory");
      continue;
    }
    const view = makeView(model, { ...emptyLook, ...filters });
    const question = { ...defaultQuestion(model), measure: measure as Measure };
    const [first] = group(view, question, "place").items;
    const { frames, text } = model;
    assert.equal(text[frames.function[first.frame]], finding.function, finding.sentence);
    assert.equal(frames.line[first.frame], finding.line, finding.sentence);
  }
});

for (const [name, make] of CAPTURES)
  test(`cards: ${name}: each selects what it says, to the byte`, () => {
    const model = modelOf(make());
    const cards = cardsOf(model);
    assert.ok(cards.length <= 5);
    const { list } = model.facts.findings;
    const sure = list.filter(({ kind, confidence }) => kind === "fault" && confidence !== "low");
    assert.deepEqual(cards.slice(0, sure.length).map((card) => card.finding), sure.slice(0, 5));
    for (const card of cards) {
      const step = stepToCard(model, card);
      if (!card.group)
        continue;
      const view = makeView(model, { ...emptyLook, row: step?.row ?? null });
      assert.deepEqual(group(view, card.question, "place").items.map(({ frame, weight }) =>
        [frame, weight]), [[card.group.frame, card.group.weight]]);
      assert.equal(wantedWeight(view, weigh(model, card.question)), card.group.weight);
    }
  });

test("cards: three of them where three places weigh", () => {
  assert.equal(cardsOf(modelOf(recorded("page_faults.c", "-O1"))).length, 3);
});

// The rows are the command's (agree.test.ts).
for (const [name, make] of CAPTURES)
  test(`selections: ${name}: a row that is selected is what it was in its table`, () => {
    const model = modelOf(make());
    const last = model.snapshots.count - 1;
    const asked: Question[] = (["peak", "live", "total", "leak", "temp"] as Measure[])
      .flatMap((measure) => (["bytes", "blocks"] as const).map((unit) =>
        ({ measure, unit, from: null, to: null })));
    for (const measure of ["live", "total", "grown"] as Measure[])
      asked.push({ measure, unit: "bytes", from: measure === "live" ? null : 0, to: last });
    for (const question of asked.filter((one) => !refusal(model, one)))
      for (const kind of GROUP_KINDS)
        checkSelected(model, question, kind);
  });
