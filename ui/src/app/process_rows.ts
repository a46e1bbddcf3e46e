// SPDX-License-Identifier: Apache-2.0
//
// The process images of a capture as a tree, in any order of siblings, and what they held together
// over time. Plain data; processes.tsx shows it.

import type { OfferedImage, Processes } from "./load.ts";

export interface ProcessRow {
  image: OfferedImage;
  depth: number;
}

export const orders = ["start", "peak", "ran", "count", "name"] as const;
export type Order = (typeof orders)[number];

const valueOf: Record<Order, (image: OfferedImage) => number | string> = {
  start: (image) => image.start_ns ?? 0,
  peak: (image) => -(image.peak_bytes ?? 0),
  ran: (image) => -((image.end_ns ?? 0) - (image.start_ns ?? 0)),
  count: (image) => -(image.allocations ?? 0),
  name: (image) => image.program,
};

export function commandOf(image: OfferedImage): string {
  return image.command?.length ? image.command.join(" ") : image.program;
}

// Which have what is looked for, and which lead to one of them.
function seenOf(images: OfferedImage[], parents: number[], pattern: RegExp | null): boolean[] {
  const seen = images.map((one) => !pattern || pattern.test(`${one.process} ${commandOf(one)}`));
  for (let i = images.length - 1; i >= 0; i--) // a child comes after who started it
    if (seen[i] && parents[i] >= 0 && parents[i] < i) seen[parents[i]] = true;
  return seen;
}

// Parents before their children. What comes from none, or from a later one, stands by itself.
export function processRows(
  images: OfferedImage[], parents: number[], order: Order, pattern: RegExp | null,
): ProcessRow[] {
  const seen = seenOf(images, parents, pattern);
  const children = new Map<number, number[]>();
  images.forEach((_, i) => {
    const parent = parents[i] >= 0 && parents[i] < i ? parents[i] : -1;
    if (seen[i]) children.set(parent, [...(children.get(parent) ?? []), i]);
  });
  const key = valueOf[order];
  const compare = (a: number, b: number) => {
    const [x, y] = [key(images[a]), key(images[b])];
    return x < y ? -1 : x > y ? 1 : a - b;
  };
  const rows: ProcessRow[] = [];
  const todo: [number, number][] = [];
  const push = (parent: number, depth: number) => {
    const sorted = (children.get(parent) ?? []).sort(compare);
    for (const i of sorted.reverse()) todo.push([i, depth]);
  };
  push(-1, 0);
  for (let next = todo.pop(); next; next = todo.pop()) {
    const [i, depth] = next;
    rows.push({ image: images[i], depth });
    push(i, depth + 1);
  }
  return rows;
}

// What an image held at the end of each step; a course has its first step in front.
export function stepsOf({ steps, courses }: Processes, index: number): Float64Array {
  const held = new Float64Array(steps);
  const [first, ...values] = courses[index] ?? [0];
  values.forEach((value, i) => {
    held[first + i] = Math.max(0, value);
  });
  return held;
}

// At one look.
export function mostTogether(images: OfferedImage[], of: Processes): number {
  const all = new Float64Array(of.steps);
  images.forEach((_, i) => stepsOf(of, i).forEach((held, step) => (all[step] += held)));
  return all.reduce((most, held) => Math.max(most, held), 0);
}

export interface Layer {
  images: number[]; // their indexes, all of one program
  isOthers: boolean; // what is in no other layer
  held: Float64Array;
}

// Each by itself; where they are more than layers, those of a program together.
function parted(images: OfferedImage[], most: number): number[][] {
  if (images.length <= most) return images.map((_, i) => [i]);
  const of = new Map<string, number[]>();
  images.forEach(({ program }, i) => of.set(program, [...(of.get(program) ?? []), i]));
  return [...of.values()];
}

// Those that ever held most at once, one layer each, and the others.
export function layersOf(images: OfferedImage[], of: Processes, most: number): Layer[] {
  const sumOf = (indexes: number[]) => {
    const held = new Float64Array(of.steps);
    for (const i of indexes) stepsOf(of, i).forEach((value, step) => (held[step] += value));
    return held;
  };
  const all = parted(images, most).map((indexes) => ({ images: indexes, held: sumOf(indexes) }));
  const highest = all.map(({ held }) => Math.max(...held));
  const order = all.map((_, i) => i).sort((a, b) => highest[b] - highest[a] || a - b);
  const chosen = order.slice(0, most).filter((i) => highest[i] > 0);
  const rest = order.slice(chosen.length).flatMap((i) => all[i].images);
  const layers = chosen.map((i) => ({ ...all[i], isOthers: false }));
  const others = { images: rest, isOthers: true, held: sumOf(rest) };
  return others.held.some((value) => value > 0) ? [...layers, others] : layers;
}
