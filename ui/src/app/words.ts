// SPDX-License-Identifier: Apache-2.0
//
// Words for what is asked and shown, after those of the command line's report.

import { SnapshotKind, type Model } from "../engine/model.ts";
import { START } from "../engine/question.ts";
import type { Measure, Question } from "../engine/question.ts";
import { pointWords, questionWords as wordsOf } from "../engine/question_words.ts";
import { bytes, change, count, EXACT, type Mark } from "../engine/units.ts";
import { session } from "./session.ts";
import type { FilterKind, GroupWord, Pane } from "./state.ts";

const measureWords: Record<Measure, { name: string; hint: string }> = {
  peak: { name: "Peak", hint: "held at the moment when the most was held" },
  live: { name: "Live", hint: "held at the moment selected, else at the end" },
  total: { name: "Allocated", hint: "allocated in the range selected, else in all" },
  grown: { name: "Grown", hint: "allocated in the range selected and still held at its end" },
  leak: { name: "Never freed", hint: "not freed by the end of the run" },
  temp: { name: "Temporary", hint: "freed by its thread within one further allocation" },
};

const paneWords: Record<Pane, string> = {
  overview: "Overview",
  graph: "Graph",
  table: "Table",
  tree: "Tree",
  callers: "Callers & callees",
  sizes: "Sizes & lifetimes",
  leaks: "Leaks",
  threads: "Threads",
  source: "Source",
  diff: "Compare",
  about: "About",
};

// Of a process that was let go and went on, what it held then is no leak.
const isLetGo = () => session.peek()?.model.facts.image.end === "detached";

export function wordsOfMeasure(measure: Measure): { name: string; hint: string } {
  if (measure === "leak" && isLetGo())
    return { name: "Still live", hint: "not freed when the process was let go" };
  return measureWords[measure];
}

export function wordsOfPane(pane: Pane): string {
  return pane === "leaks" && isLetGo() ? "Still live" : paneWords[pane];
}

export const groupWords: Record<GroupWord, { one: string; many: string }> = {
  place: { one: "place", many: "places" },
  function: { one: "function", many: "functions" },
  file: { one: "file", many: "files" },
  crate: { one: "crate or namespace", many: "crates or namespaces" },
  module: { one: "module", many: "modules" },
  thread: { one: "thread", many: "threads" },
  size: { one: "size", many: "sizes" },
  lifetime: { one: "lifetime", many: "lifetimes" },
  stack: { one: "stack", many: "stacks" },
};

export const filterWords: Record<FilterKind, string> = {
  focus: "from here inwards",
  hide: "leave out frames",
  function: "only with function",
  file: "only with file",
  module: "only with module",
  ignore: "not with function",
  callers: "callers of",
  callees: "callees of",
};

// A number of a table, whose heading names the unit.
export function cell(value: number, unit: "bytes" | "blocks", mark: Mark): string {
  return unit === "bytes" ? bytes(value, mark) : count(value, mark);
}

// Numbers and their units stay on one line.
export function unbroken(text: string): string {
  return text.replace(/(\d|≈) (?=(?:\d|%|[KMGT]?i?B\b|[nµm]?s\b|M\b|G\b))/g, "$1\u00a0");
}

export function plural(n: number, one: string, many: string = `${one}s`): string {
  return `${count(n, EXACT)} ${n === 1 ? one : many}`;
}

// ▲ and ▼ besides the sign: never by colour alone.
export function changeWords(by: number, unit: "bytes" | "blocks", mark: Mark): string {
  return by === 0 ? change(by, unit, mark) : `${by > 0 ? "▲" : "▼"} ${change(by, unit, mark)}`;
}

// The last moment known; while a program runs it is not its end.
const isRunning = () => session.peek()?.facts.live === true;

export function momentWords(model: Model, snapshot: number): string {
  if (snapshot === START) return "the start";
  const kind = model.snapshots.kind[snapshot];
  const last = isRunning() ? "now" : "the end";
  const what = kind === SnapshotKind.peak ? "the peak" : kind === SnapshotKind.end ? last : "";
  if (what && model.facts.image.lacks.includes("clock")) return what;
  const when = pointWords(model, snapshot);
  return what ? `${when}, ${what}` : when;
}

// "Live at 6.13 s".
export function questionWords(model: Model, question: Question): string {
  const isNow = isRunning() && question.measure === "live" && question.to === null;
  const words = isNow ? "live now" : wordsOf(model, question);
  return words[0].toUpperCase() + words.slice(1);
}

export function processWords(image: { pid: number; program: string }): string {
  const name = programName(image);
  return image.pid ? `${name} (process ${image.pid})` : `${name} (several processes)`;
}

export function programName({ program }: { program: string }): string {
  return program === "?" ? "program" : program;
}
