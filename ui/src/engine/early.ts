// SPDX-License-Identifier: Apache-2.0
//
// What is seen first of a picture, while all of it is still being made: as much of the stacks as
// there are boxes wide enough to be seen.
//
//  1. From the inside out a stack is followed as long as the node where it stands weighs a SEENth
//     of everything. From the outside in stacks are the same as long as the nodes of the model are:
//     of these it is known beforehand what they weigh, and they are followed in place of stacks.
//  2. It goes on, too, while its last turns may be the beginning of a cycle that comes again: else
//     frames further on could fold some of them away (trie.ts). So every node weighs exactly what
//     it does in the whole picture; narrow ones lack what is further on.
//  3. How deep recursions are, and whether they are on one line, frames further on may change: it
//     is not told yet.
//
// Of views without libraries, which show of a stack what its nodes show, from one of them on.

import { isNarrow, type Look, type View } from "./look.ts";
import { SiteKind, type Model } from "./model.ts";
import { frameNames, NONE } from "./names.ts";
import { PIECE, stretches, type Pieces } from "./pieces.ts";
import type { TreeOptions } from "./tree.ts";
import { Builder, CYCLE_MAX, endOf, type Trie } from "./trie.ts";

const SEEN = 4000; // a part of the width that is narrower than a pixel on nearly any screen

export function hasEarly(look: Look): boolean {
  return look.row === null && !look.libraries.length && !isNarrow(look);
}

// The steps of a trie, each once below a step, and what the nodes of the tree weigh that they will
// be.
class Steps {
  readonly builder: Builder;
  private readonly nodeOf: number[] = [0]; // per step
  private readonly above: number[] = [0]; // per node
  private readonly sums: number[] = [0]; // per node
  private readonly first: Uint32Array; // where a frame leads from the root; 0: not known
  private readonly known = new Map<number, number>(); // where one leads from another step
  private readonly nodes = new Map<number, number>(); // by the node above and the name
  private readonly mayFold: boolean[] = [false]; // per step

  constructor(
    private readonly names: Uint32Array, lines: Uint32Array, private readonly collapse: boolean,
  ) {
    this.builder = new Builder(names, lines, collapse, 1 << 12);
    this.first = new Uint32Array(names.length);
  }

  // From a step by one frame more: stacks that weigh so much. Most often that is a step below;
  // where turns are folded, it was not on the way of the stack before.
  go(path: number, frame: number, weight: number): number {
    const step = this.stepOf(path, frame);
    if (this.builder.parent[step] === path) {
      this.sums[this.nodeOf[step]] += weight;
      return step;
    }
    this.add(path, -weight);
    this.add(step, weight);
    return step;
  }

  // All along the way of a step.
  add(step: number, weight: number): void {
    this.describe();
    for (let node = this.nodeOf[step]; node; node = this.above[node])
      this.sums[node] += weight;
  }

  weight(step: number): number {
    return this.sums[this.nodeOf[step]];
  }

  // Whether what comes further out may fold away turns that end here.
  isOpen(step: number): boolean {
    return this.mayFold[step];
  }

  private stepOf(path: number, frame: number): number {
    const key = path * this.names.length + frame;
    let step = path ? this.known.get(key) : this.first[frame];
    if (!step) {
      step = this.builder.step(path, frame);
      if (path)
        this.known.set(key, step);
      else
        this.first[frame] = step;
      this.describe();
    }
    return step;
  }

  private describe(): void {
    const { count, parent, name } = this.builder;
    for (let step = this.nodeOf.length; step < count; step++) {
      const key = this.nodeOf[parent[step]] * 2 ** 26 + name[step];
      let node = this.nodes.get(key);
      if (node === undefined) {
        this.nodes.set(key, node = this.above.length);
        this.above.push(this.nodeOf[parent[step]]);
        this.sums.push(0);
      }
      this.nodeOf.push(node);
      this.mayFold.push(this.collapse && this.comesAgain(step));
    }
  }

  private comesAgain(step: number): boolean {
    const { parent, name } = this.builder;
    let at = parent[step];
    for (let back = 1; back <= CYCLE_MAX && at; back++, at = parent[at])
      if (name[at] === name[step])
        return true;
    return false;
  }
}

// Where stacks stand, and what weighs less than can be seen.
interface Stand { leaf: Uint32Array; least: number }

// Where the stacks of a view stand, each on its way out.
class Ways implements Stand {
  readonly leaf: Uint32Array; // per site, a step; NONE: not in the picture
  private readonly next: Uint32Array; // the node that is read next; 0: it has ended
  least = 0; // what weighs less is not seen

  constructor(
    private readonly view: View, private readonly weights: Float64Array,
    private readonly steps: Steps, private readonly starts: Uint32Array | null,
  ) {
    const { count } = view.model.sites;
    this.leaf = new Uint32Array(count).fill(NONE);
    this.next = new Uint32Array(count);
  }

  begin(site: number): void {
    const { sites } = this.view.model;
    const node = sites.node[site];
    this.leaf[site] = 0;
    this.next[site] = sites.kind[site] === SiteKind.lost ? 0 : this.starts?.[node] ?? node;
    this.least += Math.abs(this.weights[site]);
    if (this.goOn(site))
      return;
    this.leaf[site] = endOf(this.view, site, this.steps.builder, true);
    this.steps.add(this.leaf[site], Math.abs(this.weights[site]));
  }

  // By one frame that is shown; false: there is none any more.
  goOn(site: number): boolean {
    const { nodes } = this.view.model;
    let node = this.next[site];
    while (node && !this.view.showsNode(node))
      node = nodes.parent[node];
    this.next[site] = node && nodes.parent[node];
    if (node)
      this.leaf[site] =
        this.steps.go(this.leaf[site], nodes.frame[node], Math.abs(this.weights[site]));
    return node !== 0;
  }

  isSeen(site: number): boolean {
    return this.next[site] !== 0 && (this.steps.weight(this.leaf[site]) >= this.least ||
      this.steps.isOpen(this.leaf[site]));
  }
}

// Of sites, or of 0 to count - 1.
function* chosen(
  from: Uint32Array | null, is: (site: number) => boolean, count = from!.length,
): Pieces<Uint32Array> {
  const sites = new Uint32Array(count);
  let n = 0;
  yield* stretches(count, (first, past) => {
    for (let i = first; i < past; i++) {
      const site = from ? from[i] : i;
      if (is(site))
        sites[n++] = site;
    }
  });
  return sites.subarray(0, n);
}

// From the inside out. Of callers, all that is inside of the function is no part of the picture.
function* fromInside(
  view: View, weights: Float64Array, steps: Steps, seen: number,
): Pieces<Stand> {
  const starts = view.look.callers.length ? yield* view.starts!() : null;
  const ways = new Ways(view, weights, steps, starts);
  const all = yield* chosen(null, (site) => view.wanted[site] !== 0 && weights[site] !== 0,
    weights.length);
  const goAll = (sites: Uint32Array, go: (site: number) => void) =>
    stretches(sites.length, (from, past) => {
      for (let i = from; i < past; i++)
        go(sites[i]);
    }, PIECE / 4);
  yield* goAll(all, (site) => ways.begin(site));
  ways.least /= seen;
  // Stacks that were left behind may stand where others have come since.
  for (let left = yield* chosen(all, (site) => ways.isSeen(site)); left.length;) {
    yield* goAll(left, (site) => ways.goOn(site));
    left = yield* chosen(left, (site) => ways.isSeen(site));
    if (!left.length)
      left = yield* chosen(all, (site) => ways.isSeen(site));
  }
  return ways;
}

// What the stacks through each node of the model weigh.
function* weightsBelow({ model, wanted }: View, weights: Float64Array): Pieces<Float64Array> {
  const { nodes, sites } = model;
  const below = new Float64Array(nodes.count);
  yield* stretches(sites.count, (from, past) => {
    for (let i = from; i < past; i++)
      if (wanted[i])
        below[sites.node[i]] += Math.abs(weights[i]);
  });
  const last = nodes.count - 1;
  yield* stretches(last, (from, past) => {
    for (let n = last - from; n > last - past; n--)
      below[nodes.parent[n]] += below[n];
  });
  return below;
}

// First child and next sibling of each node that weighs anything; 0: none.
function* linkNodes({ nodes }: Model, below: Float64Array) {
  const child = new Uint32Array(nodes.count);
  const next = new Uint32Array(nodes.count);
  const last = nodes.count - 1;
  yield* stretches(last, (from, past) => {
    for (let n = last - from; n > last - past; n--)
      if (below[n] > 0) {
        next[n] = child[nodes.parent[n]];
        child[nodes.parent[n]] = n;
      }
  });
  return { child, next };
}

// From the outside in, node by node: whatever is below a node that is not followed stands at it.
function* fromOutside(
  view: View, weights: Float64Array, steps: Steps, seen: number,
): Pieces<Stand> {
  const { nodes, sites } = view.model;
  const below = yield* weightsBelow(view, weights);
  const least = below[0] / seen;
  const { child, next } = yield* linkNodes(view.model, below);
  const path = new Uint32Array(nodes.count).fill(NONE); // steps
  const isSeen = (node: number) =>
    path[node] === 0 || steps.weight(path[node]) >= least || steps.isOpen(path[node]);
  path[0] = 0;
  let since = 0;
  for (let left = [0], waiting: number[] = []; left.length;) {
    const met: number[] = [];
    for (const node of left)
      for (let n = child[node]; n; n = next[n]) {
        path[n] = view.showsNode(n) ? steps.go(path[node], nodes.frame[n], below[n]) : path[node];
        if (child[n])
          met.push(n);
        if (++since % (PIECE / 16) === 0)
          yield;
      }
    left = met.filter(isSeen);
    for (const node of met)
      if (!isSeen(node))
        waiting.push(node);
    yield;
    if (left.length)
      continue;
    left = waiting.filter(isSeen);
    waiting = waiting.filter((node) => !isSeen(node));
  }
  yield* stretches(nodes.count, (from, past) => {
    for (let n = Math.max(1, from); n < past; n++)
      if (path[n] === NONE)
        path[n] = path[nodes.parent[n]];
  });
  const leaf = new Uint32Array(sites.count).fill(NONE);
  yield* stretches(sites.count, (from, past) => {
    for (let i = from; i < past; i++) {
      if (!view.wanted[i] || weights[i] === 0)
        continue;
      leaf[i] = path[sites.node[i]] || endOf(view, i, steps.builder);
      if (!path[sites.node[i]])
        steps.add(leaf[i], Math.abs(weights[i]));
    }
  }, PIECE / 4);
  return { leaf, least };
}

export function* earlyTrie(
  view: View, weights: Float64Array, { inverted, byLine }: TreeOptions, seen = SEEN,
): Pieces<Trie> {
  const { model: { frames }, look } = view;
  const steps = new Steps(frameNames(view.model, byLine).of, frames.line, look.collapse);
  const { leaf, least } = yield* (inverted ? fromInside : fromOutside)(view, weights, steps, seen);
  const { count, parent, frame, name, oneLine, isFolded } = steps.builder;
  const deep = new Uint8Array(count).fill(1);
  if (!byLine)
    oneLine.fill(0);
  return {
    count, leaf, parent, frame, name, deep, oneLine, isFolded, reach: 0, nCut: 0, seen: least,
  };
}
