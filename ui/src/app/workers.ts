// SPDX-License-Identifier: Apache-2.0
//
// Who runs the errands of engine/errands.ts: a worker that is started for one and ended after it,
// so that nothing is held twice once an answer is here, and what nobody waits for any more costs
// nothing. Where no worker can be had, this thread.
//
// A page from a file may start no script but itself: the worker's is a part of the page's own, as
// text (see build.mjs).

import { signal } from "@preact/signals-core";
import {
  buffersOf,
  run,
  type Answers,
  type Errand,
  type ErrandKind,
  type Said,
  type Told,
} from "../engine/errands.ts";
import type { Supply } from "../engine/unpack.ts";

declare const WORKER_SCRIPT: string | undefined;

// A worker that says nothing for so long was not allowed. On a busy machine one may need seconds,
// and to do its work here would keep the page from answering for far longer.
const START_MS = 20000;

export const working = signal(0); // errands that are being run for what is seen
export const percent = signal<number | null>(null); // of those that tell it; null: none does

const told = new Map<Far, number>(); // since one began to tell until all have ended

// How far an errand is, and all that tell it together. What was said is not taken back: more may
// have come since.
export class Far {
  private isEnded = false;

  constructor() {
    told.set(this, 0);
  }

  readonly tell = (part: number): void => {
    if (this.isEnded) return;
    told.set(this, part);
    const sum = [...told.values()].reduce((all, one) => all + one, 0);
    percent.value = Math.max(percent.value ?? 0, Math.floor((100 * sum) / told.size));
  };

  // Nobody waits for it any more, unless it has told that it is all done.
  end(): void {
    if (told.get(this) !== 1) told.delete(this);
    this.isEnded = true;
    if ([...told.keys()].some((one) => !one.isEnded)) return;
    told.clear();
    percent.value = null;
  }
}

export interface Running<A> {
  answer: Promise<A>;
  end(): void; // nobody waits for it any more: the answer never comes
}

let address: string | null | undefined; // of the worker's script; null: no workers

function scriptAddress(): string | null {
  if (typeof WORKER_SCRIPT === "undefined" || typeof Worker === "undefined") return null;
  return URL.createObjectURL(new Blob([WORKER_SCRIPT], { type: "text/javascript" }));
}

export function hasWorkers(): boolean {
  if (address === undefined) address = scriptAddress();
  return address !== null;
}

function started(): Worker | null {
  if (!hasWorkers()) return null;
  try {
    return new Worker(address!);
  } catch {
    address = null;
    return null;
  }
}

// `null` as an answer: the worker could not be started, and the errand is still ours.
function hire<K extends ErrandKind>(
  worker: Worker,
  errand: Errand<K>,
  tell: (part: number) => void,
  next: Supply["next"],
): Promise<Answers[K] | null> {
  return new Promise((resolve, reject) => {
    let isThere = false;
    const refuse = () => {
      if (!isThere) return resolve(null);
      reject(new Error("The browser ended the work on the capture: too little memory?"));
    };
    const patience = setTimeout(refuse, START_MS);
    worker.onerror = refuse;
    const give = (told: Told, given: ArrayBuffer[] = []) => worker.postMessage(told, given);
    worker.onmessage = async ({ data: said }: MessageEvent<Said>) => {
      if (said.is === "ready") {
        isThere = true;
        clearTimeout(patience);
        give({ errand }, buffersOf(errand));
      }
      if (said.is === "more") give({ pieces: await next() });
      if (said.is === "at") tell(said.part);
      if (said.is === "done") resolve(said.answer as Answers[K]);
      if (said.is === "failed") reject(new Error(said.why));
    };
  });
}

export function send<K extends ErrandKind>(
  errand: Errand<K>,
  tell: (part: number) => void = () => {},
  next: Supply["next"] = () => [],
): Running<Answers[K]> {
  const worker = started();
  let isEnded = false;
  const end = () => {
    worker?.terminate();
    isEnded = true;
  };
  const work = async () => {
    const hired = worker && hire(worker, errand, tell, next);
    const answer = await hired?.finally(() => worker!.terminate());
    if (answer) return answer;
    address = null; // not asked again
    return isEnded ? new Promise<never>(() => {}) : run(errand, tell, next);
  };
  return { answer: work(), end };
}
