// SPDX-License-Identifier: Apache-2.0
//
// What changed between two captures or two moments: totals, a graph as wide as what moved, and the
// places that were added, went, grew or shrank.

import { useMemo } from "preact/hooks";
import { CHANGES, DIFF_GROUPS } from "../engine/diff.ts";
import type { Change, Diff, DiffGroup, DiffPlace } from "../engine/diff.ts";
import { comparedWords, diffNotes, rowsWords, unchangedWords } from "../engine/diff_words.ts";
import type { Model } from "../engine/model.ts";
import { moduleName, NONE, placeText } from "../engine/names.ts";
import { snapshotOfKind, timeOf, type Unit } from "../engine/question.ts";
import type { Tree } from "../engine/tree.ts";
import { boundOfAnswer, markOfAnswer, markOfTwo } from "../engine/exactness.ts";
import { amount, count, EXACT } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { Flame } from "../flame/flame.tsx";
import { nameToShow } from "./columns.ts";
import { fault, found, groupFault, kind, places, sides, total, tree } from "./comparison.ts";
import type { Side, Sides } from "./comparison.ts";
import { editorLink, heightOf, onMenu } from "./graph.tsx";
import { Refusal, Th } from "./parts.tsx";
import { model } from "./session.ts";
import { use } from "./signals.ts";
import { go, settle, state } from "./state.ts";
import { ROW } from "./table.tsx";
import { useRowsInSight } from "./virtual.ts";
import { cell, changeWords, groupWords, momentWords, plural } from "./words.ts";
import { programName } from "./words.ts";

export function DiffPane() {
  const of = use(sides);
  const why = use(fault);
  if (!of) return <Invitation />;
  if (why) return <Refusal text={why} />;
  return <Comparison of={of} />;
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

function sideWords({ model: of, question }: Side, isCapture: boolean): string {
  return isCapture
    ? `${of.facts.capture.file || programName(of.facts.image)}`
    : momentWords(of, question.to ?? -1);
}

const sideMark = (side: Side, unit: Unit) => markOfAnswer(side.model, { ...side.question, unit });

function Comparison({ of }: { of: Sides }) {
  const { before, after, areCaptures } = of;
  const sums = use(total);
  const diff = use(places);
  const made = use(tree);
  const why = use(groupFault);
  const { unit } = after.question;
  if (!sums || !made) return null; // the pane may still be there for a moment
  const [then, next] = [sums.before[unit], sums.after[unit]];
  const words = sentence(comparedWords(after.model, after.question));
  const marks = [before, after].map((side) => markOfAnswer(side.model, side.question));
  const bounds = [before, after].map((side, i) =>
    boundOfAnswer(side.model, side.question, i ? next : then));
  return (
    <section class="pane diff" aria-label="Compare">
      <p class="diff-total">
        <span>{words}: </span>
        <span class="muted">{clean(sideWords(before, areCaptures))}</span>{" "}
        <b>{amount(then, unit, marks[0])}</b>
        {bounds[0]} →{" "}
        <span class="muted">{clean(sideWords(after, areCaptures))}</span>{" "}
        <b>{amount(next, unit, marks[1])}</b>
        {bounds[1]}{" "}
        <b class={next > then ? "more" : "less"}>
          {changeWords(next - then, unit, markOfTwo(marks[0], marks[1]))}
        </b>
        {!areCaptures && (
          <button type="button" class="plain" onClick={() => go({ base: "", pane: "overview" })}>
            Stop comparing
          </button>
        )}
      </p>
      {areCaptures && <Notes of={of} />}
      {areCaptures && <Gathered of={of} />}
      <DiffGraph of={of} made={made} />
      {why && (
        <>
          <div class="pane-bar">
            <DiffGroupSwitch />
          </div>
          <Refusal text={why} way={{ words: "Group by function", step: { group: "place" } }} />
        </>
      )}
      {diff && <DiffTable diff={diff} of={of} />}
    </section>
  );
}

const NOTES_MAX = 3;

// Of what the command tells, too, and why places cannot be known again.
function Notes({ of: { before, after } }: { of: Sides }) {
  const notes = diffNotes(before.model, after.model).map((note) => clean(note));
  const more = notes.length - NOTES_MAX;
  if (more > 0) notes.splice(NOTES_MAX, more, `and ${plural(more, "note")} more: see About`);
  return (
    <>
      {notes.map((note, i) => (
        <p key={i} class="warning" role="note">
          ⚠ {note}
        </p>
      ))}
    </>
  );
}

// What a file of this size leaves open.
function Gathered({ of }: { of: Sides }) {
  const facts = [of.before.model.facts, of.after.model.facts];
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

function DiffGraph({ of: { before, after }, made }: { of: Sides; made: Tree }) {
  const { flip, zoom } = use(state);
  const { unit } = after.question;
  const views = useMemo(() => [after.view, before.view], [after.view, before.view]);
  return (
    <div class="graph" style={heightOf(made)}>
      <Flame
        tree={made}
        views={views}
        unit={unit}
        mark={markOfTwo(sideMark(before, unit), sideMark(after, unit))}
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

const signs: Record<Change, string> = { added: "+", gone: "−", grown: "▲", shrunk: "▼", same: "=" };

function placeName(place: DiffPlace, after: Model, was: Model): { name: string; where: string } {
  if (place.label !== null) return { name: cleanWithin(place.label, 600), where: "" };
  if (place.kind === "lost") return { name: "(stack not recorded)", where: "" };
  const isAfter = place.afterFrame !== NONE;
  const of = isAfter ? after : was;
  const frame = isAfter ? place.afterFrame : place.beforeFrame;
  if (frame === NONE) return { name: of.facts.diff.no_frame, where: "" };
  if (place.kind === "module")
    return { name: of.facts.diff.no_names, where: `in ${clean(moduleName(of, frame))}` };
  return { name: nameToShow(of, frame), where: clean(placeText(of, frame)) };
}

const sentence = (words: string) => words[0].toUpperCase() + words.slice(1);

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
            {groupWords[group].one}
          </option>
        ))}
      </select>
    </label>
  );
}

function DiffTable({ diff, of }: { diff: Diff; of: Sides }) {
  const group = use(kind);
  const { unit } = of.after.question;
  const [then, next] = [sideMark(of.before, unit), sideMark(of.after, unit)];
  const changed = (in_: Unit) => markOfTwo(sideMark(of.before, in_), sideMark(of.after, in_));
  const held = cell(diff.total.after[unit], unit, next);
  const { model: now, question } = of.after;
  const nothing = unchangedWords(now, question, group, held, diff.places.length);
  const other = unit === "bytes" ? "blocks" : "bytes";
  const isOtherKnown = ![of.before, of.after].some(({ model: side }) =>
    other === "blocks" && side.facts.image.lacks.includes("blocks"));
  const { change: only } = use(state);
  const setOnly = (change: Change | null) => settle({ change });
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
              {signs[change]} {change} {count(diff.counts[change], EXACT)}
              {change !== "same" && diff.counts[change] > 0 && (
                <span class="muted"> {changeWords(diff.sums[change], unit, changed(unit))}</span>
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
        aria-label={`Changed ${group}s`}
      >
        <table class="grid" aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              <Th of="c-change">Change</Th>
              <Th of="c-by number">By</Th>
              <Th of="c-weight number">Before</Th>
              <Th of="c-weight number">After</Th>
              <Th of="c-name">{sentence(group)}</Th>
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
              const { name, where } = placeName(place, of.after.model, of.before.model);
              return (
                <tr key={window.first + i} aria-rowindex={window.first + i + 2}>
                  <td class="c-change">{signs[place.change]} {place.change}</td>
                  <td class={`c-by number ${place.by > 0 ? "more" : place.by < 0 ? "less" : ""}`}>
                    {changeWords(place.by, unit, changed(unit)).replace(/ blocks?$/, "")}
                  </td>
                  <td class="c-weight number">{cell(place.before[unit], unit, then)}</td>
                  <td class="c-weight number">{cell(place.after[unit], unit, next)}</td>
                  <td class="c-name" title={`${name.slice(0, 2000)}\n${where}`}>
                    <span class="name">{name}</span> <span class="muted">{where}</span>
                  </td>
                  <td class="c-count number">
                    {isOtherKnown
                      ? changeWords(
                          place.after[other] - place.before[other],
                          other,
                          changed(other),
                        ).replace(/ blocks?$/, "")
                      : "unknown"}
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
      {!rows.length && (
        <p class="nothing">{only ? `None is ${only}.` : `${sentence(nothing)}.`}</p>
      )}
      <p class="muted">{rowsWords(diff.places.length, group)} compared</p>
    </>
  );
}
