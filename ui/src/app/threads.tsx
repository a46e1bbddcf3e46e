// SPDX-License-Identifier: Apache-2.0
//
// What each thread did: its share under the question, what it allocated and freed, and how much of
// that was others' memory.

import { computed } from "@preact/signals-core";
import { groupPlace, groupText } from "../engine/group_text.ts";
import { group, groupRefusal, type Group } from "../engine/groups.ts";
import { isNarrow } from "../engine/look.ts";
import { markOf, markOfAnswer } from "../engine/exactness.ts";
import { threadKey } from "../engine/narrow.ts";
import { measureTerm, questionHeading } from "../engine/question_words.ts";
import { GROUP_TERMS, TERMS } from "../engine/terms.ts";
import { bytes, cell, count, percent, share } from "../engine/units.ts";
import { clean } from "../flame/clean.ts";
import { isFound, Marked } from "./found.tsx";
import { Bar, Refusal, Th } from "./parts.tsx";
import { inPanes, left, model, question, refused, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import { go, state } from "./state.ts";
import { wordsOfPane } from "./words.ts";

const why = computed(() => refused.value ?? groupRefusal(model.value, "thread"));
const threads = inPanes<Group[] | null>(["threads"], () =>
  why.value ? null : group(left.value, question.value, "thread").items.filter(isFound), null,
);

// A click leaves this thread alone, here and everywhere; a second one takes that back.
function ThreadName({ row, name }: { row: Group; name: string }) {
  const of = use(model);
  const { thread } = use(state);
  if (row.several) return <span class="name">{name}</span>;
  const key = threadKey(of, row.number);
  const apart = clean(key).slice(name.length); // where others have the same name, and no number
  const place = <span class="muted">{groupPlace(of, row) || apart}</span>;
  const isNow = thread === key;
  return (
    <>
      <button
        type="button"
        class="opener"
        aria-pressed={isNow}
        title={isNow ? "All threads again" : "Only this thread, in every pane"}
        onClick={() => go({ thread: isNow ? null : key })}
      >
        <span class="name">
          <Marked text={name} />
        </span>{" "}
        {place}
      </button>
      {isNow && (
        <span class="buttons">
          <button type="button" onClick={() => go({ pane: "graph" })}>
            Its stacks
          </button>
          <button type="button" onClick={() => go({ pane: "leaks" })}>
            {wordsOfPane(of, "leaks")}
          </button>
          <CompareWith now={key} />
        </span>
      )}
    </>
  );
}

// Those that ever did anything, by their numbers.
const active = computed(() => {
  const { rows, facts } = model.value;
  const did = new Uint8Array(facts.threads.length);
  for (let i = 0; i < rows.count; i++) did[rows.thread[i]] = 1;
  return [...did.keys()].filter((number) => did[number]);
});

// What this thread has that another has not, and the other way round, under the question.
function CompareWith({ now }: { now: string }) {
  const of = use(model);
  const others = use(active).map((i) => threadKey(of, i)).filter((key) => key !== now);
  if (!others.length) return null;
  const pick = (event: Event) => {
    const versus = (event.target as HTMLSelectElement).value;
    if (versus) go({ pane: "diff", versus, base: "" });
  };
  return (
    <label>
      <span class="sr">Compare with</span>
      <select value="" onChange={pick}>
        <option value="">compare with…</option>
        {others.map((key) => (
          <option key={key} value={key}>
            {clean(key)}
          </option>
        ))}
      </select>
    </label>
  );
}

export function ThreadsPane() {
  const fault = use(why);
  const all = use(threads);
  const of = use(model);
  const whole = use(wholeWeight);
  const asked = use(question);
  const { measure, unit } = asked;
  const mark = markOfAnswer(of, asked);
  const hasDeeds = !isNarrow(use(left).look); // which are told of whole threads alone
  if (fault || !all) return <Refusal text={fault ?? ""} />;
  return (
    <section class="pane" aria-label="Threads">
      {all.some((row) => row.several && row.weight) && (
        <p class="muted">
          {TERMS.severalThreads.text}: {TERMS.severalThreads.hint}.
        </p>
      )}
      <table class="grid plain">
        <thead>
          <tr>
            <Th of="c-share" term={TERMS.share} />
            <Th
              of="c-weight number"
              term={{ text: questionHeading(of, asked), hint: measureTerm(of, measure).hint }}
            />
            <Th of="c-name" term={{ text: GROUP_TERMS.thread.word, hint: "" }} />
            {hasDeeds && (
              <>
                <Th of="c-count number" term={TERMS.allocations} />
                <Th of="c-total number" term={TERMS.allocated} />
                <Th of="c-total number" term={TERMS.freed} />
                <Th of="c-foreign number" term={TERMS.foreign} />
                <Th of="c-temp number" term={TERMS.temporary} />
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {all.map((row) => {
            const name = clean(groupText(of, row));
            return (
              <tr key={row.number}>
                <td class="c-share number">
                  <Bar part={row.weight} whole={whole} /> {share(row.weight, whole, mark)}
                </td>
                <td class="c-weight number">{cell(row.weight, unit, mark)}</td>
                <td class="c-name">
                  <ThreadName row={row} name={name} />
                </td>
                {hasDeeds && <Deeds row={row} />}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

// What a thread did in the whole run, whosever blocks they were.
function Deeds({ row }: { row: Group }) {
  const of = use(model);
  const [done, blocks] = [markOf(of, "allocated", "bytes"), markOf(of, "allocated", "blocks")];
  return (
    <>
      <td class="c-count number">{row.several ? "" : count(row.nAlloc, blocks)}</td>
      <td class="c-total number">{row.several ? "" : bytes(row.bAlloc, done)}</td>
      <td class="c-total number">{row.several ? "" : bytes(row.bFree, done)}</td>
      <td class="c-foreign number">{row.several ? "" : count(row.nForeign, blocks)}</td>
      <td class="c-temp number">
        {row.several ? "" : percent(row.nTemp, row.nAlloc, blocks)}
      </td>
    </>
  );
}
