// SPDX-License-Identifier: Apache-2.0
//
// What happened, in the command's sentences. Each leads to where it can be seen.

import { computed } from "@preact/signals-core";
import type { Sentence, SentenceKind } from "../engine/model.ts";
import { questionOf, verdict } from "../engine/verdict.ts";
import { cleanWithin } from "../flame/clean.ts";
import { model, session } from "./session.ts";
import { use } from "./signals.ts";
import { go, type State } from "./state.ts";
import { plural, unbroken } from "./words.ts";

// The title is in the head of the page; of many notes the first is enough to begin with.
const sentences = computed(() => {
  const told = verdict(model.value, session.value!.facts.live);
  const all = told.filter(({ kind }) => kind !== "title");
  const notes = all.filter(({ kind }) => kind === "note");
  if (notes.length < 2) return all;
  const text = `And ${plural(notes.length - 1, "note")} more.`;
  return [...all.filter(({ kind }) => kind !== "note"), notes[0], { ...notes[1], text }];
});

// The pane in which a sentence of this kind can be seen; the timeline is there always.
const panes: Partial<Record<SentenceKind, State["pane"]>> = {
  unrecorded: "about",
  culprit: "table",
  pages: "about",
  end: "leaks",
  leak: "leaks",
  churn: "table",
  complete: "about",
  note: "about",
};

function stepOf(sentence: Sentence): Partial<State> | null {
  const question = questionOf(sentence);
  const pane = panes[sentence.kind];
  if (!question && !pane) return null;
  const asked = question && {
    measure: question.measure,
    unit: question.unit,
    from: null,
    to: null,
    at: null,
  };
  return { ...asked, ...(pane && { pane }) };
}

// Whether anything is wrong is seen at once; where resident memory was, and how much was temporary,
// is a click away, so that the graph has its room.
const later: SentenceKind[] = ["rss", "pages", "churn", "allocators"];

export function Verdict() {
  const all = use(sentences);
  const isLater = ({ kind, warning }: Sentence) => later.includes(kind) && !warning;
  const rest = all.filter(isLater);
  const isMany = rest.length > 1;
  return (
    <section class="verdict" aria-label="What happened">
      <List sentences={isMany ? all.filter((one) => !isLater(one)) : all} />
      {isMany && (
        <details>
          <summary>And {plural(rest.length, "sentence")} more</summary>
          <List sentences={rest} />
        </details>
      )}
    </section>
  );
}

function List({ sentences }: { sentences: Sentence[] }) {
  return (
    <ul>
      {sentences.map((sentence, i) => {
        const step = stepOf(sentence);
        const text = unbroken(cleanWithin(sentence.text, 600));
        return (
          <li key={i} class={`${sentence.kind} ${sentence.warning ? "warning" : ""}`}>
            {sentence.warning && <span aria-hidden="true">⚠</span>}
            {step ? (
              <button type="button" class="sentence" title={text} onClick={() => go(step)}>
                {text}
              </button>
            ) : (
              <span class="sentence">{text}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
