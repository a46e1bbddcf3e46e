// SPDX-License-Identifier: Apache-2.0
//
// What is let go when nobody looks at it any more, and is the same when it is made again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { effect, signal } from "@preact/signals-core";
import { letGo } from "../src/app/signals.ts";
import { columnAt, forgetColumns } from "../src/engine/keyframes.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import { forgetMoments, weigh, type Question } from "../src/engine/question.ts";
import { forgetMatches, search, widthsOf } from "../src/engine/search.ts";
import { buildTree } from "../src/engine/tree.ts";
import { synthetic } from "./synthetic.ts";

function shown(isNothing?: () => boolean) {
  const pane = signal("table");
  const values: string[] = [];
  const made = letGo(() => {
    values.push(pane.value);
    return pane.value === "table" ? "much" : null;
  }, isNothing);
  const leave = effect(() => void made.value);
  return { pane, values, leave };
}

test("what nobody watches any more is read once more", async () => {
  const { pane, values, leave } = shown();
  leave();
  pane.value = "graph";
  await null;
  assert.deepEqual(values, ["table", "graph"]);
});

test("and not where that would be made for nobody", async () => {
  const { pane, values, leave } = shown(() => false);
  leave();
  pane.value = "table, sorted";
  await null;
  assert.deepEqual(values, ["table"]);
});

test("moments that are forgotten are made again", () => {
  const model = synthetic({ nodes: 300, sites: 90 });
  const whole: Question = { measure: "leak", unit: "bytes", from: null, to: null };
  const last = model.snapshots.count - 1;
  const moment: Question = { measure: "live", unit: "bytes", from: null, to: last };
  const [ofWhole, ofMoment] = [weigh(model, whole), weigh(model, moment)];
  const column = columnAt(model, "bytes", last);
  forgetMoments(model);
  forgetColumns(model);
  assert.equal(weigh(model, whole), ofWhole);
  assert.notEqual(weigh(model, moment), ofMoment);
  assert.deepEqual(weigh(model, moment), ofMoment);
  assert.notEqual(columnAt(model, "bytes", last), column);
  assert.deepEqual(columnAt(model, "bytes", last), column);
});

test("matches that are forgotten are found again", () => {
  const model = synthetic({ nodes: 300, sites: 90 });
  const view = makeView(model, emptyLook);
  const question: Question = { measure: "total", unit: "bytes", from: null, to: null };
  const shape = { inverted: false, byLine: false };
  const tree = buildTree(view, weigh(model, question), shape);
  const found = search(tree, [view], "1");
  const widths = widthsOf(tree, found.nodes);
  assert.ok(found.count > 0);
  assert.equal(search(tree, [view], "1"), found);
  forgetMatches(tree);
  const again = search(tree, [view], "1");
  assert.notEqual(again, found);
  assert.deepEqual([again, widthsOf(tree, again.nodes)], [found, widths]);
});
