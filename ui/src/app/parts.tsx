// SPDX-License-Identifier: Apache-2.0
//
// Small parts that several panes are made of.

import type { ComponentChildren } from "preact";
import { go } from "./state.ts";

// A share as a bar; the number stands beside it.
export function Bar({ part, whole }: { part: number; whole: number }) {
  const percent = whole > 0 ? Math.min(100, Math.max(0, (100 * part) / whole)) : 0;
  return (
    <span class="bar" aria-hidden="true">
      <span class={part < 0 ? "less" : ""} style={{ width: `${percent}%` }} />
    </span>
  );
}

// Why there is nothing to see, and a way on.
export function Refusal({ text }: { text: string }) {
  return (
    <div class="refusal" role="status">
      <p>{text}</p>
      <button type="button" onClick={() => go({ from: null, to: null, at: null, measure: null })}>
        Show the whole run
      </button>
    </div>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
