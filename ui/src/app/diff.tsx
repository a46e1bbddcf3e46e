// SPDX-License-Identifier: Apache-2.0
//
// What changed between two captures or two moments: totals, a graph as wide as what moved, and the
// places that were added, went, grew or shrank.

import { computed } from "@preact/signals-core";
import { useMemo, useState } from "preact/hooks";
import { CHANGES, DIFF_GROUPS, diffPlaces } from "../engine/diff.ts";
import type { Change, Diff, DiffGroup, DiffPlace } from "../engine/diff.ts";
import { makeView, type View } from "../engine/look.ts";
import type { Facts, Model } from "../engine/model.ts";
import { NONE, placeText } from "../engine/names.ts";
import {
  nearestSnapshot,
  refusal,
  snapshotOfKind,
  timeOf,
  weigh,
  type Question,
} from "../engine/question.ts";
import { search } from "../engine/search.ts";
import { buildDiffTree, type Tree } from "../engine/tree.ts";
import { amount, count } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { Flame } from "../flame/flame.tsx";
import { nameToShow } from "./columns.ts";
import { editorLink, heightOf, onMenu } from "./graph.tsx";
import { Refusal, Th } from "./parts.tsx";
import {
  look,
  lookFault,
  model,
  question,
  searchFault,
  searchText,
  session,
  shape,
  view,
  weights,
} from "./session.ts";
import { use } from "./signals.ts";
import { go, state } from "./state.ts";
import { ROW } from "./table.tsx";
import { useRowsInSight } from "./virtual.ts";
import { cell, changeWords, groupWords, momentWords, plural } from "./words.ts";
import { programName, questionWords } from "./words.ts";

interface Before {
  model: Model;
  view: View;
  question: Question;
}

const base = computed(() => {
  const asked = state.value.base;
  return asked === "" && session.value!.other ? "capture" : asked;
});

const before = computed<Before | null>(() => {
  const from = base.value;
  if (from === "") return null;
  if (from === "capture") {
    const { other } = session.value!;
    if (!other) return null;
    const asked = { ...question.value, from: null, to: null };
    const filtered = lookFault.value ? view.value.look : look.value;
    return { model: other, view: makeView(other, filtered), question: asked };
  }
  const { unit } = question.value;
  const to = nearestSnapshot(model.value, from);
  return {
    model: model.value,
    view: view.value,
    question: { measure: "live", unit, from: null, to },
  };
});

// Two moments are compared by what was live at them.
const after = computed<Question>(() => {
  const asked = question.value;
  if (base.value === "capture") return { ...asked, from: null, to: null };
  const last = model.value.snapshots.count - 1;
  const peak = asked.measure === "peak" ? snapshotOfKind(model.value, "peak") : null;
  const to = peak ?? asked.to ?? last;
  return { measure: "live", unit: asked.unit, from: null, to };
});

const fault = computed(() =>
  before.value
    ? (refusal(before.value.model, before.value.question) ?? refusal(model.value, after.value))
    : null,
);

// As the table is grouped, where that goes with a comparison.
const kind = computed<DiffGroup>(() => {
  const { group } = state.value;
  return DIFF_GROUPS.find((one) => one === group) ?? "place";
});

// Nothing, once there is nothing to compare with: the pane may still be there for a moment.
const places = computed<Diff | null>(() => {
  const was = before.value;
  if (!was || fault.value) return null;
  const now = { view: view.value, question: after.value };
  return diffPlaces({ view: was.view, question: was.question }, now, kind.value);
});

const tree = computed<Tree | null>(() => {
  const was = before.value;
  if (!was || fault.value) return null;
  const isOne = was.model === model.value;
  const now = isOne ? weigh(model.value, after.value) : weights.value;
  const then = weigh(was.model, was.question);
  return buildDiffTree(was.view, then, view.value, now, shape.value);
});

const found = computed(() =>
  searchText.value && !searchFault.value && tree.value
    ? search(tree.value, [view.value, before.value!.view], searchText.value)
    : null,
);

export function DiffPane() {
  const was = use(before);
  const why = use(fault);
  if (!was) return <Invitation />;
  if (why) return <Refusal text={why} />;
  return <Comparison was={was} />;
}

function Invitation() {
  const of = use(model);
  const peak = snapshotOfKind(of, "peak");
  return (
    <section class="pane" aria-label="Compare">
      <p>
        Select a range on the timeline and compare its ends, or select a moment and press B to
        compare others with it. Two captures: <code>tidemark view OLD NEW</code>.
      </p>
      {peak !== null && (
        <button
          type="button"
          onClick={() => go({ base: timeOf(of, peak), measure: "live", at: null })}
        >
          Compare the end with the peak
        </button>
      )}
    </section>
  );
}

function sideWords(of: Model, asked: Question, isCapture: boolean): string {
  return isCapture
    ? `${of.facts.capture.file || programName(of.facts.image)}`
    : momentWords(of, asked.to ?? -1);
}

function Comparison({ was }: { was: Before }) {
  const of = use(model);
  const diff = use(places);
  const now = use(after);
  const { unit } = now;
  const isCapture = use(base) === "capture";
  const made = use(tree);
  if (!diff || !made) return null;
  const [then, next] = [diff.total.before[unit], diff.total.after[unit]];
  return (
    <section class="pane diff" aria-label="Compare">
      <p class="diff-total">
        {isCapture && (
          <span>{questionWords(of, now).replace(/ at .*, the peak$/, " at the peak")}: </span>
        )}
        <span class="muted">{clean(sideWords(was.model, was.question, isCapture))}</span>{" "}
        <b>{amount(then, unit)}</b> →{" "}
        <span class="muted">{clean(sideWords(of, now, isCapture))}</span>{" "}
        <b>{amount(next, unit)}</b>{" "}
        <b class={next > then ? "more" : "less"}>{changeWords(next - then, unit)}</b>
        {!isCapture && (
          <button type="button" class="plain" onClick={() => go({ base: "", pane: "overview" })}>
            Stop comparing
          </button>
        )}
      </p>
      {isCapture && <Gathered facts={[was.model.facts, of.facts]} />}
      <DiffGraph was={was} made={made} />
      <DiffTable diff={diff} was={was.model} unit={unit} />
    </section>
  );
}

// What a file of this size leaves open.
function Gathered({ facts }: { facts: Facts[] }) {
  const pruned = facts.flatMap((one) => one.pruned ?? []);
  if (!pruned.length) return null;
  if (pruned.every((one) => one.by_place))
    return (
      <p class="muted" role="note">
        To keep this file small the callers of small stacks are left out, “(other stacks)” standing
        for them; every function is exact. “tidemark view” compares all.
      </p>
    );
  return (
    <p class="warning" role="note">
      ⚠ Stacks of a file this size are gathered into “(other stacks)”, on each side by itself:
      totals are exact, changes of single functions may lie in there. “tidemark view” compares all.
    </p>
  );
}

function DiffGraph({ was, made }: { was: Before; made: Tree }) {
  const { flip, zoom } = use(state);
  const shown = use(view);
  const { unit } = use(after);
  return (
    <div class="graph" style={heightOf(made)}>
      <Flame
        tree={made}
        views={useMemo(() => [shown, was.view], [shown, was.view])}
        unit={unit}
        whole={made.width(0)}
        label="What changed: a box is as wide as growth and shrinking together"
        flipped={flip}
        zoom={zoom}
        matches={use(found)?.nodes ?? null}
        onZoom={(path) => go({ zoom: path })}
        onMenu={onMenu}
        editorLink={editorLink}
      />
    </div>
  );
}

const marks: Record<Change, string> = {
  added: "+ added",
  gone: "− gone",
  grown: "▲ grown",
  shrunk: "▼ shrunk",
  same: "= same",
};

function placeName(place: DiffPlace, after: Model, was: Model): { name: string; where: string } {
  if (place.label !== null) return { name: cleanWithin(place.label, 600), where: "" };
  if (place.kind === "lost") return { name: "(stack not recorded)", where: "" };
  const isAfter = place.afterFrame !== NONE;
  const of = isAfter ? after : was;
  const frame = isAfter ? place.afterFrame : place.beforeFrame;
  if (frame === NONE) return { name: "(no frame to show)", where: "" };
  return { name: nameToShow(of, frame), where: clean(placeText(of, frame)) };
}

// A place is a function here, whatever its lines.
const wordOf = (group: DiffGroup) => groupWords[group === "place" ? "function" : group];

function DiffGroupSwitch() {
  const now = use(kind);
  const change = (event: Event) => {
    const group = (event.target as HTMLSelectElement).value as DiffGroup;
    go({ group, sort: null, up: false });
  };
  return (
    <label>
      Group by{" "}
      <select value={now} onChange={change}>
        {DIFF_GROUPS.map((group) => (
          <option key={group} value={group}>
            {wordOf(group).one}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TableProps {
  diff: Diff;
  was: Model;
  unit: "bytes" | "blocks";
}

function DiffTable({ diff, was, unit }: TableProps) {
  const of = use(model);
  const word = wordOf(use(kind));
  const [only, setOnly] = useState<Change | null>(null);
  const rows = diff.places.filter(({ change }) => (only ? change === only : change !== "same"));
  const { frame, window } = useRowsInSight(rows.length, ROW);
  return (
    <>
      <div class="pane-bar">
        <DiffGroupSwitch />
        <div class="switch" role="group" aria-label="Changes">
          <button type="button" aria-pressed={only === null} onClick={() => setOnly(null)}>
            all changes
          </button>
          {CHANGES.map((change) => (
            <button
              key={change}
              type="button"
              aria-pressed={only === change}
              disabled={!diff.counts[change]}
              onClick={() => setOnly(change)}
            >
              {marks[change]} {count(diff.counts[change])}
              {change !== "same" && diff.counts[change] > 0 && (
                <span class="muted"> {changeWords(diff.sums[change], unit)}</span>
              )}
            </button>
          ))}
        </div>
      </div>
      <div
        class="grid-frame"
        ref={frame}
        tabIndex={0}
        role="region"
        aria-label={`Changed ${word.many}`}
      >
        <table class="grid" aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              <Th of="c-change">Change</Th>
              <Th of="c-by number">By</Th>
              <Th of="c-weight number">Before</Th>
              <Th of="c-weight number">After</Th>
              <Th of="c-name">{word.one[0].toUpperCase() + word.one.slice(1)}</Th>
              <th scope="col" class="c-count number">
                {unit === "bytes" ? "Blocks" : "Bytes"}
              </th>
            </tr>
          </thead>
          <tbody>
            {window.first > 0 && (
              <tr aria-hidden="true" class="gap" style={{ height: `${window.first * ROW}px` }} />
            )}
            {rows.slice(window.first, window.past).map((place, i) => {
              const { name, where } = placeName(place, of, was);
              const other = unit === "bytes" ? "blocks" : "bytes";
              return (
                <tr key={window.first + i} aria-rowindex={window.first + i + 2}>
                  <td class="c-change">{marks[place.change]}</td>
                  <td class={`c-by number ${place.by > 0 ? "more" : place.by < 0 ? "less" : ""}`}>
                    {changeWords(place.by, unit).replace(/ blocks?$/, "")}
                  </td>
                  <td class="c-weight number">{cell(place.before[unit], unit)}</td>
                  <td class="c-weight number">{cell(place.after[unit], unit)}</td>
                  <td class="c-name" title={`${name.slice(0, 2000)}\n${where}`}>
                    <span class="name">{name}</span> <span class="muted">{where}</span>
                  </td>
                  <td class="c-count number">
                    {changeWords(place.after[other] - place.before[other], other).replace(
                      / blocks?$/,
                      "",
                    )}
                  </td>
                </tr>
              );
            })}
            {window.past < rows.length && (
              <tr
                aria-hidden="true"
                class="gap"
                style={{ height: `${(rows.length - window.past) * ROW}px` }}
              />
            )}
          </tbody>
        </table>
      </div>
      {!rows.length && <p class="nothing">No place changed.</p>}
      <p class="muted">{plural(diff.places.length, word.one, word.many)} compared</p>
    </>
  );
}
