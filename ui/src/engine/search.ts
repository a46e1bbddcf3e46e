// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a tree a pattern matches, and how much goes through any of them: every stack is
// counted once, however many of its frames match.

import { compilePattern, type View } from "./look.ts";
import type { Model } from "./model.ts";
import { frameText, modulePath, NONE } from "./names.ts";
import { atOnce, Few, PIECE, stretches, type Pieces } from "./pieces.ts";
import type { Tree } from "./tree.ts";

export interface Matches {
  nodes: Uint8Array; // per node of the tree: 1 where it matches
  count: number; // nodes that do
  total: number; // of the stacks through any of them
  before?: number; // of a diff
}

// With case only if the pattern has capitals, outside of escapes.
export function searchPattern(pattern: string): RegExp {
  const regex = compilePattern(pattern);
  return /[A-Z]/.test(pattern.replace(/\\./g, "")) ? regex : new RegExp(regex.source, "i");
}

const MATCHED = 1;
const UNMATCHED = 2;

// What a pattern says about frames. Each frame is looked at once, and each text once.
class Judge {
  private readonly texts = new Map<string, boolean>();
  private readonly frames: Uint8Array[]; // per view
  private readonly names: number[] = []; // where a name says it all

  constructor(
    private readonly tree: Tree,
    private readonly views: readonly View[],
    private readonly regex: RegExp,
  ) {
    this.frames = views.map((view) => new Uint8Array(view.model.frames.count));
  }

  // Frames of one name have the same function and file, but perhaps not the same module.
  get isByName(): boolean {
    const { modules, text } = this.views[0].model;
    return !this.tree.isDiff && !modules.some((path) => this.matches(text[path]));
  }

  // Names lie in the order of nodes, and frames do not.
  byName(node: number): boolean {
    const name = this.tree.name[node];
    this.names[name] ??= this.byFrame(node) ? MATCHED : UNMATCHED;
    return this.names[name] === MATCHED;
  }

  byFrame(node: number): boolean {
    const side = this.tree.side(node);
    const frame = this.tree.frame(node);
    const judged = this.frames[side];
    if (!judged[frame])
      judged[frame] = this.judge(this.views[side].model, frame) ? MATCHED : UNMATCHED;
    return judged[frame] === MATCHED;
  }

  private judge(model: Model, frame: number): boolean {
    return this.matches(frameText(model, frame)) ||
      this.matches(model.text[model.frames.file[frame]]) || this.matches(modulePath(model, frame));
  }

  private matches(text: string): boolean {
    let found = this.texts.get(text);
    if (found === undefined)
      this.texts.set(text, (found = text !== "" && this.regex.test(text)));
    return found;
  }
}

// views: that of the tree; of a diff, those after and before. The pattern is looked for in what a
// node says: function (or module and address), file, module. Throws on a pattern that is none.
export function search(tree: Tree, views: readonly View[], pattern: string): Matches {
  return atOnce(searchInPieces(tree, views, pattern));
}

const matchesOf = new Few<Tree, Matches>(1);

// Of what is asked again of the same tree, the same matches.
export function* searchInPieces(
  tree: Tree, views: readonly View[], pattern: string,
): Pieces<Matches> {
  const held = matchesOf.get(tree, pattern);
  if (held)
    return held;
  const matches = yield* makeMatches(tree, views, pattern);
  yield* widthsInPieces(tree, matches.nodes);
  return matchesOf.keep(tree, pattern, matches);
}

// Widths of the nodes before each one, and of those of them that match. They are whole numbers:
// sums of them are exact.
export interface Widths { all: Float64Array; matched: Float64Array }

const allOf = new WeakMap<Tree, Float64Array>();
const matchedOf = new WeakMap<Uint8Array, { tree: Tree; matched: Float64Array }>();

function* sumWidths(tree: Tree, matches: Uint8Array | null): Pieces<Float64Array> {
  const before = new Float64Array(tree.count + 1);
  yield* stretches(tree.count, (from, past) => {
    for (let node = from; node < past; node++)
      before[node + 1] = before[node] + (!matches || matches[node] ? tree.width(node) : 0);
  });
  return before;
}

function* widthsInPieces(tree: Tree, matches: Uint8Array): Pieces<Widths> {
  const all = allOf.get(tree) ?? (yield* sumWidths(tree, null));
  allOf.set(tree, all);
  const held = matchedOf.get(matches);
  const matched = held?.tree === tree ? held.matched : yield* sumWidths(tree, matches);
  matchedOf.set(matches, { tree, matched });
  return { all, matched };
}

export function widthsOf(tree: Tree, matches: Uint8Array): Widths {
  return atOnce(widthsInPieces(tree, matches));
}

function* makeMatches(tree: Tree, views: readonly View[], pattern: string): Pieces<Matches> {
  const judge = new Judge(tree, views, searchPattern(pattern));
  const { isByName } = judge;
  const nodes = new Uint8Array(tree.count);
  const isInside = new Uint8Array(tree.count); // it or a node above it matches
  const matches: Matches = { nodes, count: 0, total: 0 };
  let before = 0;
  yield* stretches(tree.count, (from, past) => {
    for (let i = Math.max(1, from); i < past; i++) {
      if (!tree.stacks(i))
        continue;
      const isMatch = isByName ? judge.byName(i) : judge.byFrame(i);
      const wasInside = isInside[tree.parent[i]];
      isInside[i] = isMatch || wasInside ? 1 : 0;
      if (!isMatch)
        continue;
      nodes[i] = 1;
      matches.count++;
      if (wasInside)
        continue;
      matches.total += tree.total(i);
      before += tree.isDiff ? tree.before(i) : 0;
    }
  });
  if (tree.isDiff)
    matches.before = before;
  return matches;
}

// Of a tree in which nothing is searched any more: as much again as the tree itself.
export function forgetMatches(tree: Tree): void {
  matchesOf.forget(tree);
  allOf.delete(tree);
}

// Per site, whether a frame that is shown of its stack matches.
export function searchSites(view: View, pattern: string): Uint8Array {
  return atOnce(searchSitesInPieces(view, pattern));
}

const foundOf = new Few<View, Uint8Array>(1);

export function* searchSitesInPieces(view: View, pattern: string): Pieces<Uint8Array> {
  return foundOf.get(view, pattern) ??
    foundOf.keep(view, pattern, yield* findSites(view, pattern));
}

function* findSites(view: View, pattern: string): Pieces<Uint8Array> {
  const { model, look } = view;
  const { nodes, sites } = model;
  const isMatch = frameMatcher(model, searchPattern(pattern));
  const found = new Uint8Array(sites.count);
  const isCut = look.focus.length + look.callers.length + look.callees.length > 0;
  const along = new Uint8Array(isCut ? 0 : nodes.count); // a node has what its parent has
  if (view.whole.prepareBlame)
    yield* view.whole.prepareBlame();
  yield* stretches(along.length, (from, past) => {
    for (let n = Math.max(1, from); n < past; n++) {
      const frame = nodes.frame[n];
      along[n] = along[nodes.parent[n]] ||
        Number(view.shows(frame) && isMatch(view.standsFor(frame)));
    }
  });
  yield* stretches(sites.count, (from, past) => {
    for (let i = from; i < past; i++) {
      if (!view.wanted[i])
        continue;
      const culprit = view.standsFor(view.culprit(i)); // shown even where all frames are folded
      found[i] = Number((!isCut && along[sites.node[i]]) ||
        (culprit !== NONE && isMatch(culprit)) || (isCut && view.framesOf(i).some(isMatch)));
    }
  }, isCut ? PIECE / 8 : PIECE);
  return found;
}

function frameMatcher(model: Model, regex: RegExp): (frame: number) => boolean {
  const judged = new Uint8Array(model.frames.count);
  const texts = new Map<string, boolean>();
  const matches = (text: string) => {
    let is = texts.get(text);
    if (is === undefined)
      texts.set(text, (is = text !== "" && regex.test(text)));
    return is;
  };
  return (frame) => {
    if (!judged[frame]) {
      const file = model.text[model.frames.file[frame]];
      const is = matches(frameText(model, frame)) || matches(file) ||
        matches(modulePath(model, frame));
      judged[frame] = is ? MATCHED : UNMATCHED;
    }
    return judged[frame] === MATCHED;
  };
}
