// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a tree say under a question: a node stands for several steps, which are of one
// name but may differ in line and depth of recursion, and only those count that a stack with any
// weight goes through. Found out node by node, since few of them are ever seen.

import type { View } from "./look.ts";
import { atOnce, type Pieces } from "./pieces.ts";
import { markInPieces, SEVERAL, type Skeleton } from "./skeleton.ts";
import type { Teller } from "./tree.ts";
import type { Trie } from "./trie.ts";

export interface Part { // one of the tries of a skeleton
  view: View;
  trie: Trie;
  weights: Float64Array[]; // any of which a stack may have
}

export class StepTeller implements Teller {
  private marks: Uint8Array[] | null = null; // per part, per step
  private readonly nFirst: number; // steps from this number on are of the second part

  constructor(private readonly skeleton: Skeleton, private readonly parts: Part[]) {
    this.nFirst = parts[0].trie.count;
  }

  frame(node: number): number {
    const step = this.stepOf(node);
    return this.parts[this.partOf(step)].trie.frame[this.indexOf(step)];
  }

  side(node: number): number {
    return this.parts.length > 1 ? this.partOf(this.stepOf(node)) : 0;
  }

  // Of the side that the frame is of.
  line(node: number): number {
    const { more } = this.skeleton;
    const first = this.stepOf(node);
    const part = this.partOf(first);
    const line = this.lineOf(first);
    const from = this.severalFrom(node);
    const past = from && from + more[from - 2];
    for (let k = from; line && k < past; k++)
      if (this.partOf(more[k]) === part && this.lineOf(more[k]) !== line && this.isOnWay(more[k]))
        return 0;
    return line;
  }

  deep(node: number): number {
    const { step, more } = this.skeleton;
    const from = this.severalFrom(node);
    if (!from)
      return this.deepOf(step[node]);
    const deepest = more[from - 1];
    const past = from + more[from - 2];
    let deep = 1;
    for (let k = from; deep < deepest && k < past; k++)
      if (this.deepOf(more[k]) > deep && this.isOnWay(more[k]))
        deep = this.deepOf(more[k]);
    return deep;
  }

  private deepOf(step: number): number {
    return this.parts[this.partOf(step)].trie.deep[this.indexOf(step)];
  }

  // Where the steps of a node are; 0: it has one.
  private severalFrom(node: number): number {
    const step = this.skeleton.step[node];
    return step < SEVERAL ? 0 : step - SEVERAL + 2;
  }

  // The one that stands for all: the first, of the first side if that has any.
  private stepOf(node: number): number {
    const from = this.severalFrom(node);
    return from ? this.firstOf(from) : this.skeleton.step[node];
  }

  private firstOf(from: number): number {
    const { more } = this.skeleton;
    const past = from + more[from - 2];
    let found = -1;
    for (let k = from; k < past; k++) {
      const step = more[k];
      if ((found >= 0 && this.partOf(step) > 0) || !this.isOnWay(step))
        continue;
      if (this.partOf(step) === 0)
        return step;
      found = step;
    }
    return found < 0 ? more[from] : found;
  }

  private partOf(step: number): number {
    return step < this.nFirst ? 0 : 1;
  }

  private indexOf(step: number): number {
    return step < this.nFirst ? step : step - this.nFirst + 1;
  }

  private lineOf(step: number): number {
    const { view, trie } = this.parts[this.partOf(step)];
    const i = this.indexOf(step);
    return trie.oneLine[i] ? view.model.frames.line[trie.frame[i]] : 0;
  }

  private isOnWay(step: number): boolean {
    const marks = this.marks ?? atOnce(this.prepare());
    return marks[this.partOf(step)][this.indexOf(step)] !== 0;
  }

  // Makes what nodes are told by that stand for several steps.
  *prepare(): Pieces<Uint8Array[]> {
    const marks: Uint8Array[] = [];
    for (const { trie, weights } of this.parts)
      marks.push(yield* markInPieces(trie.parent, trie.count, trie.leaf, weights));
    return (this.marks = marks);
  }
}
