// SPDX-License-Identifier: Apache-2.0
//
// The graph under the hand: nearer by wheel and by key, along by drag, by keys and by the map of
// the whole, and back.

import { choose, menuOf } from "./deeds_test.mjs";
import { dhatFile } from "./programs.mjs";
import { becomes, exactUnits, expect, expectEqual, heading } from "./stage.mjs";
import { importSource, shown } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

const spanOf = (page) =>
  /[#&]span=([\d.]+)-([\d.]+)/.exec(page.url())?.slice(1).map(Number) ?? null;

async function spanIs(page, wanted, what) {
  const read = () => spanOf(page)?.map((percent) => Math.round(percent * 10) / 10) ?? null;
  await becomes(read, wanted, what);
}

// Where the map says that one is, in percent.
const mapped = (page) =>
  page.locator(".flame-map").evaluate((map) => {
    const [all, seen] = [map, map.querySelector("span")].map((one) => one.getBoundingClientRect());
    const inner = all.width - 2;
    const percent = (x) => Math.round((1000 * (x - all.left - 1)) / inner) / 10;
    return [percent(seen.left), percent(seen.right)];
  });

const closeTo = (found, wanted) => found.every((n, i) => Math.abs(n - wanted[i]) < 1);

export const tests = {
  async nearer_by_wheel(ground, look) {
    const page = await look(`${ground.served.url}#pane=graph`);
    const canvas = page.locator(".flame canvas");
    const box = await canvas.boundingBox();
    const at = (x) => [box.x + box.width * x, box.y + 50];
    const said = await heading(page);
    await page.evaluate(() => {
      window.kept = [];
      addEventListener("wheel", (event) => window.kept.push(event.defaultPrevented));
    });
    const turned = (n, what) => becomes(() => page.evaluate(() => window.kept), n, what);
    await page.mouse.move(...at(0.05));
    const ring = async () => {
      const { x, width } = await page.locator(".flame-hover").boundingBox();
      return [x, x + width].map((edge) => Math.round((1000 * (edge - box.x)) / box.width) / 10);
    };
    await page.locator(".flame-hover").waitFor();
    const [, right] = await ring(); // from 0 %
    await page.mouse.wheel(0, -100);
    await turned([false], "the wheel alone is the page's");
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -100);
    await turned([false, true], "with Ctrl it is the graph's");
    await spanIs(page, [2.5, 52.5], "nearer to what is below the pointer");
    const wanted = [0, 2 * (right - 2.5)];
    await becomes(async () => closeTo(await ring(), wanted), true, `the box at ${wanted}`);
    expectEqual(await heading(page), said, "the sum");
    await page.keyboard.up("Control");
    // A drag moves along, and is no click.
    await page.mouse.move(...at(0.6));
    await page.mouse.down();
    for (const x of [0.5, 0.3, 0.2]) await page.mouse.move(...at(x));
    await page.mouse.up();
    await spanIs(page, [22.5, 72.5], "dragged");
    expect(!page.url().includes("zoom="), "a drag is taken for a click");
    expect(closeTo(await mapped(page), [22.5, 72.5]), `the map: ${await mapped(page)}`);
    await page.keyboard.down("Shift");
    await page.mouse.wheel(0, box.width / 10);
    await page.keyboard.up("Shift");
    await spanIs(page, [27.5, 77.5], "by the wheel with Shift");
    // The same in another window; Back is not a hundred turns of a wheel.
    const again = await look(page.url());
    await again.locator(".flame-map").waitFor();
    expect(closeTo(await mapped(again), [27.5, 77.5]), `by the address: ${await mapped(again)}`);
    await page.mouse.move(...at(0.5));
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, 100);
    await page.keyboard.up("Control");
    await spanIs(page, null, "away again");
    await page.getByText("Ctrl + wheel").waitFor();
  },

  // Clicked to a box and nearer: the map is of the whole, and goes no further than the box.
  async map_of_the_whole(ground, look) {
    const page = await look(`${ground.served.url}#pane=graph&zoom=main&span=20-40`);
    const map = page.locator(".flame-map");
    const { x, y, width, height } = await map.boundingBox();
    const [left, right] = await mapped(page);
    const main = (right - left) / 0.2; // of the whole, in percent
    expect(main > 80 && main < 100, `main has ${main} %`);
    const grip = x + (width * (left + right)) / 200;
    await page.mouse.move(grip, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(grip + width * 0.1, y + height / 2);
    await page.mouse.up();
    await shown(page);
    const now = await mapped(page);
    expect(closeTo(now, [left + 10, right + 10]), `${[left, right]} dragged to ${now}`);
    await page.mouse.move(grip, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + 2 * width, y + height / 2);
    await page.mouse.up();
    await spanIs(page, [80, 100], "dragged past the end");
    await page.getByRole("button", { name: "Zoom out" }).click();
    await becomes(() => /span|zoom/.test(page.url()), false, "out of all of it");
    expectEqual(await map.count(), 0, "maps of all");
  },

  async nearer_by_keyboard(ground, look) {
    const page = await look(`${ground.served.url}#pane=graph`);
    const grid = page.locator(".flame-mirror [role=treegrid]");
    await grid.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("+");
    await spanIs(page, [25, 75], "around the box in focus");
    await page.keyboard.press("+");
    await page.keyboard.press("Shift+ArrowRight");
    await spanIs(page, [42.5, 67.5], "along");
    // Wherever the arrows lead, the box is in sight.
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowLeft");
    await shown(page);
    const isSeen = await page.evaluate(() => {
      const [ring, scroller] = [".flame-cursor", ".flame-scroll"].map((name) =>
        document.querySelector(name)?.getBoundingClientRect());
      return ring && ring.left >= scroller.left - 1 && ring.right <= scroller.right + 1;
    });
    expect(isSeen, "the box in focus is out of sight");
    expect(!/[#&](left|right)=/.test(page.url()), "the timeline has moved, too");
    const map = page.getByRole("scrollbar");
    await map.focus();
    await page.keyboard.press("End");
    await spanIs(page, [75, 100], "End");
    await page.keyboard.press("ArrowLeft");
    await spanIs(page, [70, 95], "ArrowLeft");
    await page.keyboard.press("Home");
    await spanIs(page, [0, 25], "Home");
    expectEqual(await map.getAttribute("aria-valuetext"), "0 % to 25 % of the whole width", "told");
    await page.keyboard.press("-");
    await spanIs(page, [0, 50], "-");
    await page.keyboard.press("Escape");
    await spanIs(page, null, "Escape");
    await grid.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("+");
    await spanIs(page, [25, 75], "again");
    await page.locator("#tab-graph").focus();
    await page.keyboard.press("Escape");
    await spanIs(page, null, "Escape elsewhere on the page");
  },

  // The box at the left edge, below main, by hand and by keyboard alone.
  async heaviest_first(ground, look) {
    const page = await look(`${ground.served.url}#pane=graph`);
    const [said, canvas] = [await heading(page), page.locator(".flame canvas")];
    const leftmost = async (of) => {
      await shown(of);
      await of.mouse.move(1, 1);
      await of.locator(".flame canvas").hover({ position: { x: 5, y: 50 } });
      return of.locator(".flame-tip-name").innerText();
    };
    await canvas.waitFor();
    const { groups } = ground.json("report", "phases.tide", "--group", "function");
    const heaviest = groups[0].function;
    const byName = await leftmost(page);
    expect(byName !== heaviest, `${byName} comes first by name, too`);
    await page.keyboard.press("w");
    await becomes(() => page.url().endsWith("#pane=graph&order=weight"), true, "W in the address");
    expectEqual(await leftmost(page), heaviest, "W");
    expectEqual(await heading(page), said, "the sum");
    expectEqual(await leftmost(await look(page.url())), heaviest, "by the address");
    const choice = page.getByLabel("Order");
    expectEqual(await choice.inputValue(), "weight", "the choice");
    await choice.selectOption("by name");
    await becomes(() => page.url().includes("order"), false, "chosen");
    expectEqual(await leftmost(page), byName, "as it was");
  },

  // By keyboard alone, obeyed by graph, tree and table, and taken back by Escape or its chip.
  async a_library_as_one_frame(ground, look) {
    const stacks = [
      { names: ["inner", "outer", "work", "main"], bytes: 3000 },
      { names: ["other", "work", "main"], bytes: 2000 },
      { names: ["inner", "call", "outer", "main"], bytes: 500 },
    ];
    const file = JSON.parse(dhatFile(stacks, "prog"));
    const module = (name) => (/inner|outer|other/.test(name) ? "/x/libparts.so" : "/x/prog");
    file.ftbl = file.ftbl.map((text) =>
      text.replace(/: (\w+) .*/, (_, name) => `: ${name} (in ${module(name)})`));
    ground.write("parts.json", JSON.stringify(file));
    const { url } = await ground.view("parts.json");
    const page = await look(`${url}#pane=graph&blame=library`);
    await page.locator("h2.asked").waitFor();
    const said = await heading(page);
    await menuOf(page, "outer");
    await choose(page, "Show module libparts.so as one frame");
    await becomes(() => page.url().includes("library=module%20libparts.so"), true, "the address");
    expectEqual(await heading(page), said, "the sum");
    const rows = async (of, pane, cells) => {
      await of.locator(`#tab-${pane}`).click();
      await shown(of);
      const all = await of.locator(`#pane table tbody tr`).evaluateAll(
        (trs, names) => trs.map((tr) => names.map((name) =>
          tr.querySelector(name)?.textContent.trim() ?? "")), cells);
      return all.map((row) => row.join(" "));
    };
    const tree = (of) => rows(of, "tree", [".name"]);
    const table = (of) => rows(of, "table", [".c-name .name", ".c-weight"]);
    const one = "[libparts.so]";
    const struckOut = ["main", "work", one, one]; // the other one is called by main
    const whole = ["main", "work", "outer", "inner", "other", "outer"];
    for (const of of [page, await look(page.url())]) {
      await of.locator("h2.asked").waitFor();
      expectEqual(await tree(of), struckOut, "the tree");
      expectEqual(await table(of), [`${one} ${units.bytes(5500)}`], "the table");
    }
    await page.locator("#tab-table").focus();
    await page.keyboard.press("Escape");
    await becomes(() => page.url().includes("library="), false, "taken back");
    expectEqual(await tree(page), whole, "the tree as it was");
    await page.goBack();
    await page.goBack();
    await page.locator(".chip", { hasText: "libparts.so" }).focus();
    expectEqual(await tree(page), struckOut, "by the way back");
    await page.locator(".chip", { hasText: "libparts.so" }).focus();
    await page.keyboard.press("Delete");
    await becomes(() => page.url().includes("library="), false, "its chip taken away");
    expectEqual(await heading(page), said, "the sum at the end");
    const lost = await look(`${url}#library=crate%20nobody`);
    await lost.locator(".chip", { hasText: "is not here" }).waitFor();
  },
};
