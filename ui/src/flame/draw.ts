// SPDX-License-Identifier: Apache-2.0
//
// What to paint of a scene: the rows that are in sight. What it costs goes by pixels and labels,
// not by nodes: other rows are not looked at, and boxes.ts merges what is narrower than a pixel.

import type { Boxes } from "./boxes.ts";
import type { Fitter } from "./fit.ts";
import type { Layout, Range } from "./layout.ts";
import { Style } from "./palette.ts";

// What the boxes mean. The layout knows where they are, this what they show.
export interface Meaning {
  style(node: number): number;
  labels(node: number): readonly string[];
  figure(node: number): string; // appended to a label that leaves room for it
  isJoined(node: number): boolean; // drawn without a border to its parent
  matchOf(first: number, past: number): number; // of a search: how much of these nodes' width
  readonly isSearched: boolean;
}

export interface Scene {
  layout: Layout;
  meaning: Meaning;
  range: Range; // what of the layout is seen
  zoomRow: number; // what is zoomed to, and the first row seen
  nRows: number;
  flipped: boolean; // the root below
}

// In device pixels.
export interface Window {
  width: number;
  height: number;
  top: number; // how far it is scrolled
  content: number; // height of all rows, at least that of the window
  row: number; // height of a row
  gap: number; // between boxes
}

type Placed = Pick<Scene, "flipped" | "zoomRow">;

export function rowTop({ flipped, zoomRow }: Placed, window: Window, row: number): number {
  const n = row - zoomRow;
  const y = flipped ? window.content - (n + 1) * window.row : n * window.row;
  return y - window.top;
}

export function rowAt({ flipped, zoomRow }: Placed, window: Window, y: number): number {
  const inside = y + window.top;
  return zoomRow + Math.floor((flipped ? window.content - 1 - inside : inside) / window.row);
}

// Where it is painted. Boxes first, all of them; then texts.
export interface Canvas {
  box(line: number, x0: number, x1: number, style: number, hasBorder: boolean): void;
  end(): void;
  text(text: string, x: number, y: number, style: number): void;
}

// The rows in sight; last < first: none.
export function rowsInSight(scene: Scene, window: Window): { first: number; last: number } {
  const edges = [rowAt(scene, window, 0), rowAt(scene, window, window.height - 1)];
  return {
    first: Math.max(scene.zoomRow, Math.min(...edges)),
    last: Math.min(scene.nRows - 1, Math.max(...edges)),
  };
}

// Lines count from above.
export function draw(
  canvas: Canvas,
  scene: Scene,
  window: Window,
  boxesOf: (row: number) => Boxes,
  fitter: Fitter,
): void {
  const { first, last } = rowsInSight(scene, window);
  const labels: Label[] = [];
  for (let row = first; row <= last; row++) {
    const boxes = boxesOf(row);
    const line = scene.flipped ? last - row : row - first;
    for (let i = 0; i < boxes.count; i++) paintBox(canvas, scene, window, boxes, i, row, line);
    gatherLabels(scene, window, boxes, row, labels);
  }
  canvas.end();
  for (const { node, x, y, room, style } of labels) {
    const text = labelText(scene.meaning, fitter, node, room);
    if (text !== "") canvas.text(text, x, y, style);
  }
}

function styleOf({ meaning }: Scene, boxes: Boxes, i: number): number {
  return boxes.isMerged[i] ? Style.many : meaning.style(boxes.first[i]);
}

function paintBox(
  canvas: Canvas,
  scene: Scene,
  { gap }: Window,
  boxes: Boxes,
  i: number,
  row: number,
  line: number,
): void {
  const x0 = boxes.x0[i];
  const x1 = boxes.x1[i];
  if (boxes.isMerged[i] && scene.meaning.isSearched) {
    paintSearched(canvas, scene, boxes, i, row, line);
    return;
  }
  const isWide = x1 - x0 > 3 * gap;
  const isJoined = isWide && !boxes.isMerged[i] && scene.meaning.isJoined(boxes.first[i]);
  canvas.box(line, x0, isWide ? x1 - gap : x1, styleOf(scene, boxes, i), !isJoined);
}

function styleOfMatch(part: number): number {
  return part <= 0 ? Style.many : part < 1 ? Style.someMatch : Style.match;
}

// Boxes too narrow to be told apart, pixel by pixel: whether all of what begins in one was searched
// for, some of it, or nothing. Neighbours that look the same are one box.
function paintSearched(
  canvas: Canvas,
  { layout, meaning, range }: Scene,
  { first, past, x0, x1 }: Boxes,
  i: number,
  row: number,
  line: number,
): void {
  const scale = (layout.right(past[i] - 1) - layout.left(first[i])) / (x1[i] - x0[i]);
  const left = Math.max(range.from, layout.left(first[i]));
  let begin = x0[i];
  let style = -1;
  for (let x = x0[i], node = first[i]; x < x1[i]; x++) {
    const next = Math.min(past[i], layout.firstAfter(row, left + (x + 1 - x0[i]) * scale, node));
    const end = x === x1[i] - 1 ? past[i] : Math.max(node + 1, next);
    const here = styleOfMatch(meaning.matchOf(Math.min(node, past[i] - 1), end));
    if (here !== style) {
      if (style >= 0) canvas.box(line, begin, x, style, true);
      begin = x;
      style = here;
    }
    node = Math.min(end, past[i] - 1);
  }
  canvas.box(line, begin, x1[i], style, true);
}

interface Label {
  node: number;
  x: number;
  y: number;
  room: number;
  style: number;
}

function gatherLabels(
  scene: Scene,
  window: Window,
  boxes: Boxes,
  row: number,
  labels: Label[],
): void {
  const padding = 4 * window.gap;
  const y = rowTop(scene, window, row) + window.row / 2;
  for (let i = 0; i < boxes.count; i++) {
    const room = boxes.x1[i] - boxes.x0[i] - 2 * padding;
    if (room < window.row || boxes.isMerged[i]) continue;
    const style = styleOf(scene, boxes, i);
    labels.push({ node: boxes.first[i], x: boxes.x0[i] + padding, y, room, style });
  }
}

function labelText(meaning: Meaning, fitter: Fitter, node: number, room: number): string {
  const text = fitter.fit(meaning.labels(node), room);
  if (text === "" || text.endsWith("…")) return text;
  const figure = `  ${meaning.figure(node)}`;
  const left = room - fitter.width(text);
  return fitter.width(figure, left) <= left ? text + figure : text;
}
