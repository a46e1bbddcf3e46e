// SPDX-License-Identifier: Apache-2.0
//
// The command that the engine is compared with, and the captures it is asked about.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { inflateSync } from "node:zlib";
import type { PageFacts } from "../src/app/load.ts";
import { decode } from "../src/engine/decode.ts";
import type { Model, Residence } from "../src/engine/model.ts";
import { unroll, unrollTree } from "./report.ts";

export const BUILD = process.env.TIDE_BUILD ?? "../build";
export const ROOT = resolve(BUILD, "..");
const TIDEMARK = join(BUILD, "tidemark");
const MOST_BYTES = 1 << 30;
const ENV = { ...process.env, TIDEMARK_CACHE: "off", DEBUGINFOD_URLS: "" };

// What the command prints, of a report every stack unrolled, or why it refuses.
export type Answer = { json: any; why?: undefined } | { json?: undefined; why: string };

export function ask(...words: string[]): Answer {
  const isReport = words[0] === "report";
  const form = isReport ? ["--json", "--all"] : ["--json"];
  const { status, stdout, stderr } = spawnSync(TIDEMARK, [...words, ...form], {
    encoding: "utf8", maxBuffer: MOST_BYTES, env: ENV,
  });
  if (status !== 0)
    return { why: stderr || `status ${status}` };
  const json = JSON.parse(stdout);
  return { json: isReport ? unroll(json) : words[0] === "tree" ? unrollTree(json) : json };
}

// What it says to people, in lines; and each run of spaces and line ends as one space.
export function printed(...words: string[]): string {
  const { stdout } = spawnSync(TIDEMARK, words, {
    encoding: "utf8", maxBuffer: MOST_BYTES, env: { ...ENV, LC_ALL: "C.UTF-8", NO_COLOR: "1" },
  });
  return stdout;
}

// On a screen so wide that nothing is left out of a table.
export function printedWide(...words: string[]): string {
  const { stdout } = spawnSync(TIDEMARK, words, {
    encoding: "utf8", maxBuffer: MOST_BYTES,
    env: { ...ENV, LC_ALL: "C.UTF-8", NO_COLOR: "1", COLUMNS: "300" },
  });
  return stdout;
}

export function said(...words: string[]): string {
  return printed(...words).replace(/\s+/g, " ");
}

// What such a report says of how complete it is, up to the next label.
export function completenessIn(report: string): string | undefined {
  const line = new RegExp(" (complete|incomplete|read from): .*?" +
    "(?= (?:also|finding|note|next|not recorded): |$)");
  return line.exec(report)?.[0].trim();
}

// The block that the page would be given, decoded.
export function modelOf(file: string, process = ""): Model {
  const dump = join(BUILD, "tests/page/page_dump");
  return decode(execFileSync(dump, [file, process], { maxBuffer: MOST_BYTES, env: ENV }));
}

// What is seen first of it, so many stacks standing for themselves.
export function firstModelOf(file: string, keep: number): Model {
  const dump = join(BUILD, "tests/page/page_dump");
  const words = [file, "", String(keep), "first"];
  return decode(execFileSync(dump, words, { maxBuffer: MOST_BYTES, env: ENV }));
}

export interface Report {
  bytes: number; // of the file
  dataBytes: number; // of what its data takes in it
  models: Model[];
}

function reportText(files: string[], mostBytes: number): string {
  const output = scratch("report.html");
  const words = ["html", "-f", "-o", output, "--max-bytes", String(mostBytes), ...files];
  execFileSync(TIDEMARK, words, { env: ENV, stdio: "pipe" });
  return readFileSync(output, "latin1");
}

// What the page is told before it asks for data.
export function offerOf(files: string[]): PageFacts {
  const text = reportText(files, 1 << 30);
  const facts = / id="tidemark-facts">([^<]*)</.exec(text)![1];
  return JSON.parse(Buffer.from(facts, "latin1").toString("utf8"));
}

// The file that "html" writes about captures, and what the page finds in it.
export function reportOf(files: string[], mostBytes: number): Report {
  const text = reportText(files, mostBytes);
  const joined = text.replaceAll('</script>\n<script type="application/octet-stream">', "");
  const data = [...joined.matchAll(/ id="tidemark-data-\d">([^<]*)</g)].map((found) => found[1]);
  const unpacked = (base64: string) => new Uint8Array(inflateSync(Buffer.from(base64, "base64")));
  return {
    bytes: text.length, dataBytes: data.join("").length,
    models: data.map((base64) => decode(unpacked(base64))),
  };
}

// Each test file is a process, and several run at once where there are cores for it: what one
// records is not another's.
function scratch(name: string): string {
  const directory = join(BUILD, "page-tests", "captures", basename(process.argv[1], ".test.mjs"));
  mkdirSync(directory, { recursive: true });
  return join(directory, name);
}

// A capture as chance would have it, or (with snapshots) as a real program would give it.
export function made(seed: number, scale: number, snapshots?: number): string {
  const file = scratch(`made-${seed}-${scale}-${snapshots ?? 0}.tide`);
  const more = snapshots === undefined ? [] : [String(snapshots)];
  const words = [String(seed), String(scale), file, ...more];
  execFileSync(join(BUILD, "tests/compat/tide_make"), words);
  return file;
}

export function golden(name: string): string {
  return join(ROOT, "tests/golden", name);
}

// Of another tool, as the fuzzers begin with.
export function corpus(name: string): string {
  return join(ROOT, "tests/fuzz/corpus", name);
}

// Captures added up.
export function merged(name: string, ...files: string[]): string {
  const file = scratch(`merged-${name}.tide`);
  execFileSync(TIDEMARK, ["merge", "-f", "-o", file, ...files], { env: ENV, stdio: "pipe" });
  return file;
}

const known = new Set<string>(); // captures recorded by now, which must not change any more

// A program, compiled and recorded.
export function recorded(source: string, flags: string): string {
  const name = `${source} ${flags}`.replace(/[^A-Za-z0-9]+/g, "-");
  const [program, file] = [scratch(name), scratch(`${name}.tide`)];
  const words = flags.split(" ");
  if (known.has(file))
    return file;
  execFileSync("cc", ["-g", "-o", program, join(ROOT, "ui/test", source), ...words]);
  return record(file, [program]);
}

// One sample for so many bytes.
export function sampled(source: string, flags: string, every: string): string {
  const program = recorded(source, flags).replace(/\.tide$/, "");
  return record(`${program}-${every}.tide`, [`--sample=${every}`, program]);
}

// A recording of several threads, of which the end is missing.
export function cut(): string {
  const whole = recorded("page_shapes.c", "-pthread");
  const file = whole.replace(/\.tide$/, "-cut.tide");
  const bytes = readFileSync(whole);
  writeFileSync(file, bytes.subarray(0, Math.floor(bytes.length * 0.7)));
  return file;
}

// Blocks live from before a reset.
export function recordedReset(): string {
  return record(scratch("reset.tide"), [compiled("page_reset.c", "-O1"), TIDEMARK]);
}

export function recordedCommand(name: string, ...command: string[]): string {
  return record(scratch(`${name}.tide`), command);
}

const LONGEST_MS = 120_000; // that something is waited for

function waitUntil(isSo: () => boolean, what: string): void {
  const end = Date.now() + LONGEST_MS;
  for (;;) {
    try {
      if (isSo())
        return;
    } catch (error) { // there is no file yet
      if (Date.now() > end)
        throw error;
    }
    if (Date.now() > end)
      throw new Error(`in two minutes it did not come to pass that ${what}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}

// A program that stands still until a file is there, step by step: it may go on once its capture so
// far has the table of memory that is wanted of the step.
export function recordedInSteps(
  source: string, flags: string, steps: ((found: Residence) => boolean)[],
): string {
  const file = scratch(`${source}-steps.tide`);
  if (known.has(file))
    return file;
  known.add(file);
  const step = (i: number) => `${file}.${i + 1}`;
  steps.forEach((_, i) => rmSync(step(i), { force: true }));
  rmSync(file, { force: true });
  const words = ["run", "-f", "-q", "-o", file, compiled(source, flags), file];
  const run = spawn(TIDEMARK, words, { env: ENV, stdio: "ignore" });
  try {
    steps.forEach((isThere, i) => {
      waitUntil(() => isThere(modelOf(file).facts.residence), `step ${i + 1} was looked at`);
      writeFileSync(step(i), "");
    });
    waitUntil(() => modelOf(file).facts.capture.finished, "the run ended");
  } catch (error) {
    run.kill();
    throw error;
  }
  return file;
}

// A program, compiled and not recorded.
export function compiled(source: string, flags: string): string {
  const program = scratch(`${source} ${flags}`.replace(/[^A-Za-z0-9]+/g, "-"));
  execFileSync("cc", ["-g", "-o", program, join(ROOT, "ui/test", source), ...flags.split(" ")]);
  return program;
}

// A recording of a program that was attached to and goes on.
export function attached(source: string): string {
  const file = scratch(`${source}-attached.tide`);
  if (known.has(file))
    return file;
  known.add(file);
  const target = spawn(compiled(source, "-O1"), { stdio: "ignore" });
  try {
    const words = ["attach", "-f", "-q", "--for", "300ms", "-o", file, String(target.pid)];
    execFileSync(TIDEMARK, words, { env: ENV });
  } finally {
    target.kill("SIGKILL");
  }
  return file;
}

// Whether blocks became more is known of a run that was looked at while it lasted. On a machine
// that is short of everything a supervisor may have come too late: such a run is recorded again.
const LOOKS_MIN: Record<string, number> = { "page-handover-c-pthread": 20 };
const TRIES = 6;

function record(file: string, command: string[]): string {
  if (known.has(file))
    return file;
  known.add(file);
  const least = LOOKS_MIN[basename(file, ".tide")] ?? 0;
  for (let i = 0; i < TRIES; i++) {
    execFileSync(TIDEMARK, ["run", "-f", "-q", "-o", file, ...command], { env: ENV });
    if (!least || ask("info", file).json.images[0].snapshots >= least)
      break;
  }
  return file;
}
