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
import { SiteKind, type Nodes } from "./model.ts";
import { frameNamesInPieces, NONE } from "./names.ts";
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

// Some nodes, those above them among them but for the root, by rising number; null: all.
type Some = Uint32Array | null;

const howMany = (some: Some, { count }: Nodes) => (some ? some.length : count - 1);

const MANY = 16; // where one stack in so many weighs anything, all nodes may be on their ways

// Returns how many there are then.
function addWeighing(
  sites: Uint32Array, n: number, wanted: Uint8Array, weights: Float64Array, from: number,
  past: number,
): number {
  for (let i = from; i < past; i++)
    if (wanted[i] && weights[i] !== 0)
      sites[n++] = i;
  return n;
}

// An array as long as all stacks or nodes are is made in a piece of its own, here and below: the
// system gives memory page by page, which takes as long as a pass over it.
function* sitesThatWeigh({ wanted }: View, weights: Float64Array): Pieces<Uint32Array> {
  const sites = new Uint32Array(wanted.length);
  yield;
  let n = 0;
  yield* stretches(wanted.length, (from, past) => {
    n = addWeighing(sites, n, wanted, weights, from, past);
  });
  yield;
  return sites.slice(0, n);
}

function* nodesOnWay({ model }: View, some: Uint32Array): Pieces<Some> {
  const { sites: { node }, nodes: { count, parent } } = model;
  if (some.length * MANY > node.length)
    return null;
  const isOnWay = new Uint8Array(count);
  isOnWay[0] = 1;
  let n = 0;
  for (let i = 0, told = 0; i < some.length; i++) {
    for (let at = node[some[i]]; !isOnWay[at]; at = parent[at], n++)
      isOnWay[at] = 1;
    if (n + i - told >= PIECE) {
      told = n + i;
      yield;
    }
  }
  const nodes = new Uint32Array(n);
  for (let at = isOnWay.indexOf(1, 1), i = 0; i < n; at = isOnWay.indexOf(1, at + 1))
    nodes[i++] = at;
  return nodes;
}

// Where stacks stand, and what weighs less than can be seen.
interface Stand { leaf: Uint32Array; least: number }

// Stacks on their way out: those that show the same go together.
interface Groups {
  count: number;
  of: Uint32Array; // per site; NONE: not in the picture
  site: Uint32Array; // per group, one of its stacks
  node: Uint32Array; // and where what is shown of it begins; 0: not known
  weight: Float64Array;
}

// Of a stretch of sites; from: per node, the group of those that start at it, from 1.
function gather(
  groups: Groups, sites: Uint32Array, weights: Float64Array, node: Uint32Array,
  starts: Uint32Array | null, from: Uint32Array, first: number, past: number,
): void {
  const { of, site, weight, node: begin } = groups;
  for (let k = first; k < past; k++) {
    const i = sites[k];
    const start = starts ? starts[node[i]] : 0;
    let group = start ? from[start] : 0;
    if (!group) {
      group = ++groups.count;
      site[group - 1] = i;
      begin[group - 1] = starts ? start : node[i];
      if (start)
        from[start] = group;
    }
    of[i] = group - 1;
    weight[group - 1] += Math.abs(weights[i]);
  }
}

function* groupsOf(view: View, weights: Float64Array): Pieces<Groups> {
  const { model: { sites, nodes } } = view;
  const some = yield* sitesThatWeigh(view, weights);
  const starts = view.look.callers.length
    ? yield* view.starts!((yield* nodesOnWay(view, some)) ?? undefined) : null;
  yield;
  const groups: Groups = {
    count: 0, of: new Uint32Array(sites.count).fill(NONE), site: new Uint32Array(some.length),
    node: new Uint32Array(some.length), weight: new Float64Array(some.length),
  };
  yield;
  const from = new Uint32Array(starts ? nodes.count : 0);
  yield* stretches(some.length, (first, past) =>
    gather(groups, some, weights, sites.node, starts, from, first, past));
  return groups;
}

class Ways {
  readonly leaf: Uint32Array; // per group, a step
  private readonly next: Uint32Array; // the node that is read next; 0: it has ended
  least = 0; // what weighs less is not seen

  constructor(
    private readonly view: View, private readonly groups: Groups, private readonly steps: Steps,
  ) {
    this.leaf = new Uint32Array(groups.count);
    this.next = new Uint32Array(groups.count);
  }

  begin(group: number): void {
    const { kind } = this.view.model.sites;
    const { site, node, weight } = this.groups;
    this.next[group] = kind[site[group]] === SiteKind.lost ? 0 : node[group];
    this.least += weight[group];
    if (this.goOn(group))
      return;
    this.leaf[group] = endOf(this.view, site[group], this.steps.builder, true);
    this.steps.add(this.leaf[group], weight[group]);
  }

  // By one frame that is shown; false: there is none any more.
  goOn(group: number): boolean {
    const { nodes } = this.view.model;
    let node = this.next[group];
    while (node && !this.view.showsNode(node))
      node = nodes.parent[node];
    this.next[group] = node && nodes.parent[node];
    if (node)
      this.leaf[group] =
        this.steps.go(this.leaf[group], nodes.frame[node], this.groups.weight[group]);
    return node !== 0;
  }

  isSeen(group: number): boolean {
    return this.next[group] !== 0 && (this.steps.weight(this.leaf[group]) >= this.least ||
      this.steps.isOpen(this.leaf[group]));
  }
}

function* chosen(from: Uint32Array, is: (group: number) => boolean): Pieces<Uint32Array> {
  const groups = new Uint32Array(from.length);
  let n = 0;
  yield* stretches(from.length, (first, past) => {
    for (let i = first; i < past; i++)
      if (is(from[i]))
        groups[n++] = from[i];
  });
  return groups.subarray(0, n);
}

// From the inside out. Of callers, all that is inside of the function is no part of the picture.
function* fromInside(
  view: View, weights: Float64Array, steps: Steps, seen: number,
): Pieces<Stand> {
  const groups = yield* groupsOf(view, weights);
  const ways = new Ways(view, groups, steps);
  const all = new Uint32Array(groups.count).map((_, i) => i);
  const goAll = (some: Uint32Array, go: (group: number) => void) =>
    stretches(some.length, (from, past) => {
      for (let i = from; i < past; i++)
        go(some[i]);
    }, PIECE / 4);
  yield* goAll(all, (group) => ways.begin(group));
  ways.least /= seen;
  // Stacks that were left behind may stand where others have come since.
  for (let left = yield* chosen(all, (group) => ways.isSeen(group)); left.length;) {
    yield* goAll(left, (group) => ways.goOn(group));
    left = yield* chosen(left, (group) => ways.isSeen(group));
    if (!left.length)
      left = yield* chosen(all, (group) => ways.isSeen(group));
  }
  const leaf = groups.of;
  yield* stretches(leaf.length, (from, past) => {
    for (let i = from; i < past; i++)
      if (leaf[i] !== NONE)
        leaf[i] = ways.leaf[leaf[i]];
  });
  return { leaf, least: ways.least };
}

function addStacks(
  below: Float64Array, node: Uint32Array, sites: Uint32Array, weights: Float64Array, from: number,
  past: number,
): void {
  for (let i = from; i < past; i++)
    below[node[sites[i]]] += Math.abs(weights[sites[i]]);
}

// Those before `past`, the last first, to the nodes above them.
function addUp(
  below: Float64Array, parent: Uint32Array, some: Some, from: number, past: number,
): void {
  for (let i = past - 1; i >= from; i--) {
    const n = some ? some[i] : i + 1;
    if (below[n] > 0)
      below[parent[n]] += below[n];
  }
}

// What the stacks through each node of the model weigh.
function* weightsBelow(
  { model: { nodes, sites } }: View, weights: Float64Array, those: Uint32Array, some: Some,
): Pieces<Float64Array> {
  yield;
  const below = new Float64Array(nodes.count);
  yield;
  yield* stretches(those.length, (from, past) =>
    addStacks(below, sites.node, those, weights, from, past));
  const last = howMany(some, nodes);
  yield* stretches(last, (from, past) =>
    addUp(below, nodes.parent, some, last - past, last - from));
  return below;
}

// Nodes on their way out.
interface Below {
  some: Some; // these alone
  weight: Float64Array;
  parent: Uint32Array;
  isShown: Uint8Array;
  path: Uint32Array; // a step; 0: nothing is shown so far, NONE: not known
}

// Of those that weigh anything.
function* shownNodes(view: View, some: Some, weight: Float64Array): Pieces<Uint8Array> {
  const { frames, nodes } = view.model;
  const { within } = view.judged;
  const shown = new Uint8Array(frames.count);
  yield* stretches(frames.count, (from, past) => {
    for (let f = from; f < past; f++)
      shown[f] = Number(view.shows(f));
  });
  const is = new Uint8Array(nodes.count);
  yield* stretches(howMany(some, nodes), (from, past) =>
    markShown(is, shown, nodes.frame, within, some, weight, from, past));
  return is;
}

function markShown(
  is: Uint8Array, shown: Uint8Array, frame: Nodes["frame"], within: Uint8Array | null,
  some: Some, weight: Float64Array, from: number, past: number,
): void {
  for (let i = from; i < past; i++) {
    const n = some ? some[i] : i + 1;
    if (weight[n] > 0 && (!within || within[n]))
      is[n] = shown[frame[n]];
  }
}

// Notes those to which nothing is shown on the way; gives those that are shown first.
function firstShown(
  { some, weight, parent, isShown, path }: Below, from: number, past: number, ret: number[],
): void {
  for (let i = from; i < past; i++) {
    const n = some ? some[i] : i + 1;
    if (weight[n] === 0 || path[parent[n]] !== 0)
      continue;
    if (isShown[n])
      ret.push(n);
    else
      path[n] = 0;
  }
}

// First child and next sibling of each node that weighs anything and has something shown above it;
// 0: none.
interface Links { child: Uint32Array; next: Uint32Array }

function link(
  { child, next }: Links, { some, weight, parent, path }: Below, from: number, past: number,
): void {
  for (let i = past - 1; i >= from; i--) {
    const n = some ? some[i] : i + 1;
    if (weight[n] > 0 && path[parent[n]] !== 0) {
      next[n] = child[parent[n]];
      child[parent[n]] = n;
    }
  }
}

function* linkNodes(nodes: Nodes, below: Below): Pieces<Links> {
  const links = { child: new Uint32Array(nodes.count), next: new Uint32Array(nodes.count) };
  yield;
  const last = howMany(below.some, nodes);
  yield* stretches(last, (from, past) => link(links, below, last - past, last - from));
  return links;
}

// From the outside in, node by node: whatever is below a node that is not followed stands at it.
function* fromOutside(
  view: View, weights: Float64Array, steps: Steps, seen: number,
): Pieces<Stand> {
  const { nodes, sites } = view.model;
  const those = yield* sitesThatWeigh(view, weights);
  const some = yield* nodesOnWay(view, those);
  const weight = yield* weightsBelow(view, weights, those, some);
  const least = weight[0] / seen;
  const isShown = yield* shownNodes(view, some, weight);
  yield;
  const path = new Uint32Array(nodes.count).fill(NONE);
  yield;
  const below: Below = { some, weight, parent: nodes.parent, isShown, path };
  path[0] = 0;
  const first: number[] = [];
  const nSome = howMany(some, nodes);
  yield* stretches(nSome, (from, past) => firstShown(below, from, past, first));
  const { child, next } = yield* linkNodes(nodes, below);
  let since = 0;
  const isTime = () => ++since % (PIECE / 16) === 0;
  let met: number[] = [];
  const go = (from: number, n: number) => {
    path[n] = isShown[n] ? steps.go(from, nodes.frame[n], weight[n]) : from;
    if (child[n])
      met.push(n);
  };
  for (const n of first) {
    go(0, n);
    if (isTime())
      yield;
  }
  const isSeen = (node: number) =>
    steps.weight(path[node]) >= least || steps.isOpen(path[node]);
  for (let left: number[] = [], waiting: number[] = []; ;) {
    left = met.filter(isSeen);
    for (const node of met)
      if (!isSeen(node))
        waiting.push(node);
    met = [];
    yield;
    if (!left.length) {
      left = waiting.filter(isSeen);
      waiting = waiting.filter((node) => !isSeen(node));
    }
    if (!left.length)
      break;
    for (const node of left)
      for (let n = child[node]; n; n = next[n]) {
        go(path[node], n);
        if (isTime())
          yield;
      }
  }
  yield* stretches(nSome, (from, past) => standAbove(path, nodes.parent, some, from, past));
  const leaf = new Uint32Array(sites.count).fill(NONE);
  yield;
  yield* stretches(those.length, (from, past) => {
    for (let k = from; k < past; k++) {
      const i = those[k];
      leaf[i] = path[sites.node[i]] || endOf(view, i, steps.builder);
      if (!path[sites.node[i]])
        steps.add(leaf[i], Math.abs(weights[i]));
    }
  }, PIECE / 4);
  return { leaf, least };
}

// Nodes of which no more is known.
function standAbove(
  path: Uint32Array, parent: Uint32Array, some: Some, from: number, past: number,
): void {
  for (let i = from; i < past; i++) {
    const n = some ? some[i] : i + 1;
    if (path[n] === NONE)
      path[n] = path[parent[n]];
  }
}

export function* earlyTrie(
  view: View, weights: Float64Array, { inverted, byLine }: TreeOptions, seen = SEEN,
): Pieces<Trie> {
  const { model: { frames }, look } = view;
  const names = yield* frameNamesInPieces(view.model, byLine);
  const steps = new Steps(names.of, frames.line, look.collapse);
  const { leaf, least } = yield* (inverted ? fromInside : fromOutside)(view, weights, steps, seen);
  const { count, parent, frame, name, oneLine, isFolded } = steps.builder;
  const deep = new Uint8Array(count).fill(1);
  if (!byLine)
    oneLine.fill(0);
  return {
    count, leaf, parent, frame, name, deep, oneLine, isFolded, reach: 0, nCut: 0, seen: least,
  };
}
