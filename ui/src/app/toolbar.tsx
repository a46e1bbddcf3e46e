// SPDX-License-Identifier: Apache-2.0
//
// What is asked and how it is drawn: measure, unit, frames, search. What the capture does not hold
// cannot be chosen, and says why.

import { blameOf } from "../engine/groups.ts";
import { MEASURES, refusal, type Measure } from "../engine/question.ts";
import { markOfAnswer, markOfTwo } from "../engine/exactness.ts";
import { measureTerm } from "../engine/question_words.ts";
import { amount, change, count, share, EXACT } from "../engine/units.ts";
import type { Matches } from "../engine/search.ts";
import { AddFilter, Chips } from "./chips.tsx";
import { foundLeft as foundInBoth, sides } from "./comparison.ts";
import { Download } from "./download.tsx";
import { matchesLeft, model, question, searchFault, view, wanted } from "./session.ts";
import { use } from "./signals.ts";
import { addFilter, go, settle, state, type Pane, type State } from "./state.ts";
import { sentence } from "./words.ts";

// Panes that answer no question, or always the same one; and those whose stacks can be turned.
const unasked: Pane[] = ["leaks"];
const turned: Pane[] = ["overview", "graph", "tree", "diff"];

// Only what has an effect on the pane below.
export function Toolbar({ pane }: { pane: Pane }) {
  if (pane === "about" || pane === "memory" || pane === "processes") return null;
  return (
    <div class="toolbar">
      <div class="toolbar-row">
        {!unasked.includes(pane) && (
          <>
            <MeasureSwitch />
            <UnitSwitch />
          </>
        )}
        <Toggles isTurned={turned.includes(pane)} />
        <AddFilter />
        <Download />
        {pane === "diff" ? <SearchOfBoth /> : <SearchOfStacks />}
      </div>
      <Chips />
    </div>
  );
}

// A measure that takes no part of a run gives it up.
export function measureStep(measure: Measure): Partial<State> {
  const asked = question.peek();
  const inPart = refusal(model.peek(), { ...asked, measure }) === null;
  const keeps = inPart && measure !== "peak" && measure !== "temp";
  return keeps ? { measure } : { measure, from: null, to: null, at: null };
}

function whyNot(measure: Measure, unit: "bytes" | "blocks"): string | null {
  return refusal(model.peek(), { measure, unit, from: null, to: null });
}

export function nextMeasure(): void {
  const { measure, unit } = question.peek();
  for (let i = 1; i <= MEASURES.length; i++) {
    const next = MEASURES[(MEASURES.indexOf(measure) + i) % MEASURES.length];
    if (whyNot(next, unit)) continue;
    go(measureStep(next));
    return;
  }
}

export function otherUnit(): void {
  const { measure, unit } = question.peek();
  const next = unit === "bytes" ? "blocks" : "bytes";
  if (!whyNot(measure, next)) go({ unit: next });
}

function MeasureSwitch() {
  const now = use(question);
  const of = use(model);
  return (
    <div class="switch" role="group" aria-label="Measure">
      {MEASURES.map((measure) => {
        const why = whyNot(measure, now.unit);
        const { name, hint } = measureTerm(of, measure);
        return (
          <button
            key={measure}
            type="button"
            aria-pressed={now.measure === measure}
            aria-disabled={why !== null}
            aria-description={why ?? hint}
            title={why ?? hint}
            onClick={() => !why && go(measureStep(measure))}
          >
            {sentence(name)}
          </button>
        );
      })}
    </div>
  );
}

function UnitSwitch() {
  const now = use(question);
  const units = ["bytes", "blocks"] as const;
  return (
    <div class="switch" role="group" aria-label="Unit">
      {units.map((unit) => {
        const why = unit === now.unit ? null : whyNot(now.measure, unit);
        return (
          <button
            key={unit}
            type="button"
            aria-pressed={now.unit === unit}
            aria-disabled={why !== null}
            title={why ?? "U"}
            onClick={() => !why && go({ unit })}
          >
            {unit}
          </button>
        );
      })}
    </div>
  );
}

// Rows lead with own code, or with libraries.
export function turnBlame(): void {
  const isOwn = blameOf(view.peek(), state.peek().group) !== "library";
  go({ blame: isOwn ? "library" : "own" });
}

function Toggles({ isTurned }: { isTurned: boolean }) {
  const { runtime, group, invert, flip } = use(state);
  const isOwn = blameOf(use(view), group) !== "library";
  return (
    <div class="switch" role="group" aria-label="Frames">
      <button
        type="button"
        aria-pressed={!runtime}
        title="Frames of allocators, containers and start-up code: R"
        onClick={() => go({ runtime: !runtime })}
      >
        hide runtime
      </button>
      <button
        type="button"
        aria-pressed={isOwn}
        title="Rows lead with your own code, not with the library that it called: O"
        onClick={turnBlame}
      >
        own code
      </button>
      {isTurned && (
        <>
          <button
            type="button"
            aria-pressed={invert}
            title="From the allocating function out to its callers: I"
            onClick={() => go({ invert: !invert, zoom: [] })}
          >
            invert
          </button>
          <button
            type="button"
            aria-pressed={flip}
            title="The root below, as a flame graph: F"
            onClick={() => go({ flip: !flip })}
          >
            flip
          </button>
        </>
      )}
    </div>
  );
}

function framesWords({ count: n }: Matches): string {
  return `in ${count(n, EXACT)} ${n === 1 ? "frame" : "frames"}`;
}

function SearchOfStacks() {
  const found = use(matchesLeft);
  const all = use(wanted);
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(use(model), asked);
  const words = found
    ? `${amount(found.total, unit, mark)} (${share(found.total, all, mark)}) ${framesWords(found)}`
    : "";
  return <Search result={words} />;
}

// What changed in the stacks found; without a comparison, what they hold.
function SearchOfBoth() {
  const found = use(foundInBoth);
  const { unit } = use(question);
  const of = use(sides);
  if (!of) return <SearchOfStacks />;
  const [then, next] = [of.before, of.after].map((side) => markOfAnswer(side.model, side.question));
  const words = found
    ? `${change(found.total - (found.before ?? 0), unit, markOfTwo(then, next))}: ` +
      `${amount(found.before ?? 0, unit, then)} → ${amount(found.total, unit, next)} ` +
      framesWords(found)
    : "";
  return <Search result={words} />;
}

function Search({ result }: { result: string }) {
  const { search } = use(state);
  const fault = use(searchFault);
  const only = () => go({ ...addFilter("function", search), search: "" });
  return (
    <div class="search">
      <label class="sr" for="search">
        Search frames by regular expression
      </label>
      <input
        id="search"
        type="search"
        placeholder="Search: regex  /"
        value={search}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={fault !== null}
        aria-describedby="search-result"
        onInput={(event) => settle({ search: (event.target as HTMLInputElement).value })}
      />
      <output id="search-result" class={fault ? "warn" : ""}>
        {fault ?? result}
      </output>
      {search && !fault && (
        <button
          type="button"
          class="plain"
          title="Leave only stacks with such a function"
          onClick={only}
        >
          Only these
        </button>
      )}
    </div>
  );
}
