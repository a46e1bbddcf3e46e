// SPDX-License-Identifier: Apache-2.0
//
// What the page shows is what was asked for, as soon as everything that it takes is made. Of a
// small model that is at once; of a large one it is made piece by piece, and until then what was
// shown before stays, in all its parts.

import { computed, signal, type ReadonlySignal } from "@preact/signals-core";
import type { Model } from "../engine/model.ts";
import type { Pieces } from "../engine/pieces.ts";
import { LARGE_NODES } from "./pictures.ts";
import { inSlices, type Slices } from "./slices.ts";
import { working } from "./workers.ts";

// The first answer of all comes at once: there is nothing to show instead.
export function settled<A extends { of: Model }>(
  asked: ReadonlySignal<A>,
  prepare: (asked: A) => Pieces<void>,
): ReadonlySignal<A> {
  const arrivals = signal(0);
  let shown: A | null = null;
  let making: { what: A; slices: Slices } | null = null;
  let made: A | null = null;
  const forget = () => {
    if (!making) return;
    making.slices.end();
    making = null;
    working.value--;
  };
  const make = (what: A) => {
    // Of a program that is recorded newer models come all the time: each is shown before the next.
    if (making && (making.what === what || making.what.of !== what.of)) return;
    forget();
    const arrive = () => {
      made = what;
      making = null;
      working.value--;
      arrivals.value++;
    };
    working.value++;
    making = { what, slices: inSlices(prepare(what), arrive, arrive) };
  };
  return computed(() => {
    void arrivals.value;
    const what = asked.value;
    const arrived = made;
    made = null;
    if (arrived && (arrived === what || arrived.of !== what.of)) shown = arrived;
    else if (!shown || what.of.nodes.count < LARGE_NODES) shown = what;
    queueMicrotask(() => (shown === what ? forget() : make(what)));
    return shown;
  });
}
