// SPDX-License-Identifier: Apache-2.0
//
// Keeps pace with a pointer: of what it asks for, the latest is done at most once per frame, and
// less often when doing it takes longer than a frame, so that the hand never waits for the numbers.
// Browsers tell of moves just before they draw: what is done at once is still seen in that frame.

export interface Pacer {
  (work: () => void): void;
  now(work: () => void): void; // forgets what was waiting
}

const IDLE_SHARE = 0.5; // of the time left to the browser when the work is slow

export function pacer(): Pacer {
  let waiting: (() => void) | null = null;
  let frame = 0;
  let freeAt = 0; // infinite while what was done is being drawn
  const run = () => {
    frame = 0;
    if (!waiting) return;
    if (performance.now() < freeAt) {
      frame = requestAnimationFrame(run);
      return;
    }
    const work = waiting;
    waiting = null;
    const begin = performance.now();
    freeAt = Infinity;
    // What the work has made others draw is over when the next task begins, even if it fails.
    setTimeout(() => {
      const cost = performance.now() - begin;
      freeAt = cost > 16 ? performance.now() + cost * IDLE_SHARE : begin + 16;
    });
    work();
  };
  const pace = (work: () => void) => {
    waiting = work;
    if (!frame) run();
  };
  pace.now = (work: () => void) => {
    cancelAnimationFrame(frame);
    frame = 0;
    waiting = null;
    work();
  };
  return pace;
}
