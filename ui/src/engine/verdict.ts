// SPDX-License-Identifier: Apache-2.0
//
// What happened, in sentences: the peak, when and who; RSS and the gap; what was never freed;
// churn; how far to trust it. The numbers and words are those of the command's report.

import { curve } from "./curves.ts";
import { tellFates } from "./fate.ts";
import { group, type Group } from "./groups.ts";
import { emptyLook, makeView, type View } from "./look.ts";
import type { Facts, Model } from "./model.ts";
import { frameText, NONE, placeText } from "./names.ts";
import { pagePlaces } from "./pages.ts";
import { isHeld, snapshotOfKind, whole, type Measure, type Question } from "./question.ts";
import { readableName } from "./shorten.ts";
import { waysOf, waysText } from "./ways.ts";
import { bytes, count, percent, share, time } from "./units.ts";

export type SentenceKind =
  | "title" | "unrecorded" | "peak" | "culprit" | "rss" | "end" | "leak" | "churn" | "pages"
  | "complete" | "note";

export interface Sentence {
  kind: SentenceKind;
  text: string;
  isWarning: boolean;
  link?: { question?: Question; pane?: "leaks" | "table" | "timeline" | "about" };
}

const FEW = 0.05;
const MOMENTS_LEAST = 4; // to tell a course by

function ask(measure: Measure, unit: Question["unit"] = "bytes"): Question {
  return { measure, unit, from: null, to: null };
}

function many(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

const SIGNALS: Record<number, string> = {
  1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL",
  10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ",
  31: "SYS",
};

function endWords(model: Model): string {
  const { end, end_value: value } = model.facts.image;
  if (end === "exited")
    return value < 0 ? "ended" : `exited ${value}`;
  if (end === "signaled")
    return SIGNALS[value] ? `killed by SIG${SIGNALS[value]}` : `killed by signal ${value}`;
  return end === "execed" ? "replaced itself by exec" : "last seen";
}

export function programName(model: Model): string {
  const { program, origin } = model.facts.image;
  return program !== "?" ? program : origin || program;
}

// " exited 0 in 8.42 s"; of a foreign capture as much as it tells.
function endOf(model: Model): string {
  const { image } = model.facts;
  if (image.lacks.includes("clock"))
    return "";
  const length = time(Math.max(0, image.end_ns - image.start_ns));
  if (image.pid === 0 && !image.origin)
    return `, several processes merged, ${length} at most`;
  if (image.origin && image.end === "unknown")
    return ` ran for ${length}`;
  return ` ${endWords(model)} ${image.end === "exited" ? "in" : "after"} ${length}`;
}

function timesWords(overhead: number): string {
  if (overhead < 1.01)
    return "overhead below 1 %";
  if (overhead < 1.1)
    return `overhead ≈ ${((overhead - 1) * 100).toFixed(0)} %`;
  return `overhead ≈ ${overhead.toFixed(1)}×`;
}

// "overhead ≈ 1.2× and 16.1 MiB", as far as it is known: processor time, in percent where that says
// more, and memory.
export function overheadWords({ overhead, totals }: Facts): string {
  const memory = totals.recorder_rss_bytes;
  const words = overhead > 0 ? timesWords(overhead) : "";
  return memory ? `${words ? `${words} and` : "overhead"} ${bytes(memory)}` : words;
}

function title(model: Model): Sentence {
  const { totals, image } = model.facts;
  const parts = [programName(model) + endOf(model)];
  if (totals.allocations !== undefined && !image.lacks.includes("blocks"))
    parts.push(many(totals.allocations, "allocation"));
  if (overheadWords(model.facts))
    parts.push(overheadWords(model.facts));
  return { kind: "title", text: parts.join(" · "), isWarning: false };
}

function peak(model: Model): Sentence[] {
  const { totals, image } = model.facts;
  if (totals.peak_bytes === undefined || !isHeld(model, "peak"))
    return [];
  const at = Math.max(0, (totals.peak_ns ?? 0) - image.start_ns);
  const when = image.lacks.includes("clock") ? "" : ` at ${time(at)}`;
  const link = { question: ask("peak"), pane: "timeline" as const };
  const text = `The heap peaked at ${bytes(totals.peak_bytes)}${when}.`;
  return [{ kind: "peak", text, isWarning: false, link }, ...culprit(model, ask("peak"))];
}

// "app::Archive::keep, src/archive.cpp:37".
function frameWords(model: Model, frame: number): string {
  const place = placeText(model, frame);
  const name = frameText(model, frame);
  return `${model.frames.function[frame] ? readableName(name) : name}${place ? `, ${place}` : ""}`;
}

function keptWords({ end, origin }: Facts["image"]): string {
  return end === "exited" ? "never freed" : origin ? "not freed" : "not freed yet";
}

// Since when a place held half of what it held at the peak: many have allocated little all along.
function sinceWords(model: Model, place: Group): string {
  const { count: n, ns } = model.snapshots;
  const peak = snapshotOfKind(model, "peak");
  if (model.facts.image.lacks.includes("clock") || peak === null || n < MOMENTS_LEAST)
    return "";
  const { live } = curve(model, place.sites, "bytes");
  let at = peak;
  while (at > 0 && live[at - 1] >= place.weight / 2)
    at--;
  return at < peak ? `, half of that since ${time(ns[at])}` : "";
}

// And what became of it.
function fateWords({ facts }: Model, { liveBytes: left, weight }: Group): string {
  if (facts.image.lacks.includes("live"))
    return "";
  if (left < FEW * weight)
    return `, and ${left > 0 ? "nearly all " : ""}freed by the end`;
  return `, and ${left > (1 - FEW) * weight ? "" : "in part "}${keptWords(facts.image)}`;
}

const views = new WeakMap<Model, View>();

// With nothing chosen: several sentences look through it.
function plainView(model: Model): View {
  const view = views.get(model) ?? makeView(model, emptyLook);
  views.set(model, view);
  return view;
}

function topPlace(model: Model, question: Question): Group | null {
  if (!isHeld(model, question.measure))
    return null;
  const top = group(plainView(model), question, "place").items[0];
  return top && top.frame !== NONE ? top : null;
}

// ", via serde_json::de::from_str, src/de.rs:2699".
function viaWords(model: Model, question: Question, place: Group): string {
  const view = plainView(model);
  const text = waysText(view, waysOf(view, question, place));
  return text && `, ${text}`;
}

// Who held most of it.
function culprit(model: Model, question: Question): Sentence[] {
  const top = topPlace(model, question);
  if (!top)
    return [];
  const part = share(top.weight, Math.max(top.weight, whole(model, question)));
  const isPeak = question.measure === "peak";
  const history = isPeak ? sinceWords(model, top) + fateWords(model, top) : "";
  const text = `${part} of it (${bytes(top.weight)}) was allocated in ` +
    `${frameWords(model, top.frame)}${viaWords(model, question, top)}${history}.`;
  return [{ kind: "culprit", text, isWarning: false, link: { question, pane: "table" } }];
}

const MIB = 1 << 20;
const TELLING = 0.05; // of the peak: what is less is not worth a word

// How much more, or less, is worth a sentence.
const telling = (size: number) => Math.max(MIB, TELLING * size);

// The highest RSS, where it was at another moment than the heap's peak.
function highest({ facts }: Model): string {
  const { max_rss_bytes: most, max_rss_ns: ns, max_rss_live_bytes: held } = facts.totals;
  const at = ns === undefined || facts.image.lacks.includes("clock") ? ""
    : ` ${held === undefined ? "by" : "at"} ${time(Math.max(0, ns - facts.image.start_ns))}`;
  const words = held === undefined || !at ? "" : `, when the heap held ${bytes(held)}`;
  return `RSS was highest${at}: ${bytes(most ?? 0)}${words}`;
}

// What is in the RSS and not in the heap, or the other way round.
function gapWords({ facts }: Model, atPeak: number): string {
  const { peak_bytes: heap, untouched_bytes: untouched, swapped_bytes: swapped } = facts.totals;
  const { recorder_rss_bytes: recorder } = facts.totals;
  if (heap === undefined)
    return "";
  if (untouched && untouched >= telling(heap))
    return `: at least ${bytes(untouched)} of the heap was in memory at no look, never touched` +
      `${swapped ? ` or swapped out (${bytes(swapped)} at most)` : ""}`;
  const gap = atPeak - heap;
  const others = recorder || facts.image.origin ? "" : "the recorder, ";
  return gap < 0 ? ""
    : `, ${bytes(gap)} more than the heap: ${others}code, stacks, own pages and the allocator`;
}

function rss(model: Model): Sentence[] {
  const { rss_at_peak_bytes: atPeak, max_rss_bytes: most } = model.facts.totals;
  const link = { pane: "timeline" as const };
  const texts = [];
  if (atPeak)
    texts.push(`RSS was then ${bytes(atPeak)}${gapWords(model, atPeak)}.`);
  if (most && (!atPeak || most > atPeak + telling(atPeak)))
    texts.push(`${highest(model)}.`);
  return texts.map((text) => ({ kind: "rss", text, isWarning: false, link }));
}

// Of a file that ends before the first stack, none means that nothing is known.
function isCutShort({ facts }: Model): boolean {
  return facts.capture.note !== null && !facts.totals.allocations;
}

const LOOKED_AT = 8; // places that hold most at the end

// Of what is left at the end, the place that holds most of it; and the largest that is still
// growing, if that is another.
function leaking(model: Model, left: number): string {
  if (left < TELLING * (model.facts.totals.peak_bytes ?? 0) || !isHeld(model, "leak"))
    return "";
  const places = group(plainView(model), ask("leak"), "place");
  const items = places.items.slice(0, LOOKED_AT);
  tellFates(model, { ...places, items });
  const telling = items.filter(({ frame, weight }) => frame !== NONE && weight >= TELLING * left);
  const growing = telling.find(({ fate }) => fate === "growing");
  const culprit = topPlace(model, ask("peak"))?.frame;
  const where = ({ frame }: Group) =>
    frame === culprit ? "that place" : frameWords(model, frame);
  const first = telling[0];
  if (!growing || !first)
    return "";
  if (growing === first)
    return `; ${bytes(first.weight)} of it, from ${where(first)}, was still growing`;
  return `; ${bytes(first.weight)} of it from ${where(first)}, and ${bytes(growing.weight)} from ${
    where(growing)}, which was still growing`;
}

function end(model: Model): Sentence[] {
  const { totals, image } = model.facts;
  if (totals.live_bytes === undefined || isCutShort(model))
    return [];
  const exited = image.end === "exited";
  const moment = exited ? "At exit" : "At the end";
  const link = { question: ask("leak"), pane: "leaks" as const };
  if (totals.live_blocks === 0)
    return [{ kind: "end", text: `${moment} every block was freed.`, isWarning: false, link }];
  const blocks = totals.live_blocks === undefined ? ""
    : ` in ${many(totals.live_blocks, "block")}`;
  const freed = keptWords(image);
  const text = `${moment} ${bytes(totals.live_bytes)}${blocks} ${
    totals.live_blocks === 1 ? "was" : "were"} ${freed}${leaking(model, totals.live_bytes)}.`;
  const who = isHeld(model, "peak") ? [] : culprit(model, ask("leak")); // nobody is named yet
  return [{ kind: "leak", text, isWarning: false, link }, ...who];
}

function churn(model: Model): Sentence[] {
  const { allocated_bytes: all, allocations, temporary } = model.facts.totals;
  if (all === undefined || !isHeld(model, "total") || isCutShort(model))
    return [];
  const share = temporary === undefined || allocations === undefined ? ""
    : `; ${percent(temporary, allocations)} of blocks were temporary ` +
      "(freed within one further allocation)";
  const question = share && temporary ? ask("temp", "blocks") : ask("total");
  const text = `${bytes(all)} were allocated in all${share}.`;
  return [{ kind: "churn", text, isWarning: false, link: { question, pane: "table" } }];
}

// Only where the program maps memory itself: it is not heap, but it is in the RSS.
function pages(model: Model): Sentence[] {
  const { peak_bytes: most, live_bytes: live } = model.facts.pages;
  if (!most || most < 1 << 20)
    return [];
  const [top] = pagePlaces(plainView(model));
  const isMost = top && top.frame !== NONE && Math.max(top.peakBytes, top.liveBytes) > most / 2;
  const who = isMost ? `, most of it in ${frameWords(model, top.frame)}` : "";
  const text =
    `Beside the heap it mapped ${bytes(most)} at most, ${bytes(live ?? 0)} at the end${who}.`;
  return [{ kind: "pages", text, isWarning: false, link: { pane: "about" } }];
}

function losses(model: Model): string[] {
  const { completeness: c, image } = model.facts;
  const parts: string[] = [];
  const add = (n: number | undefined, one: string, more: string) => {
    if (n)
      parts.push(many(n, one, more));
  };
  if (!c.cut_stacks && !c.broken_stacks)
    parts.push("none cut");
  add(c.cut_stacks, "cut by the depth limit", "cut by the depth limit");
  add(c.broken_stacks, "ends early", "end early");
  add(c.guessed_stacks, "found by frame pointers", "found by frame pointers");
  add(c.lost_full, "event without a stack", "events without a stack");
  add(c.unknown_frames, "frame in unknown code", "frames in unknown code");
  if (!image.by_fork)
    add(c.unknown_frees, "free of a block from before", "frees of blocks from before");
  add(c.fork_lost, "child process not recorded", "child processes not recorded");
  return parts;
}

function peakBound(model: Model): string[] {
  const { image, totals, capture } = model.facts;
  const bound = totals.peak_bound_bytes ?? 0;
  if (image.pid === 0)
    return [`peak too high by ${bytes(bound)} at most`];
  if (bound)
    return [`peak ± ${bytes(bound)}`];
  return capture.note === null ? ["peak exact"] : [];
}

// "Complete: every event (14,204), 16,204 stacks, none cut, peak exact."
function complete(model: Model): Sentence {
  const { capture, image, totals, completeness } = model.facts;
  const stacks = many(completeness.stacks ?? 0, "stack");
  const tell = (text: string, isWarning: boolean): Sentence =>
    ({ kind: "complete", text, isWarning, link: { pane: "about" } });
  if (image.origin) // how complete it is, its tool alone knows
    return tell(`Read from ${image.origin}, ${stacks}.`, false);
  const { scope } = model.facts.unrecorded;
  if (isUnrecorded(model))
    return tell(`Incomplete: ${scope ?? "nothing was recorded"}.`, true);
  const events = (totals.allocations ?? 0) + (totals.frees ?? 0);
  const lost = completeness.lost_busy ?? 0;
  const first = lost ? `${count(lost)} of ${count(events + lost)} events not recorded`
    : capture.note !== null ? `${many(events, "event")} in what is left of the file`
      : `every event${capture.run ? "" : " of this process"} (${count(events)})`;
  const parts = [first, stacks, ...losses(model), ...peakBound(model)];
  const word = capture.complete ? "Complete" : "Incomplete";
  const before = scope ? `${scope}; here ` : "";
  return tell(`${word}: ${before}${parts.join(", ")}.`, !capture.complete);
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

function notes(model: Model): Sentence[] {
  const { notes: texts, pruned } = model.facts;
  const all = texts.map(sentence);
  if (pruned) {
    const how = pruned.by_place ? "without their callers; every place is exact"
      : "into “other”";
    all.push(`To stay below ${bytes(pruned.limit_bytes)}, ${count(pruned.stacks)} of ` +
      `${count(pruned.of)} stacks are gathered ${how}; tidemark view shows all.`);
  }
  return all.map((text) => ({ kind: "note", text, isWarning: true, link: { pane: "about" } }));
}

// The command of a run in which nothing was recorded.
function isUnrecorded({ facts: { image } }: Model): boolean {
  return !image.origin && ["peak", "live", "total"].every((one) => image.lacks.includes(one));
}

const toAbout = { link: { pane: "about" as const }, isWarning: true };

// What should lead and was not recorded comes before what is shown in its place.
function lead({ facts: { unrecorded } }: Model): Sentence[] {
  return unrecorded.lead
    ? [{ kind: "unrecorded", text: `${unrecorded.lead}.`, ...toAbout }] : [];
}

// All of them, unless the lead has said it.
function unrecorded({ facts: { unrecorded: { lead, summary, programs } } }: Model): Sentence[] {
  return summary && !(lead && programs.length === 1)
    ? [{ kind: "unrecorded", text: sentence(`not recorded: ${summary}`), ...toAbout }] : [];
}

// Of a program without a heap there is nothing else to say about it.
function heap(model: Model): Sentence[] {
  const { totals: { allocations }, capture } = model.facts;
  if (allocations === undefined ? model.sites.count : allocations)
    return [...peak(model), ...rss(model), ...pages(model), ...end(model), ...churn(model)];
  const what = capture.note === null ? "was allocated on" : "is left of";
  const text = `Nothing ${what} the heap.`;
  return [{ kind: "peak", text, isWarning: false }, ...rss(model), ...pages(model)];
}

export function verdict(model: Model): Sentence[] {
  const told = isUnrecorded(model) ? rss(model) : heap(model);
  return [title(model), ...lead(model), ...told, complete(model), ...unrecorded(model),
    ...notes(model)];
}
