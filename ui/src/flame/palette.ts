// SPDX-License-Identifier: Apache-2.0
//
// The colours of the picture, as flame.css gives them for light and dark. They are read when the
// picture is drawn first, and again after a change of theme.

import { N_COLOURS } from "./names.ts";

// What a box can look like; crates and modules have the numbers below N_COLOURS.
export const Style = {
  runtime: N_COLOURS,
  root: N_COLOURS + 1,
  many: N_COLOURS + 2, // boxes too narrow to be drawn one by one
  dim: N_COLOURS + 3, // not what was searched for; above what is zoomed to
  match: N_COLOURS + 4,
  grown: N_COLOURS + 5,
  grownWeak: N_COLOURS + 6, // more grown than shrunk
  shrunk: N_COLOURS + 7,
  shrunkWeak: N_COLOURS + 8,
  even: N_COLOURS + 9,
  hatch: N_COLOURS + 10, // not a function
} as const;

const NAMES = [
  ...Array.from({ length: N_COLOURS }, (_, i) => `${i}`),
  ..."runtime root many dim match grown grown-weak shrunk shrunk-weak even".split(" "),
];

export interface Palette {
  fills: (string | CanvasPattern)[];
  texts: string[];
  background: string;
  font: string; // a family
}

export function readPalette(element: Element, context: CanvasRenderingContext2D): Palette {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(`--flame-${name}`).trim();
  const text = read("text");
  const texts = NAMES.map((name) => read(`${name}-text`) || text);
  const fills: (string | CanvasPattern)[] = NAMES.map(read);
  fills.push(hatch(context, read("hatch"), read("hatch-line")));
  texts.push(text);
  return { fills, texts, background: read("background"), font: style.fontFamily };
}

const HATCH_PIXELS = 8;

type Fill = string | CanvasPattern;

function hatch(context: CanvasRenderingContext2D, base: string, line: string): Fill {
  const tile = context.canvas.ownerDocument.createElement("canvas");
  tile.width = tile.height = HATCH_PIXELS;
  const paint = tile.getContext("2d");
  if (!paint) return base;
  paint.fillStyle = base;
  paint.fillRect(0, 0, HATCH_PIXELS, HATCH_PIXELS);
  paint.strokeStyle = line;
  paint.lineWidth = 2;
  paint.beginPath();
  for (const shift of [-HATCH_PIXELS, 0, HATCH_PIXELS]) {
    paint.moveTo(shift - 1, HATCH_PIXELS + 1);
    paint.lineTo(shift + HATCH_PIXELS + 1, -1);
  }
  paint.stroke();
  return context.createPattern(tile, "repeat") ?? base;
}
