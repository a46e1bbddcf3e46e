// SPDX-License-Identifier: Apache-2.0
//
// Runs work in pieces (engine/pieces.ts) so that the page answers meanwhile: as many of them as fit
// into a few milliseconds, then whatever else waits, then the next.

import type { Pieces } from "../engine/pieces.ts";

const SLICE_MS = 10;

export interface Slices {
  end(): void; // nobody waits for it any more
}

export function inSlices<T>(
  work: Pieces<T>,
  done: (value: T) => void,
  failed: (error: unknown) => void = (error) => {
    throw error;
  },
): Slices {
  let isEnded = false;
  // Timers wait for 4 ms when they follow each other, messages do not.
  const { port1, port2 } = new MessageChannel();
  const close = () => {
    port1.onmessage = null;
    port1.close();
  };
  const run = () => {
    if (isEnded) return;
    const begin = performance.now();
    try {
      do {
        const { done: isDone, value } = work.next();
        if (!isDone) continue;
        close();
        done(value);
        return;
      } while (performance.now() - begin < SLICE_MS);
    } catch (error) {
      close();
      failed(error);
      return;
    }
    port2.postMessage(null);
  };
  port1.onmessage = run;
  port2.postMessage(null);
  return {
    end() {
      isEnded = true;
      close();
    },
  };
}
