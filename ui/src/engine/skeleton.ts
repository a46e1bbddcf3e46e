// SPDX-License-Identifier: Apache-2.0
//
// Everything about a tree of one or two views that no question changes: the nodes it can have, and
// the stacks in the order in which the tree holds them.
//
//  1. Steps of the tries that say the same are one node. Nodes come level by level, siblings in the
//     order of their names: a node's index is above its parent's, and children are neighbours.
//  2. Every stack has a slot. Those of a node's children come first, child by child, then those
//     that end at the node itself: so the stacks through a node are one range of slots, and what
//     they weigh is the difference of two sums.
//
// The steps below a node are sorted by name and cut where the name changes; nothing has to be
// looked up. Node by node that goes down to the end of each stack, whose steps lie side by side;
// what is found on the way is then laid out level by level.

import { NONE } from "./names.ts";
import { stretches, within, type Pieces } from "./pieces.ts";
import type { Trie } from "./trie.ts";

export interface Skeleton {
  count: number; // node 0 is the root
  levels: Uint32Array; // where each depth begins, and past the last one `count`
  parent: Uint32Array; // of the root: 0
  name: Uint16Array | Uint32Array;
  firstChild: Uint32Array; // count + 1: where the children of the next node begin, these end
  first: Uint32Array; // slots of the stacks through a node, from `first`
  past: Uint32Array; // up to `past`
  step: Uint32Array; // that it stands for; if SEVERAL, where in `more` they are
  more: Uint32Array; // how many, how many frames one of them stands for at most, and they
  slots: Slots;
}

// Of two tries, the steps of the second come after the first one's.
export const SEVERAL = 0x80000000;

export interface Slots {
  count: number;
  stack: Uint32Array; // sites; those of the second trie come after the first one's
  node: Uint32Array; // where it ends
}

// The steps of a trie, or of all tries with one root.
interface Forest {
  count: number;
  parent: Uint32Array;
  name: Uint32Array;
  deep: Uint8Array | Uint32Array;
  leaf: Uint32Array; // per site of all
  isFolded: boolean;
}

function joinTries(tries: Trie[], namesOf: Uint32Array[]): Forest {
  const count = tries.reduce((sum, trie) => sum + trie.count - 1, 1);
  const nSites = tries.reduce((sum, trie) => sum + trie.leaf.length, 0);
  const forest: Forest = {
    count, name: new Uint32Array(count), parent: new Uint32Array(count),
    deep: new Uint32Array(count), leaf: new Uint32Array(nSites),
    isFolded: tries.some((trie) => trie.isFolded),
  };
  let base = 0;
  let site = 0;
  tries.forEach((trie, t) => {
    const names = namesOf[t];
    for (let i = 1; i < trie.count; i++) {
      forest.name[base + i] = names[trie.frame[i]];
      forest.parent[base + i] = trie.parent[i] ? base + trie.parent[i] : 0;
      forest.deep[base + i] = trie.deep[i];
    }
    for (let i = 0; i < trie.leaf.length; i++)
      forest.leaf[site + i] = trie.leaf[i] && trie.leaf[i] !== NONE ? base + trie.leaf[i]
        : trie.leaf[i];
    base += trie.count - 1;
    site += trie.leaf.length;
  });
  return forest;
}

// Steps that stacks go through: those of any weight, or all. What was folded away is on none's way.
export function* markInPieces(
  parent: Uint32Array, count: number, leaf: Uint32Array, weights: Float64Array[] | null,
): Pieces<Uint8Array> {
  const isOnWay = new Uint8Array(count);
  const marked = weights ?? [null];
  for (const weight of marked)
    yield* stretches(leaf.length, (from, past) => {
      for (let site = from; site < past; site++)
        if (leaf[site] !== NONE && (!weight || weight[site] !== 0))
          isOnWay[leaf[site]] = 1;
    });
  yield* stretches(count - 1, (from, past) => {
    for (let i = count - 1 - from; i > count - 1 - past; i--)
      if (isOnWay[i])
        isOnWay[parent[i]] = 1;
  });
  return isOnWay;
}

// Sorts a stretch of steps by name; equals stay as they are.
function sortByName(steps: Uint32Array, from: number, past: number, name: Uint32Array): void {
  let at = from + 1;
  while (at < past && name[steps[at - 1]] <= name[steps[at]])
    at++;
  if (at >= past)
    return;
  const n = past - from;
  const keys = new Float64Array(n); // name and place in one number, exact below 2^53
  for (let i = 0; i < n; i++)
    keys[i] = name[steps[from + i]] * n + i;
  keys.sort();
  const before = steps.slice(from, past);
  for (let i = 0; i < n; i++)
    steps[from + i] = before[keys[i] % n];
}

// First child and next sibling of each step that a stack goes through; 0: none.
interface Links { child: Uint32Array; next: Uint32Array }

function* linkSteps(forest: Forest): Pieces<Links> {
  const { count, parent, leaf } = forest;
  const isOnWay = forest.isFolded ? yield* markInPieces(parent, count, leaf, null) : null;
  const child = new Uint32Array(count);
  const next = new Uint32Array(count);
  yield* stretches(count - 1, (from, past) => {
    for (let i = count - 1 - from; i > count - 1 - past; i--)
      if (!isOnWay || isOnWay[i]) {
        next[i] = child[parent[i]];
        child[parent[i]] = i;
      }
  });
  return { child, next };
}

// The sites that end at each step, from 1; 0: no more.
function* linkStacks({ count: nSteps, leaf }: Forest): Pieces<Endings> {
  const ending = new Uint32Array(nSteps);
  const nextEnding = new Uint32Array(leaf.length + 1);
  const last = leaf.length - 1;
  let count = 0;
  yield* stretches(leaf.length, (from, past) => {
    for (let site = last - from; site > last - past; site--)
      if (leaf[site] !== NONE) {
        nextEnding[site + 1] = ending[leaf[site]];
        ending[leaf[site]] = site + 1;
        count++;
      }
  });
  return { ending, nextEnding, count };
}

interface Endings { ending: Uint32Array; nextEnding: Uint32Array; count: number }

const NODES = 1 << 13; // walked through, or ends of stacks met, in a piece

// Walks the forest from the root to the ends of stacks, child by child in the order of names.
class Walk {
  count = 0; // nodes, in the order of the walk
  nSlots = 0;
  readonly depth: Uint32Array;
  readonly first: Uint32Array;
  readonly past: Uint32Array;
  readonly step: Uint32Array;
  readonly more: number[] = [];
  readonly stack: Uint32Array; // per slot
  readonly endsAt: Uint32Array;
  private readonly work: Uint32Array; // steps of the nodes that are being walked through
  private readonly child: Uint32Array;
  private readonly next: Uint32Array;

  constructor(
    private readonly forest: Forest, private readonly endings: Endings, { child, next }: Links,
  ) {
    const { count, leaf } = forest;
    const column = () => new Uint32Array(count);
    [this.depth, this.first, this.past, this.step] = [column(), column(), column(), column()];
    this.work = column();
    this.stack = new Uint32Array(leaf.length);
    this.endsAt = new Uint32Array(leaf.length);
    this.child = child;
    this.next = next;
  }

  // What is open: nodes from the root to the one at work, each with the steps of its children that
  // are still to be walked, in `work` before those of the next.
  *run(): Pieces<void> {
    const { work, forest: { name } } = this;
    const room = this.deepest() + 1;
    const nodes = new Uint32Array(room);
    const at = new Uint32Array(room); // in work: the next child
    const ends = new Uint32Array(room); // and where they end
    this.count = 1; // the root is there, and its step is 0
    ends[0] = at[0] = 1;
    ends[0] = this.gather(0, 1);
    for (let level = 0, told = 0; level >= 0;) {
      if (this.count + this.nSlots - told >= NODES) {
        told = this.count + this.nSlots;
        yield this.nSlots / this.endings.count;
      }
      const begin = at[level];
      const end = ends[level];
      if (begin === end) {
        this.leave(nodes[level--]);
        continue;
      }
      let past = begin + 1;
      while (past < end && name[work[past]] === name[work[begin]])
        past++;
      at[level++] = past;
      const node = this.count++;
      this.depth[node] = level;
      this.first[node] = this.nSlots;
      this.step[node] = past - begin === 1 ? work[begin] : this.keep(begin, past);
      nodes[level] = node;
      at[level] = end;
      ends[level] = this.gather(node, end);
    }
  }

  private deepest(): number {
    const { count, parent } = this.forest;
    const depth = this.depth; // not in use yet
    let deepest = 0;
    for (let i = 1; i < count; i++) {
      depth[i] = depth[parent[i]] + 1;
      deepest = Math.max(deepest, depth[i]);
    }
    return deepest;
  }

  private keep(begin: number, past: number): number {
    const { more, work, forest: { deep } } = this;
    const place = more.push(past - begin, 0) - 2;
    for (let k = begin; k < past; k++) {
      more.push(work[k]);
      more[place + 1] = Math.max(more[place + 1], deep[work[k]]);
    }
    return SEVERAL + place;
  }

  // The steps below a node, by name.
  private gather(node: number, from: number): number {
    const { work, child, next, more } = this;
    const step = this.step[node];
    let end = from;
    if (step < SEVERAL) {
      for (let i = child[step]; i; i = next[i])
        work[end++] = i;
    } else {
      const place = step - SEVERAL;
      for (let k = place + 2; k < place + 2 + more[place]; k++)
        for (let i = child[more[k]]; i; i = next[i])
          work[end++] = i;
    }
    if (end - from > 1)
      sortByName(work, from, end, this.forest.name);
    return end;
  }

  // Stacks that end at a node come after those of its children.
  private leave(node: number): void {
    const step = this.step[node];
    if (step < SEVERAL)
      this.place(step, node);
    const place = step - SEVERAL;
    for (let k = place + 2; step >= SEVERAL && k < place + 2 + this.more[place]; k++)
      this.place(this.more[k], node);
    this.past[node] = this.nSlots;
  }

  private place(step: number, node: number): void {
    const { ending, nextEnding } = this.endings;
    for (let site = ending[step]; site; site = nextEnding[site]) {
      this.stack[this.nSlots] = site - 1;
      this.endsAt[this.nSlots++] = node;
    }
  }
}

// Where each level begins, and past the last one how many nodes there are.
function levelsOf({ count, depth }: Walk): Uint32Array {
  const sizes: number[] = [];
  for (let i = 0; i < count; i++)
    sizes[depth[i]] = (sizes[depth[i]] ?? 0) + 1;
  const levels = new Uint32Array(sizes.length + 1);
  sizes.forEach((size, level) => (levels[level + 1] = levels[level] + size));
  return levels;
}

// Room for names, two bytes each where that is enough.
function namesFor({ count }: Walk, { name }: Forest): Uint16Array | Uint32Array {
  let most = 0;
  for (let i = 0; i < name.length; i++)
    most = Math.max(most, name[i]);
  return most < 1 << 16 ? new Uint16Array(count) : new Uint32Array(count);
}

// From the order of the walk to that of levels: within a level both are the same.
function* layOut(walk: Walk, forest: Forest): Pieces<Skeleton> {
  const { count, depth, step, nSlots } = walk;
  const column = (n = count) => new Uint32Array(n);
  const levels = levelsOf(walk);
  const skeleton: Skeleton = {
    count, levels, parent: column(), name: namesFor(walk, forest), firstChild: column(count + 1),
    first: column(), past: column(), step: column(), more: Uint32Array.from(walk.more),
    slots: { count: nSlots, stack: walk.stack.slice(0, nSlots), node: column(nSlots) },
  };
  const next = Uint32Array.from([...levels, count]); // per level, the place of its next node
  const place = column();
  yield* stretches(count, (from, past) => {
    for (let i = from; i < past; i++) {
      const level = depth[i];
      const node = next[level]++;
      place[i] = node;
      skeleton.parent[node] = level ? next[level - 1] - 1 : 0;
      skeleton.firstChild[node] = next[level + 1];
      skeleton.first[node] = walk.first[i];
      skeleton.past[node] = walk.past[i];
      skeleton.step[node] = step[i];
      skeleton.name[node] =
        forest.name[step[i] < SEVERAL ? step[i] : walk.more[step[i] - SEVERAL + 2]];
    }
  });
  skeleton.firstChild[count] = count;
  yield* stretches(nSlots, (from, past) => {
    for (let slot = from; slot < past; slot++)
      skeleton.slots.node[slot] = place[walk.endsAt[slot]];
  });
  return skeleton;
}

// Of a skeleton, what is done when the walk begins and when it is over.
const BEFORE = 0.1;
const WALKED = 0.8;

function* skeletonOf(forest: Forest): Pieces<Skeleton> {
  const endings = yield* linkStacks(forest);
  const walk = new Walk(forest, endings, yield* linkSteps(forest));
  yield BEFORE;
  yield* within(walk.run(), BEFORE, WALKED);
  yield WALKED;
  return yield* layOut(walk, forest);
}

export function* skeletonInPieces(trie: Trie): Pieces<Skeleton> {
  const { name } = trie;
  if (!name)
    throw new Error("a trie has lost its names before it had a skeleton");
  return yield* skeletonOf({ ...trie, name });
}

// namesOf: per trie, per frame of its model, a name that both share.
export function* jointInPieces(tries: Trie[], namesOf: Uint32Array[]): Pieces<Skeleton> {
  const forest = joinTries(tries, namesOf);
  yield;
  return yield* skeletonOf(forest);
}
