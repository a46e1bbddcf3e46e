// SPDX-License-Identifier: Apache-2.0
//
// The timeline: live bytes, RSS and the rate of allocation over the run, with what is selected laid
// over it. The chart is drawn by uPlot; what can be taken hold of is in timeline_select.tsx.

import { computed } from "@preact/signals-core";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { markOf } from "../engine/exactness.ts";
import { TERMS } from "../engine/terms.ts";
import { amount, bytes, count, time, EXACT } from "../engine/units.ts";
import { endNs, moment, totals } from "./moments.ts";
import { model, question } from "./session.ts";
import { use } from "./signals.ts";
import { settle, state } from "./state.ts";
import { RangeNumbers, TimelineMoves } from "./timeline_moves.tsx";
import { Selection } from "./timeline_select.tsx";
import { hasRates, indexAt, makeTimeline, rateBins, rates, steps } from "./timeline_data.ts";
import { colour, isDark } from "./theme.ts";
import { sentence } from "./words.ts";

export const AXIS = 72; // pixels for the numbers at the left
const RATE_SHARE = 0.2; // of the height, for the rate at the bottom
const RATE_GAP = 0.05; // and between it and the rest

interface Drawn {
  rate: Float64Array;
  unit: "bytes" | "blocks";
  endNs: number;
}

// The rate has a strip of its own below the zero of the rest, and its highest value beside it.
function drawRate(u: uPlot, { rate, unit }: Drawn): void {
  let most = 0;
  for (const value of rate) most = Math.max(most, value);
  if (!most) return;
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const tall = height * RATE_SHARE;
  ctx.save();
  ctx.fillStyle = colour("--rate");
  for (let i = 0; i < rate.length; i++) {
    const x0 = left + Math.round((width * i) / rate.length);
    const x1 = left + Math.round((width * (i + 1)) / rate.length);
    const y = Math.round((tall * rate[i]) / most);
    ctx.fillRect(x0, top + height - y, Math.max(1, x1 - x0), y);
  }
  ctx.fillStyle = colour("--muted");
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const n = Math.round(most);
  const words = `${unit === "bytes" ? bytes(n, EXACT) : count(n, EXACT)}/s`; // a scale
  ctx.fillText(words, left - 8 * devicePixelRatio, top + height - tall / 2);
  ctx.restore();
}

// Room for the rate below zero.
function scaleOf(most: number): [number, number] {
  const part = RATE_SHARE + RATE_GAP;
  const high = Math.max(1, most * 1.02);
  return [(-high * part) / (1 - part), high];
}

const notBelow = (_: uPlot, all: number[]) => all.map((n) => (n < 0 ? null : n));

function axes(unit: "bytes" | "blocks"): uPlot.Axis[] {
  const common = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
  };
  return [
    {
      ...common,
      values: (_, all) => all.map((ns) => (ns ? time(ns) : "0")),
      incrs: steps(10),
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
  ];
}

function options(drawn: Drawn, width: number, height: number): uPlot.Options {
  return {
    width,
    height,
    padding: [18, 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 }, y: false },
    scales: {
      x: { time: false, range: [0, drawn.endNs] },
      y: { range: (_, __, most) => scaleOf(most) },
    },
    axes: axes(drawn.unit),
    series: [
      {},
      {
        stroke: colour("--live"),
        fill: colour("--live-fill"),
        fillTo: 0,
        width: 1.5,
        points: { show: false },
      },
      { stroke: colour("--rss"), width: 1.5, dash: [5, 3], points: { show: false } },
    ],
    hooks: { drawAxes: [(u) => drawRate(u, drawn)] },
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

const unitOf = computed(() => question.value.unit);
const line = computed(() => makeTimeline(model.value, unitOf.value));

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

function Course({ height }: { height: number }) {
  const of = use(model);
  const unit = use(unitOf);
  const shown = use(line);
  const end = use(endNs);
  const dark = use(isDark);
  const { rss: hasRss } = use(state);
  const [frame, width] = useWidth();
  const plot = useRef<uPlot>();
  const [cursor, setCursor] = useState<number | null>(null);
  const bins = rateBins(of, Math.max(0, width - AXIS));
  const rate = useMemo(() => rates(of, unit, end, bins), [of, unit, end, bins]);
  useEffect(() => {
    if (width < 120) return;
    const empty = new Array<null>(shown.ns.length).fill(null);
    const resident = (hasRss && shown.rss) || empty;
    const data = [shown.ns, shown.live, resident] as uPlot.AlignedData;
    const made = new uPlot(
      options({ rate, unit, endNs: end }, width, height),
      data,
      frame.current!,
    );
    plot.current = made;
    return () => made.destroy();
  }, [shown, rate, end, dark, width, height, hasRss]);
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
        <Selection left={AXIS} onHover={hover} />
      </div>
      <RangeNumbers />
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
  const { rss: hasRss } = use(state);
  const isAt = cursor === null && at !== null && at >= 0;
  const ns = isAt ? of.snapshots.ns[at] : cursor;
  const i = ns === null ? -1 : indexAt(times, ns);
  const live = isAt ? sums[at] : i < 0 ? null : lives[i];
  const rss = i < 0 ? null : (resident?.[i] ?? null);
  const bin = ns === null ? -1 : Math.min(rate.length - 1, Math.floor((ns / end) * rate.length));
  const [held, done] = [markOf(of, "live", unit), markOf(of, "allocated", unit)];
  return (
    <p class="legend">
      <Key name="live" text="live" value={live === null ? null : amount(live, unit, held)} />
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
      {cursor !== null && <span class="muted">at {time(cursor)}</span>}
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
