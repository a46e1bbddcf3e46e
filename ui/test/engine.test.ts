// SPDX-License-Identifier: Apache-2.0
//
// The engine's quick ways against slow ones that cannot go wrong, on models made from seeds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { columns, curve, eachCurve, liveInPieces, localPeaks } from "../src/engine/curves.ts";
import { diffPlaces } from "../src/engine/diff.ts";
import { group, type Group, type GroupKind } from "../src/engine/groups.ts";
import { groupPlace, groupText } from "../src/engine/group_text.ts";
import { emptyLook, exactly, makeView, patternRefusal } from "../src/engine/look.ts";
import { SiteKind, type Model } from "../src/engine/model.ts";
import {
  frameNames, frameText, moduleName, modulePath, NONE, placeText, shortenPath,
} from "../src/engine/names.ts";
import { pagePlaces, type PagePlace } from "../src/engine/pages.ts";
import { atOnce } from "../src/engine/pieces.ts";
import { isBound, nearestSnapshot, START, weigh, type Question } from "../src/engine/question.ts";
import { search } from "../src/engine/search.ts";
import { buildDiffTree, buildTree, findPath, pathOf, type Tree } from "../src/engine/tree.ts";
import { verdict } from "../src/engine/verdict.ts";
import { sitesOf } from "./encode.ts";
import { random, synthetic } from "./synthetic.ts";

const PEAK: Question = { measure: "peak", unit: "bytes", from: null, to: null };
const OPTIONS = { inverted: false, byLine: false };
const SEEDS = [1, 2, 3, 4, 5];
const modelOf = (seed: number) =>
  synthetic({ seed, nodes: 900, sites: 250, frames: 60, snapshots: 14, ticks: 50 });

// What was live at each snapshot, site by site, from the first snapshot on.
function liveTable(model: ReturnType<typeof synthetic>): Float64Array[] {
  const { count, end, bytes } = model.snapshots;
  const site = sitesOf(model.snapshots);
  const now = new Float64Array(model.sites.count);
  return Array.from({ length: count }, (_, s) => {
    for (let i = s ? end[s - 1] : 0; i < end[s]; i++)
      now[site[i]] += bytes[i];
    return now.slice();
  });
}

test("moments and ranges by looking at every snapshot", () => {
  for (const seed of SEEDS) {
    const model = modelOf(seed);
    const table = liveTable(model);
    const n = model.snapshots.count;
    for (let to = 0; to < n; to++) {
      const live = weigh(model, { measure: "live", unit: "bytes", from: null, to });
      assert.deepEqual(live, table[to], `live at ${to}`);
      for (const from of [START, 0, 3, to - 1].filter((f) => f >= START && f < to)) {
        const grown = weigh(model, { measure: "grown", unit: "bytes", from, to });
        const total = weigh(model, { measure: "total", unit: "bytes", from, to });
        const counted = new Float64Array(model.sites.count);
        const { end, bAlloc } = model.snapshots;
        const site = sitesOf(model.snapshots);
        for (let i = from < 0 ? 0 : end[from]; i < end[to]; i++)
          counted[site[i]] += bAlloc[i];
        assert.deepEqual(total, counted, `allocated from ${from} to ${to}`);
        for (let i = 0; i < model.sites.count; i++) {
          let least = from === START ? 0 : Infinity;
          for (let s = Math.max(0, from); s <= to; s++)
            least = Math.min(least, table[s][i]);
          assert.equal(grown[i], table[to][i] - least, `grown from ${from} to ${to}`);
        }
      }
    }
  }
});

test("what has grown, exactly where single blocks are known", () => {
  const model = modelOf(1);
  const table = liveTable(model);
  const late = { site: 7, born: 2, freed: 5, bytes: 640, blocks: 10 };
  model.lateFrees = {
    count: 1, site: Uint32Array.of(late.site), born: Uint32Array.of(late.born),
    freed: Uint32Array.of(late.freed), bytes: Float64Array.of(late.bytes),
    blocks: Float64Array.of(late.blocks),
  };
  model.facts.has.late_frees = true;
  const peak = model.snapshots.kind.indexOf(1);
  for (const [from, to] of [[1, 6], [2, 5], [3, 9], [4, 5], [5, 8], [2, 4], [START, 6]]) {
    const question: Question = { measure: "grown", unit: "bytes", from, to };
    if (to === peak)
      continue;
    assert.equal(isBound(model, question), false);
    const before = from === START ? 0 : table[from][late.site];
    const isLate = from >= late.born && from < late.freed && to >= late.freed;
    assert.equal(weigh(model, question)[late.site],
      table[to][late.site] - before + (isLate ? late.bytes : 0), `${from} to ${to}`);
  }
  assert.ok(isBound(model, { measure: "grown", unit: "bytes", from: 1, to: peak }));
});

test("the nearest snapshot, the start being one, the later of equals", () => {
  const model = modelOf(1);
  model.snapshots.ns.set([10, 20, 30, 30]);
  assert.equal(nearestSnapshot(model, 0), START);
  assert.equal(nearestSnapshot(model, 5), 0);
  assert.equal(nearestSnapshot(model, 15), 1);
  assert.equal(nearestSnapshot(model, 31), 3);
});

test("curves and what of them was kept", () => {
  for (const seed of SEEDS) {
    const model = modelOf(seed);
    const table = liveTable(model);
    const n = model.snapshots.count;
    const sites = [1, 5, 17, 200, 249];
    const { live, kept } = curve(model, sites, "bytes");
    for (let s = 0; s < n; s++) {
      assert.equal(live[s], sites.reduce((sum, i) => sum + table[s][i], 0));
      const least = (i: number) => Math.min(...table.slice(s).map((row) => row[i]));
      assert.equal(kept[s], sites.reduce((sum, i) => sum + least(i), 0), `kept at ${s}`);
    }
    const few = columns(model, live, 5);
    assert.equal(Math.max(...few), Math.max(...live));
  }
});

// A stack's steps as src/view/tree.c takes them, without any sharing.
function stepsOf(names: Uint32Array, frames: number[]): { name: number; deep: number }[] {
  const turns: { name: number; deep: number }[] = [];
  for (const frame of frames) {
    turns.push({ name: names[frame], deep: 1 });
    for (let cycle = 1; cycle <= 8 && 2 * cycle <= turns.length; cycle++) {
      const again = turns.slice(-cycle);
      const first = turns.slice(-2 * cycle, -cycle);
      if (!first.every((turn, i) => turn.name === again[i].name))
        continue;
      first.forEach((turn, i) => (turn.deep += again[i].deep));
      turns.length -= cycle;
      break;
    }
  }
  return turns;
}

function checkShape(tree: Tree): void {
  for (let i = 1; i < tree.count; i++) {
    assert.ok(tree.parent[i] < i);
    const depth = tree.depth(i);
    assert.equal(depth, tree.depth(tree.parent[i]) + 1);
    assert.ok(i >= tree.levels[depth] && i < tree.levels[depth + 1]);
    assert.ok(i < 2 || tree.parent[i] >= tree.parent[i - 1]);
    assert.ok(i < 2 || tree.parent[i] > tree.parent[i - 1] || tree.name[i] > tree.name[i - 1]);
  }
  for (let i = 0; i < tree.count; i++) {
    let [total, width, stacks] = [tree.self(i), 0, 0];
    for (let child = tree.firstChild[i]; child < tree.firstChild[i + 1]; child++) {
      assert.equal(tree.parent[child], i);
      total += tree.total(child);
      width += tree.width(child);
      stacks += tree.stacks(child);
    }
    assert.equal(total, tree.total(i));
    assert.ok(width <= tree.width(i));
    assert.ok(stacks <= tree.stacks(i));
    assert.equal(tree.hasChildren(i), tree.children(i).length > 0);
  }
}

// Nodes that any stack with weight goes through.
function shown(tree: Tree): number[] {
  return Array.from({ length: tree.count }, (_, i) => i).filter((i) => tree.stacks(i) > 0);
}

const LOOKS = [
  emptyLook, { ...emptyLook, allFrames: true }, { ...emptyLook, collapse: false },
  { ...emptyLook, hide: ["function_1"] }, { ...emptyLook, focus: ["function_3"] },
  { ...emptyLook, callers: ["part1"], allFrames: true }, { ...emptyLook, ignore: ["function_9"] },
  { ...emptyLook, function: ["part1", "function_6"] }, { ...emptyLook, hide: ["."] },
  { ...emptyLook, libraries: ["crate crate3", "module libc.so.6"] },
  { ...emptyLook, libraries: ["crate crate5"], allFrames: true, collapse: false },
];

test("curves of many groups at once are those of each", () => {
  const model = synthetic({ nodes: 9000, sites: 4000, snapshots: 400, ticks: 3 }); // several goes
  const next = random(9);
  const n = 3000;
  const itemOf = Uint32Array.from({ length: model.sites.count }, () =>
    next() < 0.1 ? NONE : Math.floor(next() * n));
  let met = 0;
  atOnce(eachCurve(model, itemOf, n, "blocks", (item, { live, kept }) => {
    assert.equal(item, met++);
    const sites = Array.from(itemOf.keys()).filter((site) => itemOf[site] === item);
    assert.deepEqual({ live, kept }, curve(model, sites, "blocks"));
    assert.deepEqual(atOnce(liveInPieces(model, sites, "blocks")), live);
  }));
  assert.equal(met, n);
});

test("trees by walking every stack", () => {
  for (const seed of SEEDS)
    for (const look of LOOKS)
      for (const inverted of [false, true]) {
        const model = modelOf(seed);
        const view = makeView(model, look);
        const weights = weigh(model, PEAK);
        const names = frameNames(view.model, false).of;
        const tree = buildTree(view, weights, { ...OPTIONS, inverted });
        const expected = new Map<string, number[]>(); // path -> total, self, stacks, deep
        for (let i = 0; i < model.sites.count; i++) {
          if (!view.wanted[i] || !weights[i])
            continue;
          const frames = [...view.framesOf(i)];
          const turns = look.collapse ? stepsOf(names, inverted ? frames : frames.reverse())
            : (inverted ? frames : frames.reverse()).map((f) => ({ name: names[f], deep: 1 }));
          for (let n = 0; n <= turns.length; n++) {
            const path = turns.slice(0, n).map((turn) => turn.name).join();
            const node = expected.get(path) ?? [0, 0, 0, 0];
            node[0] += weights[i];
            node[1] += n === turns.length ? weights[i] : 0;
            node[2]++;
            node[3] = Math.max(node[3], n ? turns[n - 1].deep : 0);
            expected.set(path, node);
          }
        }
        checkShape(tree);
        assert.equal(shown(tree).length, expected.size);
        for (const i of shown(tree)) {
          const path = pathOf(tree, i);
          assert.equal(findPath(tree, path), i);
          assert.deepEqual([tree.total(i), tree.self(i), tree.stacks(i), i ? tree.deep(i) : 0],
            expected.get(path.join()));
        }
        const deepest = Math.max(0, ...shown(tree).map((i) => tree.depth(i)));
        assert.equal(tree.nRows, deepest + 1);
        checkShape(buildTree(view, weights, { inverted, byLine: true }));
      }
});

test("functions that call each other in turn are one node each, up to eight of them", () => {
  for (const cycle of [1, 2, 3, 8, 9]) {
    const model = synthetic({ nodes: 1 + 3 * cycle, sites: 1, frames: 10 });
    for (let f = 0; f < 10; f++) {
      model.frames.function[f] = model.text.push(`f${f}`) - 1;
      model.frames.layer[f] = 0;
    }
    for (let n = 1; n < model.nodes.count; n++) {
      model.nodes.parent[n] = n - 1;
      model.nodes.deepest = n;
      model.nodes.frame[n] = (n - 1) % cycle;
    }
    model.sites.node[0] = model.nodes.count - 1;
    const tree = buildTree(makeView(model, emptyLook), Float64Array.of(1), OPTIONS);
    const isFolded = cycle <= 8;
    assert.equal(tree.count, 1 + (isFolded ? cycle : 3 * cycle));
    assert.equal(tree.deep(tree.count - 1), isFolded ? 3 : 1);
  }
});

test("siblings: by name the same in every question, by weight falling", () => {
  const model = modelOf(2);
  const view = makeView(model, emptyLook);
  const tree = buildTree(view, weigh(model, PEAK), OPTIONS);
  for (const node of shown(tree)) {
    const byName = tree.children(node);
    const byWeight = tree.childrenByWeight(node);
    for (let i = 1; i < byName.length; i++) {
      assert.ok(tree.name[byName[i]] > tree.name[byName[i - 1]]);
      assert.ok(tree.total(byWeight[i]) <= tree.total(byWeight[i - 1]));
    }
    assert.deepEqual([...byWeight].sort((a, b) => a - b), byName);
    const wide = byWeight.filter((child) => tree.width(child) > 0);
    for (const most of [1, 3, 1000])
      assert.deepEqual(tree.widestChildren(node, most), wide.slice(0, most));
  }
});

test("a search counts every stack once", () => {
  const model = modelOf(3);
  const weights = weigh(model, PEAK);
  for (const pattern of ["function_1", "PART1", "part1", "f1\\.rs", "libc", "nothing at all"]) {
    for (const inverted of [false, true]) {
      const view = makeView(model, { ...emptyLook, allFrames: true });
      const tree = buildTree(view, weights, { ...OPTIONS, inverted });
      const found = search(tree, [view], pattern);
      const regex = new RegExp(pattern, /[A-Z]/.test(pattern) ? "" : "i");
      let total = 0;
      for (let i = 0; i < model.sites.count; i++) {
        const says = [...view.framesOf(i)].some((f) => [
          model.frames.function[f] ? model.frames.function[f] : 0, model.frames.file[f],
          model.modules[model.frames.module[f]],
        ].some((s) => s && regex.test(model.text[s])));
        total += says ? weights[i] : 0;
      }
      assert.equal(found.total, total, pattern);
      assert.equal(found.count, found.nodes.reduce((sum, n) => sum + n, 0));
    }
  }
});

test("groups share out everything", () => {
  const kinds: GroupKind[] = ["place", "function", "file", "crate", "module", "stack", "thread"];
  for (const seed of SEEDS)
    for (const kind of kinds) {
      const model = modelOf(seed);
      const view = makeView(model, emptyLook);
      const weights = weigh(model, PEAK);
      const { items, rest, stacks } = group(view, PEAK, kind);
      const sum = items.reduce((all, g) => all + g.weight, rest.weight);
      assert.equal(sum, weights.reduce((a, b) => a + b, 0), kind);
      for (const g of items) {
        assert.ok(groupText(model, g));
        assert.equal(typeof groupPlace(model, g), "string");
        if (kind !== "thread")
          assert.equal(g.nAlloc, g.sites.reduce((a, i) => a + model.sites.nAlloc[i], 0));
      }
      const heavy = (g: Group) => g.sites.filter((i) => weights[i] > 0).length;
      if (kind !== "thread")
        assert.equal(items.reduce((a, g) => a + heavy(g), heavy(rest)), stacks);
    }
});

test("a diff with itself is all the same, and its tree has no width", () => {
  const [a, b] = [modelOf(4), modelOf(4)]; // two captures of one program
  const [viewA, viewB] = [makeView(a, emptyLook), makeView(b, emptyLook)];
  const diff = diffPlaces({ view: viewA, question: PEAK }, { view: viewB, question: PEAK });
  assert.ok(diff.places.every((place) => place.change === "same" && place.by === 0));
  const tree = buildDiffTree(viewA, weigh(a, PEAK), viewB, weigh(b, PEAK), OPTIONS);
  assert.equal(tree.width(0), 0);
  for (const node of shown(tree))
    assert.deepEqual([tree.before(node), tree.side(node)], [tree.total(node), 0]);
});

// Each side's own tree tells what a tree of both has of it, by the functions that lead to a node.
function checkSides(tree: Tree, sides: Tree[], models: Model[]): void {
  const pathsOf = (of: Tree, frameOf: (node: number) => string) => {
    const paths = new Map<number, string>([[0, ""]]);
    for (let i = 1; i < of.count; i++)
      if (of.stacks(i))
        paths.set(i, `${paths.get(of.parent[i])}\n${frameOf(i)}`);
    return paths;
  };
  const text = (model: Model, frame: number) => !model.frames.function[frame]
    ? moduleName(model, frame) // by which nameless code is known again
    : `${frameText(model, frame)} ${shortenPath(model.text[model.frames.file[frame]])}`;
  const found = new Map<string, number>();
  for (const [node, path] of pathsOf(tree, (i) => text(models[tree.side(i)], tree.frame(i))))
    found.set(path, node);
  sides.forEach((side, s) => {
    for (const [node, path] of pathsOf(side, (i) => text(models[s], side.frame(i)))) {
      const both = found.get(path) ?? assert.fail(path);
      assert.ok(s > 0 || both === 0 || tree.side(both) === 0);
      assert.ok((s ? tree.before(both) : tree.total(both)) >= side.total(node));
    }
  });
}

test("a tree of two sides has both sides' totals", () => {
  const [a, b] = [modelOf(1), modelOf(2)];
  const [viewA, viewB] = [makeView(a, emptyLook), makeView(b, emptyLook)];
  const sum = (weights: Float64Array) => weights.reduce((x, y) => x + y, 0);
  for (const inverted of [false, true]) {
    const tree = buildDiffTree(viewA, weigh(a, PEAK), viewB, weigh(b, PEAK),
      { ...OPTIONS, inverted });
    assert.equal(tree.before(0), sum(weigh(a, PEAK)));
    assert.equal(tree.total(0), sum(weigh(b, PEAK)));
    assert.ok(tree.width(0) >= Math.abs(tree.total(0) - tree.before(0)));
    checkShape(tree);
    checkSides(tree, [buildTree(viewB, weigh(b, PEAK), { ...OPTIONS, inverted }),
      buildTree(viewA, weigh(a, PEAK), { ...OPTIONS, inverted })], [b, a]);
  }
  const one = modelOf(3);
  const view = makeView(one, emptyLook);
  const at = (to: number) => weigh(one, { measure: "live", unit: "bytes", from: null, to });
  const moments = buildDiffTree(view, at(2), view, at(9), OPTIONS);
  let moved = 0;
  for (let i = 0; i < moments.count; i++)
    moved += Math.abs(moments.self(i) - moments.beforeSelf(i));
  assert.equal(moments.width(0), moved);
});

test("patterns", () => {
  assert.equal(patternRefusal("a|b"), null);
  assert.match(patternRefusal("(") ?? "", /is no regular expression/);
  assert.throws(() => makeView(modelOf(1), { ...emptyLook, hide: ["["] }), /no regular expression/);
  assert.ok(new RegExp(exactly("a<b>::(c) $[d]*{e}^\\")).test("a<b>::(c) $[d]*{e}^\\"));
  const model = modelOf(1);
  const digits = makeView(model, { ...emptyLook, function: ["_[[:digit:]]+<"] });
  const same = makeView(model, { ...emptyLook, function: ["_[0-9]+<"] });
  assert.deepEqual(digits.wanted, same.wanted);
});

test("paths as a person would say them", () => {
  assert.equal(shortenPath("/home/me/project/src/main.c"), "src/main.c");
  assert.equal(shortenPath("main.c"), "main.c");
  assert.equal(shortenPath("/main.c"), "/main.c");
  assert.equal(shortenPath("/root/.cargo/registry/src/index-1/serde-1.0/src/lib.rs"),
    "serde-1.0/src/lib.rs");
  assert.equal(shortenPath("/rustc/abc/library/alloc/src/vec.rs"), "library/alloc/src/vec.rs");
});

test("places of pages hold what was mapped", () => {
  const model = modelOf(1);
  const places = pagePlaces(makeView(model, emptyLook));
  const sum = (of: (place: PagePlace) => number) => places.reduce((n, one) => n + of(one), 0);
  let mapped = 0;
  for (let i = 0; i < model.sites.count; i++)
    mapped += model.sites.kind[i] === SiteKind.pages ? model.sites.bAlloc[i] : 0;
  assert.equal(sum(({ bytes }) => bytes), mapped);
  for (const { sites, bytes } of places)
    assert.equal(sites.reduce((n, site) => n + model.sites.bAlloc[site], 0), bytes);
  assert.ok(localPeaks(model).length > 0);
  assert.equal(group(makeView(model, emptyLook), PEAK, "thread").items[0].frame, NONE);
});

test("while a program runs the verdict is what is known so far", () => {
  const model = modelOf(1);
  const told = (text: string) =>
    ({ program: "p", title: [text], sentences: [{ kind: "end" as const, text, warning: false }] });
  model.facts.verdict = told("At the end.");
  assert.equal(verdict(model, true)[0].text, "At the end.", "there is nothing else to say");
  model.facts.verdict_so_far = told("So far.");
  assert.equal(verdict(model, true)[0].text, "So far.");
  assert.equal(verdict(model)[0].text, "At the end.");
});

test("where a frame is does not repeat the module that it is called by", () => {
  const model = modelOf(1);
  const { count, function: fn, file, flags } = model.frames;
  const without = [...Array(count).keys()].filter((frame) => !flags[frame] &&
    modulePath(model, frame));
  file.fill(0);
  fn.fill(0, 0, count / 2);
  const [named, nameless] = [true, false].map((is) => without.filter((at) => !!fn[at] === is));
  assert.ok(named.length && nameless.length);
  for (const frame of named)
    assert.equal(placeText(model, frame), moduleName(model, frame));
  for (const frame of nameless) {
    assert.ok(frameText(model, frame).startsWith(`${moduleName(model, frame)}+0x`));
    assert.equal(placeText(model, frame), "");
  }
});
