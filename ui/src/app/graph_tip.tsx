// SPDX-License-Identifier: Apache-2.0
//
// What is told of a box beside its share: how many blocks, what was left of it at the end, when it
// was first and last seen to allocate, and its course. Of a box with very many stacks, and of a
// part of each, that is not added up while a pointer moves.

import { useMemo } from "preact/hooks";
import { markOf, markOfAnswer } from "../engine/exactness.ts";
import { isNarrow } from "../engine/look.ts";
import { liveBytesAt } from "../engine/model.ts";
import { weighIn } from "../engine/narrow.ts";
import { refusal } from "../engine/question.ts";
import { TERMS } from "../engine/terms.ts";
import type { Tree } from "../engine/tree.ts";
import { bytes, cell, time } from "../engine/units.ts";
import { model, question, tree, view, weights } from "./session.ts";
import { use } from "./signals.ts";
import { Spark } from "./spark.tsx";

const STACKS_MAX = 20000;

// Those through a node that weigh anything.
export function sitesOf({ skeleton }: Tree, node: number, heavy: Float64Array): Uint32Array {
  const { stack } = skeleton.slots;
  return stack.slice(skeleton.first[node], skeleton.past[node]).filter((site) => heavy[site] !== 0);
}

function rowsOf(sites: Uint32Array): [string, string][] {
  const of = model.peek();
  const asked = question.peek();
  const { lacks } = of.facts.image;
  const other = asked.unit === "bytes" ? "blocks" : "bytes";
  const also = { ...asked, unit: other } as const;
  const rows: [string, string][] = [];
  const sum = (value: (site: number) => number) =>
    sites.reduce((all, site) => all + value(site), 0);
  if (!refusal(of, also)) {
    const heavy = weighIn(view.peek(), also);
    const told = cell(sum((site) => heavy[site]), other, markOfAnswer(of, also));
    rows.push([TERMS[other].text, told]);
  }
  if (isNarrow(view.peek().look)) return rows;
  if (!lacks.includes("live") && asked.measure !== "live")
    rows.push([
      TERMS.atEnd.text,
      bytes(sum((site) => liveBytesAt(of.sites, site)), markOf(of, "live", "bytes")),
    ]);
  const did = sites.filter((site) => of.sites.nAlloc[site] > 0);
  if (lacks.includes("times") || !did.length) return rows;
  const first = did.reduce((least, site) => Math.min(least, of.sites.firstNs[site]), Infinity);
  const last = did.reduce((most, site) => Math.max(most, of.sites.lastNs[site]), 0);
  rows.push(["seen", first === last ? `at ${time(first)}` : `${time(first)} to ${time(last)}`]);
  return rows;
}

export function GraphTip({ node }: { node: number }) {
  const made = use(tree);
  const of = use(model);
  const heavy = use(weights);
  const { unit } = use(question);
  const n = made.skeleton.past[node] - made.skeleton.first[node];
  const sites = useMemo(
    () => (n > STACKS_MAX ? new Uint32Array(0) : sitesOf(made, node, heavy)),
    [made, node, heavy],
  );
  const rows = useMemo(() => rowsOf(sites), [sites]);
  if (!sites.length) return null;
  return (
    <>
      <dl class="tip-more">
        {rows.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {of.snapshots.count > 1 && !isNarrow(view.peek().look) && (
        <Spark model={of} sites={sites} unit={unit} />
      )}
    </>
  );
}
