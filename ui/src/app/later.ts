// SPDX-License-Identifier: Apache-2.0
//
// What is not needed at once: of a large model it is made in a task of its own, so that whatever
// else follows from a step is seen, and the page answers, before. Only what is still asked for then
// is made.

import { computed, signal, type ReadonlySignal } from "@preact/signals-core";
import type { Model } from "../engine/model.ts";
import { LARGE_NODES } from "./pictures.ts";
import { working } from "./workers.ts";

const DRAWN_MS = 30; // by then what went before is drawn

// null: nothing is asked for, or it is not made yet.
export function later<A extends { of: Model }, T>(
  asked: ReadonlySignal<A | null>,
  make: (asked: A) => T,
): ReadonlySignal<T | null> {
  const arrivals = signal(0);
  let made: { asked: A; value: T } | null = null;
  let isWaiting = false;
  const makeNow = (what: A) => (made = { asked: what, value: make(what) }).value;
  const wait = () => {
    if (isWaiting) return;
    isWaiting = true;
    working.value++;
    setTimeout(() => {
      const what = asked.peek();
      try {
        if (what && made?.asked !== what) makeNow(what);
      } finally {
        isWaiting = false;
        working.value--;
      }
      arrivals.value++;
    }, DRAWN_MS);
  };
  return computed(() => {
    void arrivals.value;
    const what = asked.value;
    if (!what) return null;
    if (made?.asked === what) return made.value;
    if (what.of.nodes.count < LARGE_NODES) return makeNow(what);
    queueMicrotask(wait);
    return null;
  });
}
