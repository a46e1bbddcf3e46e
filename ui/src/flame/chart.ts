// SPDX-License-Identifier: Apache-2.0
//
// The canvas: knows its size in pixels, what of the layout it shows, and what is under a point. It
// hears no events and keeps no timers; whoever owns it says when to draw.

import { Boxes } from "./boxes.ts";
import { draw, rowAt, rowsInSight, rowTop } from "./draw.ts";
import type { Meaning, Scene, Window } from "./draw.ts";
import { Fitter } from "./fit.ts";
import type { Layout, Range } from "./layout.ts";
import { type Palette, readPalette } from "./palette.ts";
import { rangeOfSpan, type Span } from "./span.ts";
import { Surface } from "./surface.ts";

export const ROW_HEIGHT = 20; // CSS pixels
const FONT_SIZE = 12;

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

// What is under a point: a node or, where boxes are too narrow to be told apart, several.
export interface Hit {
  node: number;
  nMerged: number; // 1: the node alone
  amount: number; // width of all that are merged
}

export class Chart {
  private readonly context: CanvasRenderingContext2D;
  private readonly surface: Surface;
  private boxes = new Boxes(1); // to count in
  private rows: (Boxes | undefined)[] = []; // of the scene, once seen: scrolling finds them here
  private fitter: Fitter | null = null;
  private palette: Palette | null = null;
  private scene: Scene | null = null;
  private width = 0; // CSS pixels
  private height = 0;
  private ratio = 1;
  private top = 0;
  zoom = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser has no 2D canvas");
    this.context = context;
    this.surface = new Surface(context);
  }

  show(layout: Layout, meaning: Meaning, zoom: number, span: Span | null, flipped: boolean): void {
    this.zoom = zoom < layout.tree.count && layout.hasBox(zoom) ? zoom : 0;
    const range = rangeOfSpan(layout.rangeOf(this.zoom), span);
    const zoomRow = layout.rowOf(this.zoom);
    this.scene = { layout, meaning, range, zoomRow, nRows: 0, flipped };
    this.rows = [];
    this.countRows();
  }

  // The same boxes, another part of their width.
  look(span: Span | null): void {
    if (!this.scene) return;
    this.scene.range = rangeOfSpan(this.scene.layout.rangeOf(this.zoom), span);
    this.rows = [];
    this.countRows();
  }

  isOf(width: number, height: number, ratio: number): boolean {
    return this.width === width && this.height === height && this.ratio === ratio;
  }

  // In CSS pixels, ratio of them to a device pixel.
  resize(width: number, height: number, ratio: number): void {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    const pixels = Math.max(1, Math.round(width * ratio));
    this.canvas.width = pixels;
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.boxes = new Boxes(pixels);
    this.rows = [];
    this.restyle();
    this.countRows();
  }

  // Colours and fonts may be others than they were.
  restyle(): void {
    this.palette = null;
    this.fitter = null;
  }

  scrollTo(top: number): void {
    this.top = top;
  }

  // Of all rows in which anything is wide enough to be seen.
  get contentHeight(): number {
    return (this.nSeen * this.rowPixels) / this.ratio;
  }

  private get nSeen(): number {
    return this.scene ? this.scene.nRows - this.scene.zoomRow : 0;
  }

  private get rowPixels(): number {
    return Math.round(ROW_HEIGHT * this.ratio);
  }

  draw(): void {
    if (!this.scene || this.width <= 0 || this.height <= 0) return;
    const palette = (this.palette ??= readPalette(this.canvas, this.context));
    this.context.font = `${Math.round(FONT_SIZE * this.ratio)}px ${palette.font}`;
    this.fitter ??= new Fitter((text) => this.context.measureText(text).width);
    this.context.textBaseline = "middle";
    this.context.direction = "ltr";
    const { scene, surface } = this;
    const window = this.window();
    const { first, last } = rowsInSight(scene, window);
    surface.begin(palette, {
      n: Math.max(0, last - first + 1),
      top: rowTop(scene, window, scene.flipped ? last : first),
      height: window.row,
      gap: window.gap,
      gapTop: scene.flipped ? window.row - window.gap : 0,
    });
    draw(surface, scene, window, (row) => this.boxesOf(scene, row), this.fitter);
  }

  hit(x: number, y: number): Hit | null {
    const { scene } = this;
    if (!scene || x < 0 || x >= this.width) return null;
    const window = this.window();
    const row = rowAt(scene, window, y * this.ratio);
    if (row < scene.zoomRow || row >= scene.nRows) return null;
    return this.hitInRow(scene, row, x * this.ratio);
  }

  // A box is hit where it is painted: its pixels are rounded, and merged ones are wider than each.
  private hitInRow(scene: Scene, row: number, pixel: number): Hit | null {
    const boxes = this.boxesOf(scene, row);
    const n = boxes.count;
    let low = 0;
    let high = n;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (boxes.x1[middle] > pixel) high = middle;
      else low = middle + 1;
    }
    if (low === n || boxes.x0[low] > pixel) return null;
    return this.hitOf(scene, boxes, low);
  }

  private boxesOf({ layout, range }: Scene, row: number): Boxes {
    const known = this.rows[row];
    if (known) return known;
    this.boxes.fill(layout, row, range, this.canvas.width);
    return (this.rows[row] = this.boxes.copy());
  }

  private hitOf({ layout }: Scene, { first, past }: Boxes, box: number): Hit {
    let widest = first[box];
    let most = 0;
    let nMerged = 0;
    for (let node = first[box]; node < past[box]; node++) {
      const width = layout.tree.width(node);
      if (width > 0) nMerged++;
      if (width > most) {
        widest = node;
        most = width;
      }
    }
    return { node: widest, nMerged, amount: layout.right(past[box] - 1) - layout.left(first[box]) };
  }

  // Where a node is, below the top of all rows; null when it is not in the picture.
  rectOf(node: number): Rect | null {
    const { scene } = this;
    if (!scene || node >= scene.layout.tree.count) return null;
    if (scene.layout.rowOf(node) < scene.zoomRow) return null;
    const { from, to } = scene.range;
    const left = Math.max(from, scene.layout.left(node));
    const right = Math.min(to, scene.layout.right(node));
    if (right <= left) return null;
    const scale = this.width / (to - from);
    const y = rowTop(scene, { ...this.window(), top: 0 }, scene.layout.rowOf(node)) / this.ratio;
    const height = this.rowPixels / this.ratio;
    return { x: (left - from) * scale, y, width: (right - left) * scale, height };
  }

  get range(): Range {
    return this.scene?.range ?? { from: 0, to: 0 };
  }

  private window(): Window {
    const row = this.rowPixels;
    const { width, height } = this.canvas;
    const content = Math.max(height, this.nSeen * row);
    const gap = Math.max(1, Math.floor(this.ratio));
    return { width, height, top: Math.round(this.top * this.ratio), content, row, gap };
  }

  private countRows(): void {
    const { scene } = this;
    if (!scene) return;
    const { layout, range } = scene;
    let row = scene.zoomRow;
    const isSeen = () => this.boxes.fill(layout, row, range, this.canvas.width, 1) > 0;
    while (row < layout.nRows && isSeen()) row++;
    scene.nRows = row;
  }
}
