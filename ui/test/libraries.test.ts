// SPDX-License-Identifier: Apache-2.0
//
// Libraries as one frame each: of every stack what a reader would strike out by hand, and no number
// that is another than before.

import assert from "node:assert/strict";
import { test } from "node:test";
import { group, type GroupKind } from "../src/engine/groups.ts";
import { isLibrary, libraryOf, lostLibraries, withLibraries } from "../src/engine/libraries.ts";
import { emptyLook, exactly, makeView, wantedWeight } from "../src/engine/look.ts";
import type { Column } from "../src/engine/model.ts";
import { frameText, NONE } from "../src/engine/names.ts";
import { defaultQuestion, weigh } from "../src/engine/question.ts";
import { searchSites } from "../src/engine/search.ts";
import { buildTree } from "../src/engine/tree.ts";
import { synthetic } from "./synthetic.ts";

const MODEL = synthetic({ nodes: 3000, sites: 900, snapshots: 6, ticks: 20 });
const LIBRARIES = ["crate crate3", "module libc.so.6", "crate crate7"];
const question = defaultQuestion(MODEL);
const weights = weigh(MODEL, question);
const some = MODEL.text[MODEL.frames.function[MODEL.nodes.frame[7]]];
const looks = [
  emptyLook, { ...emptyLook, allFrames: true }, { ...emptyLook, blame: "library" as const },
  { ...emptyLook, focus: [exactly(some)] }, { ...emptyLook, hide: ["function_1"] },
];

// The names of a stack, where those of a library that follow each other are written once.
function struckOut(look: typeof emptyLook, site: number): string[] {
  const texts: string[] = [];
  let before: string | null = null;
  for (const frame of makeView(MODEL, look).framesOf(site)) {
    const of = libraryOf(MODEL, frame);
    const library = of !== null && LIBRARIES.includes(of) ? of : null;
    if (!library) texts.push(frameText(MODEL, frame));
    else if (library !== before) texts.push(`[${library.split(" ")[1]}]`);
    before = library;
  }
  return texts;
}

test("stacks are those struck out by hand, their weights and blame as before", () => {
  let nShorter = 0;
  for (const look of looks) {
    const plain = makeView(MODEL, look);
    const view = makeView(MODEL, { ...look, libraries: LIBRARIES });
    assert.deepEqual(view.wanted, plain.wanted);
    assert.deepEqual(view.blame, plain.blame);
    for (let site = 0; site < MODEL.sites.count; site++) {
      const frames = view.framesOf(site);
      const texts = Array.from(frames, (frame) => frameText(view.model, frame));
      assert.deepEqual(texts, struckOut(look, site));
      nShorter += Number(frames.length < plain.framesOf(site).length);
    }
    for (const inverted of [false, true]) {
      const shape = { inverted, byLine: false };
      const [one, all] = [view, plain].map((of) => buildTree(of, weights, shape));
      assert.equal(one.total(0), all.total(0));
      for (let node = 1; node < one.count; node++)
        assert.ok(one.parent[node] === 0 || !isLibrary(view.model, one.frame(node)) ||
          one.frame(one.parent[node]) !== one.frame(node), "one below itself");
    }
  }
  assert.ok(nShorter > 100, "no stack is any shorter");
});

test("a row of a library is all its functions' rows; larger rows are as before", () => {
  let nRows = 0;
  for (const look of looks) {
    const plain = makeView(MODEL, look);
    const view = makeView(MODEL, { ...look, libraries: LIBRARIES });
    const rows = (of: typeof view, kind: GroupKind) =>
      group(of, question, kind).items.map(({ frame, weight, stacks, bAlloc }) =>
        ({ frame, weight, stacks, bAlloc }));
    for (const kind of ["file", "crate", "module"] as const)
      assert.deepEqual(rows(view, kind), rows(plain, kind));
    for (const kind of ["place", "function"] as const) {
      const all = (of: typeof view) => rows(of, kind).reduce((sum, { weight }) => sum + weight, 0);
      assert.equal(all(view), all(plain));
      for (const row of rows(view, kind)) {
        if (!isLibrary(view.model, row.frame)) continue;
        const library = libraryOf(view.model, row.frame);
        const each = Array.from(plain.wanted, (_, site) => ({ frame: plain.culprit(site), site }));
        const its = each.filter(
          ({ frame, site }) => plain.wanted[site] && frame !== NONE &&
            libraryOf(MODEL, frame) === library);
        const sum = (column: Column) =>
          its.reduce((all, { site }) => all + column[site], 0);
        const { bAlloc } = MODEL.sites;
        assert.deepEqual([row.weight, row.stacks, row.bAlloc],
          [sum(weights), its.length, sum(bAlloc)]);
        nRows++;
      }
    }
  }
  assert.ok(nRows > 10, "hardly a row of a library");
});

test("it is filtered and searched by its own name, and its functions by theirs", () => {
  const libraries = ["crate crate3"];
  const view = (more: object) => makeView(MODEL, { ...emptyLook, libraries, ...more });
  const has = (site: number) => [...makeView(MODEL, emptyLook).framesOf(site)].some(
    (frame) => libraryOf(MODEL, frame) === libraries[0]);
  const pattern = exactly("[crate3]");
  const found = searchSites(view({}), pattern);
  const hidden = view({ hide: [pattern] });
  for (let site = 0; site < MODEL.sites.count; site++) {
    if (!view({}).wanted[site]) continue;
    assert.equal(found[site] === 1, has(site), `search at ${site}`);
    assert.ok(![...hidden.framesOf(site)].some((frame) => isLibrary(hidden.model, frame)));
  }
  const focused = view({ focus: [pattern] });
  assert.ok(focused.wanted.includes(1) && focused.wanted.includes(0));
  for (let site = 0; site < MODEL.sites.count; site++)
    if (focused.wanted[site] && focused.framesOf(site).length)
      assert.equal(frameText(focused.model, focused.framesOf(site).at(-1)!), "[crate3]");
  const inside = MODEL.text[MODEL.frames.function[3]]; // of crate3
  const [one, all] = [libraries, []].map((of) =>
    wantedWeight(makeView(MODEL, { ...emptyLook, libraries: of, function: [exactly(inside)] }),
      weights));
  assert.equal(one, all);
});

test("a library that is not there changes nothing, and is told", () => {
  const libraries = ["crate nobody", "crate crate3"];
  const model = withLibraries(MODEL, libraries);
  assert.deepEqual([...lostLibraries(model)], ["crate nobody"]);
  assert.equal(withLibraries(MODEL, libraries), model, "made once");
  assert.equal(withLibraries(model, libraries), model);
  assert.equal(withLibraries(MODEL, []), MODEL);
  const view = makeView(MODEL, { ...emptyLook, libraries: ["crate nobody"] });
  const plain = makeView(MODEL, emptyLook);
  for (let site = 0; site < MODEL.sites.count; site++)
    assert.deepEqual(view.framesOf(site), plain.framesOf(site));
});
