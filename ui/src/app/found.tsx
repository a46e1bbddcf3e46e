// SPDX-License-Identifier: Apache-2.0
//
// Rows under a search: those with a stack that has a match stay, and in their names it is marked.

import { groupText } from "../engine/group_text.ts";
import type { Group } from "../engine/groups.ts";
import { foundSites, model, searchRegex } from "./session.ts";
import { use } from "./signals.ts";

// Threads and classes, which share stacks, go by their names. Read inside of a computed value.
export function isFound(group: Group): boolean {
  const found = foundSites.value;
  if (!found) return true;
  if (group.sites.length) return group.sites.some((site) => found[site] === 1);
  return searchRegex.value!.test(groupText(model.value, group));
}

const PARTS_MAX = 20;

// A text with what the search matches in it marked.
export function Marked({ text }: { text: string }) {
  const regex = use(searchRegex);
  if (!regex) return <>{text}</>;
  const all = new RegExp(regex.source, `${regex.flags}g`);
  const parts: (string | { mark: string })[] = [];
  let past = 0;
  for (const match of text.matchAll(all)) {
    if (!match[0] || parts.length > PARTS_MAX) continue;
    parts.push(text.slice(past, match.index), { mark: match[0] });
    past = match.index + match[0].length;
  }
  parts.push(text.slice(past));
  return (
    <>
      {parts.map((part, i) =>
        typeof part === "string" ? part : <mark key={i}>{part.mark}</mark>,
      )}
    </>
  );
}
