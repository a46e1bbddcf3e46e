// SPDX-License-Identifier: Apache-2.0
//
// What groups are called and where they are, in the words of the command's report.

import { classRange, LIFE_CLASS_LIVE, LIFE_CLASS_RESIZED } from "./classes.ts";
import type { Group } from "./groups.ts";
import type { Model } from "./model.ts";
import { frameText, moduleName, modulePath, NONE, placeText, shortenPath } from "./names.ts";
import { callText } from "./rows.ts";
import { TERMS } from "./terms.ts";
import { bytes, count, EXACT, time } from "./units.ts";

// What a name is made of.
interface Named {
  kind: Group["kind"];
  number: number;
  several: boolean;
  last?: number; // of several
  frame?: number; // of code
  crate?: string | null;
}

function sizeText({ number, several, last = 0 }: Named): string {
  const { least } = classRange("size", number);
  const { most } = classRange("size", several ? last : number);
  const limits = most === null ? `${bytes(least ?? 0, EXACT)} and more`
    : `${bytes(least ?? 0, EXACT)} to ${bytes(most, EXACT)}`;
  return several ? `several sizes, ${limits}` : limits;
}

function lifetimeText(model: Model, { number, several }: Named): string {
  if (several)
    return TERMS.severalLifetimes.text;
  if (number === LIFE_CLASS_RESIZED)
    return TERMS.resized.text;
  if (number === LIFE_CLASS_LIVE)
    return model.facts.words.kept_class;
  const { least, most } = classRange("lifetime", number);
  if (most === null)
    return `${time(least ?? 0)} and more`;
  return least ? `${time(least)} to ${time(most + 1)}` : `less than ${time(most + 1)}`;
}

function threadText(model: Model, { number, several }: Named): string {
  if (several)
    return TERMS.severalThreads.text;
  const thread = number ? model.facts.threads[number] : undefined;
  if (!thread)
    return TERMS.threadUnknown.text;
  if (thread.tid && thread.tid === model.facts.image.pid)
    return TERMS.mainThread.text;
  return thread.name || `thread ${thread.tid}`;
}

// "parse", "src/a.c", "worker", "17 B to 32 B", "less than 2.05 µs".
export function groupText(model: Model, group: Named): string {
  const { kind, frame = NONE } = group;
  if (kind === "thread")
    return threadText(model, group);
  if (kind === "size")
    return sizeText(group);
  if (kind === "lifetime")
    return lifetimeText(model, group);
  if (kind === "call")
    return callText(model, group.number);
  if (frame === NONE)
    return TERMS.stackLost.text;
  if (kind === "place" || kind === "function" || kind === "stack")
    return frameText(model, frame);
  const file = model.frames.file[frame];
  if (kind === "file")
    return file ? shortenPath(model.text[file]) : TERMS.noFile.text;
  return group.crate ?? moduleName(model, frame);
}

// "src/postings.rs:88", "in libfoo.so", "tid 17 and 3 before it"; "" where there is nothing to say.
export function groupPlace(model: Model, group: Group): string {
  const { kind, frame } = group;
  if (kind === "thread") {
    const thread = group.number ? model.facts.threads[group.number] : undefined;
    const before = thread ? thread.owners - 1 : 0;
    const others = before > 0 ? ` and ${count(before, EXACT)} before it` : "";
    return thread?.tid ? `tid ${thread.tid}${others}` : "";
  }
  if (frame === NONE || group.crate !== null)
    return "";
  if (kind === "module" || kind === "crate")
    return modulePath(model, frame);
  if (kind === "file")
    return `in ${moduleName(model, frame)}`;
  return placeText(model, frame, kind === "function" ? 0 : undefined);
}
