// SPDX-License-Identifier: Apache-2.0
//
// What a worker is asked and answers: the same as whoever asks would find out, and nothing is made
// twice. Messages are copied as a browser copies them, and what is given away is gone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { changedOf, curve, keepChanged } from "../src/engine/curves.ts";
import { decode } from "../src/engine/decode.ts";
import {
  buffersOf, keepFound, run, stacksOf, type Errand, type ErrandKind, type Picture,
} from "../src/engine/errands.ts";
import { group } from "../src/engine/groups.ts";
import { withLibraries } from "../src/engine/libraries.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { defaultQuestion, weigh } from "../src/engine/question.ts";
import { buildTree } from "../src/engine/tree.ts";
import { trieOf } from "../src/engine/trie.ts";
import { encode, partsOf, plainOf } from "./encode.ts";
import { synthetic } from "./synthetic.ts";

const MODEL = synthetic({ nodes: 3000, sites: 900, snapshots: 6, ticks: 20 });
const BLOCK = encode(partsOf(MODEL));
const plain: Picture = { look: emptyLook, inverted: false, byLine: false };

// There and back.
async function errand<K extends ErrandKind>(
  kind: K, of: Errand<K>["of"], next: () => string[] = () => [],
) {
  const parts: number[] = [];
  const asked = structuredClone({ kind, of }, { transfer: buffersOf(of) as never });
  const answer = await run(asked as Errand<K>, (part) => parts.push(part), next);
  return { parts, answer: structuredClone(answer, { transfer: buffersOf(answer) as never }) };
}

function numbersOf(model: Model, picture: Picture) {
  const view = makeView(model, picture.look);
  const question = defaultQuestion(model);
  const tree = buildTree(view, weigh(model, question), picture);
  const nodes = Array.from({ length: tree.count }, (_, i) =>
    [tree.name[i], tree.frame(i), tree.line(i), tree.total(i), tree.self(i), tree.deep(i)]);
  const { items } = group(view, question, "place");
  const rows = items.map((one) => [one.frame, one.weight, one.stacks, one.bFree, one.firstNs]);
  return { nodes, rows, wanted: view.wanted, blame: view.blame };
}

test("a packed block: numbers, the first picture, and how far it is", async () => {
  const packed = deflateSync(BLOCK).toString("base64");
  const data = packed.match(/.{1,4000}/g)!;
  assert.ok(data.length > 2);
  const count = data.length;
  const next = () => data.splice(0, 2); // what has gone through is kept by nobody
  const { parts, answer } = await errand("load", { data: count, picture: plain }, next);
  assert.equal(data.length, 0);
  assert.ok(answer.block.byteLength < BLOCK.length); // what something was made of is not kept
  assert.ok(parts.length > 1 && parts.every((part, i) => part <= 1 && part >= (parts[i - 1] ?? 0)));
  const model = decode(answer.block, answer.known);
  const { builds, ...rest } = model;
  const { builds: _, ...written } = MODEL;
  assert.deepEqual(plainOf(rest), plainOf(written));
  keepChanged(model, answer.changed);
  keepFound(makeView(model, plain.look), plain, answer.found);
  assert.equal(trieOf(makeView(model, plain.look), false, false), answer.found.trie);
  assert.equal(changedOf(model).bytes, answer.changed.bytes);
  assert.deepEqual(numbersOf(model, plain), numbersOf(MODEL, plain));
  assert.deepEqual(curve(model, [3, 5], "blocks"), curve(MODEL, [3, 5], "blocks"));
});

test("pictures of any look are those one makes oneself", async () => {
  const some = MODEL.text[MODEL.frames.function[MODEL.nodes.frame[7]]];
  const looks = [
    emptyLook, { ...emptyLook, allFrames: true }, { ...emptyLook, focus: [some] },
    { ...emptyLook, callers: [some], blame: "library" as const },
    { ...emptyLook, row: `place ${some}` },
    { ...emptyLook, libraries: ["crate crate3", "module libc.so.6"] },
  ];
  for (const look of looks)
    for (const inverted of [false, true]) {
      const picture = { look, inverted, byLine: inverted };
      const asked = withLibraries(MODEL, look.libraries); // as the page has it
      const ask = (isTree: boolean) =>
        errand("picture", { stacks: atOnce(stacksOf(asked)), picture, isTree });
      const { answer, parts } = await ask(false);
      assert.ok(parts.length > 3 && parts.every((part, i) =>
        part > 0 && part <= 1 && part >= (parts[i - 1] ?? 0)));
      const { answer: alone } = await ask(true);
      assert.deepEqual({ ...alone, table: null }, { ...answer, table: null });
      assert.equal(alone.table, null);
      const model = decode(BLOCK);
      const view = makeView(model, look);
      keepFound(view, picture, answer);
      const question = defaultQuestion(model);
      const given = buildTree(view, weigh(model, question), picture);
      const own = buildTree(makeView(MODEL, look), weigh(MODEL, question), picture);
      assert.deepEqual(given.skeleton, own.skeleton);
      assert.deepEqual(given.sums, own.sums);
      assert.deepEqual(view.blame, makeView(MODEL, look).blame);
    }
  assert.equal(MODEL.sites.node.length, 900); // what was sent was a copy
});

test("a damaged block is refused with a sentence", async () => {
  const load = (data: number | ArrayBuffer, pieces: string[] = []) =>
    errand("load", { data, picture: plain }, () => pieces.splice(0, 1));
  await assert.rejects(load(1, ["AAAA"]), /This report is damaged/);
  await assert.rejects(load(1), /This report is damaged/);
  await assert.rejects(load(new ArrayBuffer(40)), /not the data of a page/);
});
