// SPDX-License-Identifier: Apache-2.0
//
// A row of a table as a text that finds it again: its kind, then what tells it from all others of
// that kind. What groups.ts calls the same has the same text.
//
//   place parse /src/a.c:12     function parse /src/a.c     file /src/a.c     crate serde
//   call calloc
//   module /usr/lib/libz.so.1   place /usr/lib/libz.so.1+0x1f20 (code without a name)

import type { Model } from "./model.ts";
import { modulePath, NONE } from "./names.ts";

export const ROW_KINDS = ["place", "function", "file", "crate", "module", "call"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

function placeOf(model: Model, frame: number, withLine: boolean): string {
  const { function: fn, file, line, address } = model.frames;
  const where = file[frame] ? model.text[file[frame]] : modulePath(model, frame);
  const isNamed = fn[frame] > 0;
  const at = (withLine || !isNamed) && line[frame] ? `:${line[frame]}` : "";
  return isNamed ? `${model.text[fn[frame]]} ${where}${at}`
    : `${where}${at}+0x${address[frame].toString(16)}`;
}

// By which call of an allocator.
export function callText(model: Model, number: number): string {
  return model.facts.words.calls[number] ?? model.facts.words.calls[0];
}

// Of the row that a frame is blamed in; null: none.
export function rowText(model: Model, kind: string, frame: number): string | null {
  if (frame === NONE)
    return null;
  const { file, crate } = model.frames;
  switch (kind) {
    case "place":
      return placeOf(model, frame, true);
    case "function":
      return placeOf(model, frame, false);
    case "file":
      return file[frame] ? model.text[file[frame]] : modulePath(model, frame);
    case "crate":
      return crate[frame] ? model.text[crate[frame]] : modulePath(model, frame);
    case "module":
      return modulePath(model, frame);
    default:
      return null;
  }
}

export function parseRow(row: string): { kind: string; text: string } {
  const at = row.indexOf(" ");
  return { kind: row.slice(0, Math.max(0, at)), text: row.slice(at + 1) };
}

// null: such a row cannot be told again.
export function rowOf(
  model: Model, { kind, frame, number }: { kind: string; frame: number; number: number },
): string | null {
  const text = kind === "call" ? callText(model, number) : rowText(model, kind, frame);
  return text === null ? null : `${kind} ${text}`;
}
