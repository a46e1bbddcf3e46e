// SPDX-License-Identifier: Apache-2.0
//
// What the lines of source files weigh. A stack counts once in a line however often the line recurs
// in it: for its total; and for its own where the line is the innermost one shown.

import type { View } from "../engine/look.ts";

export interface LineWeight {
  total: number;
  own: number;
  name: string; // of the function, for readers without the text
}

export interface FileWeights {
  text: number; // string of its path
  total: number; // of the stacks through any of its lines
  lines: Map<number, LineWeight>;
}

export function lineWeights(view: View, weights: Float64Array): FileWeights[] {
  const { model, wanted } = view;
  const { file, line, function: fn } = model.frames;
  const files = new Map<number, FileWeights>();
  const seen = new Set<string>();
  const count = (frame: number, weight: number, isOwn: boolean) => {
    const text = file[frame];
    let of = files.get(text);
    if (!of) files.set(text, (of = { text, total: 0, lines: new Map() }));
    if (!seen.has(`${text}`)) of.total += weight;
    seen.add(`${text}`);
    let at = of.lines.get(line[frame]);
    if (!at) of.lines.set(line[frame], (at = { total: 0, own: 0, name: model.text[fn[frame]] }));
    if (isOwn) at.own += weight;
    if (!seen.has(`${text}:${line[frame]}`)) at.total += weight;
    seen.add(`${text}:${line[frame]}`);
  };
  for (let site = 0; site < model.sites.count; site++) {
    if (!wanted[site] || !weights[site]) continue;
    const frames = view.framesOf(site);
    seen.clear();
    for (let i = 0; i < frames.length; i++)
      if (file[frames[i]]) count(frames[i], weights[site], i === 0);
  }
  return [...files.values()].sort((a, b) => b.total - a.total);
}
