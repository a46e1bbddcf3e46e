// SPDX-License-Identifier: Apache-2.0
//
// The frame around everything: what program this is, the verdict and the timeline, the panes.

import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { boundOfAnswer, markOfAnswer, peakText } from "../engine/exactness.ts";
import type { Model } from "../engine/model.ts";
import { amount, count, EXACT } from "../engine/units.ts";
import { titleOf } from "../engine/verdict.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { AboutPane } from "./about.tsx";
import { DiffPane } from "./diff.tsx";
import { Findings } from "./findings.tsx";
import { GraphPane, Overview } from "./graph.tsx";
import { Help } from "./help.tsx";
import { isHelpOpen } from "./keys.ts";
import { LeaksPane } from "./leaks.tsx";
import { hasData } from "./load.ts";
import { MemoryPane } from "./memory.tsx";
import { ProcessesPane } from "./processes.tsx";
import { SandwichPane } from "./sandwich.tsx";
import {
  announcement,
  isBusy,
  model,
  pane as chosenPane,
  progress,
  question,
  refused,
  session,
  wanted,
} from "./session.ts";
import { use } from "./signals.ts";
import { SizesPane } from "./sizes.tsx";
import { SourcePane } from "./source.tsx";
import { Staged } from "./staged.tsx";
import { go, panes, settle, state, type Pane, type State } from "./state.ts";
import { TablePane } from "./table.tsx";
import { ThreadsPane } from "./threads.tsx";
import { TimelinePane } from "./timeline.tsx";
import { Toolbar } from "./toolbar.tsx";
import { TreePane } from "./tree.tsx";
import { complete, Verdict } from "./verdict.tsx";
import { percent, working } from "./workers.ts";
import { programName, questionWords, unbroken, wordsOfPane } from "./words.ts";

const components: Record<Pane, FunctionComponent> = {
  overview: Overview,
  graph: GraphPane,
  table: TablePane,
  tree: TreePane,
  callers: SandwichPane,
  sizes: SizesPane,
  leaks: LeaksPane,
  threads: ThreadsPane,
  source: SourcePane,
  diff: DiffPane,
  memory: MemoryPane,
  processes: ProcessesPane,
  about: AboutPane,
};

// Panes that are about the whole run whatever is asked.
const wholeRun: Pane[] = ["about", "leaks", "diff", "memory", "processes"];

export function Shell() {
  const pane = use(chosenPane);
  const isWorking = use(working) > 0;
  const Body = components[pane];
  return (
    <>
      <a class="skip" href="#pane" onClick={skip}>
        To the pane
      </a>
      <Header />
      <div class={`top ${pane === "overview" ? "" : "narrow"}`}>
        {pane === "overview" && (
          <div>
            <Staged n={1}>
              <Verdict />
            </Staged>
            <Staged n={2}>
              <Findings />
            </Staged>
          </div>
        )}
        <Staged n={3}>
          <TimelinePane height={pane === "overview" ? 132 : 112} />
        </Staged>
      </div>
      <main>
        <Tabs now={pane} />
        <Toolbar pane={pane} />
        <div
          class="body"
          id="pane"
          role="tabpanel"
          aria-labelledby={`tab-${pane}`}
          aria-busy={isWorking || undefined}
          tabIndex={-1}
        >
          {!wholeRun.includes(pane) && <Asked />}
          <Staged n={4}>
            <Body />
          </Staged>
        </div>
      </main>
      <Help />
      <p class="sr" role="status" aria-live="polite">
        {use(announcement)}
      </p>
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("pane")?.focus();
}

// What the numbers below are, in words.
function Asked() {
  const of = use(model);
  const asked = use(question);
  const why = use(refused);
  const total = use(wanted);
  if (why) return null;
  return (
    <h2 class="asked">
      {questionWords(of, asked)}: <b>{amount(total, asked.unit, markOfAnswer(of, asked))}</b>
      {boundOfAnswer(of, asked, total)}
    </h2>
  );
}

// Until all is read, what is small is not told apart.
function readingWords({ facts: { pruned } }: Model, far: string): string {
  if (!pruned?.first) return `reading… ${far}`.trim();
  const [shown, all] = [pruned.of - pruned.stacks, pruned.of].map((n) => count(n, EXACT));
  return `the ${shown} largest of ${all} stacks so far, reading the others… ${far}`;
}

function workingWords(done: number | null): string {
  return done === null ? "working…" : `working… ${done} %`;
}

function Header() {
  const of = use(model);
  const now = use(session)!;
  const busy = use(isBusy);
  const waiting = use(working);
  const done = use(percent);
  const far = use(progress);
  const { theme } = use(state);
  const { image } = of.facts;
  const program = clean(programName(image));
  const whole = use(complete);
  const facts = [ // the line is cut at its end
    busy && !now.facts.live ? readingWords(of, far) : waiting ? workingWords(done) : "",
    ...titleOf(of, now.facts.live).map((part) => cleanWithin(part, 600)),
    whole ? cleanWithin(whole.text, 600) : "",
    image.origin ? `from ${clean(image.origin)}` : "",
  ];
  return (
    <header class="head">
      <h1 title={clean(image.command.join(" ")).slice(0, 2000)}>
        <span class="brand">Tidemark</span> {program}
      </h1>
      <p class="muted" title={whole?.text}>
        {now.facts.live && <span class="recording">● recording… </span>}
        {unbroken(facts.filter(Boolean).join(" · "))}
      </p>
      <CapturePicker />
      <ProcessPicker />
      <label>
        <span class="sr">Theme</span>
        <select
          value={theme}
          title="Theme: T"
          onChange={(event) =>
            settle({ theme: (event.target as HTMLSelectElement).value as State["theme"] })
          }
        >
          <option value="system">system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
      <button type="button" onClick={() => (isHelpOpen.value = true)} title="Keys: ?">
        ?<span class="sr">keys</span>
      </button>
    </header>
  );
}

function CapturePicker() {
  const { facts, capture } = use(session)!;
  if (facts.captures.length < 2) return null;
  const pick = (event: Event) =>
    go({ capture: Number((event.target as HTMLSelectElement).value), process: null, zoom: [] });
  return (
    <label>
      <span class="sr">Capture</span>
      <select value={capture} onChange={pick}>
        {facts.captures.map((one, i) => (
          <option key={i} value={i}>
            {i ? "after: " : "before: "}
            {clean(one.file)}
          </option>
        ))}
      </select>
    </label>
  );
}

function ProcessPicker() {
  const { facts, capture, model: of, origin } = use(session)!;
  const all = facts.captures[capture]?.images ?? [];
  const images = all.filter(({ index }) => hasData(origin, facts.captures[capture], index));
  if (all.length < 2) return null;
  const pick = (event: Event) =>
    go({ process: Number((event.target as HTMLSelectElement).value), zoom: [] });
  if (images.length < 2)
    return (
      <span class="muted" title="“tidemark view” shows all of them">
        one of {all.length} processes
      </span>
    );
  const isPart = images.length < all.length;
  return (
    <label title={isPart ? `Of ${all.length}; “tidemark view” shows all of them` : undefined}>
      Process{" "}
      <select value={of.facts.image.index} onChange={pick}>
        {images.map((image) => (
          <option key={image.index} value={image.index}>
            {clean(image.process)}
            {image.peak_bytes === undefined ? "" : `, ${peakText(image)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function Tabs({ now }: { now: Pane }) {
  const of = use(model);
  const { facts, capture } = use(session)!;
  const isOne = (facts.captures[capture]?.images.length ?? 0) < 2;
  const shown = panes.filter((pane) => pane !== "processes" || !isOne || now === pane);
  useEffect(() => {
    document.getElementById(`tab-${now}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [now]);
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = shown[(shown.indexOf(now) + step + shown.length) % shown.length];
    go({ pane: next });
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Panes" onKeyDown={keys}>
      {shown.map((pane, i) => (
        <button
          key={pane}
          id={`tab-${pane}`}
          type="button"
          role="tab"
          aria-selected={pane === now}
          aria-controls="pane"
          tabIndex={pane === now ? 0 : -1}
          title={i < 10 ? String((i + 1) % 10) : undefined}
          onClick={() => go({ pane })}
        >
          {wordsOfPane(of, pane)}
        </button>
      ))}
    </div>
  );
}
