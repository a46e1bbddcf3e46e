// SPDX-License-Identifier: Apache-2.0
//
// Which sites the cells of snapshots are of. They rise within a snapshot, so that steps from each
// to the next fit into a byte or two where the sites themselves take four. The steps stay as the
// block has them; sites are worked out stretch by stretch, from the last place where one is known.

import { PIECE, stretches, type Pieces } from "./pieces.ts";

type Steps = Uint8Array | Uint16Array | Uint32Array;

// Of some neighbouring cells, from 0 on. What lies beyond them means nothing, and the array is
// overwritten when others are asked for.
type Work = (site: Uint32Array, from: number, past: number) => void;

const EVERY = 1 << 10; // cells from one known place to the next

let room = new Uint32Array(0); // for what is worked out last

export class CellSites {
  readonly length: number;

  // end: per snapshot, where its cells end. known: per EVERY cells, the site of the last one
  // before, or where the cells of a snapshot begin there -1, as 32 bits.
  constructor(
    private readonly step: Steps, private readonly end: Uint32Array,
    readonly known: Uint32Array,
  ) {
    this.length = step.length;
  }

  // Does some work on cells, a stretch at a time.
  over(from: number, past: number, work: Work): void {
    for (let at = from; at < past; at += PIECE)
      work(this.between(at, Math.min(past, at + PIECE)), at, Math.min(past, at + PIECE));
  }

  overInPieces(from: number, past: number, work: Work): Pieces<void> {
    return stretches(Math.max(0, past - from), (first, end) =>
      work(this.between(from + first, from + end), from + first, from + end));
  }

  private between(from: number, past: number): Uint32Array {
    const { step, end } = this;
    if (room.length < past - from)
      room = new Uint32Array(Math.max(PIECE, past - from));
    const begin = from - from % EVERY;
    let s = snapshotOf(end, begin);
    for (let i = begin, site = this.known[begin / EVERY] | 0; i < past; s++) {
      const stop = Math.min(end[s], past);
      for (; i < stop; i++) {
        site = site < 0 ? step[i] : site + step[i];
        if (i >= from)
          room[i - from] = site;
      }
      site = -1;
    }
    return room;
  }
}

// Whose cells those from `cell` on are.
function snapshotOf(end: Uint32Array, cell: number): number {
  let low = 0;
  for (let high = end.length; low < high;) {
    const middle = (low + high) >> 1;
    if (end[middle] <= cell)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// What is known of the sites at a few places; `refuse` hears of the first that there cannot be.
export function knownSites(
  step: ArrayLike<number>, end: Uint32Array, nSites: number,
  refuse: (site: number, before: number) => never,
): Uint32Array {
  const known = new Uint32Array(Math.ceil(step.length / EVERY));
  for (let s = 0, i = 0; s < end.length; s++)
    for (let at = -1; i < end[s]; i++) {
      if (i % EVERY === 0)
        known[i / EVERY] = at;
      const next = at < 0 ? step[i] : at + step[i];
      if (!(next > at && next < nSites))
        refuse(next, at);
      at = next;
    }
  return known;
}
