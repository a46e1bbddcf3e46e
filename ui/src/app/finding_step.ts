// SPDX-License-Identifier: Apache-2.0
//
// What a click on a finding selects.

import { exactly } from "../engine/look.ts";
import type { Finding } from "../engine/model.ts";
import { emptyState, type State } from "./state.ts";

// Where more of it can be seen: its place alone, by what it is about, or the table of memory.
export function stepTo({ see, function: name, module }: Finding): Partial<State> {
  if (see === "residence") return { pane: "memory" };
  const { filters } = emptyState();
  if (name) filters.function.push(exactly(name));
  else if (module) filters.module.push(exactly(module));
  const whole = { from: null, to: null, at: null, zoom: [] };
  return { pane: "table", measure: see, unit: "bytes", group: "place", filters, ...whole };
}
