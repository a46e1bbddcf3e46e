// SPDX-License-Identifier: Apache-2.0
//
// Of what kinds the resident memory was: a lane below the curve, on its scale of time and with a
// scale of its own. It is drawn straight between two looks, paler where these are far apart, and
// its numbers are those of a look beside the pointer, or beside the moment selected.

import { computed } from "@preact/signals-core";
import { useMemo } from "preact/hooks";
import type { RssKinds } from "../engine/model.ts";
import { kindEdges, kindsSeen, lookNear, mostOfKinds, nearRuns, type RssKind }
  from "../engine/rss_kinds.ts";
import { timeOf } from "../engine/question.ts";
import { TERMS } from "../engine/terms.ts";
import { bytes, time, EXACT } from "../engine/units.ts";
import { endNs, moment, seenTime } from "./moments.ts";
import { model, question } from "./session.ts";
import { use } from "./signals.ts";
import { state } from "./state.ts";
import { FAR } from "./timeline_bands.tsx";
import { indexAt, type Timeline } from "./timeline_data.ts";

export const HEIGHT = 14; // which the curve has less where there is a lane

const WORDS: Record<RssKind, { text: string; hint: string }> = {
  anonymous: TERMS.rssAnonymous,
  files: TERMS.rssFiles,
  shared: TERMS.rssShared,
  swapped: TERMS.rssSwapped,
};

interface Place {
  left: number; // pixels of the axes beside the plot
  right: number;
  width: number;
  line: Timeline;
  cursor: number | null;
}

export const hasLane = computed(
  () => model.value.rssKinds !== undefined && state.value.rss && question.value.unit === "bytes",
);

export function RssLane(place: Place) {
  const { rssKinds } = use(model);
  if (!use(hasLane) || !rssKinds) return null;
  return (
    <div class="rss-lane">
      <Lane of={rssKinds} {...place} />
      <KindList of={rssKinds} {...place} />
    </div>
  );
}

function Lane({ of, left, right, width }: Place & { of: RssKinds }) {
  const { from, to } = use(seenTime);
  const far = use(endNs) * FAR;
  const kinds = useMemo(
    () => kindsSeen(of).map((kind) => ({ kind, edges: kindEdges(of, kind) })),
    [of],
  );
  const runs = useMemo(() => nearRuns(of, far), [of, far]);
  const most = useMemo(() => mostOfKinds(of), [of]);
  const wide = Math.max(1, width - left - right);
  const x = (i: number) => (((of.ns[i] - from) / (to - from)) * wide).toFixed(1);
  const y = (n: number) => (HEIGHT - (n / most) * HEIGHT).toFixed(1);
  const area = (edges: [number, number][], first: number, last: number) => {
    const all = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const high = all.map((i) => `${x(i)},${y(edges[i][1])}`);
    return [...high, ...all.reverse().map((i) => `${x(i)},${y(edges[i][0])}`)].join(" ");
  };
  return (
    <div class="rss-plot">
      <span class="rss-scale muted" style={{ width: `${left - 8}px` }}>
        {bytes(most, EXACT)}
      </span>
      <svg
        aria-hidden="true"
        width={wide}
        height={HEIGHT}
        style={{ marginLeft: `${left}px` }}
      >
        {kinds.map(({ kind, edges }) => (
          <g key={kind} class={`kind-${kind}`}>
            <polygon class="far" points={area(edges, 0, of.ns.length - 1)} />
            {runs.map(([first, last]) => (
              <polygon key={first} points={area(edges, first, last)} />
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

// Without a pointer over the chart, of the moment selected; of none, the most each ever was.
function KindList({ of, line, cursor }: Place & { of: RssKinds }) {
  const in_ = use(model);
  const at = use(moment);
  const far = use(endNs) * FAR;
  const ns = cursor ?? (at === null ? null : timeOf(in_, at));
  const i = ns === null ? -1 : indexAt(line.ns, ns);
  const look = ns === null ? -1 : lookNear(of, ns, far, line.rss?.[i] ?? null);
  const most = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b), 0);
  const told = ns === null ? most : look < 0 ? null : (values: Float64Array) => values[look];
  const when = look < 0 ? "" : `, as it was at ${time(of.ns[look])}`;
  return (
    <ul class="kinds" aria-label={`Resident memory by kind${when}`}>
      <li class="muted">RSS{ns === null ? " at most" : ""}:</li>
      {kindsSeen(of).map((kind) => (
        <li key={kind} title={`${WORDS[kind].hint}${when}`}>
          <span class={`swatch kind-${kind}`} /> {WORDS[kind].text}{" "}
          {told && <b>{bytes(told(of[kind]), EXACT)}</b>}
        </li>
      ))}
      {!told && <li class="muted">nobody looked at that moment</li>}
    </ul>
  );
}
