// SPDX-License-Identifier: Apache-2.0
//
// Where one is in the whole: the outline of all boxes, and over it what of them is seen. That is
// dragged or moved by keys, as far as what the graph is zoomed to goes.

import { useMemo, useRef } from "preact/hooks";
import { Boxes } from "./boxes.ts";
import type { Layout } from "./layout.ts";
import { moved, nearer, PAN_STEP, rangeOfSpan, ZOOM_STEP, type Span } from "./span.ts";

const WIDTH = 180; // of the outline, in its own units
const HEIGHT = 24;

interface MinimapProps {
  layout: Layout;
  zoom: number; // a node
  span: Span | null;
  flipped: boolean;
  controls: string; // what it moves: an element's id
  onSpan: (span: Span | null) => void;
}

export function Minimap({ layout, zoom, span, flipped, controls, onSpan }: MinimapProps) {
  const path = useMemo(() => outlineOf(layout, flipped), [layout, flipped]);
  const map = useRef<HTMLDivElement>(null);
  const held = useRef<number | null>(null); // where in the window it is held, 0 to 1
  const all = layout.rangeOf(zoom);
  const seen = rangeOfSpan(all, span);
  const whole = layout.whole.to || 1;
  const [left, right] = [seen.from / whole, seen.to / whole];

  // Its left edge, in shares of everything.
  const moveTo = (from: number) => {
    if (!span) return;
    const aim = (from * whole - all.from) / (all.to - all.from);
    onSpan(moved(span, (aim - span.from) / (span.to - span.from)));
  };
  const at = (event: PointerEvent) => {
    const box = map.current!.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };
  const begin = (event: PointerEvent) => {
    if (event.button !== 0 || !span) return;
    map.current!.setPointerCapture(event.pointerId);
    const x = at(event);
    const isInside = x >= left && x <= right;
    held.current = isInside ? (x - left) / (right - left) : 0.5;
    if (!isInside) moveTo(x - (right - left) / 2);
  };
  const move = (event: PointerEvent) => {
    if (held.current !== null) moveTo(at(event) - held.current * (right - left));
  };
  const end = () => {
    held.current = null;
  };
  const keys = (event: KeyboardEvent) => {
    const next = stepped(event.key, span);
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onSpan(next);
  };
  const room = span ? 1 - (span.to - span.from) : 0;
  return (
    <div
      class={`flame-map ${span ? "movable" : ""}`}
      ref={map}
      role="scrollbar"
      tabIndex={0}
      aria-label="What is seen of the whole width"
      aria-controls={controls}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={room > 0 ? Math.round((100 * span!.from) / room) : 0}
      aria-valuetext={words(left, right)}
      title={`${words(left, right)}; drag to move along`}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={end}
      onKeyDown={keys}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={path} />
      </svg>
      <span style={{ left: `${100 * left}%`, width: `${100 * (right - left)}%` }} />
    </div>
  );
}

function words(left: number, right: number): string {
  const [from, to] = [left, right].map((share) => Number((100 * share).toPrecision(3)));
  return `${from} % to ${to} % of the whole width`;
}

// undefined: not a key of ours.
function stepped(key: string, span: Span | null): Span | null | undefined {
  const steps: Record<string, () => Span | null | undefined> = {
    ArrowLeft: () => moved(span, -PAN_STEP),
    ArrowRight: () => moved(span, PAN_STEP),
    PageUp: () => moved(span, -1),
    PageDown: () => moved(span, 1),
    Home: () => moved(span, -Infinity),
    End: () => moved(span, Infinity),
    "+": () => nearer(span, 0.5, ZOOM_STEP),
    "=": () => nearer(span, 0.5, ZOOM_STEP),
    "-": () => nearer(span, 0.5, 1 / ZOOM_STEP),
    Escape: () => (span ? null : undefined),
  };
  return Object.hasOwn(steps, key) ? steps[key]() : undefined;
}

// How deep the boxes are, column by column.
export function outlineOf(layout: Layout, flipped: boolean): string {
  const depth = new Uint32Array(WIDTH);
  const boxes = new Boxes(WIDTH);
  let rows = 0;
  while (rows < layout.nRows && boxes.fill(layout, rows, layout.whole, WIDTH) > 0) {
    rows++;
    for (let i = 0; i < boxes.count; i++) depth.fill(rows, boxes.x0[i], boxes.x1[i]);
  }
  const y = (n: number) => Math.round((rows ? n / rows : 0) * HEIGHT);
  const base = flipped ? HEIGHT : 0;
  const parts = [`M0 ${base}`];
  for (let x = 0; x < WIDTH; x++) {
    const edge = flipped ? HEIGHT - y(depth[x]) : y(depth[x]);
    if (x === 0 || depth[x] !== depth[x - 1]) parts.push(`H${x}V${edge}`);
  }
  return `${parts.join("")}H${WIDTH}V${base}Z`;
}
