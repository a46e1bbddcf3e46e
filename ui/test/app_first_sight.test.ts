// SPDX-License-Identifier: Apache-2.0
//
// What is seen of a large inverted picture first: of graphs alone, and of nobody who searches or
// has zoomed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { effect, signal } from "@preact/signals-core";
import { firstSight, type Waiting } from "../src/app/first_sight.ts";
import type { Seen } from "../src/app/pictures.ts";
import { working } from "../src/app/workers.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import { defaultQuestion, weigh } from "../src/engine/question.ts";
import { buildTree } from "../src/engine/tree.ts";
import { trieOf } from "../src/engine/trie.ts";
import { synthetic } from "./synthetic.ts";

const MODEL = synthetic({ nodes: 25000, sites: 9000, snapshots: 3 });
const waiting: Waiting = {
  of: MODEL, pictures: [{ look: emptyLook, inverted: true, byLine: false }],
  question: defaultQuestion(MODEL), isEnough: true,
};

const until = (sight: { value: Seen[] | null }) => new Promise<Seen[]>((done) => {
  const stop = effect(() => {
    const seen = sight.value;
    if (seen) queueMicrotask(() => (stop(), done(seen)));
  });
});

test("it has a view of its own, and the numbers of all", async () => {
  const [{ view, picture }] = await until(firstSight(signal(waiting)));
  assert.equal(picture, waiting.pictures[0]);
  const whole = makeView(MODEL, emptyLook);
  assert.notEqual(view, whole); // whose trie is still to come
  assert.ok(trieOf(view, true, false).seen! > 0);
  const weights = weigh(MODEL, waiting.question);
  const [first, all] = [view, whole].map((of) => buildTree(of, weights, picture));
  const roots = (tree: typeof first) =>
    tree.children(0).map((node) => [tree.name[node], tree.total(node)]);
  assert.deepEqual(roots(first), roots(all));
});

test("there is none of anything else", async () => {
  const [picture] = waiting.pictures;
  const others: (Waiting | null)[] = [
    null, { ...waiting, isEnough: false },
    { ...waiting, pictures: [{ ...picture, look: { ...emptyLook, row: "place a" } }] },
    { ...waiting, of: synthetic({ nodes: 500, sites: 200 }) },
  ];
  for (const other of others) {
    const sight = firstSight(signal(other));
    assert.equal(sight.value, null);
    await null;
    assert.equal(working.value, 0); // nothing is being made
  }
});
