// SPDX-License-Identifier: Apache-2.0
//
// By what a place is known again in another run, perhaps of another build; as
// src/view/diff_match.h has it:
//
//   function and file known    both; the file without the directory it was built in, no line
//   function known             it and the module's base name
//   neither, module unchanged  the build id both sides have, and the address in the file
//   neither                    the module's base name: all its nameless code is one place
//
// What compilers append to the names of copies (".isra.0", " [clone …]") is no part of a function.

import { FrameFlag, type Model } from "./model.ts";
import { compareText, moduleName, shortenPath } from "./names.ts";

export interface MatchKey {
  function: string; // "": unknown
  file: string;
  module: string; // base name
  build: string; // "": not the same on both sides
  address: number;
}

const APPENDED = [
  ".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm.", ".localalias", ".clone.",
  " [clone ",
];

// How much of a name the programmer wrote.
export function ownName(name: string): string {
  let own = name;
  for (const appended of APPENDED) {
    const at = own.indexOf(appended);
    if (at > 0)
      own = own.slice(0, at);
  }
  return own;
}

// The builds that both models have; of one model, every module is its own.
export interface Builds {
  of(model: Model, frame: number): string;
}

export function commonBuilds(a: Model, b: Model): Builds {
  const ids = (model: Model) => new Set(Array.from(model.builds, (id) => model.text[id]));
  const inA = ids(a);
  const inB = ids(b);
  const own = Array.from(a.modules, (_, module) => `#${module}`);
  return {
    of(model, frame) {
      const module = model.frames.module[frame];
      if (a === b)
        return own[module];
      const id = model.text[model.builds[module]];
      return id && inA.has(id) && inB.has(id) ? id : "";
    },
  };
}

export function matchKey(model: Model, frame: number, builds: Builds): MatchKey {
  const { frames, text } = model;
  const fn = frames.function[frame];
  const file = frames.file[frame];
  const build = fn || file ? "" : builds.of(model, frame);
  return {
    function: fn ? ownName(text[fn]) : "",
    file: file ? shortenPath(text[file]) : "",
    module: moduleName(model, frame),
    build,
    address: build ? frames.address[frame] : 0,
  };
}

// The file, crate or module of a frame. Code whose file or crate is not known goes by its module.
export function labelOf(model: Model, frame: number, group: "file" | "crate" | "module"): string {
  const { text, frames: { file, crate } } = model;
  if (group === "file" && file[frame])
    return shortenPath(text[file[frame]]);
  if (group === "crate" && crate[frame])
    return text[crate[frame]];
  return moduleName(model, frame);
}

// 0: the same place.
export function compareKeys(a: MatchKey, b: MatchKey): number {
  return compareText(a.function, b.function) || compareText(a.file, b.file) ||
    (a.file ? 0 : compareText(a.module, b.module)) || compareText(a.build, b.build) ||
    a.address - b.address;
}

// The same by function and the base name of the file: moved with its sources.
export function movedKey(key: MatchKey): string {
  return `${key.function}\0${key.file.slice(key.file.lastIndexOf("/") + 1)}`;
}

// The same by function and module: only one side was built with debug info.
export function bareKey(key: MatchKey): string {
  return `${key.function}\0${key.module}`;
}

export interface JoinedNames {
  after: Uint32Array; // per frame of each model
  before: Uint32Array;
  count: number;
}

const SPECIAL = FrameFlag.cut | FrameFlag.lost | FrameFlag.pages | FrameFlag.pruned;

// Names that frames of both models share, for a tree of the two.
export function joinNames(after: Model, before: Model, byLine: boolean): JoinedNames {
  const builds = commonBuilds(after, before);
  const ids = new Map<string, number[]>(); // frames by what they say; before's are below zero
  const add = (model: Model, frame: number, id: number) => {
    const key = matchKey(model, frame, builds);
    const line = byLine ? model.frames.line[frame] : 0;
    const text = [
      key.function, key.file, key.file ? "" : key.module, key.build, key.address, line,
      model.frames.flags[frame] & SPECIAL,
    ].join("\0");
    const held = ids.get(text);
    if (held)
      held.push(id);
    else
      ids.set(text, [id]);
  };
  for (let f = 0; f < after.frames.count; f++)
    add(after, f, f);
  for (let f = 0; f < before.frames.count; f++)
    add(before, f, -1 - f);
  const names = {
    after: new Uint32Array(after.frames.count), before: new Uint32Array(before.frames.count),
    count: ids.size + 1,
  };
  [...ids.keys()].sort(compareText).forEach((text, i) => {
    for (const id of ids.get(text)!)
      if (id >= 0)
        names.after[id] = i + 1;
      else
        names.before[-1 - id] = i + 1;
  });
  return names;
}
