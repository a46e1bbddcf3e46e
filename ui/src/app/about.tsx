// SPDX-License-Identifier: Apache-2.0
//
// How far the numbers can be trusted, and where they come from: completeness, what is missing and
// what to do about it, modules, machine, what recording cost.

import { useMemo } from "preact/hooks";
import { emptyLook, makeView } from "../engine/look.ts";
import type { Facts, Model } from "../engine/model.ts";
import { frameText, placeText } from "../engine/names.ts";
import { pagePlaces } from "../engine/pages.ts";
import { TERMS } from "../engine/terms.ts";
import { bytes, count, EXACT } from "../engine/units.ts";
import { verdict } from "../engine/verdict.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { nameToShow } from "./columns.ts";
import { Fact, Th } from "./parts.tsx";
import { model, session } from "./session.ts";
import { use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { sentence, unbroken } from "./words.ts";

export function AboutPane() {
  const of = use(model);
  return (
    <section class="pane about" aria-label="About this capture">
      <Trust of={of} />
      <Unrecorded facts={of.facts} />
      <Program of={of} />
      <OwnPages of={of} />
      <Modules of={of} />
    </section>
  );
}

// The command's sentence about it, and its notes.
function Trust({ of }: { of: Model }) {
  const { facts } = use(session)!;
  const all = verdict(of, facts.live);
  const how = all.find(({ kind }) => kind === "complete")?.text;
  const notes = all.filter(({ kind }) => kind === "note");
  return (
    <div>
      <h2>Completeness</h2>
      <p>{clean(how ?? `${sentence(TERMS.goesOn.text)}: ${TERMS.goesOn.hint}.`)}</p>
      <ul>
        {notes.map(({ text }, i) => (
          <li key={i} class="warn">
            {clean(text)}
          </li>
        ))}
      </ul>
    </div>
  );
}

// As "tidemark info" lists them.
function Unrecorded({ facts }: { facts: Facts }) {
  if (!facts.unrecorded.length) return null;
  return (
    <div>
      <h2>Not recorded</h2>
      <dl class="unrecorded">
        {facts.unrecorded.map(({ name, reason, way_out, exe, parent }, i) => (
          <div key={i}>
            <dt>
              <b class="name" title={clean(exe)}>
                {cleanWithin(name, 600)}
              </b>{" "}
              {cleanWithin(reason, 600)}
            </dt>
            {way_out && <dd>What to do: {clean(way_out)}</dd>}
            {exe && <dd class="muted">{cleanWithin(exe, 600)}</dd>}
            {parent && <dd class="muted">started by {cleanWithin(parent, 600)}</dd>}
          </div>
        ))}
      </dl>
    </div>
  );
}

// The rows of "tidemark info".
function Program({ of: { facts } }: { of: Model }) {
  const { capture, image, info } = facts;
  return (
    <div>
      <h2>Program</h2>
      <dl class="facts">
        <Fact name="capture">{clean(capture.file)}</Fact>
        <Fact name="command">
          {clean(image.command.join(" ").slice(0, 4000).replace(/\s+/g, " "))}
        </Fact>
        {(image.pid > 0 || image.merged) && (
          <Fact name="process">{image.pid || "several, merged"}</Fact>
        )}
        {info.map(({ label, text }) => (
          <Fact key={label} name={label}>
            {cleanWithin(text, 4000)}
          </Fact>
        ))}
      </dl>
    </div>
  );
}

const PLACES_MAX = 20;

function OwnPages({ of }: { of: Model }) {
  const places = useMemo(() => pagePlaces(makeView(of, emptyLook)), [of]);
  if (!places.length) return null;
  return (
    <div>
      <h2>Who mapped it</h2>
      <table class="grid plain">
        <thead>
          <tr>
            <Th of="c-name" term={TERMS.function} />
            <Th of="c-live number" term={TERMS.atPeak} />
            <Th of="c-live number" term={TERMS.atEnd} />
            <Th of="c-count number" term={TERMS.mappings} />
            <Th of="c-spark" term={TERMS.overTime} />
          </tr>
        </thead>
        <tbody>
          {places.slice(0, PLACES_MAX).map((place) => {
            const name = cleanWithin(frameText(of, place.frame), 600);
            const where = clean(placeText(of, place.frame));
            return (
              <tr key={place.frame}>
                <td class="c-name" title={`${name}\n${where}`}>
                  <span class="name">{nameToShow(of, place.frame)}</span>{" "}
                  <span class="muted">{where}</span>
                </td>
                <td class="c-live number">{bytes(place.peakBytes, EXACT)}</td>
                <td class="c-live number">{bytes(place.liveBytes, EXACT)}</td>
                <td class="c-count number">{count(place.maps, EXACT)}</td>
                <td class="c-spark">
                  <Spark model={of} sites={place.sites} unit="bytes" />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <Grown of={of} />
    </div>
  );
}

function Grown({ of }: { of: Model }) {
  const { grown } = of.facts.residence;
  if (!grown.length) return null;
  return (
    <>
      <h2>How it grew</h2>
      <ul class="paths grown">
        {grown.map(({ words }, i) => (
          <li key={i}>{unbroken(clean(words))}</li>
        ))}
      </ul>
    </>
  );
}

function Modules({ of }: { of: Model }) {
  const paths = Array.from(of.modules, (text) => of.text[text]).filter(Boolean);
  return (
    <div>
      <h2>Modules</h2>
      <ul class="paths">
        {paths.map((path, i) => (
          <li key={i}>{clean(path)}</li>
        ))}
      </ul>
    </div>
  );
}
