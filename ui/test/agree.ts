// SPDX-License-Identifier: Apache-2.0
//
// What the engine answers, in the words of the command's JSON: so that the two can be compared as
// they are.

import assert from "node:assert/strict";
import { classRange, LIFE_CLASS_LIVE, LIFE_CLASS_RESIZED } from "../src/engine/classes.ts";
import { tellFates } from "../src/engine/fate.ts";
import { group, groupRefusal } from "../src/engine/groups.ts";
import type { Group, GroupKind, GroupNumbers } from "../src/engine/groups.ts";
import { histogram } from "../src/engine/histograms.ts";
import { emptyLook, makeView, wantedWeight, type Look, type View } from "../src/engine/look.ts";
import {
  FrameFlag, Layer, liveBlocksAt, liveBytesAt, SiteKind, type Model,
} from "../src/engine/model.ts";
import { modulePath, NONE } from "../src/engine/names.ts";
import { threadKey, weighIn } from "../src/engine/narrow.ts";
import { NUMBERS } from "../src/engine/numbers.ts";
import { weigh, type Question } from "../src/engine/question.ts";
import { callText, rowOf } from "../src/engine/rows.ts";
import { waysOf, type Way } from "../src/engine/ways.ts";
import { buildTree, type Tree } from "../src/engine/tree.ts";
import type { Diff, DiffGroup, DiffPlace } from "../src/engine/diff.ts";
import { lifeCounts, sizeCounts } from "./report.ts";

// Which numbers an image has none of that lacks this, as docs/json.md says: they are left out.
const LACKING: Record<string, string[]> = {
  peak: ["peak_bytes", "peak_blocks", "own_max_bytes", "own_max_is_bound"],
  live: ["live_bytes", "live_blocks", "mean_age_ns"],
  total: ["allocations", "bytes", "frees", "freed_bytes", "own_max_bytes", "own_max_is_bound"],
  blocks: ["allocations", "frees", "live_blocks", "peak_blocks", "temporary", "mean_age_ns"],
  temporary: ["temporary", "temporary_bytes"],
  lifetimes: ["mean_life_ns", "mean_age_ns"],
  lifetime_histogram: ["lifetimes"],
  size_histogram: ["sizes"],
  resizes: ["resizes", "resized_old_bytes", "resized_new_bytes", "moved", "moved_bytes"],
  threads: ["foreign_frees", "thread_slots"],
  times: ["first_ns", "last_ns"],
};

function heldBy<T extends object>({ facts }: Model, members: T): T {
  const lacking = new Set(facts.image.lacks.flatMap((word) => LACKING[word] ?? []));
  // A capture of an older format, or one without samples or a reset.
  for (const { json, rule } of NUMBERS)
    if (json && (rule === "done" || json.startsWith("before_")) &&
        !((json === "bytes" ? "allocated_bytes" : json) in facts.totals))
      lacking.add(json);
  return Object.fromEntries(Object.entries(members).filter(([key]) => !lacking.has(key))) as T;
}

const textOf = (model: Model, string: number) => (string ? model.text[string] : null);

function frameOf(model: Model, f: number) {
  const { frames } = model;
  return {
    function: textOf(model, frames.function[f]), file: textOf(model, frames.file[f]),
    line: frames.line[f], module: modulePath(model, f),
    inlined: Boolean(frames.flags[f] & FrameFlag.inlined),
    folded: frames.layer[f] >= Layer.folded,
    library: frames.layer[f] === Layer.library,
    flags: [
      ...(frames.flags[f] & FrameFlag.guessed ? ["guessed"] : []),
      ...(frames.flags[f] & FrameFlag.cut ? ["cut"] : []),
    ],
  };
}

// A site as an unrolled report has it, without what the page does not keep per site. All of it but
// the weight is the same for every question.
export function siteJson(plain: View, weights: Float64Array, site: number) {
  const known = knownSites.get(plain) ?? [];
  knownSites.set(plain, known);
  known[site] ??= weightlessSite(plain, site);
  return { weight: weights[site], ...known[site] };
}

const knownSites = new WeakMap<View, ReturnType<typeof weightlessSite>[]>();

function weightlessSite(plain: View, site: number) {
  const { model } = plain;
  const { sites, nodes, frames, rows } = model;
  const stack: ReturnType<typeof frameOf>[] = [];
  let culprit: number | null = null;
  let via: number | null = null;
  for (let n = sites.node[site]; n; n = nodes.parent[n]) {
    const f = nodes.frame[n];
    if (frames.flags[f] & (FrameFlag.lost | FrameFlag.pages))
      continue;
    if (culprit === null && f === plain.culprit(site))
      culprit = stack.length;
    if (culprit === null && f === plain.via(site))
      via = stack.length; // the last one: the nearest
    stack.push(frameOf(model, f));
  }
  const { sizes, lifetimes } = histogram(model, [site]);
  const firstRow = rows.site.indexOf(site);
  let pastRow = firstRow; // they come by rising site
  while (rows.site[pastRow] === site)
    pastRow++;
  return heldBy(model, {
    kind: ["heap", "pages", "lost"][sites.kind[site]],
    call: sites.call[site] ? callText(model, sites.call[site]) : null,
    ...numbersJson(numbersOf(model, site), model),
    allocations: sites.nAlloc[site], own_max_bytes: sites.ownMax[site],
    own_max_is_bound: pastRow - firstRow > 1 || model.facts.image.merged,
    thread_slots: pastRow - firstRow,
    sizes: sizeCounts(sizes), lifetimes: lifeCounts(lifetimes),
    mean_life_ns: meanLife(model, sites.lifeNs[site], sites.nFree[site], lifetimes),
    mean_age_ns: meanAge(numbersOf(model, site)), frames: stack, culprit, via,
  });
}

function numbersOf({ sites }: Model, site: number): GroupNumbers {
  const columns = Object.entries(sites).filter(([, column]) => typeof column !== "number");
  return {
    ...Object.fromEntries(columns.map(([key, column]) => [key, column[site]])),
    liveBlocks: liveBlocksAt(sites, site),
    liveBytes: liveBytesAt(sites, site),
  } as GroupNumbers;
}

function meanLife(model: Model, lifeNs: number, nFree: number, lifetimes: Float64Array) {
  const ended = model.facts.image.lacks.includes("lifetime_histogram")
    ? nFree : lifetimes.reduce((sum, n) => sum + n, 0);
  return ended ? Math.floor(lifeNs / ended) : null;
}

function meanAge({ ageNs, liveBlocks }: GroupNumbers): number | null {
  return liveBlocks > 0 ? Math.floor(ageNs / liveBlocks) || null : null;
}

function numbersJson(g: GroupNumbers, model: Model) {
  const start = model.facts.image.start_ns; // the report counts from the start of the capture
  const numbers: Record<string, number> = { live_blocks: g.liveBlocks, live_bytes: g.liveBytes };
  for (const { key, json, rule } of NUMBERS)
    if (json)
      numbers[json] = rule === "done" || rule === "held" || !g.nAlloc ? g[key] : g[key] + start;
  return numbers;
}

function identityJson(model: Model, g: Group): Record<string, unknown> {
  if (g.kind === "thread") {
    const thread = g.number ? model.facts.threads[g.number] : undefined;
    return {
      thread: thread?.name || null, tid: thread?.tid ?? 0, owners: thread?.owners ?? 0,
      several: g.several,
    };
  }
  if (g.kind === "size" || g.kind === "lifetime") {
    const { least } = classRange(g.kind, g.number);
    const { most } = classRange(g.kind, g.several ? g.last : g.number);
    if (g.kind === "size")
      return { least_bytes: least, most_bytes: most, several: g.several };
    if (g.several)
      return { ending: null, least_ns: null, most_ns: null, several: true };
    const ending = g.number === LIFE_CLASS_LIVE ? "never"
      : g.number === LIFE_CLASS_RESIZED ? "resized" : "freed";
    return { ending, least_ns: least, most_ns: most, several: false };
  }
  const { frame } = g;
  if (g.kind === "call")
    return { call: callText(model, g.number) };
  const has = frame !== NONE;
  const id: Record<string, unknown> = {};
  const ofLine = g.kind === "place" || g.kind === "stack";
  if (ofLine || g.kind === "function")
    id.function = has ? textOf(model, model.frames.function[frame]) : null;
  if (ofLine || g.kind === "function" || g.kind === "file")
    id.file = has ? textOf(model, model.frames.file[frame]) : null;
  if (ofLine)
    id.line = has ? model.frames.line[frame] : 0;
  if (g.kind === "crate")
    id.crate = g.crate;
  id.module = has ? modulePath(model, frame) : null;
  return id;
}

function wayJson(model: Model, { frame, more }: Way) {
  if (frame === NONE)
    return null;
  const { function: fn, file, line } = model.frames;
  return {
    function: textOf(model, fn[frame]), file: textOf(model, file[frame]), line: line[frame],
    module: modulePath(model, frame), more,
  };
}

export function groupsJson(view: View, question: Question, kind: GroupKind) {
  const { model } = view;
  const groups = group(view, question, kind);
  tellFates(model, groups);
  return groups.items.map((g) => {
    const base = {
      ...identityJson(model, g), weight: g.weight, stacks: g.stacks, allocations: g.nAlloc,
    };
    if (kind === "size" || kind === "lifetime")
      return heldBy(model, base);
    if (kind === "thread")
      return heldBy(model, { ...base, ...numbersJson(g, model) });
    const { sizes, lifetimes } = histogram(model, g.sites);
    const ways = waysOf(view, question, g);
    return heldBy(model, {
      ...base,
      ...(kind !== "call" && {
        via: wayJson(model, ways.via), caller: wayJson(model, ways.caller),
      }),
      ...numbersJson(g, model),
      mean_life_ns: meanLife(model, g.lifeNs, g.nFree, lifetimes), mean_age_ns: meanAge(g),
      fate: g.fate, sizes: sizeCounts(sizes), lifetimes: lifeCounts(lifetimes),
    });
  });
}

export function sitesJson(view: View, question: Question) {
  const weights = weigh(view.model, question);
  const all = [];
  const plain = makeView(view.model, emptyLook); // whom a stack is blamed on, whatever is looked at
  for (let i = 0; i < view.model.sites.count; i++)
    if (view.wanted[i] || (!view.isFiltered && view.model.sites.kind[i] === SiteKind.pages))
      all.push(siteJson(plain, weights, i));
  return all;
}

// A node as an unrolled tree has it, with all below.
const DEPTH_MAX = 256; // of the command's

export function treeJson(model: Model, tree: Tree, node = 0): Record<string, unknown> {
  const { frames } = model;
  const f = tree.frame(node);
  const children: Record<string, unknown>[] = tree.depth(node) >= DEPTH_MAX ? []
    : tree.childrenByWeight(node).map((child) => treeJson(model, tree, child));
  const sums = { total: tree.total(node), self: tree.self(node), stacks: tree.stacks(node) };
  if (f === NONE)
    return { ...sums, children };
  const flags = frames.flags[f];
  if (flags & FrameFlag.lost)
    return {
      function: null, file: null, line: 0, module: "", folded: false, deep: 1, lost: true, ...sums,
      children,
    };
  return {
    function: textOf(model, frames.function[f]), file: textOf(model, frames.file[f]),
    line: tree.line(node), module: modulePath(model, f),
    ...(frames.function[f] || flags & FrameFlag.cut ? {}
      : { address: "0x" + frames.address[f].toString(16) }),
    ...(flags & FrameFlag.cut ? { cut: true } : {}),
    folded: frames.layer[f] >= Layer.folded, deep: tree.deep(node), ...sums, children,
  };
}

export function amountsJson({ before, after }: Pick<DiffPlace, "before" | "after">) {
  return {
    before_bytes: before.bytes, after_bytes: after.bytes, change_bytes: after.bytes - before.bytes,
    before_blocks: before.blocks, after_blocks: after.blocks,
    change_blocks: after.blocks - before.blocks,
    before_stacks: before.stacks, after_stacks: after.stacks,
  };
}

export function diffJson(before: Model, after: Model, diff: Diff, group: DiffGroup = "place") {
  return diff.places.map((place) => {
    const amounts = amountsJson(place);
    if (place.label !== null)
      return { change: place.change, kind: group, [group]: place.label, ...amounts };
    const isNew = place.afterFrame !== NONE || place.beforeFrame === NONE;
    const model = isNew ? after : before;
    const f = isNew ? place.afterFrame : place.beforeFrame;
    const has = f !== NONE;
    return {
      change: place.change, kind: place.kind,
      function: has ? textOf(model, model.frames.function[f]) : null,
      file: has ? textOf(model, model.frames.file[f]) : null,
      line: place.afterFrame !== NONE ? after.frames.line[place.afterFrame] : 0,
      before_line: place.beforeFrame !== NONE ? before.frames.line[place.beforeFrame] : 0,
      module: has ? modulePath(model, f) : null, ...amounts,
    };
  });
}

const SELECTED_MAX = 12; // rows of a table that are selected one after another

function narrowed(model: Model, row: Group): Partial<Look> | null {
  const { kind, number, several } = row;
  if (several || kind === "stack")
    return null;
  if (kind === "thread")
    return { thread: threadKey(model, number) };
  return kind === "size" || kind === "lifetime" ? { [kind]: number } : { row: rowOf(model, row) };
}

// Rows are the command's (groupsJson); selected, each is what it was, however it is looked at.
export function checkSelected(model: Model, question: Question, kind: GroupKind): void {
  if (groupRefusal(model, kind))
    return;
  const rows = group(makeView(model, emptyLook), question, kind).items;
  for (const row of rows.slice(0, SELECTED_MAX)) {
    const look = narrowed(model, row);
    if (!look || look.row === null)
      continue;
    const view = makeView(model, { ...emptyLook, ...look });
    const where = `${JSON.stringify(look)} ${JSON.stringify(question)}`;
    const weights = weighIn(view, question);
    assert.equal(wantedWeight(view, weights), row.weight, where);
    assert.equal(buildTree(view, weights, { inverted: false, byLine: false }).total(0), row.weight,
      `the tree of ${where}`);
    for (const by of ["place", "crate", "thread", "size", "lifetime"] as const) {
      if (groupRefusal(model, by))
        continue;
      const { items, rest } = group(view, question, by);
      const sum = items.reduce((n, one) => n + one.weight, rest.weight);
      assert.equal(sum, row.weight, `by ${by}: ${where}`);
      if (by === kind)
        assert.equal(items.length, row.weight ? 1 : 0, `by ${by}: ${where}`);
    }
  }
}
