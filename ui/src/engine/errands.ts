// SPDX-License-Identifier: Apache-2.0
//
// What takes long, as errands that somebody else can run: a worker, so that the page never waits,
// or this thread where there is none. What is asked and what is answered is all here.
//
//  1. load     a packed or plain block      → what is needed of the block, what decoding made of
//                                             it, and the first picture of it
//  2. picture  stacks, and how to see them  → all that a tree of them needs, and unless nobody
//                                             will ask for it, a table
//
// An answer holds nothing that whoever asked could not find out by itself, by the same functions:
// it is put where they look first (keepFound), and what is missing there they make. So no number
// depends on whether there are workers. Nothing is kept between errands.

import { compacted } from "./compact.ts";
import { changedOf, type Changed } from "./curves.ts";
import { decodeKnown, type Known } from "./decode.ts";
import { siteKeys, type SiteKeys } from "./groups.ts";
import { makeView, type Blame, type Judged, type Look, type View } from "./look.ts";
import type { Model } from "./model.ts";
import { frameNames, keepNames, textRanks, type FrameNames } from "./names.ts";
import { skeletonInPieces, type Skeleton } from "./skeleton.ts";
import { keepSkeleton } from "./tree.ts";
import { keepTrie, narrowed, trieInPieces, type Trie } from "./trie.ts";
import { stretches, told, within, type Pieces } from "./pieces.ts";
import { unpacked, type Supply } from "./unpack.ts";

// Which stacks and frames, and in which direction.
export interface Picture {
  look: Look;
  inverted: boolean;
  byLine: boolean;
}

export interface Asked {
  load: { data: number | ArrayBuffer; picture: Picture }; // so many pieces come, or the block
  picture: { stacks: Stacks; picture: Picture; isTree: boolean }; // isTree: of a tree alone
}

export type ErrandKind = keyof Asked;
export type Errand<K extends ErrandKind = ErrandKind> = { kind: K; of: Asked[K] };

// What of a model a picture is made of.
export type Stacks = Pick<Model, "text" | "modules" | "frames" | "nodes" | "libraries"> & {
  facts: Pick<Model["facts"], "blame" | "pruned">;
  sites: Pick<Model["sites"], "count" | "node" | "kind">;
};

// What is known of a picture, of one view.
export interface Found {
  names: FrameNames;
  ranks: Uint32Array;
  trie: Trie;
  skeleton: Skeleton;
  judged: Judged;
  table: { blame: Blame; places: SiteKeys } | null;
}

export interface Loaded {
  block: ArrayBuffer;
  known: Known;
  changed: Changed; // what curves are made of
  found: Found;
}

export interface Answers {
  load: Loaded;
  picture: Found;
}

// What it is told: what to do, and then what it asks for.
export type Told = { errand: Errand } | { pieces: string[] };

// What a worker says: first that it is there, then how far it is (0 to 1), and the answer.
export type Said =
  | { is: "ready" }
  | { is: "more" } // pieces are wanted
  | { is: "at"; part: number }
  | { is: "done"; answer: Loaded | Found }
  | { is: "failed"; why: string };

// How much of the work is done when each of its parts is; a table comes last.
const NAMED = 0.05;
const READ = 0.4;
const ARRANGED = { tree: 0.9, all: 0.75 };

function find(
  view: View, { inverted, byLine }: Picture, isTree: boolean, tell: Tell,
): Found {
  const names = frameNames(view.model, byLine);
  tell(NAMED);
  const trie = told(within(trieInPieces(view, inverted, byLine), NAMED, READ), tell);
  tell(READ);
  const arranged = isTree ? ARRANGED.tree : ARRANGED.all;
  const skeleton = told(within(skeletonInPieces(trie), READ, arranged), tell);
  tell(arranged);
  return {
    names, ranks: textRanks(view.model), trie: narrowed(trie), skeleton, judged: view.judged,
    table: isTree ? null : { blame: view.blame, places: siteKeys(view, "place") },
  };
}

// Puts what was found of a picture where the engine looks for it.
export function keepFound(view: View, { inverted, byLine }: Picture, found: Found): void {
  const { table } = found;
  keepNames(view.model, byLine, found.names, found.ranks);
  keepTrie(view, inverted, byLine, found.trie);
  keepSkeleton(found.trie, found.skeleton);
  if (!table)
    return;
  view.blame = table.blame;
  siteKeys(view, "place", table.places);
}

// A copy, that can be given away: an array is sent with all of the block that it lies in.
export function* stacksOf(model: Model): Pieces<Stacks> {
  const { text, modules, libraries } = model;
  const { count, node, kind } = model.sites;
  return {
    text, modules: modules.slice(), libraries,
    frames: yield* copied(model.frames), nodes: yield* copied(model.nodes),
    facts: { blame: model.facts.blame, pruned: model.facts.pruned },
    sites: yield* copied({ count, node, kind }),
  };
}

function* copied<T extends object>(columns: T): Pieces<T> {
  const made: [string, unknown][] = [];
  for (const [key, column] of Object.entries(columns))
    made.push([key, ArrayBuffer.isView(column) ? yield* copyOf(column as Uint8Array) : column]);
  return Object.fromEntries(made) as T;
}

// Memory that nobody had before is slow to be written to.
function* copyOf(column: Uint8Array): Pieces<Uint8Array> {
  const copy = new (column.constructor as Uint8ArrayConstructor)(column.length);
  yield* stretches(column.length, (from, past) => copy.set(column.subarray(from, past), from),
    1 << 19);
  return copy;
}

type Tell = (part: number) => void;

async function load(
  { data, picture }: Asked["load"], tell: Tell, next: Supply["next"],
): Promise<Loaded> {
  const UNPACKING = 0.5; // of the time
  const block = typeof data === "number"
    ? await unpacked({ count: data, next }, (part) => tell(UNPACKING * part)) : data;
  const { model, known, places } = decodeKnown(block);
  tell(UNPACKING + 0.1);
  const view = makeView(model, picture.look);
  const found = find(view, picture, false, (part) => tell(UNPACKING + 0.1 + 0.3 * part));
  tell(UNPACKING + 0.4);
  const changed = changedOf(model);
  return { ...compacted(block, places, known), found, changed };
}

const runners: {
  [K in ErrandKind]: (of: Asked[K], tell: Tell, next: Supply["next"]) => Promise<Answers[K]>
} = {
  load,
  picture: async ({ stacks, picture, isTree }, tell) =>
    find(makeView(stacks as Model, picture.look), picture, isTree, tell),
};

// next: of a block that comes in pieces, those that follow.
export function run<K extends ErrandKind>(
  { kind, of }: Errand<K>, tell: Tell, next: Supply["next"] = () => [],
) {
  return runners[kind](of, tell, next);
}

// What an errand or an answer can give away, each once.
export function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): ArrayBuffer[] {
  if (ArrayBuffer.isView(value))
    found.add(value.buffer as ArrayBuffer);
  else if (value instanceof ArrayBuffer)
    found.add(value);
  else if (typeof value === "object" && value !== null && !Array.isArray(value))
    for (const one of Object.values(value))
      buffersOf(one, found);
  return [...found];
}
