// SPDX-License-Identifier: Apache-2.0
//
// What was not given back, the largest first, each row with what it looks like: growing, held, held
// from start to end; told apart as the command's report does. And what was freed only at the end.

import { computed } from "@preact/signals-core";
import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";
import type { Fate } from "../engine/fate.ts";
import { leaks, type Leak, type Leaks } from "../engine/leaks.ts";
import { isLibrary } from "../engine/libraries.ts";
import { exactly, lookRefusal, otherView, type View } from "../engine/look.ts";
import { frameText, NONE } from "../engine/names.ts";
import { refusal, type Question } from "../engine/question.ts";
import { markOf } from "../engine/exactness.ts";
import { keptWords, measureTerm } from "../engine/question_words.ts";
import { TERMS } from "../engine/terms.ts";
import { bytes, count, share, time, type Mark } from "../engine/units.ts";
import { cleanWithin } from "../flame/clean.ts";
import { groupName, groupPlace, shortGroupName } from "./columns.ts";
import { save } from "./download.tsx";
import { isFound, Marked } from "./found.tsx";
import { Bar, Refusal, Th } from "./parts.tsx";
import { inPanes, left, model, pane, searchRegex } from "./session.ts";
import { letGo, use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { go, state } from "./state.ts";
import { useRowsByAndBy } from "./virtual.ts";
import { plural, sentence, wordsOfPane } from "./words.ts";

const ROWS_MAX = 200;
const ALWAYS_SEEN = 3; // columns: a cell over hidden ones would take room from the names

const fateTerms: Record<Fate, { text: string; hint: string }> = {
  growing: TERMS.growing,
  held: TERMS.held,
  throughout: TERMS.throughout,
  "at the end": TERMS.freedAtEnd,
};

const asked: Question = { measure: "leak", unit: "bytes", from: null, to: null };

const why = computed(() => refusal(model.value, asked));

const suppressed = computed(() => state.value.suppress);

// A suppression takes away every stack with such a function, as one of a file does.
const shown = computed(() => {
  const { look } = left.value;
  const ignore = [...look.ignore, ...suppressed.value.map(exactly)];
  const isLess = suppressed.value.length > 0 && !lookRefusal({ ...look, ignore });
  return isLess ? otherView(left.value, { ignore }) : left.value;
});

const isLeft = computed(() => state.value.pane !== "leaks");

const leaksOf = (of: View): Leaks => (why.value ? { kept: [], atEnd: [] } : leaks(of));
const all = inPanes<Leaks>(["leaks"], () => leaksOf(shown.value), { kept: [], atEnd: [] });
const hidden = inPanes(["leaks"], () =>
  shown.value === left.value ? 0 : sumOf(leaksOf(left.value).kept) - sumOf(all.value.kept), 0,
);

const found = letGo<Leaks>(() => ({
  kept: all.value.kept.filter(({ group }) => isFound(group)),
  atEnd: all.value.atEnd.filter(({ group }) => isFound(group)),
}), () => pane.peek() !== "leaks");

export function LeaksPane() {
  const fault = use(why);
  const { kept, atEnd } = use(found);
  const of = use(model);
  const mark = markOf(of, "live", "bytes");
  if (fault) return <Refusal text={fault} />;
  return (
    <section class="pane" aria-label={wordsOfPane(of, "leaks")}>
      {kept.length + atEnd.length === 0 && <Nothing />}
      {kept.length > 0 && (
        <LeakTable
          title={keptWords(of)}
          hint={growthWords(kept, mark)}
          rows={kept}
          isFreed={false}
        />
      )}
      {atEnd.length > 0 && (
        <LeakTable
          title={TERMS.freedAtEnd.text}
          hint={TERMS.freedAtEnd.hint}
          rows={atEnd}
          isFreed={true}
        />
      )}
      <Suppressed />
    </section>
  );
}

// A pattern of LeakSanitizer's syntax, as --suppressions takes it.
export function suppressionsText(functions: string[]): string {
  return functions.map((name) => `leak:^${name}$\n`).join("");
}

function Suppressed() {
  const names = use(suppressed);
  const sum = use(hidden);
  const of = use(model);
  if (!names.length) return null;
  const without = (name: string) => names.filter((one) => one !== name);
  return (
    <div class="suppressed" role="group" aria-label="Suppressed">
      <span>
        <b>{bytes(sum, markOf(of, "live", "bytes"))}</b> suppressed:
      </span>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class="chip"
          title="Show it again"
          onClick={() => go({ suppress: without(name) })}
        >
          <span class="chip-text">{cleanWithin(name, 300)}</span>
          <span aria-hidden="true"> ×</span>
        </button>
      ))}
      <button
        type="button"
        title="For tidemark report --suppressions FILE, and LeakSanitizer"
        onClick={() => save("known.supp", "text/plain", suppressionsText(names))}
      >
        Save as a file of suppressions
      </button>
    </div>
  );
}

// Filters may leave none of what is there.
function Nothing() {
  const { isFiltered } = use(shown);
  const isSearch = use(searchRegex) !== null;
  const isPart = isFiltered || isSearch;
  const words = isPart ? "nothing here was kept" : measureTerm(use(model), "leak").nothing;
  return <p class="nothing">{sentence(words)}.</p>;
}

function sumOf(rows: Leak[]): number {
  return rows.reduce((sum, row) => sum + row.bytes, 0);
}

// "growing: 6.6 KiB in 1 place · held: 576 B in 2 places", as below the command's table.
export function growthWords(rows: Leak[], mark: Mark): string {
  const told = (word: string, of: Leak[]) =>
    of.length ? [`${word}: ${bytes(sumOf(of), mark)} in ${plural(of.length, "place")}`] : [];
  const growing = rows.filter(({ fate }) => fate === "growing");
  const held = rows.filter(({ fate }) => fate && fate !== "growing");
  return [...told(TERMS.growing.text, growing), ...told(TERMS.held.text, held)].join(" · ");
}

interface TableProps {
  title: string;
  hint: string;
  rows: Leak[];
  isFreed: boolean;
}

function LeakTable({ title, hint, rows, isFreed }: TableProps) {
  const sum = sumOf(rows);
  const mark = markOf(use(model), "live", "bytes");
  const most = Math.min(ROWS_MAX, rows.length);
  const n = useRowsByAndBy(most, use(isLeft));
  // Those that are there already are the same elements again, which are not drawn again.
  const made = useMemo<ComponentChild[]>(() => [], [rows, sum, isFreed]);
  for (let i = made.length; i < n; i++)
    made.push(<LeakRow key={i} row={rows[i]} sum={sum} isFreed={isFreed} />);
  return (
    <table class="grid plain" aria-busy={n < most || undefined}>
      <caption>
        <b>{sentence(title)}:</b> {bytes(sum, mark)} in {plural(rows.length, "place")}{" "}
        <span class="muted">{hint}</span>
      </caption>
      <thead>
        <tr>
          <Th of="c-share" term={TERMS.share} />
          <Th of="c-weight number" term={isFreed ? TERMS.heldMost : TERMS.bytes} />
          {!isFreed && <Th of="c-fate" term={TERMS.course} />}
          <Th of="c-spark" term={TERMS.overTime} />
          <Th of="c-name" term={TERMS.function} />
          <Th of="c-count number" term={TERMS.blocks} />
          <Th of="c-age number" term={isFreed ? TERMS.meanLife : TERMS.meanAge} />
          <Th of="c-first number" term={TERMS.since} />
        </tr>
      </thead>
      <tbody>
        {made.slice(0, n)}
        {rows.length > n && n === most && (
          <tr>
            <td colSpan={ALWAYS_SEEN} class="muted">
              and {plural(rows.length - ROWS_MAX, "place")} more: see Table
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function LeakRow({ row, sum, isFreed }: { row: Leak; sum: number; isFreed: boolean }) {
  const of = use(model);
  const mark = markOf(of, "live", "bytes");
  const fate = row.fate ? fateTerms[row.fate] : null;
  return (
    <tr>
      <td class="c-share number">
        <Bar part={row.bytes} whole={sum} /> {share(row.bytes, sum, mark)}
      </td>
      <td class="c-weight number">{bytes(row.bytes, mark)}</td>
      {!isFreed && (
        <td class="c-fate" title={fate?.hint}>
          {fate?.text}
        </td>
      )}
      <td class="c-spark">
        {!Number.isNaN(row.firstNs) && <Spark model={of} sites={row.group.sites} unit="bytes" />}
      </td>
      <td class="c-name leak-name">
        <LeakName row={row} />
        {!isFreed && <Suppress row={row} />}
      </td>
      <td class="c-count number">{count(row.blocks, markOf(of, "live", "blocks"))}</td>
      <td class="c-age number">{row.meanNs ? time(row.meanNs) : ""}</td>
      <td class="c-first number">
        {of.facts.image.lacks.includes("times") || Number.isNaN(row.firstNs)
          ? ""
          : time(row.firstNs)}
      </td>
    </tr>
  );
}

function Suppress({ row: { group } }: { row: Leak }) {
  const of = use(model);
  const name = group.frame === NONE ? "" : of.text[of.frames.function[group.frame]];
  if (!name || isLibrary(of, group.frame)) return null; // no name that a file of them could have
  return (
    <button
      type="button"
      class="plain suppress"
      title="It is meant to be there: take it away, here and in a file of suppressions"
      onClick={() => go({ suppress: [...suppressed.peek(), name] })}
    >
      suppress<span class="sr"> {cleanWithin(name, 200)}</span>
    </button>
  );
}

function LeakName({ row }: { row: Leak }) {
  const of = use(model);
  const { group } = row;
  const callee = group.frame === NONE ? "" : frameText(of, group.frame);
  return (
    <button
      type="button"
      class="opener"
      title={`${groupName(of, group)}\n${groupPlace(of, group)}\nIts callers`}
      onClick={() => go({ pane: "callers", callee, measure: "leak", from: null, to: null })}
    >
      <span class="name">
        <Marked text={shortGroupName(of, group)} />
      </span>{" "}
      <span class="muted">
        <Marked text={groupPlace(of, group)} />
      </span>
    </button>
  );
}
