// SPDX-License-Identifier: Apache-2.0
//
// What a worker of the page is: it says that it is there, runs the errand it is given, and answers.
// Whoever started it ends it.

import { buffersOf, run, type Errand, type Said } from "./errands.ts";

const say = (said: Said, given: ArrayBuffer[] = []) =>
  (postMessage as (said: Said, given: ArrayBuffer[]) => void)(said, given);

addEventListener("message", async ({ data }: MessageEvent<Errand>) => {
  try {
    const answer = await run(data, (part) => say({ is: "at", part }));
    say({ is: "done", answer }, buffersOf(answer));
  } catch (error) {
    say({ is: "failed", why: error instanceof Error ? error.message : String(error) });
  }
});
say({ is: "ready" });
