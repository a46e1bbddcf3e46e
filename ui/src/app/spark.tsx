// SPDX-License-Identifier: Apache-2.0
//
// What a row held over the run, small: the part that was never freed below, what was freed later
// above it. All rows of a table share the time; each has its own height, which its peak fills.

import { signal } from "@preact/signals-core";
import { courseAtTicks } from "../engine/bands.ts";
import { columns, columnsOf, curveInPieces, runNs } from "../engine/curves.ts";
import type { Model } from "../engine/model.ts";
import { markOf } from "../engine/exactness.ts";
import type { Pieces } from "../engine/pieces.ts";
import { amount } from "../engine/units.ts";
import { use } from "./signals.ts";
import { inSlices } from "./slices.ts";

const WIDTH = 96;
const HEIGHT = 18;
const COLUMNS = 48;

interface Shape {
  live: string;
  kept: string;
  words: string;
}

const tenths = (n: number) => Math.round(10 * n) / 10;

function path(values: Float64Array, most: number): string {
  let text = `M0 ${HEIGHT}`;
  for (let i = 0; i < values.length; i++) {
    if (i && values[i] === values[i - 1]) continue;
    const y = HEIGHT - Math.max(values[i] > 0 ? 0.5 : 0, (HEIGHT * values[i]) / most);
    text += `H${tenths((WIDTH * i) / values.length)}V${tenths(y)}`;
  }
  return `${text}H${WIDTH}V${HEIGHT}Z`;
}

// What was held at the snapshots, and between them at the ticks as far as somebody looked.
export function courseOf(model: Model, sites: Uint32Array, live: Float64Array) {
  const { ticks, snapshots } = model;
  const between = courseAtTicks(model, sites, live);
  let most = 0; // that was seen
  for (const value of live) most = Math.max(most, value);
  for (const value of between?.seen ?? []) most = Math.max(most, value);
  if (!between) return { most, times: snapshots.ns, values: live };
  const times: number[] = [];
  const values: number[] = [];
  for (let s = 0, t = 0; s < snapshots.count || t < ticks.count; ) {
    const isTick = s >= snapshots.count || ticks.ns[t] < snapshots.ns[s];
    times.push(isTick ? ticks.ns[t] : snapshots.ns[s]);
    values.push(isTick ? between.bytes[t] : live[s]);
    if (isTick) t++;
    else while (t < ticks.count && ticks.ns[t] === snapshots.ns[s]) t++;
    if (!isTick) s++;
  }
  return { most, times: Float64Array.from(times), values: Float64Array.from(values) };
}

function* makeShape({ model, sites, unit }: Props): Pieces<Shape> {
  const { live, kept } = yield* curveInPieces(model, sites, unit);
  const course =
    unit === "bytes"
      ? courseOf(model, sites, live)
      : { most: Math.max(0, ...live), times: model.snapshots.ns, values: live };
  const { most } = course;
  const drawn = columnsOf(course.times, course.values, runNs(model), COLUMNS);
  const highest = drawn.reduce((a, b) => Math.max(a, b), most);
  const last = kept.length ? kept[kept.length - 1] : 0;
  const mark = markOf(model, "live", unit);
  const isEndKnown = !model.facts.image.lacks.includes("live");
  const atEnd = isEndKnown ? `, ${amount(last, unit, mark)} at the end` : "";
  const words = `at most ${amount(most, unit, mark)} at once${atEnd}`;
  if (!most) return { live: "", kept: "", words };
  return {
    live: path(drawn, highest),
    kept: path(columns(model, kept, COLUMNS).map((n, i) => Math.min(n, drawn[i])), highest),
    words,
  };
}

const shapes = new WeakMap<Uint32Array, { unit: string; shape: Shape }>();

interface Props {
  model: Model;
  sites: Uint32Array;
  unit: "bytes" | "blocks";
}

// They wait until everything else is seen, and then are made a few at a time.
const arrivals = signal(0);
let wanted: Props[] = [];
let isWaiting = false;

function* makeWanted(): Pieces<void> {
  const SHOWN_MS = 30;
  for (let since = performance.now(); wanted.length; yield) {
    const one = wanted.shift()!;
    if (shapes.get(one.sites)?.unit !== one.unit)
      shapes.set(one.sites, { unit: one.unit, shape: yield* makeShape(one) });
    if (performance.now() - since < SHOWN_MS) continue;
    since = performance.now();
    arrivals.value++;
  }
}

function arrive(): void {
  isWaiting = false;
  arrivals.value++;
}

const QUEUE_MAX = 200; // who has scrolled on does not wait for those above

function want(one: Props): void {
  wanted = [...wanted.filter(({ sites }) => sites !== one.sites), one].slice(-QUEUE_MAX);
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => setTimeout(() => inSlices(makeWanted(), arrive, arrive)));
}

export function Spark({ model, sites, unit }: Props) {
  use(arrivals);
  if (!sites.length) return null;
  const held = shapes.get(sites);
  if (held?.unit !== unit) {
    want({ model, sites, unit });
    return <svg class="spark" width={WIDTH} height={HEIGHT} aria-hidden="true" />;
  }
  const { live, kept, words } = held.shape;
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-label={words}
    >
      <title>{words}</title>
      {live && <path class="spark-freed" d={live} />}
      {kept && <path class="spark-kept" d={kept} />}
    </svg>
  );
}
