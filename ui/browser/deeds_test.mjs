// SPDX-License-Identifier: Apache-2.0
//
// What a reader does to the page, one deed after another, each held against what the command says
// about the same: the menu of a box, chips, every key, and the address of all of it.

import { readFileSync } from "node:fs";
import { becomes, exactUnits, expect, expectEqual, headingIs } from "./stage.mjs";
import { importSource, shown } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

async function hashHas(page, text) {
  await becomes(() => page.url().includes(text), true, `${text} in ${page.url()}`);
}

// The menu of a function's box, by keyboard alone: down the widest way to it.
export async function menuOf(page, name) {
  const grid = page.locator(".flame-mirror [role=treegrid]").first();
  await grid.focus();
  await page.keyboard.press("Home");
  const active = () =>
    grid.evaluate((grid) => {
      const row = document.getElementById(grid.getAttribute("aria-activedescendant"));
      return row?.cells[0].textContent ?? "";
    });
  for (let i = 0; i < 12 && (await active()) !== name; i++) await page.keyboard.press("ArrowDown");
  expectEqual(await active(), name, "the box in focus");
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menu").waitFor();
}

export async function choose(page, label) {
  await page.getByRole("menuitem", { name: label }).focus();
  await page.keyboard.press("Enter");
}

export const tests = {
  async menu_of_a_box(ground, look) {
    const page = await look(ground.served.url);
    const report = (...words) => ground.json("report", "phases.tide", ...words);
    const all = units.bytes(report().wanted);
    await page.locator("h2.asked").waitFor();
    await menuOf(page, "fill_cache");
    await choose(page, "Copy name");
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    expectEqual(await clipboard(), "fill_cache", "what was copied");
    await menuOf(page, "fill_cache");
    await choose(page, "Focus on this function");
    await hashHas(page, "focus=");
    const focused = units.bytes(report("--focus", "^fill_cache$").wanted);
    await headingIs(page, focused, "in focus");
    expect(focused !== all, "the focus takes nothing away");
    const chip = page.locator(".chip", { hasText: "fill_cache" });
    await chip.focus();
    await page.keyboard.press("Delete");
    await headingIs(page, all, "without the chip");
    expect(await page.evaluate(() => document.activeElement !== document.body), "focus is lost");
    await menuOf(page, "fill_cache");
    await choose(page, "Hide this function");
    await hashHas(page, "hide=");
    const { groups } = report("--hide", "^fill_cache$", "--group", "function");
    const top = page.locator("table.grid tbody tr").first();
    const blamed = await top.locator(".c-name .name").innerText();
    expectEqual(blamed, groups[0].function, "who is blamed");
    expectEqual(await top.locator(".c-weight").innerText(), units.bytes(groups[0].weight), "by");
    await page.getByRole("button", { name: /hide|leave out/i }).first().waitFor();
    await page.locator(".chip").first().click();
    await menuOf(page, "fill_cache");
    await choose(page, "Search this name");
    const found = units.bytes(report("--function", "^fill_cache$").wanted);
    await page.locator("#search-result", { hasText: found }).waitFor();
    await page.keyboard.press("Escape");
    await menuOf(page, "fill_cache");
    await choose(page, "Show callers and callees");
    await page.locator("#tab-callers[aria-selected=true]").waitFor();
    await page.getByText(`${found} go through it`).waitFor();
  },

  // Deep first: the way down to `recurse` is not the widest one.
  async recursion_in_full(ground, look) {
    const page = await look(`${ground.served.url}#focus=^recurse$&measure=total`);
    const grid = page.locator(".flame-mirror [role=treegrid]").first();
    const levels = () =>
      grid.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.innerText));
    await grid.locator("tbody tr").nth(1).waitFor({ state: "attached" });
    expectEqual((await levels()).length, 2, "collapsed");
    await menuOf(page, "recurse");
    await choose(page, "Show recursion in full");
    await hashHas(page, "collapse=0");
    for (let i = 0; i < 7; i++) await page.keyboard.press("ArrowDown");
    await shown(page);
    expect((await levels()).length >= 7, `in full: ${await levels()}`);
    await page.locator(".chip", { hasText: "recursion" }).click();
    await becomes(() => page.url().includes("collapse"), false, "the chip in the address");
  },

  // Either half is zoomed by itself, found in, and as it was when the link is opened again.
  async callers_in_the_address(ground, look) {
    const page = await look(`${ground.served.url}#pane=callers&callee=main&measure=total`);
    const half = (page) => page.getByRole("treegrid", { name: /^Callees: / });
    await half(page).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await hashHas(page, "below=");
    expect(!page.url().includes("above="), page.url());
    await page.locator("#search").fill("main");
    await page.locator("#search").blur();
    await hashHas(page, "search=");
    await shown(page);
    const told = (page) => page.locator(".sandwich .flame-bar").allInnerTexts();
    const before = await told(page);
    const again = await look(page.url());
    await half(again).waitFor();
    await becomes(() => told(again), before, "in another window");
    await again.keyboard.press("Escape");
    await again.keyboard.press("Escape");
    await again.waitForFunction(() => !/below=|search=/.test(location.hash));
    expect((await told(again))[1] !== before[1], "Esc does not take the zoom back");
  },

  async every_key(ground, look) {
    const page = await look(ground.served.url);
    await page.locator("h2.asked").waitFor();
    const report = (...words) => ground.json("report", "phases.tide", ...words).wanted;
    for (const measure of ["live", "total", "grown", "leak", "temp", "peak"]) {
      await page.keyboard.press("m");
      const wanted = report("--sort", measure, "--by", "bytes");
      await headingIs(page, units.bytes(wanted), `M to ${measure}`);
    }
    await page.keyboard.press("u");
    await headingIs(page, units.amount(report("--by", "blocks"), "blocks"), "U");
    await page.keyboard.press("u");
    const slider = page.getByRole("slider", { name: "Moment" });
    const text = () => slider.getAttribute("aria-valuetext");
    await page.keyboard.press("e");
    const stops = [await text()];
    for (const key of ["[", "[", "]", "]"]) {
      await page.keyboard.press(key);
      await shown(page);
      stops.push(await text());
    }
    expect(stops[1] !== stops[0], `[ stays at ${stops[0]}`);
    expect(stops.some((stop) => /peak/.test(stop)), `no stop at the peak: ${stops}`);
    await page.keyboard.press("p");
    await page.keyboard.press("b");
    await page.locator("#tab-diff[aria-selected=true]").waitFor();
    await hashHas(page, "base=");
    await page.keyboard.press("b");
    await page.locator("#tab-overview[aria-selected=true]").waitFor();
    await page.keyboard.press("0");
    await page.locator("#tab-diff[aria-selected=true]").waitFor();
    await page.keyboard.press("t");
    await hashHas(page, "theme=");
    const before = page.url();
    await page.keyboard.press("/");
    await page.keyboard.type("mUe1]");
    expectEqual(await page.locator("#search").inputValue(), "mUe1]", "what is typed");
    expectEqual(page.url().replace(/&search=[^&]*/, ""), before, "typing is taken for keys");
  },

  // As a link is sent: everything at once, and the same again in another window.
  async a_link_holds_everything(ground, look) {
    const page = await look(ground.served.url);
    await page.locator("h2.asked").waitFor();
    const box = await page.locator(".timeline-area").boundingBox();
    const at = (share) => [box.x + box.width * share, box.y + box.height / 2];
    await page.mouse.move(...at(0.15));
    await page.mouse.down();
    for (const share of [0.2, 0.3, 0.45]) await page.mouse.move(...at(share));
    await page.mouse.up();
    await page.keyboard.press("r");
    await page.getByLabel("Group by").selectOption("file");
    await page.locator("#search").fill("cache");
    await page.locator("#search").blur();
    await menuOf(page, "main");
    await choose(page, "Zoom to this");
    await hashHas(page, "zoom=");
    await page.keyboard.press("f");
    await hashHas(page, "flip=1");
    await shown(page);
    const told = (page) =>
      page.evaluate(() => ({
        heading: document.querySelector("h2.asked").innerText,
        rows: [...document.querySelectorAll("table.grid tbody tr")].map((row) => row.innerText),
        range: [...document.querySelectorAll(".range-numbers button")].map((b) => b.innerText),
        found: document.querySelector("#search-result").innerText,
        chips: [...document.querySelectorAll(".chip")].map((chip) => chip.innerText),
        graph: [...document.querySelectorAll(".flame-mirror tbody tr")].map((row) => row.innerText),
      }));
    const before = await told(page);
    expect(before.chips.length > 0 && before.range[0].includes("grown"), JSON.stringify(before));
    const again = await look(page.url());
    await again.locator("h2.asked").waitFor();
    await becomes(() => told(again), before, "in another window");
    await again.reload();
    await again.locator("h2.asked").waitFor();
    await becomes(() => told(again), before, "reloaded");
  },

  // Each file is read by the command, which finds in it what the page shows.
  async files_of_what_is_seen(ground, look) {
    const report = (file, ...words) => ground.json("report", file, ...words);
    const page = await look(`${ground.served.url}#ignore=recurse&runtime=1`);
    await page.locator("h2.asked").waitFor();
    const saved = async (click, name) => {
      const [file] = await Promise.all([page.waitForEvent("download"), click()]);
      await file.saveAs(ground.path(name));
      return file.suggestedFilename();
    };
    const pick = async (words) => {
      await page.getByText("Save", { exact: true }).click();
      await page.getByRole("button", { name: words }).click();
    };
    const { wanted } = report("phases.tide", "--ignore", "recurse");
    await saved(() => pick("its stacks, folded"), "seen.folded");
    ground.tide("export", "--to", "folded", "--ignore", "recurse", "-o", "own.folded",
      "phases.tide");
    const lines = (name) => readFileSync(ground.path(name), "utf8").trim().split("\n").sort();
    expectEqual(lines("seen.folded"), lines("own.folded"), "folded");
    const name = await saved(() => pick("its stacks, pprof"), "seen.pb.gz");
    expectEqual(name, "phases.peak.pb.gz", "its name");
    const read = report("seen.pb.gz", "--group", "function");
    expectEqual(read.wanted, wanted, "pprof");
    expectEqual(read.groups[0].function, "fill_cache", "of whom most is");
    await saved(() => pick("the table, CSV"), "seen.csv");
    expect(/,fill_cache,/.test(readFileSync(ground.path("seen.csv"), "utf8")), "no row");
    await saved(() => pick("the graph, SVG"), "seen.svg");
    const drawn = await page.evaluate((text) => {
      const made = new DOMParser().parseFromString(text, "image/svg+xml");
      return [made.documentElement.tagName, [...made.querySelectorAll("text")].map((t) =>
        t.textContent)];
    }, readFileSync(ground.path("seen.svg"), "utf8"));
    expectEqual(drawn[0], "svg", "what it is");
    expect(drawn[1].includes("fill_cache"), `boxes ${drawn[1]}`);
    // A suppression is the command's.
    await page.evaluate(() => (location.hash = "pane=leaks"));
    await page.getByRole("button", { name: "suppress build_index" }).click();
    const row = page.locator("table.grid").first().locator(".name", { hasText: "build_index" });
    await becomes(() => row.count(), 0, "rows of it");
    await saved(
      () => page.getByRole("button", { name: "Save as a file of suppressions" }).click(),
      "known.supp",
    );
    const { suppressed } = report("phases.tide", "--sort", "leak", "--suppressions", "known.supp");
    const told = page.getByRole("group", { name: "Suppressed" }).locator("b");
    expectEqual(await told.innerText(), units.bytes(suppressed), "suppressed");
    expect(suppressed > 0, "nothing was suppressed");
    await page.locator(".suppressed .chip").click();
    await becomes(() => row.count(), 1, "there again");
  },
};
