// SPDX-License-Identifier: Apache-2.0
//
// What to paint of one row: boxes in whole device pixels. Neighbours narrower than a pixel become
// one box, so that a row costs at most about as many boxes as it has pixels, however many nodes are
// in it; they are skipped by galloping, not visited.
//
//  1. Boxes come from left to right and never overlap.
//  2. A node at least one pixel wide has a box of its own, at least one pixel wide.
//  3. A merged box covers its nodes and the gaps below a pixel between them, nothing else.

import type { Layout, Range } from "./layout.ts";

export class Boxes {
  count = 0;
  first: Uint32Array; // the first node
  past: Uint32Array; // the node after the last one
  x0: Int32Array; // device pixels
  x1: Int32Array;

  isMerged: Uint8Array; // narrower than a pixel, each of its nodes

  constructor(pixels: number) {
    const capacity = Math.max(1, pixels) + 1;
    this.first = new Uint32Array(capacity);
    this.past = new Uint32Array(capacity);
    this.x0 = new Int32Array(capacity);
    this.x1 = new Int32Array(capacity);
    this.isMerged = new Uint8Array(capacity);
  }

  // The boxes of a row that are in the range, the range being that many pixels wide; no more than
  // `limit` of them.
  fill(layout: Layout, row: number, range: Range, pixels: number, limit = Infinity): number {
    this.count = 0;
    const span = range.to - range.from;
    if (!(span > 0)) return 0;
    const scale = pixels / span;
    const end = layout.rowEnd(row);
    let node = layout.firstAfter(row, range.from);
    while (node < end && layout.left(node) < range.to && this.count < limit) {
      const isNarrow = (layout.right(node) - layout.left(node)) * scale < 1;
      const past = isNarrow ? pastNarrow(layout, node, end, range, scale) : node + 1;
      const x0 = Math.max(0, Math.round((layout.left(node) - range.from) * scale));
      const x1 = Math.min(pixels, Math.round((layout.right(past - 1) - range.from) * scale));
      if (x1 > x0) this.add(node, past, x0, x1, isNarrow); // else it is alone, and next to nothing
      node = past;
    }
    return this.count;
  }

  // Of its own, and no larger than it must be.
  copy(): Boxes {
    const made = new Boxes(0);
    made.count = this.count;
    made.first = this.first.slice(0, this.count);
    made.past = this.past.slice(0, this.count);
    made.x0 = this.x0.slice(0, this.count);
    made.x1 = this.x1.slice(0, this.count);
    made.isMerged = this.isMerged.slice(0, this.count);
    return made;
  }

  private add(first: number, past: number, x0: number, x1: number, isNarrow: boolean): void {
    const i = this.count++;
    this.first[i] = first;
    this.past[i] = past;
    this.x0[i] = x0;
    this.x1[i] = x1;
    this.isMerged[i] = isNarrow ? 1 : 0;
  }
}

// Where a run of narrow nodes ends: before the first wide one, the first that does not begin in the
// pixel where the last one ended, or the end of the range.
function pastNarrow(
  layout: Layout,
  node: number,
  end: number,
  range: Range,
  scale: number,
): number {
  let past = node + 1;
  for (;;) {
    const pixel = Math.round((layout.right(past - 1) - range.from) * scale);
    const limit = Math.min(range.to, range.from + (pixel + 0.5) / scale);
    let next = gallop(layout, past, end, limit);
    if (next === past) return past;
    // Whatever begins in one pixel is narrow, but for the last.
    const last = next - 1;
    if ((layout.right(last) - layout.left(last)) * scale >= 1) next = last;
    if (next === past || next === last) return next;
    past = next;
  }
}

// The first node from `from` on that begins at or after x.
function gallop(layout: Layout, from: number, end: number, x: number): number {
  let step = 1;
  let low = from;
  while (low < end && layout.left(low) < x) {
    from = low + 1;
    low += step;
    step *= 2;
  }
  let high = Math.min(low, end);
  while (from < high) {
    const middle = (from + high) >>> 1;
    if (layout.left(middle) < x) from = middle + 1;
    else high = middle;
  }
  return from;
}
