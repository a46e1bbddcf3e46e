// SPDX-License-Identifier: Apache-2.0
//
// What a comparison is told with, in the command's words.

import type { DiffGroup } from "./diff.ts";
import type { Model } from "./model.ts";
import type { Question } from "./question.ts";
import { TERMS } from "./terms.ts";
import { count, EXACT } from "./units.ts";

function fill(text: string, ...words: string[]): string {
  let i = 0;
  return text.replace(/%s/g, () => words[i++]);
}

// "held at the peak"; of moments, "held".
export function comparedWords({ facts }: Model, { measure, unit, to }: Question): string {
  return (to === null ? facts.diff.measures[measure] : facts.diff.moments)[unit];
}

// What to beware of in a comparison of two captures, most important first: of both together, and of
// each side.
export function diffNotes(ofBoth: readonly string[], before: Model, after: Model): string[] {
  const told = ({ facts }: Model, side: { text: string }) =>
    facts.diff.notes.map((note) => `${side.text}: ${note}`);
  return [...ofBoth, ...told(before, TERMS.before), ...told(after, TERMS.after)];
}

export function rowsWords(n: number, group: DiffGroup): string {
  return `${count(n, EXACT)} ${group}${n === 1 ? "" : "s"}`;
}

// Instead of a table; held: what either side holds.
export function unchangedWords(
  of: Model, question: Question, group: DiffGroup, held: string, rows: number,
): string {
  const what = comparedWords(of, question);
  return fill(of.facts.diff.unchanged, group, held, what, rowsWords(rows, group));
}
