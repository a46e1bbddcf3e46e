// SPDX-License-Identifier: Apache-2.0
//
// Who held the heap, on the timeline: bands below the line of live bytes, and a list of them. At a
// snapshot a band is exactly as high as its group's number there. Between two the line is known and
// of its shares those of the largest stacks, which were looked at with it; the others are drawn as
// if they went straight, and paler where the two snapshots are far apart.

import { computed, signal } from "@preact/signals-core";
import type uPlot from "uplot";
import { bandsInPieces, type Band, type Bands } from "../engine/bands.ts";
import { markOf } from "../engine/exactness.ts";
import { groupRefusal, type Group } from "../engine/groups.ts";
import { isNarrow } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { classesAreToldOverTime } from "../engine/narrow.ts";
import { nearestSnapshot, START } from "../engine/question.ts";
import { rowOf } from "../engine/rows.ts";
import { tailsApart } from "../engine/shorten.ts";
import { GROUP_TERMS } from "../engine/terms.ts";
import { amount } from "../engine/units.ts";
import { groupName, groupPlace, isClassKind, toldNames } from "./columns.ts";
import { later } from "./later.ts";
import { endNs, moment } from "./moments.ts";
import { Middle } from "./parts.tsx";
import { aimOf, partStep } from "./row_actions.tsx";
import { grouped, left, model, question } from "./session.ts";
import { use } from "./signals.ts";
import { addFilter, go, state, type GroupWord, type State } from "./state.ts";
import { colour } from "./theme.ts";
import { indexAt, type Timeline } from "./timeline_data.ts";

export const BANDS_MAX = 6; // more are no areas any more, and no two lines of names
const BAND_NAME = 24; // characters, where it has more than one part
const FEW = 3; // bands: their names have room
export const FAR = 1 / 25; // of the run: snapshots further apart leave a paler band

const kind = computed<GroupWord>(() => {
  const group = grouped.value;
  const isTold = !isClassKind(group) || classesAreToldOverTime(model.value);
  return isTold ? group : "place";
});
const unit = computed(() => question.value.unit);
const isWanted = computed(() => state.value.who);

// They wait until everything else is seen once, and are there at once from then on.
const isReady = signal(false);
let isWaiting = false;

function getReady(): void {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => setTimeout(() => (isReady.value = true)));
}

const asked = computed(() => {
  const of = model.value;
  if (!isWanted.value || isNarrow(left.value.look)) return null;
  if (of.snapshots.count < 3 || groupRefusal(of, kind.value)) return null;
  if (!isReady.value) {
    getReady();
    return null;
  }
  return { of, view: left.value, kind: kind.value, unit: unit.value };
});
const made = later(asked, (of) => bandsInPieces(of.view, of.kind, of.unit, BANDS_MAX),
  { canWait: true });
export const bands = computed<Bands | null>(() => (made.value?.bands.length ? made.value : null));

// With their lines where two lines of a function are bands of their own.
export const bandNames = computed<string[]>(() => {
  const of = model.value;
  const groups = (bands.value?.bands ?? []).map(({ group }) => group);
  const names = toldNames(groups.map((group) => groupName(of, group)));
  return names.map((name, i) =>
    names.indexOf(name) === names.lastIndexOf(name)
      ? name
      : groups[i].kind === "thread"
        ? `${name}, ${groupPlace(of, groups[i])}`
        : `${name}:${groupPlace(of, groups[i]).split(":").at(-1)}`,
  );
});

export const bandColour = (i: number) => `--band-${i}`;

// ---- drawing ----

// Shares of the bands at any time: at a tick what was seen, else straight between the snapshots.
function sharesAt(of: Model, shown: Bands, ns: number): Float64Array {
  const { ticks, snapshots } = of;
  const tick = indexAt(ticks.ns, ns);
  const isSnapshot = snapshots.ns[indexAt(snapshots.ns, ns)] === ns;
  const live = ticks.ns[tick] === ns && !isSnapshot ? ticks.liveBytes[tick] : 0;
  const seen = live > 0 ? shown.atTicks : null;
  return seen
    ? Float64Array.from(seen, (bytes) => bytes[tick] / live)
    : straightShares(of, shown, ns);
}

function straightShares({ snapshots }: Model, { bands, total }: Bands, ns: number): Float64Array {
  const before = indexAt(snapshots.ns, ns);
  const after = Math.min(before + 1, snapshots.count - 1);
  const near = Math.max(0, before);
  const share = (band: Band, s: number) => (total[s] > 0 ? band.live[s] / total[s] : NaN);
  const span = snapshots.ns[after] - snapshots.ns[near];
  const part = before < 0 || span <= 0 ? 0 : (ns - snapshots.ns[near]) / span;
  return Float64Array.from(bands, (band) => {
    const [a, b] = [share(band, near), share(band, after)];
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : b;
    return Number.isNaN(b) ? a : a + (b - a) * part;
  });
}

// Edges of the bands from below, one row of values per point of the line.
export function edgesOf(of: Model, line: Timeline, shown: Bands): Float64Array[] {
  const edges = shown.bands.map(() => new Float64Array(line.ns.length));
  for (let i = 0; i < line.ns.length; i++) {
    const shares = sharesAt(of, shown, line.ns[i]);
    for (let k = 0, sum = 0; k < shares.length; k++)
      edges[k][i] = (sum = Math.min(1, sum + shares[k])) * line.live[i];
  }
  return edges;
}

function fillBetween(u: uPlot, ns: Float64Array, low: Float64Array | null, high: Float64Array) {
  const { ctx } = u;
  const x = (i: number) => u.valToPos(ns[i], "x", true);
  const y = (value: number) => u.valToPos(value, "y", true);
  ctx.beginPath();
  for (let i = 0; i < ns.length; i++) ctx.lineTo(x(i), y(high[i]));
  for (let i = ns.length - 1; i >= 0; i--) ctx.lineTo(x(i), y(low ? low[i] : 0));
  ctx.fill();
}

export function drawBands(u: uPlot, of: Model, line: Timeline, shown: Bands): void {
  const { ctx } = u;
  ctx.save();
  const edges = edgesOf(of, line, shown);
  edges.forEach((high, k) => {
    ctx.fillStyle = colour(bandColour(k));
    fillBetween(u, line.ns, k ? edges[k - 1] : null, high);
  });
  drawFar(u, of);
  ctx.restore();
}

function drawFar(u: uPlot, { snapshots }: Model): void {
  const { ctx } = u;
  const end = endNs.peek();
  const zero = u.valToPos(0, "y", true);
  ctx.fillStyle = colour("--ground");
  ctx.globalAlpha = 0.55;
  for (let s = 0, before = 0; s <= snapshots.count; s++) {
    const at = s < snapshots.count ? snapshots.ns[s] : end;
    const [x0, x1] = [before, at].map((ns) => u.valToPos(ns, "x", true));
    if (at - before > end * FAR) ctx.fillRect(x0 + 1, u.bbox.top, x1 - x0 - 2, zero - u.bbox.top);
    before = at;
  }
}

const TICK = 4; // pixels

// Where somebody looked: there everything is known by stack.
export function drawSnapshots(u: uPlot, { snapshots }: Model): void {
  const { ctx } = u;
  const zero = Math.round(u.valToPos(0, "y", true));
  ctx.save();
  ctx.fillStyle = colour("--text");
  for (const ns of snapshots.ns) {
    const x = Math.round(u.valToPos(ns, "x", true));
    ctx.fillRect(x, zero + 1, Math.max(1, devicePixelRatio), TICK * devicePixelRatio);
  }
  ctx.restore();
}

// Which band a point of the plot is in; null: in none of them.
export function bandAt(of: Model, line: Timeline, ns: number, value: number): number | null {
  const shown = bands.peek();
  const i = indexAt(line.ns, ns);
  if (!shown || i < 0 || value < 0) return null;
  const live = line.live[i];
  const shares = sharesAt(of, shown, ns);
  for (let k = 0, sum = 0; k < shares.length; k++) {
    sum += shares[k];
    if (value <= sum * live) return k;
  }
  return null;
}

// What leaves a band alone: its row, its thread or class; of a stack, its function. null: nothing
// does.
function stepTo(of: Model, group: Group): Partial<State> | null {
  const row = rowOf(of, group);
  const aim = aimOf(group);
  if (row !== null) return { row };
  return partStep(group) ?? (aim && addFilter(aim.kind, aim.pattern));
}

export function selectBand(index: number): void {
  const step = stepTo(model.peek(), bands.peek()!.bands[index].group);
  if (step) go(step);
}

// ---- the list ----

const ESTIMATE =
  "Whose the blocks of such a stack are is known at the peak and at the end. In between a " +
  "thread’s share of it goes straight from the one to the other.";

// Without a pointer over the chart, of the moment selected; of none, the most each ever held.
export function BandList({ cursor }: { cursor: number | null }) {
  const of = use(model);
  const shown = use(bands);
  const names = use(bandNames);
  const tails = tailsApart(names, BAND_NAME);
  const at = use(moment);
  const { unit: asked } = use(question);
  const word = GROUP_TERMS[use(kind)];
  if (!shown) return null;
  const s = cursor === null ? at : nearestSnapshot(of, cursor);
  const isEstimate = s === null || s === START ? false : shown.isEstimate?.[s] === 1;
  const mark = isEstimate ? "≈ " : markOf(of, "live", asked);
  const text = (values: Float64Array) =>
    amount(s === null ? Math.max(...values) : s === START ? 0 : values[s], asked, mark);
  return (
    <ul
      class={`bands ${shown.bands.length <= FEW ? "few" : ""}`}
      aria-label={`Who held it, by ${word.word}`}
    >
      {shown.bands.map(({ group, live }, i) => (
        <li key={i}>
          <button
            type="button"
            class="band"
            disabled={!stepTo(of, group)}
            title={`${names[i]} ${groupPlace(of, group)}: only this, in every pane`}
            onClick={() => selectBand(i)}
          >
            <span class="swatch" style={{ background: `var(${bandColour(i)})` }} />
            <span class="band-name">
              <Middle text={tails[i]} />
            </span>{" "}
            <b>{text(live)}</b>
          </button>
        </li>
      ))}
      <li class="band muted">
        <span class="swatch others" /> others <b>{text(shown.others)}</b>
      </li>
      {shown.isEstimate?.includes(1) && (
        <li class="band muted" title={ESTIMATE}>
          ≈ where threads share stacks
        </li>
      )}
    </ul>
  );
}
