// SPDX-License-Identifier: Apache-2.0
//
// What the first screen leads with: cards of the places that matter, in the words of "tidemark
// explain" where it found something, each with its share, its course, its thread, and one button
// that leaves exactly that. Further findings, and the notes, which say nothing is wrong, are there
// on demand.

import { computed } from "@preact/signals-core";
import { cardsOf, type Card } from "../engine/cards.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { groupText } from "../engine/group_text.ts";
import type { Finding, Model } from "../engine/model.ts";
import { placeText } from "../engine/names.ts";
import { questionHeading } from "../engine/question_words.ts";
import { rowOf } from "../engine/rows.ts";
import { GROUP_TERMS } from "../engine/terms.ts";
import { amount, count, share, EXACT } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { groupPlace, nameToShow, shortGroupName } from "./columns.ts";
import { stepTo, stepToCard, unselected } from "./finding_step.ts";
import { model, question } from "./session.ts";
import { use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { go, state } from "./state.ts";
import { plural, unbroken } from "./words.ts";

const LONGEST = 900; // characters: names have no limit

const shown = (text: string) => unbroken(cleanWithin(text, LONGEST));

export const cards = computed(() => cardsOf(model.value));

export function Findings() {
  const all = use(cards);
  if (!all.length) return null;
  return (
    <section class="findings" aria-label="Findings">
      <ol class="cards">
        {all.map((card, i) => (
          <One key={i} card={card} isFirst={i === 0} />
        ))}
      </ol>
    </section>
  );
}

// What is on no card; of nothing found, that it is so.
export const further = computed(() => {
  const { list, title, unjudged, none } = model.value.facts.findings;
  const findings = list.filter((one) => !cards.value.some((card) => card.finding === one));
  const faults = findings.filter(({ kind }) => kind === "fault").length;
  const isTold = list.some(({ kind }) => kind === "fault");
  const said = none ?? (title && `${title}.`) ?? "";
  const rest = findings.length ? restWords(faults, findings.length - faults) : "";
  return { findings, unjudged, words: isTold ? rest : shown(said) };
});

export function FurtherFindings() {
  const { findings, unjudged } = use(further);
  return (
    <>
      <ol class="further">
        {findings.map((finding, i) => (
          <Further key={i} finding={finding} />
        ))}
      </ol>
      {unjudged && <p class="muted">Not judged: {shown(unjudged)}.</p>}
    </>
  );
}

function restWords(faults: number, notes: number): string {
  const more = faults ? [plural(faults, "more finding", "more findings")] : [];
  return [...more, ...(notes ? [plural(notes, "note", "notes")] : [])].join(", ");
}

function One({ card, isFirst }: { card: Card; isFirst: boolean }) {
  const of = use(model);
  const { finding, group } = card;
  const kind = !finding ? "" : finding.kind === "note" ? "note" : finding.confidence;
  return (
    <li class={`card ${kind}`}>
      <div class="card-head">
        <p class="card-name" title={group ? groupHint(of, card) : undefined}>
          {group ? (
            <>
              <b>{shortGroupName(of, group)}</b>{" "}
              <span class="muted">{groupPlace(of, group)}</span>
            </>
          ) : (
            <b>{shown(finding!.heading)}</b>
          )}
        </p>
        {group && <Spark model={of} sites={group.sites} unit="bytes" />}
        <SelectButton card={card} />
      </div>
      {group && <Numbers card={card} />}
      {finding && (
        <p class="sentence" title={shown(finding.sentence)}>
          {shown(finding.sentence)}
        </p>
      )}
      {finding && (isFirst ? <p class="advice">{finding.advice}</p> : null)}
      <Path card={card} isFirst={isFirst} />
    </li>
  );
}

function groupHint(of: Model, { group }: Card): string {
  return `${clean(groupText(of, group!)).slice(0, 2000)}\n${groupPlace(of, group!)}`;
}

// "1.9 MiB, 37.6 % · at the peak · backlog · saves 1.9 MiB of memory · load-1 and 3 more threads".
function Numbers({ card }: { card: Card }) {
  const of = use(model);
  const { finding, group, question: asked, whole } = card;
  const mark = markOfAnswer(of, asked);
  return (
    <p class="card-numbers">
      <b>{amount(group!.weight, "bytes", mark)}</b>, {share(group!.weight, whole, mark)}{" "}
      <span class="muted">
        {[questionHeading(of, asked), finding?.heading, threadWords(of, card)]
          .filter((text, i, all) => text && !(i === 0 && all[1]?.startsWith(text)))
          .map((text) => shown(text!))
          .join(" · ")}
      </span>
    </p>
  );
}

function threadWords(of: Model, { thread, threads }: Card): string {
  if (thread === null || of.facts.threads.length < 3) return ""; // one, and the unknown
  const name = clean(groupText(of, { kind: "thread", number: thread } as never));
  const more = threads - 1;
  const { one, many } = GROUP_TERMS.thread;
  const others = more ? ` and ${count(more, EXACT)} more ${more > 1 ? many : one}` : "";
  return `${one} ${name}${others}`;
}

// What is below the program's own line, and what to do, folded.
function Path({ card, isFirst }: { card: Card; isFirst: boolean }) {
  const of = use(model);
  const { path, finding } = card;
  const advice = isFirst ? null : finding?.advice;
  if (!path.length && !advice) return null;
  const via = path.length ? `via ${nameToShow(of, path[0])}` : "";
  return (
    <details class="card-path">
      <summary>{via ? shown(via) : "What to do"}</summary>
      {advice && <p class="advice">{advice}</p>}
      {path.length > 0 && (
        <ol>
          {path.map((frame, i) => (
            <li key={i}>
              {nameToShow(of, frame)} <span class="muted">{clean(placeText(of, frame))}</span>
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}

function SelectButton({ card }: { card: Card }) {
  const of = use(model);
  const { row } = use(state);
  const { measure } = use(question);
  const step = stepToCard(of, card);
  if (!step) return null;
  const own = card.group && rowOf(of, card.group);
  const isNow = own !== null && row === own && measure === card.question.measure;
  const what = card.group ? shortGroupName(of, card.group) : "where it can be seen";
  return (
    <button
      type="button"
      class="card-select"
      aria-pressed={own ? isNow : undefined}
      title={isNow ? "Everything again" : `Only ${what}, in everything below`}
      onClick={() => go(isNow ? unselected() : step)}
    >
      {own ? (isNow ? "Selected" : "Select") : "Show"}
      <span class="sr"> {what}</span>
    </button>
  );
}

function Further({ finding }: { finding: Finding }) {
  return (
    <li class={finding.kind === "note" ? "note" : finding.confidence}>
      <p class="finding-head">{shown(finding.heading)}</p>
      <p>
        <button type="button" class="sentence" onClick={() => go(stepTo(finding))}>
          {shown(finding.sentence)}
        </button>
      </p>
      <p class="advice">{finding.advice}</p>
    </li>
  );
}
