// SPDX-License-Identifier: Apache-2.0
//
// What was not given back, and what only looks like it: growing, held, held from start to end, and
// freed only at the end; told apart as the command's report does.

import { computed } from "@preact/signals-core";
import { curve } from "../engine/curves.ts";
import { tellFates, type Fate } from "../engine/fate.ts";
import { group, type Group } from "../engine/groups.ts";
import type { Model } from "../engine/model.ts";
import { frameText, NONE } from "../engine/names.ts";
import { refusal, type Question, type Unit } from "../engine/question.ts";
import { bytes, count, share, time } from "../engine/units.ts";
import { groupName, groupPlace, shortGroupName } from "./columns.ts";
import { Bar, Refusal, Th } from "./parts.tsx";
import { model, view } from "./session.ts";
import { use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { go } from "./state.ts";
import { plural } from "./words.ts";

const ROWS_MAX = 200;

interface Section {
  fate: Fate | null;
  title: string;
  hint: string;
}

const sections: Section[] = [
  {
    fate: "growing",
    title: "Growing",
    hint: "never freed, and more came in the second half of the run: look here first",
  },
  { fate: "held", title: "Held", hint: "never freed, but not growing" },
  {
    fate: "throughout",
    title: "Held from start to end",
    hint: "all allocated in the first tenth of the run and kept: often meant",
  },
  { fate: null, title: "Never freed", hint: "too little is known to tell these apart" },
  {
    fate: "at the end",
    title: "Freed only at the end",
    hint: "nothing leaks, but it was all held until the last tenth of the run",
  },
];

const asked: Question = { measure: "leak", unit: "bytes", from: null, to: null };

const why = computed(() => refusal(model.value, asked));

const byPlace = computed<Group[]>(() => {
  if (why.value) return [];
  const all = group(view.value, { ...asked, measure: "total" }, "place");
  tellFates(model.value, all);
  return all.items;
});

const most = new WeakMap<Group, { bytes?: number; blocks?: number }>();

// At any of the snapshots.
function mostHeld(of: Model, row: Group, unit: Unit): number {
  let known = most.get(row);
  if (!known) most.set(row, (known = {}));
  return (known[unit] ??= curve(of, row.sites, unit).live.reduce((a, b) => Math.max(a, b), 0));
}

function rowsOf(of: Model, all: Group[], fate: Fate | null): Group[] {
  const isKept = (one: Group) => one.liveBlocks > 0 || one.liveBytes > 0;
  if (fate === "at the end")
    return all
      .filter((one) => one.fate === fate && one.nAlloc > one.nResize)
      .sort((a, b) => mostHeld(of, b, "bytes") - mostHeld(of, a, "bytes"));
  return all
    .filter((one) => one.fate === fate && isKept(one))
    .sort((a, b) => b.liveBytes - a.liveBytes);
}

export function LeaksPane() {
  const fault = use(why);
  const of = use(model);
  const all = use(byPlace);
  if (fault) return <Refusal text={fault} />;
  const parts = sections.map((section) => ({ ...section, rows: rowsOf(of, all, section.fate) }));
  const shown = parts.filter(({ rows }) => rows.length);
  return (
    <section class="pane" aria-label="Leaks">
      {shown.length === 0 && <p class="nothing">Every block was freed.</p>}
      {shown.map((section) => (
        <FateTable key={section.title} {...section} />
      ))}
    </section>
  );
}

// How old blocks are at the end in the mean or, of those freed, how long they lived.
function meanTime(row: Group, isFreed: boolean): string {
  const [sum, n] = isFreed ? [row.lifeNs, row.nFree - row.nResize] : [row.ageNs, row.liveBlocks];
  return sum > 0 && n > 0 ? time(sum / n) : "";
}

function FateTable({ fate, title, hint, rows }: Section & { rows: Group[] }) {
  const of = use(model);
  const isFreed = fate === "at the end";
  const weight = (row: Group) => (isFreed ? mostHeld(of, row, "bytes") : row.liveBytes);
  const blocks = (row: Group) => (isFreed ? mostHeld(of, row, "blocks") : row.liveBlocks);
  const sum = rows.reduce((total, row) => total + weight(row), 0);
  return (
    <table class="grid plain">
      <caption>
        <b>{title}:</b> {bytes(sum)} in {plural(rows.length, "place")}{" "}
        <span class="muted">{hint}</span>
      </caption>
      <thead>
        <tr>
          <Th of="c-share">Share</Th>
          <Th of="c-weight number">Bytes</Th>
          <Th of="c-spark">Over time</Th>
          <Th of="c-name">Place</Th>
          <Th of="c-count number">Blocks</Th>
          <th scope="col" class="c-first number">
            {isFreed ? "Mean life" : "Mean age"}
          </th>
          <Th of="c-first number">Since</Th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, ROWS_MAX).map((row, i) => (
          <tr key={i}>
            <td class="c-share number">
              <Bar part={weight(row)} whole={sum} /> {share(weight(row), sum)}
            </td>
            <td class="c-weight number">{bytes(weight(row))}</td>
            <td class="c-spark">
              <Spark model={of} sites={row.sites} unit="bytes" />
            </td>
            <td class="c-name">
              <LeakName row={row} />
            </td>
            <td class="c-count number">{count(blocks(row))}</td>
            <td class="c-first number">{meanTime(row, isFreed)}</td>
            <td class="c-first number">
              {of.facts.image.lacks.includes("times") ? "" : time(row.firstNs)}
            </td>
          </tr>
        ))}
        {rows.length > ROWS_MAX && (
          <tr>
            <td colSpan={7} class="muted">
              and {plural(rows.length - ROWS_MAX, "place")} more: see Table
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function LeakName({ row }: { row: Group }) {
  const of = use(model);
  const name = shortGroupName(of, row);
  const callee = row.frame === NONE ? "" : frameText(of, row.frame);
  return (
    <button
      type="button"
      class="opener"
      title={`${groupName(of, row)}\n${groupPlace(of, row)}\nIts callers`}
      onClick={() => go({ pane: "callers", callee, measure: "leak", from: null, to: null })}
    >
      <span class="name">{name}</span> <span class="muted">{groupPlace(of, row)}</span>
    </button>
  );
}
