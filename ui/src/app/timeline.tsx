// SPDX-License-Identifier: Apache-2.0
//
// The timeline: live bytes, RSS and the rate of allocation over the run, with what is selected laid
// over it. The chart is drawn by uPlot; what can be taken hold of is in timeline_select.tsx.

import { computed } from "@preact/signals-core";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Bands } from "../engine/bands.ts";
import { markOf } from "../engine/exactness.ts";
import type { Model } from "../engine/model.ts";
import { TERMS } from "../engine/terms.ts";
import { amount, bytes, count, time, EXACT } from "../engine/units.ts";
import { clean } from "../flame/clean.ts";
import { endNs, moment, otherRun, seenTime, totals } from "./moments.ts";
import { model } from "./session.ts";
import { use } from "./signals.ts";
import { selectedCourse, selectedLine, unitOf } from "./selected.ts";
import { settle, state } from "./state.ts";
import { bandAt, BandList, bands, drawBands, drawSnapshots } from "./timeline_bands.tsx";
import { selectBand } from "./timeline_bands.tsx";
import { RangeNumbers, TimelineMoves } from "./timeline_moves.tsx";
import { hasLane, HEIGHT as LANE, RssLane } from "./timeline_rss.tsx";
import { Selection } from "./timeline_select.tsx";
import { hasRates, indexAt, makeTimeline, rateBins, rates, steps } from "./timeline_data.ts";
import type { Timeline } from "./timeline_data.ts";
import { colour, isDark } from "./theme.ts";
import { sentence } from "./words.ts";

export const AXIS = 72; // pixels for the numbers at the left
const RATE_SHARE = 0.2; // of the height, for the rate at the bottom
const RATE_GAP = 0.05; // and between it and the rest

interface Drawn {
  of: Model;
  line: Timeline;
  who: Bands | null;
  apart: boolean; // RSS has a scale of its own
  rate: Float64Array;
  unit: "bytes" | "blocks";
  endNs: number;
  from: number; // what of it is seen
  to: number;
  beside: Timeline | null; // of another capture
}

const LABEL = 13; // pixels from the middle of one label to that of the next

// The rate has a strip of its own below the zero of the rest, and its highest value beside it.
function drawRate(u: uPlot, { rate, unit, endNs: end }: Drawn): void {
  let most = 0;
  for (const value of rate) most = Math.max(most, value);
  if (!most) return;
  const { ctx } = u;
  const { left, top, height } = u.bbox;
  const tall = height * RATE_SHARE;
  ctx.save();
  ctx.fillStyle = colour("--rate");
  const x = (i: number) => Math.round(u.valToPos((end * i) / rate.length, "x", true));
  for (let i = 0; i < rate.length; i++) {
    const [x0, x1] = [Math.max(left, x(i)), Math.min(left + u.bbox.width, x(i + 1))];
    if (x1 < x0) continue;
    const y = Math.round((tall * rate[i]) / most);
    ctx.fillRect(x0, top + height - y, Math.max(1, x1 - x0), y);
  }
  ctx.fillStyle = colour("--muted");
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const n = Math.round(most);
  const words = `${unit === "bytes" ? bytes(n, EXACT) : count(n, EXACT)}/s`; // a scale
  const apart = u.valToPos(0, "y", true) + LABEL * devicePixelRatio;
  ctx.fillText(words, left - 8 * devicePixelRatio, Math.max(apart, top + height - tall / 2));
  ctx.restore();
}

function within({ ctx, bbox }: uPlot): void {
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}

// Of the capture that is compared with: its line, on the same scales.
function drawBeside(u: uPlot, { beside }: Drawn): void {
  if (!beside) return;
  const { ctx } = u;
  ctx.save();
  within(u);
  ctx.strokeStyle = colour("--beside");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  beside.ns.forEach((ns, i) =>
    ctx.lineTo(u.valToPos(ns, "x", true), u.valToPos(beside.live[i], "y", true)));
  ctx.stroke();
  ctx.restore();
}

const mostOf = (beside: Timeline | null) =>
  beside ? beside.live.reduce((a, b) => Math.max(a, b), 0) : 0;

function drawBehind(u: uPlot, drawn: Drawn): void {
  drawRate(u, drawn);
  u.ctx.save();
  within(u);
  if (drawn.who) drawBands(u, drawn.of, drawn.line, drawn.who);
  drawSnapshots(u, drawn.of);
  u.ctx.restore();
}

// Room for the rate below zero.
function scaleOf(most: number): [number, number] {
  const part = RATE_SHARE + RATE_GAP;
  const high = Math.max(1, most * 1.02);
  return [(-high * part) / (1 - part), high];
}

const notBelow = (_: uPlot, all: number[]) => all.map((n) => (n < 0 ? null : n));

// Resident memory many times as high as the heap would leave the heap a line at the bottom.
const APART = 2;

function isApart({ live, rss }: Timeline): boolean {
  const [held, resident] = [live, rss ?? []].map((all) =>
    (all as (number | null)[]).reduce<number>((most, one) => Math.max(most, one ?? 0), 0));
  return resident > APART * held;
}

function axes(unit: "bytes" | "blocks", apart: boolean): uPlot.Axis[] {
  const common = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
  };
  const resident: uPlot.Axis = {
    ...common,
    side: 1,
    scale: "rss",
    stroke: colour("--rss"),
    values: (_, all) => all.map((n) => (n === null ? "" : bytes(n, EXACT))),
    incrs: steps(2),
    filter: notBelow,
    grid: { show: false },
    ticks: { ...common.ticks, filter: notBelow },
    size: AXIS,
    gap: 4,
    space: 24,
  };
  return [
    {
      ...common,
      values: (_, all) => all.map((ns) => (ns ? time(ns) : "0")),
      incrs: steps(10),
      space: 72, // as much as "100.0 ms" needs
      size: 24,
      gap: 2,
    },
    {
      ...common,
      values: (_, all) =>
        all.map((n) => (n === null ? "" : unit === "bytes" ? bytes(n, EXACT) : count(n, EXACT))),
      incrs: steps(unit === "bytes" ? 2 : 10),
      filter: notBelow,
      grid: { ...common.grid, filter: notBelow },
      ticks: { ...common.ticks, filter: notBelow },
      size: AXIS,
      gap: 4,
      space: 24,
    },
    ...(apart ? [resident] : []),
  ];
}

// Beside the plot, where RSS has its numbers.
const rightOf = (apart: boolean) => (apart ? AXIS : 24);

function options(drawn: Drawn, width: number, height: number): uPlot.Options {
  return {
    width,
    height,
    padding: [18, drawn.apart ? 0 : 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 }, y: false },
    scales: {
      x: { time: false, range: [drawn.from, drawn.to] },
      y: { range: (_, __, most) => scaleOf(Math.max(most, mostOf(drawn.beside))) },
      ...(drawn.apart && { rss: { range: (_, __, most) => scaleOf(most) } }),
    },
    axes: axes(drawn.unit, drawn.apart),
    series: [
      {},
      {
        stroke: colour("--live"),
        fill: drawn.who ? undefined : colour("--live-fill"),
        fillTo: 0,
        width: 1.5,
        points: { show: false },
      },
      {
        scale: drawn.apart ? "rss" : "y",
        stroke: colour("--rss"),
        width: 1.5,
        dash: [5, 3],
        points: { show: false },
      },
      {
        stroke: colour("--selected"),
        fill: drawn.who ? undefined : colour("--selected-fill"),
        fillTo: 0,
        width: 2.5,
        points: { show: false },
      },
    ],
    hooks: { drawAxes: [(u) => drawBehind(u, drawn)], draw: [(u) => drawBeside(u, drawn)] },
  };
}

export function useWidth(): [RefObject<HTMLDivElement>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current!;
    const look = () => setWidth(Math.floor(element.clientWidth));
    const observer = new ResizeObserver(look);
    observer.observe(element);
    look();
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

const besideLine = computed(() => otherRun.value && makeTimeline(otherRun.value, unitOf.value));
const line = computed(() => makeTimeline(model.value, unitOf.value));

// What the selection held; null: everything is selected.
const chosen = computed(() =>
  selectedCourse.value && selectedLine(model.value, selectedCourse.value, line.value),
);

// Only where there is a course to show: many tools keep none.
export function TimelinePane({ height }: { height: number }) {
  const { facts, ticks, snapshots } = use(model);
  const isCourse = !facts.image.lacks.includes("clock") && ticks.count + snapshots.count > 1;
  if (isCourse) return <Course height={height} />;
  return (
    <section class="timeline" aria-label="Timeline">
      <p class="muted">
        {sentence(TERMS.noTimeline.text)}: {TERMS.noTimeline.hint}.
      </p>
    </section>
  );
}

function Course({ height: all }: { height: number }) {
  const height = use(hasLane) ? all - LANE : all;
  const of = use(model);
  const unit = use(unitOf);
  const shown = use(line);
  const end = use(endNs);
  const seen = use(seenTime);
  const dark = use(isDark);
  const { rss: hasRss } = use(state);
  const who = use(bands);
  const part = use(chosen);
  const beside = use(besideLine);
  const apart = hasRss && isApart(shown);
  const [frame, width] = useWidth();
  const plot = useRef<uPlot>();
  const [cursor, setCursor] = useState<number | null>(null);
  const bins = rateBins(of, Math.max(0, width - AXIS));
  const rate = useMemo(() => rates(of, unit, end, bins), [of, unit, end, bins]);
  useEffect(() => {
    if (width < 120) return;
    const empty = new Array<null>(shown.ns.length).fill(null);
    const resident = (hasRss && shown.rss) || empty;
    const data = [shown.ns, shown.live, resident, part ?? empty] as uPlot.AlignedData;
    const drawn = { of, line: shown, who, apart, rate, unit, endNs: end, ...seen, beside };
    const made = new uPlot(
      options(drawn, width, height),
      data,
      frame.current!,
    );
    plot.current = made;
    return () => made.destroy();
  }, [shown, who, part, beside, rate, end, seen, dark, width, height, hasRss]);
  // Of a point in the chart, what is there; the values are those of the scale of live bytes.
  const valueAt = (clientY: number) => {
    const u = plot.current;
    return u ? u.posToVal(clientY - u.over.getBoundingClientRect().top, "y") : -1;
  };
  const open = (ns: number, clientY: number) => {
    const band = bandAt(of, shown, ns, valueAt(clientY));
    if (band !== null) selectBand(band);
  };
  const hover = (ns: number | null) => {
    setCursor(ns);
    const u = plot.current;
    u?.setCursor(ns === null ? { left: -10, top: -10 } : { left: u.valToPos(ns, "x"), top: 0 });
  };
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-head">
        <Legend rate={rate} cursor={cursor} />
        <TimelineMoves />
      </div>
      <div class="timeline-chart" ref={frame} style={{ minHeight: `${height}px` }}>
        <Selection left={AXIS} right={rightOf(apart)} onHover={hover} onOpen={open} />
      </div>
      <RssLane left={AXIS} right={rightOf(apart)} {...{ width, cursor }} line={shown} />
      <BandList cursor={cursor} />
      <RangeNumbers cursor={cursor} />
    </section>
  );
}

// The values under the pointer; without one, at the moment selected.
function Legend({ rate, cursor }: { rate: Float64Array; cursor: number | null }) {
  const of = use(model);
  const { ns: times, live: lives, rss: resident } = use(line);
  const sums = use(totals);
  const at = use(moment);
  const unit = use(unitOf);
  const end = use(endNs);
  const { rss: hasRss, who } = use(state);
  const isAt = cursor === null && at !== null && at >= 0;
  const ns = isAt ? of.snapshots.ns[at] : cursor;
  const i = ns === null ? -1 : indexAt(times, ns);
  const live = isAt ? sums[at] : i < 0 ? null : lives[i];
  const rss = i < 0 ? null : (resident?.[i] ?? null);
  const part = use(chosen);
  const ofPart = use(selectedCourse)?.isEstimate ? "≈ " : markOf(of, "live", unit);
  const beside = use(besideLine);
  const bin = ns === null ? -1 : Math.min(rate.length - 1, Math.floor((ns / end) * rate.length));
  const [held, done] = [markOf(of, "live", unit), markOf(of, "allocated", unit)];
  return (
    <p class="legend">
      <button
        type="button"
        class="plain-key"
        aria-pressed={who}
        title={who ? "Leave out who held it" : "Show who held it"}
        onClick={() => settle({ who: !who })}
      >
        <Key name="live" text="live" value={live === null ? null : amount(live, unit, held)} />
      </button>
      {beside && (
        <Key
          name="beside"
          text={clean(otherRun.peek()?.facts.capture.file ?? "the other").slice(0, 80)}
          value={amount(mostOf(beside), unit, held)}
        />
      )}
      {part && (
        <Key
          name="selected"
          text="selected"
          value={i < 0 ? null : amount(Math.round(part[i]), unit, ofPart)}
        />
      )}
      {resident && (
        <button
          type="button"
          class="plain-key"
          aria-pressed={hasRss}
          title={hasRss ? "Leave RSS out" : "Show RSS"}
          onClick={() => settle({ rss: !hasRss })}
        >
          <Key name="rss" text="RSS" value={rss === null ? null : bytes(rss, EXACT)} />
        </button>
      )}
      {hasRates(of, unit) && (
        <Key
          name="rate"
          text="allocated"
          value={bin < 0 ? "per second" : `${amount(Math.round(rate[bin]), unit, done)}/s`}
        />
      )}
    </p>
  );
}

function Key({ name, text, value }: { name: string; text: string; value: string | null }) {
  return (
    <span class="legend-item">
      <span class={`key ${name}`} aria-hidden="true" />
      {text} {value !== null && <b>{value}</b>}
    </span>
  );
}
