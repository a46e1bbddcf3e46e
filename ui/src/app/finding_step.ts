// SPDX-License-Identifier: Apache-2.0
//
// What a click on a card or on a finding selects.

import type { Card } from "../engine/cards.ts";
import { exactly } from "../engine/look.ts";
import type { Finding, Model } from "../engine/model.ts";
import { rowOf } from "../engine/rows.ts";
import { emptyState, noSelection, type State } from "./state.ts";

// Nothing else stands between the capture and what is shown.
function alone(): Partial<State> {
  const { from, to, at, blame } = emptyState();
  return { ...noSelection(), from, to, at, blame, group: "place", unit: "bytes" };
}

// Where more of it can be seen: its place alone, by what it is about, or the table of memory.
export function stepTo({ see, function: name, module }: Finding): Partial<State> {
  if (see === "residence") return { pane: "memory" };
  const { filters } = emptyState();
  if (name) filters.function.push(exactly(name));
  else if (module) filters.module.push(exactly(module));
  return { ...alone(), pane: "table", measure: see, filters };
}

// Exactly the place, on the screen where the card is.
export function stepToCard(of: Model, { group, finding, question }: Card): Partial<State> | null {
  const row = group && rowOf(of, group);
  if (row) return { ...alone(), measure: question.measure, row };
  return finding && stepTo(finding);
}

export const unselected = (): Partial<State> => ({ ...alone(), measure: null });
