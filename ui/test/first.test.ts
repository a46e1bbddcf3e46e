// SPDX-License-Identifier: Apache-2.0
//
// What is seen first of a large capture, against all of it: few sites, the same sums, and every
// number that is shown of a place, a thread or a node from the top of the tree down the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeBands } from "../src/engine/bands.ts";
import { cardsOf } from "../src/engine/cards.ts";
import { totalAtSnapshots } from "../src/engine/curves.ts";
import { group } from "../src/engine/groups.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { frameText, isGathered, placeText } from "../src/engine/names.ts";
import { defaultQuestion, MEASURES, refusal, type Question } from "../src/engine/question.ts";
import { weigh } from "../src/engine/question.ts";
import { buildTree, type Tree } from "../src/engine/tree.ts";
import { firstModelOf, made, modelOf, recordedCommand } from "./command.ts";

const PYTHON =
  "import json, collections, argparse; x = [json.dumps({i: [i] * i}) for i in range(99)]";

// Recorded ones have a shape, made ones have none.
const CAPTURES: [string, () => string, number][] = [
  ["700 stacks, 9 snapshots", () => made(3, 700, 9), 20],
  ["CPython, recorded", () => recordedCommand("first", "python3", "-c", PYTHON), 100],
];

function questionsOf(model: Model): Question[] {
  const whole = MEASURES.flatMap((measure) => (["bytes", "blocks"] as const).map((unit) =>
    ({ measure, unit, from: null, to: null })));
  const parts = [1, 4].flatMap((to) => [
    { measure: "live", unit: "bytes", from: null, to } as const,
    { measure: "total", unit: "blocks", from: 0, to } as const,
  ]);
  return [...whole, ...parts].filter((one) => !refusal(model, one));
}

const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0);

function placesOf(model: Model, question: Question): Map<string, number> {
  const { items } = group(makeView(model, emptyLook), question, "place");
  return new Map(items.filter(({ frame }) => !isGathered(model, frame))
    .map(({ frame, weight }) => [`${frameText(model, frame)} ${placeText(model, frame)}`, weight]));
}

// What nodes weigh, by the way to them; what is gathered, and all below it, is none.
function nodesOf(model: Model, question: Question): Map<string, number> {
  const tree: Tree = buildTree(makeView(model, emptyLook), weigh(model, question),
    { inverted: false, byLine: false });
  const found = new Map<string, number>();
  const walk = (node: number, way: string) => {
    found.set(way, tree.total(node));
    for (const child of tree.children(node))
      if (!isGathered(model, tree.frame(child)))
        walk(child, `${way}/${frameText(model, tree.frame(child))}`);
  };
  walk(0, "");
  return found;
}

for (const [name, make, keep] of CAPTURES)
  test(`what is seen first is true: ${name}`, () => {
    const file = make();
    const [all, first] = [modelOf(file), firstModelOf(file, keep)];
    assert.ok(all.sites.count > 10 * keep);
    assert.ok(first.sites.count <= 3 * keep + 2, `${first.sites.count} sites`);
    assert.ok(first.facts.pruned?.first && first.facts.pruned.of === all.sites.count);
    assert.deepEqual(first.facts.verdict, all.facts.verdict);
    assert.deepEqual(totalAtSnapshots(first), totalAtSnapshots(all));
    assert.deepEqual(first.ticks, all.ticks);
    let nNodes = 0;
    for (const question of questionsOf(all)) {
      assert.equal(sum(weigh(first, question)), sum(weigh(all, question)));
      const [places, some] = [placesOf(all, question), placesOf(first, question)];
      for (const [place, weight] of some)
        assert.equal(weight, places.get(place), `${question.measure} of ${place}`);
      const nodes = nodesOf(all, question);
      for (const [way, weight] of nodesOf(first, question)) {
        nNodes++;
        assert.ok(weight <= (nodes.get(way) ?? -1), `${question.measure} of ${way}`);
      }
      const threads = (model: Model) =>
        group(makeView(model, emptyLook), question, "thread").items
          .filter(({ several }) => !several).map(({ number, nAlloc }) => [number, nAlloc]).sort();
      assert.deepEqual(threads(first), threads(all));
    }
    assert.ok(nNodes > 100, `${nNodes} nodes`);
    const { items } = group(makeView(first, emptyLook), defaultQuestion(first), "place");
    assert.ok(items.some(({ frame }) => isGathered(first, frame)));
    const blamed = cardsOf(first).map((card) => card.group!.frame);
    assert.ok(blamed.length && !blamed.some((frame) => isGathered(first, frame)));
    for (const kind of ["place", "stack"] as const) {
      const { bands } = makeBands(makeView(first, emptyLook), kind, "bytes", 6);
      assert.ok(bands.length && !bands.some((band) => isGathered(first, band.group.frame)), kind);
    }
  });

test("what is not large is seen at once", () => {
  const file = made(3, 150, 3);
  assert.equal(firstModelOf(file, 20).facts.pruned, null);
});
