// SPDX-License-Identifier: Apache-2.0
//
// Views of a model that are ready to be drawn. Of a small model any view is; of a large one it is
// asked for, and until it is here the picture before it stays.

import { computed, signal, type ReadonlySignal } from "@preact/signals-core";
import { keepFound, stacksOf, type Found, type Picture } from "../engine/errands.ts";
import { makeView, PATTERN_KINDS, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { hasTrie } from "../engine/trie.ts";
import { inSlices } from "./slices.ts";
import { hasWorkers, send, working } from "./workers.ts";

export const LARGE_NODES = 20000; // from here on it takes longer than nobody notices
const KEPT_MAX = 4;

const kept = new WeakMap<Model, Map<string, View>>(); // by picture, the latest last

function keptOf(model: Model): Map<string, View> {
  const views = kept.get(model) ?? new Map<string, View>();
  kept.set(model, views);
  return views;
}

// What was found of a picture elsewhere: from now on it is ready. Nothing: we find out ourselves.
export function receive(model: Model, picture: Picture, found: Found | null): void {
  const view = makeView(model, picture.look, found?.judged);
  if (found) keepFound(view, picture, found);
  const views = keptOf(model);
  views.set(JSON.stringify(picture), view);
  if (views.size > KEPT_MAX) views.delete(views.keys().next().value!);
}

export interface Seen {
  view: View;
  picture: Picture;
}

// Views without patterns are made once, so one of these may have been drawn before.
function readyView(model: Model, picture: Picture): View | null {
  const { look, inverted, byLine } = picture;
  const known = keptOf(model).get(JSON.stringify(picture));
  if (known) return known;
  if (model.nodes.count < LARGE_NODES || !hasWorkers()) return makeView(model, look);
  if (look.row !== null || PATTERN_KINDS.some((kind) => look[kind].length)) return null;
  const view = makeView(model, look);
  return hasTrie(view, inverted, byLine) ? view : null;
}

interface Asking {
  key: string;
  model: Model;
  end(): void; // nobody waits for it any more
}

// What is wanted as soon as it is ready, and before that what was; null: nothing was.
export function seen(
  model: ReadonlySignal<Model>,
  wanted: ReadonlySignal<Picture>,
): ReadonlySignal<Seen | null> {
  const arrivals = signal(0);
  let shown: Seen | null = null;
  let asked: Asking | null = null;
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
    const mine: Asking = { key, model: of, end: () => copying.end() };
    const take = (found: Found | null) => {
      if (asked !== mine) return;
      receive(of, picture, found);
      asked = null;
      working.value--;
      arrivals.value++;
    };
    const copying = inSlices(stacksOf(of), (stacks) => {
      const running = send({ kind: "picture", of: { stacks, picture } });
      mine.end = running.end;
      running.answer.then(take, () => take(null));
    }, () => take(null));
    asked = mine;
    working.value++;
  };
  return computed(() => {
    void arrivals.value;
    const of = model.value;
    const picture = wanted.value;
    if (shown?.view.model !== of) shown = null;
    if (shown?.picture === picture) return shown;
    const view = readyView(of, picture);
    if (view) shown = { view, picture };
    queueMicrotask(() => (view ? forget() : ask(of, picture)));
    return shown;
  });
}
