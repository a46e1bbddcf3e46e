// SPDX-License-Identifier: Apache-2.0
//
// What happened, in sentences. Each leads to where it can be seen.

import { computed } from "@preact/signals-core";
import { timeOf } from "../engine/question.ts";
import { verdict, type Sentence } from "../engine/verdict.ts";
import { cleanWithin } from "../flame/clean.ts";
import { model, session } from "./session.ts";
import { use } from "./signals.ts";
import { go, type State } from "./state.ts";
import { plural, unbroken } from "./words.ts";

// The title is in the head of the page; of many notes the first is enough to begin with.
const sentences = computed(() => {
  const isLive = session.value!.facts.live;
  const all = verdict(model.value).filter(({ kind, text }) => {
    const isOfEnd = kind === "complete" || /not ended properly/.test(text); // it is to come
    return kind !== "title" && !(isLive && isOfEnd);
  });
  const late = /^At the end (.*?) not freed yet/; // which is not reached
  if (isLive) for (const one of all) one.text = one.text.replace(late, "So far $1 not freed");
  const notes = all.filter(({ kind }) => kind === "note");
  if (notes.length < 2) return all;
  const text = `And ${plural(notes.length - 1, "note")} more.`;
  return [...all.filter(({ kind }) => kind !== "note"), notes[0], { ...notes[1], text }];
});

function stepOf({ link }: Sentence): Partial<State> | null {
  if (!link) return null;
  const step: Partial<State> = {};
  if (link.question) {
    const { measure, unit, from, to } = link.question;
    const at = (snapshot: number | null) =>
      snapshot === null ? null : timeOf(model.peek(), snapshot);
    Object.assign(step, { measure, unit, from: null, to: null, at: null });
    if (from !== null) Object.assign(step, { from: at(from), to: at(to) });
    else if (measure === "live") step.at = at(to);
  }
  if (link.pane === "leaks" || link.pane === "table" || link.pane === "about")
    step.pane = link.pane;
  return step;
}

export function Verdict() {
  const all = use(sentences);
  return (
    <section class="verdict" aria-label="What happened">
      <ul>
        {all.map((sentence, i) => {
          const step = stepOf(sentence);
          const text = unbroken(cleanWithin(sentence.text, 600));
          return (
            <li key={i} class={`${sentence.kind} ${sentence.isWarning ? "warning" : ""}`}>
              {sentence.isWarning && <span aria-hidden="true">⚠</span>}
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
    </section>
  );
}
