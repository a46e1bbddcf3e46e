// SPDX-License-Identifier: Apache-2.0
//
// What is seen, as files that other tools read: folded stacks and pprof, of the stacks that are
// left by what is selected, with the frames that are shown. As the command's "export" writes them.

import type { View } from "../engine/look.ts";
import { frameText } from "../engine/names.ts";
import { SiteKind, type Model } from "../engine/model.ts";

export interface Seen {
  view: View;
  weights: Float64Array; // per site
  sites: ArrayLike<number> | null; // null: all that the view lets through
  type: string; // what the weights are, as readers of heap profiles call it: "inuse_space"
  unit: string; // "bytes" or "count"
}

interface Line {
  frames: Uint32Array; // innermost first
  weight: number;
}

// Those with any weight; in folded stacks and pprof there is none below zero.
function* linesOf({ view, weights, sites }: Seen): Generator<Line> {
  const { kind, count } = view.model.sites;
  const all = sites ?? { length: count };
  for (let i = 0; i < all.length; i++) {
    const site = sites ? sites[i] : i;
    if (view.wanted[site] && kind[site] !== SiteKind.pages && weights[site] > 0)
      yield { frames: view.framesOf(site), weight: weights[site] };
  }
}

const NO_STACK = "[stack not recorded]";

// Nothing in the format can be quoted, so names give way; a number at the end of one would be taken
// for a second weight.
function foldedName(model: Model, frame: number): string {
  return frameText(model, frame)
    .replace(/;/g, ":")
    .replace(/[\0-\x1f\x7f]/g, "?")
    .replace(/ ([ .0-9]*)$/, "_$1");
}

// Stacks that read alike are one line, the heaviest first.
export function folded(seen: Seen): string {
  const sums = new Map<string, number>();
  for (const { frames, weight } of linesOf(seen)) {
    const names = Array.from(frames, (frame) => foldedName(seen.view.model, frame)).reverse();
    const text = names.join(";") || NO_STACK;
    sums.set(text, (sums.get(text) ?? 0) + weight);
  }
  const lines = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return lines.map(([text, weight]) => `${text} ${weight}\n`).join("");
}

// ---- pprof ----

class Message {
  readonly bytes: number[] = [];

  private varint(value: number): void {
    let left = value;
    while (left > 127) {
      this.bytes.push((left % 128) | 128);
      left = Math.floor(left / 128);
    }
    this.bytes.push(left);
  }

  number(field: number, value: number): this {
    this.varint(field << 3);
    this.varint(value);
    return this;
  }

  part(field: number, part: ArrayLike<number>): this {
    this.varint((field << 3) | 2);
    this.varint(part.length);
    for (let i = 0; i < part.length; i++) this.bytes.push(part[i]);
    return this;
  }

  packed(field: number, values: number[]): this {
    const inner = new Message();
    for (const value of values) inner.varint(value);
    return this.part(field, inner.bytes);
  }
}

// Numbers from 1 on of what is met, and from 0 on of texts.
class Numbering<T> {
  readonly all: T[] = [];
  private readonly known = new Map<string, number>();

  constructor(private readonly from: number) {}

  of(key: string, make: () => T): number {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.all.push(make());
    const number = this.all.length - 1 + this.from;
    this.known.set(key, number);
    return number;
  }
}

const P = { sampleType: 1, sample: 2, location: 4, function: 5, text: 6 } as const;

// A message of perftools.profiles.Profile, not packed.
export function pprof(seen: Seen): Uint8Array {
  const { model } = seen.view;
  const { frames: of, text } = model;
  const texts = new Numbering<string>(0);
  const string = (one: string) => texts.of(one, () => one);
  string(""); // which is always the first
  const functions = new Numbering<Message>(1);
  const locations = new Numbering<Message>(1);
  const functionOf = (name: string, file: string) =>
    functions.of(`${name}\n${file}`, () =>
      new Message().number(1, functions.all.length + 1).number(2, string(name))
        .number(3, string(name)).number(4, string(file)));
  const locationOf = (frame: number) => {
    const name = frameText(model, frame);
    const file = text[of.file[frame]];
    return locations.of(`${name}\n${file}\n${of.line[frame]}`, () => {
      const line = new Message().number(1, functionOf(name, file)).number(2, of.line[frame]);
      return new Message().number(1, locations.all.length + 1).part(4, line.bytes);
    });
  };
  const profile = new Message();
  profile.part(P.sampleType,
    new Message().number(1, string(seen.type)).number(2, string(seen.unit)).bytes);
  for (const { frames, weight } of linesOf(seen)) {
    const sample = new Message().packed(1, Array.from(frames, locationOf)).packed(2, [weight]);
    profile.part(P.sample, sample.bytes);
  }
  for (const { bytes } of locations.all) profile.part(P.location, bytes);
  for (const { bytes } of functions.all) profile.part(P.function, bytes);
  const encoder = new TextEncoder();
  for (const one of texts.all) profile.part(P.text, encoder.encode(one));
  return Uint8Array.from(profile.bytes);
}
