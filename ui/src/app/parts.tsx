// SPDX-License-Identifier: Apache-2.0
//
// Small parts that several panes are made of.

import type { ComponentChildren } from "preact";
import type { Trie } from "../engine/trie.ts";
import { use } from "./signals.ts";
import { go, state, type State } from "./state.ts";
import { cutWords, sentence } from "./words.ts";

// A share as a bar; the number stands beside it.
export function Bar({ part, whole }: { part: number; whole: number }) {
  const percent = whole > 0 ? Math.min(100, Math.max(0, (100 * part) / whole)) : 0;
  return (
    <span class="bar" aria-hidden="true">
      <span class={part < 0 ? "less" : ""} style={{ width: `${percent}%` }} />
    </span>
  );
}

const TAIL = 9; // characters

// A name that is cut in its middle where there is no room: siblings differ at their ends.
export function Middle({ text, isPlace = false }: { text: string; isPlace?: boolean }) {
  const isShort = text.length < 2 * TAIL;
  const at = isShort && isPlace ? text.lastIndexOf(":") : text.length - TAIL; // its line stays
  if (isShort && !(isPlace && at > 0)) return <>{text}</>;
  return (
    <span class="middle">
      <span>{text.slice(0, at)}</span>
      <span>{text.slice(at)}</span>
    </span>
  );
}

export interface Way {
  words: string;
  step: Partial<State>;
}

const wholeRun: Way = {
  words: "Show the whole run",
  step: { from: null, to: null, at: null, measure: null },
};

// Why there is nothing to see, and a way on where there is one.
export function Refusal({ text, way }: { text: string; way?: Way | null }) {
  const { from, to, at, measure } = use(state);
  const isChosen = [from, to, at, measure].some((one) => one !== null);
  const { words, step } = way ?? wholeRun;
  return (
    <div class="refusal" role="status">
      <p>{text}</p>
      {(way || isChosen) && (
        <button type="button" onClick={() => go(step)}>
          {words}
        </button>
      )}
    </div>
  );
}

// In place of what is being made.
export function Working() {
  return <p class="nothing">Working…</p>;
}

// What a tree from the inside out leaves out of deep stacks.
export function Cut({ of }: { of: Trie }) {
  const words = cutWords(of);
  return words && <p class="muted cut">{words}</p>;
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

// The head of a table's column, by the class that gives the column its width.
export function Th({ of, term }: { of: string; term: { text: string; hint: string } }) {
  return (
    <th scope="col" class={of} title={term.hint}>
      {sentence(term.text)}
    </th>
  );
}
