// SPDX-License-Identifier: Apache-2.0
//
// Work in pieces: it comes to the same as the work at once, whatever is asked between two pieces;
// what is about to be shown has been made by then; and a page shows what was until it is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { effect, signal } from "@preact/signals-core";
import { prepare, type Asked } from "../src/app/prepare.ts";
import { linesInPieces } from "../src/app/source_lines.ts";
import { settled } from "../src/app/settled.ts";
import { panes } from "../src/app/state.ts";
import { TableLines, type Line } from "../src/app/table_rows.ts";
import { working } from "../src/app/workers.ts";
import { zoomedPart } from "../src/app/zoomed.ts";
import { bandsInPieces } from "../src/engine/bands.ts";
import { cardsInPieces, cardsOf } from "../src/engine/cards.ts";
import { curveInPieces } from "../src/engine/curves.ts";
import { diffInPieces } from "../src/engine/diff.ts";
import { stacksOf } from "../src/engine/errands.ts";
import { group, groupInPieces, GROUP_KINDS } from "../src/engine/groups.ts";
import { leaks, leaksInPieces } from "../src/engine/leaks.ts";
import { emptyLook, makeView, wantedWeight } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { atOnce, Few, PIECE, sortByFalling, sorted, type Pieces } from "../src/engine/pieces.ts";
import { sumIn, sumInPieces } from "../src/engine/narrow.ts";
import { frameText } from "../src/engine/names.ts";
import { inOrder, orderInPieces } from "../src/engine/order.ts";
import { prepareWeights, questionsOfPart, refusal, weigh } from "../src/engine/question.ts";
import type { Question } from "../src/engine/question.ts";
import { search, searchInPieces, searchSites } from "../src/engine/search.ts";
import { buildTree, diffTreeInPieces, treeInPieces } from "../src/engine/tree.ts";
import { waysInPieces } from "../src/engine/ways.ts";
import { random, synthetic } from "./synthetic.ts";

const asked = (measure: Question["measure"]): Question =>
  ({ measure, unit: "bytes", from: null, to: null });
const at = (to: number): Question => ({ ...asked("live"), to });
const plain = { look: emptyLook, inverted: false, byLine: false };

function counted<T>(work: Pieces<T>, between: () => void = () => {}): { n: number; value: T } {
  for (let n = 0; ; n++) {
    const { done, value } = work.next();
    if (done)
      return { n, value };
    between();
  }
}

function orderOf(levels: Float64Array[]): number[] {
  const order = Array.from(levels[0], (_, i) => i);
  return order.sort((a, b) => {
    for (const one of levels)
      if (one[a] !== one[b])
        return one[b] - one[a];
    return a - b;
  });
}

test("what is sorted in pieces is in the order of a comparison", () => {
  const next = random(3);
  const values = (n: number, of: () => number) => Float64Array.from({ length: n }, of);
  const few = () => Math.floor(next() * 4);
  const cases: Float64Array[][] = [
    [values(0, few)], [values(1, few)], [values(1000, few), values(1000, few)],
    [values(3000, few), values(3000, few), values(3000, () => Math.floor(next() * 1e6) - 5e5)],
    [values(3 * PIECE + 17, () => Math.floor(next() * 1e9))],
    [values(500, () => next())], // no whole numbers
    [values(500, () => Math.floor(next() * 8) * 2 ** 50), values(500, few)], // none would fit
  ];
  for (const levels of cases) {
    const order = Uint32Array.from(levels[0], (_, i) => i);
    const { n } = counted(sortByFalling(order, levels));
    assert.deepEqual(Array.from(order), orderOf(levels));
    assert.ok(n >= order.length / PIECE - 1);
  }
});

test("the latest few are kept, as long as what they are about", () => {
  const few = new Few<object, number>(2);
  const [one, other] = [{}, {}];
  few.keep(one, "a", 1);
  few.keep(one, "b", 2);
  assert.equal(few.get(one, "a"), 1);
  few.keep(one, "c", 3);
  assert.deepEqual(["a", "b", "c"].map((key) => few.get(one, key)), [1, undefined, 3]);
  assert.equal(few.get(other, "a"), undefined);
});

// Not in one go, and not in more than are worth it.
test("of many stacks every answer is made in pieces", () => {
  const model = synthetic({ nodes: 150000, sites: 200000, snapshots: 4, ticks: 8 });
  const view = makeView(model, emptyLook);
  const weights = weigh(model, asked("total"));
  const tree = buildTree(view, weights, plain);
  const works: [string, Pieces<unknown>][] = [
    ...GROUP_KINDS.map((kind): [string, Pieces<unknown>] =>
      [kind, groupInPieces(makeView(model, { ...emptyLook, blame: "own" }), asked("peak"), kind)]),
    ["tree", treeInPieces(view, weigh(model, asked("peak")), plain)],
    ["search", searchInPieces(tree, [view], "f1")],
    ["leaks", leaksInPieces(view)],
    ["bands", bandsInPieces(view, "place", "bytes", 5)],
    ["cards", cardsInPieces(model)],
    ["comparison", diffInPieces({ view, question: at(0) }, { view, question: at(1) }, "place")],
    ["tree of both", diffTreeInPieces(view, weigh(model, at(0)), view, weigh(model, at(1)), plain)],
    ["heaviest first", orderInPieces(tree, "weight")],
    ["curve", curveInPieces(model, model.sites.node.map((_, i) => i), "bytes")],
    ["lines", linesInPieces(view, weigh(model, asked("peak")))],
    ["copy", stacksOf(model)],
    ["ways", waysInPieces(view, asked("peak"), group(view, asked("peak"), "module").items)],
    ["grown", prepareWeights(model, { ...asked("grown"), from: 0, to: 1 })],
  ];
  for (const [what, work] of works) {
    const { n } = counted(work);
    assert.ok(n >= 2 && n < 2000, `${what}: ${n} pieces`);
  }
});

function modelOf(seed: number): Model {
  return synthetic({ seed, nodes: 3000, sites: 900, snapshots: 6, ticks: 20 });
}

const numbersOf = (model: Model, question: Question) => {
  const view = makeView(model, emptyLook);
  return GROUP_KINDS.map((kind) => group(view, question, kind).items.map((one) =>
    [one.weight, one.stacks, one.nAlloc, one.peakBytes, one.liveBytes, one.frame, one.number]));
};

test("an answer does not depend on what is asked between its pieces", () => {
  const [model, apart] = [modelOf(5), modelOf(5)];
  const view = makeView(model, emptyLook);
  const question = asked("live");
  const other = { ...question, unit: "blocks", to: 2 } as const;
  const between = () => {
    group(view, question, "function");
    buildTree(view, weigh(model, other), plain);
    search(buildTree(view, weigh(model, question), plain), [view], "f3");
  };
  for (const kind of GROUP_KINDS)
    counted(groupInPieces(view, question, kind), between);
  counted(leaksInPieces(view), between);
  assert.deepEqual(numbersOf(model, question), numbersOf(apart, question));
  const sums = (of: Model) => leaks(makeView(of, emptyLook)).kept
    .map(({ bytes, blocks, fate, meanNs }) => [bytes, blocks, fate, meanNs]);
  assert.deepEqual(sums(model), sums(apart));
});

test("what was prepared is not made again by who shows it", () => {
  const model = modelOf(6);
  const view = makeView(model, emptyLook);
  const question = asked("peak");
  for (const pane of panes) {
    const wants: Asked = {
      of: model, view, picture: plain, question, pane, group: "place", search: "f2", zoom: [],
      order: "name", part: null,
    };
    atOnce(prepare(wants));
    const tree = buildTree(view, weigh(model, question), plain);
    assert.equal(counted(treeInPieces(view, weigh(model, question), plain)).n, 0);
    assert.equal(searchSites(view, "f2"), searchSites(view, "f2"));
    if (pane === "graph" || pane === "tree")
      assert.equal(counted(searchInPieces(tree, [view], "f2")).n, 0);
    if (pane === "table")
      assert.equal(counted(groupInPieces(view, question, "place")).n, 0);
    if (pane === "threads")
      assert.equal(counted(groupInPieces(view, question, "thread")).n, 0);
    if (pane === "leaks")
      assert.equal(counted(leaksInPieces(view)).n, 0);
  }
  assert.equal(cardsOf(model), cardsOf(model));
});

test("what is left by a zoom is prepared, and so is what a part of the run is told with", () => {
  const model = modelOf(7);
  const view = makeView(model, emptyLook);
  const question = { ...asked("grown"), from: 1, to: 4 };
  const tree = inOrder(buildTree(view, weigh(model, question), plain), "weight");
  const node = tree.childrenByWeight(0)[0];
  const zoom = [frameText(model, tree.frame(node))];
  atOnce(prepare({
    of: model, view, picture: plain, question, pane: "overview", group: "place", search: "",
    zoom, order: "weight", part: question,
  }));
  const made = inOrder(buildTree(view, weigh(model, question), plain), "weight");
  const byName = buildTree(view, weigh(model, question), plain);
  assert.equal(counted(orderInPieces(byName, "weight")).n, 0);
  const left = zoomedPart(view, made, zoom);
  assert.ok(left !== view && left === zoomedPart(view, made, zoom));
  assert.equal(counted(groupInPieces(left, question, "place")).n, 0);
  for (const one of questionsOfPart("bytes", 1, 4)) {
    if (refusal(model, one)) continue;
    assert.equal(counted(sumInPieces(left, one)).n, 0);
    assert.equal(sumIn(left, one), wantedWeight(left, weigh(model, one)));
  }
});

test("sorted by any comparison in pieces, equals stay as they are", () => {
  const next = random(9);
  for (const n of [0, 1, 5, 2048, 2049, 30000]) {
    const items = Array.from({ length: n }, (_, i) => ({ i, key: Math.floor(next() * 50) }));
    const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
    assert.deepEqual(atOnce(sorted([...items], byKey)), [...items].sort(byKey));
  }
});

test("a page shows what was until what is asked for is made", async () => {
  const sized = (count: number) => ({ nodes: { count } }) as Model;
  const [small, large, larger] = [sized(100), sized(1000000), sized(2000000)];
  const made: string[] = [];
  const wants = signal({ of: small, what: "first" });
  const shown = settled(wants, function* ({ what }) {
    yield;
    made.push(what);
  });
  const seen: string[] = [];
  const until = (what: string) => new Promise<void>((done) => {
    const stop = effect(() => {
      if (shown.value.what === what)
        queueMicrotask(() => (stop(), done()));
    });
  });
  effect(() => void seen.push(shown.value.what));
  wants.value = { of: small, what: "second" };
  assert.deepEqual([seen, made], [["first", "second"], []]);
  wants.value = { of: large, what: "third" };
  assert.equal(shown.value.what, "second");
  await null;
  assert.equal(working.value, 1);
  wants.value = { of: large, what: "fourth" }; // the third is not wanted any more
  await until("fourth");
  assert.deepEqual([seen, made], [["first", "second", "fourth"], ["fourth"]]);
  wants.value = { of: large, what: "fifth" };
  await null;
  wants.value = { of: larger, what: "newer" }; // comes by itself: what is being made is shown
  await until("newer");
  assert.deepEqual(seen.slice(3), ["fifth", "newer"]);
  assert.equal(working.value, 0);
});

test("lines of a table are those of all its rows, wherever it is looked at", () => {
  const model = modelOf(7);
  const view = makeView(model, emptyLook);
  const question = asked("peak");
  const weights = weigh(model, question);
  const { items } = group(view, question, "place");
  const source = { view, weights, whole: 1, unit: "bytes", mark: "" } as never;
  const keyOf = (i: number) => `place ${items[i].frame}  0`;
  const all = new TableLines(items, new Set([0, 3, 4, items.length - 1].map(keyOf)), source);
  const lines = all.slice(0, all.length);
  const rows = lines.filter((line) => line.kind === "row");
  assert.deepEqual(rows.map(({ rank, isOpen }) => [rank, isOpen]), items.map((_, i) =>
    [i + 1, [0, 3, 4, items.length - 1].includes(i)]));
  assert.equal(lines.length, all.length);
  assert.ok(lines.length > items.length + 4);
  const flat = (some: Line[]) => some.map((line) => JSON.stringify(line, (key, value) =>
    key === "group" ? items.indexOf(value) : value));
  for (let first = 0; first < 60; first++)
    for (const n of [0, 1, 5, 40])
      assert.deepEqual(flat(all.slice(first, first + n)), flat(lines.slice(first, first + n)));
});
