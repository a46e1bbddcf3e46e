// SPDX-License-Identifier: Apache-2.0
//
// How the stacks of a group reached the allocator from its place: through which library's function,
// or, where the place has no name, from which function. As src/view/groups.h has it.

import { viewFor, type Group } from "./groups.ts";
import { frameIn, type FrameOf, type View } from "./look.ts";
import { frameNames, frameText, NONE, placeText, type FrameNames } from "./names.ts";
import { weighIn } from "./narrow.ts";
import { PIECE, type Pieces } from "./pieces.ts";
import type { Question } from "./question.ts";

export interface Way {
  frame: number; // of the function with the most weight, its first line; NONE: none
  more: number; // other functions
}

export interface Ways {
  via: Way;
  caller: Way;
}

// Sums by name, of which a group has few: made once, and left as they were.
interface Scratch {
  sum: Float64Array; // per name
  frame: Uint32Array; // per name, while it has a sum
  met: number[]; // names that have one
}

const scratchOf = new WeakMap<FrameNames, Scratch>();

function scratchFor(names: FrameNames): Scratch {
  const held = scratchOf.get(names);
  const made = held ?? {
    sum: new Float64Array(names.count), frame: new Uint32Array(names.count).fill(NONE), met: [],
  };
  scratchOf.set(names, made);
  return made;
}

function weightiest(
  view: View, weights: Float64Array, { sites, frame: own }: Group, frames: FrameOf,
): Way {
  const names = frameNames(view.model, false);
  const { line } = view.model.frames;
  const { sum, frame: frameOf, met } = scratchFor(names);
  for (let i = 0; i < sites.length; i++) {
    const weight = weights[sites[i]];
    const frame = weight > 0 ? view.standsFor(frameIn(frames, sites[i])) : NONE;
    if (frame === NONE || frame === own) // of the same library as its place
      continue;
    const name = names.of[frame];
    if (frameOf[name] === NONE)
      met.push(name);
    sum[name] += weight;
    if (frameOf[name] === NONE || line[frame] < line[frameOf[name]])
      frameOf[name] = frame;
  }
  const way = { frame: NONE, more: Math.max(0, met.length - 1) };
  let first = NONE;
  for (const name of met)
    if (first === NONE || sum[name] > sum[first] || (sum[name] === sum[first] && name < first))
      first = name;
  way.frame = first === NONE ? NONE : frameOf[first];
  for (const name of met) {
    sum[name] = 0;
    frameOf[name] = NONE;
  }
  met.length = 0;
  return way;
}

const known = new WeakMap<Group, { of: View; ways: Ways }>();

// Of groups that are part of the code; the others have no ways. A group is of one question.
export function waysOf(shown: View, question: Question, group: Group): Ways {
  const held = known.get(group);
  if (held?.of === shown)
    return held.ways;
  const view = viewFor(shown, group.kind);
  const weights = weighIn(view, question);
  const { via, caller } = view.blame;
  const ways = {
    via: weightiest(view, weights, group, via),
    caller: weightiest(view, weights, group, caller),
  };
  known.set(group, { of: shown, ways });
  return ways;
}

const SEEN = 64; // groups that a table shows first
const LARGE = 1024; // stacks: where such a group is shown, it takes long

// Of all groups that somebody would wait for.
export function* waysInPieces(shown: View, question: Question, groups: Group[]): Pieces<void> {
  for (let i = 0, since = 0; i < groups.length; i++) {
    const { stacks } = groups[i];
    if ((i < SEEN || stacks >= LARGE) && groups[i].sites.length) {
      waysOf(shown, question, groups[i]);
      since += stacks;
    }
    since++;
    if (since < PIECE / 2)
      continue;
    since = 0;
    yield;
  }
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
