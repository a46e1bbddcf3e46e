// SPDX-License-Identifier: Apache-2.0
//
// Bundles the tests and runs them: node test/run.mjs [BUILD [NAME…]]. BUILD is meson's directory,
// where the command is that the engine is compared with (default ../build); the bundles go to
// BUILD/page-tests. Closes with "N passed, N failed".

import { spawn } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const buildDir = resolve(process.argv[2] ?? join(here, "../../build"));
const wanted = process.argv.slice(3);
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
function run(files) {
  const options = ["--enable-source-maps", "--test", "--test-reporter=tap"];
  const child = spawn(process.execPath, [...options, ...files], {
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

const { status, counts } = await run(await bundle());
const failed = counts.fail + counts.cancelled;
const skipped = counts.skipped ? `, ${counts.skipped} skipped` : "";
console.log(`${counts.pass} passed, ${failed} failed${skipped}`);
process.exitCode = status === 0 && failed === 0 ? 0 : 1;
