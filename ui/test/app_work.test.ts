// SPDX-License-Identifier: Apache-2.0
//
// How work is shared out: what can wait goes on when nothing else is at work, pictures are made in
// turn, and how far they are is never taken back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurn } from "../src/app/pictures.ts";
import { inSlices } from "../src/app/slices.ts";
import { Far, percent } from "../src/app/workers.ts";
import { told, within, type Pieces } from "../src/engine/pieces.ts";

test("what can wait goes on when nothing else is at work", async () => {
  const order: string[] = [];
  const work = function* (name: string): Pieces<string> {
    for (let i = 0; i < 3; i++) {
      const begin = performance.now();
      while (performance.now() - begin < 11); // a slice
      order.push(name);
      yield;
    }
    return name;
  };
  await new Promise<void>((done) => {
    inSlices(work("waits"), () => done(), undefined, true);
    inSlices(work("first"), () => {});
    inSlices(work("second"), () => {});
    inSlices(work("ended"), () => {}).end();
  });
  const thrice = (name: string) => [name, name, name];
  assert.deepEqual(order.slice(0, 6).sort(), [...thrice("first"), ...thrice("second")]);
  assert.deepEqual(order.slice(6), thrice("waits"));
});

test("pictures come in turn, and nobody waits for one that is not wanted any more", () => {
  const log: string[] = [];
  const turn = (name: string) => inTurn(() => {
    log.push(`+${name}`);
    return () => log.push(`-${name}`);
  });
  const most = Math.max(1, (globalThis.navigator?.hardwareConcurrency ?? 2) - 1);
  const running = Array.from({ length: most }, (_, i) => turn(`${i}`));
  const [a, b, c] = ["a", "b", "c"].map(turn);
  assert.equal(log.length, most);
  b();
  running[0]();
  running[0](); // twice is once
  assert.deepEqual(log.slice(most), ["-0", "+a"]);
  a();
  assert.deepEqual(log.slice(most + 2), ["-a", "+c"]);
  for (const end of [c, ...running]) end();
  assert.equal(log.filter((one) => one[0] === "-").length, most + 2);
});

test("how far pictures are is never taken back, and nothing where none tells it", () => {
  assert.equal(percent.value, null);
  const one = new Far();
  assert.equal(percent.value, null);
  one.tell(0.5);
  assert.equal(percent.value, 50);
  const other = new Far(); // more to do: what was said stays
  other.tell(0.2);
  assert.equal(percent.value, 50);
  one.tell(1);
  one.end();
  assert.equal(percent.value, 60);
  other.tell(0.9);
  assert.equal(percent.value, 95);
  const third = new Far();
  third.end(); // nobody waits for it
  third.tell(0.1);
  assert.equal(percent.value, 95);
  other.end();
  assert.equal(percent.value, null);
  other.tell(0.95);
  assert.equal(percent.value, null);
});

test("parts of some work say how far all of it is", () => {
  const half = function* (): Pieces<number> {
    yield 0.5;
    yield;
    yield 1;
    return 7;
  };
  const parts: number[] = [];
  const all = function* (): Pieces<number> {
    return (yield* within(half(), 0, 0.25)) + (yield* within(half(), 0.25, 1));
  };
  assert.equal(told(all(), (part) => parts.push(part)), 14);
  assert.deepEqual(parts, [0.125, 0.25, 0.625, 1]);
});
