// SPDX-License-Identifier: Apache-2.0
//
// Signals in components: a component that uses one is drawn again when its value changes.

import { effect, type ReadonlySignal } from "@preact/signals-core";
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
