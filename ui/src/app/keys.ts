// SPDX-License-Identifier: Apache-2.0
//
// Keys that work everywhere on the page but where text is being typed.

import { signal } from "@preact/signals-core";
import { timeOf } from "../engine/question.ts";
import { turnOrder } from "./graph.tsx";
import { clearRange, moment, toEnd, toLocalPeak, toPeak, zoomKey } from "./moments.ts";
import { model, pane, session } from "./session.ts";
import { go, panes, settle, state, turnLibrary } from "./state.ts";
import { nextTheme } from "./theme.ts";
import { nextMeasure, otherUnit, turnBlame } from "./toolbar.tsx";

export const isHelpOpen = signal(false);

export const keyWords: [string, string][] = [
  ["P", "to the peak"],
  ["E", "to the end"],
  ["[  ]", "to the peak before, to the next"],
  ["← →", "on the timeline: move the moment or an end of the range; with Page keys, by ten"],
  ["+  −", "the timeline from nearer, from further away; in the graph, that"],
  ["Shift ← →", "in the graph, come nearer to: move along"],
  ["Ctrl wheel", "over the graph: nearer, away; then drag, or Shift wheel: move along"],
  ["M", "next measure"],
  ["U", "bytes or blocks"],
  ["R", "show or hide runtime frames"],
  ["O", "rows lead with your own code, or with the libraries it called"],
  ["I", "invert: from the allocation outwards"],
  ["F", "flip: root below or above"],
  ["W", "boxes: heaviest first, or by name"],
  ["/", "search"],
  ["1 … 9, 0", "panes, in their order"],
  ["B", "compare with the moment selected; again: with nothing"],
  ["T", "light, dark or as the system is"],
  [
    "Esc",
    "take back, one by one: search, nearness, zoom, range, row, thread and class, whole libraries",
  ],
  ["?", "these keys"],
];

function escape(): void {
  const { library, search, zoom, above, below, from, to } = state.peek();
  const { row, thread, size, lifetime, span, spanAbove, spanBelow } = state.peek();
  const isZoomed = (pane.peek() === "callers" ? [...above, ...below] : zoom).length > 0;
  const spans = pane.peek() === "callers" ? [spanAbove, spanBelow] : [span];
  if (search) settle({ search: "" });
  else if (spans.some((one) => one !== null))
    settle(pane.peek() === "callers" ? { spanAbove: null, spanBelow: null } : { span: null });
  else if (isZoomed) go(pane.peek() === "callers" ? { above: [], below: [] } : { zoom: [] });
  else if (from !== null || to !== null) clearRange();
  else if ([row, thread, size, lifetime].some((one) => one !== null))
    go({ row: null, thread: null, size: null, lifetime: null });
  else if (library.length) go(turnLibrary(library.at(-1)!));
}

// The moment selected becomes what others are compared with.
function compare(): void {
  const { base, from } = state.peek();
  if (base !== "") {
    go({ base: "", pane: "overview" });
    return;
  }
  const here = from ?? (moment.peek() === null ? null : timeOf(model.peek(), moment.peek()!));
  if (here !== null) go({ base: here, pane: "diff", measure: "live", at: null });
}

const actions: Record<string, () => void> = {
  p: toPeak,
  e: toEnd,
  "[": () => toLocalPeak(-1),
  "]": () => toLocalPeak(1),
  m: nextMeasure,
  u: otherUnit,
  r: () => go({ runtime: !state.peek().runtime }),
  o: turnBlame,
  i: () => go({ invert: !state.peek().invert, zoom: [] }),
  w: turnOrder,
  f: () => go({ flip: !state.peek().flip }),
  "+": () => zoomKey(0.5),
  "-": () => zoomKey(2),
  b: compare,
  t: nextTheme,
  "/": () => document.getElementById("search")?.focus(),
  "?": () => (isHelpOpen.value = true),
  Escape: escape,
};

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("input:not([type=checkbox]), textarea, select");
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!session.peek() || isHelpOpen.peek()) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  const digit = /^[0-9]$/.test(event.key) ? (Number(event.key) + 9) % 10 : -1;
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (digit >= 0 && digit < panes.length) go({ pane: panes[digit] });
  else if (action) action();
  else return;
  event.preventDefault();
}

export function listenToKeys(): void {
  addEventListener("keydown", onKey);
}
