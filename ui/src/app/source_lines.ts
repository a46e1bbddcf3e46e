// SPDX-License-Identifier: Apache-2.0
//
// What the lines of source files weigh. A stack counts once in a line however often the line recurs
// in it: for its total; and for its own where the line is the innermost one shown.

import type { View } from "../engine/look.ts";
import { atOnce, stretches, type Pieces } from "../engine/pieces.ts";

export interface LineWeight {
  total: number;
  own: number;
  name: string; // of the function, for readers without the text
  latest: number; // site counted
}

export interface FileWeights {
  text: number; // string of its path
  total: number; // of the stacks through any of its lines
  own: number; // of those that end in one of them
  lines: Map<number, LineWeight>;
  latest: number;
}

export function lineWeights(view: View, weights: Float64Array): FileWeights[] {
  return atOnce(linesInPieces(view, weights));
}

const SITES = 1 << 11; // whose frames are counted in a piece

export function* linesInPieces(view: View, weights: Float64Array): Pieces<FileWeights[]> {
  const { model, wanted } = view;
  const { file, line, function: fn } = model.frames;
  const files = new Map<number, FileWeights>();
  const fileOf = (text: number) => {
    let found = files.get(text);
    if (!found) files.set(text, (found = { text, total: 0, own: 0, lines: new Map(), latest: -1 }));
    return found;
  };
  const lineOf = ({ lines }: FileWeights, frame: number) => {
    let found = lines.get(line[frame]);
    if (!found) found = { total: 0, own: 0, name: model.text[fn[frame]], latest: -1 };
    lines.set(line[frame], found);
    return found;
  };
  const met: ({ of: FileWeights; at: LineWeight } | undefined)[] = []; // by frame
  const meet = (frame: number) => {
    const of = fileOf(file[frame]);
    return (met[frame] = { of, at: lineOf(of, frame) });
  };
  const add = (site: number) => {
    const weight = weights[site];
    if (!wanted[site] || !weight) return;
    const n = view.readFrames(site);
    const { read } = view;
    for (let i = 0; i < n; i++) {
      const frame = read[i];
      if (!file[frame]) continue;
      const { of, at } = met[frame] ?? meet(frame);
      if (of.latest !== site) of.total += weight;
      of.latest = site;
      if (at.latest !== site) at.total += weight;
      at.latest = site;
      if (i > 0) continue;
      at.own += weight;
      of.own += weight;
    }
  };
  yield* stretches(model.sites.count, (from, past) => {
    for (let site = from; site < past; site++) add(site);
  }, SITES);
  // Every stack goes through the file of main(), so what goes through says less than what ends.
  return [...files.values()].sort((a, b) => b.own - a.own || b.total - a.total);
}

const AROUND = 8; // lines shown before and after one that weighs something; a report has as many

// Numbers of the lines to show, in parts that follow one another; without the text only those that
// weigh something, and of a text with holes those that are there.
export function partsOf(heavy: Iterable<number>, lines: (string | undefined)[] | null): number[][] {
  const rising = [...heavy].sort((a, b) => a - b);
  if (!lines) return [rising];
  const parts: number[][] = [];
  let last = -Infinity;
  for (const line of rising) {
    for (let i = Math.max(1, line - AROUND, last + 1); i <= line + AROUND; i++) {
      if (i !== line && lines[i - 1] === undefined) continue;
      if (i > last + 1 || !parts.length) parts.push([]);
      parts[parts.length - 1].push(i);
      last = i;
    }
  }
  return parts;
}
