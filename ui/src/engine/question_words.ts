// SPDX-License-Identifier: Apache-2.0
//
// What is asked, in words. Of the whole run they are of the command's list; of a part of it they
// depend on what the reader selects, and are made here as tide_question_words() makes them.

import type { Model } from "./model.ts";
import { isBound, START, timeOf, type Measure, type Question } from "./question.ts";
import { LET_GO_TERMS, MEASURE_TERMS } from "./terms.ts";
import { time } from "./units.ts";
import { SnapshotKind } from "./model.ts";

// As printf's %.3g of a share up to 100.
const threeDigits = (value: number) => String(Number(value.toPrecision(3)));

// "6.13 s"; without a clock "40 % of the run", "the peak", "the end".
export function pointWords(model: Model, snapshot: number): string {
  const { lacks, start_ns: start, end_ns: end } = model.facts.image;
  if (snapshot === START) return "the start";
  if (!lacks.includes("clock")) return time(timeOf(model, snapshot));
  const kind = model.snapshots.kind[snapshot];
  if (kind === SnapshotKind.peak) return "the peak";
  if (kind === SnapshotKind.end) return "the end";
  const ticks = model.ticks.ns;
  const whole = end !== undefined ? end - start : (ticks[ticks.length - 1] ?? 0);
  const last = model.snapshots.ns[model.snapshots.count - 1] ?? 0;
  return `${threeDigits((100 * timeOf(model, snapshot)) / (whole || last || 1))} % of the run`;
}

// Of a process that was let go and went on, what it held then is no leak.
export const isLetGo = ({ facts }: Model) => facts.image.end === "detached";

export function measureTerm(model: Model, measure: Measure): MeasureTerm {
  return measure === "leak" && isLetGo(model) ? LET_GO_TERMS.leak : MEASURE_TERMS[measure];
}

type MeasureTerm = Record<keyof (typeof MEASURE_TERMS)["peak"], string>;

// What became of what was not freed: "never freed"; of a process that was let go "still live".
export const keptWords = (model: Model) => measureTerm(model, "leak").bytes;

function keptAtEnd(model: Model): string {
  return isLetGo(model) ? `${keptWords(model)} at the end` : keptWords(model);
}

// "at the peak", "blocks live at 6.10 s", "grown from 1.00 s to 2.00 s".
export function questionWords(model: Model, question: Question): string {
  const { measure, unit, from, to } = question;
  if (from === null && to === null) return measureTerm(model, measure)[unit];
  const blocks = unit === "blocks" ? "blocks " : "";
  const ends = pointWords(model, to ?? model.snapshots.count - 1);
  const and = measure === "leak" ? ` and ${keptAtEnd(model)}` : "";
  if (measure === "live" || (measure === "leak" && from === null))
    return `${blocks}live at ${ends}${and}`;
  const grown = isBound(model, question) ? "grown (at least)" : "grown";
  const what = measure === "grown" ? grown : "allocated";
  return `${blocks}${what} from ${pointWords(model, from ?? START)} to ${ends}${and}`;
}

// What heads a column of the answer, which the times do not fit into.
export function questionHeading(model: Model, { measure, unit, from, to }: Question): string {
  const { bytes, blocks, partBytes, partBlocks } = measureTerm(model, measure);
  const isWhole = from === null && to === null;
  return unit === "bytes" ? (isWhole ? bytes : partBytes) : isWhole ? blocks : partBlocks;
}
