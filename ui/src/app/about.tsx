// SPDX-License-Identifier: Apache-2.0
//
// How far the numbers can be trusted, and where they come from: completeness, what is missing and
// what to do about it, modules, machine, what recording cost.

import type { Facts, Model } from "../engine/model.ts";
import { bytes, count, time } from "../engine/units.ts";
import { clean } from "../flame/clean.ts";
import { Fact } from "./parts.tsx";
import { model } from "./session.ts";
import { use } from "./signals.ts";
import { endWords, plural } from "./words.ts";

export function AboutPane() {
  const of = use(model);
  return (
    <section class="pane about" aria-label="About this capture">
      <Trust of={of} />
      <Program facts={of.facts} />
      <Numbers facts={of.facts} />
      <Notes facts={of.facts} />
      <Modules of={of} />
    </section>
  );
}

const losses: [string, string][] = [
  ["unknown_frees", "frees of blocks from before the recording began"],
  ["lost_busy", "events whose stack could not be taken, as the recorder was busy"],
  ["lost_full", "events whose stack found no room; they are in the totals"],
  ["cut_stacks", "stacks longer than the limit, cut"],
  ["broken_stacks", "stacks that could not be followed to their end"],
  ["guessed_stacks", "stacks with a caller found by frame pointer alone"],
  ["fork_lost", "events lost at a fork"],
];

function Trust({ of }: { of: Model }) {
  const { capture, completeness, image, pruned, totals } = of.facts;
  const missing = losses.filter(([key]) => completeness[key]);
  const bound = totals.peak_bound_bytes;
  return (
    <div>
      <h2>Completeness</h2>
      <p>
        {capture.complete
          ? `Complete: every event, ${plural(of.sites.count, "stack")}, each with its whole stack.`
          : "Not complete: see below what is missing."}
        {bound !== undefined &&
          (bound === 0 ? " The peak is exact." : ` The peak is exact to ${bytes(bound)}.`)}
      </p>
      <ul>
        {!capture.finished && <li>The recording was not ended properly.</li>}
        {capture.note && <li class="warn">{clean(capture.note)}</li>}
        {missing.map(([key, words]) => (
          <li key={key}>
            {count(completeness[key]!)} {words}
          </li>
        ))}
        {image.off_reason !== 0 && <li>Recording was switched off before the end.</li>}
        {image.lacks.length > 0 && (
          <li>
            {image.origin ?? "This capture"} does not hold:{" "}
            {image.lacks.join(", ").replaceAll("_", " ")}.
          </li>
        )}
        {pruned && (
          <li>
            {count(pruned.stacks)} of {count(pruned.of)} stacks are gathered into “(other stacks)”
            to keep this file below {bytes(pruned.limit_bytes)}; “tidemark view” shows all.
          </li>
        )}
      </ul>
    </div>
  );
}

function Program({ facts }: { facts: Facts }) {
  const { capture, image, host, overhead } = facts;
  const started = host.start_realtime_ns / 1e6;
  const recorder = facts.totals.recorder_ns;
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
        <Fact name="Process">
          {image.pid || "several"}, {endWords(image)}
        </Fact>
        {image.end_ns > image.start_ns && (
          <Fact name="Ran for">{time(image.end_ns - image.start_ns)}</Fact>
        )}
        {started > 0 && <Fact name="Started">{new Date(started).toISOString()}</Fact>}
        <Fact name="Threads">
          {count(image.threads)}, at most {count(image.max_live_threads)} at once
        </Fact>
        <Fact name="Allocator">{clean(image.allocator) || "of the C library"}</Fact>
        <Fact name="Machine">
          {clean([host.name, host.kernel, capture.arch].filter(Boolean).join(", "))}
        </Fact>
        {overhead > 0 && (
          <Fact name="Overhead">
            ≈ {overhead.toFixed(1)}×{recorder ? `, ${time(recorder)} in the recorder` : ""}
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
  ["live_bytes", "Never freed"],
  ["live_blocks", "Blocks never freed"],
  ["allocations", "Allocations"],
  ["allocated_bytes", "Allocated"],
  ["frees", "Frees"],
  ["freed_bytes", "Freed"],
  ["resizes", "Resizes"],
  ["moved", "Resizes that moved"],
  ["temporary", "Freed at once"],
  ["temporary_bytes", "Bytes freed at once"],
  ["foreign_frees", "Freed by another thread"],
];

function Numbers({ facts }: { facts: Facts }) {
  const text = (key: string, value: number) =>
    key.endsWith("_bytes") ? bytes(value) : count(value);
  const { pages } = facts;
  return (
    <div>
      <h2>Totals</h2>
      <dl class="facts numbers">
        {totalWords.map(([key, words]) => {
          const value = facts.totals[key];
          return value === undefined ? null : (
            <Fact key={key} name={words}>
              {text(key, value)}
            </Fact>
          );
        })}
        {pages.maps ? (
          <Fact name="Mapped by the program itself">
            {bytes(pages.mapped_bytes ?? 0)} in {plural(pages.maps, "mapping")}, at most{" "}
            {bytes(pages.peak_bytes ?? 0)} at once
          </Fact>
        ) : null}
      </dl>
    </div>
  );
}

function Notes({ facts }: { facts: Facts }) {
  if (!facts.notes.length) return null;
  return (
    <div>
      <h2>Names and lines</h2>
      <ul>
        {facts.notes.map((note, i) => (
          <li key={i}>{clean(note)}</li>
        ))}
      </ul>
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
