// SPDX-License-Identifier: Apache-2.0
//
// What is selected is one filter for every pane, wherever it was selected.

import { becomes, exactUnits, expect, expectEqual, heading, importSource } from "./stage.mjs";
import { shown } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

// By the address alone, on a page that is open.
async function turnTo(page, hash) {
  await page.evaluate((hash) => (location.hash = hash), hash);
  await shown(page);
}

const cells = (page, of) =>
  page
    .locator(`table tbody tr ${of}`)
    .evaluateAll((all) => all.map((one) => one.textContent.trim()));

export const tests = {
  // Who of the threads held it, at the peak as the report has it; a click leaves one, and its line.
  async threads_on_the_timeline(ground, look) {
    const page = await look(`${ground.served.url}#group=thread&measure=peak`);
    const { groups } = ground.json("report", "phases.tide", "--group", "thread", "--sort", "peak");
    const bands = page.locator(".timeline .bands button.band");
    const wanted = groups.filter(({ weight }) => weight).map(({ weight }) => units.bytes(weight));
    const told = async () => (await bands.locator("b").allInnerTexts()).sort();
    await becomes(told, wanted.sort(), "who held it");
    const [main] = groups;
    await bands.filter({ hasText: units.bytes(main.weight) }).click();
    await page.waitForFunction(() => location.hash.includes("thread="));
    const chosen = page.locator(".legend-item", { hasText: "selected" }).locator("b");
    await becomes(() => chosen.innerText(), units.bytes(main.weight), "its line");
  },


  // The command has no zoom, and stacks of this program go through a function one way.
  async a_zoom_is_for_every_pane(ground, look) {
    const page = await look(ground.served.url);
    const zoom = "zoom=main&zoom=build_index";
    const report = (...words) =>
      ground.json("report", "phases.tide", "--function", "^build_index$", ...words);
    const peak = report("--sort", "peak");
    await turnTo(page, `#${zoom}`);
    const weight = units.bytes(peak.wanted);
    await becomes(() => heading(page), weight, "the sum");
    // The table comes after all else of the first screen.
    await becomes(() => cells(page, ".c-name .name"), ["build_index"], "rows of the table");
    expectEqual(await cells(page, ".c-weight"), [weight], "and what they weigh");
    const said = await page.locator(".chips").innerText();
    expect(said.includes(`leaves ${weight} of `), `what it leaves: ${said}`);
    await turnTo(page, `#pane=table&group=function&measure=total&unit=blocks&${zoom}`);
    const total = report("--sort", "total", "--by", "blocks", "--group", "function");
    expectEqual(await cells(page, ".c-weight"), [units.count(total.wanted)], "blocks");
    await turnTo(page, `#pane=tree&${zoom}`);
    expectEqual(await cells(page, ".c-name .name"), ["main", "build_index"], "the way to it");
    await turnTo(page, `#pane=leaks&${zoom}`);
    const [kept] = report("--sort", "leak", "--group", "place").groups;
    expectEqual((await cells(page, ".c-weight"))[0], units.bytes(kept.live_bytes), "never freed");
    await turnTo(page, `#pane=threads&measure=peak&${zoom}`);
    const whole = await cells(page, ".c-weight");
    expect(whole.includes(weight), `of threads: ${whole}`);
    await turnTo(page, `#pane=sizes&${zoom}`);
    const sums = await page.locator("table.bars").first().locator("td.number").allInnerTexts();
    expect(sums.some((text) => text === weight), `sizes: ${sums}`);
    await turnTo(page, `#pane=source&${zoom}`);
    expect((await page.locator(".source").innerText()).includes(weight), "its lines");
    await turnTo(page, `#pane=diff&${zoom}`);
    expectEqual(await cells(page, ".c-name .name"), ["build_index"], "what changed");
    // Another part of the selection leaves it as it is, and what is searched is searched within.
    await turnTo(page, `#pane=threads&${zoom}`);
    await page.getByRole("button", { name: /main thread/ }).click();
    await page.waitForFunction(() => location.hash.includes("zoom=build_index&thread="));
    await turnTo(page, `#search=cache&${zoom}`);
    await becomes(() => page.locator("#search-result").innerText(), "0 B (0 %) in 0 frames",
      "found elsewhere");
  },
};
