// SPDX-License-Identifier: Apache-2.0
//
// Words for what is asked and shown, after those of the command line's report.

import { SnapshotKind, type Model } from "../engine/model.ts";
import { START } from "../engine/question.ts";
import type { Question } from "../engine/question.ts";
import { pointWords } from "../engine/question_words.ts";
import { questionWords as wordsOf } from "../engine/question_words.ts";
import { TERMS } from "../engine/terms.ts";
import type { Trie } from "../engine/trie.ts";
import { count, EXACT } from "../engine/units.ts";
import { session } from "./session.ts";
import type { FilterKind, Pane } from "./state.ts";

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
  memory: "Resident memory",
  processes: "Processes",
  about: "About",
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

export function wordsOfPane(of: Model, pane: Pane): string {
  return pane === "leaks" ? sentence(of.facts.words.kept) : paneWords[pane];
}

// Numbers and their units stay on one line.
export function unbroken(text: string): string {
  return text.replace(/(\d|≈) (?=(?:\d|%|[KMGT]?i?B\b|[nµm]?s\b|M\b|G\b))/g, "$1\u00a0");
}

// Words at the beginning of a sentence, or alone above a column.
export function sentence(words: string): string {
  return words[0].toUpperCase() + words.slice(1);
}

export function plural(n: number, one: string, many: string = `${one}s`): string {
  return `${count(n, EXACT)} ${n === 1 ? one : many}`;
}

// Of a tree from the inside out that has not all of all stacks, or not yet; null: it has.
export function cutWords({ nCut, reach, seen }: CutTree): string | null {
  if (seen !== undefined)
    return "What lies beyond boxes too narrow to be seen is still being worked out.";
  if (!nCut) return null;
  const goOn = nCut === 1 ? "1 stack goes" : `${plural(nCut, "stack")} go`;
  return (
    `Of each stack the innermost ${plural(reach, "frame")} are shown: ${goOn} on further out. ` +
    "With fewer stacks, filtered or under Callers & callees, more of each is shown."
  );
}

type CutTree = Pick<Trie, "nCut" | "reach" | "seen">;

// The last moment known; while a program runs it is not its end.
const isRunning = () => session.peek()?.facts.live === true;

export function momentWords(model: Model, snapshot: number): string {
  if (snapshot === START) return pointWords(model, snapshot);
  const kind = model.snapshots.kind[snapshot];
  const last = (isRunning() ? TERMS.now : TERMS.theEnd).text;
  const isPeak = kind === SnapshotKind.peak;
  const what = isPeak ? TERMS.thePeak.text : kind === SnapshotKind.end ? last : "";
  if (what && model.facts.image.lacks.includes("clock")) return what;
  const when = pointWords(model, snapshot);
  return what ? `${when}, ${what}` : when;
}

// "Live at 6.13 s".
export function questionWords(model: Model, question: Question): string {
  const isNow = isRunning() && question.measure === "live" && question.to === null;
  return sentence(isNow ? TERMS.liveNow.text : wordsOf(model, question));
}

export function programName({ program }: { program: string }): string {
  return program === "?" ? "program" : program;
}
