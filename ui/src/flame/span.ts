// SPDX-License-Identifier: Apache-2.0
//
// What of the width is seen: a part of what the graph is zoomed to, come nearer to by wheel or key
// and moved along. Kept as shares of that width, so that it stays where it is when numbers change.

import type { Range } from "./layout.ts";

// From 0 to 1. Where all is seen there is none: null.
export interface Span {
  from: number;
  to: number;
}

const ALL: Span = { from: 0, to: 1 };
// Of one press of a key.
export const ZOOM_STEP = 0.5;
export const PAN_STEP = 0.2; // of what is seen

const NARROWEST = 1e-6; // a millionth of the boxes: nearer there is nothing to see
const NEARLY_ALL = 0.999; // who goes away as far as they came sees all again

function placed(from: number, width: number): Span | null {
  if (width >= NEARLY_ALL) return null;
  const left = Math.min(1 - width, Math.max(0, from));
  return { from: left, to: left + width };
}

// Nearer to a point of what is seen (0: its left edge, 1: its right one), which stays where it is,
// or away from it.
export function nearer(span: Span | null, at: number, factor: number): Span | null {
  const { from, to } = span ?? ALL;
  const width = Math.max(NARROWEST, (to - from) * factor);
  return placed(from + at * (to - from - width), width);
}

// by: in widths of what is seen.
export function moved(span: Span | null, by: number): Span | null {
  if (!span) return null;
  const width = span.to - span.from;
  return placed(span.from + by * width, width);
}

// As little moved as it takes to see a box, or of a wider one nothing else. all: what is zoomed to.
export function reaching(span: Span | null, all: Range, box: Range): Span | null {
  if (!span) return null;
  const width = span.to - span.from;
  const [a, b] = [box.from, box.to].map((x) => (x - all.from) / (all.to - all.from));
  const [least, most] = [Math.min(a, b - width), Math.max(a, b - width)];
  return placed(Math.min(most, Math.max(least, span.from)), width);
}

export function rangeOfSpan(all: Range, span: Span | null): Range {
  if (!span) return all;
  const width = all.to - all.from;
  return { from: all.from + span.from * width, to: all.from + span.to * width };
}

const percent = (share: number) => String(Number((100 * share).toFixed(6)));

// "25-37.5", in percent.
export function spanText({ from, to }: Span): string {
  return `${percent(from)}-${percent(to)}`;
}

export function parseSpan(text: string): Span | null {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)-(\d{1,3}(?:\.\d{1,6})?)$/.exec(text);
  if (!match) return null;
  const [from, to] = [match[1], match[2]].map((part) => Number(part) / 100);
  return from < to && to <= 1 && to - from >= NARROWEST ? placed(from, to - from) : null;
}
