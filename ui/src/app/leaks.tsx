// SPDX-License-Identifier: Apache-2.0
//
// What was not given back, the largest first, each row with what it looks like: growing, held, held
// from start to end; told apart as the command's report does. And what was freed only at the end.

import { computed } from "@preact/signals-core";
import type { Fate } from "../engine/fate.ts";
import { leaks, type Leak, type Leaks } from "../engine/leaks.ts";
import { frameText, NONE } from "../engine/names.ts";
import { refusal, type Question } from "../engine/question.ts";
import { markOf } from "../engine/exactness.ts";
import { bytes, count, share, time, type Mark } from "../engine/units.ts";
import { groupName, groupPlace, shortGroupName } from "./columns.ts";
import { Bar, Refusal, Th } from "./parts.tsx";
import { model, view } from "./session.ts";
import { use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { go } from "./state.ts";
import { plural, wordsOfMeasure, wordsOfPane } from "./words.ts";

const ROWS_MAX = 200;

const fateWords: Record<Fate, { word: string; hint: string }> = {
  growing: {
    word: "growing",
    hint: "not freed, and more came in the second half of the run",
  },
  held: { word: "held", hint: "not freed, but not growing" },
  throughout: {
    word: "start to end",
    hint: "all allocated in the first tenth of the run and kept: often meant",
  },
  "at the end": { word: "", hint: "" },
};

const asked: Question = { measure: "leak", unit: "bytes", from: null, to: null };

const why = computed(() => refusal(model.value, asked));

const found = computed<Leaks>(() =>
  why.value ? { kept: [], atEnd: [] } : leaks(view.value),
);

export function LeaksPane() {
  const fault = use(why);
  const { kept, atEnd } = use(found);
  const mark = markOf(use(model), "live", "bytes");
  if (fault) return <Refusal text={fault} />;
  return (
    <section class="pane" aria-label={wordsOfPane("leaks")}>
      {kept.length + atEnd.length === 0 && <p class="nothing">Every block was freed.</p>}
      {kept.length > 0 && (
        <LeakTable
          title={wordsOfMeasure("leak").name}
          hint={growthWords(kept, mark)}
          rows={kept}
          isFreed={false}
        />
      )}
      {atEnd.length > 0 && (
        <LeakTable
          title="Freed only at the end"
          hint="nothing leaks, but it was all held until the last tenth of the run"
          rows={atEnd}
          isFreed={true}
        />
      )}
    </section>
  );
}

function sumOf(rows: Leak[]): number {
  return rows.reduce((sum, row) => sum + row.bytes, 0);
}

function growthWords(rows: Leak[], mark: Mark): string {
  const growing = rows.filter(({ fate }) => fate === "growing");
  if (growing.length)
    return `of which growing: ${bytes(sumOf(growing), mark)} in ${plural(growing.length, "place")}`;
  return rows.some(({ fate }) => fate) ? "none of it growing" : "";
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
  return (
    <table class="grid plain">
      <caption>
        <b>{title}:</b> {bytes(sum, mark)} in {plural(rows.length, "place")}{" "}
        <span class="muted">{hint}</span>
      </caption>
      <thead>
        <tr>
          <Th of="c-share">Share</Th>
          <Th of="c-weight number">{isFreed ? "At most" : "Bytes"}</Th>
          {!isFreed && <Th of="c-fate">Course</Th>}
          <Th of="c-spark">Over time</Th>
          <Th of="c-name">Place</Th>
          <Th of="c-count number">Blocks</Th>
          <Th of="c-age number">{isFreed ? "Mean life" : "Mean age"}</Th>
          <Th of="c-first number">Since</Th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, ROWS_MAX).map((row, i) => (
          <LeakRow key={i} row={row} sum={sum} isFreed={isFreed} />
        ))}
        {rows.length > ROWS_MAX && (
          <tr>
            <td colSpan={8} class="muted">
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
  const fate = row.fate ? fateWords[row.fate] : null;
  return (
    <tr>
      <td class="c-share number">
        <Bar part={row.bytes} whole={sum} /> {share(row.bytes, sum, mark)}
      </td>
      <td class="c-weight number">{bytes(row.bytes, mark)}</td>
      {!isFreed && (
        <td class="c-fate" title={fate?.hint}>
          {fate?.word}
        </td>
      )}
      <td class="c-spark">
        <Spark model={of} sites={row.group.sites} unit="bytes" />
      </td>
      <td class="c-name">
        <LeakName row={row} />
      </td>
      <td class="c-count number">{count(row.blocks, markOf(of, "live", "blocks"))}</td>
      <td class="c-age number">{row.meanNs ? time(row.meanNs) : ""}</td>
      <td class="c-first number">
        {of.facts.image.lacks.includes("times") ? "" : time(row.firstNs)}
      </td>
    </tr>
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
      <span class="name">{shortGroupName(of, group)}</span>{" "}
      <span class="muted">{groupPlace(of, group)}</span>
    </button>
  );
}
