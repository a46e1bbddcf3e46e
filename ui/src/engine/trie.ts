// SPDX-License-Identifier: Apache-2.0
//
// The shown stacks of a view as a trie of steps, in a tree's direction and with recursion folded,
// each step kept as exactly as it was: frame, how many frames it stands for, whether they were on
// one line. It knows nothing of weights, so it is made once per view and direction; a question
// then costs additions alone.

import type { View } from "./look.ts";
import { FrameFlag, SiteKind, type Model } from "./model.ts";
import { frameNames, NONE } from "./names.ts";

const MANY = NONE; // more than one child
const CYCLE_MAX = 8; // functions that call each other in turn, as src/view/tree.c has it

export interface Trie {
  count: number; // node 0 is the root; a node's index is above its parent's
  parent: Uint32Array;
  frame: Uint32Array;
  deep: Uint32Array;
  oneLine: Uint8Array;
  leaf: Uint32Array; // per site: where its stack ends; NONE: not in the view
}

function grown<T extends Uint32Array | Uint8Array>(array: T): T {
  const more = new (array.constructor as new (n: number) => T)(array.length * 2);
  more.set(array);
  return more;
}

class Builder {
  count = 1;
  parent = new Uint32Array(1024);
  frame = new Uint32Array(1024);
  deep = new Uint32Array(1024);
  oneLine = new Uint8Array(1024);
  // Most nodes have one child at most, which is kept here; only those with more are in the table.
  private only = new Uint32Array(1024); // 0: none yet; MANY: in the table
  private table = new Uint32Array(4096); // open addressing, at most half full; 0: free
  private nInTable = 0;
  private readonly turns = new Uint32Array(2 * CYCLE_MAX); // nodes, innermost first; [0] is to come

  constructor(
    private readonly names: Uint32Array,
    private readonly lines: Uint32Array,
    private readonly collapse: boolean,
  ) {
    this.frame[0] = NONE;
  }

  private slot(parent: number, frame: number, deep: number, oneLine: number): number {
    const mask = this.table.length - 1;
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35) + deep * 2 + oneLine;
    for (let at = (hash ^ (hash >>> 13)) & mask; ; at = (at + 1) & mask) {
      const held = this.table[at];
      if (!held || (this.parent[held] === parent && this.frame[held] === frame &&
                    this.deep[held] === deep && this.oneLine[held] === oneLine))
        return at;
    }
  }

  private child(parent: number, frame: number, deep: number, oneLine: number): number {
    const only = this.only[parent];
    if (only && only !== MANY) {
      if (this.frame[only] === frame && this.deep[only] === deep && this.oneLine[only] === oneLine)
        return only;
      this.only[parent] = MANY;
      this.tabulate(only);
    }
    if (only) {
      const known = this.table[this.slot(parent, frame, deep, oneLine)];
      if (known)
        return known;
    }
    const node = this.add(parent, frame, deep, oneLine);
    if (only)
      this.tabulate(node);
    else
      this.only[parent] = node;
    return node;
  }

  private add(parent: number, frame: number, deep: number, oneLine: number): number {
    const node = this.count++;
    if (node === this.parent.length) {
      this.parent = grown(this.parent);
      this.frame = grown(this.frame);
      this.deep = grown(this.deep);
      this.oneLine = grown(this.oneLine);
      this.only = grown(this.only);
    }
    this.parent[node] = parent;
    this.frame[node] = frame;
    this.deep[node] = deep;
    this.oneLine[node] = oneLine;
    return node;
  }

  private tabulate(node: number): void {
    this.table[this.slotOf(node)] = node;
    if (++this.nInTable * 2 <= this.table.length)
      return;
    const before = this.table;
    this.table = new Uint32Array(before.length * 4);
    for (const known of before)
      if (known)
        this.table[this.slotOf(known)] = known;
  }

  private slotOf(node: number): number {
    return this.slot(this.parent[node], this.frame[node], this.deep[node], this.oneLine[node]);
  }

  // One frame more at the end of a path. If the last turns then repeat those before them, they
  // become one.
  step(path: number, frame: number): number {
    if (!this.collapse)
      return this.child(path, frame, 1, 1);
    const { names, parent, turns } = this;
    const name = names[frame];
    let known = 1; // turns read
    for (let cycle = 1, node = path; cycle <= CYCLE_MAX && node; cycle++, node = parent[node]) {
      if (names[this.frame[node]] !== name)
        continue;
      for (let next = known === 1 ? path : parent[turns[known - 1]];
        known < 2 * cycle && next; next = parent[next])
        turns[known++] = next;
      if (known >= 2 * cycle && this.repeats(cycle))
        return this.fold(cycle, frame);
    }
    return this.child(path, frame, 1, 1);
  }

  private repeats(cycle: number): boolean {
    for (let i = 1; i < cycle; i++)
      if (this.names[this.frame[this.turns[i]]] !== this.names[this.frame[this.turns[i + cycle]]])
        return false;
    return true;
  }

  private fold(cycle: number, frame: number): number {
    const { turns, lines } = this;
    let path = this.parent[turns[2 * cycle - 1]];
    for (let i = 2 * cycle - 1; i >= cycle; i--) {
      const first = turns[i];
      const again = turns[i - cycle];
      const isNew = i === cycle;
      const againLine = lines[isNew ? frame : this.frame[again]];
      const oneLine = this.oneLine[first] && (isNew || this.oneLine[again]) &&
        lines[this.frame[first]] === againLine ? 1 : 0;
      path = this.child(path, this.frame[first],
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

// Neighbours share most of their frames: from where they part, the path is made anew.
function readStacks(view: View, inverted: boolean, builder: Builder): Uint32Array {
  const { model } = view;
  const leaf = new Uint32Array(model.sites.count).fill(NONE);
  let before = new Uint32Array(64);
  let paths = new Uint32Array(65); // [i]: after i steps of the stack before
  let nBefore = 0;
  for (const site of inOrderOfNodes(model)) {
    if (!view.wanted[site])
      continue;
    if (model.sites.kind[site] === SiteKind.lost) {
      leaf[site] = endOf(view, site, builder);
      continue;
    }
    const n = view.readFrames(site);
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
  }
  return leaf;
}

// From the outermost frame on, what a node shows does not depend on what is inside of it, unless
// the picture begins or ends within the stack: then every node is looked at once, not every stack.
function readNodes(view: View, builder: Builder): Uint32Array {
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
    if (!isNeeded[n])
      continue;
    const path = paths[nodes.parent[n]];
    paths[n] = view.shows(nodes.frame[n]) ? builder.step(path, nodes.frame[n]) : path;
  }
  for (let i = 0; i < sites.count; i++) {
    if (!view.wanted[i])
      continue;
    leaf[i] = paths[sites.node[i]];
    if (leaf[i] === 0)
      leaf[i] = endOf(view, i, builder);
  }
  return leaf;
}

// Where a stack ends of which no frame is shown for itself: at the one it is blamed on, if any.
function endOf(view: View, site: number, builder: Builder): number {
  if (view.model.sites.kind[site] === SiteKind.lost) {
    const frame = lostFrame(view.model, site);
    return frame === NONE ? 0 : builder.step(0, frame);
  }
  return view.readFrames(site) ? builder.step(0, view.read[0]) : 0;
}

const held = new WeakMap<View, Map<string, Trie>>();

// The trie of a view; made when first asked for, kept as long as the view is.
export function trieOf(view: View, inverted: boolean, byLine: boolean): Trie {
  const ofView = held.get(view) ?? new Map<string, Trie>();
  held.set(view, ofView);
  const key = `${inverted} ${byLine}`;
  let trie = ofView.get(key);
  if (!trie) {
    const names = frameNames(view.model, byLine).of;
    const builder = new Builder(names, view.model.frames.line, view.look.collapse);
    const { focus, callers, callees } = view.look;
    const isWhole = !inverted && !focus.length && !callers.length && !callees.length;
    const leaf = isWhole ? readNodes(view, builder) : readStacks(view, inverted, builder);
    const { count } = builder;
    trie = {
      count, leaf,
      parent: builder.parent.slice(0, count), frame: builder.frame.slice(0, count),
      deep: builder.deep.slice(0, count), oneLine: builder.oneLine.slice(0, count),
    };
    ofView.set(key, trie);
  }
  return trie;
}
