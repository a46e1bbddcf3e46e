// SPDX-License-Identifier: Apache-2.0
//
// What the tests in a real browser stand on: captures recorded on the spot, pages served by
// `tidemark view`, a browser, and a count of what passed. Whatever a page does, a test fails if the
// page writes an error to the console, throws, opens a dialog, or asks anybody but its own server.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

export const here = dirname(fileURLToPath(import.meta.url));

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-default-apps",
      "--no-first-run",
    ],
  });
}

export function expect(condition, why) {
  if (!condition) throw new Error(why);
}

export function expectEqual(found, wanted, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  expect(a === b, `${what}: ${a} instead of ${b}`);
}

export const heading = (page) => page.locator("h2.asked b").innerText();

// Looks again and again until what is wanted is there, for so long at most. Here alone time passes:
// no test waits for a while (tools/lint_layers.py).
export async function until(isThere, limitMs = 10_000, everyMs = 20) {
  const end = Date.now() + limitMs;
  for (;;) {
    if (await isThere()) return true;
    if (Date.now() >= end) return false;
    await new Promise((done) => setTimeout(done, everyMs));
  }
}

// What is pressed or clicked is shown a frame or two later, on a busy machine later still: looks
// until `read` gives what is wanted.
export async function becomes(read, wanted, what) {
  await until(async () => JSON.stringify(await read()) === JSON.stringify(wanted));
  expectEqual(await read(), wanted, what);
}

export const headingIs = (page, text, what) => becomes(() => heading(page), text, what);

// Whatever was asked for is drawn, and the tables beside the pictures tell of the same.
export async function shown(page) {
  await page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
}

// A module of the page's own sources, for comparing what it shows with how it should look.
export async function importSource(path) {
  const result = await build({
    entryPoints: [join(here, "..", path)],
    bundle: true,
    format: "esm",
    write: false,
    logLevel: "warning",
  });
  const text = Buffer.from(result.outputFiles[0].text).toString("base64");
  return import(`data:text/javascript;base64,${text}`);
}

export class Ground {
  constructor(tidemark, browser) {
    this.tidemark = resolve(tidemark);
    this.browser = browser;
    this.scratch = mkdtempSync(join(tmpdir(), "tidemark-browser-"));
    this.env = { ...process.env, TIDEMARK_CACHE: "off", NO_COLOR: "1" };
    for (const name of ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "TIDEMARK_EDITOR"])
      delete this.env[name];
    this.servers = [];
  }

  path(name) {
    return join(this.scratch, name);
  }

  write(name, text) {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  run(command, ...words) {
    const options = { cwd: this.scratch, env: this.env, encoding: "utf8", maxBuffer: 1 << 28 };
    const done = spawnSync(command, words.map(String), options);
    if (done.error) throw done.error;
    return done;
  }

  // tidemark WORDS, which must end well.
  tide(...words) {
    const done = this.run(this.tidemark, ...words);
    expect(done.status === 0, `tidemark ${words.join(" ")}: ${done.status} ${done.stderr}`);
    return done.stdout;
  }

  json(...words) {
    return JSON.parse(this.tide(...words, "--json"));
  }

  build(name, source, ...flags) {
    this.write(`${name}.c`, source);
    const done = this.run("cc", "-g", "-O1", "-fno-builtin", `${name}.c`, "-o", name, ...flags);
    expect(done.status === 0, `${name} does not build: ${done.stderr}`);
    return this.path(name);
  }

  // Starts tidemark WORDS and gives the page's address once it is printed.
  async serve(...words) {
    const child = spawn(this.tidemark, words.map(String), { cwd: this.scratch, env: this.env });
    this.servers.push(child);
    let said = "";
    const url = await new Promise((found, failed) => {
      const hear = (chunk) => {
        said += chunk;
        const match = /http:\/\/\S+\/[0-9a-f]{32}\//.exec(said);
        if (match) found(match[0]);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("exit", (status) => failed(new Error(`no page (${status}): ${said}`)));
    });
    return { url, child };
  }

  view(...files) {
    return this.serve("view", "--no-open", ...files);
  }

  // Servers in the background are nobody's children; they are the ones that work here.
  endDetached() {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        const isPage = words.includes("--detach") || words.includes("--view");
        if (isPage && readlinkSync(`/proc/${pid}/cwd`) === this.scratch) process.kill(Number(pid));
      } catch {
        continue; // gone meanwhile, or not ours to look at
      }
  }

  done() {
    for (const child of this.servers) if (child.exitCode === null) child.kill();
    this.endDetached();
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

// Opens a file so large that workers read and draw it, and turns its stacks round. The page is that
// of the file already, before it was large.
export async function seeLargeFile(ground, page, file) {
  const made = ground.run(join(dirname(ground.tidemark), "tests/compat/tide_make"), 3, 12000,
    "large.tide", 20);
  expect(made.status === 0, `no large capture: ${made.stderr}`);
  ground.tide("html", "-f", "-o", file, "large.tide");
  await page.addInitScript(() => {
    window.hired = 0;
    window.Worker = class extends window.Worker {
      constructor(...words) {
        super(...words);
        window.hired++;
      }
    };
    window.percents = []; // that are told of a picture
    new MutationObserver(() => {
      const head = document.querySelector(".head")?.textContent ?? "";
      const told = /working…\s(\d+)\s%/.exec(head);
      if (told && window.percents.at(-1) !== told[1]) window.percents.push(told[1]);
    }).observe(document, { childList: true, subtree: true, characterData: true });
  });
  await page.goto(`file://${ground.path(file)}`);
  await page.locator(".flame canvas").first().waitFor();
  const told = await heading(page);
  const before = await page.evaluate(() => window.hired);
  await page.evaluate(() => (location.hash = "pane=tree&invert=1"));
  await shown(page);
  const name = () => page.locator("table.tree tbody .name").first().innerText();
  const inverted = await name();
  await page.evaluate(() => (location.hash = "pane=tree"));
  await shown(page);
  expectEqual(before, 1, "workers that read it");
  expectEqual(await page.evaluate(() => window.hired), 2, "workers in all");
  expectEqual(await heading(page), told, "the sum");
  expect((await name()) !== inverted, "the tree was not turned round");
  const percents = (await page.evaluate(() => window.percents)).map(Number);
  const isRising = percents.every((one, i) => one <= 100 && one >= (percents[i - 1] ?? 0));
  expect(percents.length > 1 && isRising, `how much was done: ${percents.join(" ")}`);
}

// A page that is watched; `check` fails if it did what none may.
export async function open(browser, url, options = {}) {
  const { offline, allowed = /^$/, ...more } = options;
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    ...more,
  });
  const page = await context.newPage();
  const faults = [];
  const own = url.startsWith("file:") ? url.split("#")[0] : new URL(url).origin;
  page.on("pageerror", (error) => faults.push(`threw ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (["error", "warning"].includes(message.type()) && !allowed.test(text))
      faults.push(`console: ${text}`);
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(own) && !to.startsWith("data:") && !to.startsWith("blob:"))
      faults.push(`asked ${to}`);
  });
  if (offline) await context.setOffline(true);
  await page.goto(url);
  const check = () => expect(!faults.length, faults.join("; "));
  return { page, context, check };
}

// Runs tests one after another and counts them.
export async function runAll(tests, ground, isChosen) {
  let passed = 0;
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    if (!isChosen(name)) continue;
    const begun = Date.now();
    const opened = [];
    const look = async (url, options) => {
      const view = await open(ground.browser, url, options);
      opened.push(view);
      return view.page;
    };
    try {
      await test(ground, look);
      for (const view of opened) view.check();
      passed++;
      console.log(`ok ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}: ${error.message.split("\n").slice(0, 6).join("\n  ")}`);
      for (const { page } of opened)
        if (process.env.SHOTS)
          await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
    } finally {
      for (const { context } of opened) await context.close();
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return passed && !failed ? 0 : 1;
}

// Words for numbers of recordings that are exact: src/engine/units.ts wants to be told which are.
export function exactUnits({ EXACT, ...units }) {
  const ofTwo = (word) => (a, b) => units[word](a, b, EXACT);
  return {
    ...units,
    bytes: (n) => units.bytes(n, EXACT),
    count: (n) => units.count(n, EXACT),
    amount: ofTwo("amount"), change: ofTwo("change"),
    share: ofTwo("share"), percent: ofTwo("percent"),
  };
}
