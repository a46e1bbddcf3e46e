// SPDX-License-Identifier: Apache-2.0
//
// Everything that stands between the capture and what is shown, one chip each: a click, Enter or
// Delete takes it away.

import { useState } from "preact/hooks";
import { patternRefusal, wantedWeight } from "../engine/look.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { parseRow } from "../engine/rows.ts";
import { readableName } from "../engine/shorten.ts";
import { amount, share } from "../engine/units.ts";
import { cleanWithin } from "../flame/clean.ts";
import { lookFault, model, question, refused } from "./session.ts";
import { rowLost, view, weights, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import {
  addFilter,
  dropFilter,
  filterKinds,
  go,
  state,
  type FilterKind,
  type State,
} from "./state.ts";
import { filterWords } from "./words.ts";
import { zoomLost } from "./zoom.ts";

interface Chip {
  name: string;
  text: string;
  without: Partial<State>;
  fault?: string; // why it has no effect
}

// A name taken as it is reads better without what makes a pattern of it.
function patternWords(pattern: string): string {
  const inner = /^\^(.*)\$$/s.exec(pattern)?.[1];
  const isExact = inner !== undefined && !/(^|[^\\])[.*+?()[\]{}|]/.test(inner);
  return cleanWithin(isExact ? inner.replace(/\\(.)/g, "$1") : pattern, 300);
}

function chipsOf(s: State, lost: string | null, isRowLost: boolean): Chip[] {
  const chips: Chip[] = [];
  for (const kind of filterKinds)
    for (const pattern of s.filters[kind])
      chips.push({
        name: filterWords[kind],
        text: patternWords(pattern),
        without: dropFilter(kind, pattern),
      });
  if (s.row !== null)
    chips.push({
      name: `only ${parseRow(s.row).kind}`,
      text: cleanWithin(parseRow(s.row).text, 300),
      without: { row: null },
      fault: isRowLost ? "is not here" : undefined,
    });
  if (!s.collapse) chips.push({ name: "recursion", text: "unfolded", without: { collapse: true } });
  if (s.lines) chips.push({ name: "lines", text: "apart", without: { lines: false } });
  if (s.zoom.length)
    chips.push({
      name: "zoom",
      text: cleanWithin(readableName(s.zoom[s.zoom.length - 1]), 300),
      without: { zoom: [] },
      fault: lost === null ? undefined : `“${cleanWithin(readableName(lost), 100)}” is not here`,
    });
  return chips;
}

// Whoever takes chips away by keyboard goes on from the next one.
function takeAway(chip: Chip, element: HTMLElement): void {
  const { nextElementSibling: after, previousElementSibling: before } = element;
  const near = [after, before].find((one) => one?.matches(".chip"));
  const target = (near ?? document.getElementById("pane")) as HTMLElement | null;
  if (element === document.activeElement) target?.focus({ preventScroll: true });
  go(chip.without);
}

export function Chips() {
  const s = use(state);
  const fault = use(lookFault);
  const chips = chipsOf(s, use(zoomLost), use(rowLost));
  if (!chips.length) return null;
  const clear = () => {
    const filters = { ...s.filters };
    for (const kind of filterKinds) filters[kind] = [];
    go({ filters, collapse: true, lines: false, zoom: [], row: null });
  };
  return (
    <div class="chips" role="group" aria-label="Filters">
      {chips.map((chip) => (
        <button
          key={`${chip.name} ${chip.text}`}
          type="button"
          class="chip"
          title={`${chip.text.slice(0, 500)}: take this away`}
          onClick={(event) => takeAway(chip, event.currentTarget)}
          onKeyDown={(event) => {
            if (event.key === "Delete" || event.key === "Backspace")
              takeAway(chip, event.currentTarget);
          }}
        >
          <span class="muted">{chip.name}</span> <span class="chip-text">{chip.text}</span>
          {chip.fault && <span class="warn chip-fault"> {chip.fault}</span>}
          <span aria-hidden="true"> ×</span>
          <span class="sr">take away</span>
        </button>
      ))}
      {chips.length > 1 && (
        <button type="button" class="plain" onClick={clear}>
          Clear all
        </button>
      )}
      {fault ? <span class="warn">{fault}</span> : <Left />}
    </div>
  );
}

// What the filters leave.
function Left() {
  const shown = use(view);
  const heavy = use(weights);
  const all = use(wholeWeight);
  const of = use(model);
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(of, asked);
  if (use(refused) || !shown.isFiltered) return null;
  const left = wantedWeight(shown, heavy);
  return (
    <span class="muted">
      leaves {amount(left, unit, mark)} of {amount(all, unit, mark)}, {share(left, all, mark)}
    </span>
  );
}

export function AddFilter() {
  const { collapse, lines } = use(state);
  const [kind, setKind] = useState<FilterKind>("focus");
  const [pattern, setPattern] = useState("");
  const fault = pattern ? patternRefusal(pattern) : null;
  const add = (event: Event) => {
    event.preventDefault();
    if (!pattern || fault) return;
    go(addFilter(kind, pattern));
    setPattern("");
  };
  const escape = (event: KeyboardEvent) => {
    const details = event.currentTarget as HTMLDetailsElement;
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    details.querySelector("summary")?.focus();
  };
  return (
    <details class="menu" onKeyDown={escape}>
      <summary>Filter</summary>
      <form class="menu-box" onSubmit={add}>
        <label>
          Stacks and frames{" "}
          <select
            value={kind}
            onChange={(event) => setKind((event.target as HTMLSelectElement).value as FilterKind)}
          >
            {filterKinds.map((word) => (
              <option key={word} value={word}>
                {filterWords[word]}
              </option>
            ))}
          </select>
        </label>
        <label>
          Regular expression{" "}
          <input
            value={pattern}
            spellcheck={false}
            aria-invalid={fault !== null}
            onInput={(event) => setPattern((event.target as HTMLInputElement).value)}
          />
        </label>
        {fault && <p class="warn">{fault}</p>}
        <button type="submit" disabled={!pattern || fault !== null}>
          Add
        </button>
        <hr />
        <label>
          <input type="checkbox" checked={collapse} onChange={() => go({ collapse: !collapse })} />
          <span> collapse recursion</span>
        </label>
        <label>
          <input
            type="checkbox"
            checked={!lines}
            onChange={() => go({ lines: !lines, zoom: [] })}
          />{" "}
          merge lines of a function
        </label>
      </form>
    </details>
  );
}
