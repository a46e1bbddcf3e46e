// SPDX-License-Identifier: Apache-2.0
//
// What is seen is what is meant: tips of what is below the pointer now, names that differ, a zoom
// that leads nowhere, tabs that are all there.

import { DEEP, DEEP_CALLS, LONG_ARGUMENT, placesFile, SIBLINGS, templatesFile }
  from "./programs.mjs";
import { becomes, exactUnits, expect, expectEqual, importSource, shown, until } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

const NARROW = { viewport: { width: 700, height: 900 } };

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
    const rows = await page.locator("table.grid .c-name .name").allTextContents();
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

  // Who held it: the bands of the chart, as high as the command says, and each a way to its stacks.
  async bands_of_the_timeline(ground, look) {
    const page = await look(ground.served.url);
    const bands = page.locator(".bands button.band");
    await bands.first().waitFor();
    const { groups } = ground.json("report", "phases.tide", "--group", "place", "-n", "100000");
    const told = async (name) => bands.filter({ hasText: name }).first().locator("b").innerText();
    for (const name of ["fill_cache", "worker"]) {
      const { peak_bytes } = groups.find((one) => one.function === name);
      expectEqual(await told(name), units.bytes(peak_bytes), `${name} at the peak`);
    }
    await page.keyboard.press("e");
    const atEnd = groups.find((one) => one.function === "worker").live_bytes;
    await becomes(() => told("worker"), units.bytes(atEnd), "worker at the end");
    // Its colour is in the chart, below the line, where it held most of it.
    const swatch = await bands.first().locator(".swatch").evaluate(
      (one) => getComputedStyle(one).backgroundColor.match(/\d+/g).map(Number));
    const isThere = await page.locator(".timeline canvas").first().evaluate((canvas, [r, g, b]) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let n = 0;
      for (let i = 0; i < data.length; i += 4)
        n += data[i] === r && data[i + 1] === g && data[i + 2] === b;
      return n > 200;
    }, swatch);
    expect(isThere, `no band of ${swatch}`);
    await bands.filter({ hasText: "fill_cache" }).click();
    await page.waitForFunction(() => location.hash.includes("row=place%20fill_cache%20"));
    await becomes(() => bands.count(), 1, "bands left");
    const chosen = page.locator(".legend-item", { hasText: "selected" }).locator("b");
    const { live_bytes: left } = groups.find((one) => one.function === "fill_cache");
    await becomes(() => chosen.innerText(), units.bytes(left), "what is left of it, as selected");
    await page.evaluate(() => (location.hash = "search=fill_cache&measure=live"));
    await becomes(() => chosen.innerText(), units.bytes(left), "as searched for");
    await page.goBack();
    await page.goBack();
    await becomes(async () => (await bands.count()) > 1, true, "all bands again");
    // Twice clicked in the chart, the band that is there: at the peak fill_cache is the lowest.
    const area = await page.locator(".timeline-area").boundingBox();
    await page.keyboard.press("p");
    const slider = page.getByRole("slider", { name: "Moment" });
    const [now, most] = await slider.evaluate((one) =>
      ["now", "max"].map((key) => Number(one.getAttribute(`aria-value${key}`))));
    const x = area.x + (area.width * now) / most;
    await page.mouse.dblclick(x - 1, area.y + area.height * 0.6);
    await page.waitForFunction(() => location.hash.includes("row=place%20fill_cache%20"));
    await page.goto(`${ground.served.url}#who=0`);
    await page.locator("h2.asked").waitFor();
    await becomes(() => bands.count(), 0, "without them");
  },

  // Any time may be asked for; which snapshot answers is said.
  async what_a_moment_snaps_to(ground, look) {
    const page = await look(ground.served.url);
    const label = page.locator(".handle.moment .handle-label");
    const isNearest = async (ms) => { // a snapshot may have been taken at just that time
      await page.evaluate((ms) => (location.hash = `measure=live&at=0.${ms}4s`), ms);
      await page.waitForFunction((ms) => document.querySelector(".handle.moment .handle-label")
        ?.innerText.match(/^\d+ ms/) && location.hash.includes(ms), ms);
      await shown(page);
      return (await label.innerText()).includes(` ms (nearest to ${ms} ms): `);
    };
    const times = [123, 144, 165, 187, 203, 221];
    const told = [];
    for (const ms of times) told.push(await isNearest(ms));
    expect(told.some(Boolean), `what it is nearest to: ${told}`);
    const gaps = await page.locator(".range-numbers").innerText();
    expect(/known by stack at \d+ snapshots \(marked\), at most \S+ ms apart\./.test(gaps), gaps);
    const area = await page.locator(".timeline-area").boundingBox();
    await page.mouse.move(area.x + area.width / 3, area.y + 40);
    const pointed = page.locator(".pointed");
    await becomes(async () => /a click selects /.test(await pointed.innerText()), true, "a click");
    const selects = /a click selects (.*)/.exec(await pointed.innerText())[1];
    const below = await page.locator(".timeline-area").boundingBox();
    expect(below.y === area.y, `the chart moved from under the pointer: ${area.y}, ${below.y}`);
    await page.mouse.click(area.x + area.width / 3, area.y + 40);
    await becomes(async () => (await label.innerText()).startsWith(`${selects}:`), true, selects);
  },

  // The wheel comes nearer to what is below it; what is selected there is as in the address.
  async time_from_nearer(ground, look) {
    const page = await look(ground.served.url);
    await page.locator(".bands button.band").first().waitFor();
    const area = await page.locator(".timeline-area").boundingBox();
    const run = Number(await page.getByRole("slider", { name: "Moment" })
      .getAttribute("aria-valuemax"));
    await page.mouse.move(area.x + area.width / 2, area.y + 40);
    await page.mouse.wheel(0, 200);
    await shown(page);
    expect(!page.url().includes("left="), "further away than all of it");
    for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -100);
    const times = () => ["left", "right"].map((key) =>
      1000 * Number(new RegExp(`${key}=([\\d.]+)s`).exec(page.url())?.[1]));
    await becomes(async () => Math.round((times()[1] - times()[0]) / (run / 4) * 10), 10, "a 4th");
    const [left, right] = times();
    expect(Math.abs((left + right) / 2 - run / 2) < run / 100, `around ${left}, ${right}`);
    await shown(page);
    await page.mouse.click(area.x + area.width * 0.75, area.y + 40);
    const at = async () => Number(await page.getByRole("slider", { name: "Moment" })
      .getAttribute("aria-valuenow"));
    // It snaps to a snapshot, and of a busy machine these may be far apart.
    await becomes(async () => Math.abs((await at()) - (left + 0.75 * (right - left))) < run / 10,
      true, "a click there");
    const part = ((await at()) - left) / (right - left);
    if (part >= 0 && part <= 1) {
      const handle = await page.locator(".handle.moment").boundingBox();
      expect(Math.abs(handle.x - area.x - part * area.width) < 12, `the moment is at ${handle.x}`);
    }
    await page.getByRole("button", { name: "All of the time" }).click();
    await page.waitForFunction(() => !location.hash.includes("left="));
    await page.keyboard.press("+");
    await page.waitForFunction(() => location.hash.includes("left="));
    await page.keyboard.press("-");
    await page.waitForFunction(() => !location.hash.includes("left="));
  },

  async room_for_the_graph(ground, look) {
    const program = ground.build("deep", DEEP_CALLS);
    ground.tide("run", "-q", "-o", "deep.tide", "--", program);
    const { url } = await ground.view("deep.tide");
    const page = await look(url, { viewport: { width: 1280, height: 800 } });
    await page.locator(".bands button.band").first().waitFor();
    const cards = page.locator(".card:visible");
    expectEqual(await cards.count(), 3, "cards beside a graph with room");
    const ends = await page.locator(".card-name b, .band-name").evaluateAll((names) => {
      const right = (of) => of.getBoundingClientRect().right;
      const seen = names.filter((name) => name.querySelector(".middle") && name.checkVisibility());
      const end = (name) => name.querySelector(".middle > span:last-child");
      return seen.map((name) => right(end(name)) <= right(name) + 1);
    });
    expect(ends.length >= 3 + 4 && ends.every(Boolean), `ends of names that are seen: ${ends}`);
    for (const pane of ["overview", "graph"]) {
      await page.locator(`#tab-${pane}`).click();
      await shown(page);
      const seen = await page.locator(".flame-scroll").first().evaluate((frame) => {
        const { top, bottom } = frame.getBoundingClientRect();
        return Math.floor((Math.min(bottom, innerHeight) - top) / 20);
      });
      expect(seen >= 20, `${seen} rows of the graph are seen in ${pane}`);
    }
    await page.locator(".flame-beyond", { hasText: /▾ \d+ more rows/ }).click();
    await becomes(
      () => page.locator(".flame-scroll").first().evaluate((frame) => frame.scrollTop > 0),
      true,
      "further down",
    );
    await page.locator("#tab-overview").click();
    const { findings } = ground.json("explain", "deep.tide");
    const sure = findings.filter(({ confidence }) => confidence !== "low").length;
    if (sure > 3) await page.locator(".more-cards > summary").click();
    await becomes(() => cards.count(), Math.max(3, Math.min(sure, 5)), "all cards");
  },

  // What is zoomed to is the first row; what leads to it are steps back out.
  async crumbs_of_a_zoom(ground, look) {
    const { url } = await templates(ground);
    const way = ["main", ...DEEP.slice(60).reverse()];
    const hash = way.map((name) => `zoom=${name}`).join("&");
    const page = await look(`${url}#${hash}`);
    const crumbs = page.locator(".flame-crumbs");
    await crumbs.locator("b", { hasText: "level_60" }).waitFor();
    const texts = await crumbs.locator("button").allInnerTexts();
    expectEqual(texts, ["all", "main", "level_64", "level_63", "level_62", "level_61"], "the way");
    await shown(page);
    const canvas = page.locator(".flame canvas").first();
    const tip = page.locator(".flame-tip-name", { hasText: "level_60" });
    let x = 300; // what is above the graph may still grow, and move it away from the pointer
    const isTold = await until(async () => {
      await canvas.hover({ position: { x: x++, y: 8 } });
      return tip.isVisible();
    });
    expect(isTold, "no tip of what the graph is zoomed to");
    await page.locator(".flame-mirror [role=treegrid]").focus();
    await page.keyboard.press("ArrowUp");
    await crumbs.locator("b", { hasText: "level_61" }).waitFor();
    await crumbs.getByRole("button", { name: "main" }).click();
    await page.waitForFunction(() => location.hash === "#zoom=main");
    await crumbs.getByRole("button", { name: "all" }).click();
    await becomes(() => crumbs.count(), 0, "everything is seen");
  },

  async names_have_the_widest_column(ground, look) {
    for (const width of [1280, 1920])
      for (const pane of ["overview", "table"]) {
        const size = { viewport: { width, height: 900 } };
        const page = await look(`${ground.served.url}#pane=${pane}`, size);
        await page.locator("table.grid .c-name .name").first().waitFor();
        const widths = await page.locator("table.grid thead th").evaluateAll((all) =>
          all.map((th) => [th.className.split(" ")[0], th.getBoundingClientRect().width]));
        const widest = widths.reduce((a, b) => (b[1] > a[1] ? b : a));
        expectEqual(widest[0], "c-name", `${pane} at ${width}: ${widths.join(" ")}`);
      }
  },

  async columns_as_the_reader_wants(ground, look) {
    const size = { viewport: { width: 1400, height: 900 } };
    const page = await look(`${ground.served.url}#pane=table`, size);
    const head = (of, id) => of.locator(`table.grid th.c-${id}`);
    const widthOf = async (of, id) => Math.round((await head(of, id).boundingBox()).width);
    await head(page, "total").waitFor();
    const edge = head(page, "live").getByRole("separator");
    const before = await widthOf(page, "live");
    const { x, y } = await edge.boundingBox();
    await page.mouse.move(x + 4, y + 8);
    await page.mouse.down();
    await page.mouse.move(x + 44, y + 8, { steps: 4 });
    await page.mouse.up();
    await becomes(() => widthOf(page, "live"), before + 40, "dragged");
    await edge.focus();
    await page.keyboard.press("ArrowLeft");
    await becomes(() => widthOf(page, "live"), before + 24, "by keys");
    await page.getByText("Columns", { exact: true }).click();
    await page.getByLabel("Allocated", { exact: true }).uncheck();
    await page.getByLabel("Over time").uncheck();
    await becomes(() => head(page, "total").count(), 0, "hidden");
    expectEqual(await page.locator("td.c-total, td.c-spark").count(), 0, "cells of hidden columns");
    await page.reload();
    await head(page, "live").waitFor();
    expectEqual(await head(page, "total").count(), 0, "remembered as hidden");
    expectEqual(await widthOf(page, "live"), before + 24, "remembered as wide");
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("button", { name: "As at first" }).click();
    await becomes(() => widthOf(page, "live"), before, "as at first");
    expectEqual(await head(page, "total").count(), 1, "there again");
  },

  // A box is told with its blocks, its end, its times and its course; colours say what they mean.
  async boxes_and_their_colours(ground, look) {
    const { url } = ground.served;
    const { groups } = ground.json("report", "phases.tide", "--group", "function");
    const of = groups.find((one) => one.function === "fill_cache");
    const page = await look(`${url}#focus=^fill_cache$&colour=own`);
    const canvas = page.locator(".flame canvas").first();
    await shown(page);
    const tip = page.locator(".flame-tip");
    let x = 200; // what is above the graph may still move it
    await until(async () => {
      await canvas.hover({ position: { x: x++, y: 30 } });
      return tip.isVisible();
    });
    const told = await tip.locator(".tip-more div").evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((one) => one.textContent)));
    const wanted = [["blocks", units.count(of.peak_blocks)],
      ["at the end", units.bytes(of.live_bytes)]];
    expectEqual(told.slice(0, 2), wanted, "what is told of a box");
    expect(/ to /.test(told[2][1]), `seen ${told[2]}`);
    await tip.locator("svg.spark path").first().waitFor({ state: "attached" });
    const colours = page.getByRole("list", { name: "Colours" });
    expectEqual(await colours.innerText(), "own code", "by whose code it is");
    await page.getByLabel("Colour by").selectOption("file");
    await becomes(() => colours.innerText(), "phases.c", "by file");
    await page.waitForFunction(() => location.hash.includes("colour=file"));
  },

  // Columns that there is no room for are hidden, and cells over several take none for them.
  async names_have_the_room_of_narrow_tables(ground, look) {
    const width = (page) => page.locator("th.c-name").first().evaluate((head) => head.offsetWidth);
    const page = await look(`${ground.served.url}#pane=table`, NARROW);
    await page.locator("th.c-name").first().waitFor();
    await shown(page);
    const before = await width(page);
    expect(before > 400, `the name's column is ${before} wide`);
    await page.locator("td.c-name button.opener").first().click();
    await page.locator("tr.detail").first().waitFor();
    await becomes(() => width(page), before, "with a row opened");
    ground.write("places.json", placesFile(250));
    const { url } = await ground.view("places.json");
    const leaks = await look(`${url}#pane=leaks`, NARROW);
    await leaks.getByText("50 places more").waitFor();
    expectEqual(await leaks.locator(".pane tbody tr").count(), 201, "rows, and how many more");
    const [table, name] = await leaks.evaluate(() => [".pane table", "th.c-name"].map((of) =>
      document.querySelector(of).getBoundingClientRect().width));
    expect(table > 600 && name > 300, `leaks: names have ${name} of ${table}`);
  },

  // Names are cut where there is no room, but not the line that tells rows of one name apart.
  async lines_of_rows_are_seen(ground, look) {
    const page = await look(ground.served.url, { viewport: { width: 1920, height: 1000 } });
    await page.locator(".brief-table .at").first().waitFor();
    await shown(page);
    const cut = await page.locator(".brief-table .at").evaluateAll((places) =>
      places.filter((place) => /:\d+$/.test(place.textContent)).map((place) => {
        const line = place.querySelector(".middle > span:last-child");
        const [inner, outer] = [line ?? place, place.closest("td")].map((one) =>
          one.getBoundingClientRect());
        return line && inner.right <= outer.right + 0.5 && inner.width > 0 ? "" : place.textContent;
      }));
    expect(cut.length > 2, `${cut.length} rows with a line`);
    expectEqual(cut.filter(Boolean), [], "lines that are cut off");
  },

  async what_a_search_found_is_not_cut(ground, look) {
    for (const width of [700, 1280, 1920]) {
      const viewport = { width, height: 800 };
      const page = await look(`${ground.served.url}#pane=graph&search=fill`, { viewport });
      const found = page.locator("#search-result");
      await becomes(async () => /%/.test(await found.innerText()), true, "what it found");
      const [inner, outer] = await found.evaluate((one) => [one.scrollWidth, one.clientWidth]);
      expect(inner <= outer, `at ${width}: ${inner} in ${outer}`);
    }
  },

  // However near each other they are.
  async moments_compared_are_told_apart(ground, look) {
    const page = await look(`${ground.served.url}#pane=diff&base=1s&at=1s&measure=live`);
    await page.locator(".mark.compared .mark-name").last().waitFor();
    await shown(page);
    const names = await page.locator(".mark.compared .mark-name").evaluateAll((all) =>
      all.map((one) => one.getBoundingClientRect()).map(({ left, right, top, bottom }) =>
        ({ left, right, top, bottom })));
    expectEqual(names.length, 2, "moments");
    const [a, b] = names;
    const isApart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top ||
      b.bottom <= a.top;
    expect(isApart, `their names: ${JSON.stringify(names)}`);
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
