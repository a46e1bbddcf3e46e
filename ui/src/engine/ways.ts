// SPDX-License-Identifier: Apache-2.0
//
// How the stacks of a group reached the allocator from its place: through which library's function,
// or, where the place has no name, from which function. As src/view/groups.h has it.

import { viewFor, type Group } from "./groups.ts";
import type { View } from "./look.ts";
import { frameNames, frameText, NONE, placeText } from "./names.ts";
import { weighIn } from "./narrow.ts";
import type { Question } from "./question.ts";

export interface Way {
  frame: number; // of the function with the most weight, its first line; NONE: none
  more: number; // other functions
}

export interface Ways {
  via: Way;
  caller: Way;
}

function weightiest(view: View, weights: Float64Array, sites: Iterable<number>,
                    frameOf: (site: number) => number): Way {
  const names = frameNames(view.model, false).of;
  const { line } = view.model.frames;
  const sums = new Map<number, { frame: number; weight: number }>();
  for (const site of sites) {
    const frame = frameOf(site);
    if (frame === NONE || !(weights[site] > 0))
      continue;
    const held = sums.get(names[frame]);
    if (!held) {
      sums.set(names[frame], { frame, weight: weights[site] });
      continue;
    }
    held.weight += weights[site];
    if (line[frame] < line[held.frame])
      held.frame = frame;
  }
  const [first] = [...sums].sort(([a, x], [b, y]) => y.weight - x.weight || a - b);
  return first ? { frame: first[1].frame, more: sums.size - 1 } : { frame: NONE, more: 0 };
}

// Of groups that are part of the code; the others have no ways.
export function waysOf(shown: View, question: Question, group: Group): Ways {
  const view = viewFor(shown, group.kind);
  const weights = weighIn(view, question);
  const beside = (frame: number) => {
    const shown = view.standsFor(frame);
    return shown === group.frame ? NONE : shown; // of the same library as its place
  };
  return {
    via: weightiest(view, weights, group.sites, (site) => beside(view.via(site))),
    caller: weightiest(view, weights, group.sites, (site) => beside(view.caller(site))),
  };
}

// "via serde_json::de::from_str, src/de.rs:2699, and 3 more"; "" where there is nothing to say.
export function waysText(view: View, { via, caller }: Ways, name = frameText): string {
  const way = caller.frame !== NONE ? caller : via;
  if (way.frame === NONE)
    return "";
  const place = placeText(view.model, way.frame);
  return (caller.frame !== NONE ? "called by " : "via ") + name(view.model, way.frame) +
    (place ? `, ${place}` : "") + (way.more ? `, and ${way.more} more` : "");
}
