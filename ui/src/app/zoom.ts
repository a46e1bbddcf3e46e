// SPDX-License-Identifier: Apache-2.0
//
// Whether what the address says the graph is zoomed to is in it: a link may be of another build,
// and what is asked for may have no such stack.

import { computed } from "@preact/signals-core";
import { TreeNames } from "../flame/names.ts";
import { lineageOf, nodeOf } from "../flame/walk.ts";
import { sides, tree as treeOfBoth } from "./comparison.ts";
import { model, pane, refused, tree } from "./session.ts";
import { state } from "./state.ts";

function shownNames(): TreeNames | null {
  if (pane.value !== "diff")
    return refused.value ? null : new TreeNames(tree.value, [model.value], "");
  const [both, made] = [sides.value, treeOfBoth.value];
  return both && made
    ? new TreeNames(made, [both.after.view.model, both.before.view.model], "")
    : null;
}

// The first name on the way that leads nowhere; null: all of them lead on.
export const zoomLost = computed<string | null>(() => {
  const { zoom } = state.value;
  if (!zoom.length) return null;
  const names = shownNames();
  if (!names) return null;
  const n = lineageOf(names.tree, nodeOf(names, zoom)).length;
  return n < zoom.length ? zoom[n] : null;
});
