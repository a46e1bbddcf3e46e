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
import { snapshotOfKind, START, timeOf, type Unit } from "../engine/question.ts";
import type { Tree } from "../engine/tree.ts";
import { boundOfAnswer, markOfAnswer, markOfTwo } from "../engine/exactness.ts";
import { GROUP_TERMS, TERMS } from "../engine/terms.ts";
import { amount, cell, change, changeCell, count, EXACT, sideCell } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { Flame } from "../flame/flame.tsx";
import { nameToShow } from "./columns.ts";
import { fault, found, foundPlace, groupFault, kind } from "./comparison.ts";
import { places, sides, total, tree } from "./comparison.ts";
import type { Side, Sides } from "./comparison.ts";
import { Marked } from "./found.tsx";
import { editorLink, heightOf, onMenu, OrderChoice } from "./graph.tsx";
import { Refusal, Th, Working } from "./parts.tsx";
import { model, searchRegex, session } from "./session.ts";
import { use } from "./signals.ts";
import { go, moveSpan, settle, state } from "./state.ts";
import { ROW } from "./table.tsx";
import { useRowsInSight } from "./virtual.ts";
import { momentWords, plural, programName, sentence } from "./words.ts";

export function DiffPane() {
  const of = use(sides);
  const why = use(fault);
  if (!of) return <Invitation />;
  if (why) return <Refusal text={why} />;
  return <Comparison of={of} />;
}

function Invitation() {
  return (
    <section class="pane" aria-label="Compare">
      <p>
        There is one moment to look at, and no other to compare it with. Two captures:{" "}
        <code>tidemark view OLD NEW</code>.
      </p>
    </section>
  );
}

// Which two moments: those that any run has, and how to choose others.
function Moments({ of: { before, after } }: { of: Sides }) {
  const of = use(model);
  const peak = snapshotOfKind(of, "peak");
  const last = of.snapshots.count - 1;
  const whole = { at: null, from: null, to: null, versus: null };
  const choice = (words: string, from: number, to: number) => ({ words, from, to });
  const choices = [
    ...(peak === null ? [] : [choice("start to peak", START, peak)]),
    ...(peak === null ? [] : [choice("peak to end", peak, last)]),
    choice("start to end", START, last),
  ];
  return (
    <span class="switch" role="group" aria-label="Moments">
      {choices.map(({ words, from, to }) => (
        <button
          key={words}
          type="button"
          aria-pressed={before.question.to === from && after.question.to === to}
          title="Any others: drag a range on the timeline, or press B at a moment"
          onClick={() =>
            go({ ...whole, base: timeOf(of, from), measure: to === peak ? "peak" : "live" })
          }
        >
          {words}
        </button>
      ))}
    </span>
  );
}

function sideWords({ model: of, question, view }: Side, both: Sides): string {
  if (both.areThreads) return view.look.thread ?? "";
  return both.areCaptures
    ? `${of.facts.capture.file || programName(of.facts.image)}`
    : momentWords(of, question.to ?? -1);
}

const sideMark = (side: Side, unit: Unit) => markOfAnswer(side.model, { ...side.question, unit });

function Comparison({ of }: { of: Sides }) {
  const { before, after, areCaptures, areThreads } = of;
  const sums = use(total);
  const diff = use(places);
  const made = use(tree);
  const why = use(groupFault);
  const { unit } = after.question;
  if (!sums || !made) return <Working />;
  const [then, next] = [sums.before[unit], sums.after[unit]];
  const words = sentence(comparedWords(after.model, after.question));
  const marks = [before, after].map((side) => markOfAnswer(side.model, side.question));
  const bounds = [before, after].map((side, i) =>
    boundOfAnswer(side.model, side.question, i ? next : then));
  return (
    <section class="pane diff" aria-label="Compare">
      <p class="diff-total">
        <span>{words}: </span>
        <span class="muted">{clean(sideWords(before, of))}</span>{" "}
        <b>{amount(then, unit, marks[0])}</b>
        {bounds[0]} →{" "}
        <span class="muted">{clean(sideWords(after, of))}</span>{" "}
        <b>{amount(next, unit, marks[1])}</b>
        {bounds[1]}{" "}
        <b class={next > then ? "more" : "less"}>
          {next === then
            ? TERMS.unchanged.text
            : change(next - then, unit, markOfTwo(marks[0], marks[1]))}
        </b>
        {!areCaptures && (
          <button
            type="button"
            class="plain"
            onClick={() =>
              go({ base: "", versus: null, pane: areThreads ? "threads" : "overview" })
            }
          >
            Stop comparing
          </button>
        )}
      </p>
      {!areCaptures && !areThreads && <Moments of={of} />}
      {areCaptures && <Notes of={of} />}
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
  const { facts, capture, model: shown } = use(session)!;
  const ofBoth = facts.captures[capture]?.compared?.[shown.facts.image.index] ?? [];
  const notes = diffNotes(ofBoth, before.model, after.model).map((note) => clean(note));
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

function DiffGraph({ of: { before, after }, made }: { of: Sides; made: Tree }) {
  const { flip, zoom, span } = use(state);
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
        span={span}
        onZoom={(path) => go({ zoom: path })}
        onSpan={(next) => moveSpan("span", next)}
        onMenu={onMenu}
        editorLink={editorLink}
      />
      <div class="colours">
        <OrderChoice />
      </div>
    </div>
  );
}

function placeName(place: DiffPlace, after: Model, was: Model): { name: string; where: string } {
  if (place.label !== null) return { name: cleanWithin(place.label, 600), where: "" };
  if (place.kind === "lost") return { name: TERMS.stackLost.text, where: "" };
  const isAfter = place.afterFrame !== NONE;
  const of = isAfter ? after : was;
  const frame = isAfter ? place.afterFrame : place.beforeFrame;
  if (frame === NONE) return { name: TERMS.noFrame.text, where: "" };
  if (place.kind === "module")
    return { name: TERMS.noNames.text, where: `in ${clean(moduleName(of, frame))}` };
  return { name: nameToShow(of, frame), where: clean(placeText(of, frame)) };
}

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
            {GROUP_TERMS[group].word}
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
  const setOnly = (kind: Change | null) => settle({ change: kind });
  const isFound = use(foundPlace);
  const isSearch = use(searchRegex) !== null;
  const rows = diff.places.filter((place) =>
    (only ? place.change === only : place.change !== "same") && isFound(place));
  const { frame, window } = useRowsInSight(rows.length, ROW);
  return (
    <>
      <div class="pane-bar">
        <DiffGroupSwitch />
        <div class="switch" role="group" aria-label="Changes">
          <button type="button" aria-pressed={only === null} onClick={() => setOnly(null)}>
            all changes
          </button>
          {CHANGES.map((kind) => (
            <button
              key={kind}
              type="button"
              aria-pressed={only === kind}
              disabled={!diff.counts[kind]}
              onClick={() => setOnly(kind)}
            >
              {kind} {count(diff.counts[kind], EXACT)}
              {kind !== "same" && diff.counts[kind] > 0 && (
                <span class="muted"> {change(diff.sums[kind], unit, changed(unit))}</span>
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
              <Th of="c-change" term={TERMS.kind} />
              <Th of="c-by number" term={TERMS.change} />
              <Th of="c-weight number" term={TERMS.before} />
              <Th of="c-weight number" term={TERMS.after} />
              <Th of="c-name" term={{ text: GROUP_TERMS[group].word, hint: "" }} />
              <Th of="c-count number" term={TERMS[other]} />
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
                  <td class="c-change">{place.change}</td>
                  <td class={`c-by number ${place.by > 0 ? "more" : place.by < 0 ? "less" : ""}`}>
                    {changeCell(place.by, unit, changed(unit))}
                  </td>
                  <td class="c-weight number">{sideCell(place.before[unit], unit, then)}</td>
                  <td class="c-weight number">{sideCell(place.after[unit], unit, next)}</td>
                  <td class="c-name" title={`${name.slice(0, 2000)}\n${where}`}>
                    <span class="name">
                      <Marked text={name} />
                    </span>{" "}
                    <span class="muted">
                      <Marked text={where} />
                    </span>
                  </td>
                  <td class="c-count number">
                    {isOtherKnown
                      ? changeCell(
                          place.after[other] - place.before[other],
                          other,
                          changed(other),
                        )
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
        <p class="nothing">
          {isSearch
            ? "Nothing that changed has a match."
            : only
              ? `None is ${only}.`
              : `${sentence(nothing)}.`}
        </p>
      )}
      <p class="muted">{rowsWords(diff.places.length, group)} compared</p>
    </>
  );
}
