// SPDX-License-Identifier: Apache-2.0
//
// Buttons beside the timeline: to the peak, the end and what stands out between; and, of a range,
// everything that can be asked of it, with its number.

import { sumIn } from "../engine/narrow.ts";
import { nearestSnapshot, questionsOfPart, refusal, timeOf } from "../engine/question.ts";
import type { Question } from "../engine/question.ts";
import { keptWords } from "../engine/question_words.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { worstGap } from "../engine/bands.ts";
import { amount, time } from "../engine/units.ts";
import { clearRange, endNs, toEnd, toLocalPeak, toPeak } from "./moments.ts";
import { left as leftView, model, part as partShown, question } from "./session.ts";
import { use } from "./signals.ts";
import { go, state, type State } from "./state.ts";
import { bands } from "./timeline_bands.tsx";
import { momentWords, plural } from "./words.ts";

export function TimelineMoves() {
  const { left, right } = use(state);
  return (
    <span class="moves">
      {(left !== null || right !== null) && (
        <button type="button" onClick={() => go({ left: null, right: null })}>
          All of the time
        </button>
      )}
      <button type="button" onClick={() => toLocalPeak(-1)} title="Peak before this one: [">
        ‹<span class="sr">peak before</span>
      </button>
      <button type="button" onClick={toPeak} title="P">
        Peak
      </button>
      <button type="button" onClick={() => toLocalPeak(1)} title="Next peak: ]">
        ›<span class="sr">next peak</span>
      </button>
      <button type="button" onClick={toEnd} title="E">
        End
      </button>
    </span>
  );
}

interface Choice {
  words: string;
  asked: Question;
  step: Partial<State>;
}

// Below the chart, which would else move from under the pointer that is over it.
function Pointed({ cursor }: { cursor: number }) {
  const selects = momentWords(use(model), nearestSnapshot(use(model), cursor));
  return <span class="pointed muted">at {time(cursor)}; a click selects {selects}</span>;
}

export function RangeNumbers({ cursor }: { cursor: number | null }) {
  const of = use(model);
  const part = use(partShown);
  const now = use(question);
  const { edge } = use(state);
  const end = use(endNs);
  const who = use(bands);
  const shown = use(leftView);
  const gap = time(worstGap(of, end));
  if (!part)
    return (
      <p class="range-numbers muted" title={who ? "Double-click a band for its stacks" : undefined}>
        {cursor !== null ? <Pointed cursor={cursor} /> : (
          <>
            Click for a moment, drag for a part; known by stack at{" "}
            {plural(of.snapshots.count, "snapshot")} (marked), at most {gap} apart.
          </>
        )}
      </p>
    );
  const { from, to } = part as { from: number; to: number };
  const { unit } = now;
  const [grown, total, leak, before, after] = questionsOfPart(unit, from, to);
  const choices: Choice[] = [
    { words: "grown", asked: grown, step: { measure: "grown" } },
    { words: "allocated", asked: total, step: { measure: "total" } },
    { words: keptWords(of), asked: leak, step: { measure: "leak" } },
    { words: "at its start", asked: before, step: { measure: "live", edge: "from" } },
    { words: "at its end", asked: after, step: { measure: "live", edge: "to" } },
  ];
  const isNow = ({ asked, step }: Choice) =>
    asked.measure === now.measure && (asked.measure !== "live" || step.edge === edge);
  const label = `From ${momentWords(of, from)} to ${momentWords(of, to)}`;
  const base = timeOf(of, from);
  return (
    <div class="range-numbers" role="group" aria-label={label}>
      {choices.map((choice) => {
        const why = refusal(of, choice.asked);
        const mark = markOfAnswer(of, choice.asked);
        const text = why ? "not known" : amount(sumIn(shown, choice.asked), unit, mark);
        return (
          <button
            key={choice.words}
            type="button"
            aria-pressed={isNow(choice)}
            disabled={why !== null}
            title={why ?? undefined}
            onClick={() => go(choice.step)}
          >
            {choice.words} <b>{text}</b>
          </button>
        );
      })}
      <button
        type="button"
        title="What changed from its start to its end"
        onClick={() => go({ pane: "diff", base, measure: "live", edge: "to" })}
      >
        Compare
      </button>
      <button
        type="button"
        title="See this part alone on the timeline; others can be selected within it"
        onClick={() => go({ left: base, right: timeOf(of, to) })}
      >
        Zoom in
      </button>
      <button type="button" onClick={clearRange} title="The whole run: Esc">
        ×<span class="sr">whole run</span>
      </button>
      {cursor !== null && <Pointed cursor={cursor} />}
    </div>
  );
}
