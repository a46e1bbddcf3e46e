// SPDX-License-Identifier: Apache-2.0
//
// What ran unrecorded, on the page and in the command: the same facts in the same words, and
// nothing is called complete over it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model, SentenceKind } from "../src/engine/model.ts";
import { verdict } from "../src/engine/verdict.ts";
import { ask, compiled, completenessIn, golden, made, modelOf } from "./command.ts";
import { recorded, recordedCommand, said } from "./command.ts";

// A child that no recorder can be loaded into, three times; a helper that is; and the command.
function aBuild(): string {
  const child = compiled("page_wrapper.c", "-static");
  return recordedCommand("unrecorded-children", "--how", "preload", "--", "sh", "-c",
    `for i in 1 2 3; do ${child}; done; ls / >/dev/null; true`);
}

const CAPTURES: [string, () => string][] = [
  ["children that are not recorded", aBuild],
  ["nothing that is recorded", () =>
    recordedCommand("unrecorded-command", "--how", "preload", "--",
      compiled("page_wrapper.c", "-static"))],
  ["a run that is complete", () => recorded("page_shapes.c", "-pthread")],
  ["a file of before the roll", () => made(7, 150, 12)],
  ["another tool's file", () => golden("massif.out")],
];

function told(model: Model, kind: SentenceKind): string[] {
  return verdict(model).filter((one) => one.kind === kind).map(({ text }) => text);
}

// As a sentence of the page: with a capital letter and a full stop.
const asSentence = (text: string) => text[0].toUpperCase() + text.slice(1) + ".";

for (const [name, make] of CAPTURES)
  test(`unrecorded: ${name}`, () => {
    const file = make();
    const model = modelOf(file);
    const { capture, unrecorded } = model.facts;
    const { json } = ask("report", file);
    assert.deepEqual(capture.run, json.capture.run, "the facts of the run");
    assert.equal(capture.complete, json.capture.complete);
    const [info, report] = [said("info", file), said("report", file)];
    const rows = json.capture.run?.unrecorded ?? [];
    assert.equal(unrecorded.length, rows.length);
    unrecorded.forEach(({ name, reason, way_out, exe }, i) => {
      const way = way_out ? `; ${way_out}` : "";
      const line = `not recorded: ${name} (${rows[i].pid}) ${reason}${way}`;
      assert.ok(info.includes(line), `${line}\nis not in ${info}`);
      assert.equal(exe, rows[i].exe);
    });
    const [complete] = told(model, "complete");
    const line = completenessIn(report) ?? assert.fail(report);
    assert.equal(complete.replace("Read from ", "Read from: "), asSentence(line));
    const lead = told(model, "unrecorded").filter((text) => !text.startsWith("Not recorded: "));
    assert.equal(told(model, "unrecorded").length,
      lead.length + Number(rows.length > 1 || (rows.length > 0 && !lead.length)));
    for (const text of told(model, "unrecorded")) {
      const words = text.replace(/^Not /, "not ").slice(0, -1);
      assert.ok(report.includes(words), `${words}\nis not in ${report}`);
    }
  });

test("unrecorded: what is told of a build and of a command", () => {
  const build = modelOf(aBuild()).facts;
  assert.equal(build.capture.complete, false);
  const [row] = build.unrecorded;
  assert.match(row.name, /^3 × page_wrapper|^3 × page-wrapper/);
  assert.match(row.reason, /^is statically linked/);
  assert.match(row.way_out ?? "", /, or link it dynamically/);
  assert.match(build.verdict.sentences.find(({ kind }) => kind === "complete")?.text ?? "",
    /^Incomplete: 2 of at least 5 processes recorded; here /);
  const alone = modelOf(CAPTURES[1][1]());
  assert.match(told(alone, "unrecorded")[0], /was not recorded: it is statically linked/);
  const sentences = verdict(alone).map(({ text }) => text);
  assert.ok(!sentences.some((text) => /allocated|peaked|freed/.test(text)), sentences.join("\n"));
});
