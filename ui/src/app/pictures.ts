// SPDX-License-Identifier: Apache-2.0
//
// Views of a model that are ready to be drawn. Of a small model any view is; of a large one it is
// asked for, and until it is here the picture before it stays.

import { effect, signal, type ReadonlySignal } from "@preact/signals-core";
import { keepFound, stacksOf, type Found, type Picture } from "../engine/errands.ts";
import { makeView, PATTERN_KINDS, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { forgetTrie, hasTrie, trieOf } from "../engine/trie.ts";
import { letGo } from "./signals.ts";
import { inSlices } from "./slices.ts";
import { Far, hasWorkers, send, working } from "./workers.ts";

export const LARGE_NODES = 20000; // from here on it takes longer than nobody notices
const KEPT_MAX = 4;
const KEPT_STEPS = 4_000_000; // of all together, some 40 bytes each

const kept = new WeakMap<Model, Map<string, Seen>>(); // by picture, the latest last
const onScreen = new Set<() => Seen | null>();

function keptOf(model: Model): Map<string, Seen> {
  const pictures = kept.get(model) ?? new Map<string, Seen>();
  kept.set(model, pictures);
  return pictures;
}

function stepsOf({ view, picture: { inverted, byLine } }: Seen): number {
  return hasTrie(view, inverted, byLine) ? trieOf(view, inverted, byLine).count : 0;
}

// What nobody looks at goes: the oldest of many, and then the largest, which may take as much room
// as all else together. What came with the model stays, as everybody comes back to it.
export function forgetSome(model: Model, most = KEPT_STEPS): void {
  const pictures = keptOf(model);
  const looked = [...onScreen].map((one) => one())
    .filter((one) => one?.view.model === model).map((one) => JSON.stringify(one!.picture));
  const left = [...pictures.keys()].slice(1).filter((key) => !looked.includes(key));
  const sizeOf = (key: string) => stepsOf(pictures.get(key)!);
  const sum = () => [...pictures.keys()].reduce((all, key) => all + sizeOf(key), 0);
  const forget = (key: string) => {
    const { view, picture: { inverted, byLine } } = pictures.get(key)!;
    forgetTrie(view, inverted, byLine);
    pictures.delete(key);
  };
  while (left.length && pictures.size > KEPT_MAX) forget(left.shift()!);
  left.sort((a, b) => sizeOf(b) - sizeOf(a));
  while (left.length && sum() > most) forget(left.shift()!);
}

// What was found of a picture elsewhere: from now on it is ready. Nothing: we find out ourselves.
export function receive(model: Model, picture: Picture, found: Found | null): void {
  const view = makeView(model, picture.look, found?.judged);
  if (found) keepFound(view, picture, found);
  keptOf(model).set(JSON.stringify(picture), { view, picture });
}

const SHOWN_MS = 100; // by then whoever shows the next one has begun with it

// Until that is shown the one before is.
function forgetLater(model: Model): void {
  const whenIdle = () => {
    const stop = effect(() => {
      if (working.value) return;
      forgetSome(model);
      queueMicrotask(() => stop());
    });
  };
  if (model.nodes.count >= LARGE_NODES) setTimeout(whenIdle, SHOWN_MS);
}

export interface Seen {
  view: View;
  picture: Picture;
}

// Views without patterns are made once, so one of these may have been drawn before.
function readyView(model: Model, picture: Picture): View | null {
  const { look, inverted, byLine } = picture;
  const known = keptOf(model).get(JSON.stringify(picture));
  if (known) return known.view;
  if (model.nodes.count < LARGE_NODES || !hasWorkers()) return makeView(model, look);
  if (look.row !== null || PATTERN_KINDS.some((kind) => look[kind].length)) return null;
  const view = makeView(model, look);
  return hasTrie(view, inverted, byLine) ? view : null;
}

// Pictures are made one after another where the page needs the only other processor for itself.
const AT_ONCE = Math.max(1, (globalThis.navigator?.hardwareConcurrency ?? 2) - 1);

let nRunning = 0;
const inLine: (() => void)[] = [];

// Returns what ends it, when it is made or nobody waits for it any more.
export function inTurn(begin: () => () => void): () => void {
  let stop: (() => void) | null = null;
  const go = () => {
    nRunning++;
    stop = begin();
  };
  if (nRunning < AT_ONCE) go();
  else inLine.push(go);
  let isEnded = false;
  return () => {
    if (isEnded) return;
    isEnded = true;
    if (!stop) {
      inLine.splice(inLine.indexOf(go), 1);
      return;
    }
    stop();
    nRunning--;
    inLine.shift()?.();
  };
}

interface Asking {
  key: string;
  model: Model;
  end(): void; // nobody waits for it any more
}

// What is wanted as soon as it is ready, and before that what was; null: nothing was, or is wanted.
// isTree: there is no table of it.
export function seen(
  model: ReadonlySignal<Model>,
  wanted: ReadonlySignal<Picture | null>,
  isTree = false,
): ReadonlySignal<Seen | null> {
  const arrivals = signal(0);
  let shown: Seen | null = null;
  let asked: Asking | null = null;
  onScreen.add(() => shown);
  const forget = () => {
    if (!asked) return;
    asked.end();
    asked = null;
    working.value--;
  };
  const ask = (of: Model, picture: Picture) => {
    const key = JSON.stringify(picture);
    if (asked?.key === key && asked.model === of) return;
    forget();
    const take = (found: Found | null) => {
      if (asked !== mine) return;
      far.tell(1);
      mine.end();
      receive(of, picture, found);
      asked = null;
      working.value--;
      arrivals.value++;
    };
    const far = new Far();
    const begin = () => {
      let stop = inSlices(stacksOf(of), (stacks) => {
        const running = send({ kind: "picture", of: { stacks, picture, isTree } }, far.tell);
        stop = running;
        running.answer.then(take, () => take(null));
      }, () => take(null), true);
      return () => stop.end();
    };
    const endTurn = inTurn(begin);
    const end = () => {
      endTurn();
      far.end();
    };
    const mine: Asking = { key, model: of, end };
    asked = mine;
    working.value++;
  };
  return letGo(() => {
    void arrivals.value;
    const of = model.value;
    const picture = wanted.value;
    if (!picture || shown?.view.model !== of) shown = null;
    if (!picture) {
      queueMicrotask(() => {
        forget();
        forgetLater(of);
      });
      return null;
    }
    if (shown?.picture === picture) return shown;
    const view = readyView(of, picture);
    if (view) shown = { view, picture };
    queueMicrotask(() => {
      if (!view) return ask(of, picture);
      forget();
      forgetLater(of);
    });
    return shown;
  }, () => wanted.peek() === null);
}
