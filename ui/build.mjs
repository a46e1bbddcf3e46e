// SPDX-License-Identifier: Apache-2.0
//
// Makes the page: node build.mjs [OUTPUT], one file with script and style inside and no address of
// anything outside. The policy names the two by their hashes, so that nothing else can run.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, "dist", "page.html");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  target: ["chrome100", "firefox113", "safari16.4"],
  legalComments: "none",
  inject: ["src/app/plain_intl.ts"],
  outdir: "out",
  write: false,
  logLevel: "warning",
};

const textOf = ({ outputFiles }, end) =>
  outputFiles.find((file) => file.path.endsWith(end)).text.trim();

// What the workers of the page run is a text within its script.
async function bundle() {
  const worker = await build({ ...shared, entryPoints: ["src/engine/worker.ts"] });
  const result = await build({
    ...shared,
    entryPoints: ["src/app/main.tsx"],
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { WORKER_SCRIPT: JSON.stringify(textOf(worker, ".js")) },
  });
  const script = textOf(result, ".js").replaceAll("</script", "<\\/script");
  return { script, style: textOf(result, ".css") };
}

// What src/page/html_report.c looks for, and what would end the script early.
function check(page) {
  const places = ["<!--TIDEMARK-FACTS-->", "<!--TIDEMARK-DATA-->"];
  const once = [...places, "Content-Security-Policy", " connect-src 'self';"];
  for (const text of once)
    if (page.split(text).length !== 2) throw new Error(`the page must hold "${text}" once`);
  const scripts = page.match(/<script|<\/script|<!--/gi) ?? [];
  if (/\bIntl\./.test(page)) throw new Error("the script asks for the browser's Intl");
  if (scripts.join() !== "<!--,<script,</script,<!--") throw new Error("the script ends early");
}

async function main() {
  const { script, style } = await bundle();
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data:",
    "worker-src blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = {
    CSP: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    STYLE: `<style>${style}</style>`,
    SCRIPT: `<script>${script}</script>`,
  };
  let page = await readFile(join(here, "page.html"), "utf8");
  for (const [name, text] of Object.entries(parts))
    page = page.replace(`<!--TIDEMARK-${name}-->`, () => text);
  check(page);
  await mkdir(dirname(output), { recursive: true });
  await writeFile(output, page);
}

await main();
