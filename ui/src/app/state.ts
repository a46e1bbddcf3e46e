// SPDX-License-Identifier: Apache-2.0
//
// What the reader is looking at: one value, and the whole of it in the address, in words a person
// can read and change: #measure=live&at=6.13s&group=crate. What is as it is by default is left out,
// unknown keys are ignored, and a value that makes no sense is as if it were not there.
//
// Times are kept in nanoseconds since the start of the image, not as indexes of snapshots, so that
// a link means the same after snapshots were thinned out.

import { signal } from "@preact/signals-core";
import { classOf, classRange, LIFE_CLASS_LIVE, LIFE_CLASS_RESIZED } from "../engine/classes.ts";
import { CHANGES, type Change } from "../engine/diff.ts";
import { orders, type Order } from "../engine/order.ts";
import type { Choice } from "../engine/residence.ts";
import { colourings, type Colouring } from "../flame/names.ts";
import { parseSpan, spanText, type Span } from "../flame/span.ts";

export const measures = ["peak", "live", "total", "grown", "leak", "temp"] as const;
export type MeasureWord = (typeof measures)[number];

export const panes = [
  "overview",
  "graph",
  "table",
  "tree",
  "callers",
  "sizes",
  "leaks",
  "threads",
  "source",
  "diff",
  "memory",
  "processes",
  "about",
] as const;
export type Pane = (typeof panes)[number];

export const groupKinds = [
  "place",
  "function",
  "file",
  "crate",
  "module",
  "thread",
  "size",
  "lifetime",
  "call",
  "stack",
] as const;
export type GroupWord = (typeof groupKinds)[number];

// Kinds of filters that take a pattern; the words are those of the command line.
export const filterKinds = [
  "focus",
  "hide",
  "function",
  "file",
  "module",
  "ignore",
  "callers",
  "callees",
] as const;
export type FilterKind = (typeof filterKinds)[number];

export interface State {
  pane: Pane | null; // null: the first one, or with two captures the comparison
  measure: MeasureWord | null; // null: the first that the capture holds of peak, live and total
  unit: "bytes" | "blocks";
  at: number | null; // of live: a moment; null: the end
  table: Choice | null; // of resident memory; null: that of the moment, else the command's choice
  from: number | null; // a part of the run
  to: number | null;
  left: number | null; // of the timeline: what of it is seen
  right: number | null;
  edge: "from" | "to"; // of live in a part of the run: at which end
  group: GroupWord;
  sort: string | null; // a column of the table; null: the measure asked for
  up: boolean; // sorted with the least first
  filters: Record<FilterKind, string[]>;
  blame: "own" | "library" | null; // whom rows lead with; null: as the capture was opened
  runtime: boolean; // show runtime frames, too
  library: string[]; // shown as one frame each (engine/libraries.ts)
  collapse: boolean; // neighbouring repetitions of a function are one node
  lines: boolean; // lines of a function are nodes of their own
  invert: boolean;
  flip: boolean; // root below
  order: Order; // of boxes beside each other
  rss: boolean; // on the timeline
  who: boolean; // on the timeline, who held it
  colour: Colouring; // of boxes: what has one of its own
  zoom: string[];
  span: Span | null; // what of its width is seen; null: all
  row: string | null; // of a table: only its stacks (engine/rows.ts)
  thread: string | null; // only what is known to be its (engine/narrow.ts)
  size: number | null; // likewise of classes (engine/classes.ts)
  lifetime: number | null;
  search: string;
  callee: string; // whose callers and callees are shown
  above: string[]; // zoom among its callers
  spanAbove: Span | null;
  below: string[]; // and among its callees
  spanBelow: Span | null;
  source: string; // path of the file shown
  base: "" | "capture" | number; // compared with: nothing, the other capture, a moment
  versus: string | null; // a thread that the one selected is compared with
  suppress: string[]; // of leaks: functions whose are meant to be there
  change: Change | null; // of a comparison: only what changed like this
  capture: number | null; // which of two
  process: number | null;
  theme: "system" | "light" | "dark";
}

export function emptyState(): State {
  const filters = {} as Record<FilterKind, string[]>;
  for (const kind of filterKinds) filters[kind] = [];
  return {
    pane: null,
    measure: null,
    unit: "bytes",
    at: null,
    table: null,
    from: null,
    to: null,
    left: null,
    right: null,
    edge: "to",
    group: "place",
    sort: null,
    up: false,
    filters,
    blame: null,
    runtime: false,
    library: [],
    collapse: true,
    lines: false,
    invert: false,
    flip: false,
    order: "name",
    rss: true,
    who: true,
    colour: "crate",
    zoom: [],
    span: null,
    row: null,
    thread: null,
    size: null,
    lifetime: null,
    search: "",
    callee: "",
    above: [],
    spanAbove: null,
    below: [],
    spanBelow: null,
    source: "",
    base: "",
    versus: null,
    suppress: [],
    change: null,
    capture: null,
    process: null,
    theme: "system",
  };
}

// "6.13s", exact to the nanosecond.
export function timeText(ns: number): string {
  const whole = Math.floor(ns / 1e9);
  const rest = String(Math.round(ns - whole * 1e9))
    .padStart(9, "0")
    .replace(/0+$/, "");
  return rest ? `${whole}.${rest}s` : `${whole}s`;
}

const timeUnits: Record<string, number> = { "": 1e9, s: 1e9, ms: 1e6, us: 1e3, ns: 1, min: 6e10 };

export function parseTime(text: string): number | null {
  const match = /^(\d{1,12}(?:\.\d{1,9})?)(s|ms|us|ns|min|)$/.exec(text);
  return match ? Math.round(Number(match[1]) * timeUnits[match[2]]) : null;
}

function oneOf<T extends string>(words: readonly T[], text: string): T | null {
  return (words as readonly string[]).includes(text) ? (text as T) : null;
}

function parseIndex(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

// Classes by the least they have, and those of no time by a word.
const lifeWords: Record<string, number> = { kept: LIFE_CLASS_LIVE, resized: LIFE_CLASS_RESIZED };

function parseLifetime(text: string): number | null {
  if (Object.hasOwn(lifeWords, text)) return lifeWords[text];
  const ns = parseTime(text);
  return ns === null ? null : classOf("lifetime", ns);
}

function classText(kind: "size" | "lifetime", number: number): string {
  const word = Object.keys(lifeWords).find((one) => lifeWords[one] === number);
  if (kind === "lifetime" && word) return word;
  const { least } = classRange(kind, number);
  return kind === "size" ? String(least ?? 0) : timeText(least ?? 0);
}

type Reader = (state: State, text: string) => void;

type Flag = "up" | "runtime" | "collapse" | "lines" | "invert" | "flip" | "rss" | "who";

function flag(key: Flag): Reader {
  return (state, text) => {
    state[key] = text !== "0";
  };
}

type Time = "at" | "from" | "to" | "left" | "right";

function time(key: Time): Reader {
  return (state, text) => {
    state[key] = parseTime(text);
  };
}

const readers: Record<string, Reader> = {
  pane: (s, text) => (s.pane = oneOf(panes, text)),
  measure: (s, text) => (s.measure = oneOf(measures, text)),
  unit: (s, text) => (s.unit = text === "blocks" ? "blocks" : "bytes"),
  at: time("at"),
  table: (s, text) => (s.table = oneOf(["rss", "peak"] as const, text) ?? parseTime(text)),
  from: time("from"),
  to: time("to"),
  left: time("left"),
  right: time("right"),
  edge: (s, text) => (s.edge = text === "from" ? "from" : "to"),
  group: (s, text) => (s.group = oneOf(groupKinds, text) ?? s.group),
  sort: (s, text) => (s.sort = text || null),
  up: flag("up"),
  blame: (s, text) => (s.blame = oneOf(["own", "library"] as const, text)),
  runtime: flag("runtime"),
  library: (s, text) => {
    if (text && !s.library.includes(text)) s.library.push(text);
  },
  collapse: flag("collapse"),
  lines: flag("lines"),
  invert: flag("invert"),
  flip: flag("flip"),
  order: (s, text) => (s.order = oneOf(orders, text) ?? "name"),
  rss: flag("rss"),
  who: flag("who"),
  colour: (s, text) => (s.colour = oneOf(colourings, text) ?? "crate"),
  zoom: (s, text) => s.zoom.push(text),
  span: (s, text) => (s.span = parseSpan(text)),
  above: (s, text) => s.above.push(text),
  spanAbove: (s, text) => (s.spanAbove = parseSpan(text)),
  below: (s, text) => s.below.push(text),
  spanBelow: (s, text) => (s.spanBelow = parseSpan(text)),
  row: (s, text) => (s.row = text || null),
  thread: (s, text) => (s.thread = text || null),
  size: (s, text) => {
    s.size = /^\d{1,12}$/.test(text) ? classOf("size", Number(text)) : null;
  },
  lifetime: (s, text) => (s.lifetime = parseLifetime(text)),
  search: (s, text) => (s.search = text),
  callee: (s, text) => (s.callee = text),
  source: (s, text) => (s.source = text),
  base: (s, text) => (s.base = text === "capture" ? "capture" : (parseTime(text) ?? "")),
  versus: (s, text) => (s.versus = text || null),
  suppress: (s, text) => s.suppress.push(text),
  change: (s, text) => (s.change = oneOf(CHANGES, text)),
  capture: (s, text) => (s.capture = parseIndex(text)),
  process: (s, text) => (s.process = parseIndex(text)),
  theme: (s, text) => (s.theme = oneOf(["light", "dark"] as const, text) ?? "system"),
};

export function parseState(hash: string): State {
  const state = emptyState();
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const kind = oneOf(filterKinds, key);
    if (kind) {
      if (text) state.filters[kind].push(text);
    } else if (Object.hasOwn(readers, key)) readers[key](state, text);
  }
  if (state.from !== null && state.to !== null && state.from > state.to)
    [state.from, state.to] = [state.to, state.from];
  return state;
}

// Only what would be taken apart or lost is escaped; names stay readable.
function escape(text: string): string {
  return text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replace(/[%&#+=\s\0-\x1f"<>`{}\\^|\u{7f}-\u{10ffff}]/gu, encodeURIComponent);
}

export function formatState(state: State): string {
  const none = emptyState();
  const parts: string[] = [];
  const add = (key: string, text: string) => parts.push(`${key}=${escape(text)}`);
  for (const key of Object.keys(readers) as (keyof State)[]) {
    const value = state[key];
    if (["zoom", "above", "below", "suppress", "library"].includes(key))
      for (const name of value as string[]) add(key, name);
    else if (value === null || value === none[key]) continue;
    else if (["at", "from", "to", "left", "right"].includes(key))
      add(key, timeText(value as number));
    else if (key === "span" || key === "spanAbove" || key === "spanBelow")
      add(key, spanText(value as Span));
    else if (key === "table") add(key, typeof value === "number" ? timeText(value) : String(value));
    else if (key === "size" || key === "lifetime") add(key, classText(key, value as number));
    else if (key === "base") add(key, value === "capture" ? value : timeText(value as number));
    else add(key, typeof value === "boolean" ? String(Number(value)) : String(value));
  }
  for (const kind of filterKinds) for (const pattern of state.filters[kind]) add(kind, pattern);
  return parts.join("&");
}

export const state = signal<State>(emptyState());

function write(how: "push" | "replace"): void {
  const text = formatState(state.peek());
  if (text === location.hash.replace(/^#/, "")) return;
  const address = text ? `#${text}` : location.pathname + location.search;
  try {
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // Too long or too often for this browser: the page goes on, the address stays behind.
  }
}

// What is zoomed to anew is seen in full.
const spansOf = { zoom: "span", above: "spanAbove", below: "spanBelow" } as const;
export type SpanKey = (typeof spansOf)[keyof typeof spansOf];

// One of many moves on the way to a step.
export function slide(change: Partial<State>): void {
  const next = { ...state.peek(), ...change };
  for (const zoom of Object.keys(spansOf) as (keyof typeof spansOf)[])
    if (zoom in change && !(spansOf[zoom] in change)) next[spansOf[zoom]] = null;
  state.value = next;
}

// A step the reader can take back.
export function go(change: Partial<State>): void {
  slide(change);
  write("push");
}

// Changed in place: not worth a step of its own.
export function settle(change: Partial<State>): void {
  slide(change);
  write("replace");
}

const REST_MS = 200;
let resting: ReturnType<typeof setTimeout> | undefined;

// Many moves a second are more than browsers let into the address: it has them once they rest.
export function moveSpan(key: SpanKey, span: Span | null): void {
  slide({ [key]: span });
  clearTimeout(resting);
  resting = setTimeout(() => settle({}), REST_MS);
}

export function followAddress(): void {
  const read = () => {
    state.value = parseState(location.hash);
  };
  read();
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}

// Filters.

// What stands between the capture and what is shown, all of it taken away.
export function noSelection(): Partial<State> {
  const none = emptyState();
  const { filters, row, thread, size, lifetime, zoom, search, collapse, lines, library } = none;
  return { filters, row, thread, size, lifetime, zoom, search, collapse, lines, library };
}

export function addFilter(kind: FilterKind, pattern: string): Partial<State> {
  const { filters } = state.peek();
  if (!pattern || filters[kind].includes(pattern)) return {};
  return { filters: { ...filters, [kind]: [...filters[kind], pattern] }, zoom: [] };
}

export function dropFilter(kind: FilterKind, pattern: string): Partial<State> {
  const { filters } = state.peek();
  return { filters: { ...filters, [kind]: filters[kind].filter((text) => text !== pattern) } };
}

// Seen as one frame, or again frame by frame.
export function turnLibrary(one: string): Partial<State> {
  const { library } = state.peek();
  const without = library.filter((other) => other !== one);
  return { library: without.length < library.length ? without : [...library, one], zoom: [] };
}
