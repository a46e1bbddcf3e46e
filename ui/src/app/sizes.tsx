// SPDX-License-Identifier: Apache-2.0
//
// How large blocks were and how long they lived, under the question: bars with their numbers, from
// the first class that weighs anything to the last, and what is of several. A bar leaves its class.

import { LIFE_CLASS_RESIZED } from "../engine/classes.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { groupText } from "../engine/group_text.ts";
import { group, groupRefusal, type Group } from "../engine/groups.ts";
import { questionHeading } from "../engine/question_words.ts";
import { TERMS } from "../engine/terms.ts";
import { cell, share } from "../engine/units.ts";
import { Bar, Refusal, Th } from "./parts.tsx";
import { inPanes, left, model, question, refused } from "./session.ts";
import { use } from "./signals.ts";
import { go, state } from "./state.ts";

type Kind = "size" | "lifetime";

type Class = Pick<Group, "kind" | "number" | "several" | "last" | "weight">;

function classesOf(kind: Kind): Class[] | null {
  if (refused.value || groupRefusal(model.value, kind)) return null;
  const { items } = group(left.value, question.value, kind);
  const isOfTime = ({ number }: Group) => kind === "size" || number < LIFE_CLASS_RESIZED;
  const told = items.filter((one) => !one.several && isOfTime(one));
  const [first, last] = [told[0]?.number ?? 0, told.at(-1)?.number ?? -1];
  const all: Class[] = [];
  for (let number = first; number <= last; number++)
    all.push(
      told.find((one) => one.number === number) ??
        { kind, number, several: false, last: 0, weight: 0 },
    );
  return [...all, ...items.filter((one) => one.several || !isOfTime(one))];
}

const sizes = inPanes(["sizes"], () => classesOf("size"), null);
const lifetimes = inPanes(["sizes"], () => classesOf("lifetime"), null);

export function SizesPane() {
  const of = use(model);
  const why = use(refused);
  if (why) return <Refusal text={why} />;
  return (
    <section class="pane columns" aria-label="Sizes and lifetimes">
      <Bars kind="size" classes={use(sizes)} why={groupRefusal(of, "size")} />
      <Bars kind="lifetime" classes={use(lifetimes)} why={groupRefusal(of, "lifetime")} />
    </section>
  );
}

interface BarsProps {
  kind: Kind;
  classes: Class[] | null;
  why: string | null; // there are none to be had
}

function Bars({ kind, classes, why }: BarsProps) {
  const of = use(model);
  const asked = use(question);
  const mark = markOfAnswer(of, asked);
  const title = kind === "size" ? "Sizes" : "Lifetimes";
  let all = 0;
  let most = 0;
  for (const { weight } of classes ?? []) {
    all += weight;
    most = Math.max(most, weight);
  }
  if (why || !classes || !all)
    return (
      <div>
        <h2>{title}</h2>
        <p class="nothing">{why ?? "There are none."}</p>
      </div>
    );
  return (
    <table class="bars">
      <caption>
        {title} <span class="muted">{TERMS[kind].hint}</span>
      </caption>
      <thead>
        <tr>
          <Th of="" term={TERMS[kind]} />
          <th scope="col" class="wide">
            <span class="sr">Share as a bar</span>
          </th>
          <Th of="number" term={{ text: questionHeading(of, asked), hint: "" }} />
          <Th of="number" term={TERMS.share} />
        </tr>
      </thead>
      <tbody>
        {classes.map((one) => (
          <tr key={`${one.number} ${one.several}`}>
            <th scope="row">
              <ClassName of={one} />
            </th>
            <td class="wide">
              <Bar part={one.weight} whole={most} />
            </td>
            <td class="number">{cell(one.weight, asked.unit, mark)}</td>
            <td class="number">{share(one.weight, all, mark)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// A click anywhere on its line leaves this class; a second one takes that back.
function ClassName({ of: { kind, number, several, last, weight } }: { of: Class }) {
  const words = groupText(use(model), { kind, number, several, last });
  const now = use(state)[kind as Kind];
  if (several || !weight) return <>{words}</>;
  const isNow = now === number;
  return (
    <button
      type="button"
      class="opener whole-line"
      aria-pressed={isNow}
      title={isNow ? "All classes again" : "Only this class, in every pane"}
      onClick={() => go({ [kind]: isNow ? null : number })}
    >
      {words}
    </button>
  );
}
