// SPDX-License-Identifier: Apache-2.0
//
// Work in pieces on a page: whoever hears of what was made hears of it in another task than that in
// which the last piece was, and not at all when nobody waits for it any more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inSlices } from "../src/app/slices.ts";

// The page's messages are tasks; what is queued as a microtask is still in the one before.
function inTask(): { isSame(): boolean } {
  let isOver = false;
  queueMicrotask(() => queueMicrotask(() => (isOver = true)));
  return { isSame: () => !isOver };
}

test("what was made is told in a task of its own", async () => {
  let last = { isSame: () => true };
  const isSame = await new Promise<boolean>((done) => {
    const work = function* () {
      yield;
      last = inTask();
      return "made";
    };
    inSlices(work(), () => done(last.isSame()));
  });
  assert.equal(isSame, false);
});

test("and not to whom nobody waits with any more", async () => {
  const told: string[] = [];
  const say = function* (what: string) {
    yield;
    return what;
  };
  inSlices(say("first"), (what) => told.push(what)).end();
  await new Promise<void>((done) => {
    inSlices(say("second"), (what) => {
      told.push(what);
      done();
    });
  });
  assert.deepEqual(told, ["second"]);
});
