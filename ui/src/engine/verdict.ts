// SPDX-License-Identifier: Apache-2.0
//
// What happened, in sentences. They are made by the command (src/words) and shown as they are: the
// page words nothing but what depends on a selection.

import type { Facts, Model, Sentence, Told } from "./model.ts";
import type { Measure, Question, Unit } from "./question.ts";

// While the program runs, what is known so far.
export function toldOf({ facts }: Model, isLive: boolean): Told {
  return (isLive && facts.verdict_so_far) || facts.verdict;
}

export function verdict(model: Model, isLive = false): Sentence[] {
  return toldOf(model, isLive).sentences;
}

export function notesOf({ verdict }: Facts): string[] {
  return verdict.sentences.filter(({ kind }) => kind === "note").map(({ text }) => text);
}

// What is said after the program's name: how it ended, allocations, what recording cost.
export function titleOf(model: Model, isLive: boolean): string[] {
  return toldOf(model, isLive).title;
}

// What to ask to see more of it; null: nothing.
export function questionOf({ measure, unit }: Sentence): Question | null {
  return measure && unit
    ? { measure: measure as Measure, unit: unit as Unit, from: null, to: null } : null;
}
