// SPDX-License-Identifier: Apache-2.0
//
// What the page costs in a browser: node browser/bench.mjs [--nodes N] [--frames N] [--page FILE],
// JSON on standard output; with --nodes 0 of the file alone. Chromium without a window draws in
// software, so a machine with a graphics card does better. Nothing is judged here.
//
// Frames are measured twice: at the browser's own rate, where 16.7 ms is as fast as it gets, and
// without that limit, where a frame takes what it costs.

import { readFileSync } from "node:fs";
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
    views: { type: "boolean", default: false },
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
    return { browser: browser.version(), ...(await work(browser)) };
  } finally {
    await browser.close();
  }
}

// A page that nobody inspects: playwright's own has the browser keep what was loaded, and decode
// files of some size once more, in the page's thread, before the page gets to see their end. So it
// is one that playwright does not know, with as much of its protocol as is needed here.
class UnwatchedPage {
  #waiting = new Map(); // for answers, by number
  #sent = 0;
  #errors = [];

  static async open(browser, { width, height }) {
    const page = new UnwatchedPage();
    const session = (page.browser = await browser.newBrowserCDPSession());
    const { targetId } = await session.send("Target.createTarget", { url: "about:blank" });
    session.on("Target.receivedMessageFromTarget", ({ message }) => page.#hear(message));
    page.attached = await session.send("Target.attachToTarget", { targetId });
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    const metrics = { width, height, deviceScaleFactor: 1, mobile: false };
    await page.send("Emulation.setDeviceMetricsOverride", metrics);
    return page;
  }

  #hear(message) {
    const { id, method, params, result, error } = JSON.parse(message);
    if (method === "Runtime.exceptionThrown") this.#note(params.exceptionDetails);
    const { resolve, reject } = this.#waiting.get(id) ?? {};
    if (error) reject?.(new Error(error.message));
    else resolve?.(result);
    this.#waiting.delete(id);
  }

  send(method, params = {}) {
    const id = ++this.#sent;
    const message = JSON.stringify({ id, method, params });
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const { sessionId } = this.attached;
      this.browser.send("Target.sendMessageToTarget", { sessionId, message }).catch(reject);
    });
  }

  async evaluate(what, value) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression: `(${what})(${JSON.stringify(value)})`,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) this.#note(exceptionDetails);
    if (this.#errors.length) throw new Error(this.#errors[0]);
    return result.value;
  }

  #note({ exception, text }) {
    this.#errors.push(exception?.description ?? text);
  }

  async goto(url, before) {
    const source = `(${before})()`;
    await this.send("Page.addScriptToEvaluateOnNewDocument", { source });
    await this.send("Page.navigate", { url });
  }

  mouse(type, x, y) {
    const isPressed = type !== "mouseMoved" || this.isDown;
    if (type === "mousePressed") this.isDown = true;
    if (type === "mouseReleased") this.isDown = false;
    const [button, buttons] = isPressed ? ["left", this.isDown ? 1 : 0] : ["none", 0];
    return this.send("Input.dispatchMouseEvent", { type, x, y, button, buttons, clickCount: 1 });
  }
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

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
  return inBrowser(args, async (browser) => {
    const page = await browser.newPage({ viewport: WINDOW });
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    const session = await browser.newBrowserCDPSession();
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
    if (errors.length) throw new Error(errors[0]);
    return { ...opened, deeds };
  });
}

// Runs in the page before its own scripts: notes when the graph is painted, and how long after a
// move of the pointer that is. Whoever moves it waits for `idle`.
function watch() {
  const seen = { graph_ms: null, brush_ms: [], idle: true, block_ms: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      seen.block_ms = Math.max(seen.block_ms, duration);
  }).observe({ type: "longtask", buffered: true });
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

async function until(page, holds, seconds) {
  for (let i = 0; i < 50 * seconds; i++) {
    if (await page.evaluate(holds)) return true;
    await wait(20);
  }
  return false;
}

const MOVES = 80;

// Drags over the timeline, there and back, and waits each time for the graph to follow; it does not
// where a move stays at the same snapshot.
async function brush(page) {
  const area = await page.evaluate(() => {
    const { left, top, width, height } = document
      .querySelector(".timeline-area")
      .getBoundingClientRect();
    return { left, width, middle: top + height / 2 };
  });
  const x = (share) => area.left + share * area.width;
  await page.mouse("mouseMoved", x(0.2), area.middle);
  await page.mouse("mousePressed", x(0.2), area.middle);
  for (let i = 1; i <= MOVES; i++) {
    const share = 1 - Math.abs(1 - (2 * i) / MOVES);
    await page.mouse("mouseMoved", x(0.2 + 0.7 * share), area.middle);
    await until(page, () => window.seen.idle, 0.5);
    await wait(50);
  }
  await page.mouse("mouseReleased", x(0.2), area.middle);
}

// What the page shows first when it is turned to, by the address.
const VIEWS = {
  table: "pane=table",
  functions: "pane=table&group=function",
  crates: "pane=table&group=crate",
  stacks: "pane=table&group=stack",
  tree: "pane=tree",
  leaks: "pane=leaks",
  threads: "pane=threads",
  sizes: "pane=table&group=size",
  classes: "pane=sizes",
  source: "pane=source",
  compare: "pane=diff",
  callers: "pane=callers",
  search: "pane=graph&search=tide",
  focus: "pane=graph&focus=tide_",
  range: "pane=graph&measure=live&at=1s",
  lines: "pane=graph&lines=1",
  inverted: "pane=graph&invert=1",
};

// How long until it is drawn and nothing is at work any more, until what is wide enough to be seen
// of it is there, and the longest that the page did not answer meanwhile.
async function turnTo(page, address) {
  return page.evaluate(async (address) => {
    const { seen } = window;
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const isWorking = () => document.querySelector(".head")?.textContent.includes("working…");
    const isInPart = () => document.querySelector("p.cut") !== null;
    seen.block_ms = 0;
    const begin = performance.now();
    location.hash = address;
    const passed = () => performance.now() - begin;
    let first = null;
    do {
      await frame();
      await frame();
      if (isInPart()) first ??= passed();
    } while (isWorking());
    const ms = passed();
    await new Promise((done) => setTimeout(done, 200)); // long tasks are told late
    return { ms, seen_ms: first ?? ms, block_ms: seen.block_ms };
  }, address);
}

// Of the process that runs the page, with all that is shared counted by its parts, and the most
// that it ever had; the browser keeps another one ready, for the next page. What nobody holds any
// more is collected first: the browser does that when it thinks fit.
async function memory(page) {
  for (let i = 0; i < 2; i++) {
    await page.send("HeapProfiler.collectGarbage");
    await wait(2500); // freed memory is given back by and by
  }
  const { processInfo } = await page.browser.send("SystemInfo.getProcessInfo");
  const bytes = (id, file, key) => {
    const lines = readFileSync(`/proc/${id}/${file}`, "utf8").split("\n");
    const line = lines.find((l) => l.startsWith(key));
    return 1024 * Number(/\d+/.exec(line)[0]);
  };
  const renderers = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  return {
    bytes: Math.max(...renderers.map((id) => bytes(id, "smaps_rollup", "Pss:"))),
    most_bytes: Math.max(...renderers.map((id) => bytes(id, "status", "VmHWM:"))),
  };
}

// The whole page from a file: until something is seen, until the graph is, and how fast the graph
// follows a drag over the timeline.
async function measurePage(path) {
  return inBrowser([], async (browser) => {
    const page = await UnwatchedPage.open(browser, WINDOW);
    const before = await cpuMs(page.browser);
    await page.goto(pathToFileURL(path).href, watch);
    if (!(await until(page, () => window.seen.graph_ms !== null, 120)))
      throw new Error(`${path} shows no graph within two minutes`);
    // What is seen first is not all of it.
    const isRead = () => !document.querySelector(".head").textContent.includes("reading");
    if (!(await until(page, isRead, 120)))
      throw new Error(`${path} is not read within two minutes`);
    const all_ms = await page.evaluate(() => performance.now());
    await wait(1000);
    const open_cpu_ms = (await cpuMs(page.browser)) - before;
    const open = { block_ms: await page.evaluate(() => window.seen.block_ms) };
    Object.assign(open, await memory(page));
    const views = {};
    if (options.views) {
      for (const [name, address] of Object.entries(VIEWS))
        views[name] = await turnTo(page, address);
      Object.assign(views, { memory: await memory(page) });
      await turnTo(page, "");
      views.again = await memory(page);
    }
    await brush(page);
    const seen = await page.evaluate(() => {
      const [paint] = performance.getEntriesByName("first-contentful-paint");
      return { first_paint_ms: paint.startTime, ...window.seen };
    });
    const { first_paint_ms, graph_ms, brush_ms } = seen;
    const opened = { first_paint_ms, graph_ms, all_ms, open_cpu_ms, open };
    return { ...opened, views, brush_ms: summary(brush_ms) };
  });
}

const result = { viewport: WINDOW };
if (options.page) result.page = await measurePage(options.page);
if (Number(options.nodes)) {
  result.paced = await measureGraph([]);
  result.unlimited = await measureGraph(UNLIMITED);
}
console.log(JSON.stringify(result, null, 1));
