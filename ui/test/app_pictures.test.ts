// SPDX-License-Identifier: Apache-2.0
//
// Which pictures of a model are kept: what it came with, and of others what there is room for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals-core";
import { forgetSome, receive, seen } from "../src/app/pictures.ts";
import type { Picture } from "../src/engine/errands.ts";
import { emptyLook, makeView } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { hasTrie, trieOf } from "../src/engine/trie.ts";
import { synthetic } from "./synthetic.ts";

const first: Picture = { look: emptyLook, inverted: false, byLine: false };
const inverted: Picture = { ...first, inverted: true };
const lines: Picture = { ...first, byLine: true };

const make = (model: Model, picture: Picture) => {
  receive(model, picture, null);
  const { look, inverted: isInverted, byLine } = picture;
  return trieOf(makeView(model, look), isInverted, byLine).count;
};
const isKept = (model: Model, picture: Picture) =>
  hasTrie(makeView(model, picture.look), picture.inverted, picture.byLine);

test("the largest picture goes first, and never what came with the model", () => {
  const model = synthetic({ nodes: 3000, sites: 900 });
  const sizes = [first, lines, inverted].map((picture) => make(model, picture));
  assert.ok(sizes[2] > sizes[1]);
  forgetSome(model, sizes[0] + sizes[1] + sizes[2]);
  assert.deepEqual([first, lines, inverted].map((one) => isKept(model, one)), [true, true, true]);
  forgetSome(model, sizes[0] + sizes[1]);
  assert.deepEqual([first, lines, inverted].map((one) => isKept(model, one)), [true, true, false]);
  forgetSome(model, 1);
  assert.deepEqual([first, lines].map((one) => isKept(model, one)), [true, false]);
});

test("what is looked at stays", () => {
  const model = synthetic({ nodes: 3000, sites: 900 });
  for (const picture of [first, lines, inverted]) make(model, picture);
  const shown = seen(signal(model), signal(inverted));
  assert.equal(shown.value!.picture, inverted);
  forgetSome(model, 1);
  assert.deepEqual([first, lines, inverted].map((one) => isKept(model, one)), [true, false, true]);
});

test("what nobody wants any more is not looked at", () => {
  const model = synthetic({ nodes: 3000, sites: 900 });
  for (const picture of [first, lines, inverted]) make(model, picture);
  const wanted = signal<Picture | null>(inverted);
  const shown = seen(signal(model), wanted);
  assert.equal(shown.value!.picture, inverted);
  wanted.value = null;
  assert.equal(shown.value, null);
  forgetSome(model, 1);
  assert.deepEqual([first, lines, inverted].map((one) => isKept(model, one)), [true, false, false]);
});

test("many small ones go by their age", () => {
  const model = synthetic({ nodes: 300, sites: 90 });
  const some = [first, lines, inverted, { ...lines, inverted: true }].concat(
    [1, 2].map((_, i) => ({ ...first, look: { ...emptyLook, allFrames: true, collapse: i > 0 } })));
  for (const picture of some) make(model, picture);
  forgetSome(model);
  assert.deepEqual(some.map((one) => isKept(model, one)), [true, false, false, true, true, true]);
});
