// SPDX-License-Identifier: Apache-2.0
//
// What the lines of source files weigh. A stack counts once in a line however often the line recurs
// in it: for its total; and for its own where the line is the innermost one shown.

import type { View } from "../engine/look.ts";

export interface LineWeight {
  total: number;
  own: number;
  name: string; // of the function, for readers without the text
  latest: number; // site counted
}

export interface FileWeights {
  text: number; // string of its path
  total: number; // of the stacks through any of its lines
  lines: Map<number, LineWeight>;
  latest: number;
}

export function lineWeights(view: View, weights: Float64Array): FileWeights[] {
  const { model, wanted } = view;
  const { file, line, function: fn } = model.frames;
  const files = new Map<number, FileWeights>();
  const fileOf = (text: number) => {
    let found = files.get(text);
    if (!found) files.set(text, (found = { text, total: 0, lines: new Map(), latest: -1 }));
    return found;
  };
  const count = (frame: number, site: number, isOwn: boolean) => {
    const of = fileOf(file[frame]);
    const weight = weights[site];
    if (of.latest !== site) of.total += weight;
    of.latest = site;
    let at = of.lines.get(line[frame]);
    if (!at) at = { total: 0, own: 0, name: model.text[fn[frame]], latest: -1 };
    of.lines.set(line[frame], at);
    if (isOwn) at.own += weight;
    if (at.latest !== site) at.total += weight;
    at.latest = site;
  };
  for (let site = 0; site < model.sites.count; site++) {
    if (!wanted[site] || !weights[site]) continue;
    const n = view.readFrames(site);
    for (let i = 0; i < n; i++) if (file[view.read[i]]) count(view.read[i], site, i === 0);
  }
  return [...files.values()].sort((a, b) => b.total - a.total);
}
