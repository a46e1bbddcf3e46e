// SPDX-License-Identifier: Apache-2.0
//
// How far the numbers can be trusted, and where they come from: completeness, what is missing and
// what to do about it, modules, machine, what recording cost.

import { useMemo } from "preact/hooks";
import { emptyLook, makeView } from "../engine/look.ts";
import type { Facts, Figure, Model } from "../engine/model.ts";
import { frameText, placeText } from "../engine/names.ts";
import { pagePlaces } from "../engine/pages.ts";
import { boundWords, markFor } from "../engine/exactness.ts";
import { bytes, count, EXACT } from "../engine/units.ts";
import { titleOf, verdict } from "../engine/verdict.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { nameToShow } from "./columns.ts";
import { Fact, Th } from "./parts.tsx";
import { model, session } from "./session.ts";
import { use } from "./signals.ts";
import { cell, plural } from "./words.ts";

export function AboutPane() {
  const of = use(model);
  return (
    <section class="pane about" aria-label="About this capture">
      <Trust of={of} />
      <Unrecorded facts={of.facts} />
      <Program of={of} />
      <Numbers facts={of.facts} />
      <OwnPages of={of} />
      <Modules of={of} />
    </section>
  );
}

const lackWords: Record<string, string> = {
  peak: "what was held at the peak",
  live: "what was held at the end",
  total: "what was allocated in all",
  blocks: "numbers of blocks",
  temporary: "what was temporary",
  lifetimes: "how long blocks lived",
  lifetime_histogram: "classes of lifetimes",
  size_histogram: "classes of sizes",
  resizes: "resizes",
  threads: "which thread did what",
  times: "when a place allocated",
  clock: "how long anything took",
};

// The command's sentence about it, and its notes.
function Trust({ of }: { of: Model }) {
  const { facts } = use(session)!;
  const { image } = of.facts;
  const all = verdict(of, facts.live);
  const how = all.find(({ kind }) => kind === "complete")?.text;
  const notes = all.filter(({ kind }) => kind === "note");
  return (
    <div>
      <h2>Completeness</h2>
      <p>{clean(how ?? "The run goes on: how complete it is will be known at its end.")}</p>
      <ul>
        {notes.map(({ text }, i) => (
          <li key={i} class="warn">
            {clean(text)}
          </li>
        ))}
        {image.lacks.length > 0 && (
          <li>
            {clean(image.origin ?? "This capture")} does not tell:{" "}
            {image.lacks.map((word) => lackWords[word] ?? word.replaceAll("_", " ")).join("; ")}.
          </li>
        )}
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

function Program({ of }: { of: Model }) {
  const { facts } = of;
  const { live } = use(session)!.facts;
  const { capture, image, host } = facts;
  const started = host.start_realtime_ns / 1e6;
  return (
    <div>
      <h2>Program</h2>
      <dl class="facts">
        <Fact name="Capture">{clean(capture.file)}</Fact>
        {image.origin && <Fact name="From">{clean(image.origin)}</Fact>}
        <Fact name="Program">{clean(image.exe)}</Fact>
        <Fact name="Command">
          {clean(image.command.join(" ").slice(0, 4000).replace(/\s+/g, " "))}
        </Fact>
        {(image.pid > 0 || image.merged) && (
          <Fact name="Process">{image.pid || "several, merged"}</Fact>
        )}
        <Fact name="Run">{clean(titleOf(of, live).join(" · "))}</Fact>
        {started > 0 && <Fact name="Started">{new Date(started).toISOString()}</Fact>}
        {image.threads > 0 && (
          <Fact name="Threads">
            {count(image.threads, EXACT)}, at most {count(image.max_live_threads, EXACT)} at once
          </Fact>
        )}
        {!image.origin && (
          <Fact name="Allocator">{clean(image.allocator) || "of the C library"}</Fact>
        )}
        {(host.name || host.kernel) && (
          <Fact name="Machine">
            {clean([host.name, host.kernel, capture.arch].filter(Boolean).join(", "))}
          </Fact>
        )}
        <Fact name="Tidemark">{clean(facts.tool_version)}</Fact>
      </dl>
    </div>
  );
}

const totalWords: [string, string][] = [
  ["peak_bytes", "Peak of the heap"],
  ["rss_at_peak_bytes", "RSS at the peak"],
  ["max_rss_bytes", "Highest RSS"],
  ["recorder_rss_bytes", "The recorder's own memory"],
  ["live_bytes", "Never freed"],
  ["live_blocks", "Blocks never freed"],
  ["allocations", "Allocations"],
  ["allocated_bytes", "Allocated"],
  ["frees", "Frees"],
  ["freed_bytes", "Freed"],
  ["resizes", "Resizes"],
  ["moved", "Resizes that moved"],
  ["temporary", "Temporary blocks"],
  ["temporary_bytes", "Temporary bytes"],
  ["foreign_frees", "Freed by another thread"],
];

function figureOf(key: string): Figure {
  return key.startsWith("peak") ? "peak" : key.startsWith("live") ? "live" : "allocated";
}

// In the words of what is said of completeness.
function peakBound({ exactness, totals }: Facts): string {
  return boundWords(exactness.peak, totals.peak_bytes ?? 0);
}

function Numbers({ facts }: { facts: Facts }) {
  const text = (key: string, value: number) => {
    const unit = key.endsWith("_bytes") ? "bytes" : "blocks";
    const mark = key.includes("rss") ? EXACT : markFor(facts.exactness[figureOf(key)], unit);
    return cell(value, unit, mark) + (key === "peak_bytes" ? peakBound(facts) : "");
  };
  const { pages } = facts;
  return (
    <div>
      <h2>Totals</h2>
      <dl class="facts numbers">
        {totalWords.map(([key, words]) => {
          const value = facts.totals[key];
          const isUnknown = value === undefined || (key.includes("rss") && !value);
          return isUnknown ? null : (
            <Fact key={key} name={words}>
              {text(key, value)}
            </Fact>
          );
        })}
        {pages.maps ? (
          <Fact name="Mapped by the program itself">
            {bytes(pages.mapped_bytes ?? 0, EXACT)} in {plural(pages.maps, "mapping")}, at most{" "}
            {bytes(pages.peak_bytes ?? 0, EXACT)} at once
          </Fact>
        ) : null}
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
            <Th of="c-name">Place</Th>
            <Th of="c-live number">At peak</Th>
            <Th of="c-live number">At end</Th>
            <Th of="c-stacks number">Mappings</Th>
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
                <td class="c-stacks number">{count(place.maps, EXACT)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
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
