// SPDX-License-Identifier: Apache-2.0
//
// How far the numbers of a model can be believed, as src/model/image_sums.h decides it: the page is
// told it in its facts, and whatever words a number wants the mark that follows.

import type { Exactness, Figure, Model } from "./model.ts";
import type { Measure, Question, Unit } from "./question.ts";
import type { NumberKey } from "./numbers.ts";
import { bytes, cell, EXACT, type Mark } from "./units.ts";

const FIGURES: Record<Measure, Figure> = {
  peak: "peak", live: "live", total: "allocated", grown: "live", leak: "live", temp: "allocated",
};

// Bounds are in bytes, and are said beside a table, not in it.
export function markFor({ is, bound_bytes: bound }: Exactness, unit: Unit): Mark {
  const isBounded = bound !== undefined && unit === "bytes";
  if (is === "estimated" || (is === "within" && !isBounded)) return "≈ ";
  if (is === "at_most" && !isBounded) return "≤ ";
  return is === "at_least" ? "≥ " : EXACT;
}

export function markOf(model: Model, figure: Figure, unit: Unit): Mark {
  return markFor(model.facts.exactness[figure], unit);
}

// Of the numbers that answer a question; that what has grown is a lower bound, its words say.
export function markOfAnswer(model: Model, { measure, unit }: Question): Mark {
  return markOf(model, FIGURES[measure], unit);
}

// Of what two models have between them.
export function markOfTwo(a: Mark, b: Mark): Mark {
  return a || b ? "≈ " : EXACT;
}

// " ± 206.0 KiB", " (too high by 1.2 MiB at most)", where a total is told; "": it has no bound, or
// one that does not show in the number as it is rounded.
export function boundOfAnswer(model: Model, { measure, unit }: Question, total: number): string {
  return unit === "bytes" ? boundWords(model.facts.exactness[FIGURES[measure]], total) : "";
}

export function boundWords({ is, bound_bytes: bound = 0 }: Exactness, total: number): string {
  if (!bound) return "";
  const told = bytes(total, EXACT);
  const isBelow = bytes(Math.max(0, total - bound), EXACT) !== told;
  const isAbove = is === "within" && bytes(total + bound, EXACT) !== told;
  if (!isBelow && !isAbove) return "";
  const size = bytes(bound, EXACT);
  return is === "at_most" ? ` (too high by ${size} at most)` : ` ± ${size}`;
}

type Estimated = "allocated" | "live" | "peak";
const SPREADS: Record<Estimated, Record<Unit, NumberKey>> = {
  allocated: { bytes: "allocBytesSpread", blocks: "allocBlocksSpread" },
  live: { bytes: "liveBytesSpread", blocks: "liveBlocksSpread" },
  peak: { bytes: "peakBytesSpread", blocks: "peakBlocksSpread" },
};

// What samples leave open of a number, as the command tells it: " ± 966.0 KiB", a standard error
// (tide_error_of_bytes()). "": it is exact, or nobody knows, or it does not show.
export function errorOf(of: Record<NumberKey, number>, figure: Figure, unit: Unit, value: number) {
  const spread = figure in SPREADS ? of[SPREADS[figure as Estimated][unit]] : 0;
  if (!spread) return "";
  const error = Math.ceil(unit === "bytes" ? Math.sqrt(spread) * 256 : Math.sqrt(spread / 256));
  const told = (n: number) => cell(Math.max(0, n), unit, EXACT);
  const shows = told(value - error) !== told(value) || told(value + error) !== told(value);
  return shows ? ` ± ${told(error)}` : "";
}

// Of the answer to a question; of a part of the run it is not known.
export function errorOfAnswer(of: Record<NumberKey, number>, asked: Question, value: number) {
  const isWhole = asked.from === null && asked.to === null;
  return isWhole ? errorOf(of, FIGURES[asked.measure], asked.unit, value) : "";
}

// The peak of one of several images, with its bound.
export function peakText(image: { peak_bytes?: number; peak_exactness: Exactness }): string {
  const { peak_bytes: peak = 0, peak_exactness: how } = image;
  return bytes(peak, markFor(how, "bytes")) + boundWords(how, peak);
}
