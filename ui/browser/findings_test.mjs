// SPDX-License-Identifier: Apache-2.0
//
// Findings on the first screen: in the words of "explain", each on a card that selects its place.

import { readFileSync } from "node:fs";
import { becomes, exactUnits, expect, expectEqual, heading, importSource } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

async function served(ground) {
  if (!ground.faults) {
    const source = readFileSync(new URL("../test/page_faults.c", import.meta.url), "utf8");
    const program = ground.build("faults", source, "-O1");
    ground.tide("run", "-q", "-o", "faults.tide", "--", program);
    ground.faults = await ground.view("faults.tide");
  }
  return ground.faults.url;
}

const texts = (page, of) => page.locator(of).allTextContents();
const plain = (text) => text.replace(/\s+/g, " ").trim();
const words = ({ heading, sentence, advice }) => [heading, sentence, advice].map(plain);

export const tests = {
  // Those that should be changed come first; a note is beside its place; all of them are there.
  async findings_are_those_of_explain(ground, look) {
    const page = await look(await served(ground));
    const cards = page.locator(".card");
    await cards.first().waitFor();
    const { findings } = ground.json("explain", "faults.tide");
    const sure = findings.filter(({ confidence }) => confidence !== "low");
    expect(sure.length > 0 && sure.length < findings.length, JSON.stringify(findings));
    expectEqual(await cards.count(), 3, "cards");
    const heads = (await texts(page, ".card-numbers")).map(plain);
    const said = (await texts(page, ".card .sentence")).map(plain);
    sure.forEach((one, i) => {
      expect(heads[i].includes(plain(one.heading)), heads[i]);
      expectEqual(said[i], plain(one.sentence), "in order");
    });
    await page.locator(".verdict summary").click();
    const all = plain(await page.locator(".top").textContent());
    for (const part of findings.flatMap(words)) expect(all.includes(part), `${part}: ${all}`);
  },

  // At every width, in light and dark, the cause and the way to it are on the first screen.
  async cards_select_exactly_their_place(ground, look) {
    const page = await look(await served(ground));
    const [first] = ground.json("explain", "faults.tide").findings;
    const sizes = [[700, 900, "dark"], [1920, 1080, "dark"], [1280, 800, "light"]];
    const card = page.locator(".card").first();
    for (const [width, height, colorScheme] of sizes) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      for (const part of [card.locator(".card-name"), card.getByRole("button")]) {
        const { x, y, width: w, height: h } = await part.boundingBox();
        expect(x >= 0 && x + w <= width && y + h <= height, `${x} ${y} at ${width}`);
      }
    }
    const number = await card.locator(".card-numbers b").innerText();
    await card.getByRole("button", { name: "Select" }).click();
    await page.waitForFunction(() => location.hash.includes("row=place"));
    const rows = () => texts(page, "table.grid .c-name .name");
    await becomes(rows, [first.function], "the place alone");
    expectEqual(await heading(page), number, "as much as the card says");
    expect((await page.evaluate(() => location.hash)).includes(`measure=${first.see}`), first.see);
    const chip = page.locator(".chip", { hasText: "only place" });
    expect((await chip.innerText()).includes(first.function), await chip.innerText());
    await card.getByRole("button", { name: "Selected" }).click();
    await becomes(() => page.locator(".chip").count(), 0, "everything again");
    await becomes(async () => (await rows()).length > 1, true, "all places");
  },

  // A thread, a class of size and a search are obeyed by panes alike, chips, and in the address.
  async one_selection_everywhere(ground, look) {
    const { groups } = ground.json("report", "phases.tide", "--sort", "leak", "--group", "thread");
    const page = await look(`${ground.served.url}#pane=threads&measure=leak`);
    const names = page.locator("table.grid .c-name button.opener");
    await names.first().waitFor();
    const row = page.locator("table.grid tbody tr").last();
    const weight = await row.locator(".c-weight").innerText();
    expect(groups.some(({ live_bytes }) => units.bytes(live_bytes) === weight), weight);
    await row.locator("button.opener").click();
    await page.waitForFunction(() => location.hash.includes("thread="));
    await becomes(() => heading(page), weight, "that thread's");
    await page.locator(".chip", { hasText: "only thread" }).waitFor();
    await page.locator("#tab-leaks").click();
    const caption = page.locator("table.grid caption").first();
    await becomes(async () => (await caption.innerText()).includes(weight), true, "what it leaked");
    await page.locator("#tab-table").click();
    await becomes(() => heading(page), weight, "in the table");
    await page.reload();
    await becomes(() => heading(page), weight, "by the address");
    await page.locator("#tab-sizes").click();
    const bar = page.locator("table.bars").first().locator("tr", { has: page.locator("button") });
    const size = await bar.first().locator("td.number").first().innerText();
    await bar.first().locator("td.wide").click({ force: true });
    await page.waitForFunction(() => location.hash.includes("size="));
    await becomes(() => heading(page), size, "of that size, of that thread");
    await page.getByRole("button", { name: "Clear all" }).click();
    await becomes(() => page.locator(".chip").count(), 0, "nothing is selected");
    await page.goto(`${ground.served.url}#pane=table&search=FILL_|fill_`);
    const shown = () => texts(page, "table.grid .c-name .name");
    await becomes(shown, ["fill_cache"], "rows with a match");
    expectEqual(await texts(page, "table.grid mark"), ["fill_"], "marked");
    await page.getByRole("button", { name: "Only these" }).click();
    await page.locator(".chip", { hasText: "only with function" }).waitFor();
  },
};
