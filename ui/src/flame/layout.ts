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

export interface Shape {
  count: number;
  levels: Uint32Array; // where each depth begins, and past the last one `count`
  parent: Uint32Array;
  depth: Uint32Array;
  width: Float64Array;
}

export const NO_NODE = 0xffffffff;

export interface Range {
  from: number;
  to: number;
}

export class Layout {
  readonly left: Float64Array;
  readonly right: Float64Array;
  readonly nRows: number;
  readonly whole: Range;

  constructor(readonly shape: Shape) {
    const { count, levels, parent, width } = shape;
    this.left = new Float64Array(count);
    this.right = new Float64Array(count);
    this.nRows = Math.max(0, levels.length - 1);
    if (count > 0) this.right[0] = width[0];
    let up = 0; // the parent at work: children of one are neighbours
    let x = 0;
    for (let node = 1; node < count; node++) {
      if (parent[node] !== up || node === 1) {
        up = parent[node];
        x = this.left[up];
      }
      this.left[node] = x;
      this.right[node] = x += width[node];
    }
    this.whole = { from: 0, to: count > 0 ? width[0] : 0 };
  }

  hasBox(node: number): boolean {
    return this.right[node] > this.left[node];
  }

  rowOf(node: number): number {
    return this.shape.depth[node];
  }

  rowEnd(row: number): number {
    return this.shape.levels[row + 1];
  }

  // Of the row, the first node that ends to the right of x; the row's end if there is none.
  firstAfter(row: number, x: number): number {
    let low = this.shape.levels[row];
    let high = this.shape.levels[row + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.right[middle] > x) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The node whose box of that row is at x.
  nodeAt(row: number, x: number): number {
    if (row < 0 || row >= this.nRows) return NO_NODE;
    const node = this.firstAfter(row, x);
    return node < this.rowEnd(row) && this.left[node] <= x ? node : NO_NODE;
  }

  rangeOf(node: number): Range {
    return { from: this.left[node], to: this.right[node] };
  }

  isWithin(node: number, ancestor: number): boolean {
    let at = node;
    while (at > ancestor) at = this.shape.parent[at];
    return at === ancestor;
  }
}
