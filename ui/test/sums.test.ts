// SPDX-License-Identifier: Apache-2.0
//
// What is quick for a million stacks says what the slow way says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyLook, makeView } from "../src/engine/look.ts";
import { FrameFlag, type Model } from "../src/engine/model.ts";
import { NONE } from "../src/engine/names.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { sumsByGroup } from "../src/engine/sums.ts";
import { random, synthetic } from "./synthetic.ts";

test("sums by group: of few groups and many, of all rows and some, and of no group none", () => {
  const next = random(1);
  for (const [nGroups, nEntries] of [[1, 1], [1, 4099], [3, 1000], [1024, 5000], [1025, 5003]]) {
    const groupOf = Uint32Array.from({ length: nEntries }, () =>
      next() < 0.2 ? NONE : Math.floor(next() * nGroups));
    const values = Uint32Array.from({ length: 2 * nEntries }, () => Math.floor(next() * 2 ** 32));
    const some = Uint32Array.from(groupOf, (_, i) => 2 * i + 1);
    for (const entries of [null, some]) {
      const sums = new Float64Array(nGroups);
      groupOf.forEach((group, i) => {
        if (group !== NONE)
          sums[group] += values[entries ? entries[i] : i];
      });
      assert.deepEqual(atOnce(sumsByGroup(nGroups, groupOf, values, entries)), sums);
      const floats = Float64Array.from(values);
      assert.deepEqual(atOnce(sumsByGroup(nGroups, groupOf, floats, entries)), sums);
    }
  }
});

// Frames of all kinds: without a name, runtime's, cut ones.
function mixed(seed: number): Model {
  const model = synthetic({ seed, nodes: 900, sites: 400, frames: 60, snapshots: 1 });
  const { count, flags, function: fn, layer } = model.frames;
  const next = random(seed);
  const kinds = [FrameFlag.cut, FrameFlag.pruned, 0, 0, 0, 0];
  for (let f = 0; f < count; f++) {
    flags[f] |= kinds[Math.floor(next() * kinds.length)];
    fn[f] = next() < 0.4 ? 0 : fn[f];
    layer[f] = next() < 0.1 * seed ? 3 : layer[f];
  }
  return model;
}

test("where the innermost frame is blamed, the quick way blames whom the slow way does", () => {
  const look = { ...emptyLook, blame: "library" as const };
  for (let seed = 1; seed <= 6; seed++) {
    const slow = makeView(mixed(seed), look);
    Object.assign(slow, { blameInnermost: () => false });
    const quick = makeView(mixed(seed), look);
    let n = 0;
    const { blameInnermost: ask } =
      quick as unknown as { blameInnermost: (...of: unknown[]) => boolean };
    Object.assign(quick, {
      blameInnermost: (...of: unknown[]) => {
        const isTold = ask.apply(quick, of);
        n += Number(isTold);
        return isTold;
      },
    });
    assert.deepEqual(quick.blame, slow.blame);
    assert.ok(n > 100 && slow.blame.caller.some((frame) => frame !== 0));
  }
});
