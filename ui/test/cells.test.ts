// SPDX-License-Identifier: Apache-2.0
//
// Sites of cells, from wherever one begins, are those that were written.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CellSites, knownSites } from "../src/engine/cells.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { cellSites } from "./encode.ts";
import { random } from "./synthetic.ts";

function some(seed: number, cells: number[]) {
  const next = random(seed);
  const sites: number[] = [];
  const end = Uint32Array.from(cells, (n) => {
    for (let i = 0, site = -1; i < n; i++)
      sites.push((site += 1 + Math.floor(next() * 3)));
    return sites.length;
  });
  return { sites, end, next };
}

test("stretches have the sites that were written", () => {
  for (const cells of [[0], [1], [1024, 1024], [0, 5000, 0, 0, 3, 2045, 1, 0], [200_000, 10]]) {
    const { sites, end, next } = some(cells.length, cells);
    const of = cellSites(sites, end);
    assert.equal(of.length, sites.length);
    for (let k = 0; k < 20; k++) {
      const from = Math.floor(next() * (sites.length + 1));
      const past = from + Math.floor(next() * (sites.length + 1 - from));
      const found: number[] = [];
      const read = (site: Uint32Array, first: number, end: number) => {
        assert.equal(first, from + found.length);
        for (let i = 0; i < end - first; i++)
          found.push(site[i]);
      };
      if (k % 2) of.over(from, past, read);
      else atOnce(of.overInPieces(from, past, read));
      assert.deepEqual(found, sites.slice(from, past), `${from} to ${past} of ${cells}`);
    }
  }
});

test("steps are as narrow as they come", () => {
  const step = Uint8Array.of(7, 1, 250, 0, 3);
  const end = Uint32Array.of(3, 5);
  const no = (site: number, before: number): never => assert.fail(`${site} after ${before}`);
  const found: number[] = [];
  new CellSites(step, end, knownSites(step, end, 300, no)).over(0, 5, (site, from, past) =>
    found.push(...site.slice(0, past - from)));
  assert.deepEqual(found, [7, 8, 258, 0, 3]);
  assert.throws(() => knownSites(step, end, 258, no), /258 after 8/);
});
