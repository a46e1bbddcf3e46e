// SPDX-License-Identifier: Apache-2.0
//
// Paints the rows of a scene that are visible. What it costs goes by pixels and labels, not by
// nodes: rows out of sight are not looked at, and boxes.ts merges what is narrower than a pixel.

import type { Boxes } from "./boxes.ts";
import type { Fitter } from "./fit.ts";
import type { Layout, Range } from "./layout.ts";
import type { Palette } from "./palette.ts";
import { Style } from "./palette.ts";

// What the boxes mean. The layout knows where they are, this what they show.
export interface Meaning {
  style(node: number): number;
  labels(node: number): readonly string[];
  figure(node: number): string; // appended to a label that leaves room for it
  isJoined(node: number): boolean; // drawn without a border to its parent
  hasMatch(first: number, past: number): boolean; // among these nodes
}

export interface Scene {
  layout: Layout;
  meaning: Meaning;
  range: Range; // what of the layout is seen
  zoomRow: number; // rows before it lead to what is zoomed to
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

export function rowTop(scene: { flipped: boolean }, window: Window, row: number): number {
  const y = scene.flipped ? window.content - (row + 1) * window.row : row * window.row;
  return y - window.top;
}

export function rowAt(scene: { flipped: boolean }, window: Window, y: number): number {
  const inside = y + window.top;
  return Math.floor((scene.flipped ? window.content - 1 - inside : inside) / window.row);
}

export function draw(
  context: CanvasRenderingContext2D,
  scene: Scene,
  window: Window,
  palette: Palette,
  boxes: Boxes,
  fitter: Fitter,
): void {
  context.fillStyle = palette.background;
  context.fillRect(0, 0, window.width, window.height);
  context.textBaseline = "middle";
  context.direction = "ltr";
  const edges = [rowAt(scene, window, 0), rowAt(scene, window, window.height - 1)];
  const first = Math.max(0, Math.min(...edges));
  const last = Math.min(scene.nRows - 1, Math.max(...edges));
  const painter = new Painter(context, scene, window, palette, boxes, fitter);
  for (let row = first; row <= last; row++) painter.paintRow(row);
}

class Painter {
  private style = -1;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly scene: Scene,
    private readonly window: Window,
    private readonly palette: Palette,
    private readonly boxes: Boxes,
    private readonly fitter: Fitter,
  ) {}

  paintRow(row: number): void {
    const { boxes, scene, window } = this;
    const { layout, range } = scene;
    const n = boxes.fill(layout, row, range, window.width);
    const y = rowTop(scene, window, row);
    this.style = -1;
    for (let i = 0; i < n; i++) this.paintBox(i, row, y);
    this.style = -1;
    for (let i = 0; i < n; i++) this.paintLabel(i, row, y);
  }

  private styleOf(i: number, row: number): number {
    const { boxes, scene } = this;
    const { layout, meaning, range } = scene;
    if (boxes.isMerged(i, layout, range, this.window.width))
      return meaning.hasMatch(boxes.first[i], boxes.past[i]) ? Style.match : Style.many;
    return row < scene.zoomRow ? Style.dim : meaning.style(boxes.first[i]);
  }

  private paintBox(i: number, row: number, y: number): void {
    const { boxes, context, scene, window } = this;
    const style = this.styleOf(i, row);
    if (style !== this.style) context.fillStyle = this.palette.fills[(this.style = style)];
    const x = boxes.x0[i];
    const width = boxes.x1[i] - x;
    const isWide = width > 3 * window.gap;
    let top = scene.flipped ? y + window.gap : y;
    let height = window.row - window.gap;
    if (isWide && style !== Style.many && row > 0) {
      if (scene.meaning.isJoined(boxes.first[i])) {
        height += window.gap;
        if (!scene.flipped) top -= window.gap;
      }
    }
    context.fillRect(x, top, isWide ? width - window.gap : width, height);
  }

  private paintLabel(i: number, row: number, y: number): void {
    const { boxes, context, window } = this;
    const padding = 4 * window.gap;
    const x0 = boxes.x0[i];
    const room = boxes.x1[i] - x0 - 2 * padding;
    if (room < window.row) return;
    const node = boxes.first[i];
    const text = this.label(node, room);
    if (text === "") return;
    const style = this.styleOf(i, row);
    if (style !== this.style) context.fillStyle = this.palette.texts[(this.style = style)];
    context.fillText(text, x0 + padding, y + window.row / 2);
  }

  private label(node: number, room: number): string {
    const { meaning } = this.scene;
    const text = this.fitter.fit(meaning.labels(node), room);
    if (text === "" || text.endsWith("…")) return text;
    const figure = `  ${meaning.figure(node)}`;
    const left = room - this.fitter.width(text);
    return this.fitter.width(figure, left) <= left ? text + figure : text;
  }
}
