// SPDX-License-Identifier: Apache-2.0
//
// The lines of the ranked table: its rows, and below an opened one the stacks it gathers, frame by
// frame. Every line is as high as any other, so that long tables can be scrolled without being in
// the document as a whole.

import type { Group } from "../engine/groups.ts";
import type { View } from "../engine/look.ts";
import { frameText, placeText } from "../engine/names.ts";
import { callText } from "../engine/rows.ts";
import { amount, share, type Mark } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { plural } from "./words.ts";

const STACKS_MAX = 12;
const FRAMES_MAX = 200;

export type Line =
  | { kind: "row"; group: Group; rank: number; isOpen: boolean }
  | { kind: "actions"; group: Group }
  | { kind: "stack"; text: string; site: number }
  | { kind: "frame"; text: string; place: string; depth: number }
  | { kind: "note"; text: string };

export interface StackSource {
  view: View;
  weights: Float64Array;
  whole: number;
  unit: "bytes" | "blocks";
  mark: Mark;
}

// "" where it is not told.
function callOf({ model }: View, site: number): string {
  const call = model.sites.call[site];
  return call ? callText(model, call) : "";
}

// "by malloc 2.1 MiB, by calloc 40.0 KiB"; nothing where it is not told.
function callLine({ view, weights, unit, mark }: StackSource, sites: number[]): Line[] {
  const sums = new Map<string, number>();
  for (const site of sites) {
    const call = callOf(view, site);
    sums.set(call, (sums.get(call) ?? 0) + weights[site]);
  }
  const parts = [...sums].filter(([call]) => call).sort((a, b) => b[1] - a[1]);
  const text = parts.map(([call, sum]) => `by ${call} ${amount(sum, unit, mark)}`).join(", ");
  return text ? [{ kind: "note", text }] : [];
}

function stackLines(source: StackSource, site: number): Line[] {
  const { view, weights, whole, unit, mark } = source;
  const weight = weights[site];
  const call = callOf(view, site);
  const by = call && ` by ${call}`;
  const text = `${share(weight, whole, mark)}  ${amount(weight, unit, mark)}${by}`;
  const lines: Line[] = [{ kind: "stack", text, site }];
  const frames = view.framesOf(site);
  for (let i = 0; i < frames.length && i < FRAMES_MAX; i++)
    lines.push({
      kind: "frame",
      text: cleanWithin(frameText(view.model, frames[i]), 400),
      place: clean(placeText(view.model, frames[i])),
      depth: i,
    });
  if (frames.length > FRAMES_MAX)
    lines.push({ kind: "note", text: `and ${plural(frames.length - FRAMES_MAX, "frame")} more` });
  return lines;
}

function detailLines(source: StackSource, group: Group): Line[] {
  const sites = Array.from(group.sites)
    .filter((site) => source.weights[site] > 0)
    .sort((a, b) => source.weights[b] - source.weights[a]);
  const lines: Line[] = [{ kind: "actions", group }, ...callLine(source, sites)];
  for (const site of sites.slice(0, STACKS_MAX)) lines.push(...stackLines(source, site));
  const more = sites.length - STACKS_MAX;
  if (more > 0)
    lines.push({ kind: "note", text: `and ${plural(more, "stack")} more: see Tree or Graph` });
  return lines;
}

// What identifies a row while numbers change around it.
export function rowKey(group: Group): string {
  return `${group.kind} ${group.frame} ${group.crate ?? ""} ${group.number}`;
}

// Of a row that is open, the lines below it.
interface Opened {
  rank: number;
  lines: Line[];
}

// Lines as they are asked for: of a million rows few are ever seen.
export class TableLines {
  readonly length: number;
  private readonly opened: Opened[] = []; // by rising rank

  constructor(private readonly groups: Group[], open: Set<string>, source: StackSource) {
    const frames = new Set(Array.from(open, (key) => Number(key.split(" ")[1])));
    for (let i = 0; i < groups.length && open.size; i++)
      if (frames.has(groups[i].frame) && open.has(rowKey(groups[i])))
        this.opened.push({ rank: i + 1, lines: detailLines(source, groups[i]) });
    this.length = this.opened.reduce((sum, { lines }) => sum + lines.length, groups.length);
  }

  slice(first: number, past: number): Line[] {
    const found: Line[] = [];
    let at = 0; // the line of the row below
    let row = 0;
    const rows = (end: number) => {
      const from = Math.max(row, row + first - at);
      const to = Math.min(end, row + past - at);
      for (let i = from; i < to; i++)
        found.push({ kind: "row", group: this.groups[i], rank: i + 1, isOpen: false });
      at += end - row;
      row = end;
    };
    for (const { rank, lines } of this.opened) {
      rows(rank);
      const last = found.at(-1);
      if (last?.kind === "row" && last.rank === rank) last.isOpen = true;
      found.push(...lines.slice(Math.max(0, first - at), Math.max(0, past - at)));
      at += lines.length;
    }
    rows(this.groups.length);
    return found;
  }
}

export function stackText(view: View, site: number): string {
  const { model } = view;
  const line = (frame: number) => {
    const place = placeText(model, frame);
    return `${frameText(model, frame)}${place ? `  ${place}` : ""}`;
  };
  return Array.from(view.framesOf(site), line).map(clean).join("\n") + "\n";
}
