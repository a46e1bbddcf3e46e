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
import { placeWithin, tailsApart } from "../engine/shorten.ts";
import { GROUP_TERMS } from "../engine/terms.ts";
import { amount, count, share, EXACT } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { groupPlace, nameToShow, shortGroupName } from "./columns.ts";
import { stepTo, stepToCard, unselected } from "./finding_step.ts";
import { Middle } from "./parts.tsx";
import { model, question } from "./session.ts";
import { use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { go, state } from "./state.ts";
import { plural, unbroken } from "./words.ts";

const LONGEST = 900; // characters: names have no limit
// So many cards leave the graph its room; where the window has more than that, all of them.
const SEEN = 3;
const TALL = 1000; // pixels
const CARD_NAME = 28; // characters of a name of several parts,
const CARD_PLACE = 22; // and of the path of its line

const shown = (text: string) => unbroken(cleanWithin(text, LONGEST));

export const cards = computed(() => cardsOf(model.value));

export function Findings() {
  const all = use(cards);
  if (!all.length) return null;
  return (
    <section class="findings" aria-label="Findings">
      <Cards all={all.slice(0, SEEN)} isFirst />
      {all.length > SEEN && (
        <details class="more-cards" open={innerHeight > TALL}>
          <summary>{plural(all.length - SEEN, "more finding", "more findings")}</summary>
          <Cards all={all.slice(SEEN)} isFirst={false} />
        </details>
      )}
    </section>
  );
}

function Cards({ all, isFirst }: { all: Card[]; isFirst: boolean }) {
  return (
    <ol class="cards">
      {all.map((card, i) => (
        <One key={i} card={card} isFirst={isFirst && i === 0} />
      ))}
    </ol>
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
              <b>
                <Middle text={tailsApart([shortGroupName(of, group)], CARD_NAME)[0]} />
              </b>{" "}
              <span class="muted">{placeWithin(groupPlace(of, group), CARD_PLACE)}</span>
            </>
          ) : (
            <b>{shown(finding!.heading)}</b>
          )}
        </p>
        {group && <Spark model={of} sites={group.sites} unit="bytes" />}
        <SelectButton card={card} />
      </div>
      {isFirst || !group ? <Whole card={card} /> : <Folded card={card} />}
    </li>
  );
}

function groupHint(of: Model, { group }: Card): string {
  return `${clean(groupText(of, group!)).slice(0, 2000)}\n${groupPlace(of, group!)}`;
}

function Whole({ card }: { card: Card }) {
  const { finding, group } = card;
  return (
    <>
      {group && (
        <p class="card-numbers">
          <Numbers card={card} />
        </p>
      )}
      {finding && <Said finding={finding} />}
      <Path card={card} />
    </>
  );
}

// Its numbers; on demand what is said of it, what to do and what lies below its own line.
function Folded({ card }: { card: Card }) {
  const { finding, path } = card;
  if (!finding && !path.length)
    return (
      <p class="card-numbers">
        <Numbers card={card} />
      </p>
    );
  return (
    <details class="card-path">
      <summary class="card-numbers">
        <Numbers card={card} />
      </summary>
      {finding && <Said finding={finding} />}
      {finding && <p class="advice">{finding.advice}</p>}
      <Frames card={card} />
    </details>
  );
}

function Said({ finding }: { finding: Finding }) {
  return (
    <p class="sentence" title={shown(finding.sentence)}>
      {shown(finding.sentence)}
    </p>
  );
}

// "1.9 MiB, 37.6 % · at the peak · load-1 and 3 more threads · backlog · saves 1.9 MiB of memory".
function Numbers({ card }: { card: Card }) {
  const of = use(model);
  const { finding, group, question: asked, whole } = card;
  const mark = markOfAnswer(of, asked);
  return (
    <>
      <b>{amount(group!.weight, "bytes", mark)}</b>, {share(group!.weight, whole, mark)}{" "}
      <span class="muted">
        {[questionHeading(of, asked), threadWords(of, card), finding?.heading]
          .filter((text, i, all) => text && !(i === 0 && all[2]?.startsWith(text)))
          .map((text) => shown(text!))
          .join(" · ")}
      </span>
    </>
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

// What to do, in a line; open, all that is said, and what is below the program's own line.
function Path({ card: { path, finding }, card }: { card: Card }) {
  const of = use(model);
  if (!path.length && !finding) return null;
  return (
    <details class="card-path">
      <summary>{finding?.advice ?? shown(`via ${nameToShow(of, path[0])}`)}</summary>
      {finding && path.length > 0 && <p>By way of:</p>}
      <Frames card={card} />
    </details>
  );
}

function Frames({ card: { path } }: { card: Card }) {
  const of = use(model);
  if (!path.length) return null;
  return (
    <ol>
      {path.map((frame, i) => (
        <li key={i}>
          {nameToShow(of, frame)} <span class="muted">{clean(placeText(of, frame))}</span>
        </li>
      ))}
    </ol>
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
