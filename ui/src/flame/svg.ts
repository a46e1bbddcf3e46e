// SPDX-License-Identifier: Apache-2.0
//
// The picture as it is seen, as a file: what it is zoomed to and all below, or of its width what is
// seen, each box with its name, its number and its share in its title. Boxes narrower than a pixel
// are left out.

import { amount, share } from "../engine/units.ts";
import type { TreeMeaning } from "./meaning.ts";
import type { Palette } from "./palette.ts";
import { Style } from "./palette.ts";
import { rangeOfSpan, type Span } from "./span.ts";

const WIDTH = 1200;
const ROW = 18;
const LETTER = 6.6; // pixels of one, about: of the font that is asked for

function escaped(text: string): string {
  return text.replace(/[&<>"'{}]/g, (c) => `&#${c.charCodeAt(0)};`);
}

function labelOf(meaning: TreeMeaning, node: number, width: number): string {
  const room = Math.floor((width - 6) / LETTER);
  const fits = meaning.labels(node).find((label) => label.length <= room);
  const label = fits ?? meaning.labels(node).at(-1) ?? "";
  if (room < 3) return "";
  return label.length <= room ? label : `${label.slice(0, room - 1)}…`;
}

export function svgOf(
  meaning: TreeMeaning, palette: Palette, zoom: number, span: Span | null, flipped: boolean,
  title: string,
): string {
  const { tree, names, options } = meaning;
  const all = { from: 0, to: tree.width(zoom) };
  const { from, to } = rangeOfSpan(all, span);
  const scale = WIDTH / (to - from);
  const parts: string[] = [];
  const base = tree.depth(zoom);
  let rows = 1;
  const fillOf = (style: number) => {
    const fill = palette.fills[style];
    return typeof fill === "string" ? fill : (palette.fills[Style.runtime] as string);
  };
  const put = (node: number, begin: number) => {
    const left = Math.max(0, begin);
    const width = Math.min(WIDTH, begin + scale * tree.width(node)) - left;
    if (width < 1) return;
    const row = tree.depth(node) - base;
    rows = Math.max(rows, row + 1);
    const style = meaning.style(node);
    const n = meaning.change(node);
    const told = `${names.fullOf(node)}, ${amount(n, options.unit, options.mark)}, ` +
      share(n, tree.total(0), options.mark);
    const label = labelOf(meaning, node, width);
    parts.push(
      `<g><title>${escaped(told)}</title><rect x="${left.toFixed(1)}" y="{${row}}" ` +
        `width="${Math.max(0.5, width - 1).toFixed(1)}" height="${ROW - 1}" ` +
        `fill="${fillOf(style)}"/>` +
        (label
          ? `<text x="${(left + 3).toFixed(1)}" y="{${row}t}" fill="${palette.texts[style]}">` +
            `${escaped(label)}</text>`
          : "") +
        "</g>",
    );
    let at = begin;
    for (let child = tree.firstChild[node]; child < tree.firstChild[node + 1]; child++) {
      put(child, at);
      at += scale * tree.width(child);
    }
  };
  if (to > from) put(zoom, -scale * from);
  const top = (row: number) => (flipped ? rows - 1 - row : row) * ROW;
  const body = parts.join("\n").replace(/\{(\d+)(t?)\}/g, (_, row: string, isText: string) =>
    String(top(Number(row)) + (isText ? ROW - 5 : 0)));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${rows * ROW}" ` +
    `width="${WIDTH}" font-family="sans-serif" font-size="12">\n` +
    `<title>${escaped(title)}</title>\n` +
    `<rect width="100%" height="100%" fill="${palette.background}"/>\n${body}\n</svg>\n`
  );
}
