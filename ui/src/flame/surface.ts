// SPDX-License-Identifier: Apache-2.0
//
// Boxes on a canvas, tens of thousands of them in a few milliseconds. All boxes of a row are
// equally high, so a row is one line of pixels: it is written to memory, and all lines are drawn
// at once, stretched to the height of a row. Box by box the canvas takes many times as long.
//
// What stays visible between two rows is a line of its own: the background but where a box has no
// border to its parent.

import type { Palette } from "./palette.ts";

export interface Lines {
  n: number; // rows in sight, from above
  top: number; // of the first one
  height: number; // of a row, in device pixels
  gap: number; // of that, what stays free
  gapTop: number; // where in the row
}

interface Hatched {
  line: number;
  x0: number;
  x1: number;
}

export class Surface {
  private readonly strip: HTMLCanvasElement;
  private readonly paint: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private pixels: Uint32Array = new Uint32Array(0);
  private colours: Uint32Array = new Uint32Array(0);
  private palette: Palette | null = null;
  private lines: Lines = { n: 0, top: 0, height: 0, gap: 0, gapTop: 0 };
  private width = 0;
  private hatched: Hatched[] = [];
  private style = -1;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.strip = context.canvas.ownerDocument.createElement("canvas");
    const paint = this.strip.getContext("2d", { alpha: false, willReadFrequently: true });
    if (!paint) throw new Error("this browser has no 2D canvas");
    this.paint = paint;
  }

  begin(palette: Palette, lines: Lines): void {
    const { width, height } = this.context.canvas;
    this.palette = palette;
    this.colours = packedColours(palette);
    this.lines = lines;
    this.hatched = [];
    this.style = -1;
    this.context.fillStyle = palette.background;
    this.context.fillRect(0, 0, width, height);
    if (!this.image || this.width !== width || this.image.height < 2 * lines.n) {
      this.width = width;
      this.strip.width = width;
      this.strip.height = 2 * Math.max(1, lines.n);
      this.image = this.paint.createImageData(width, this.strip.height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(packed(palette.background), 0, 2 * lines.n * width);
  }

  // hasBorder: to the parent's row.
  box(line: number, x0: number, x1: number, style: number, hasBorder: boolean): void {
    if (style >= this.colours.length) {
      this.hatched.push({ line, x0, x1 });
      return;
    }
    const colour = this.colours[style];
    const at = line * this.width;
    const { pixels } = this;
    for (let x = at + x0; x < at + x1; x++) pixels[x] = colour;
    if (hasBorder) return;
    const between = (this.lines.n + line) * this.width;
    pixels.fill(colour, between + x0, between + x1);
  }

  end(): void {
    const { context, image, lines, palette, strip, width } = this;
    if (!image || !palette || lines.n === 0) return;
    this.paint.putImageData(image, 0, 0, 0, 0, width, 2 * lines.n);
    context.imageSmoothingEnabled = false;
    context.drawImage(strip, 0, 0, width, lines.n, 0, lines.top, width, lines.n * lines.height);
    context.fillStyle = palette.fills[palette.fills.length - 1];
    for (const { line, x0, x1 } of this.hatched)
      context.fillRect(x0, lines.top + line * lines.height, x1 - x0, lines.height);
    for (let line = 0; line < lines.n; line++) {
      const y = lines.top + line * lines.height + lines.gapTop;
      context.drawImage(strip, 0, lines.n + line, width, 1, 0, y, width, lines.gap);
    }
  }

  text(text: string, x: number, y: number, style: number): void {
    if (style !== this.style) this.context.fillStyle = this.palette?.texts[style] ?? "";
    this.style = style;
    this.context.fillText(text, x, y);
  }
}

function packedColours(palette: Palette): Uint32Array {
  return Uint32Array.from(palette.fills.slice(0, -1), (fill) => packed(String(fill)));
}

const isLittle = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

// "#rrggbb" as a pixel of an image.
export function packed(colour: string): number {
  const value = parseInt(colour.slice(1), 16) || 0;
  const [r, g, b] = [value >>> 16, (value >>> 8) & 255, value & 255];
  return (isLittle ? (255 << 24) | (b << 16) | (g << 8) | r : (value << 8) | 255) >>> 0;
}
