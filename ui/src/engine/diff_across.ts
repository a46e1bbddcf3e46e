// SPDX-License-Identifier: Apache-2.0
//
// What one side of a comparison has by thread, or by class of size or lifetime: rows in both units,
// by what they are known again in another run. As src/view/diff_match.c has it.

import { group, type Group } from "./groups.ts";
import { groupText } from "./group_text.ts";
import type { View } from "./look.ts";
import type { Model } from "./model.ts";
import type { Question, Unit } from "./question.ts";

export type AcrossGroup = "thread" | "size" | "lifetime";

export function isAcross(kind: string): kind is AcrossGroup {
  return kind === "thread" || kind === "size" || kind === "lifetime";
}

export interface AcrossRow {
  label: string;
  unit: Unit; // which of the two the row is of
  weight: number;
  stacks: number; // counted once, under the unit asked for
}

function labelOf(model: Model, row: Group): string {
  const { threads, image } = model.facts;
  const thread = row.kind === "thread" && !row.several && row.number ? threads[row.number] : null;
  if (thread && !thread.name && thread.tid !== image.pid)
    return "(threads without a name)"; // the number is another in every run
  if (row.kind === "size" && row.several)
    return "several sizes"; // which they are may differ
  return groupText(model, row);
}

export function acrossRows(view: View, question: Question, kind: AcrossGroup): AcrossRow[] {
  const units: Unit[] = ["bytes", "blocks"];
  return units.flatMap((unit) =>
    group(view, { ...question, unit }, kind).items
      .filter(({ weight }) => weight !== 0)
      .map((row) => ({
        label: labelOf(view.model, row), unit, weight: row.weight,
        stacks: unit === question.unit ? row.stacks : 0,
      })));
}
