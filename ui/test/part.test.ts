// SPDX-License-Identifier: Apache-2.0
//
// A part of a view, as a zoom leaves it: whatever is gathered of it is what its stacks have, one by
// one, and what is looked at differently is looked at in the same part.

import assert from "node:assert/strict";
import { test } from "node:test";
import { diffPlaces } from "../src/engine/diff.ts";
import { group, GROUP_KINDS, ofSeveral } from "../src/engine/groups.ts";
import { emptyLook, makeView, otherView, partOf, wantedWeight } from "../src/engine/look.ts";
import { weighIn } from "../src/engine/narrow.ts";
import { defaultQuestion, type Question } from "../src/engine/question.ts";
import { buildDiffTree, buildTree } from "../src/engine/tree.ts";
import { synthetic } from "./synthetic.ts";

const MODEL = synthetic({ nodes: 3000, sites: 900, snapshots: 6, ticks: 20 });
const question = defaultQuestion(MODEL);
const ONLY = Uint8Array.from(MODEL.sites.node, (_, site) => Number(site % 3 === 1));
const looks = [
  emptyLook, { ...emptyLook, ignore: ["function_1$"] }, { ...emptyLook, thread: "t1" },
];
const shape = { inverted: false, byLine: false };
const sum = (values: Iterable<number>) => [...values].reduce((all, one) => all + one, 0);

test("rows and trees of a part are those of its stacks", () => {
  for (const look of looks) {
    const view = makeView(MODEL, look);
    const part = partOf(view, ONLY);
    const weights = weighIn(part, question);
    const left = sum(weights.filter((_, site) => view.wanted[site] && ONLY[site]));
    assert.equal(wantedWeight(part, weights), left);
    assert.ok(left > 0 && left < wantedWeight(view, weights));
    for (const inverted of [false, true])
      assert.equal(buildTree(part, weights, { inverted, byLine: false }).total(0), left);
    for (const kind of GROUP_KINDS) {
      const { items, rest } = group(part, question, kind);
      assert.equal(sum(items.map(({ weight }) => weight)) + rest.weight, left, kind);
      for (const { sites, nAlloc } of items) {
        assert.ok(sites.every((site) => ONLY[site] === 1), kind);
        if (sites.length)
          assert.equal(nAlloc, sum(Array.from(sites, (site) => MODEL.sites.nAlloc[site])), kind);
      }
    }
  }
});

test("what is looked at differently stays the part", () => {
  const part = partOf(makeView(MODEL, emptyLook), ONLY);
  const other = otherView(part, { blame: "library", ignore: ["function_1$"] });
  assert.equal(other.only, ONLY);
  assert.equal(other.look.blame, "library");
  const less = makeView(MODEL, { ...emptyLook, ignore: ["function_1$"] });
  assert.deepEqual(other.wanted, less.wanted.map((is, site) => is & ONLY[site]));
  for (const kind of ["thread", "size", "lifetime"] as const)
    assert.ok(ofSeveral(part, question, kind) <= ofSeveral(part.whole, question, kind));
  assert.equal(partOf(part.whole, null), part.whole);
});

test("a comparison of parts is of both", () => {
  const view = makeView(MODEL, emptyLook);
  const part = partOf(view, ONLY);
  const [before, after] = [1, 4].map((to): Question =>
    ({ measure: "live", unit: "bytes", from: null, to }));
  const [then, now] = [before, after].map((one) => weighIn(view, one));
  const diff = diffPlaces({ view: part, question: before }, { view: part, question: after });
  const tree = buildDiffTree(part, then, part, now, shape);
  const left = (weights: Float64Array) => sum(weights.filter((_, site) => part.wanted[site]));
  assert.equal(diff.total.before.bytes, left(then));
  assert.equal(diff.total.after.bytes, left(now));
  assert.equal(tree.total(0), left(now));
  assert.equal(tree.before(0), left(then));
});
