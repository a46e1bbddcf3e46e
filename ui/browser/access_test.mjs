// SPDX-License-Identifier: Apache-2.0
//
// For everybody: axe-core finds nothing serious on any pane, light or dark, and all of it can be
// done without a mouse.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { expect, expectEqual } from "./stage.mjs";
import { PANES } from "./looks_test.mjs";

const { resolve } = createRequire(import.meta.url);
const axeSource = await readFile(resolve("axe-core/axe.min.js"), "utf8");

async function violations(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ["violations"] }),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0].target} ${nodes[0].failureSummary}`);
}

export async function expectAccessible(page, what) {
  const found = await violations(page);
  expect(!found.length, `${what}: ${found.join(" | ").slice(0, 900)}`);
}

export const tests = {
  async nothing_serious_on_any_pane(ground, look) {
    const page = await look(ground.served.url);
    for (const pane of PANES) {
      await page.locator(`#tab-${pane}`).click();
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page, `${pane} in ${colorScheme}`);
      }
    }
  },

  async nothing_serious_when_comparing(ground, look) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await look(ground.compared.url, { colorScheme });
      await page.locator(".diff-total").waitFor();
      await expectAccessible(page, `comparison in ${colorScheme}`);
      await page.keyboard.press("?");
      await expectAccessible(page, `keys in ${colorScheme}`);
    }
  },

  async graph_by_keyboard(ground, look) {
    const page = await look(ground.served.url);
    const grid = page.locator(".flame-mirror [role=treegrid]");
    await grid.focus();
    const active = () =>
      page.evaluate(() => {
        const grid = document.querySelector(".flame-mirror [role=treegrid]");
        return document.getElementById(grid.getAttribute("aria-activedescendant"))?.innerText ?? "";
      });
    const root = await active();
    await page.keyboard.press("ArrowDown");
    const child = await active();
    expect(child && child !== root, "the arrow does not move");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("zoom="));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("zoom="));
    await page.keyboard.press("Shift+F10");
    await page.getByRole("menu").waitFor();
    await page.keyboard.press("Escape");
    expectEqual(await page.getByRole("menu").count(), 0, "the menu stays");
  },

  async all_by_keyboard(ground, look) {
    const page = await look(ground.served.url);
    await page.locator("h2.asked").waitFor();
    for (let i = 0; i < 9; i++) {
      await page.keyboard.press(String(i + 1));
      await page.locator(`#tab-${PANES[i]}[aria-selected=true]`).waitFor();
    }
    await page.locator("#tab-source").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#tab-diff[aria-selected=true]").waitFor();
    await page.keyboard.press("1");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    const moment = page.getByRole("slider", { name: "Moment" });
    await moment.focus();
    const before = await moment.getAttribute("aria-valuetext");
    await page.keyboard.press("ArrowLeft");
    expect((await moment.getAttribute("aria-valuetext")) !== before, "the moment does not move");
    // Every stop of the tab key is seen, and it comes around.
    const seen = new Set();
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const at = document.activeElement;
        if (!at || at === document.body) return null;
        const style = getComputedStyle(at);
        const name = `${at.tagName} ${at.className} ${at.id} ${at.textContent?.slice(0, 20)}`;
        const marked = style.outlineStyle !== "none" || style.boxShadow !== "none";
        return { name, marked, hidden: at.closest("[aria-hidden=true]") !== null };
      });
      if (!stop) continue;
      seen.add(stop.name);
      expect(!stop.hidden, `${stop.name} is hidden and has the focus`);
      expect(stop.marked || /treegrid|TABLE|skip/.test(stop.name), `${stop.name}: focus not seen`);
    }
    expect(seen.size > 20, `only ${seen.size} stops`);
  },
};
