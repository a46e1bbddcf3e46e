// SPDX-License-Identifier: Apache-2.0
//
// Which stacks a reader wants to see, and which of their frames. Whatever gathers stacks into rows
// or trees goes through a view, so that filters, focus and folding mean the same everywhere: the
// meaning of src/view/view.h and filter.h.
//
// A pattern is a regular expression of JavaScript, looked for anywhere in the text, with case; the
// command takes POSIX extended ones. For what people write (letters, . * + ? | ( ) [ ] ^ $ and
// their escapes) both mean the same; [[:digit:]] and the like are known here too; \d \w \b and
// look-around mean something here alone. A frame without a function is matched by its module's
// base name.
//
// The command takes one pattern of each kind. Several of function, file, module, focus, callers or
// callees are to be met each; of ignore and hide, any.
//
// A view keeps what it finds out about frames and stacks; questions change, and it stays.

import { standIns, withLibraries } from "./libraries.ts";
import { FrameFlag, Layer, SiteKind, type Model, type Nodes, type Sites } from "./model.ts";
import { moduleName, modulePath, NONE } from "./names.ts";
import { atOnce, Few, stretches, type Pieces } from "./pieces.ts";
import { callText, parseRow, rowText } from "./rows.ts";

export interface Look {
  allFrames: boolean; // fold nothing
  blame: "own" | "library" | null; // whom; null: as the data says
  function: string[]; // only stacks with a frame like this
  file: string[];
  module: string[];
  ignore: string[]; // no stack with such a function
  focus: string[]; // only stacks with such a function, seen from it inwards
  hide: string[]; // leave frames of such functions out
  callers: string[]; // only stacks with such a function, seen from the innermost one outwards
  callees: string[]; // as focus, by another name
  libraries: string[]; // shown as one frame each (libraries.ts)
  collapse: boolean; // in trees, neighbouring repetitions are one node, as in the command's
  row: string | null; // only stacks of this row of a table (rows.ts)
  rowBlame: "own" | "library" | null; // whom rows led with then; null: as the data says
  // Of each stack only what is known to be of this thread (threadKey) or class: see narrow.ts.
  thread: string | null;
  size: number | null;
  lifetime: number | null;
}

export type PatternKind =
  "function" | "file" | "module" | "ignore" | "focus" | "hide" | "callers" | "callees";

export const PATTERN_KINDS: readonly PatternKind[] = [
  "function", "file", "module", "ignore", "focus", "hide", "callers", "callees",
];

export const emptyLook: Look = {
  allFrames: false, blame: null, function: [], file: [], module: [], ignore: [], focus: [],
  hide: [], libraries: [],
  callers: [], callees: [], collapse: true, row: null, rowBlame: null,
  thread: null, size: null, lifetime: null,
};

// Whether stacks are let through in part only.
export function isNarrow({ thread, size, lifetime }: Look): boolean {
  return thread !== null || size !== null || lifetime !== null;
}

export interface View {
  readonly model: Model;
  readonly look: Look;
  readonly wanted: Uint8Array; // per site: of the heap (or lost), and let through
  readonly isFiltered: boolean;
  // The frames shown of a site's stack, innermost first. Folding leaves at least the culprit.
  framesOf(site: number): Uint32Array;
  // As framesOf(), into an array that the next call overwrites; returns how many, of the innermost
  // ones `most` at most.
  readFrames(site: number, most?: number): number;
  readonly read: Uint32Array;
  // Whether a frame is shown wherever it stands: neither folded nor hidden, and a frame at all.
  shows(frame: number): boolean;
  // Whether a node's is: one that is also within what is in focus, if anything is.
  showsNode(node: number): boolean;
  // Per node, the one from which on outwards all frames lie that a stack at it shows, that one's
  // among them; 0: no such node is known. So stacks with one such node show the same. Not of parts.
  // some: of these alone, which come by rising number with all that are above them.
  starts?(some?: Uint32Array): Pieces<Uint32Array>;
  // The frame shown in place of one: that of its library where that is one frame, else itself.
  standsFor(frame: number): number;
  // The frame a stack is blamed on, or NONE: of those shown when runtime frames are folded, whether
  // they are or not, the innermost of the user's own code, or else the innermost one.
  culprit(site: number): number;
  // The same as the rows of a kind have it: one that is told by function is its library's frame.
  leader(site: number, kind: string): number;
  // What own code called: the outermost frame of a library inside of it; NONE: none.
  via(site: number): number;
  // Of a culprit without a name, the nearest caller that has one; NONE: none.
  caller(site: number): number;
  // All three of all sites: found when first asked for, unless another view of the same gave them.
  blame: Blame;
  // Of a part of one (partOf): what it is a part of, and per site whether it is in it; else itself.
  readonly whole: View;
  readonly only: Uint8Array | null;
  prepareBlame?(): Pieces<void>;
  again?(): View; // not of parts
  readonly judged: Judged;
}

// What patterns and a row say about stacks and nodes: made elsewhere, it need not be made again.
export interface Judged {
  wanted: Uint8Array; // per site
  within: Uint8Array | null; // per node: in focus, or inside of what is; null: nothing is
}

export interface Blame {
  culprit: FrameOf;
  via: FrameOf;
  caller: FrameOf;
}

// Per site a frame, from 1; 0: none. In two bytes each where that is enough.
export type FrameOf = Uint16Array | Uint32Array;

export function frameIn(of: FrameOf, site: number): number {
  return (of[site] - 1) >>> 0; // NONE for none
}

const PATTERNS_MAX = 30; // bits of a number

// Beyond this a browser refuses, and not before it is used.
const PATTERN_LONGEST = 4000;
const EXACT_LONGEST = 1500;

const CLASSES: Record<string, string> = {
  alpha: "A-Za-z", digit: "0-9", alnum: "A-Za-z0-9", upper: "A-Z", lower: "a-z", space: "\\s",
  punct: "!-\\/:-@\\[-`{-~", xdigit: "0-9A-Fa-f", blank: " \\t",
};

export function compilePattern(pattern: string): RegExp {
  if (pattern.length > PATTERN_LONGEST)
    throw new Error(`a pattern of ${pattern.length} characters is too long`);
  const text = pattern.replace(/\[:(\w+):\]/g, (all, name: string) => CLASSES[name] ?? all);
  try {
    return new RegExp(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
    throw new Error(`“${pattern}” is no regular expression: ${why}`);
  }
}

// A pattern that matches one text and no other; of a very long one, those that begin as it does.
export function exactly(text: string): string {
  const isLong = text.length > EXACT_LONGEST;
  const kept = isLong ? text.slice(0, EXACT_LONGEST) : text;
  return "^" + kept.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") + (isLong ? "" : "$");
}

// Why a pattern is none; null: it is one.
export function patternRefusal(pattern: string): string | null {
  try {
    compilePattern(pattern);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

// Why a look cannot be had; null: it can. One pattern more fits, for whoever looks at one function.
export function lookRefusal(look: Look): string | null {
  const patterns = PATTERN_KINDS.flatMap((kind) => look[kind]);
  if (patterns.length >= PATTERNS_MAX)
    return `More than ${PATTERNS_MAX - 1} patterns at once: take some away.`;
  for (const pattern of patterns) {
    const why = patternRefusal(pattern);
    if (why)
      return why;
  }
  return null;
}

interface Filter {
  bits: Uint32Array; // per frame: the patterns it matches
  needed: number; // masks of patterns
  ignore: number;
  focus: number;
  hide: number;
  callers: number;
}

function makeFilter(model: Model, look: Look, stands: Uint32Array | null): Filter | null {
  const filter: Filter = {
    bits: new Uint32Array(model.frames.count), needed: 0, ignore: 0, focus: 0, hide: 0, callers: 0,
  };
  let bit = 0;
  for (const kind of PATTERN_KINDS)
    for (const pattern of look[kind]) {
      if (bit === PATTERNS_MAX)
        throw new Error(`more than ${PATTERNS_MAX} patterns at once`);
      const mask = 1 << bit++;
      judgeFrames(model, kind, compilePattern(pattern), mask, filter.bits);
      const isNamed = kind !== "file" && kind !== "module";
      for (let f = 0; stands && isNamed && f < stands.length; f++)
        filter.bits[f] |= filter.bits[stands[f]] & mask; // by its library's name, too
      if (kind === "ignore" || kind === "hide" || kind === "callers")
        filter[kind] |= mask;
      if (kind === "focus" || kind === "callees")
        filter.focus |= mask;
      if (kind !== "ignore" && kind !== "hide")
        filter.needed |= mask;
    }
  return bit ? filter : null;
}

const BLAME_FRAMES = 4; // looked at first: most stacks have their own code there

const NOT_FRAMES = FrameFlag.lost | FrameFlag.pages;
const NO_CODE = FrameFlag.cut | FrameFlag.pruned; // stands in for frames

// Frames where the innermost one that is shown is blamed: folded ones are not, and code without a
// name is told by its nearest caller that has one.
const [FOLDED, NAMED, NAMELESS, NO_CALLER, CUT] = [0, 1, 2, 3, 4];

// Each text is looked at once, however many frames have it.
function judgeFrames(
  model: Model, kind: PatternKind, regex: RegExp, mask: number, bits: Uint32Array,
): void {
  const { frames, text } = model;
  const known = new Map<string, boolean>();
  const matches = (subject: string) => {
    let found = known.get(subject);
    if (found === undefined)
      known.set(subject, (found = regex.test(subject)));
    return found;
  };
  for (let f = 0; f < frames.count; f++) {
    if (frames.flags[f] & (NOT_FRAMES | FrameFlag.pruned))
      continue;
    const file = frames.file[f];
    const fn = frames.function[f];
    const subject = kind === "file" ? (file ? text[file] : null)
      : kind === "module" ? modulePath(model, f)
        : fn ? text[fn] : moduleName(model, f);
    if (subject !== null && matches(subject))
      bits[f] |= mask;
  }
}

// The patterns that a frame matches where it counts.
function bitsOf({ frames }: Model, { bits }: Filter): Uint32Array {
  return bits.map((mask, f) => (frames.flags[f] & NOT_FRAMES ? 0 : mask));
}

// Along the way to each node, which of some patterns match: a node has all that its parent has.
function* along({ nodes }: Model, bits: Uint32Array): Pieces<Uint32Array> {
  const met = new Uint32Array(nodes.count);
  yield* stretches(nodes.count - 1, (from, past) => meet(met, nodes, bits, from + 1, past + 1));
  return met;
}

function meet(
  met: Uint32Array, { parent, frame }: Nodes, bits: Uint32Array, from: number, past: number,
): void {
  for (let n = from; n < past; n++)
    met[n] = met[parent[n]] | bits[frame[n]];
}

function markWith(
  are: Uint8Array, met: Uint32Array, mask: number, from: number, past: number,
): void {
  for (let n = from; n < past; n++)
    are[n] = met[n] & mask ? 1 : 0;
}

function* thoseWith(met: Uint32Array, mask: number): Pieces<Uint8Array> {
  const are = new Uint8Array(met.length);
  yield* stretches(met.length, (from, past) => markWith(are, met, mask, from, past));
  return are;
}

function letThrough(
  wanted: Uint8Array, { kind, node }: Sites, met: Uint32Array, { needed, ignore }: Filter,
  from: number, past: number,
): void {
  for (let i = from; i < past; i++) {
    const bits = met[node[i]];
    const isLeft = (needed & ~bits) === 0 && (bits & ignore) === 0;
    wanted[i] = kind[i] !== SiteKind.pages && isLeft ? 1 : 0;
  }
}

function* judgeSites(
  { sites }: Model, filter: Filter | null, met: Uint32Array | null,
): Pieces<Uint8Array> {
  const { count, kind } = sites;
  const wanted = new Uint8Array(count);
  yield* stretches(count, (from, past) => {
    if (filter && met)
      letThrough(wanted, sites, met, filter, from, past);
    else
      for (let i = from; i < past; i++)
        wanted[i] = kind[i] !== SiteKind.pages ? 1 : 0;
  });
  return wanted;
}

const wantedBy = new Few<Model, Uint8Array>(1);

// What patterns let through does not depend on the direction in which it is looked at.
function* judge(model: Model, look: Look, filter: Filter | null): Pieces<Judged> {
  const { file, module, ignore, libraries } = look;
  const named = [...look.function, ...look.focus, ...look.callers, ...look.callees].sort();
  const key = JSON.stringify([named, file, module, ignore, libraries]);
  const known = wantedBy.get(model, key);
  const met = filter && (!known || filter.focus)
    ? yield* along(model, bitsOf(model, filter)) : null;
  const wanted = known ?? wantedBy.keep(model, key, yield* judgeSites(model, filter, met));
  const within = filter?.focus ? yield* thoseWith(met!, filter.focus) : null;
  return { wanted: look.row === null ? wanted : wanted.slice(), within };
}

// By crate and module the question is whose code allocates, so unless somebody said whom to blame
// it is the library. What was gathered by place has no frames of libraries left.
export function blameByKind({ facts }: Model, kind: string): "own" | "library" {
  const isByPart = (kind === "crate" || kind === "module") && !facts.pruned?.by_place;
  return isByPart ? "library" : facts.blame;
}

// A row is what it was in the table it was chosen from, whomever others lead with.
function keepRow(model: Model, look: Look, row: string, wanted: Uint8Array): void {
  const { kind, text } = parseRow(row);
  if (kind === "call") {
    for (let i = 0; i < wanted.length; i++)
      wanted[i] &= Number(callText(model, model.sites.call[i]) === text);
    return;
  }
  const blame = look.rowBlame ?? blameByKind(model, kind);
  const whole = { thread: null, size: null, lifetime: null };
  const table = makeView(model, { ...look, ...whole, row: null, blame });
  const isOfRow = new Map<number, boolean>();
  for (let i = 0; i < wanted.length; i++) {
    if (!wanted[i])
      continue;
    const frame = table.leader(i, kind);
    let isWanted = isOfRow.get(frame);
    if (isWanted === undefined)
      isOfRow.set(frame, (isWanted = rowText(model, kind, frame) === text));
    wanted[i] = Number(isWanted);
  }
}

class StackView implements View {
  readonly whole = this;
  readonly only = null;
  readonly wanted: Uint8Array;
  readonly isFiltered: boolean;
  read: Uint32Array;
  private readonly filter: Filter | null;
  private readonly within: Uint8Array | null; // per node: in focus, or inside of what is
  private readonly ownFirst: boolean;
  private readonly stands: Uint32Array | null;
  private found: Blame | null = null;

  constructor(readonly model: Model, readonly look: Look, judged?: Judged) {
    this.stands = look.libraries.length ? standIns(model) : null;
    this.filter = makeFilter(model, look, this.stands);
    this.ownFirst = (look.blame ?? model.facts.blame) !== "library";
    this.isFiltered = this.filter !== null || look.row !== null || isNarrow(look);
    ({ wanted: this.wanted, within: this.within } = judged ??
      atOnce(judge(model, look, this.filter)));
    if (look.row !== null && !judged)
      keepRow(model, look, look.row, this.wanted);
    this.read = new Uint32Array(model.nodes.deepest + 1);
  }

  get judged(): Judged {
    return { wanted: this.wanted, within: this.within };
  }

  // Another view of the same, with all that this one found out.
  again(): View {
    const view = new StackView(this.model, this.look, this.judged);
    view.found = this.found;
    return view;
  }

  framesOf(site: number): Uint32Array {
    return this.read.slice(0, this.readFrames(site));
  }

  readFrames(site: number, most = Infinity): number {
    const stack = this.model.sites.node[site];
    const { stands, look: { allFrames } } = this;
    return !stands ? this.gather(stack, allFrames, most)
      : Math.min(most, this.together(this.gather(stack, allFrames, Infinity), stands));
  }

  // Of the frames read, those of a library that follow each other are one.
  private together(n: number, stands: Uint32Array): number {
    const { read } = this;
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const frame = stands[read[i]];
      if (frame === read[i] || !kept || read[kept - 1] !== frame)
        read[kept++] = frame;
    }
    return kept;
  }

  standsFor(frame: number): number {
    return this.stands && frame !== NONE ? this.stands[frame] : frame;
  }

  shows(frame: number): boolean {
    const { flags, layer } = this.model.frames;
    const bits = this.filter ? this.filter.bits[frame] : 0;
    const asked = this.filter ? this.filter.focus | this.filter.callers : 0;
    const isAsked = (bits & asked) !== 0;
    const isFolded = layer[frame] >= Layer.folded && !isAsked;
    return !(flags[frame] & NOT_FRAMES) && (this.look.allFrames || !isFolded) &&
      !(this.filter && bits & this.filter.hide);
  }

  showsNode(node: number): boolean {
    return (!this.within || this.within[node] !== 0) && this.shows(this.model.nodes.frame[node]);
  }

  *starts(some?: Uint32Array): Pieces<Uint32Array> {
    const { model: { nodes }, filter } = this;
    const [callers, hide] = [filter?.callers ?? 0, filter?.hide ?? 0];
    const starts = new Uint32Array(nodes.count);
    yield* stretches(some ? some.length : nodes.count - 1, (from, past) => {
      for (let i = from; i < past; i++) {
        const n = some ? some[i] : i + 1;
        const bits = callers ? filter!.bits[nodes.frame[n]] : 0;
        const isStart = callers ? (bits & callers) !== 0 : this.showsNode(n);
        // Where a callee is hidden, what is shown may depend on what is inside of it.
        starts[n] = !isStart ? starts[nodes.parent[n]] : bits & hide ? 0 : n;
      }
    });
    return starts;
  }

  get blame(): Blame {
    return this.found ?? atOnce(this.findBlame());
  }

  *prepareBlame(): Pieces<void> {
    if (!this.found)
      yield* this.findBlame();
  }

  set blame(found: Blame) {
    this.found = found;
  }

  culprit(site: number): number {
    return frameIn(this.blame.culprit, site);
  }

  leader(site: number, kind: string): number {
    const frame = this.culprit(site);
    return kind === "file" || kind === "crate" || kind === "module" ? frame : this.standsFor(frame);
  }

  via(site: number): number {
    return frameIn(this.blame.via, site);
  }

  caller(site: number): number {
    return frameIn(this.blame.caller, site);
  }

  private *findBlame(): Pieces<Blame> {
    const STACKS = 1 << 13;
    const { sites, frames } = this.model;
    const Column = frames.count < 1 << 16 ? Uint16Array : Uint32Array;
    const none = () => new Column(sites.count);
    const blame = { culprit: none(), via: none(), caller: none() };
    const kinds = this.ownFirst || this.filter ? null : this.frameKinds();
    yield;
    yield* stretches(sites.count, (from, past) => {
      for (let i = from; i < past; i++)
        if (sites.kind[i] === SiteKind.heap && !(kinds && this.blameInnermost(blame, i, kinds)))
          this.blameSite(blame, i);
    }, STACKS);
    return (this.found = blame);
  }

  private frameKinds(): Uint8Array {
    const { count, flags, layer, function: fn } = this.model.frames;
    const kinds = new Uint8Array(count);
    for (let f = 0; f < count; f++)
      kinds[f] = flags[f] & NOT_FRAMES || layer[f] >= Layer.folded ? FOLDED
        : flags[f] & FrameFlag.cut ? CUT : !fn[f] ? NAMELESS
          : flags[f] & FrameFlag.pruned ? NO_CALLER : NAMED;
    return kinds;
  }

  // As blameSite(), where the innermost frame is blamed and no filter says what is shown. False: it
  // is not to be told quickly.
  private blameInnermost(blame: Blame, site: number, kinds: Uint8Array): boolean {
    const { parent, frame } = this.model.nodes;
    let node = this.model.sites.node[site];
    while (node && kinds[frame[node]] === FOLDED)
      node = parent[node];
    const kind = kinds[frame[node]];
    if (!node || kind === CUT)
      return false;
    blame.culprit[site] = frame[node] + 1;
    if (kind !== NAMELESS)
      return true;
    do
      node = parent[node];
    while (node && kinds[frame[node]] !== NAMED);
    blame.caller[site] = node && frame[node] + 1;
    return true;
  }

  // Most often whom to blame is within a few frames, of stacks that may be tens of thousands deep.
  private blameSite(blame: Blame, site: number): void {
    for (let most = this.ownFirst ? BLAME_FRAMES : 1; ; most *= 16) {
      const n = this.gather(this.model.sites.node[site], false, most);
      if (this.blameWithin(blame, site, n) || n < most)
        return;
    }
  }

  // Of the frames shown, innermost first. Where a filter does not ask for them, runtime frames are
  // not among them unless there is nothing else. Says whether frames further out change nothing.
  private blameWithin(blame: Blame, site: number, n: number): boolean {
    const { flags, function: fn } = this.model.frames;
    const { read } = this;
    const notShown = this.filter ? 0 : FrameFlag.cut;
    let first = n, own = n, inside = NONE; // inside: the last frame before own code
    let isEnd = false;
    for (let i = 0; i < n && own === n && !isEnd; i++) {
      if (flags[read[i]] & notShown)
        continue;
      first = Math.min(first, i);
      if (flags[read[i]] & FrameFlag.pruned)
        isEnd = true; // what is outside of it is not all there is
      else if (this.isOwn(read[i]))
        own = i;
      else if (!(flags[read[i]] & NO_CODE))
        inside = read[i];
    }
    if (first === n)
      return false;
    const at = own < n && this.ownFirst ? own : first;
    blame.culprit[site] = read[at] + 1;
    if (at !== first)
      blame.via[site] = inside + 1; // NONE and one more is 0
    for (let i = at + 1; i < n && !fn[read[at]] && !blame.caller[site]; i++)
      if (fn[read[i]] && !(flags[read[i]] & NO_CODE))
        blame.caller[site] = read[i] + 1;
    return (own < n || isEnd || !this.ownFirst) &&
      (fn[read[at]] !== 0 || blame.caller[site] !== 0);
  }

  private isOwn(frame: number): boolean {
    const { layer, flags } = this.model.frames;
    return layer[frame] === Layer.own && !(flags[frame] & NO_CODE);
  }

  // Whom a stack is blamed on, whatever the filter shows; of frames that are all folded, the first
  // of the highest layer, or a named one of the same module further out.
  private blamed(stack: number): number {
    const { nodes, frames } = this.model;
    let held = NONE, library = NONE;
    for (let n = stack; n; n = nodes.parent[n]) {
      const f = nodes.frame[n];
      if (frames.flags[f] & (NOT_FRAMES | FrameFlag.cut))
        continue;
      if ((held !== NONE || library !== NONE) && frames.flags[f] & FrameFlag.pruned)
        continue; // who called it is not known
      if (frames.layer[f] === Layer.own || (frames.layer[f] === Layer.library && !this.ownFirst))
        return f;
      if (frames.layer[f] === Layer.library)
        library = library === NONE ? f : library;
      else if (held === NONE || frames.layer[held] < frames.layer[f] ||
          (frames.layer[held] === frames.layer[f] && !frames.function[held] &&
           frames.function[f] && frames.module[f] === frames.module[held]))
        held = f;
    }
    return library === NONE ? held : library;
  }

  // Of a deep stack no more is looked at than decides about its innermost frames.
  private gather(stack: number, allFrames: boolean, most: number): number {
    const { nodes, frames } = this.model;
    const { filter, read, within } = this;
    let n = 0, folded = 0, focusN = 0, hasCallee = filter === null || !filter.callers;
    for (let node = stack; node; node = nodes.parent[node]) {
      const isWithin = within === null || within[node] !== 0;
      if (isWithin && hasCallee && n >= most)
        return most;
      if (!isWithin && n && !filter!.callers)
        break;
      const f = nodes.frame[node];
      if (frames.flags[f] & NOT_FRAMES)
        continue;
      const bits = filter ? filter.bits[f] : 0;
      const inFocus = filter !== null && (bits & filter.focus) !== 0;
      const isCallee = filter !== null && (bits & filter.callers) !== 0;
      if (isCallee && !hasCallee) {
        n = folded = focusN = 0; // what is inside of it is not part of the picture
        hasCallee = true;
      }
      if (filter === null || !(bits & filter.hide)) {
        if (!allFrames && frames.layer[f] >= Layer.folded && !inFocus && !isCallee) {
          folded++;
        } else {
          read[n++] = f;
          folded = 0;
        }
      }
      if (inFocus)
        focusN = n;
    }
    if (focusN)
      n = focusN;
    if (n || !folded)
      return Math.min(n, most);
    const blamed = this.blamed(stack);
    if (blamed === NONE)
      return 0;
    read[0] = blamed;
    return 1;
  }
}

const plainViews = new WeakMap<Model, Map<string, View>>();

// Views without patterns are made once and kept, with all they found out. Throws, with what is
// wrong with it, on a pattern that is none. judged: of the same model and look.
export function makeView(ofModel: Model, look: Look, judged?: Judged): View {
  const model = withLibraries(ofModel, look.libraries);
  if (!isPlain(look))
    return new StackView(model, look, judged);
  const held = plainViews.get(model) ?? new Map<string, View>();
  plainViews.set(model, held);
  const key = `${look.allFrames} ${look.blame} ${look.collapse} ${look.libraries.length}`;
  const view = held.get(key) ?? new StackView(model, look, judged);
  held.set(key, view);
  return view;
}

const isPlain = (look: Look) =>
  look.row === null && !isNarrow(look) && !PATTERN_KINDS.some((kind) => look[kind].length);

// A view that nobody else has, of all stacks or by patterns. Throws as makeView() does.
export function* viewApart(model: Model, look: Look): Pieces<View> {
  if (isPlain(look))
    return makeView(model, look).again!();
  return new StackView(model, look, yield* judge(model, look, makeFilter(model, look, null)));
}

// Some of the stacks of a view, with the frames that it shows of them.
class PartView implements View {
  readonly model: Model;
  readonly look: Look;
  readonly wanted: Uint8Array;
  readonly isFiltered = true;

  constructor(readonly whole: View, readonly only: Uint8Array) {
    this.model = whole.model;
    this.look = whole.look;
    this.wanted = new Uint8Array(only.length);
    for (let site = 0; site < only.length; site++)
      this.wanted[site] = whole.wanted[site] & only[site];
  }

  get read() { return this.whole.read; }
  get judged() { return this.whole.judged; }
  get blame() { return this.whole.blame; }
  set blame(found: Blame) { this.whole.blame = found; }
  framesOf(site: number) { return this.whole.framesOf(site); }
  readFrames(site: number, most?: number) { return this.whole.readFrames(site, most); }
  shows(frame: number) { return this.whole.shows(frame); }
  showsNode(node: number) { return this.whole.showsNode(node); }
  standsFor(frame: number) { return this.whole.standsFor(frame); }
  culprit(site: number) { return this.whole.culprit(site); }
  leader(site: number, kind: string) { return this.whole.leader(site, kind); }
  via(site: number) { return this.whole.via(site); }
  caller(site: number) { return this.whole.caller(site); }
}

const parts = new WeakMap<View, WeakMap<Uint8Array, View>>();

// only: per site whether it is left; null: all of them are.
export function partOf(view: View, only: Uint8Array | null): View {
  if (!only)
    return view;
  const ofView = parts.get(view) ?? new WeakMap<Uint8Array, View>();
  parts.set(view, ofView);
  const part = ofView.get(only) ?? new PartView(view, only);
  ofView.set(only, part);
  return part;
}

// Which stacks are let through: what else a look says changes only how they are seen, or how much
// of each.
const JUDGING: readonly (keyof Look)[] = [...PATTERN_KINDS, "libraries", "row", "rowBlame"];

// A view that looks differently at the same stacks.
export function otherView(view: View, change: Partial<Look>): View {
  const isSame = !JUDGING.some((key) => key in change);
  const other = makeView(view.model, { ...view.look, ...change }, isSame ? view.judged : undefined);
  return partOf(other, view.only);
}

// Weights as they are, or those of the part alone.
export function weightsLeft({ only }: View, weights: Float64Array): Float64Array {
  return only ? weights.map((weight, site) => (only[site] ? weight : 0)) : weights;
}

const wantedOf = new WeakMap<Float64Array, WeakMap<View, number>>();

// The weight of what a view lets through.
export function wantedWeight(view: View, weights: Float64Array): number {
  const ofWeights = wantedOf.get(weights) ?? new WeakMap<View, number>();
  wantedOf.set(weights, ofWeights);
  const sum = ofWeights.get(view) ?? sumOfWanted(view, weights);
  ofWeights.set(view, sum);
  return sum;
}

function sumOfWanted(view: View, weights: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++)
    if (view.wanted[i])
      sum += weights[i];
  return sum;
}
