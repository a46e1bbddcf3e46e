// SPDX-License-Identifier: Apache-2.0
//
// A block that was decoded, without what nobody needs any more: columns that something else was
// made of, which is known from then on, and all but one of those that hold nothing but 0. Of a
// million stacks that is a fifth of it.

import { ELEMENT_BYTES, type Known, type Place } from "./decode.ts";

const MADE_OF: Record<string, string> = { node_up: "node_parent", hist_site: "hist_first" };

interface Shrinks { transfer?(length: number): ArrayBuffer }

const sizeOf = ({ type, count }: Place) => count * ELEMENT_BYTES[type];
const upTo8 = (n: number) => (n + 7) & ~7;

// Columns lie one after another; in a block that somebody else wrote they may not.
function areApart(places: Place[], first: number): boolean {
  let end = first;
  for (const place of places) {
    if (place.offset < end)
      return false;
    end = place.offset + sizeOf(place);
  }
  return true;
}

// What is left moves together within the block, which is then cut off: nobody may look at views of
// the block as it was.
export function compacted(
  block: ArrayBuffer, places: Record<string, Place>, { made }: Known,
): { block: ArrayBuffer; known: Known } {
  const bytes = new Uint8Array(block);
  const needed = Object.entries(places).filter(([name]) => !(name in made || MADE_OF[name] in made))
    .sort(([, a], [, b]) => a.offset - b.offset);
  let end = 12 + new DataView(block).getUint32(8, true);
  if (!areApart(needed.map(([, place]) => place), end))
    return { block, known: { made, places: null } };
  const moved: Record<string, Place> = {};
  let zeros: Place | null = null; // a column of nothing else
  for (const [name, place] of needed) {
    const past = place.offset + sizeOf(place);
    const isNothing = place.type === "u8" && place.count > 0 &&
      bytes.subarray(place.offset, past).every((n) => n === 0);
    if (isNothing && zeros && zeros.count >= place.count) {
      moved[name] = { ...place, offset: zeros.offset };
      continue;
    }
    bytes.copyWithin(end, place.offset, past);
    moved[name] = { ...place, offset: end };
    end = upTo8(end + sizeOf(place));
    if (isNothing)
      zeros = moved[name];
  }
  const size = Math.min(end, block.byteLength);
  const cut = (block as Shrinks).transfer?.(size) ?? block.slice(0, size);
  return { block: cut, known: { made, places: moved } };
}
