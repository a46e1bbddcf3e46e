// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a tree a pattern matches, and how much goes through any of them: every stack is
// counted once, however many of its frames match.

import { compilePattern, type View } from "./look.ts";
import type { Model } from "./model.ts";
import { frameText, modulePath } from "./names.ts";
import type { Tree } from "./tree.ts";

export interface Matches {
  nodes: Uint8Array; // per node of the tree: 1 where it matches
  count: number; // nodes that do
  total: number; // of the stacks through any of them
  before?: number; // of a diff
}

// With case only if the pattern has capitals, outside of escapes.
function compile(pattern: string): RegExp {
  const regex = compilePattern(pattern);
  return /[A-Z]/.test(pattern.replace(/\\./g, "")) ? regex : new RegExp(regex.source, "i");
}

const MATCHED = 1;
const UNMATCHED = 2;

// What a frame says is looked at once, and each text once.
function judge(model: Model, regex: RegExp, frame: number, texts: Map<string, boolean>): boolean {
  const matches = (text: string) => {
    let found = texts.get(text);
    if (found === undefined)
      texts.set(text, (found = text !== "" && regex.test(text)));
    return found;
  };
  return matches(frameText(model, frame)) || matches(model.text[model.frames.file[frame]]) ||
    matches(modulePath(model, frame));
}

// views: that of the tree; of a diff, those after and before. The pattern is looked for in what a
// node says: function (or module and address), file, module. Throws on a pattern that is none.
export function search(tree: Tree, views: readonly View[], pattern: string): Matches {
  const regex = compile(pattern);
  const judged = views.map((view) => new Uint8Array(view.model.frames.count));
  const texts = new Map<string, boolean>();
  const nodes = new Uint8Array(tree.count);
  const isInside = new Uint8Array(tree.count); // it or a node above it matches
  const matches: Matches = { nodes, count: 0, total: 0 };
  let before = 0;
  for (let i = 1; i < tree.count; i++) {
    if (!tree.stacks(i))
      continue;
    const side = tree.side(i);
    const frame = tree.frame(i);
    if (!judged[side][frame])
      judged[side][frame] =
        judge(views[side].model, regex, frame, texts) ? MATCHED : UNMATCHED;
    const isMatch = judged[side][frame] === MATCHED;
    const wasInside = isInside[tree.parent[i]];
    isInside[i] = isMatch || wasInside ? 1 : 0;
    if (!isMatch)
      continue;
    nodes[i] = 1;
    matches.count++;
    if (wasInside)
      continue;
    matches.total += tree.total(i);
    before += tree.isDiff ? tree.before(i) : 0;
  }
  if (tree.isDiff)
    matches.before = before;
  return matches;
}
