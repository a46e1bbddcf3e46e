// SPDX-License-Identifier: Apache-2.0
//
// What is seen is what is meant: tips of what is below the pointer now, names that differ, a zoom
// that leads nowhere, tabs that are all there.

import { DEEP, LONG_ARGUMENT, SIBLINGS, templatesFile } from "./programs.mjs";
import { becomes, expect, expectEqual, shown } from "./stage.mjs";

async function templates(ground) {
  ground.write("templates.json", templatesFile());
  return (ground.templates ??= await ground.view("templates.json"));
}

export const tests = {
  async tip_follows_scrolling(ground, look) {
    const { url } = await templates(ground);
    const page = await look(url, { viewport: { width: 1280, height: 400 } });
    const canvas = page.locator(".flame canvas").first();
    await canvas.evaluate((canvas) => canvas.scrollIntoView({ block: "end" }));
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 5, box.y + 70);
    const name = () => page.locator(".flame-tip-name").allInnerTexts();
    await becomes(async () => /^level_\d+$/.test((await name())[0]), true, "a tip");
    const [before] = await name();
    const scroll = (by) =>
      page.locator(".flame-scroll").first().evaluate((frame, by) => (frame.scrollTop += by), by);
    await scroll(200);
    const wanted = DEEP[DEEP.indexOf(before) - 10]; // the innermost is the first of them
    await becomes(name, [wanted], "ten rows on");
    await scroll(-200);
    await becomes(name, [before], "and back");
    await page.evaluate(() => scrollTo(0, 0));
    await becomes(async () => (await canvas.boundingBox()).y > box.y + 70, true, "out of sight");
    await becomes(name, [], "a tip of what is elsewhere");
  },

  async names_side_by_side(ground, look) {
    const { url } = await templates(ground);
    const page = await look(url);
    await page.locator("table.grid .c-name .name").first().waitFor();
    await shown(page);
    const rows = await page.locator("table.grid .c-name .name").allInnerTexts();
    const told = rows.filter((row) => row.includes("Registry"));
    expectEqual(told.length, SIBLINGS.length, `rows ${rows}`);
    expectEqual(new Set(told).size, SIBLINGS.length, `rows ${told}`);
    const grid = page.locator(".flame-mirror [role=treegrid]");
    await grid.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await shown(page);
    const boxes = await grid.locator("tbody tr td:first-child").allInnerTexts();
    const alike = boxes.filter((text) => text.includes("Registry"));
    expectEqual(new Set(alike).size, SIBLINGS.length, `boxes ${boxes}`);
    expect(alike.every((text) => text.length < 120), `too long: ${alike}`);
  },

  // The field has what people read; what is chosen there is the function itself.
  async function_to_choose(ground, look) {
    const { url } = await templates(ground);
    const long = SIBLINGS.find((name) => name.includes(LONG_ARGUMENT));
    const page = await look(`${url}#pane=callers&callee=${encodeURIComponent(long)}`);
    const field = page.locator(".sandwich input");
    await becomes(async () => (await field.inputValue()).includes("Registry"), true, "its name");
    const said = await field.inputValue();
    expect(said.length < 120 && said !== long, `the field has ${said}`);
    const choices = page.locator("#functions option");
    const values = await choices.evaluateAll((all) => all.map((one) => one.value));
    expectEqual(new Set(values).size, values.length, `choices ${values}`);
    const other = values.find((value) => value.includes("<B"));
    await field.fill(other);
    await page.keyboard.press("Enter");
    await page.waitForFunction(
      (name) => new URLSearchParams(location.hash.slice(1)).get("callee") === name,
      SIBLINGS[1],
    );
    await page.getByText("go through it").waitFor();
  },

  async zoom_that_leads_nowhere(ground, look) {
    const page = await look(`${ground.served.url}#zoom=main&zoom=nosuch`);
    const chip = page.locator(".chip", { hasText: "zoom" });
    await chip.getByText("“nosuch” is not here").waitFor();
    await chip.click();
    await page.waitForFunction(() => !location.hash.includes("zoom"));
    await page.goto(`${ground.served.url}#zoom=main`);
    await chip.waitFor();
    expectEqual(await page.locator(".chip-fault").count(), 0, "main is there");
  },

  async tabs_in_sight(ground, look) {
    const page = await look(ground.served.url);
    for (const width of [400, 700, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await shown(page);
      const outside = await page.locator("[role=tab]").evaluateAll((tabs) =>
        tabs
          .filter((tab) => tab.getBoundingClientRect().right > innerWidth)
          .map((tab) => tab.innerText),
      );
      expectEqual(outside, [], `tabs cut off in ${width}`);
    }
  },
};
