// SPDX-License-Identifier: Apache-2.0
//
// What frames say, and small numbers for it: two frames are one name when a reader could not tell
// them apart. That is the function and its source file; without a file, the module; without a
// function, the address in its file. Lines tell apart only where asked for. As
// src/view/frame_names.h and paths.c have it.

import { FrameFlag, type Model } from "./model.ts";
import { atOnce, sorted, type Pieces } from "./pieces.ts";
import { TERMS } from "./terms.ts";

export const NONE = 0xffffffff; // as a frame: none

export function modulePath(model: Model, frame: number): string {
  return model.text[model.modules[model.frames.module[frame]]];
}

// Base name of a frame's module, "?" for the unknown one.
export function moduleName(model: Model, frame: number): string {
  const path = modulePath(model, frame);
  return path ? path.slice(path.lastIndexOf("/") + 1) : "?";
}

// The function, else "libplugin.so+0x42" as its file has it, else the address; what is no frame, in
// parentheses. As data: it may hold anything.
export function frameText(model: Model, frame: number): string {
  if (frame === NONE)
    return "(all)";
  const flags = model.frames.flags[frame];
  if (flags & FrameFlag.lost)
    return TERMS.stackLost.text;
  if (flags & FrameFlag.pages)
    return TERMS.ownPages.text;
  if (flags & FrameFlag.pruned)
    return TERMS.otherStacks.text;
  if (flags & FrameFlag.cut)
    return TERMS.framesCut.text;
  const fn = model.frames.function[frame];
  if (fn)
    return model.text[fn];
  const address = "0x" + model.frames.address[frame].toString(16);
  return modulePath(model, frame) ? `${moduleName(model, frame)}+${address}` : address;
}

// What stands for stacks that were gathered: nobody's place.
export function isGathered(model: Model, frame: number): boolean {
  return frame !== NONE && (model.frames.flags[frame] & FrameFlag.pruned) !== 0;
}

// Which part of a source path a person would say.
export function shortenPath(path: string): string {
  const after = (mark: string) => {
    const at = path.indexOf(mark);
    const slash = at < 0 ? -1 : path.indexOf("/", at + mark.length);
    return slash < 0 ? null : path.slice(slash + 1);
  };
  const known = after("/registry/src/") ?? after("/rustc/");
  if (known !== null)
    return known;
  const slash = path.lastIndexOf("/");
  const before = slash > 0 ? path.lastIndexOf("/", slash - 1) : -1;
  return path.slice(before + 1);
}

// "src/main.c:42"; without a file, the module's base name, if the frame is not called by it.
export function placeText(model: Model, frame: number, line = model.frames.line[frame]): string {
  if (frame === NONE || model.frames.flags[frame] & ~(FrameFlag.inlined | FrameFlag.guessed))
    return "";
  const file = model.frames.file[frame];
  if (!file && !model.frames.function[frame] && modulePath(model, frame))
    return "";
  if (!file)
    return moduleName(model, frame);
  const path = shortenPath(model.text[file]);
  return line ? `${path}:${line}` : path;
}

export function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1; // most often they are not only equal, but one
}

const ranksOf = new WeakMap<Model, Uint32Array>();

// Per string its place in the order of texts, equal ones sharing it; only of functions, files,
// crates and modules, the others have 0. The empty string, which means unknown, comes first.
export function textRanks(model: Model): Uint32Array {
  const held = ranksOf.get(model);
  if (held)
    return held;
  const used = new Uint8Array(model.text.length);
  const { function: fn, file, crate } = model.frames;
  for (const column of [fn, file, crate, model.modules])
    for (let i = 0; i < column.length; i++)
      used[column[i]] = 1;
  const strings: number[] = [];
  for (let i = 0; i < used.length; i++)
    if (used[i])
      strings.push(i);
  strings.sort((a, b) => compareText(model.text[a], model.text[b]));
  const ranks = new Uint32Array(model.text.length);
  let rank = 0;
  strings.forEach((string, i) => {
    rank += i && model.text[string] === model.text[strings[i - 1]] ? 0 : 1;
    ranks[string] = model.text[string] ? rank : 0;
  });
  ranksOf.set(model, ranks);
  return ranks;
}

// Frames told apart by some of what they say. `of` is per frame; names count from 1 in the order of
// `compare`, so that comparing numbers compares names; 0 is no frame.
export interface FrameNames {
  of: Uint32Array;
  count: number; // with 0
}

export function* numberFrames(
  count: number, compare: (a: number, b: number) => number,
): Pieces<FrameNames> {
  const all = Array.from({ length: count }, (_, i) => i);
  yield;
  const order = yield* sorted(all, compare);
  const of = new Uint32Array(count);
  let name = 0;
  for (let i = 0; i < count; i++) {
    if (!i || compare(order[i - 1], order[i]) !== 0)
      name++;
    of[order[i]] = name;
  }
  return { of, count: name + 1 };
}

const namesOf = new WeakMap<Model, [FrameNames | null, FrameNames | null]>();

export function frameNames(model: Model, byLine: boolean): FrameNames {
  return atOnce(frameNamesInPieces(model, byLine));
}

export function* frameNamesInPieces(model: Model, byLine: boolean): Pieces<FrameNames> {
  const held = namesOf.get(model) ?? [null, null];
  namesOf.set(model, held);
  return (held[byLine ? 1 : 0] ??= yield* makeNames(model, byLine));
}

// Found elsewhere, of the same model.
export function keepNames(model: Model, byLine: boolean, names: FrameNames, ranks: Uint32Array) {
  const held = namesOf.get(model) ?? [null, null];
  namesOf.set(model, held);
  held[byLine ? 1 : 0] = names;
  ranksOf.set(model, ranks);
}

function makeNames(model: Model, byLine: boolean): Pieces<FrameNames> {
  const { count, function: fn, file, line, module, address, flags } = model.frames;
  const ranks = textRanks(model);
  const special = FrameFlag.cut | FrameFlag.lost | FrameFlag.pages | FrameFlag.pruned;
  return numberFrames(count, (a, b) => {
    let order = ranks[fn[a]] - ranks[fn[b]] || ranks[file[a]] - ranks[file[b]];
    if (!order && byLine)
      order = line[a] - line[b];
    if (!order && !file[a])
      order = ranks[model.modules[module[a]]] - ranks[model.modules[module[b]]];
    if (order || fn[a])
      return order;
    return address[a] - address[b] || (flags[a] & special) - (flags[b] & special);
  });
}
