// SPDX-License-Identifier: Apache-2.0
//
// Stacks that are many and deep: a function that calls itself and allocates at every depth. From
// the inside out no two of them share their outer ends, so that what a tree takes is bounded, and
// what it leaves out is told. What is counted are steps and frames looked at, and never time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyLook, makeView, type View } from "../src/engine/look.ts";
import type { Model } from "../src/engine/model.ts";
import { NONE } from "../src/engine/names.ts";
import { weigh } from "../src/engine/question.ts";
import { buildDiffTree, pathOf, sumUp, Tree } from "../src/engine/tree.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { skeletonInPieces } from "../src/engine/skeleton.ts";
import { StepTeller } from "../src/engine/steps.ts";
import { reachOf, trieOf } from "../src/engine/trie.ts";
import { cutWords } from "../src/app/words.ts";
import { synthetic } from "./synthetic.ts";

const whole = { ...emptyLook, allFrames: true, collapse: false };
const inverted = { inverted: true, byLine: false };
const asked = { measure: "total", unit: "bytes", from: null, to: null } as const;

// Stack i has i + 1 frames.
function chain(n: number, frames = 97): Model {
  const model = synthetic({ nodes: n + 1, sites: n, frames });
  for (let i = 1; i <= n; i++) {
    model.nodes.parent[i] = i - 1;
    model.nodes.deepest = i;
    model.nodes.frame[i] = (i * 31) % frames;
    model.sites.node[i - 1] = i;
  }
  model.frames.layer.fill(0);
  model.frames.flags.fill(0);
  return model;
}

function treeWithin(view: View, reach: number): Tree {
  const weights = weigh(view.model, asked);
  const trie = trieOf(view, true, false, reach);
  const skeleton = atOnce(skeletonInPieces(trie));
  return new Tree(skeleton, sumUp(skeleton, weights),
    new StepTeller(skeleton, [{ view, trie, weights: [weights] }]));
}

// Of the nodes of a tree, by the way to them.
function totals(tree: Tree): Map<string, number> {
  return new Map(Array.from({ length: tree.count }, (_, i) =>
    [pathOf(tree, i).join(), tree.total(i)]));
}

test("a tree from the inside out has no more steps than there is room for", () => {
  const n = 8000; // 32 million frames in all
  const trie = trieOf(makeView(chain(n), whole), true, false);
  assert.ok(trie.count <= 8_000_001, `${trie.count} steps`);
  assert.ok(trie.count > 7_000_000, `${trie.count} steps: there is room for more`);
  assert.equal(trie.nCut, n - trie.reach);
  assert.match(cutWords(trie)!, /innermost [\d,]+ frames are shown: [\d,]+ stacks go/);
});

test("what a tree has of stacks that are cut is what the whole one has there", () => {
  const view = makeView(chain(300), whole);
  const reach = reachOf(view, 6000);
  assert.ok(reach > 10 && reach < 100, `${reach} frames`);
  const cut = totals(treeWithin(view, reach));
  const all = totals(treeWithin(view, 0));
  const near = [...all].filter(([path]) => path.split(",").length <= reach);
  assert.deepEqual(new Map(near), cut);
  assert.equal(trieOf(view, true, false, reach).nCut, 300 - reach);
  assert.equal(trieOf(view, true, false).nCut, 0); // there is room for these
  assert.equal(cutWords(trieOf(view, true, false)), null);
  assert.equal(reachOf(view, 300 * 301 / 2), 0);
  assert.equal(reachOf(view, 300 * 301 / 2 - 1), 299);
  assert.equal(reachOf(view, 1), 1);
});

// Stack i goes through all of a chain, of which the last frame is the callee, and on by itself.
test("what stacks have in common outside of a callee is read once", () => {
  const [depth, n] = [40, 500];
  const model = chain(depth + n, depth + n);
  for (let i = 0; i < depth + n; i++) {
    model.nodes.parent[i + 1] = Math.min(i, depth);
    model.nodes.frame[i + 1] = i;
    model.frames.function[i] = i + 1;
    model.sites.node[i] = Math.max(i + 1, depth + 1);
  }
  model.text = ["", ...Array.from({ length: depth + n }, (_, i) => `f${i}`)];
  const callee = { ...whole, callers: [`^f${depth - 1}$`] };
  const trie = trieOf(makeView(model, callee), true, false);
  assert.equal(trie.count, 1 + depth);
  assert.equal(reachOf(makeView(model, callee), depth), 0); // there is room for it
  const hidden = makeView(model, { ...callee, hide: [`^f${depth - 1}$`] });
  assert.equal(trieOf(hidden, true, false).count, depth);
  assert.deepEqual(new Set(atOnce(hidden.starts!())), new Set([0]));
});

test("two sides are followed as far as either can be", () => {
  const [few, many] = [makeView(chain(3000), whole), makeView(chain(4500), whole)];
  const [before, after] = [few, many].map(({ model }) => weigh(model, asked));
  const tree = buildDiffTree(few, before, many, after, inverted);
  const { reach } = trieOf(many, true, false);
  assert.ok(reach > 0 && trieOf(few, true, false).reach === 0);
  assert.equal(tree.levels.length - 1, reach + 1);
});

// Reads of a column, from now on.
function counted(model: Model) {
  const reads = { n: 0 };
  const { parent } = model.nodes;
  model.nodes.parent = new Proxy(parent, {
    get(of, key) {
      reads.n++;
      return Reflect.get(of, key, of);
    },
  });
  return reads;
}

test("whom to blame is found without walking all of a stack", () => {
  const n = 2000;
  const model = chain(n);
  const view = makeView(model, emptyLook);
  const reads = counted(model);
  assert.equal(view.culprit(n - 1), model.nodes.frame[n]);
  assert.ok(reads.n <= 100 * n, `${reads.n} frames looked at for ${n} stacks`);
});

// By reading all of a stack.
function plainBlame(view: View, site: number) {
  const { layer, function: fn } = view.model.frames;
  const frames = [...view.framesOf(site)];
  const own = Math.max(0, frames.findIndex((frame) => layer[frame] === 0));
  const isNamed = (frame: number) => fn[frame] !== 0;
  const caller = isNamed(frames[own]) ? undefined : frames.slice(own + 1).find(isNamed);
  return [frames[own], own ? frames[own - 1] : NONE, caller ?? NONE];
}

test("who is to blame, however far out", () => {
  const n = 1500;
  const model = chain(n, 997);
  const { layer, function: fn } = model.frames;
  const named = fn.find((text) => text !== 0)!;
  for (const isNamed of [true, false]) {
    layer.fill(1); // a library's, all but one of 997 frames
    layer[5] = 0;
    fn.fill(isNamed ? named : 0);
    fn[700] = named;
    const view = makeView({ ...model }, emptyLook);
    for (let site = 0; site < n; site++)
      assert.deepEqual([view.culprit(site), view.via(site), view.caller(site)],
        plainBlame(view, site));
  }
});
