// SPDX-License-Identifier: Apache-2.0
//
// All processes of a capture: what they held together over the time of them all, and a tree of who
// started whom, each with its command, its time and its peak. A name turns the page to that one.

import { useMemo, useState } from "preact/hooks";
import { patternRefusal } from "../engine/look.ts";
import { searchPattern } from "../engine/search.ts";
import { peakText } from "../engine/exactness.ts";
import { bytes, count, time, EXACT } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { hasData, type OfferedImage, type Processes } from "./load.ts";
import { Bar, Th } from "./parts.tsx";
import { commandOf, layersOf, mostTogether, orders, processRows, stepsOf } from "./process_rows.ts";
import type { Layer, Order, ProcessRow } from "./process_rows.ts";
import { session } from "./session.ts";
import { use } from "./signals.ts";
import { go } from "./state.ts";
import { bandColour, BANDS_MAX } from "./timeline_bands.tsx";
import { plural } from "./words.ts";

const orderWords: Record<Order, string> = {
  start: "as they started",
  peak: "highest peak first",
  ran: "longest first",
  count: "most allocations first",
  name: "by name",
};

export function ProcessesPane() {
  const { facts, capture } = use(session)!;
  const { images, processes } = facts.captures[capture];
  const [order, setOrder] = useState<Order>("start");
  const [text, setText] = useState("");
  const fault = text ? patternRefusal(text) : null;
  const rows = useMemo(() => {
    const pattern = text && !fault ? searchPattern(text) : null;
    return processRows(images, processes?.parents ?? images.map(() => -1), order, pattern);
  }, [images, processes, order, text]);
  return (
    <section class="pane processes" aria-label="Processes">
      {processes && <Together images={images} of={processes} />}
      <div class="pane-bar">
        <label>
          Order{" "}
          <select
            value={order}
            onChange={(event) => setOrder((event.target as HTMLSelectElement).value as Order)}
          >
            {orders.map((one) => (
              <option key={one} value={one}>
                {orderWords[one]}
              </option>
            ))}
          </select>
        </label>
        <label>
          Find{" "}
          <input
            type="search"
            value={text}
            spellcheck={false}
            placeholder="name, number or command"
            aria-invalid={fault !== null}
            onInput={(event) => setText((event.target as HTMLInputElement).value)}
          />
        </label>
        <span class={fault ? "warn" : "muted"}>
          {fault ?? plural(rows.length, "process", "processes")}
        </span>
      </div>
      <ProcessTable rows={rows} of={processes ?? null} />
    </section>
  );
}

// ---- the table ----

function ProcessTable({ rows, of }: { rows: ProcessRow[]; of: Processes | null }) {
  const { facts, capture, model, origin } = use(session)!;
  const { images } = facts.captures[capture];
  const highest = images.reduce((most, { peak_bytes = 0 }) => Math.max(most, peak_bytes), 0);
  const begin = Math.min(...images.map(({ start_ns = 0 }) => start_ns));
  return (
    <table class="grid plain">
      <thead>
        <tr>
          <Th of="c-share" term={{ text: "peak", hint: "the most that its heap held at once" }} />
          <th scope="col" class="c-weight">
            <span class="sr">Bytes</span>
          </th>
          <Th of="c-spark" term={{ text: "over time", hint: "of all processes together" }} />
          <Th of="c-name" term={{ text: "process", hint: "below the one that started it" }} />
          <Th of="c-first number" term={{ text: "started", hint: "since the first one" }} />
          <Th of="c-age number" term={{ text: "ran for", hint: "" }} />
          <Th of="c-count number" term={{ text: "allocations", hint: "resizes included" }} />
        </tr>
      </thead>
      <tbody>
        {rows.map(({ image, depth }) => {
          const isNow = image.index === model.facts.image.index;
          const ran = (image.end_ns ?? 0) - (image.start_ns ?? 0);
          const command = clean(commandOf(image));
          const name = cleanWithin(image.process, 300);
          return (
            <tr key={image.index} class={isNow ? "now" : ""}>
              <td class="c-share">
                <Bar part={image.peak_bytes ?? 0} whole={highest} />
              </td>
              <td class="c-weight number">
                {image.peak_bytes === undefined ? "" : peakText(image)}
              </td>
              <td class="c-spark">{of && <Course of={of} index={image.index} />}</td>
              <td class="c-name" title={command.slice(0, 2000)}>
                <span class="indent" style={{ width: `${Math.min(30, depth) * 16}px` }} />
                {!hasData(origin, facts.captures[capture], image.index) ? (
                  <span class="name">{name}</span>
                ) : (
                  <button
                    type="button"
                    class="opener"
                    aria-current={isNow ? "true" : undefined}
                    onClick={() => go({ process: image.index, pane: "overview", zoom: [] })}
                  >
                    <span class="name">{name}</span>
                  </button>
                )}{" "}
                <span class="muted">{command.slice(0, 300)}</span>
              </td>
              <td class="c-first number">{time((image.start_ns ?? begin) - begin)}</td>
              <td class="c-age number">{ran > 0 ? time(ran) : ""}</td>
              <td class="c-count number">{count(image.allocations ?? 0, EXACT)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const WIDTH = 96;
const HEIGHT = 18;

// Its own height, the time of all. One that ran between two steps is a stroke.
function Course({ of, index }: { of: Processes; index: number }) {
  const held = stepsOf(of, index);
  const most = Math.max(...held);
  const first = of.courses[index]?.[0];
  if (!most && first === undefined) return null;
  const x = (step: number) => ((WIDTH * step) / of.steps).toFixed(1);
  return (
    <svg
      class="spark"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
    >
      {most > 0 ? (
        <path class="spark-kept" d={areaOf(held, null, most, WIDTH, HEIGHT)} />
      ) : (
        <path class="spark-kept" d={`M${x(first!)} 2V${HEIGHT}h1V2Z`} />
      )}
    </svg>
  );
}

// ---- all of them ----

// Between what lies below and itself upon that; each step is as wide as any.
function areaOf(
  held: Float64Array, below: Float64Array | null, most: number, width: number, height: number,
): string {
  const n = held.length;
  const x = (i: number) => ((width * i) / n).toFixed(1);
  const y = (value: number) => (height * (1 - value / most)).toFixed(1);
  const base = (i: number) => below?.[i] ?? 0;
  let text = "";
  for (let i = 0; i < n; i++) text += `${i ? "L" : "M"}${x(i)} ${y(base(i) + held[i])}H${x(i + 1)}`;
  for (let i = n - 1; i >= 0; i--) text += `L${x(i + 1)} ${y(base(i))}H${x(i)}`;
  return `${text}Z`;
}

interface Drawn extends Layer {
  below: Float64Array;
}

function stacked(layers: Layer[], steps: number): Drawn[] {
  let below = new Float64Array(steps);
  return layers.map((layer) => {
    const drawn = { ...layer, below };
    below = below.map((value, i) => value + layer.held[i]);
    return drawn;
  });
}

function endOf(images: OfferedImage[]): number {
  const begin = Math.min(...images.map(({ start_ns = 0 }) => start_ns));
  return Math.max(...images.map(({ end_ns = 0 }) => end_ns)) - begin;
}

const PLOT = { width: 960, height: 96 };

function Together({ images, of }: { images: OfferedImage[]; of: Processes }) {
  const [isSum, setSum] = useState(true);
  const layers = useMemo(() => layersOf(images, of, BANDS_MAX), [images, of]);
  const drawn = useMemo(() => stacked(layers, of.steps), [layers, of]);
  if (!layers.length) return null;
  const together = mostTogether(images, of);
  const highest = ({ held }: Layer) => Math.max(...held);
  const shown = isSum ? drawn : [...drawn].sort((a, b) => highest(b) - highest(a));
  const most = isSum ? together : highest(shown[0]);
  const bandOf = (first: number) => layers.findIndex(({ images: own }) => own[0] === first);
  const fill = ({ images: [first], isOthers }: Layer) =>
    isOthers ? "var(--line)" : `var(${bandColour(bandOf(first))})`;
  const words = `All processes together held at most ${bytes(together, EXACT)} at a look.`;
  return (
    <div class="together">
      <div class="pane-bar">
        <span>{words}</span>
        <span class="switch" role="group" aria-label="Drawn">
          <button type="button" aria-pressed={isSum} onClick={() => setSum(true)}>
            summed
          </button>
          <button type="button" aria-pressed={!isSum} onClick={() => setSum(false)}>
            each by itself
          </button>
        </span>
      </div>
      <svg
        viewBox={`0 0 ${PLOT.width} ${PLOT.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words}
      >
        {shown.map((layer) => (
          <path
            key={layer.images[0]}
            class={isSum ? "" : "alone"}
            style={{ fill: fill(layer), stroke: fill(layer) }}
            d={areaOf(layer.held, isSum ? layer.below : null, most, PLOT.width, PLOT.height)}
          />
        ))}
      </svg>
      <p class="together-axis muted">
        <span>0</span>
        <span>{time(endOf(images))}</span>
      </p>
      <ul class="bands" aria-label="Who held it, by process">
        {layers.map((layer) => (
          <li key={layer.images[0]} class="band">
            <span class="swatch" style={{ background: fill(layer) }} />{" "}
            {layerName(images, layer)} <b>{layerMost(images, layer)}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

// "sort, 50 processes".
function layerName(images: OfferedImage[], { images: own, isOthers }: Layer): string {
  const { process, program } = images[own[0]];
  if (own.length === 1 && !isOthers) return cleanWithin(process, 200);
  const name = isOthers ? "others" : cleanWithin(program, 200);
  return `${name}, ${plural(own.length, "process", "processes")}`;
}

// Of one its peak; of several what they had together when somebody looked.
function layerMost(images: OfferedImage[], { images: own, isOthers, held }: Layer): string {
  const isOne = own.length === 1 && !isOthers;
  return isOne ? peakText(images[own[0]]) : bytes(Math.max(...held), EXACT);
}
