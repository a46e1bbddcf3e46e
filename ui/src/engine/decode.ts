// SPDX-License-Identifier: Apache-2.0
//
// From the block of bytes that docs/page-data.md describes to a model. The block is data: whatever
// is wrong with it, the reader hears one sentence, and nothing behind it sees a bad index.

import { CellSites, knownSites } from "./cells.ts";
import type {
  Cells, Column, Facts, Held, Histograms, Model, Numbers, Rows, RssKinds, Sites, Snapshots,
} from "./model.ts";
import { NUMBERS, numbersOf } from "./numbers.ts";

const MAGIC = "TidePage";
const SCHEMA = "tidemark-page-2";
const BUCKETS_N = 80;

type ColumnKind = new (buffer: ArrayBuffer, offset: number, count: number) => Cells;

const COLUMN_KINDS: Record<string, ColumnKind> = {
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array,
  i8: Int8Array, i16: Int16Array, i32: Int32Array, f64: Float64Array,
};
export const ELEMENT_BYTES: Record<string, number> = {
  u8: 1, u16: 2, u32: 4, i8: 1, i16: 2, i32: 4, f64: 8,
};

export interface Place { type: string; offset: number; count: number }

function fail(what: string): never {
  throw new Error(`the page's data is damaged: ${what}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkTold(told: unknown): void {
  const isSentence = (one: unknown) =>
    isObject(one) && typeof one.text === "string" && typeof one.kind === "string";
  if (!isObject(told) || !Array.isArray(told.title) || !Array.isArray(told.sentences) ||
      !told.sentences.every(isSentence))
    fail("its facts do not say what happened");
}

function checkResidence(residence: unknown): void {
  const isLine = (one: unknown) =>
    isObject(one) && Number.isFinite(one.bytes) && typeof one.words === "string";
  const areLines = (all: unknown) => Array.isArray(all) && all.every(isLine);
  const isList = (one: unknown) => isObject(one) && areLines(one.lines);
  const isColumn = (all: unknown, steps: unknown) =>
    Array.isArray(all) && Array.isArray(steps) && all.length === steps.length &&
    all.every(Number.isFinite);
  const isMap = (one: unknown) =>
    isObject(one) && Number.isFinite(one.bucket_bytes) &&
    [one.live, one.free, one.pinned, one.step].every((all) => isColumn(all, one.step));
  const isTable = (one: unknown) =>
    isObject(one) && Number.isFinite(one.time_ns) && areLines(one.rows) && isLine(one.sum) &&
    Array.isArray(one.parts) && one.parts.every(Number.isFinite) &&
    Array.isArray(one.notes) && Array.isArray(one.lists) && one.lists.every(isList) &&
    (one.map === null || isMap(one.map));
  const lists = ["tables", "parts", "choices", "map_words", "grown"];
  if (!isObject(residence) || !lists.every((key) => Array.isArray(residence[key])) ||
      !areLines(residence.grown) ||
      !(residence.tables as unknown[]).every(isTable))
    fail("its facts do not say where the memory was");
}

function checkFindings(findings: unknown): void {
  const isFinding = (one: unknown) =>
    isObject(one) &&
    ["kind", "heading", "sentence", "advice", "see"].every((key) => typeof one[key] === "string");
  if (!isObject(findings) || !Array.isArray(findings.list) || !findings.list.every(isFinding))
    fail("its facts do not say what was found");
}

// Only what the engine itself relies on: everything else is shown as it is.
function checkFacts(facts: Record<string, unknown>): void {
  const objects = ["capture", "image", "totals", "pages", "completeness", "host", "has",
    "verdict", "columns", "words"];
  for (const key of objects)
    if (!isObject(facts[key]))
      fail(`its facts have no "${key}"`);
  for (const key of ["images", "threads", "marks", "unrecorded", "wrappers"])
    if (!Array.isArray(facts[key]))
      fail(`its facts have no list "${key}"`);
  if (!Array.isArray((facts.words as Record<string, unknown>).calls))
    fail("its facts do not name the calls of allocators");
  for (const told of [facts.verdict, facts.verdict_so_far ?? facts.verdict])
    checkTold(told);
  checkResidence(facts.residence);
  checkFindings(facts.findings);
  const image = facts.image as Record<string, unknown>;
  if (!Array.isArray(image.lacks) || !Array.isArray(image.command))
    fail("its facts do not say what the image lacks");
}

function readFacts(bytes: Uint8Array): Facts & { columns: Record<string, Place> } {
  if (bytes.length < 12 || new TextDecoder("latin1").decode(bytes.subarray(0, 8)) !== MAGIC)
    throw new Error("this is not the data of a page: it does not begin with TidePage");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  if (12 + length > bytes.length)
    fail("it ends within its facts");
  let facts: unknown;
  try {
    facts = JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + length)));
  } catch {
    fail("its facts are no JSON");
  }
  if (!isObject(facts))
    fail("its facts are no object");
  if (facts.schema !== SCHEMA)
    throw new Error(`the page reads ${SCHEMA}, and this is ${String(facts.schema)}: ` +
      "write it again with the command the page came with");
  checkFacts(facts);
  return facts as unknown as Facts & { columns: Record<string, Place> };
}

// What decoding made of a block: whoever has it need neither check the block again nor make it.
export interface Known {
  made: Record<string, Uint8Array | Uint16Array | Uint32Array>;
  places: Record<string, Place> | null; // of columns, where they are not as the facts say
}

const nothings = new WeakSet<Column>();

// Is a column known to hold nothing but 0?
export const isNothing = (column: Column): boolean => nothings.has(column);

class Columns {
  readonly made: Known["made"] = {};
  private readonly places: Record<string, Place>;
  private zeros = new Uint32Array(0);

  constructor(
    private readonly bytes: Uint8Array,
    places: Record<string, Place>,
    private readonly known: Known | null,
  ) {
    this.places = known?.places ?? places;
  }

  get isChecked(): boolean {
    return this.known !== null;
  }

  make<T extends Uint8Array | Uint16Array | Uint32Array>(name: string, make: () => T): T {
    const array = this.madeOf<T>(name) ?? make();
    this.made[name] = array;
    return array;
  }

  private madeOf<T>(name: string): T | undefined {
    return this.known?.made[name] as T | undefined;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.places, name) || this.madeOf(name) !== undefined;
  }

  get(name: string, count?: number): Cells {
    if (!Object.hasOwn(this.places, name))
      fail(`there is no column ${name}`);
    const place = this.places[name];
    const kind = isObject(place) ? COLUMN_KINDS[place.type] : undefined;
    if (!kind)
      fail(`column ${name} is of no known type`);
    const { offset, count: found } = place;
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(found) || offset < 12 || found < 0 ||
        offset % 8 || offset + found * ELEMENT_BYTES[place.type] > this.bytes.length)
      fail(`column ${name} lies outside of the block`);
    if (count !== undefined && found !== count)
      fail(`column ${name} has ${found} values and not ${count}`);
    return new kind(this.bytes.buffer as ArrayBuffer, this.bytes.byteOffset + offset, found);
  }

  numbers(name: string, count?: number): Float64Array {
    const column = this.cells(name, count);
    return column instanceof Float64Array ? column : new Float64Array(column);
  }

  // What is wrong is found now, and room is taken when they are asked for: none for what is there
  // already, and once for all columns of nothing but 0.
  later(name: string, count: number): () => Column {
    const column = this.cells(name, count);
    return () => column instanceof Float64Array || column instanceof Uint32Array ? column
      : column.every((n) => n === 0) ? this.nothing(count)
        : column instanceof Uint8Array || column instanceof Uint16Array ? new Uint32Array(column)
          : new Float64Array(column);
  }

  private nothing(count: number): Uint32Array {
    if (this.zeros.length !== count)
      nothings.add(this.zeros = new Uint32Array(count));
    return this.zeros;
  }

  // As numbers(), as narrow as they are: for columns of which there is far more than of all else.
  cells(name: string, count?: number): Cells {
    const column = this.get(name, count);
    for (let i = 0; column instanceof Float64Array && !this.isChecked && i < column.length; i++)
      if (!Number.isFinite(column[i]))
        fail(`column ${name} holds what is no number`);
    return column;
  }

  // Values from 0 to 2^32 - 1. Columns come in many types: loops are quick over one of them.
  whole(name: string, count?: number): Uint32Array {
    const made = this.madeOf<Uint32Array>(name);
    if (made)
      return made;
    const column = this.get(name, count);
    return column instanceof Uint32Array ? column
      : this.make(name, () => this.widened(name, column));
  }

  // As whole(), for what something else is made of.
  passing(name: string): Uint32Array {
    const column = this.get(name);
    return column instanceof Uint32Array ? column : this.widened(name, column);
  }

  // As whole(), where two bytes may do.
  narrow(name: string, count: number): Uint16Array | Uint32Array {
    const column = this.madeOf(name) ?? this.get(name, count);
    return column instanceof Uint16Array ? column : this.whole(name, count);
  }

  // As whole(), as narrow as they are.
  narrowest(name: string, count?: number): Uint8Array | Uint16Array | Uint32Array {
    const column = this.madeOf<Uint32Array>(name) ?? this.get(name, count);
    const isWhole = column instanceof Uint8Array || column instanceof Uint16Array;
    return isWhole ? column : this.whole(name, count);
  }

  private widened(name: string, column: Cells): Uint32Array {
    const isWhole = column instanceof Uint8Array || column instanceof Uint16Array;
    for (let i = 0; !isWhole && i < column.length; i++)
      if (!(column[i] >= 0 && column[i] < 2 ** 32))
        fail(`column ${name} holds ${column[i]}`);
    return new Uint32Array(column);
  }

  // Values that stand for something there are `limit` of.
  indexes(name: string, limit: number, count?: number): Uint32Array {
    const column = this.whole(name, count);
    for (let i = 0; !this.isChecked && i < column.length; i++)
      if (column[i] >= limit)
        fail(`column ${name} holds ${column[i]}, and there are ${limit}`);
    return column;
  }

  // As indexes(), for columns of small numbers.
  small(name: string, limit: number, count?: number): Uint8Array {
    const made = this.madeOf<Uint8Array>(name);
    if (made)
      return made;
    const column = this.get(name, count);
    for (let i = 0; !this.isChecked && i < column.length; i++)
      if (!(column[i] >= 0 && column[i] < limit))
        fail(`column ${name} holds ${column[i]}, and there are ${limit}`);
    return column instanceof Uint8Array ? column : this.make(name, () => new Uint8Array(column));
  }

  // Where things end: never falling, the last one at `end` when that is known.
  ends(name: string, limit: number): Uint32Array {
    const ends = this.indexes(name, limit + 1);
    for (let i = 1; !this.isChecked && i < ends.length; i++)
      if (ends[i] < ends[i - 1])
        fail(`column ${name} falls`);
    return ends;
  }
}

const makers = new WeakMap<object, Map<PropertyKey, () => unknown>>();
const getters = new Map<PropertyKey, (this: object) => unknown>();

// One for all models: engines take objects for of one kind whose getters are the same, and of
// another kind each every member is looked up by its name, in every loop.
function getterOf(key: PropertyKey): (this: object) => unknown {
  const getter = getters.get(key) ?? function (this: object) {
    const ofObject = makers.get(this)!;
    const value = ofObject.get(key)!();
    ofObject.delete(key);
    Object.defineProperty(this, key, { value, enumerable: true, configurable: true });
    return value;
  };
  getters.set(key, getter);
  return getter;
}

// A member that is made when somebody first reads it: most of a large block nobody ever looks at.
function put<T extends object, K extends keyof T>(object: T, key: K, make: () => T[K]): void {
  const ofObject = makers.get(object) ?? new Map<PropertyKey, () => unknown>();
  makers.set(object, ofObject);
  ofObject.set(key, make);
  Object.defineProperty(object, key, { get: getterOf(key), enumerable: true, configurable: true });
}

// Where all is ASCII, which is most often, bytes and characters are the same and one go does.
function readTexts(columns: Columns): string[] {
  const bytes = new Uint8Array(columns.get("text"));
  const ends = columns.ends("text_end", bytes.length);
  if (!ends.length || ends[0] !== 0)
    fail("its first text is not empty");
  const decoder = new TextDecoder();
  const all = decoder.decode(bytes);
  const texts: string[] = new Array(ends.length);
  const isPlain = all.length === bytes.length;
  for (let i = 0, from = 0; i < ends.length; from = ends[i++])
    texts[i] = isPlain ? all.slice(from, ends[i]) : decoder.decode(bytes.subarray(from, ends[i]));
  return texts;
}

function parentsOf(up: Uint32Array): Uint32Array {
  for (let i = 1; i < up.length; i++)
    if (!(up[i] >= 1 && up[i] <= i))
      fail(`node ${i} hangs at no node before it`);
  return up.map((n, i) => (i ? i - n : 0));
}

function deepestOf(parent: Uint32Array): number {
  const depth = new Uint32Array(parent.length);
  let deepest = 0;
  for (let i = 1; i < parent.length; i++)
    deepest = Math.max(deepest, depth[i] = depth[parent[i]] + 1);
  return deepest;
}

function readNodes(columns: Columns, nFrames: number): Model["nodes"] {
  const parent = columns.make("node_parent", () => parentsOf(columns.passing("node_up")));
  const count = parent.length;
  const frame = columns.narrow("node_frame", count);
  if (!count)
    fail("its tree of stacks has no root");
  for (let i = 1; !columns.isChecked && i < count; i++)
    if (frame[i] >= nFrames)
      fail(`node ${i} has no frame`);
  const [deepest] = columns.make("node_deepest", () => Uint32Array.of(deepestOf(parent)));
  return { count, parent, frame, deepest };
}

const SUMS = numbersOf("done", "held");

function readRows(columns: Columns, nSites: number, nThreads: number): Rows {
  const site = columns.indexes("row_site", nSites);
  const count = site.length;
  const thread = columns.narrowest("row_thread", count);
  for (let i = 0; !columns.isChecked && i < count; i++)
    if (thread[i] >= Math.max(1, nThreads))
      fail(`column row_thread holds ${thread[i]}, and there are ${nThreads}`);
  const rows = { count, site, thread } as Rows;
  for (let i = 1; !columns.isChecked && i < count; i++)
    if (site[i] < site[i - 1])
      fail("its rows are out of order");
  for (const { key, column } of NUMBERS)
    put(rows, key, columns.later(column, count));
  return rows;
}

function sumRows(site: Uint32Array, values: Column, nSites: number): Float64Array {
  const sums = new Float64Array(nSites);
  for (let i = 0; i < site.length; i++)
    sums[site[i]] += values[i];
  return sums;
}

// Alone, a row may be below zero where one thread frees what another allocated.
const notBelowZero = (ages: Column): Column =>
  ages.some((age) => age < 0) ? ages.map((age) => Math.max(0, age)) : ages;

// Where every site has one row, as with one thread, they are the same numbers.
function addUp(columns: Columns, rows: Rows, sites: Sites): void {
  const { site } = rows;
  const isEach = () => rows.count === sites.count && site.every((one, i) => one === i);
  const isOne = columns.make("row_is_site", () => Uint8Array.of(Number(isEach())))[0] === 1;
  const sum = (key: keyof Numbers) => isOne ? rows[key] : sumRows(site, rows[key], sites.count);
  for (const key of SUMS)
    put(sites, key, () => key === "ageNs" ? notBelowZero(sum(key)) : sum(key));
  const times = (ns: Column, pick: (a: number, b: number) => number) =>
    isOne && rows.nAlloc.every((n, i) => n > 0 || ns[i] === 0) ? ns
      : timesOf(rows, ns, sites.count, pick);
  put(sites, "firstNs", () => times(rows.firstNs, Math.min));
  put(sites, "lastNs", () => times(rows.lastNs, Math.max));
}

function timesOf(
  rows: Rows, ns: Column, nSites: number, pick: (a: number, b: number) => number,
): Float64Array {
  const { site, nAlloc } = rows;
  const times = new Float64Array(nSites);
  const seen = new Uint8Array(nSites);
  for (let i = 0; i < ns.length; i++) {
    if (!nAlloc[i])
      continue;
    times[site[i]] = seen[site[i]] ? pick(times[site[i]], ns[i]) : ns[i];
    seen[site[i]] = 1;
  }
  return times;
}

function readSnapshots(columns: Columns, nSites: number): Snapshots {
  const ns = columns.numbers("snap_ns");
  const step = columns.narrowest("cell_step");
  const nCells = step.length;
  const end = columns.ends("snap_end", nCells);
  const count = ns.length;
  if (end.length !== count || (count ? end[count - 1] : 0) !== nCells)
    fail("its snapshots do not share out their cells");
  const known = columns.make("cell_known", () => knownSites(step, end, nSites, (site, before) =>
    fail(`a snapshot has site ${site} after ${before}, and there are ${nSites}`)));
  const kind = columns.small("snap_kind", 3, count);
  const cells = (name: string) => columns.cells(`cell_${name}`, nCells);
  return {
    count, ns, end, site: new CellSites(step, end, known), kind,
    bytes: cells("bytes"), blocks: cells("blocks"),
    nAlloc: cells("n_alloc"), bAlloc: cells("b_alloc"),
  };
}

// Captures of before have none, and say so in their facts.
function readLateFrees(columns: Columns, nSites: number, nSnapshots: number): Model["lateFrees"] {
  const has = columns.has("late_site");
  const site = has ? columns.indexes("late_site", nSites) : new Uint32Array(0);
  const count = site.length;
  const get = (name: string) => has ? columns.numbers(name, count) : new Float64Array(0);
  const at = (name: string) =>
    has ? columns.indexes(name, nSnapshots, count) : new Uint32Array(0);
  const freed = at("late_freed");
  for (let i = 1; !columns.isChecked && i < count; i++)
    if (freed[i] < freed[i - 1])
      fail("its late frees are out of order");
  return {
    count, site, born: at("late_born"), freed,
    bytes: get("late_bytes"), blocks: get("late_blocks"),
  };
}

// Where each site's are.
function startsOf(site: Uint32Array, nSites: number): Uint32Array {
  const first = new Uint32Array(nSites + 1);
  for (let i = 0; i < site.length; i++) {
    if (site[i] >= nSites)
      fail(`column hist_site holds ${site[i]}, and there are ${nSites}`);
    first[site[i] + 1]++;
  }
  for (let i = 0; i < nSites; i++)
    first[i + 1] += first[i];
  return first;
}

// By rising site; empty: they are.
function orderOf(site: Uint32Array, first: Uint32Array): Uint32Array {
  if (site.every((one, i) => !i || site[i - 1] <= one))
    return new Uint32Array(0);
  const next = first.slice();
  const order = new Uint32Array(site.length);
  for (let i = 0; i < site.length; i++)
    order[next[site[i]]++] = i;
  return order;
}

function readHistograms(columns: Columns, nSites: number): Model["histograms"] {
  const site = () => columns.passing("hist_site");
  const first = columns.make("hist_first", () => startsOf(site(), nSites));
  const count = first[nSites];
  const bucket = columns.small("hist_bucket", BUCKETS_N, count);
  const order = columns.make("hist_order", () => orderOf(site(), first));
  const histograms = { count, first, order: order.length ? order : null, bucket } as Histograms;
  put(histograms, "number", columns.later("hist_count", count));
  return histograms;
}

function readTicks(columns: Columns): Model["ticks"] {
  const ns = columns.numbers("tick_ns");
  const count = ns.length;
  const get = (name: string) => columns.numbers(`tick_${name}`, count);
  return {
    count, ns,
    liveBytes: get("live_bytes"), liveBlocks: get("live_blocks"), nAlloc: get("n_alloc"),
    bAlloc: get("b_alloc"), nFree: get("n_free"), rss: get("rss"), pageBytes: get("page_bytes"),
  };
}

function readRssKinds(columns: Columns): RssKinds {
  const ns = columns.numbers("kind_ns");
  const get = (name: string) => columns.numbers(`kind_${name}`, ns.length);
  if (ns.some((at, i) => i > 0 && at < ns[i - 1]))
    fail("its looks at the RSS are out of order");
  return {
    ns, anonymous: get("anonymous"), files: get("files"), shared: get("shared"),
    swapped: get("swapped"),
  };
}

function readHeld(columns: Columns, nSites: number, nTicks: number): Held {
  const sites = columns.indexes("held_site", nSites);
  return { sites, bytes: columns.numbers("held_bytes", sites.length * nTicks) };
}

function readFrames(columns: Columns, nTexts: number, nModules: number): Model["frames"] {
  const fn = columns.indexes("frame_function", nTexts);
  const count = fn.length;
  return {
    count, function: fn,
    file: columns.indexes("frame_file", nTexts, count),
    crate: columns.indexes("frame_crate", nTexts, count),
    line: columns.indexes("frame_line", 2 ** 32, count),
    module: columns.indexes("frame_module", nModules, count),
    address: columns.numbers("frame_address", count),
    layer: columns.small("frame_layer", 256, count),
    flags: columns.small("frame_flags", 256, count),
  };
}

// Views into the block need it to begin at a multiple of 8.
function aligned(block: ArrayBuffer | Uint8Array): Uint8Array {
  const bytes = block instanceof Uint8Array ? block : new Uint8Array(block);
  return bytes.byteOffset % 8 ? bytes.slice() : bytes;
}

export function decode(block: ArrayBuffer | Uint8Array, known: Known | null = null): Model {
  return decodeKnown(block, known).model;
}

// Also what a second decoding of the same bytes need not find out again, and where columns lie.
export function decodeKnown(
  block: ArrayBuffer | Uint8Array, known: Known | null = null,
): { model: Model; known: Known; places: Record<string, Place> } {
  const bytes = aligned(block);
  const { columns: places, ...facts } = readFacts(bytes);
  const columns = new Columns(bytes, places, known);
  const model = readModel(columns, facts);
  return { model, known: known ?? { made: columns.made, places: null }, places };
}

function readModel(columns: Columns, facts: Facts): Model {
  const text = readTexts(columns);
  const modules = columns.indexes("module_path", text.length);
  if (!modules.length)
    fail("it has no modules");
  const frames = readFrames(columns, text.length, modules.length);
  const nodes = readNodes(columns, frames.count);
  const node = columns.indexes("site_node", nodes.count);
  const sites = {
    count: node.length, node,
    kind: columns.small("site_kind", 3, node.length),
    call: columns.small("site_call", facts.words.calls.length, node.length),
  } as Sites;
  put(sites, "ownMax", columns.later("site_own_max", node.length));
  const rows = readRows(columns, sites.count, facts.threads.length);
  addUp(columns, rows, sites);
  const snapshots = readSnapshots(columns, sites.count);
  const ticks = readTicks(columns);
  const rssKinds = columns.has("kind_ns") && readRssKinds(columns);
  return {
    facts, text, modules, frames, nodes, sites, rows,
    builds: columns.has("module_build")
      ? columns.indexes("module_build", text.length, modules.length)
      : new Uint32Array(modules.length),
    histograms: readHistograms(columns, sites.count),
    snapshots,
    lateFrees: readLateFrees(columns, sites.count, snapshots.count),
    ticks,
    ...(rssKinds && rssKinds.ns.length > 1 && { rssKinds }),
    ...(columns.has("held_site") && { held: readHeld(columns, sites.count, ticks.count) }),
  };
}
