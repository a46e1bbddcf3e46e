// SPDX-License-Identifier: Apache-2.0
//
// Where the boxes of a tree are, before anybody asks how large the picture is. A box is measured in
// the tree's own unit (bytes or blocks), from 0 to the width of the root; a picture shows a range
// of that. The tree has its nodes level by level, so a row is a range of nodes from left to right,
// and what is visible of it, and what is under the pointer, is found by binary search.
//
//  1. Children begin where their parent begins, side by side in the tree's order; what the parent
//     has of its own is the free space at the right.
//  2. Boxes of a row never overlap. Nodes without width have no box.
//
// The tree holds its stacks in that order: edges are sums it has already, and nothing is computed
// for what is not looked at.

import type { Tree } from "../engine/tree.ts";

export const NO_NODE = 0xffffffff;

export interface Range {
  from: number;
  to: number;
}

export class Layout {
  readonly nRows: number;
  readonly whole: Range;
  private readonly edges: Float64Array;
  private readonly first: Uint32Array;
  private readonly past: Uint32Array;

  constructor(readonly tree: Tree) {
    this.edges = tree.sums.width;
    this.first = tree.skeleton.first;
    this.past = tree.skeleton.past;
    this.nRows = tree.levels.length - 1;
    this.whole = { from: 0, to: tree.width(0) };
  }

  left(node: number): number {
    return this.edges[this.first[node]];
  }

  right(node: number): number {
    return this.edges[this.past[node]];
  }

  hasBox(node: number): boolean {
    return this.right(node) > this.left(node);
  }

  rowOf(node: number): number {
    return this.tree.depth(node);
  }

  rowEnd(row: number): number {
    return this.tree.levels[row + 1];
  }

  // Of the row, the first node that ends to the right of x; the row's end if there is none.
  // From `low` on, which is no further than it: most often it is near.
  firstAfter(row: number, x: number, low = this.tree.levels[row]): number {
    let high = this.tree.levels[row + 1];
    for (let step = 1; low + step < high; step *= 2)
      if (this.right(low + step) > x) high = low + step;
      else low += step + 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.right(middle) > x) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The node whose box of that row is at x.
  nodeAt(row: number, x: number): number {
    if (row < 0 || row >= this.nRows) return NO_NODE;
    const node = this.firstAfter(row, x);
    return node < this.rowEnd(row) && this.left(node) <= x ? node : NO_NODE;
  }

  rangeOf(node: number): Range {
    return { from: this.left(node), to: this.right(node) };
  }

  isWithin(node: number, ancestor: number): boolean {
    let at = node;
    while (at > ancestor) at = this.tree.parent[at];
    return at === ancestor;
  }
}
