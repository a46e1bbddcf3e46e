// SPDX-License-Identifier: Apache-2.0
//
// How large blocks were and how long they lived: bars with their numbers, from the first class that
// holds any to the last.

import { computed } from "@preact/signals-core";
import { histogram, lifeRange, sizeRange } from "../engine/histograms.ts";
import { markOf } from "../engine/exactness.ts";
import { groupRefusal } from "../engine/groups.ts";
import { TERMS } from "../engine/terms.ts";
import { bytes, count, share, time, EXACT } from "../engine/units.ts";
import { Bar, Th } from "./parts.tsx";
import { model, view } from "./session.ts";
import { use } from "./signals.ts";

const CLOCK_BUCKETS = 12; // of lifetimes: shorter than clocks are read to tell

const counted = computed(() => {
  const { wanted, isFiltered } = view.value;
  if (!isFiltered) return histogram(model.value, null);
  const sites: number[] = [];
  for (let i = 0; i < wanted.length; i++) if (wanted[i]) sites.push(i);
  return histogram(model.value, sites);
});

interface Class {
  words: string;
  number: number;
}

function sizeWords(bucket: number): string {
  const { least, most } = sizeRange(bucket);
  return most === Infinity ? `${bytes(least, EXACT)} and more` : `up to ${bytes(most, EXACT)}`;
}

function lifeWords(bucket: number): string {
  const { least, most } = lifeRange(bucket);
  return most === Infinity ? `${time(least)} and longer` : `less than ${time(most + 1)}`;
}

// Without the empty ones at either end.
function trimmed(classes: Class[]): Class[] {
  const first = classes.findIndex(({ number }) => number > 0);
  let past = classes.length;
  while (past > 0 && !classes[past - 1].number) past--;
  return first < 0 ? [] : classes.slice(first, past);
}

function sizeClasses(counts: Float64Array): Class[] {
  return trimmed(Array.from(counts, (number, bucket) => ({ words: sizeWords(bucket), number })));
}

function lifeClasses(counts: Float64Array): Class[] {
  const all: Class[] = [{ words: lifeWords(CLOCK_BUCKETS - 1), number: 0 }];
  counts.forEach((number, bucket) => {
    if (bucket < CLOCK_BUCKETS) all[0].number += number;
    else all.push({ words: lifeWords(bucket), number });
  });
  return trimmed(all);
}

export function SizesPane() {
  const { sizes, lifetimes } = use(counted);
  const of = use(model);
  return (
    <section class="pane columns" aria-label="Sizes and lifetimes">
      <Bars
        title="Sizes of allocations"
        term={TERMS.size}
        classes={sizeClasses(sizes)}
        why={groupRefusal(of, "size")}
      />
      <Bars
        title="Lifetimes of blocks that were freed"
        term={TERMS.lifetime}
        classes={lifeClasses(lifetimes)}
        why={groupRefusal(of, "lifetime")}
      />
    </section>
  );
}

interface BarsProps {
  title: string;
  term: { text: string; hint: string };
  classes: Class[];
  why: string | null; // there are none to be had
}

function Bars({ title, term, classes, why }: BarsProps) {
  const mark = markOf(use(model), "allocated", "blocks");
  let all = 0;
  let most = 0;
  for (const { number } of classes) {
    all += number;
    most = Math.max(most, number);
  }
  if (why || !all)
    return (
      <div>
        <h2>{title}</h2>
        <p class="nothing">{why ?? "There are none."}</p>
      </div>
    );
  return (
    <table class="bars">
      <caption>
        {title} <span class="muted">{term.hint}; of the whole run</span>
      </caption>
      <thead>
        <tr>
          <Th of="" term={term} />
          <th scope="col" class="wide">
            <span class="sr">Share as a bar</span>
          </th>
          <Th of="number" term={TERMS.blocks} />
          <Th of="number" term={TERMS.share} />
        </tr>
      </thead>
      <tbody>
        {classes.map(({ words, number }) => (
          <tr key={words}>
            <th scope="row">{words}</th>
            <td class="wide">
              <Bar part={number} whole={most} />
            </td>
            <td class="number">{count(number, mark)}</td>
            <td class="number">{share(number, all, mark)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
