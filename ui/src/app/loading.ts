// SPDX-License-Identifier: Apache-2.0
//
// When what is loaded: at first, when the reader turns to another process or capture, and while a
// program is being recorded whenever the command has something new. What is selected stays; without
// a moment selected, the page follows the end.

import { effect } from "@preact/signals-core";
import type { Model } from "../engine/model.ts";
import { Gone, origin as findOrigin, type Origin, type PageFacts, type Wish } from "./load.ts";
import { failure, isBusy, progress, session, wantedPicture } from "./session.ts";
import { emptyState, noSelection, state, type State } from "./state.ts";
import { programName } from "./words.ts";

const POLL_MS = 1000;
// A command in the background serves as long as somebody asks; and a file may be replaced.
const IDLE_MS = 30000;

let latest = 0; // of the requests made; older answers are not wanted any more

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function captureOf({ captures }: PageFacts): number {
  const last = captures.length - 1;
  return Math.min(state.peek().capture ?? last, last);
}

// A link may be to another capture, or from before a file was replaced.
function hasProcess(facts: PageFacts): boolean {
  const { process } = state.peek();
  const { images } = facts.captures[captureOf(facts)];
  return process === null || images.some(({ index }) => index === process);
}

function noteOf(facts: PageFacts): string | null {
  const noted = facts.captures.find(({ note }) => note);
  if (noted) return `${noted.file}: ${noted.note}`;
  if (hasProcess(facts)) return null;
  const { file } = facts.captures[captureOf(facts)];
  return `There is no such process in ${file} as the address says; another one is shown.`;
}

const isPart = (model: Model | null) => model?.facts.pruned?.first === true;

// What is seen first does not tell small stacks apart: whoever has selected some waits for all.
function showsFirst(): boolean {
  const none = { ...emptyState(), ...noSelection() };
  const isNone = (key: string) =>
    JSON.stringify(state.peek()[key as keyof State]) === JSON.stringify(none[key as keyof State]);
  return !session.peek() && Object.keys(noSelection()).every(isNone);
}

async function load(from: Origin, facts: PageFacts): Promise<void> {
  const mine = ++latest;
  const capture = captureOf(facts);
  const process = hasProcess(facts) ? state.peek().process : null;
  const tell = (words: string) => {
    if (mine === latest) progress.value = words;
  };
  const read = (isFirst: boolean) => {
    const wish: Wish = { isFirst, picture: wantedPicture.peek(), tell };
    return Promise.all([
      from.model(capture, process, wish),
      facts.captures.length > 1 ? from.model(capture === 0 ? 1 : 0, null, wish) : null,
    ]);
  };
  isBusy.value = true;
  try {
    for (let isFirst = showsFirst(), isAll = false; !isAll; isFirst = false) {
      tell(""); // how far it was with what is shown by now
      const [model, other] = await read(isFirst);
      if (mine !== latest) return;
      isAll = !isFirst || !(isPart(model) || isPart(other));
      session.value = { origin: from, facts, capture, model, other };
      failure.value = noteOf(facts);
      document.title = `${programName(model.facts.image)}: Tidemark`;
    }
  } catch (error) {
    if (mine === latest) failure.value = wordsOf(error);
  } finally {
    if (mine === latest) isBusy.value = false;
    if (mine === latest) progress.value = "";
  }
}

async function poll(from: Origin): Promise<void> {
  const now = session.peek()?.facts;
  let wait = now?.live ? POLL_MS : IDLE_MS;
  try {
    const facts = await from.facts();
    if (facts.version !== now?.version || facts.live !== now.live) await load(from, facts);
    else if (failure.peek()) failure.value = noteOf(facts);
    if (facts.live) wait = POLL_MS;
  } catch (error) {
    failure.value = wordsOf(error);
    if (error instanceof Gone) wait *= 5;
  }
  setTimeout(() => void poll(from), wait);
}

export async function begin(): Promise<void> {
  const from = findOrigin();
  let shown = `${state.peek().capture} ${state.peek().process}`;
  effect(() => {
    const wanted = `${state.value.capture} ${state.value.process}`;
    const facts = session.peek()?.facts;
    if (wanted === shown || !facts) return;
    shown = wanted;
    void load(from, facts);
  });
  try {
    await load(from, await from.facts());
  } catch (error) {
    failure.value = wordsOf(error);
    isBusy.value = false;
    return;
  }
  if (!from.isFile) setTimeout(() => void poll(from), POLL_MS);
}
