// SPDX-License-Identifier: Apache-2.0
//
// Bundles the tests and runs them: node test/run.mjs [BUILD [NAME…]] [--only TEST]…. BUILD is
// meson's directory, where the command is that the engine is compared with (default ../build); the
// bundles go to BUILD/page-tests. NAMEs are of files; a TEST is what a failure is told as: a test
// with all its parts, or a bundle that ended early. Closes with "N passed, N failed".

import { spawn } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string", multiple: true } },
});
const buildDir = resolve(positionals[0] ?? join(here, "../../build"));
const wanted = positionals.slice(1);
const output = join(buildDir, "page-tests");

async function bundle() {
  const all = (await readdir(here)).filter((name) => name.endsWith(".test.ts"));
  const names = all.filter((name) => !wanted.length || wanted.some((w) => name.startsWith(w)));
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  await build({
    absWorkingDir: here,
    entryPoints: names,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    sourcemap: "inline",
    outdir: output,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  return names.map((name) => join(output, name.replace(/\.ts$/, ".mjs")));
}

// The runner's own report on the terminal; its counts are read from the TAP stream beside it.
function run(files, names = []) {
  const words = ["--enable-source-maps", "--test", "--test-reporter=tap"];
  for (const name of names)
    words.push(`--test-name-pattern=^${name.replace(/[^\w ]/g, "\\$&")}$`);
  const child = spawn(process.execPath, [...words, ...files], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, TIDE_BUILD: buildDir },
  });
  const counts = { pass: 0, fail: 0, cancelled: 0, skipped: 0 };
  let rest = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    process.stdout.write(text);
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const found = /^# (pass|fail|cancelled|skipped) (\d+)$/.exec(line);
      if (found)
        counts[found[1]] = Number(found[2]);
    }
  });
  return new Promise((done) => child.on("close", (status) => done({ status, counts })));
}

// What was asked for: whole bundles, and tests by name, beside which node calls the others skipped.
async function runOnly(files, only) {
  const ended = only.filter((name) => files.includes(name));
  const names = only.filter((name) => !files.includes(name));
  const sum = { status: 0, counts: { pass: 0, fail: 0, cancelled: 0, skipped: 0 } };
  for (const words of [ended.length && [ended], names.length && [files, names]]) {
    if (!words) continue;
    const { status, counts } = await run(...words);
    sum.status ||= status;
    for (const kind of ["pass", "fail", "cancelled"]) sum.counts[kind] += counts[kind];
  }
  return sum;
}

const files = await bundle();
const { status, counts } = options.only ? await runOnly(files, options.only) : await run(files);
const failed = counts.fail + counts.cancelled;
const skipped = counts.skipped ? `, ${counts.skipped} skipped` : "";
console.log(`${counts.pass} passed, ${failed} failed${skipped}`);
process.exitCode = status === 0 && failed === 0 ? 0 : 1;
