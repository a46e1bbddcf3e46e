// SPDX-License-Identifier: Apache-2.0
//
// What is asked, in the command's words: which of them depends on what the reader selects, and
// their gaps are filled with the moments.

import type { MeasureWords, Model } from "./model.ts";
import { isBound, START, type Measure, type Question } from "./question.ts";
import { TERMS } from "./terms.ts";

// "6.13 s"; without a clock "40 % of the run", "the peak", "the end".
export function pointWords(model: Model, snapshot: number): string {
  return snapshot === START ? TERMS.theStart.text : model.facts.words.moments[snapshot];
}

export function measureTerm(model: Model, measure: Measure): MeasureWords {
  return model.facts.words.measures[measure];
}

// What became of what was not freed: "never freed"; of a process that was let go "still live".
export const keptWords = (model: Model) => measureTerm(model, "leak").bytes.whole;

// "at the peak", "blocks live at 6.10 s", "grown from 1.00 s to 2.00 s".
export function questionWords(model: Model, question: Question): string {
  const { measure, unit, from, to } = question;
  const words = measureTerm(model, measure)[unit];
  if (from === null && to === null) return words.whole;
  const range = isBound(model, question) ? words.range_at_least : words.range;
  return (from === null ? words.moment : range)
    .replace("{from}", () => pointWords(model, from ?? START))
    .replace("{to}", () => pointWords(model, to ?? model.snapshots.count - 1));
}

// What heads a column of the answer, which the times do not fit into.
export function questionHeading(model: Model, { measure, unit, from, to }: Question): string {
  const { whole, part } = measureTerm(model, measure)[unit];
  return from === null && to === null ? whole : part;
}
