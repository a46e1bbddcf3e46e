// SPDX-License-Identifier: Apache-2.0
//
// What the page costs in a browser: node browser/bench.mjs [--nodes N] [--frames N] [--page FILE],
// JSON on standard output. Chromium without a window draws in software, so a machine with a
// graphics card does better. Nothing is judged here.
//
// Frames are measured twice: at the browser's own rate, where 16.7 ms is as fast as it gets, and
// without that limit, where a frame takes what it costs.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const WINDOW = { width: 1600, height: 900 };
const UNLIMITED = ["--disable-frame-rate-limit", "--disable-gpu-vsync"];

const { values: options } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000000" },
    frames: { type: "string", default: "300" },
    page: { type: "string" },
  },
});

async function bundle() {
  const result = await build({
    absWorkingDir: dirname(here),
    entryPoints: ["browser/bench_flame.tsx"],
    bundle: true,
    minify: true,
    format: "iife",
    outdir: "out",
    write: false,
    logLevel: "warning",
  });
  const text = (end) => result.outputFiles.find((file) => file.path.endsWith(end)).text;
  const script = text(".js").replaceAll("</script", "<\\/script");
  const height = "body { margin: 0 } .flame { --flame-height: 800px }";
  return `<!doctype html><meta charset="utf-8"><style>${text(".css")}${height}</style>
<div id="app"></div><script>${script}</script>`;
}

async function inBrowser(args, work) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", ...args] });
  try {
    const page = await browser.newPage({ viewport: WINDOW });
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    const result = await work(page);
    if (errors.length) throw new Error(errors[0]);
    return { browser: browser.version(), ...result };
  } finally {
    await browser.close();
  }
}

function summary(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const ms = (share) => Math.round(at(share) * 100) / 100;
  return { median: ms(0.5), p95: ms(0.95), high: ms(1), frames: sorted.length };
}

const DEEDS = ["zoom", "hover", "scroll", "search"];

async function measureGraph(args) {
  const html = await bundle();
  return inBrowser(args, async (page) => {
    await page.setContent(html);
    const opened = await page.evaluate((n) => window.bench.open(n), Number(options.nodes));
    const deeds = {};
    for (const deed of DEEDS) {
      const call = ({ deed, n }) => window.bench[deed](n);
      const done = await page.evaluate(call, { deed, n: Number(options.frames) });
      deeds[deed] = { frame_ms: summary(done.frame_ms), script_ms: summary(done.script_ms) };
    }
    return { ...opened, deeds };
  });
}

// The whole page from a file: until something of the heap is seen, and until all of it is.
async function measurePage(path) {
  await readFile(path); // says so if it is not there
  return inBrowser([], async (page) => {
    await page.goto(pathToFileURL(path).href);
    await page.waitForSelector(".flame canvas", { timeout: 120000 });
    return page.evaluate(() => {
      const paint = performance.getEntriesByName("first-contentful-paint")[0];
      return { first_paint_ms: paint?.startTime ?? null, graph_ms: performance.now() };
    });
  });
}

const result = { viewport: WINDOW };
result.paced = await measureGraph([]);
result.unlimited = await measureGraph(UNLIMITED);
if (options.page) result.page = await measurePage(options.page);
console.log(JSON.stringify(result, null, 1));
