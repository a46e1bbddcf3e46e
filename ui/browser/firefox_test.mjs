// SPDX-License-Identifier: Apache-2.0
//
// The same page in Firefox, as Debian has it: every pane, over three widths and both themes, and
// what hands do most. The browser is started by the first test that needs it; where there is none,
// there are no tests (tools/test.py wants it in CI).

import { existsSync } from "node:fs";
import { firefox } from "playwright-core";
import { isPainted, PANES } from "./looks_test.mjs";
import { expect, expectEqual, open, seeLargeFile, shown } from "./stage.mjs";

const WIDTHS = [700, 1280, 1920];
const EXECUTABLE = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
let started;

const launch = () =>
  (started ??= firefox.launch({ channel: "moz-firefox", executablePath: EXECUTABLE }));

export async function closeFirefox() {
  if (started) await (await started).close();
}

// Calls `see` with a page of a context of its own, and fails if that did what none may.
async function inFirefox(url, options, see) {
  const { page, context, check } = await open(await launch(), url, { permissions: [], ...options });
  try {
    await see(page);
    check();
  } finally {
    await context.close();
  }
}

function looksOf(pane) {
  const box = document.documentElement;
  const panel = document.querySelector("[role=tabpanel]:not([hidden])");
  return {
    pane,
    isWide: box.scrollWidth > box.clientWidth,
    text: panel?.innerText.trim().length ?? 0,
    chosen: document.querySelector("[role=tab][aria-selected=true]")?.textContent,
  };
}

// The tabs of panes that were looked at.
async function seePanes(page, url, panes) {
  const chosen = [];
  for (const pane of panes) {
    await page.goto(`${url}#pane=${pane}`);
    await shown(page);
    const seen = await page.evaluate(looksOf, pane);
    expect(!seen.isWide && seen.text > 20 && seen.chosen, JSON.stringify(seen));
    chosen.push(seen.chosen);
    for (const canvas of await page.locator(".timeline canvas, .flame canvas").all())
      expect(await canvas.evaluate(isPainted), `${pane}: a picture is empty`);
  }
  return chosen;
}

const all = {
  async firefox_shows_every_pane(ground) {
    const { url } = ground.served;
    const chosen = [];
    for (const [i, width] of WIDTHS.entries()) {
      const colorScheme = i % 2 ? "dark" : "light";
      const options = { viewport: { width, height: 900 }, colorScheme };
      const panes = PANES.filter((_, k) => k % WIDTHS.length === i);
      await inFirefox(url, options, async (page) => {
        chosen.push(...(await seePanes(page, url, panes)));
      });
    }
    expectEqual(new Set(chosen).size, PANES.length, `tabs: ${chosen}`);
  },

  async firefox_follows_hands(ground) {
    await inFirefox(ground.served.url, {}, async (page) => {
      await shown(page);
      const canvas = page.locator(".flame canvas").first();
      const box = await canvas.boundingBox();
      await canvas.click({ position: { x: box.width / 2, y: 50 } });
      await page.waitForFunction(() => location.hash.includes("zoom="));
      await page.evaluate(() => history.back());
      await page.waitForFunction(() => !location.hash.includes("zoom="));
      const line = page.locator(".timeline .u-over");
      const { x, y, width, height } = await line.boundingBox();
      await page.mouse.move(x + width * 0.2, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width * 0.8, y + height / 2, { steps: 4 });
      await page.mouse.up();
      await page.waitForFunction(() => /from=[^&]+/.test(location.hash));
      await page.keyboard.press("/");
      await page.keyboard.type("fill_cache");
      await page.waitForFunction(() => location.hash.includes("search=fill_cache"));
    });
  },

  async firefox_opens_a_file_offline(ground) {
    ground.tide("html", "-f", "-o", "firefox.html", "phases.tide");
    await inFirefox(`file://${ground.path("firefox.html")}`, {}, async (page) => {
      await shown(page);
      const names = await page.locator("table.grid .c-name .name").allInnerTexts();
      expectEqual(names[0], "fill_cache", "who is first");
      await seeLargeFile(ground, page, "firefox.html");
    });
  },
};

export const tests = existsSync(EXECUTABLE) ? all : {};
