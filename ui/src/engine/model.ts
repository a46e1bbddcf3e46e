// SPDX-License-Identifier: Apache-2.0
//
// The model of one process image, as docs/page-data.md describes it: plain typed arrays, decoded
// once and never changed. Whatever is asked of it is computed elsewhere.

import type { CellSites } from "./cells.ts";
import type { NumberKey } from "./numbers.ts";

export { FrameFlag, SiteKind } from "./numbers.ts";

export interface Model {
  facts: Facts;
  text: string[];
  modules: Uint32Array; // strings: paths
  builds: Uint32Array; // strings: per module its build id; 0: not known
  frames: Frames;
  nodes: Nodes;
  sites: Sites;
  rows: Rows;
  histograms: Histograms;
  snapshots: Snapshots;
  lateFrees: LateFrees;
  ticks: Ticks;
  rssKinds?: RssKinds; // at two moments at least
  held?: Held;
  libraries?: string[]; // that its last frames stand for (libraries.ts)
}

export interface Frames {
  count: number;
  function: Uint32Array; // strings; 0: unknown
  file: Uint32Array;
  crate: Uint32Array;
  line: Uint32Array;
  module: Uint32Array;
  address: Float64Array;
  layer: Uint8Array;
  flags: Uint8Array;
}

// Whose a frame is; from here up it is folded, a higher layer being nearer to the user.
export const Layer = { own: 0, library: 1, folded: 2 } as const;

export interface Nodes {
  count: number;
  parent: Uint32Array;
  frame: Uint16Array | Uint32Array;
  deepest: number; // of the root 0
}

// Of these few types all columns of numbers are: loops are quick over one or two.
export type Column = Float64Array | Uint32Array;

// What rows and sites count. All exact integers. Columns of nothing but 0 may be one array.
export type Numbers = Record<NumberKey, Column>;

// Of a row or a site, live at the end: what is from before a reset is among it.
export function liveBytesAt(of: Numbers, i: number): number {
  return of.beforeBytes[i] + of.bAlloc[i] - of.bFree[i];
}
export function liveBlocksAt(of: Numbers, i: number): number {
  return of.beforeBlocks[i] + of.nAlloc[i] - of.nFree[i];
}

export interface Sites extends Numbers {
  count: number;
  node: Uint32Array;
  kind: Uint8Array;
  call: Uint8Array; // by which its blocks came: an index in the words' calls
  ownMax: Column;
}

export interface Rows extends Numbers {
  count: number;
  site: Uint32Array;
  thread: Uint8Array | Uint16Array | Uint32Array;
}

// Those of site i: from first[i] to first[i + 1].
export interface Histograms {
  count: number;
  first: Uint32Array;
  order: Uint32Array | null; // by site, where each is; null: they lie in that order
  bucket: Uint8Array; // 0..31 sizes, 32..79 lifetimes
  number: Column;
}

export const SnapshotKind = { timed: 0, peak: 1, end: 2 } as const;

// Whole numbers, as narrow as the block has them.
export type Cells = Uint8Array | Uint16Array | Uint32Array | Int8Array | Int16Array | Int32Array |
  Float64Array;

export interface Snapshots {
  count: number;
  ns: Float64Array;
  kind: Uint8Array;
  end: Uint32Array; // per snapshot, where its cells end
  site: CellSites; // per cell
  bytes: Cells; // change since the snapshot before
  blocks: Cells;
  nAlloc: Cells;
  bAlloc: Cells;
}

// Blocks of a site that were there at one snapshot and freed before a later one, by rising freed:
// between which snapshots they were allocated and freed, by the later of each two.
export interface LateFrees {
  count: number;
  site: Uint32Array;
  born: Uint32Array;
  freed: Uint32Array;
  bytes: Float64Array;
  blocks: Float64Array;
}

export interface Ticks {
  count: number;
  ns: Float64Array;
  liveBytes: Float64Array;
  liveBlocks: Float64Array;
  nAlloc: Float64Array;
  bAlloc: Float64Array;
  nFree: Float64Array;
  rss: Float64Array;
  pageBytes: Float64Array;
}

// Of what kinds the RSS was, when somebody looked.
export interface RssKinds {
  ns: Float64Array; // never falling
  anonymous: Float64Array;
  files: Float64Array;
  shared: Float64Array;
  swapped: Float64Array; // beside the RSS
}

export interface Held { // what some of the largest sites held at the ticks
  sites: Uint32Array;
  bytes: Float64Array; // per site a number for each tick; -1: not known
}

export interface Image {
  index: number;
  pid: number;
  ppid: number;
  program: string; // the name it was called by
  exe: string;
  command: string[];
  by_fork: boolean;
  merged: boolean; // the sum of several
  start_ns: number;
  end_ns: number;
  end: "exited" | "signaled" | "execed" | "detached" | "unknown";
  end_value: number;
}

// A program that ran unrecorded, in the command's words.
export interface Unrecorded {
  name: string;
  reason: string;
  way_out: string | null;
  exe: string;
  parent: string;
}

export type SentenceKind =
  | "title" | "unrecorded" | "peak" | "culprit" | "rss" | "pages" | "end" | "leak" | "churn"
  | "allocators" | "complete" | "note";

export interface Sentence {
  kind: SentenceKind;
  text: string;
  warning: boolean;
  measure?: string; // what to ask of the whole run to see more of it
  unit?: string;
}

// What happened, in the command's sentences; the title also in parts, without the program.
export interface Told {
  program: string;
  title: string[];
  sentences: Sentence[];
}

// What is wrong, as "tidemark explain" has it.
export interface Finding {
  rule: string;
  kind: "fault" | "note"; // a note is no fault, and comes after all of them
  confidence: "low" | "medium" | "high";
  heading: string; // rule, saving and confidence in words
  sentence: string;
  advice: string;
  function: string | null; // the place that is blamed; null: no one place, or no name
  file: string | null;
  line: number;
  module: string | null;
  see: "peak" | "leak" | "total" | "temp" | "residence"; // what shows more of it
}

export interface Findings {
  title: string | null;
  list: Finding[]; // the weightiest first
  unjudged: string | null; // what could not be judged, and why
  none: string | null; // why nothing was judged at all
}

// How far to believe numbers: of what was done, held at a moment, held at the peak, and so on.
export type Figure = "allocated" | "live" | "peak" | "own_max" | "times" | "mapped";
export interface Exactness {
  is: "exact" | "within" | "at_most" | "at_least" | "estimated" | "unknown";
  bound_bytes?: number;
}

// What a comparison is told with; gaps (%s) are filled where both sides are known.
export interface DiffWords {
  notes: string[]; // what to beware of in this side
  measures: Record<string, Record<"bytes" | "blocks", string>>;
  moments: Record<"bytes" | "blocks", string>;
  unchanged: string;
}

// What is said of a measure in one unit, of the whole run and of a part of it.
export interface QuestionWords {
  whole: string; // what heads a column
  part: string;
  moment: string; // what is asked, with gaps for the moments: {from}, {to}
  range: string;
  range_at_least: string;
  refused: string | null; // why there is no answer; null: there is one
  part_refused: string | null; // whatever the moment or range is
}
export type MeasureWords =
  Record<"name" | "hint" | "nothing", string> & Record<"bytes" | "blocks", QuestionWords>;

// What is said of whatever the reader selects.
export interface SelectionWords {
  measures: Record<"peak" | "live" | "total" | "grown" | "leak" | "temp", MeasureWords>;
  groups_refused: Record<string, string>; // why there are no groups of a kind
  calls: string[]; // of allocators, by number
  moments: string[]; // by snapshot
  no_moment: string;
  no_range: string;
  no_peak: string; // what was kept of it
  kept: string; // what the pane of it is called
  kept_class: string; // and its lifetime
}

// Where the resident memory was, in the lines of "tidemark maps".
export interface ResidenceLine {
  bytes: number; // below zero: not in memory
  share: boolean; // is a part of the sum
  words: string;
}
export interface ResidenceList {
  key: "places" | "pins" | "large" | "arenas" | "files";
  title: string;
  lines: ResidenceLine[];
  left: number; // that are not listed
}
// The heap by address, in buckets of equal size; bytes in memory.
export interface HeapMap {
  title: string;
  bucket_bytes: number;
  step: number[]; // address in buckets, less that of the one before
  live: number[];
  free: number[];
  pinned: number[]; // of the free
}
export interface ResidenceTable {
  time_ns: number;
  when: string;
  parts: number[]; // bytes, by the list of parts
  title: string;
  rows: ResidenceLine[]; // these add up to the sum
  sum: ResidenceLine;
  absent: ResidenceLine | null; // asked for, and not in memory
  notes: { label: string; text: string }[];
  lists: ResidenceList[];
  map: HeapMap | null; // of the heap
}
export interface Residence {
  none: string | null; // why there is no table
  between: string; // what a picture of them over time shows between two
  rss_is_own: boolean; // the RSS of ticks is without the recorder's part
  choices: { key: "rss" | "peak"; words: string; table: number }[];
  map_words: string[]; // of what is in use, pinned, free
  grown: { bytes: number; words: string }[]; // how mappings of the program's own grew, by stack
  parts: { key: string; words: string }[]; // the last one is the recorder's
  tables: ResidenceTable[]; // by rising time
}

export interface Facts {
  schema: string;
  tool_version: string;
  capture: {
    file: string;
    complete: boolean;
    finished: boolean;
    note: string | null;
    arch: string;
    duration_ns: number;
    run: { refused: number; unrecorded: { program: string }[] } | null; // null: nobody watched
  };
  host: { name: string; kernel: string; start_realtime_ns: number };
  image: Image & {
    origin: string | null;
    lacks: string[];
    allocator: string;
    recorded_by: "agent" | "preload" | null;
    allocators: Record<string, string | number>[] | null; // by falling bytes at the peak
    off_reason: number;
    reset?: boolean; // all that is counted is since then, which is its start
    threads: number;
    max_live_threads: number;
    inherited_bytes: number;
  };
  images: (Image & {
    process: string; // which it is, in words
    peak_bytes?: number;
    peak_exactness: Exactness;
    allocations?: number;
  })[];
  totals: Record<string, number | undefined>; // the keys of tidemark-report-1; absent is not zero
  pages: Record<string, number | undefined>;
  completeness: Record<string, number | undefined>;
  exactness: Record<Figure, Exactness> & { sampled: { every_bytes: number | null } | null };
  threads: { tid: number; name: string; owners: number }[];
  marks: { time_ns: number; name: string }[];
  diff: DiffWords;
  words: SelectionWords;
  verdict: Told;
  verdict_so_far: Told | null; // while the run goes on; null: it has ended
  unrecorded: Unrecorded[];
  info: { label: string; text: string }[]; // the rows of "tidemark info", of this image
  blame: "own" | "library"; // whom rows lead with
  wrappers_told: string | null; // the command's words on them
  wrappers: { function: string; module: string; callers: number }[]; // folded for their shape
  has: { temporary_bytes: boolean; counts: boolean; late_frees?: boolean };
  // first: only what is seen first; all of it is still to be had.
  pruned: {
    stacks: number; of: number; by_place: boolean; limit_bytes: number; first: boolean;
  } | null;
  residence: Residence;
  findings: Findings;
}
