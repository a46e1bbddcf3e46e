// SPDX-License-Identifier: Apache-2.0
//
// What is seen first of a picture: of every box that is there the number that the whole
// picture has, and of every box that is wide enough all that it says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cutWords } from "../src/app/words.ts";
import { earlyTrie, hasEarly } from "../src/engine/early.ts";
import { emptyLook, makeView, viewApart } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { MEASURES, weigh } from "../src/engine/question.ts";
import { buildTree, findPath, pathOf, type Tree } from "../src/engine/tree.ts";
import { keepTrie } from "../src/engine/trie.ts";
import { random, synthetic } from "./synthetic.ts";

// Stacks of few functions that call each other in turn: cycles everywhere.
function cyclic(seed: number): Model {
  const model = synthetic({ seed, nodes: 900, sites: 400, frames: 40, snapshots: 3 });
  const next = random(seed);
  const few = 3 + Math.floor(next() * 3);
  for (let i = 1; i < model.nodes.count; i++)
    model.nodes.frame[i] = 3 * Math.floor(next() * few);
  return model;
}

const inverted = { inverted: true, byLine: false };

function compare(early: Tree, whole: Tree, seen: number) {
  let n = 0;
  for (let node = 0; node < early.count; node++) {
    if (!early.stacks(node))
      continue;
    const same = findPath(whole, pathOf(early, node));
    assert.ok(same >= 0, "a box that the whole picture does not have");
    assert.deepEqual([early.total(node), early.stacks(node)],
      [whole.total(same), whole.stacks(same)]);
    assert.equal(early.isWhole(node), early.total(node) >= early.total(0) / seen);
    if (!early.isWhole(node))
      continue;
    n++;
    assert.equal(early.self(node), whole.self(same));
    assert.equal(early.deep(node), 1); // which tells nothing
    assert.ok(early.line(node) === 0 || early.line(node) === whole.line(same));
    assert.equal(whole.children(same).filter((c) => whole.total(c) >= whole.total(0) / seen).length,
      early.children(node).filter((c) => early.total(c) >= early.total(0) / seen).length);
  }
  return n;
}

test("every box has its number, and wide ones all they say", () => {
  let n = 0;
  const left = { inside: 0, outside: 0 };
  const nOfFew = { callers: 0, inside: 0, outside: 0 }; // pictures of few of the stacks
  const models = [1, 2, 3, 4].flatMap((seed) =>
    [cyclic(seed), synthetic({ seed, nodes: 2000, sites: 700, frames: 90, snapshots: 3 })]);
  for (const model of models) {
    const name = (f: number) => `^${model.text[model.frames.function[f]]}$`;
    const looks = [
      {}, { allFrames: true, collapse: false }, { focus: [name(0)] }, { callers: [name(3)] },
      { callers: [name(3)], hide: [name(6)] }, { focus: [name(3)], ignore: [name(9)] },
      { callers: [name(3)], hide: [name(3)], allFrames: true },
      { focus: [name(3)], function: [name(6), name(9), name(12)] },
      { callers: [name(3)], function: [name(6), name(9), name(12)] },
    ].map((change) => ({ ...emptyLook, ...change }));
    for (const look of looks)
      for (const [inverted, byLine] of [[true, false], [true, true], [false, false], [false, true]])
        for (const measure of MEASURES) {
          if (!inverted && look.callers.length)
            continue; // the page has callers from the inside out
          const weights = weigh(model, { measure, unit: "bytes", from: null, to: null });
          const options = { inverted, byLine };
          const view = makeView(model, look);
          const again = atOnce(viewApart(model, look));
          assert.notEqual(view, again);
          keepTrie(again, inverted, byLine, atOnce(earlyTrie(again, weights, options, 20)));
          const [early, whole] = [again, view].map((of) => buildTree(of, weights, options));
          n += compare(early, whole, 20);
          left[inverted ? "inside" : "outside"] += whole.count - early.count;
          nOfFew[look.callers.length ? "callers" : inverted ? "inside" : "outside"] +=
            Number(whole.stacks(0) > 4 && whole.stacks(0) * 20 < model.sites.count);
        }
  }
  const isMuch = n > 1000 && left.inside > 1000 && left.outside > 1000;
  assert.ok(isMuch, "hardly any, or nothing was left for later");
  assert.ok(Math.min(...Object.values(nOfFew)) > 5, `too seldom few: ${Object.values(nOfFew)}`);
});

test("it is told that it is not all, and is of looks that nodes alone tell", () => {
  const model = cyclic(1);
  const weights = weigh(model, { measure: "total", unit: "bytes", from: null, to: null });
  const trie = atOnce(earlyTrie(makeView(model, emptyLook), weights, inverted, 20));
  assert.match(cutWords(trie)!, /still being worked out/);
  assert.ok(hasEarly({ ...emptyLook, allFrames: true, focus: ["a"] }));
  const others = [{ row: "place a" }, { libraries: ["crate a"] }, { size: 3 }];
  for (const look of others)
    assert.ok(!hasEarly({ ...emptyLook, ...look }));
});
