// SPDX-License-Identifier: Apache-2.0
//
// Rows under a search: those with a stack that has a match stay, and in their names it is marked.

import { computed } from "@preact/signals-core";
import { groupText } from "../engine/group_text.ts";
import type { Group } from "../engine/groups.ts";
import { foundSites, model, searchRegex } from "./session.ts";
import { use } from "./signals.ts";

// Per thread, whether it allocated anything at a stack with a match.
const foundThreads = computed<Uint8Array | null>(() => {
  const found = foundSites.value;
  if (!found) return null;
  const { rows, facts } = model.value;
  const threads = new Uint8Array(facts.threads.length);
  for (let i = 0; i < rows.count; i++)
    if (found[rows.site[i]] && rows.nAlloc[i] > 0) threads[rows.thread[i]] = 1;
  return threads;
});

// Threads, which share stacks, go by these and by their names, classes by their names. Read inside
// of a computed value.
export function isFound(group: Group): boolean {
  const found = foundSites.value;
  if (!found) return true;
  if (group.sites.length) return group.sites.some((site) => found[site] === 1);
  if (group.kind === "thread" && !group.several && foundThreads.value![group.number]) return true;
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
