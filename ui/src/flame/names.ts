// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a tree are called, in a box and in full, and which of the palette's colours
// they have. Labels are made when first drawn and kept: of a million nodes few are ever seen.
//
// Nodes of a diff may be of either of two models; the tree says which.

import { isLibrary, libraryOf } from "../engine/libraries.ts";
import { FrameFlag, Layer, type Model } from "../engine/model.ts";
import { frameText, modulePath, shortenPath } from "../engine/names.ts";
import { TERMS } from "../engine/terms.ts";
import type { Tree } from "../engine/tree.ts";
import { clean, cleanWithin } from "./clean.ts";
import { shortName, tailsOf, tellApart } from "../engine/shorten.ts";

export const N_COLOURS = 8;
export const N_TINTS = 3; // of each colour, so that functions of one crate are told apart, too

// What has a colour of its own.
export const colourings = ["crate", "module", "file", "own"] as const;
export type Colouring = (typeof colourings)[number];

export type FrameKind = "own" | "runtime" | "cut" | "lost" | "pages" | "pruned";

const SPECIAL: [number, FrameKind, string][] = [
  [FrameFlag.pruned, "pruned", TERMS.otherStacks.text],
  [FrameFlag.lost, "lost", TERMS.stackLost.text],
  [FrameFlag.cut, "cut", TERMS.framesCut.text],
  [FrameFlag.pages, "pages", TERMS.ownPages.text],
];

const FULL_NAME_MAX = 2000; // characters of a name in the document
const TOLD_MAX = 400; // of one that is long to be told apart
const WIDE_MAX = 200; // children of which one may have a label: narrower ones have no room

// Of one model, kept as long as it is.
class ModelNames {
  private readonly labels = new Map<number, string[]>();
  private readonly colours = new Map<Colouring, Uint8Array>(); // 255: not known yet

  constructor(readonly model: Model) {}

  labelsOf(frame: number): string[] {
    let labels = this.labels.get(frame);
    if (!labels) this.labels.set(frame, (labels = this.makeLabels(frame)));
    return labels;
  }

  private makeLabels(frame: number): string[] {
    const short = this.shortOf(frame);
    if (this.special(frame)) return [short];
    const address = short.lastIndexOf("+0x"); // of "libplugin.so+0x42" it says more than the rest
    if (this.model.frames.function[frame] || address < 0) return tailsOf(short);
    return [short, short.slice(address)];
  }

  shortOf(frame: number): string {
    const special = this.special(frame);
    if (special) return special[2];
    const text = frameText(this.model, frame);
    return clean(this.model.frames.function[frame] ? shortName(text) : text.slice(-200));
  }

  special(frame: number): [number, FrameKind, string] | undefined {
    const flags = this.model.frames.flags[frame];
    return SPECIAL.find(([flag]) => (flags & flag) !== 0);
  }

  // What a frame has its colour from: its crate; without one its source file, which is what C has
  // for it; without that its module. Or the latter two, or whose code it is.
  groupOf(frame: number, by: Colouring): string {
    const { text, frames } = this.model;
    if (by === "own") return frames.layer[frame] === Layer.own ? OWN_CODE : LIBRARIES;
    const crate = by === "crate" ? text[frames.crate[frame]] : "";
    const file = by === "module" ? "" : text[frames.file[frame]];
    const group = crate || file || modulePath(this.model, frame) || UNKNOWN_CODE;
    return group.slice(group.lastIndexOf("/") + 1);
  }

  // The same for all frames of a group. The tint is the function's.
  colourOf(frame: number, by: Colouring): number {
    let colours = this.colours.get(by);
    if (!colours)
      this.colours.set(by, (colours = new Uint8Array(this.model.frames.count).fill(255)));
    if (colours[frame] !== 255) return colours[frame];
    const tint = hashOf(frameText(this.model, frame)) % N_TINTS;
    return (colours[frame] = groupColour(this.groupOf(frame, by)) * N_TINTS + tint);
  }
}

const OWN_CODE = "own code";
const LIBRARIES = "libraries";
const UNKNOWN_CODE = "unknown code"; // in no file: the report's word for it

// One of the palette's; several groups may have the same.
export function groupColour(group: string): number {
  if (group === OWN_CODE) return 0;
  return group === LIBRARIES ? 4 : hashOf(group) % N_COLOURS;
}

const namesOf = new WeakMap<Model, ModelNames>();

function modelNames(model: Model): ModelNames {
  let names = namesOf.get(model);
  if (!names) namesOf.set(model, (names = new ModelNames(model)));
  return names;
}

export class TreeNames {
  private readonly sides: ModelNames[]; // after, before
  private readonly told = new Map<number, Map<number, string>>(); // by parent, by node

  constructor(
    readonly tree: Tree,
    models: readonly Model[], // that of the tree; of a diff, those after and before
    readonly rootLabel: string,
    readonly isCollapsed = false, // recursion is
    readonly colouring: Colouring = "crate",
  ) {
    this.sides = models.map(modelNames);
  }

  // All that fits into a wide box first, then shorter ones.
  labelsOf(node: number): readonly string[] {
    if (node === 0) return [this.rootLabel];
    const plain = this.of(node).labelsOf(this.frame(node));
    const told = this.toldApart(node);
    return told === null ? plain : [told, ...plain];
  }

  shortOf(node: number): string {
    if (node === 0) return this.rootLabel;
    return this.toldApart(node) ?? this.of(node).shortOf(this.frame(node));
  }

  // The name of a node that would look like another one beside it; null: it does not.
  private toldApart(node: number): string | null {
    const parent = this.tree.parent[node];
    let told = this.told.get(parent);
    if (!told) this.told.set(parent, (told = this.tellChildren(parent)));
    return told.get(node) ?? null;
  }

  private tellChildren(parent: number): Map<number, string> {
    const { tree } = this;
    const alike = new Map<string, number[]>();
    const least = tree.width(parent) / WIDE_MAX;
    for (let at = tree.firstChild[parent]; at < tree.firstChild[parent + 1]; at++) {
      if (tree.width(at) < least) continue;
      const label = this.of(at).labelsOf(this.frame(at))[0];
      const same = alike.get(label);
      if (same) same.push(at);
      else alike.set(label, [at]);
    }
    const told = new Map<number, string>();
    for (const [label, nodes] of alike)
      if (nodes.length > 1)
        tellApart(nodes.map((at) => this.textOf(at))).forEach((text, i) => {
          if (text !== label) told.set(nodes[i], cleanWithin(text, TOLD_MAX));
        });
    return told;
  }

  // For the document: bounded, and harmless. Not for comparing.
  fullOf(node: number): string {
    const special = node > 0 ? this.of(node).special(this.frame(node)) : undefined;
    return special ? special[2] : cleanWithin(this.textOf(node), FULL_NAME_MAX);
  }

  // As it is, for paths, patterns and copying.
  textOf(node: number): string {
    return node === 0 ? this.rootLabel : frameText(this.of(node).model, this.frame(node));
  }

  // "src/main.c:42"; "" when the file is not known.
  placeOf(node: number): string {
    const file = this.fileOf(node);
    const line = this.lineOf(node);
    return file ? cleanWithin(shortenPath(file), 300) + (line ? `:${line}` : "") : "";
  }

  fileOf(node: number): string {
    if (node === 0) return "";
    const { model } = this.of(node);
    return model.text[model.frames.file[this.frame(node)]];
  }

  lineOf(node: number): number {
    return this.tree.line(node);
  }

  // The library that it is of, or stands for; null: none.
  libraryOf(node: number): string | null {
    return node === 0 ? null : libraryOf(this.of(node).model, this.frame(node));
  }

  isLibrary(node: number): boolean {
    return node > 0 && isLibrary(this.of(node).model, this.frame(node));
  }

  moduleOf(node: number): string {
    return node === 0 ? "" : modulePath(this.of(node).model, this.frame(node));
  }

  kindOf(node: number): FrameKind {
    if (node === 0) return "own";
    const special = this.of(node).special(this.frame(node));
    if (special) return special[1];
    const layer = this.of(node).model.frames.layer[this.frame(node)];
    return layer >= Layer.folded ? "runtime" : "own";
  }

  isInlined(node: number): boolean {
    return this.hasFlag(node, FrameFlag.inlined);
  }

  isGuessed(node: number): boolean {
    return this.hasFlag(node, FrameFlag.guessed);
  }

  // A colour and its tint: 0 to N_COLOURS * N_TINTS - 1.
  colourOf(node: number): number {
    return this.of(node).colourOf(this.frame(node), this.colouring);
  }

  groupOf(node: number): string {
    return cleanWithin(this.of(node).groupOf(this.frame(node), this.colouring), 100);
  }

  private hasFlag(node: number, flag: number): boolean {
    return node > 0 && (this.of(node).model.frames.flags[this.frame(node)] & flag) !== 0;
  }

  private of(node: number): ModelNames {
    return this.tree.side(node) ? this.sides[1] : this.sides[0];
  }

  private frame(node: number): number {
    return this.tree.frame(node);
  }
}

// FNV-1a, with its high bits mixed in: the low ones alone choose a colour.
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  const n = Math.min(text.length, 400);
  for (let i = 0; i < n; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
