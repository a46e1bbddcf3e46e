// SPDX-License-Identifier: Apache-2.0
//
// What waits until everything else is seen: of large models only, and made once, of what is asked
// for by then.

import assert from "node:assert/strict";
import { test } from "node:test";
import { effect, signal } from "@preact/signals-core";
import { later } from "../src/app/later.ts";
import { inSlices } from "../src/app/slices.ts";
import { working } from "../src/app/workers.ts";
import type { Model } from "../src/engine/model.ts";
import type { Pieces } from "../src/engine/pieces.ts";

const modelOf = (count: number) => ({ nodes: { count } }) as Model;
const [small, large] = [modelOf(100), modelOf(1000000)];

function asking(of: Model) {
  const made: string[] = [];
  const asked = signal<{ of: Model; what: string } | null>({ of, what: "first" });
  const value = later(asked, function* ({ what }) {
    yield;
    made.push(what);
    return what.toUpperCase();
  });
  const until = (wanted: string) => new Promise<void>((done) => {
    const stop = effect(() => {
      if (value.value === wanted) queueMicrotask(() => (stop(), done()));
    });
  });
  return { made, asked, value, until };
}

test("of a small model it is there at once", () => {
  const { made, asked, value } = asking(small);
  assert.equal(value.value, "FIRST");
  assert.equal(value.value, "FIRST");
  asked.value = { of: small, what: "second" };
  assert.equal(value.value, "SECOND");
  assert.deepEqual(made, ["first", "second"]);
  asked.value = null;
  assert.equal(value.value, null);
});

test("of a large model it is made when all else is done, once, of the latest asked", async () => {
  const { made, asked, value, until } = asking(large);
  assert.equal(value.value, null);
  await null;
  assert.equal(working.value, 1); // and the page says so
  asked.value = { of: large, what: "second" };
  assert.equal(value.value, null);
  assert.deepEqual(made, []);
  await until("SECOND");
  assert.deepEqual(made, ["second"]);
  assert.equal(working.value, 0);
  asked.value = { of: large, what: "third" };
  assert.equal(value.value, null); // what was asked before answers nothing
  await until("THIRD");
  assert.deepEqual(made, ["second", "third"]);
});

test("what nobody asks for any more is not made to its end", async () => {
  let n = 0;
  let begin = () => {};
  const asked = signal<{ of: Model } | null>({ of: large });
  const value = later(asked, function* () {
    begin();
    for (;; n++) yield;
  });
  const begun = () => new Promise<void>((done) => (begin = done));
  const other = () => new Promise<void>((done) => void inSlices(longer(), done));
  const stop = effect(() => void value.value);
  for (let i = 0; i < 2; i++) { // and it is made when it is asked for again
    await begun();
    asked.value = null;
    await null;
    assert.equal(working.value, 0);
    const then = n;
    await other();
    assert.equal(n, then);
    asked.value = { of: large };
  }
  await null;
  asked.value = null; // before it has begun
  await null;
  assert.equal(working.value, 0);
  stop();
});

// Two slices of work.
function* longer(): Pieces<void> {
  for (let end = performance.now() + 15; performance.now() < end;) yield;
}
