// SPDX-License-Identifier: Apache-2.0
//
// What each thread did: its share under the question, what it allocated and freed, and how much of
// that was others' memory.

import { computed } from "@preact/signals-core";
import { groupPlace, groupText } from "../engine/group_text.ts";
import { group, groupRefusal } from "../engine/groups.ts";
import { markOf, markOfAnswer } from "../engine/exactness.ts";
import { measureTerm, questionHeading } from "../engine/question_words.ts";
import { GROUP_TERMS, TERMS } from "../engine/terms.ts";
import { bytes, cell, count, percent, share } from "../engine/units.ts";
import { clean } from "../flame/clean.ts";
import { Bar, Refusal, Th } from "./parts.tsx";
import { model, question, refused, view, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";

const why = computed(() => refused.value ?? groupRefusal(model.value, "thread"));
const threads = computed(() => (why.value ? null : group(view.value, question.value, "thread")));

export function ThreadsPane() {
  const fault = use(why);
  const all = use(threads);
  const of = use(model);
  const whole = use(wholeWeight);
  const asked = use(question);
  const { measure, unit } = asked;
  const mark = markOfAnswer(of, asked);
  const [done, blocks] = [markOf(of, "allocated", "bytes"), markOf(of, "allocated", "blocks")];
  if (fault || !all) return <Refusal text={fault ?? ""} />;
  return (
    <section class="pane" aria-label="Threads">
      {all.items.some((row) => row.several && row.weight) && (
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
            <Th of="c-count number" term={TERMS.allocations} />
            <Th of="c-total number" term={TERMS.allocated} />
            <Th of="c-total number" term={TERMS.freed} />
            <Th of="c-foreign number" term={TERMS.foreign} />
            <Th of="c-temp number" term={TERMS.temporary} />
          </tr>
        </thead>
        <tbody>
          {all.items.map((row) => {
            const name = clean(groupText(of, row));
            return (
              <tr key={row.number}>
                <td class="c-share number">
                  <Bar part={row.weight} whole={whole} /> {share(row.weight, whole, mark)}
                </td>
                <td class="c-weight number">{cell(row.weight, unit, mark)}</td>
                <td class="c-name">
                  <span class="name">{name}</span>{" "}
                  <span class="muted">{groupPlace(of, row)}</span>
                </td>
                <td class="c-count number">{row.several ? "" : count(row.nAlloc, blocks)}</td>
                <td class="c-total number">{row.several ? "" : bytes(row.bAlloc, done)}</td>
                <td class="c-total number">{row.several ? "" : bytes(row.bFree, done)}</td>
                <td class="c-foreign number">{row.several ? "" : count(row.nForeign, blocks)}</td>
                <td class="c-temp number">
                  {row.several ? "" : percent(row.nTemp, row.nAlloc, blocks)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
