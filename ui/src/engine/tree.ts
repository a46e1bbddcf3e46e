// SPDX-License-Identifier: Apache-2.0
//
// The stacks of a view as one tree: from the outermost function down to the allocation or,
// inverted, from the allocating function out to its callers. Stacks that begin alike share nodes.
// The meaning is that of src/view/tree.h:
//
//  1. total = self + the totals of the children, for every node; the root's total is the sum of the
//     weights of all stacks in the view.
//  2. A stack counts once in a node, however often its function recurs: neighbouring repetitions,
//     of one function or of a short cycle of them, become one node that says how many they were.
//  3. Nodes come level by level, and within a level in the order of their parents: so a node's
//     index is above its parent's, children are neighbours, and a row of a graph is one range.
//
// Nodes are the skeleton's, whatever is asked; those without stacks, because no site below them has
// any weight, are as if they were not there. A question costs one addition per stack: what a node
// weighs, and where in a row it is, are differences of sums (see skeleton.ts).

import { joinNames } from "./match.ts";
import { weightsLeft, type View } from "./look.ts";
import { NONE } from "./names.ts";
import { atOnce, Few, stretches, type Pieces } from "./pieces.ts";
import { jointInPieces, skeletonInPieces, type Skeleton } from "./skeleton.ts";
import { StepTeller, type Part } from "./steps.ts";
import { ownReach, trieOf, type Trie } from "./trie.ts";

export interface TreeOptions {
  inverted: boolean;
  byLine: boolean; // each line of a function is a node of its own
}

// What a node says; asked of nodes with stacks, and not of the root.
export interface Teller {
  frame(node: number): number; // of the model (see side)
  line(node: number): number; // 0: unknown, or several
  deep(node: number): number; // frames of one stack that it stands for, at most
  side(node: number): number; // of a diff: 1 where the frame is of the model before, and not after
}

// Sums over the slots before each one, and over all.
export interface Sums {
  total: Float64Array;
  before: Float64Array | null; // of a diff: on the side before; total is that after
  width: Float64Array; // what boxes are as wide as: never falls
  stacks: Uint32Array; // with any weight
  isSigned: boolean; // some may be below zero
}

export class Tree {
  readonly count: number; // node 0 is the root
  readonly levels: Uint32Array; // where each depth begins, and past the last one `count`
  readonly parent: Uint32Array; // of the root: 0
  readonly name: Skeleton["name"]; // equal for what is one name, also in other trees of the model
  readonly firstChild: Uint32Array; // count + 1: where those of the next begin, its children end
  readonly isDiff: boolean;
  private rows = 0; // 0: not counted yet

  constructor(
    readonly skeleton: Skeleton,
    readonly sums: Sums,
    private readonly teller: Teller,
    readonly seen = 0, // what weighs less may lack what is further out
  ) {
    this.count = skeleton.count;
    this.levels = skeleton.levels;
    this.parent = skeleton.parent;
    this.name = skeleton.name;
    this.firstChild = skeleton.firstChild;
    this.isDiff = sums.before !== null;
  }

  // Of all stacks through it.
  total(node: number): number {
    return this.sum(this.sums.total, node);
  }

  // Whether all that is further out is there: else more ends at it than does in the whole picture.
  isWhole(node: number): boolean {
    return this.width(node) >= this.seen;
  }

  // Of the stacks that end at it.
  self(node: number): number {
    return this.ownSum(this.sums.total, node);
  }

  before(node: number): number {
    return this.sum(this.sums.before ?? this.sums.total, node);
  }

  beforeSelf(node: number): number {
    return this.ownSum(this.sums.before ?? this.sums.total, node);
  }

  // No less than its children's.
  width(node: number): number {
    return this.sum(this.sums.width, node);
  }

  // Through it. None: it is as if it were not there.
  stacks(node: number): number {
    return this.sum(this.sums.stacks, node);
  }

  private sum(sums: Float64Array | Uint32Array, node: number): number {
    return sums[this.skeleton.past[node]] - sums[this.skeleton.first[node]];
  }

  // Those that end at a node come after those of its children.
  private ownSum(sums: Float64Array | Uint32Array, node: number): number {
    const { past } = this.skeleton;
    return sums[past[node]] - sums[this.ownFirst(node)];
  }

  private ownFirst(node: number): number {
    const { first, past, firstChild } = this.skeleton;
    const end = firstChild[node + 1];
    return end > firstChild[node] ? past[end - 1] : first[node];
  }

  hasChildren(node: number): boolean {
    const { stacks } = this.sums;
    return stacks[this.ownFirst(node)] > stacks[this.skeleton.first[node]];
  }

  // Those with stacks, in the order of their names.
  children(node: number): number[] {
    const children: number[] = [];
    for (let c = this.firstChild[node]; c < this.firstChild[node + 1]; c++)
      if (this.stacks(c))
        children.push(c);
    return children;
  }

  // The widest first, then by total; equals stay in the order of their names.
  childrenByWeight(node: number): number[] {
    return this.children(node).sort((a, b) =>
      this.width(b) - this.width(a) || this.total(b) - this.total(a) || a - b);
  }

  // As the first `most` of these, without what has no width, and without sorting all.
  widestChildren(node: number, most: number): number[] {
    const widest: number[] = [];
    const isWider = (a: number, b: number) =>
      (this.width(a) - this.width(b) || this.total(a) - this.total(b)) > 0;
    for (let c = this.firstChild[node]; c < this.firstChild[node + 1]; c++) {
      const width = this.width(c);
      const last = widest[most - 1];
      if (!(width > 0) || (last !== undefined && !isWider(c, last)))
        continue;
      const at = widest.findIndex((one) => isWider(c, one));
      widest.splice(at < 0 ? widest.length : at, 0, c);
      widest.length = Math.min(widest.length, most);
    }
    return widest;
  }

  depth(node: number): number {
    let low = 0;
    let high = this.levels.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.levels[middle] <= node)
        low = middle;
      else
        high = middle;
    }
    return low;
  }

  // Levels with any stacks, the root's included.
  get nRows(): number {
    return (this.rows ||= this.countRows());
  }

  private countRows(): number {
    const { stacks } = this.sums;
    const { count, node } = this.skeleton.slots;
    let deepest = 0;
    for (let i = 0; i < count; i++)
      if (node[i] > deepest && stacks[i + 1] > stacks[i])
        deepest = node[i];
    return this.depth(deepest) + 1;
  }

  // A tree of one capture has negative numbers when more was freed than allocated in its range.
  get isSigned(): boolean {
    if (this.isDiff)
      return true;
    for (let node = 0; this.sums.isSigned && node < this.count; node++)
      if (this.total(node) < 0)
        return true;
    return false;
  }

  frame(node: number): number {
    return node ? this.teller.frame(node) : NONE;
  }

  line(node: number): number {
    return node ? this.teller.line(node) : 0;
  }

  // More than 1 is recursion.
  deep(node: number): number {
    return node ? this.teller.deep(node) : 1;
  }

  side(node: number): number {
    return node ? this.teller.side(node) : 0;
  }
}

// Widths are without signs, since numbers of a damaged capture may be negative.
export function sumUp(skeleton: Skeleton, weights: Float64Array): Sums {
  return atOnce(sumsInPieces(skeleton, weights));
}

function* sumsInPieces({ slots }: Skeleton, weights: Float64Array): Pieces<Sums> {
  const total = new Float64Array(slots.count + 1);
  const stacks = new Uint32Array(slots.count + 1);
  let isSigned = false;
  yield* stretches(slots.count, (from, past) => {
    for (let i = from; i < past; i++) {
      const weight = weights[slots.stack[i]];
      total[i + 1] = total[i] + weight;
      stacks[i + 1] = stacks[i] + (weight === 0 ? 0 : 1);
      isSigned ||= weight < 0;
    }
  });
  const width = isSigned ? new Float64Array(slots.count + 1) : total;
  for (let i = 0; isSigned && i < slots.count; i++)
    width[i + 1] = width[i] + Math.abs(total[i + 1] - total[i]);
  return { total, before: null, width, stacks, isSigned };
}

// A width is what changed at the end of stacks: of those that end at one node together.
export function sumUpBoth(
  skeleton: Skeleton, after: (stack: number) => number, before: (stack: number) => number,
): Sums {
  return atOnce(bothSumsInPieces(skeleton, after, before));
}

function* bothSumsInPieces(
  { slots }: Skeleton, after: (stack: number) => number, before: (stack: number) => number,
): Pieces<Sums> {
  const n = slots.count;
  const sums = {
    total: new Float64Array(n + 1), before: new Float64Array(n + 1), width: new Float64Array(n + 1),
    stacks: new Uint32Array(n + 1), isSigned: true,
  };
  let change = 0;
  yield* stretches(n, (from, past) => {
    for (let i = from; i < past; i++) {
      const now = after(slots.stack[i]);
      const then = before(slots.stack[i]);
      sums.total[i + 1] = sums.total[i] + now;
      sums.before[i + 1] = sums.before[i] + then;
      sums.stacks[i + 1] = sums.stacks[i] + (now === 0 ? 0 : 1) + (then === 0 ? 0 : 1);
      change += now - then;
      const isLast = i + 1 === n || slots.node[i + 1] !== slots.node[i];
      sums.width[i + 1] = sums.width[i] + (isLast ? Math.abs(change) : 0);
      change = isLast ? 0 : change;
    }
  });
  return sums;
}

const skeletons = new WeakMap<Trie, WeakMap<Trie, Skeleton>>();

function* skeletonOf(a: Trie, b: Trie, make: () => Pieces<Skeleton>): Pieces<Skeleton> {
  const ofTrie = skeletons.get(a) ?? new WeakMap<Trie, Skeleton>();
  skeletons.set(a, ofTrie);
  const skeleton = ofTrie.get(b) ?? (yield* make());
  ofTrie.set(b, skeleton);
  return skeleton;
}

function ownInPieces(trie: Trie): Pieces<Skeleton> {
  return skeletonOf(trie, trie, () => skeletonInPieces(trie));
}

// Made elsewhere, of the same trie.
export function keepSkeleton(trie: Trie, made: Skeleton): void {
  skeletons.set(trie, new WeakMap([[trie, made]]));
}

const KEPT_MAX = 2;
const kept = new WeakMap<Trie, Few<Float64Array, Tree>>(); // by weights
const numberOf = new WeakMap<View, number>();
let nViews = 0;

function keyOf(view: View): string {
  const number = numberOf.get(view) ?? nViews++;
  numberOf.set(view, number);
  return String(number);
}

export function buildTree(view: View, weights: Float64Array, options: TreeOptions): Tree {
  return atOnce(treeInPieces(view, weights, options));
}

// Of what is asked again while somebody has the weights, the same tree. Of a part of a view its
// nodes are those of the whole.
export function* treeInPieces(
  view: View, all: Float64Array, options: TreeOptions,
): Pieces<Tree> {
  const { whole } = view;
  const trie = trieOf(whole, options.inverted, options.byLine);
  const ofTrie = kept.get(trie) ?? new Few<Float64Array, Tree>(KEPT_MAX);
  kept.set(trie, ofTrie);
  const held = ofTrie.get(all, keyOf(view));
  if (held)
    return held;
  const weights = weightsLeft(view, all);
  const skeleton = yield* ownInPieces(trie);
  const teller = new StepTeller(skeleton, [{ view: whole, trie, weights: [weights] }]);
  if (skeleton.more.length)
    yield* teller.prepare();
  const sums = yield* sumsInPieces(skeleton, weights);
  return ofTrie.keep(all, keyOf(view), new Tree(skeleton, sums, teller, trie.seen));
}

// What one side has no room for would seem to be gone, or new.
function commonReach(a: View, b: View, inverted: boolean): number {
  const [one, other] = [ownReach(a, inverted), ownReach(b, inverted)];
  return one && other ? Math.min(one, other) : one || other;
}

// Both sides in one tree. A width is the sum of what changed at the ends of stacks below, growth
// and shrinking alike. With one model and look, pass one view.
export function buildDiffTree(
  before: View, allBefore: Float64Array, after: View, allAfter: Float64Array,
  options: TreeOptions,
): Tree {
  return atOnce(diffTreeInPieces(before, allBefore, after, allAfter, options));
}

export function* diffTreeInPieces(
  beforePart: View, allBefore: Float64Array, afterPart: View, allAfter: Float64Array,
  options: TreeOptions,
): Pieces<Tree> {
  const [before, after] = [beforePart.whole, afterPart.whole];
  const beforeWeights = weightsLeft(beforePart, allBefore);
  const afterWeights = weightsLeft(afterPart, allAfter);
  const reach = commonReach(before, after, options.inverted);
  const a = trieOf(after, options.inverted, options.byLine, reach);
  const b = trieOf(before, options.inverted, options.byLine, reach);
  if (a === b) {
    const skeleton = yield* ownInPieces(a);
    const sums = yield* bothSumsInPieces(skeleton, (i) => afterWeights[i],
      (i) => beforeWeights[i]);
    const part: Part = { view: after, trie: a, weights: [afterWeights, beforeWeights] };
    const teller = new StepTeller(skeleton, [part]);
    if (skeleton.more.length)
      yield* teller.prepare();
    return new Tree(skeleton, sums, teller);
  }
  const skeleton = yield* skeletonOf(a, b, () => {
    const names = joinNames(after.model, before.model, options.byLine);
    return jointInPieces([a, b], [names.after, names.before]);
  });
  const n = a.leaf.length; // sites of the one after come first
  const sums = yield* bothSumsInPieces(skeleton, (i) => (i < n ? afterWeights[i] : 0),
    (i) => (i < n ? 0 : beforeWeights[i - n]));
  const teller = new StepTeller(skeleton, [
    { view: after, trie: a, weights: [afterWeights] },
    { view: before, trie: b, weights: [beforeWeights] },
  ]);
  if (skeleton.more.length)
    yield* teller.prepare();
  return new Tree(skeleton, sums, teller);
}

// The names from below the root to a node, and the node they lead to (-1: there is none).
export function pathOf(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let n = node; n; n = tree.parent[n])
    path.push(tree.name[n]);
  return path.reverse();
}

export function findPath(tree: Tree, path: readonly number[]): number {
  let node = 0;
  for (const name of path) {
    const found = tree.children(node).find((child) => tree.name[child] === name);
    if (found === undefined)
      return -1;
    node = found;
  }
  return node;
}
