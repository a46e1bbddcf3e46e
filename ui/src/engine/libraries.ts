// SPDX-License-Identifier: Apache-2.0
//
// Libraries that the reader wants to see as one frame each: wherever a stack goes through several
// frames of one, one after another, it shows a single one with the library's name. That is a frame
// like any other, after those that the model came with; stacks and numbers stay as they are.
//
// A library is known by what people call it: "crate serde_json", "module libz.so.1".

import { FrameFlag, Layer, type Frames, type Model } from "./model.ts";
import { moduleName } from "./names.ts";

const NO_LIBRARY = FrameFlag.cut | FrameFlag.lost | FrameFlag.pages | FrameFlag.pruned;

function firstOf({ frames, libraries }: Model): number {
  return frames.count - (libraries?.length ?? 0);
}

// Whether a frame stands for a whole library.
export function isLibrary(model: Model, frame: number): boolean {
  return frame >= firstOf(model) && frame < model.frames.count;
}

// The library that a frame is of, or stands for; null: of none that has a name.
export function libraryOf(model: Model, frame: number): string | null {
  const { flags, crate } = model.frames;
  if (isLibrary(model, frame))
    return model.libraries![frame - firstOf(model)];
  if (flags[frame] & NO_LIBRARY)
    return null;
  if (crate[frame])
    return `crate ${model.text[crate[frame]]}`;
  const name = moduleName(model, frame);
  return name === "?" ? null : `module ${name}`;
}

// "serde_json" of "crate serde_json".
export function libraryName(library: string): string {
  return library.slice(library.indexOf(" ") + 1);
}

const made = new WeakMap<Model, Map<string, Model>>();
const lostOf = new WeakMap<Model, ReadonlySet<string>>();

// Libraries of a model that no frame of it is of: another build's.
export function lostLibraries(model: Model): ReadonlySet<string> {
  return lostOf.get(model) ?? new Set();
}

// The model with a frame for each library; itself where there are none, or it has them.
export function withLibraries(model: Model, libraries: readonly string[]): Model {
  const key = JSON.stringify(libraries);
  if (!libraries.length || key === JSON.stringify(model.libraries))
    return model;
  const ofModel = made.get(model) ?? new Map<string, Model>();
  made.set(model, ofModel);
  const known = ofModel.get(key) ?? addLibraries(model, [...libraries]);
  ofModel.set(key, known);
  return known;
}

function addLibraries(model: Model, libraries: string[]): Model {
  const before = model.frames.count;
  const frames = withRoom(model.frames, libraries.length);
  const text = [...model.text, ...libraries.map((one) => `[${libraryName(one)}]`)];
  libraries.forEach((_, i) => {
    frames.function[before + i] = model.text.length + i;
    frames.layer[before + i] = Layer.folded;
  });
  // Its module is that of its first frame; it is the user's own if any of it is.
  const isMet = new Uint8Array(libraries.length);
  for (let f = 0; f < before; f++) {
    const i = libraries.indexOf(libraryOf(model, f) ?? "");
    if (i < 0)
      continue;
    const one = before + i;
    frames.layer[one] = Math.min(frames.layer[one], frames.layer[f]);
    if (!isMet[i])
      [frames.module[one], frames.crate[one]] = [frames.module[f], frames.crate[f]];
    isMet[i] = 1;
  }
  const all = { ...model, frames, text, libraries };
  lostOf.set(all, new Set(libraries.filter((_, i) => !isMet[i])));
  return all;
}

function withRoom(frames: Frames, n: number): Frames {
  const grown = <T extends Uint32Array | Uint8Array | Float64Array>(column: T): T => {
    const more = new (column.constructor as new (n: number) => T)(column.length + n);
    more.set(column);
    return more;
  };
  return {
    count: frames.count + n, function: grown(frames.function), file: grown(frames.file),
    crate: grown(frames.crate), line: grown(frames.line), module: grown(frames.module),
    address: grown(frames.address), layer: grown(frames.layer), flags: grown(frames.flags),
  };
}

// Per frame, the one that is shown in its place; null: each its own. Of a model with libraries.
export function standIns(model: Model): Uint32Array | null {
  const { libraries } = model;
  if (!libraries?.length)
    return null;
  const first = firstOf(model);
  const stands = new Uint32Array(model.frames.count);
  const places = new Map(libraries.map((library, i) => [library, first + i]));
  for (let f = 0; f < stands.length; f++)
    stands[f] = places.get(libraryOf(model, f) ?? "") ?? f;
  return stands;
}
