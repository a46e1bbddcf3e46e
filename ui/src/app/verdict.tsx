// SPDX-License-Identifier: Apache-2.0
//
// What happened, in the command's sentences. Each leads to where it can be seen.

import { computed } from "@preact/signals-core";
import type { Sentence, SentenceKind } from "../engine/model.ts";
import { bytes, EXACT } from "../engine/units.ts";
import { questionOf, verdict } from "../engine/verdict.ts";
import { cleanWithin } from "../flame/clean.ts";
import { cards, further, FurtherFindings } from "./findings.tsx";
import { mostTogether } from "./process_rows.ts";
import { model, session } from "./session.ts";
import { use } from "./signals.ts";
import { formatState, go, state, type State } from "./state.ts";
import { plural, unbroken } from "./words.ts";

const told = computed(() => verdict(model.value, session.value!.facts.live));

// That nothing is missing is said in the head of the page, beside the title.
export const complete = computed(
  () => told.value.find(({ kind, warning }) => kind === "complete" && !warning) ?? null,
);

// Of many notes the first is enough to begin with.
const sentences = computed(() => {
  const all = told.value.filter((one) => one.kind !== "title" && one !== complete.value);
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

// What cards say, too.
const onCards: SentenceKind[] = ["culprit", "leak", "end"];

// What leads: how high the heap was, and whatever is a reason not to believe the rest.
const leads: SentenceKind[] = ["peak", "unrecorded"];

export function Verdict() {
  const all = use(sentences);
  const isOnCards = use(cards).length > 0;
  const isLater = ({ kind, warning }: Sentence) =>
    (later.includes(kind) || (isOnCards && onCards.includes(kind))) && !warning;
  const isNote = ({ kind }: Sentence) => kind === "note";
  const isLead = (one: Sentence, i: number) =>
    i === 0 || (one.warning && !isNote(one)) || leads.includes(one.kind);
  const rest = all.filter(isLater);
  const isMany = rest.length > 1;
  const now = isMany ? all.filter((one) => !isLater(one)) : all;
  const quiet = now.filter((one, i) => !isLead(one, i));
  return (
    <section class="verdict" aria-label="What happened">
      <List of="lead" sentences={now.filter(isLead)} />
      <List of="quiet" sentences={quiet.filter((one) => !isNote(one))} />
      <OneOfSeveral />
      <List of="quiet notes" sentences={quiet.filter(isNote)} />
      <More sentences={isMany ? rest : []} />
    </section>
  );
}

// Where there are many processes, the largest is what the page begins with.
function OneOfSeveral() {
  const { facts, capture } = use(session)!;
  const { images, processes } = facts.captures[capture];
  if (images.length < 2) return null;
  // The sums are of moments at which somebody looked; a peak of one alone may lie between two.
  const peaks = images.map(({ peak_bytes: peak }) => peak ?? 0);
  const most = processes ? Math.max(mostTogether(images, processes), ...peaks) : 0;
  const held = most ? `, which together held ${bytes(most, EXACT)} or more at once` : "";
  const words = `This is one of ${plural(images.length, "process", "processes")}${held}.`;
  return (
    <ul class="quiet several">
      <li>
        <Step words={unbroken(words)} step={{ pane: "processes" }} />
      </li>
    </ul>
  );
}

// The rest, and the findings that are on no card, a click away.
function More({ sentences }: { sentences: Sentence[] }) {
  const { words, findings, unjudged } = use(further);
  const more = sentences.length ? `And ${plural(sentences.length, "sentence")} more` : "";
  const summary = [more, words].filter(Boolean).join(" · ");
  if (!sentences.length && !findings.length && !unjudged)
    return summary ? <p class="muted">{summary}</p> : null;
  return (
    <details>
      <summary>{summary}</summary>
      <List of="" sentences={sentences} />
      <FurtherFindings />
    </details>
  );
}

function List({ of, sentences }: { of: string; sentences: Sentence[] }) {
  return (
    <ul class={of}>
      {sentences.map((sentence, i) => {
        const step = stepOf(sentence);
        const text = unbroken(cleanWithin(sentence.text, 600));
        return (
          <li key={i} class={`${sentence.kind} ${sentence.warning ? "warning" : ""}`}>
            {sentence.warning && <span aria-hidden="true">⚠</span>}
            {step ? (
              <Step words={text} step={step} />
            ) : (
              <span class="sentence">{text}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

// A link, so that it is part of the text, and can be opened beside this page.
function Step({ words, step }: { words: string; step: Partial<State> }) {
  const click = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(step);
  };
  return (
    <a class="sentence" href={`#${formatState({ ...use(state), ...step })}`} onClick={click}>
      {words}
    </a>
  );
}
