// SPDX-License-Identifier: Apache-2.0
//
// The stacks that are left of everything by what is selected: filters, a row, a search, a zoom; and
// what they held over the run; of a thread or class, what is known to be of it.

import { computed } from "@preact/signals-core";
import { courseAtTicks } from "../engine/bands.ts";
import { liveInPieces } from "../engine/curves.ts";
import { isNarrow, type View } from "../engine/look.ts";
import { SiteKind, type Model } from "../engine/model.ts";
import { courseInPieces, type Course } from "../engine/narrow.ts";
import { atOnce, stretches, type Pieces } from "../engine/pieces.ts";
import type { Unit } from "../engine/question.ts";
import { later } from "./later.ts";
import { foundSites, left, model, question } from "./session.ts";
import { indexAt, type Timeline } from "./timeline_data.ts";

function* sitesOf({ wanted, model: of }: View, found: Uint8Array | null): Pieces<Uint32Array> {
  const { kind, count } = of.sites;
  const sites = new Uint32Array(count);
  let n = 0;
  yield* stretches(count, (from, past) => {
    for (let i = from; i < past; i++)
      if (wanted[i] && kind[i] !== SiteKind.pages && (!found || found[i])) sites[n++] = i;
  });
  return sites.slice(0, n);
}

const isWhole = () => !left.value.isFiltered && !foundSites.value;

// null: everything, or what of it is known as parts of stacks alone.
export const selectedSites = computed<Uint32Array | null>(() =>
  isNarrow(left.value.look) || isWhole() ? null : atOnce(sitesOf(left.value, foundSites.value)),
);

export interface SeenCourse extends Course {
  atTicks: Float64Array | null; // null: not looked at
}

export function* courseOfSites(of: Model, sites: Uint32Array, unit: Unit): Pieces<SeenCourse> {
  const live = yield* liveInPieces(of, sites, unit);
  const between = unit === "bytes" ? courseAtTicks(of, sites, live) : null;
  return { live, isEstimate: false, atTicks: between && between.bytes };
}

function* courseOf({ of, view, found, unit }: AskedCourse): Pieces<SeenCourse | null> {
  if (!isNarrow(view.look)) return yield* courseOfSites(of, yield* sitesOf(view, found), unit);
  const course = found ? null : yield* courseInPieces(view, unit);
  return course && { ...course, atTicks: null };
}

interface AskedCourse {
  of: Model;
  view: View;
  found: Uint8Array | null; // of a search
  unit: Unit;
}

const asked = computed<AskedCourse | null>(() =>
  isWhole() ? null
    : { of: model.value, view: left.value, found: foundSites.value, unit: unitOf.value },
);

// What is selected, over time; null: everything is, or it is not known, or not yet.
export const selectedCourse = later(asked, courseOf, { canWait: true });

// Along the line of all: at snapshots what the report has, at ticks what was seen of it, and never
// more than all.
export function selectedLine(
  of: Model, { live, atTicks }: SeenCourse, line: Timeline,
): Float64Array {
  const { snapshots, ticks } = of;
  const share = (s: number, all: number) => (all > 0 ? live[s] / all : NaN);
  const totals = Float64Array.from(snapshots.ns, (ns) => line.live[indexAt(line.ns, ns)]);
  return line.ns.map((ns, i) => {
    const s = indexAt(snapshots.ns, ns);
    if (s >= 0 && snapshots.ns[s] === ns) return Math.min(live[s], line.live[i]);
    const t = indexAt(ticks.ns, ns);
    if (atTicks && t >= 0 && ticks.ns[t] === ns) return Math.min(atTicks[t], line.live[i]);
    const [a, b] = [s, s + 1].map((at) =>
      at >= 0 && at < snapshots.count ? share(at, totals[at]) : NaN);
    if (Number.isNaN(a) || Number.isNaN(b)) return (Number.isNaN(a) ? b || 0 : a) * line.live[i];
    const span = snapshots.ns[s + 1] - snapshots.ns[s];
    return (a + ((b - a) * (ns - snapshots.ns[s])) / (span || 1)) * line.live[i];
  });
}

export const unitOf = computed(() => question.value.unit);
