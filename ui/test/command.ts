// SPDX-License-Identifier: Apache-2.0
//
// The command that the engine is compared with, and the captures it is asked about.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { decode } from "../src/engine/decode.ts";
import type { Model } from "../src/engine/model.ts";

export const BUILD = process.env.TIDE_BUILD ?? "../build";
export const ROOT = resolve(BUILD, "..");
const TIDEMARK = join(BUILD, "tidemark");
const MOST_BYTES = 1 << 30;
const ENV = { ...process.env, TIDEMARK_CACHE: "off", DEBUGINFOD_URLS: "" };

// What the command prints, or why it refuses.
export type Answer = { json: any; why?: undefined } | { json?: undefined; why: string };

export function ask(...words: string[]): Answer {
  const { status, stdout, stderr } = spawnSync(TIDEMARK, [...words, "--json"], {
    encoding: "utf8", maxBuffer: MOST_BYTES, env: ENV,
  });
  return status === 0 ? { json: JSON.parse(stdout) } : { why: stderr || `status ${status}` };
}

// The block that the page would be given, decoded.
export function modelOf(file: string, process = ""): Model {
  const dump = join(BUILD, "tests/page/page_dump");
  return decode(execFileSync(dump, [file, process], { maxBuffer: MOST_BYTES, env: ENV }));
}

function scratch(name: string): string {
  const directory = join(BUILD, "page-tests", "captures");
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

// A program, compiled and recorded now.
export function recorded(source: string, flags: string): string {
  const name = `${source} ${flags}`.replace(/[^A-Za-z0-9]+/g, "-");
  const [program, file] = [scratch(name), scratch(`${name}.tide`)];
  const words = flags.split(" ");
  execFileSync("cc", ["-g", "-o", program, join(ROOT, "ui/test", source), ...words]);
  return record(file, [program]);
}

export function recordedCommand(name: string, ...command: string[]): string {
  return record(scratch(`${name}.tide`), command);
}

function record(file: string, command: string[]): string {
  execFileSync(TIDEMARK, ["run", "-f", "-q", "-o", file, "--", ...command], { env: ENV });
  return file;
}
