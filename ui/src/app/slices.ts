// SPDX-License-Identifier: Apache-2.0
//
// Runs work in pieces (engine/pieces.ts) so that the page answers meanwhile: as many of them as fit
// into a few milliseconds, then whatever else waits, then the next. Of several works each has its
// turn, but for what can wait: that goes on when nothing else is at work. What comes of a work is
// told in a task of its own, since whoever hears of it draws.

import type { Pieces } from "../engine/pieces.ts";

const SLICE_MS = 10;

export interface Slices {
  end(): void; // nobody waits for it any more
}

let urgent = 0; // works that cannot wait
const resting: (() => void)[] = []; // what goes on when there are none

export function inSlices<T>(
  work: Pieces<T>,
  done: (value: T) => void,
  failed: (error: unknown) => void = (error) => {
    throw error;
  },
  canWait = false,
): Slices {
  let isEnded = false;
  if (!canWait) urgent++;
  // Timers wait for 4 ms when they follow each other, messages do not.
  const { port1, port2 } = new MessageChannel();
  const close = () => {
    if (isEnded) return;
    isEnded = true;
    port1.onmessage = null;
    port1.close();
    if (!canWait && --urgent === 0) for (const wake of resting.splice(0)) wake();
  };
  const goOn = () => port2.postMessage(null);
  let made: { value: T } | null = null;
  const run = () => {
    if (isEnded) return;
    if (made) {
      close();
      done(made.value);
      return;
    }
    if (canWait && urgent) {
      resting.push(goOn);
      return;
    }
    const begin = performance.now();
    try {
      do {
        const { done: isDone, value } = work.next();
        if (isDone) made = { value };
      } while (!made && performance.now() - begin < SLICE_MS);
    } catch (error) {
      close();
      failed(error);
      return;
    }
    goOn();
  };
  port1.onmessage = run;
  goOn();
  return { end: close };
}
