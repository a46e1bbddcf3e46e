// SPDX-License-Identifier: Apache-2.0
//
// The colours of the picture, as flame.css gives them for light and dark. They are read when the
// picture is drawn first, and again after a change of theme.

import { N_COLOURS, N_TINTS } from "./names.ts";

const FIRST = N_COLOURS * N_TINTS;

// What a box can look like; crates and modules have the numbers below these, each colour's tints
// side by side.
export const Style = {
  runtime: FIRST,
  root: FIRST + 1,
  many: FIRST + 2, // boxes too narrow to be drawn one by one
  dim: FIRST + 3, // not what was searched for; above what is zoomed to
  match: FIRST + 4,
  someMatch: FIRST + 5, // of boxes too narrow to be drawn, some
  grown: FIRST + 6,
  grownWeak: FIRST + 7, // more grown than shrunk
  shrunk: FIRST + 8,
  shrunkWeak: FIRST + 9,
  even: FIRST + 10,
  grownSome: FIRST + 11, // between the two, by how much
  shrunkSome: FIRST + 12,
  hatch: FIRST + 13, // not a function
} as const;

const OTHERS =
  "runtime root many dim match some-match grown grown-weak shrunk shrunk-weak even".split(" ");

export interface Palette {
  fills: (string | CanvasPattern)[]; // "#rrggbb", and last the hatch
  texts: string[];
  background: string;
  font: string; // a family
}

export function readPalette(element: Element, context: CanvasRenderingContext2D): Palette {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(`--flame-${name}`).trim();
  const background = read("background");
  const text = read("text");
  const fills: (string | CanvasPattern)[] = [];
  for (let colour = 0; colour < N_COLOURS; colour++)
    for (let tint = 0; tint < N_TINTS; tint++)
      fills.push(tinted(read(`${colour}`), background, tint));
  const texts = fills.map(() => text);
  for (const name of OTHERS) {
    fills.push(read(name));
    texts.push(read(`${name}-text`) || text);
  }
  for (const name of ["grown", "shrunk"]) {
    fills.push(tinted(read(name), read(`${name}-weak`), 0.5 / TINT_STEP));
    texts.push(text);
  }
  fills.push(hatch(context, read("hatch"), read("hatch-line")));
  texts.push(text);
  return { fills, texts, background, font: style.fontFamily };
}

const TINT_STEP = 0.14;

// Towards the background, which is away from the text: contrast only grows.
export function tinted(colour: string, background: string, tint: number): string {
  const part = tint * TINT_STEP;
  const mixed = [1, 3, 5].map((at) => {
    const [a, b] = [colour, background].map((text) => parseInt(text.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * part).toString(16).padStart(2, "0");
  });
  return `#${mixed.join("")}`;
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
