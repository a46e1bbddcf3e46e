// SPDX-License-Identifier: Apache-2.0
//
// What is wrong and what to do about it, in the words of "tidemark explain": the weightiest of what
// should be changed, and on demand the rest and the notes, which say nothing is wrong. A sentence
// leads to the place it is about.

import type { Finding } from "../engine/model.ts";
import { cleanWithin } from "../flame/clean.ts";
import { stepTo } from "./finding_step.ts";
import { model } from "./session.ts";
import { use } from "./signals.ts";
import { go } from "./state.ts";
import { plural, unbroken } from "./words.ts";

const SHOWN = 3;
const LONGEST = 900; // characters: names have no limit

const shown = (text: string) => unbroken(cleanWithin(text, LONGEST));

function One({ finding }: { finding: Finding }) {
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

function List({ findings, from }: { findings: Finding[]; from: number }) {
  return (
    <ol start={from + 1}>
      {findings.map((finding, i) => (
        <One key={from + i} finding={finding} />
      ))}
    </ol>
  );
}

function restWords(faults: number, notes: number): string {
  const more = faults ? [plural(faults, "more finding", "more findings")] : [];
  return `And ${[...more, ...(notes ? [plural(notes, "note", "notes")] : [])].join(", ")}`;
}

// Faults have a row of their own; that there are none is a line beside what happened (isQuiet).
export function Findings({ isQuiet }: { isQuiet: boolean }) {
  const { list, title, unjudged, none } = use(model).facts.findings;
  const faults = list.filter(({ kind }) => kind === "fault");
  const weighty = faults.filter(({ confidence }) => confidence !== "low").length;
  const n = Math.min(SHOWN, weighty);
  const rest = list.length - n;
  const more = restWords(faults.length - n, list.length - faults.length);
  if (isQuiet !== (n === 0)) return null;
  const why = unjudged && <p class="muted">Not judged: {shown(unjudged)}.</p>;
  return (
    <section class="findings" aria-label="Findings">
      {n > 0 && <List findings={list.slice(0, n)} from={0} />}
      {rest > 0 && (
        <details>
          <summary>{n ? more : shown(title ?? "")}</summary>
          <List findings={list.slice(n)} from={n} />
          {why}
        </details>
      )}
      {!list.length && <p class="muted">{shown(none ?? `${title}.`)}</p>}
      {!rest && why}
    </section>
  );
}
