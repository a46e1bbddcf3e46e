// SPDX-License-Identifier: Apache-2.0
//
// Signals in components: a component that uses one is drawn again when its value changes. And
// values that are large and shown in one place alone.

import { computed, effect, type ReadonlySignal } from "@preact/signals-core";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

export function use<T>(source: ReadonlySignal<T>): T {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const seen = useRef<T>();
  const value = source.peek();
  seen.current = value;
  useLayoutEffect(
    () =>
      effect(() => {
        if (source.value !== seen.current) redraw(0);
      }),
    [source],
  );
  return value;
}

// A value that nobody watches any more stays until somebody reads it. This one is read then, where
// it has become nothing, as of a pane that was left: what it was is let go.
export function letGo<T>(make: () => T, isNothing = () => true): ReadonlySignal<T> {
  const read = () => {
    if (isNothing()) made.peek();
  };
  const made = computed(make, { unwatched: () => queueMicrotask(read) });
  return made;
}
