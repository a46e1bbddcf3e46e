// SPDX-License-Identifier: Apache-2.0
//
// What one can do with a row of a table from its own line: look at it alone, leave it out, follow
// it.

import type { Group } from "../engine/groups.ts";
import { exactly } from "../engine/look.ts";
import { frameText, modulePath, NONE } from "../engine/names.ts";
import { threadKey } from "../engine/narrow.ts";
import { rowOf } from "../engine/rows.ts";
import { copy } from "./copy.ts";
import { model, view, weights } from "./session.ts";
import { addFilter, go, type FilterKind, type State } from "./state.ts";
import { stackText } from "./table_rows.ts";

interface Aim {
  kind: FilterKind;
  pattern: string;
}

// The filter that leaves this row alone.
export function aimOf(group: Group): Aim | null {
  const of = model.peek();
  if (group.frame === NONE) return null;
  const { frames, text } = of;
  const name = frames.function[group.frame];
  const file = frames.file[group.frame];
  if (group.kind === "file" && file) return { kind: "file", pattern: exactly(text[file]) };
  if (group.kind === "module" || !name)
    return { kind: "module", pattern: exactly(modulePath(of, group.frame)) };
  if (group.kind === "crate") return null;
  return { kind: "function", pattern: exactly(text[name]) };
}

// Of a thread or a class: null for what is of several.
export function partStep({ kind, number, several }: Group): Partial<State> | null {
  if (several) return null;
  if (kind === "thread") return { thread: threadKey(model.peek(), number) };
  if (kind === "size") return { size: number };
  return kind === "lifetime" ? { lifetime: number } : null;
}

export function RowActions({ group }: { group: Group }) {
  const of = model.peek();
  const aim = aimOf(group);
  const row = rowOf(of, group);
  const isFunction = aim?.kind === "function";
  const name = group.frame === NONE ? "" : frameText(of, group.frame);
  const heaviest = () => {
    const sites = Array.from(group.sites);
    return sites.reduce((a, b) => (weights.peek()[b] > weights.peek()[a] ? b : a));
  };
  const file = group.frame === NONE ? 0 : of.frames.file[group.frame];
  return (
    <span class="buttons">
      {row && (
        <button type="button" onClick={() => go({ row })}>
          Only this
        </button>
      )}
      {isFunction && aim && (
        <>
          <button type="button" onClick={() => go(addFilter("focus", aim.pattern))}>
            Focus
          </button>
          <button type="button" onClick={() => go(addFilter("ignore", aim.pattern))}>
            Leave out
          </button>
          <button
            type="button"
            onClick={() => go({ pane: "callers", callee: name, above: [], below: [] })}
          >
            Callers &amp; callees
          </button>
        </>
      )}
      <button
        type="button"
        onClick={() => copy(stackText(view.peek(), heaviest()), "the heaviest stack")}
      >
        Copy stack
      </button>
      {file > 0 && (
        <button type="button" onClick={() => go({ pane: "source", source: of.text[file] })}>
          Source
        </button>
      )}
    </span>
  );
}
