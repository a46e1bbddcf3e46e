// SPDX-License-Identifier: Apache-2.0
//
// A source file with what each of its lines weighs under the question, on its own and with what it
// calls. The text comes from the command, and only for files that the capture names; or out of the
// report, which has the lines around the places.

import { useEffect, useRef, useState } from "preact/hooks";
import { shortenPath } from "../engine/names.ts";
import type { Unit } from "../engine/question.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { TERMS } from "../engine/terms.ts";
import { amount, cell, share, type Mark } from "../engine/units.ts";
import { notesOf } from "../engine/verdict.ts";
import { clean } from "../flame/clean.ts";
import { editorLink } from "./graph.tsx";
import { Bar, Refusal, Th, Working } from "./parts.tsx";
import { later } from "./later.ts";
import { inPanes, left, model, question, refused, session } from "./session.ts";
import { weights, wholeWeight } from "./session.ts";
import type { SourceText } from "./load.ts";
import { use } from "./signals.ts";
import { sentence } from "./words.ts";
import { linesInPieces, partsOf, type FileWeights } from "./source_lines.ts";
import { go, state } from "./state.ts";

const FILES_MAX = 500;

const asked = inPanes(["source"], () =>
  ({ of: model.value, view: left.value, weights: weights.value }), null);
const files = later(asked, ({ view, weights }) => linesInPieces(view, weights),
  { isKept: true });

export function SourcePane() {
  const why = use(refused);
  if (why) return <Refusal text={why} />;
  return <Source />;
}

function weightWords({ own, total }: FileWeights, unit: Unit, mark: Mark): string {
  if (own) return `${amount(own, unit, mark)} ${TERMS.self.text}`;
  return `${amount(total, unit, mark)} through it`;
}

function Source() {
  const all = use(files);
  return all ? <File all={all} /> : <Working />;
}

function File({ all }: { all: FileWeights[] }) {
  const of = use(model);
  const path = use(state).source;
  const now = all.find((file) => of.text[file.text] === path) ?? all[0];
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(of, asked);
  if (!now)
    return (
      <p class="nothing">
        {sentence(TERMS.noLines.text)}.{" "}
        {notesOf(of.facts).length
          ? clean(notesOf(of.facts)[0])
          : `${sentence(TERMS.noLines.hint)}.`}
      </p>
    );
  return (
    <section class="pane source" aria-label="Source">
      <label>
        File{" "}
        <select
          value={now.text}
          onChange={(event) =>
            go({ source: of.text[Number((event.target as HTMLSelectElement).value)] })
          }
        >
          {all.slice(0, FILES_MAX).map((file) => (
            <option key={file.text} value={file.text}>
              {clean(shortenPath(of.text[file.text]))} · {weightWords(file, unit, mark)}
            </option>
          ))}
        </select>
      </label>
      <Listing file={now} />
    </section>
  );
}

type Text = ({ of: number } & SourceText) | null; // null: not answered yet

function Listing({ file }: { file: FileWeights }) {
  const { origin, capture } = use(session)!;
  const of = use(model);
  const [answer, setAnswer] = useState<Text>(null);
  useEffect(() => {
    let isWanted = true;
    const keep = (text: SourceText) => {
      if (isWanted) setAnswer({ of: file.text, ...text });
    };
    const fail = (error: Error) => keep({ lines: null, note: error.message });
    origin.source(capture, of, file.text).then(keep, fail);
    return () => {
      isWanted = false;
    };
  }, [file.text, of]);
  const now = answer?.of === file.text ? answer : null;
  return (
    <>
      {now?.note && <p class="muted">{clean(sentence(now.note))}</p>}
      <p class="path">{clean(of.text[file.text])}</p>
      <Lines file={file} lines={now?.lines ?? null} />
    </>
  );
}

// The line to begin with.
function heaviest({ lines }: FileWeights): number {
  let found = 0;
  let most = -1;
  for (const [line, { own, total }] of lines) {
    const weight = own + total / 1e6; // where nothing is its own, what goes through
    if (weight > most) [found, most] = [line, weight];
  }
  return found;
}

function Lines({ file, lines }: { file: FileWeights; lines: SourceText["lines"] }) {
  const all = use(wholeWeight);
  const asked = use(question);
  const { unit } = asked;
  const of = use(model);
  const mark = markOfAnswer(of, asked);
  const path = of.text[file.text];
  const parts = partsOf(file.lines.keys(), lines);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const row = frame.current?.querySelector<HTMLElement>("tr.first");
    if (row) frame.current!.scrollTop = row.offsetTop - frame.current!.clientHeight / 2;
  }, [file.text, lines]);
  const first = heaviest(file);
  return (
    <div class="grid-frame" ref={frame} tabIndex={0} role="region" aria-label="Lines">
      <table class="grid plain code">
        <thead>
          <tr>
            <Th of="c-share" term={TERMS.share} />
            <Th of="c-weight number" term={TERMS.total} />
            <Th of="c-self number" term={TERMS.self} />
            <Th of="c-line number" term={TERMS.line} />
            <Th of="c-code" term={lines ? TERMS.source : TERMS.function} />
          </tr>
        </thead>
        {parts.map((part, i) => (
          <tbody key={i}>
            {part.map((line) => {
              const weight = file.lines.get(line);
              const link = editorLink(path, line);
              return (
                <tr
                  key={line}
                  class={`${weight && lines ? "heavy" : ""} ${line === first ? "first" : ""}`}
                >
                  <td class="c-share number">
                    {weight && (
                      <>
                        <Bar part={weight.total} whole={all} /> {share(weight.total, all, mark)}
                      </>
                    )}
                  </td>
                  <td class="c-weight number">{weight && cell(weight.total, unit, mark)}</td>
                  <td class="c-self number">{weight?.own ? cell(weight.own, unit, mark) : ""}</td>
                  <td class="c-line number">{link ? <a href={link}>{line}</a> : line || "?"}</td>
                  <td class="c-code">
                    <code>{clean(lines ? (lines[line - 1] ?? "…") : (weight?.name ?? ""))}</code>
                  </td>
                </tr>
              );
            })}
          </tbody>
        ))}
      </table>
    </div>
  );
}
