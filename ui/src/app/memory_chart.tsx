// SPDX-License-Identifier: Apache-2.0
//
// Resident memory by kind over the run, beneath the line of the heap. A column stands where a table
// was taken; what lies between two is paler, or not drawn where it is not known. It lies below the
// timeline and has its scale of time.

import { useMemo, useState } from "preact/hooks";
import { axisSteps, joined, nearestTable, stacked, stretches } from "../engine/residence.ts";
import type { Residence } from "../engine/model.ts";
import { bytes, share, EXACT } from "../engine/units.ts";
import { endNs } from "./moments.ts";
import { model } from "./session.ts";
import { use } from "./signals.ts";
import { go } from "./state.ts";
import { AXIS, useWidth } from "./timeline.tsx";
import { makeTimeline } from "./timeline_data.ts";
import { unbroken } from "./words.ts";

const HEIGHT = 200;
const ABOVE = 8; // pixels
const BELOW = 8;
const RIGHT = 24; // as the timeline has it
const COLUMN = 8; // pixels of a table's column
const TIP = 400; // of what tells a column's numbers, at most
const FEW = 5; // steps of the axis

interface Scale {
  x(ns: number): number;
  y(bytes: number): number;
  width: number;
}

function scaleOf(width: number, end: number, most: number): Scale {
  const wide = Math.max(1, width - AXIS - RIGHT);
  const tall = HEIGHT - ABOVE - BELOW;
  return {
    x: (ns) => AXIS + (Math.min(Math.max(0, ns), end) / end) * wide,
    y: (n) => ABOVE + tall - (n / most) * tall,
    width,
  };
}

export function MemoryChart({ chosen }: { chosen: number }) {
  const of = use(model);
  const end = use(endNs);
  const [frame, width] = useWidth();
  const [hovered, setHovered] = useState<number | null>(null);
  const { residence } = of.facts;
  const line = useMemo(() => makeTimeline(of, "bytes"), [of]);
  const areas = useMemo(() => stretches(joined(of)), [of]);
  const heights = useMemo(() => stacked(residence), [residence]);
  const most = useMemo(
    () =>
      Math.max(
        1,
        ...residence.tables.map(({ sum }) => sum.bytes),
        line.live.reduce((a, b) => Math.max(a, b), 0),
        (line.rss ?? []).reduce<number>((a, b) => Math.max(a, b ?? 0), 0),
      ) * 1.02,
    [residence, line],
  );
  const scale = scaleOf(width, end, most);
  const near = (event: MouseEvent) => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    const passed = (event.clientX - left - AXIS) / Math.max(1, width - AXIS - RIGHT);
    return nearestTable(residence, passed * end);
  };
  return (
    <figure class="memory-chart" aria-label="Resident memory by kind over time">
      <Legend residence={residence} hasRss={line.rss !== null} />
      <div
        class="memory-frame"
        ref={frame}
        onPointerMove={(event) => setHovered(near(event))}
        onPointerLeave={() => setHovered(null)}
        onClick={(event) => go({ table: residence.tables[near(event)].time_ns })}
      >
        <svg width={width} height={HEIGHT} role="img" aria-label="Its numbers are in the tables">
          <Grid scale={scale} most={most} />
          {areas.map(([first, last]) => (
            <Area key={first} {...{ residence, heights, scale, first, last }} />
          ))}
          <Columns {...{ residence, heights, scale, chosen }} />
          <path class="line live" d={pathOf(line.ns, line.live, scale)} />
          {line.rss && <path class="line rss" d={pathOf(line.ns, line.rss, scale)} />}
        </svg>
        {hovered !== null && <Tip residence={residence} at={hovered} scale={scale} />}
      </div>
      <figcaption class="muted">{residence.between}</figcaption>
    </figure>
  );
}

function Legend({ residence, hasRss }: { residence: Residence; hasRss: boolean }) {
  return (
    <p class="legend">
      <span class="legend-item">
        <span class="key" aria-hidden="true" />
        heap
      </span>
      {hasRss && (
        <span class="legend-item">
          <span class="key rss" aria-hidden="true" />
          RSS
        </span>
      )}
      {residence.parts.map(({ key, words }) => (
        <span key={key} class="legend-item">
          <span class={`swatch part-${key}`} aria-hidden="true" />
          {words}
        </span>
      ))}
    </p>
  );
}

function Grid({ scale, most }: { scale: Scale; most: number }) {
  return (
    <g class="axis">
      {axisSteps(most, FEW).map((n) => (
        <g key={n}>
          <line x1={AXIS} x2={scale.width - RIGHT} y1={scale.y(n)} y2={scale.y(n)} />
          <text x={AXIS - 8} y={scale.y(n)} dy="0.35em">
            {bytes(n, EXACT)}
          </text>
        </g>
      ))}
    </g>
  );
}

interface Shape {
  residence: Residence;
  heights: [number, number][][];
  scale: Scale;
}

// Joined tables, part by part.
function Area({
  residence: { tables, parts }, heights, scale, first, last,
}: Shape & { first: number; last: number }) {
  const shown = tables.slice(first, last + 1);
  const edge = (part: number, side: 0 | 1) =>
    shown.map(({ time_ns }, i) =>
      `${scale.x(time_ns).toFixed(1)},${scale.y(heights[first + i][part][side]).toFixed(1)}`);
  return (
    <g class="between">
      {parts.map(({ key }, part) => (
        <polygon
          key={key}
          class={`part-${key}`}
          points={[...edge(part, 1), ...edge(part, 0).reverse()].join(" ")}
        />
      ))}
    </g>
  );
}

function Columns({
  residence: { tables, parts }, heights, scale, chosen,
}: Shape & { chosen: number }) {
  return (
    <>
      {tables.map(({ time_ns, sum }, i) => {
        const x = scale.x(time_ns) - COLUMN / 2;
        return (
          <g key={i} class={`look ${i === chosen ? "chosen" : ""}`}>
            {heights[i].map(([from, to], part) => (
              <rect
                key={part}
                class={`part-${parts[part].key}`}
                x={x}
                width={COLUMN}
                y={scale.y(to)}
                height={Math.max(0, scale.y(from) - scale.y(to))}
              />
            ))}
            {i === chosen && (
              <rect
                class="frame"
                x={x - 1.5}
                width={COLUMN + 3}
                y={scale.y(sum.bytes) - 1.5}
                height={scale.y(0) - scale.y(sum.bytes) + 3}
              />
            )}
          </g>
        );
      })}
    </>
  );
}

function pathOf(ns: Float64Array, values: ArrayLike<number | null>, scale: Scale): string {
  const points: string[] = [];
  for (let i = 0; i < ns.length; i++) {
    const value = values[i];
    if (value === null) continue;
    points.push(`${scale.x(ns[i]).toFixed(1)},${scale.y(value).toFixed(1)}`);
  }
  return points.length ? `M${points.join("L")}` : "";
}

// What was in memory, with every part's own number.
function Tip({ residence, at, scale }: { residence: Residence; at: number; scale: Scale }) {
  const { time_ns, when, parts, sum } = residence.tables[at];
  const x = scale.x(time_ns);
  const isLate = x > scale.width / 2;
  const isNarrow = scale.width < 2 * TIP; // there is no room beside the column
  const side = isNarrow
    ? { left: "0" }
    : isLate
      ? { right: `${scale.width - x + 10}px` }
      : { left: `${x + 10}px` };
  return (
    <div class="memory-tip" role="tooltip" style={side}>
      <b>
        {when}: {unbroken(bytes(sum.bytes, EXACT))}
      </b>
      <table>
        <tbody>
          {residence.parts.map(({ key, words }, i) => (
            <tr key={key}>
              <td>
                <span class={`swatch part-${key}`} aria-hidden="true" /> {words}
              </td>
              <td class="number">{bytes(parts[i], EXACT)}</td>
              <td class="number muted">{share(parts[i], sum.bytes, EXACT)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
