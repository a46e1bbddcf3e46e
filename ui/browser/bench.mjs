// SPDX-License-Identifier: Apache-2.0
//
// What the page costs in a browser: node browser/bench.mjs [--nodes N] [--frames N] [--page FILE],
// JSON on standard output; with --nodes 0 of the file alone. Chromium without a window draws in
// software, so a machine with a graphics card does better. Nothing is judged here.
//
// Frames are measured twice: at the browser's own rate, where 16.7 ms is as fast as it gets, and
// without that limit, where a frame takes what it costs.

import { dirname } from "node:path";
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
    const result = await work(page, await browser.newBrowserCDPSession());
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

// Of all processes of the browser so far: what work costs, however busy the machine is.
async function cpuMs(session) {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return 1000 * processInfo.reduce((sum, info) => sum + info.cpuTime, 0);
}

const DEEDS = ["zoom", "hover", "scroll", "search"];

async function measureGraph(args) {
  const html = await bundle();
  return inBrowser(args, async (page, session) => {
    await page.setContent(html);
    const opened = await page.evaluate((n) => window.bench.open(n), Number(options.nodes));
    const deeds = {};
    for (const deed of DEEDS) {
      const n = Number(options.frames);
      const before = await cpuMs(session);
      const done = await page.evaluate(({ deed, n }) => window.bench[deed](n), { deed, n });
      deeds[deed] = {
        frame_ms: summary(done.frame_ms),
        script_ms: summary(done.script_ms),
        cpu_ms: ((await cpuMs(session)) - before) / n,
      };
    }
    return { ...opened, deeds };
  });
}

// Runs in the page before its own scripts: notes when the graph is painted, and how long after a
// move of the pointer that is. Whoever moves it waits for `idle`.
function watch() {
  const seen = { graph_ms: null, brush_ms: [], idle: true };
  let moved = null;
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...args) {
    put.apply(this, args);
    seen.graph_ms ??= performance.now();
    if (moved !== null) seen.brush_ms.push(performance.now() - moved);
    moved = null;
    seen.idle = true;
  };
  const onMove = (event) => {
    if (!event.buttons) return;
    moved = performance.now();
    seen.idle = false;
  };
  addEventListener("pointermove", onMove, { capture: true });
  window.seen = seen;
}

// The page forbids what playwright's own way of waiting needs.
async function until(page, holds, seconds) {
  for (let i = 0; i < 50 * seconds; i++) {
    if (await page.evaluate(holds)) return true;
    await page.waitForTimeout(20);
  }
  return false;
}

const MOVES = 80;

// Drags over the timeline, there and back, and waits each time for the graph to follow; it does not
// where a move stays at the same snapshot.
async function brush(page) {
  const area = await page.locator(".timeline-area").boundingBox();
  const y = area.y + area.height / 2;
  await page.mouse.move(area.x + 0.2 * area.width, y);
  await page.mouse.down();
  for (let i = 1; i <= MOVES; i++) {
    const share = 1 - Math.abs(1 - (2 * i) / MOVES);
    await page.mouse.move(area.x + (0.2 + 0.7 * share) * area.width, y);
    await until(page, () => window.seen.idle, 0.5);
    await page.waitForTimeout(50);
  }
  await page.mouse.up();
}

// The whole page from a file: until something is seen, until the graph is, and how fast the graph
// follows a drag over the timeline.
async function measurePage(path) {
  return inBrowser([], async (page, session) => {
    await page.addInitScript(watch);
    const before = await cpuMs(session);
    await page.goto(pathToFileURL(path).href);
    if (!(await until(page, () => window.seen.graph_ms !== null, 120)))
      throw new Error(`${path} shows no graph within two minutes`);
    await page.waitForTimeout(1000);
    const open_cpu_ms = (await cpuMs(session)) - before;
    await brush(page);
    const seen = await page.evaluate(() => {
      const [paint] = performance.getEntriesByName("first-contentful-paint");
      return { first_paint_ms: paint.startTime, ...window.seen };
    });
    const { first_paint_ms, graph_ms, brush_ms } = seen;
    return { first_paint_ms, graph_ms, open_cpu_ms, brush_ms: summary(brush_ms) };
  });
}

const result = { viewport: WINDOW };
if (options.page) result.page = await measurePage(options.page);
if (Number(options.nodes)) {
  result.paced = await measureGraph([]);
  result.unlimited = await measureGraph(UNLIMITED);
}
console.log(JSON.stringify(result, null, 1));
