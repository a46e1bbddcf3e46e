// SPDX-License-Identifier: Apache-2.0
//
// The shown stacks of a view as steps, in a tree's direction and with recursion folded, each step
// kept as exactly as it was: frame, how many frames it stands for, whether they were on one line.
// It knows nothing of weights, so it is made once per view and direction.
//
// Steps that say the same may be there several times: whoever arranges them (skeleton.ts) sorts
// them anyway, and to look for each of millions would cost more than to sort.

import type { View } from "./look.ts";
import { FrameFlag, SiteKind, type Model } from "./model.ts";
import { frameNames, NONE } from "./names.ts";
import { atOnce, type Pieces } from "./pieces.ts";

export const CYCLE_MAX = 8; // functions that call each other in turn, as src/view/tree.c has it

export interface Trie {
  count: number; // step 0 is the root; a step's index is above its parent's
  parent: Uint32Array;
  frame: Uint16Array | Uint32Array;
  name: Uint32Array | null; // of the frame; null: what it is needed for is made (narrowed)
  deep: Uint8Array | Uint32Array;
  oneLine: Uint8Array;
  isFolded: boolean; // some steps are on no stack's way
  reach: number; // frames of a stack that are followed at most; 0: all
  nCut: number; // stacks that go on further out
  seen?: number; // what weighs less may lack what is further out (early.ts); absent: nothing does
  leaf: Uint32Array; // per site: where its stack ends; NONE: not in the view
}

function grown<T extends Uint32Array | Uint8Array>(array: T): T {
  const more = new (array.constructor as new (n: number) => T)(array.length * 2);
  more.set(array);
  return more;
}

export class Builder {
  count = 1;
  parent: Uint32Array;
  frame: Uint32Array;
  name: Uint32Array;
  deep: Uint32Array;
  oneLine: Uint8Array;
  isFolded = false;
  private readonly turns = new Uint32Array(2 * CYCLE_MAX); // steps, innermost first; [0] is to come

  constructor(
    private readonly names: Uint32Array,
    private readonly lines: Uint32Array,
    private readonly collapse: boolean,
    room: number,
  ) {
    this.parent = new Uint32Array(room);
    this.frame = new Uint32Array(room);
    this.name = new Uint32Array(room);
    this.deep = new Uint32Array(room);
    this.oneLine = new Uint8Array(room);
    this.frame[0] = NONE;
  }

  private add(parent: number, frame: number, deep: number, oneLine: number): number {
    const step = this.count++;
    if (step === this.parent.length) {
      this.parent = grown(this.parent);
      this.frame = grown(this.frame);
      this.name = grown(this.name);
      this.deep = grown(this.deep);
      this.oneLine = grown(this.oneLine);
    }
    this.parent[step] = parent;
    this.frame[step] = frame;
    this.name[step] = this.names[frame];
    this.deep[step] = deep;
    this.oneLine[step] = oneLine;
    return step;
  }

  // One frame more at the end of a path. If the last turns then repeat those before them, they
  // become one.
  step(path: number, frame: number): number {
    if (!this.collapse)
      return this.add(path, frame, 1, 1);
    const { parent, turns, name: nameOf } = this;
    const name = this.names[frame];
    let known = 1; // turns read
    for (let cycle = 1, step = path; cycle <= CYCLE_MAX && step; cycle++, step = parent[step]) {
      if (nameOf[step] !== name)
        continue;
      for (let next = known === 1 ? path : parent[turns[known - 1]];
        known < 2 * cycle && next; next = parent[next])
        turns[known++] = next;
      if (known >= 2 * cycle && this.repeats(cycle))
        return this.fold(cycle, frame);
    }
    return this.add(path, frame, 1, 1);
  }

  private repeats(cycle: number): boolean {
    for (let i = 1; i < cycle; i++)
      if (this.name[this.turns[i]] !== this.name[this.turns[i + cycle]])
        return false;
    return true;
  }

  private fold(cycle: number, frame: number): number {
    const { turns, lines } = this;
    this.isFolded = true;
    let path = this.parent[turns[2 * cycle - 1]];
    for (let i = 2 * cycle - 1; i >= cycle; i--) {
      const first = turns[i];
      const again = turns[i - cycle];
      const isNew = i === cycle;
      const againLine = lines[isNew ? frame : this.frame[again]];
      const oneLine = this.oneLine[first] && (isNew || this.oneLine[again]) &&
        lines[this.frame[first]] === againLine ? 1 : 0;
      path = this.add(path, this.frame[first],
        this.deep[first] + (isNew ? 1 : this.deep[again]), oneLine);
    }
    return path;
  }
}

// The root that events without a stack hang at; it stands for them in trees.
function lostFrame(model: Model, site: number): number {
  for (let n = model.sites.node[site]; n; n = model.nodes.parent[n])
    if (model.frames.flags[model.nodes.frame[n]] & FrameFlag.lost)
      return model.nodes.frame[n];
  return NONE;
}

function inOrderOfNodes(model: Model): Uint32Array {
  const order = new Uint32Array(model.sites.count);
  let isRising = true;
  for (let i = 0; i < order.length; i++) {
    order[i] = i;
    isRising &&= !i || model.sites.node[i] >= model.sites.node[i - 1];
  }
  return isRising ? order : order.sort((a, b) => model.sites.node[a] - model.sites.node[b]);
}

// How many frames of each stack there is room for; 0: for all of them. Stacks share their outer
// ends: from the inside out each has those to itself, and all together are as many frames as there
// are stacks times how deep they are; those that show the same count once.
export function reachOf(view: View, most: number): number {
  const { nodes, sites } = view.model;
  const starts = view.starts && atOnce(view.starts());
  const isCounted = new Uint8Array(starts ? nodes.count : 0);
  const depth = new Uint32Array(nodes.count); // with frames that are shown wherever they stand
  for (let n = 1; n < nodes.count; n++)
    depth[n] = depth[nodes.parent[n]] + Number(view.showsNode(n));
  const stacks: number[] = []; // by depth
  let left = 0;
  for (let i = 0; i < sites.count; i++) {
    const start = starts ? starts[sites.node[i]] : 0;
    if (!view.wanted[i] || isCounted[start])
      continue;
    const at = depth[start || sites.node[i]];
    stacks[at] = (stacks[at] ?? 0) + 1;
    left++;
    if (start)
      isCounted[start] = 1;
  }
  let sum = 0;
  for (let reach = 0; reach < stacks.length; reach++) {
    left -= stacks[reach] ?? 0;
    sum += left;
    if (sum > most)
      return Math.max(1, reach);
  }
  return 0;
}

interface Read { leaf: Uint32Array; nCut: number }

const SITES = 1 << 13; // that are read in a piece
const NODES = 1 << 16;

// Neighbours share most of their frames: from where they part, the path is made anew. Stacks that
// show the same because they part inside of all that is shown are read once.
function* readStacks(
  view: View, inverted: boolean, builder: Builder, reach: number,
): Pieces<Read> {
  const { model } = view;
  const starts = view.starts && atOnce(view.starts());
  const leafFrom = new Uint32Array(starts ? model.nodes.count : 0); // 0: not known
  const isCut = new Uint8Array(leafFrom.length);
  let nCut = 0;
  const leaf = new Uint32Array(model.sites.count).fill(NONE);
  let before = new Uint32Array(64);
  let paths = new Uint32Array(65); // [i]: after i steps of the stack before
  let nBefore = 0;
  const order = inOrderOfNodes(model);
  for (let at = 0; at < order.length; at++) {
    const site = order[at];
    if (at % SITES === SITES - 1)
      yield at / order.length;
    if (!view.wanted[site])
      continue;
    if (model.sites.kind[site] === SiteKind.lost) {
      leaf[site] = endOf(view, site, builder);
      continue;
    }
    const start = starts ? starts[model.sites.node[site]] : 0;
    if (start && leafFrom[start]) {
      leaf[site] = leafFrom[start];
      nCut += isCut[start];
      continue;
    }
    let n = view.readFrames(site, reach ? reach + 1 : Infinity);
    const goesOn = reach !== 0 && n > reach;
    if (goesOn) {
      n = reach;
      nCut++;
    }
    const { read } = view;
    while (n > before.length) {
      before = grown(before);
      const more = new Uint32Array(before.length + 1);
      more.set(paths);
      paths = more;
    }
    let i = 0;
    while (i < n && i < nBefore && before[i] === read[inverted ? i : n - 1 - i])
      i++;
    for (; i < n; i++) {
      before[i] = read[inverted ? i : n - 1 - i];
      paths[i + 1] = builder.step(paths[i], before[i]);
    }
    nBefore = n;
    leaf[site] = paths[n];
    if (start) {
      leafFrom[start] = leaf[site];
      isCut[start] = Number(goesOn);
    }
  }
  return { leaf, nCut };
}

// From the outermost frame on, what a node shows does not depend on what is inside of it, unless
// that is not part of the picture: then every node is looked at once, not every stack.
function* readNodes(view: View, builder: Builder): Pieces<Read> {
  const { model } = view;
  const { nodes, sites } = model;
  const leaf = new Uint32Array(sites.count).fill(NONE);
  const isNeeded = new Uint8Array(nodes.count);
  for (let i = 0; i < sites.count; i++)
    if (view.wanted[i])
      isNeeded[sites.node[i]] = 1;
  for (let n = nodes.count - 1; n > 0; n--)
    if (isNeeded[n])
      isNeeded[nodes.parent[n]] = 1;
  const paths = new Uint32Array(nodes.count);
  for (let n = 1; n < nodes.count; n++) {
    if (n % NODES === 0)
      yield n / nodes.count;
    if (!isNeeded[n])
      continue;
    const path = paths[nodes.parent[n]];
    const frame = view.standsFor(nodes.frame[n]);
    const goesOn = frame !== nodes.frame[n] && builder.frame[path] === frame; // in one library
    paths[n] = view.showsNode(n) && !goesOn ? builder.step(path, frame) : path;
  }
  for (let i = 0; i < sites.count; i++) {
    if (!view.wanted[i])
      continue;
    leaf[i] = paths[sites.node[i]];
    if (leaf[i] === 0)
      leaf[i] = endOf(view, i, builder);
  }
  return { leaf, nCut: 0 };
}

// Where a stack ends of which no frame is shown for itself: at the one it is blamed on, if any; or
// outside of what is in focus, where none of that is shown.
export function endOf(view: View, site: number, builder: Builder, inverted = false): number {
  if (view.model.sites.kind[site] === SiteKind.lost) {
    const frame = lostFrame(view.model, site);
    return frame === NONE ? 0 : builder.step(0, frame);
  }
  const n = view.readFrames(site);
  let path = 0;
  for (let i = 0; i < n; i++)
    path = builder.step(path, view.read[inverted ? i : n - 1 - i]);
  return path;
}

// As small as its numbers let it be, for whoever keeps it when its skeleton is made.
export function narrowed(trie: Trie): Trie {
  const { frame, deep, count } = trie;
  let most = 0;
  let deepest = 0;
  for (let i = 1; i < count; i++) { // the root has no frame
    most = Math.max(most, frame[i]);
    deepest = Math.max(deepest, deep[i]);
  }
  return {
    ...trie, name: null, parent: trie.parent.slice(0, count),
    oneLine: trie.oneLine.slice(0, count),
    frame: most < 1 << 16 ? Uint16Array.from(frame.subarray(0, count)) : frame.slice(0, count),
    deep: deepest < 1 << 8 ? Uint8Array.from(deep.subarray(0, count)) : deep.slice(0, count),
  };
}

interface Kept {
  tries: Map<string, Trie>;
  reach?: number; // inverted
}

const held = new WeakMap<View, Kept>();

function keptOf(view: View): Kept {
  const ofView = held.get(view) ?? { tries: new Map<string, Trie>() };
  held.set(view, ofView);
  return ofView;
}

const keyOf = (inverted: boolean, byLine: boolean, reach: number) =>
  `${inverted} ${byLine} ${reach}`;

// Frames of all stacks together that a tree is made of at most, at some 40 bytes each.
const FRAMES_MOST = 8_000_000;

// Of a view by itself: how many frames of each stack its tree has; 0: all.
export function ownReach(view: View, inverted: boolean): number {
  return inverted ? (keptOf(view).reach ??= reachOf(view, FRAMES_MOST)) : 0;
}

export function hasTrie(view: View, inverted: boolean, byLine: boolean): boolean {
  const { tries, reach } = keptOf(view);
  return (!inverted || reach !== undefined) &&
    tries.has(keyOf(inverted, byLine, inverted ? reach! : 0));
}

// Made elsewhere, of the same view.
export function keepTrie(view: View, inverted: boolean, byLine: boolean, trie: Trie): void {
  const ofView = keptOf(view);
  if (inverted)
    ofView.reach = trie.reach;
  ofView.tries.set(keyOf(inverted, byLine, trie.reach), trie);
}

// Nobody looks at it any more: it is made again for whoever does.
export function forgetTrie(view: View, inverted: boolean, byLine: boolean): void {
  keptOf(view).tries.delete(keyOf(inverted, byLine, ownReach(view, inverted)));
}

// The trie of a view; made when first asked for, kept as long as the view is.
export function trieOf(
  view: View, inverted: boolean, byLine: boolean, reach = ownReach(view, inverted),
): Trie {
  return atOnce(trieInPieces(view, inverted, byLine, reach));
}

export function* trieInPieces(
  view: View, inverted: boolean, byLine: boolean, reach = ownReach(view, inverted),
): Pieces<Trie> {
  const { tries } = keptOf(view);
  const key = keyOf(inverted, byLine, reach);
  let trie = tries.get(key);
  if (!trie) {
    const { model, look } = view;
    const names = frameNames(model, byLine).of;
    const room = model.nodes.count + 1024;
    const builder = new Builder(names, model.frames.line, look.collapse, room);
    const { leaf, nCut } = yield* !inverted && !look.callers.length ? readNodes(view, builder)
      : readStacks(view, inverted, builder, reach);
    const { count, parent, frame, name, deep, oneLine, isFolded } = builder;
    trie = { count, leaf, parent, frame, name, deep, oneLine, isFolded, reach, nCut };
    tries.set(key, trie);
  }
  return trie;
}
