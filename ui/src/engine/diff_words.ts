// SPDX-License-Identifier: Apache-2.0
//
// What a comparison is told with, as the command says it: its words come with the data of each
// side, and are put together here, where both sides are known.

import type { DiffGroup } from "./diff.ts";
import type { Image, Model } from "./model.ts";
import type { Question } from "./question.ts";
import { bytes, count, EXACT } from "./units.ts";

function fill(text: string, ...words: string[]): string {
  let i = 0;
  return text.replace(/%s/g, () => words[i++]);
}

// "held at the peak"; of moments, "held".
export function comparedWords({ facts }: Model, { measure, unit, to }: Question): string {
  return (to === null ? facts.diff.measures[measure] : facts.diff.moments)[unit];
}

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

function isSameProgram(a: Image, b: Image): boolean {
  return a.program === b.program || (a.exe !== "" && baseName(a.exe) === baseName(b.exe));
}

function isSameCommand({ command: a }: Image, { command: b }: Image): boolean {
  return a.length === b.length && a.every((word, i) => word === b[i]);
}

function programsNote(before: Model, after: Model): string[] {
  const { diff, image: now } = after.facts;
  const { image: then } = before.facts;
  if (!isSameProgram(then, now)) return [fill(diff.two_programs, then.program, now.program)];
  return isSameCommand(then, now) ? [] : [diff.other_command];
}

function peaksNote(before: Model, after: Model): string[] {
  const sides = [before.facts, after.facts];
  const bound = sides.reduce((sum, { totals }) => sum + (totals.peak_bound_bytes ?? 0), 0);
  if (!bound || sides.some(({ image }) => image.lacks.includes("peak"))) return [];
  return [fill(after.facts.diff.peaks_within, `± ${bytes(bound, EXACT)}`)];
}

// What to beware of in a comparison of two captures, most important first.
export function diffNotes(before: Model, after: Model): string[] {
  const told = ({ facts }: Model, side: string) =>
    facts.diff.notes.map((note) => `${side}: ${note}`);
  return [...programsNote(before, after), ...peaksNote(before, after), ...told(before, "before"),
    ...told(after, "after")];
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
