// SPDX-License-Identifier: Apache-2.0
//
// Everything that stands between the capture and what is shown, one chip each: a click, Enter or
// Delete takes it away.

import { useState } from "preact/hooks";
import { groupText } from "../engine/group_text.ts";
import { ofSeveral } from "../engine/groups.ts";
import { libraryName, lostLibraries } from "../engine/libraries.ts";
import { patternRefusal, wantedWeight, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { threadOf } from "../engine/narrow.ts";
import { nearestSnapshot, type Question } from "../engine/question.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { parseRow } from "../engine/rows.ts";
import type { Matches } from "../engine/search.ts";
import { GROUP_TERMS } from "../engine/terms.ts";
import { readableName } from "../engine/shorten.ts";
import { amount, share } from "../engine/units.ts";
import { cleanWithin } from "../flame/clean.ts";
import { lookFault, matches, model, question, refused } from "./session.ts";
import { left, rowLost, weights, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import {
  addFilter,
  dropFilter,
  filterKinds,
  go,
  noSelection,
  state,
  turnLibrary,
  type FilterKind,
  type State,
} from "./state.ts";
import { filterWords, momentWords } from "./words.ts";
import { zoomLost } from "./zoom.ts";

interface Chip {
  name: string;
  text: string;
  without: Partial<State>;
  fault?: string; // why it has no effect
  note?: string;
}

// A name taken as it is reads better without what makes a pattern of it.
function patternWords(pattern: string): string {
  const inner = /^\^(.*)\$$/s.exec(pattern)?.[1];
  const isExact = inner !== undefined && !/(^|[^\\])[.*+?()[\]{}|]/.test(inner);
  return cleanWithin(isExact ? inner.replace(/\\(.)/g, "$1") : pattern, 300);
}

// What is of several threads or classes is nobody's: it is left out, and said.
function narrowChips(s: State, shown: View, asked: Question): Chip[] {
  const { model: of } = shown;
  const kinds = ["thread", "size", "lifetime"] as const;
  return kinds.flatMap((kind) => {
    const chosen = s[kind];
    if (chosen === null) return [];
    const isLost = kind === "thread" && threadOf(of, s.thread) === null;
    const number = typeof chosen === "number" ? chosen : 0;
    const text = kind === "thread" ? s.thread! : groupText(of, { kind, number, several: false });
    const untold = isLost ? 0 : ofSeveral(shown, asked, kind);
    const { many } = GROUP_TERMS[kind];
    const more = amount(untold, asked.unit, markOfAnswer(of, asked));
    return [{
      name: `only ${GROUP_TERMS[kind].word}`,
      text: cleanWithin(text, 300),
      without: { [kind]: null },
      fault: isLost ? "is not here" : undefined,
      note: untold ? `without ${more} of several ${many}` : undefined,
    }];
  });
}

// A time is taken away with the measure that is of it alone.
function timeChip(s: State, of: Model): Chip[] {
  const isPart = s.from !== null || s.to !== null;
  if (!isPart && s.at === null) return [];
  const at = (ns: number) => momentWords(of, nearestSnapshot(of, ns));
  const end = s.to === null ? "the end" : at(s.to);
  const keeps = s.measure === "total" || s.measure === "leak";
  return [{
    name: isPart ? "from" : "at",
    text: isPart ? `${at(s.from ?? 0)} to ${end}` : at(s.at!),
    without: { from: null, to: null, at: null, ...(isPart && !keeps && { measure: null }) },
  }];
}

function searchChip(s: State, found: Matches | null): Chip[] {
  if (!s.search) return [];
  const fault = found && !found.count ? "is not here" : undefined;
  return [{ name: "search", text: cleanWithin(s.search, 300), without: { search: "" }, fault }];
}

function chipsOf(s: State, of: Model, lost: string | null, isRowLost: boolean): Chip[] {
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
  for (const library of s.library)
    chips.push({
      name: `${library.split(" ")[0]} as one frame`,
      text: cleanWithin(libraryName(library), 300),
      without: turnLibrary(library),
      fault: lostLibraries(of).has(library) ? "is not here" : undefined,
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
  const of = use(model);
  const isRefused = use(refused) !== null;
  const shown = use(left);
  const asked = use(question);
  const found = use(matches);
  const chips = [
    ...timeChip(s, of),
    ...(isRefused ? [] : narrowChips(s, shown, asked)),
    ...chipsOf(s, of, use(zoomLost), use(rowLost)),
    ...searchChip(s, found),
  ];
  if (!chips.length) return null;
  const clear = () => {
    const isPart = s.from !== null || s.to !== null;
    const time = { from: null, to: null, at: null, ...(isPart && { measure: null }) };
    go({ ...noSelection(), ...time });
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
          {chip.note && <span class="muted"> {chip.note}</span>}
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
  const shown = use(left);
  const heavy = use(weights);
  const all = use(wholeWeight);
  const of = use(model);
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(of, asked);
  if (use(refused) || !shown.isFiltered) return null;
  const weight = wantedWeight(shown, heavy);
  return (
    <span class="muted">
      leaves {amount(weight, unit, mark)} of {amount(all, unit, mark)}, {share(weight, all, mark)}
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
