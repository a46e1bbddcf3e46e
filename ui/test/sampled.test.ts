// SPDX-License-Identifier: Apache-2.0
//
// Estimates from samples: the page's rows and the command's have the same numbers, each with the
// same standard error.

import assert from "node:assert/strict";
import { test } from "node:test";
import { tableColumns } from "../src/app/columns.ts";
import { errorOf } from "../src/engine/exactness.ts";
import { group } from "../src/engine/groups.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { NumberKey } from "../src/engine/numbers.ts";
import { refusal, type Measure, type Question, type Unit } from "../src/engine/question.ts";
import { modelOf, printed, sampled } from "./command.ts";

test("sampled: rows with their errors", () => {
  const file = sampled("page_shapes.c", "-pthread", "1KiB");
  const model = modelOf(file);
  let found = 0;
  for (const measure of ["peak", "total", "leak"] as Measure[])
    for (const unit of ["bytes", "blocks"] as Unit[]) {
      const question: Question = { measure, unit, from: null, to: null };
      if (refusal(model, question))
        continue;
      const [weight] = tableColumns(model, question, "place");
      const view = makeView(model, emptyLook);
      const rows = group(view, question, "place").items
        .map((one) => weight.text(one, { model, question, whole: 1 }));
      const text = printed("report", "--md", "-n", "1000", "--sort", measure, "--by", unit,
        file);
      const said = text.split("\n").slice(2).filter((line) => line.startsWith("| "))
        .map((line) => line.split("|")[2].trim());
      for (const row of rows.filter((one) => one.includes("±"))) {
        assert.ok(said.includes(row), `${measure} in ${unit}: ${row} is none of ${said}`);
        found++;
      }
    }
  assert.ok(found >= 6, `${found} rows with an error`);
});

test("sampled: an error that does not show is not told", () => {
  const none = {} as Record<NumberKey, number>;
  const few = { ...none, liveBytesSpread: 1, liveBlocksSpread: 256 * 100 };
  assert.equal(errorOf(none, "live", "bytes", 1000), "");
  assert.equal(errorOf(few, "live", "bytes", 2 ** 30), "");
  assert.equal(errorOf(few, "live", "bytes", 1000), " ± 256 B");
  assert.equal(errorOf(few, "live", "blocks", 50), " ± 10");
  assert.equal(errorOf(few, "mapped", "bytes", 1000), "");
});
