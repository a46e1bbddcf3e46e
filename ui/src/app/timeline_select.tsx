// SPDX-License-Identifier: Apache-2.0
//
// What is selected on the timeline, as things one can take hold of: a moment or the two ends of a
// range, by pointer or by keys. A click selects a moment, a drag a range; with shift, or by its
// handles, one end of the range moves. On the way everything follows once per frame; the step that
// Back takes back is made at the end.

import { computed } from "@preact/signals-core";
import { useRef } from "preact/hooks";
import type { Model } from "../engine/model.ts";
import { nearestSnapshot, START, timeOf } from "../engine/question.ts";
import { markOf } from "../engine/exactness.ts";
import { TERMS } from "../engine/terms.ts";
import { amount, time } from "../engine/units.ts";
import { sides, type Side } from "./comparison.ts";
import { endNs, moment, moveEdge, panTime, range, seenTime } from "./moments.ts";
import { selectMoment, selectRange, totals, zoomTime } from "./moments.ts";
import { model, pane, question } from "./session.ts";
import { use } from "./signals.ts";
import { go, slide, state } from "./state.ts";
import { pacer } from "./pacer.ts";
import { momentWords } from "./words.ts";

type Grip = "moment" | "from" | "to";

interface Props {
  left: number; // pixels of the axes beside the plot
  right: number;
  onHover(ns: number | null): void;
  onOpen(ns: number, clientY: number): void; // twice clicked there
}

const pace = pacer();

// From here on a label has its room to the left, where the axis leaves more of it.
const LATE = 0.4;

function drag(begin: number, grip: Grip | null, snapshot: number, write: typeof go): void {
  if (grip === "from" || grip === "to") moveEdge(grip, snapshot, write);
  else if (grip === "moment") selectMoment(snapshot, write);
  else if (snapshot !== begin) selectRange(begin, snapshot, write);
}

export function Selection({ left, right, onHover, onOpen }: Props) {
  const of = use(model);
  const part = use(range);
  const at = use(moment);
  const asked = use(state);
  const area = useRef<HTMLDivElement>(null);
  // Kept as a time: while a program runs, snapshots come and go below a hand that holds still.
  const held = useRef<{ grip: Grip | null; ns: number; x: number; moved: boolean } | null>(null);
  const { from, to } = use(seenTime);
  const nsAt = (event: MouseEvent) => {
    const box = area.current!.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return from + part * (to - from);
  };
  // Whoever sees all of it and turns the wheel further away scrolls the page.
  const turn = (event: WheelEvent) => {
    const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const by = isPan ? event.deltaX || event.deltaY : event.deltaY;
    if (isPan) panTime(by / 1000);
    else if (!zoomTime(nsAt(event), 2 ** (Math.max(-100, Math.min(100, by)) / 200))) return;
    event.preventDefault();
  };
  const begin = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const ns = nsAt(event);
    const snapshot = nearestSnapshot(of, ns);
    const named = (event.target as HTMLElement).dataset.grip as Grip | undefined;
    const nearer = () =>
      Math.abs(snapshot - part!.from) < Math.abs(snapshot - part!.to) ? "from" : "to";
    const grip = named ?? (event.shiftKey && part ? nearer() : null);
    held.current = { grip, ns, x: event.clientX, moved: false };
    area.current!.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const ns = nsAt(event);
    onHover(ns);
    const hold = held.current;
    if (!hold) return;
    hold.moved ||= Math.abs(event.clientX - hold.x) > 3;
    if (hold.moved) pace(() => drag(begunAt(hold), hold.grip, nearestSnapshot(of, ns), slide));
  };
  const begunAt = ({ ns }: { ns: number }) => nearestSnapshot(of, ns);
  const finish = (event: PointerEvent) => {
    const hold = held.current;
    held.current = null;
    if (!hold) return;
    const snapshot = nearestSnapshot(of, nsAt(event));
    pace.now(() => {
      if (hold.moved) drag(begunAt(hold), hold.grip, snapshot, go);
      else if (!hold.grip) selectMoment(snapshot);
    });
  };
  const cancel = () => {
    held.current = null;
  };
  const widthOf = (a: number, b: number) => `${(100 * (b - a)) / (to - from)}%`;
  const place = (ns: number) => `${(100 * (ns - from)) / (to - from)}%`;
  const isLate = (ns: number) => ns - from > (to - from) * LATE;
  const inSight = (ns: number) => Math.min(to, Math.max(from, ns));
  return (
    <div
      class="timeline-area"
      style={{ left: `${left}px`, right: `${right}px` }}
      ref={area}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={finish}
      onPointerCancel={cancel}
      onPointerLeave={() => onHover(null)}
      onWheel={turn}
      onDblClick={(event) => onOpen(nsAt(event), event.clientY)}
    >
      {marksIn(of, from, to).map((mark, i) => (
        <span key={i} class="mark" style={{ left: place(mark.time_ns) }} title={mark.name}>
          <span class="mark-name">{mark.name}</span>
        </span>
      ))}
      {use(comparedAt).map(({ name, time_ns }, i, both) =>
        time_ns < from || time_ns > to ? null : (
          <span
            key={name}
            class={`mark compared ${sideOf(time_ns, from, to)} ${
              i && areNear(both, to - from) ? "up" : ""}`}
            style={{ left: place(time_ns) }}
          >
            <span class="mark-name">{name}</span>
          </span>
        ),
      )}
      {part && (
        <>
          <div
            class="range"
            style={{
              left: place(inSight(timeOf(of, part.from))),
              width: widthOf(inSight(timeOf(of, part.from)), inSight(timeOf(of, part.to))),
            }}
          >
            <span class={`handle-label ${isLate(timeOf(of, part.from)) ? "late" : ""}`}>
              {momentWords(of, part.from)}
              {nearWords(asked.from, timeOf(of, part.from))} to {momentWords(of, part.to)}
              {nearWords(asked.to, timeOf(of, part.to))}
            </span>
          </div>
          <Handle grip="from" label="Beginning of the range" snapshot={part.from} />
          <Handle grip="to" label="End of the range" snapshot={part.to} />
        </>
      )}
      {!part && <Handle grip="moment" label="Moment" snapshot={at} />}
    </div>
  );
}

// Of a comparison of two moments, where they are.
const comparedAt = computed<{ name: string; time_ns: number }[]>(() => {
  const both = pane.value === "diff" ? sides.value : null;
  if (!both || both.areCaptures || both.areThreads) return [];
  const at = ({ model: of, question: asked }: Side) => timeOf(of, asked.to ?? START);
  return [
    { name: TERMS.before.text, time_ns: at(both.before) },
    { name: TERMS.after.text, time_ns: at(both.after) },
  ];
});

const NEAR = 0.1; // of what is seen: their names are as wide

const areNear = ([before, after]: { time_ns: number }[], seen: number) =>
  Math.abs(after.time_ns - before.time_ns) < NEAR * seen;

// Of the line, where its name has room.
const sideOf = (ns: number, from: number, to: number) =>
  (ns - from) / (to - from) > 1 - NEAR ? "left" : "";

const MARKS_MAX = 200;

function marksIn(of: Model, from: number, to: number): Model["facts"]["marks"] {
  const { marks } = of.facts;
  return marks.filter(({ time_ns: ns }) => ns >= from && ns <= to).slice(0, MARKS_MAX);
}

// A line one can drag or move by keys. Without a moment it waits at the end until it has the focus.
function Handle(props: { grip: Grip; label: string; snapshot: number | null }) {
  const of = use(model);
  const end = use(endNs);
  const sums = use(totals);
  const { unit } = use(question);
  const last = of.snapshots.count - 1;
  const snapshot = props.snapshot ?? last;
  const ns = timeOf(of, snapshot);
  const seen = use(seenTime);
  const part = (ns - seen.from) / (seen.to - seen.from);
  const side = part > LATE ? "late" : "early"; // where its label has room
  const held = snapshot === START ? 0 : sums[snapshot];
  const mark = markOf(of, "live", unit);
  const s = use(state);
  const asked = props.grip === "moment" ? s.at : s[props.grip];
  const near = nearWords(asked, ns);
  const words = `${momentWords(of, snapshot)}${near}: ${amount(held, unit, mark)} live`;
  const keys = (event: KeyboardEvent) => {
    const next = stepped(event.key, snapshot, last);
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (props.grip === "moment") selectMoment(next);
    else moveEdge(props.grip, next);
  };
  return (
    <div
      class={`handle ${props.grip} ${side} ${props.snapshot === null ? "idle" : ""}`}
      data-grip={props.grip}
      style={{ left: `${100 * part}%`, visibility: part < 0 || part > 1 ? "hidden" : undefined }}
      role="slider"
      tabIndex={0}
      aria-label={props.label}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={Math.round(end / 1e6)}
      aria-valuenow={Math.round(ns / 1e6)}
      aria-valuetext={words}
      onKeyDown={keys}
    >
      {props.grip === "moment" && <span class="handle-label">{words.replace(/ live$/, "")}</span>}
    </div>
  );
}

// Snapshots of a program that runs are thinned out, and an address may name any time.
function nearWords(asked: number | null, ns: number): string {
  return asked === null || time(asked) === time(ns) ? "" : ` (nearest to ${time(asked)})`;
}

function stepped(key: string, from: number, last: number): number | null {
  const steps: Record<string, number> = {
    ArrowLeft: from - 1,
    ArrowDown: from - 1,
    ArrowRight: from + 1,
    ArrowUp: from + 1,
    PageUp: from + 10,
    PageDown: from - 10,
    Home: START,
    End: last,
  };
  return key in steps ? Math.min(last, Math.max(START, steps[key])) : null;
}
