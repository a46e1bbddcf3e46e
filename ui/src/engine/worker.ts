// SPDX-License-Identifier: Apache-2.0
//
// What a worker of the page is: it says that it is there, runs the errand it is given, asks for
// what belongs to it piece by piece, and answers.
// Whoever started it ends it.

import { buffersOf, run, type Said, type Told } from "./errands.ts";

const say = (said: Said, given: ArrayBuffer[] = []) =>
  (postMessage as (said: Said, given: ArrayBuffer[]) => void)(said, given);

let take: (pieces: string[]) => void = () => {};

function next(): Promise<string[]> {
  say({ is: "more" });
  return new Promise((done) => (take = done));
}

addEventListener("message", async ({ data }: MessageEvent<Told>) => {
  if ("pieces" in data) {
    take(data.pieces);
    return;
  }
  try {
    const answer = await run(data.errand, (part) => say({ is: "at", part }), next);
    say({ is: "done", answer }, buffersOf(answer));
  } catch (error) {
    say({ is: "failed", why: error instanceof Error ? error.message : String(error) });
  }
});
say({ is: "ready" });
