// SPDX-License-Identifier: Apache-2.0
//
// What is not needed at once: of a large model it is made when whatever else follows from a step
// is seen, and piece by piece, so that the page answers meanwhile. Only what is still asked for is
// made.

import { signal, type ReadonlySignal } from "@preact/signals-core";
import type { Model } from "../engine/model.ts";
import { atOnce, type Pieces } from "../engine/pieces.ts";
import { LARGE_NODES } from "./pictures.ts";
import { letGo } from "./signals.ts";
import { inSlices, type Slices } from "./slices.ts";
import { working } from "./workers.ts";

const DRAWN_MS = 30; // by then what went before is drawn

// null: nothing is asked for, or it is not made yet. What is kept stays until the next is made, as
// long as it is of the same model. canWait: for all else that is being made (slices.ts).
export function later<A extends { of: Model }, T>(
  asked: ReadonlySignal<A | null>,
  make: (asked: A) => Pieces<T>,
  { isKept = false, canWait = false, isSoon = false } = {},
): ReadonlySignal<T | null> {
  const arrivals = signal(0);
  let made: { asked: A; value: T } | null = null;
  let making: { asked: A; slices: Slices } | null = null;
  let isWaiting = false; // for what is about to be made, or is being made
  const end = () => {
    isWaiting = false;
    making = null;
    working.value--;
    arrivals.value++;
  };
  const stop = () => {
    if (!isWaiting || asked.peek()) return;
    making?.slices.end();
    making = null;
    isWaiting = false;
    working.value--;
  };
  const begin = () => {
    const what = asked.peek();
    if (!isWaiting || making) return;
    if (!what || made?.asked === what) return end();
    const done = (value: T) => {
      made = { asked: what, value };
      end();
    };
    making = { asked: what, slices: inSlices(make(what), done, end, canWait) };
  };
  const wait = () => {
    if (isWaiting && (!making || making.asked === asked.peek())) return;
    making?.slices.end();
    making = null;
    if (!isWaiting) working.value++;
    isWaiting = true;
    setTimeout(begin, isSoon ? 0 : DRAWN_MS);
  };
  return letGo(() => {
    void arrivals.value;
    const what = asked.value;
    if (!what) {
      queueMicrotask(stop);
      return (made = null);
    }
    if (made?.asked === what) return made.value;
    if (what.of.nodes.count < LARGE_NODES)
      return (made = { asked: what, value: atOnce(make(what)) }).value;
    queueMicrotask(wait);
    return isKept && made?.asked.of === what.of ? made.value : null;
  }, () => asked.peek() === null);
}
