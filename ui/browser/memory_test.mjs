// SPDX-License-Identifier: Apache-2.0
//
// Where the resident memory was: the table of every moment as "tidemark maps" has it, the kinds
// over time, and what is said where there is none.

import { spawn } from "node:child_process";
import { expectAccessible } from "./access_test.mjs";
import { FRAGMENTED, GROWING } from "./programs.mjs";
import { becomes, exactUnits, expect, expectEqual, importSource, shown, until } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

// The memory by kind of the run so far, as one of its checkpoints has it.
function looksOf(ground) {
  const done = ground.run(ground.tidemark, "report", "--json", "fragmented.tide");
  return done.status === 0 ? (JSON.parse(done.stdout).totals.rss_by_kind ?? []) : [];
}

async function looked(ground, isWanted) {
  const isThere = await until(() => looksOf(ground).some(isWanted), 120_000, 100);
  expect(isThere, "nobody looked in two minutes");
}

// A table of before the frees and one of after: it goes on when that was taken.
async function record(ground) {
  if (ground.fragmented) return ground.fragmented;
  const program = ground.build("fragmented", FRAGMENTED);
  const words = ["run", "-q", "-f", "-o", "fragmented.tide", "--", program];
  const { scratch: cwd, env } = ground;
  const child = spawn(ground.tidemark, words, { cwd, env, stdio: "ignore" });
  ground.servers.push(child);
  const ended = new Promise((done) => child.on("exit", done));
  await looked(ground, ({ live }) => live >= 24e6);
  ground.write("free", "");
  await looked(ground, ({ held }) => held >= 16e6);
  ground.write("end", "");
  expectEqual(await ended, 0, "the run's status");
  ground.fragmented = { looks: looksOf(ground), name: "fragmented.tide" };
  return ground.fragmented;
}

async function served(ground) {
  const { name } = await record(ground);
  ground.memory ??= await ground.view(name);
  return ground.memory.url;
}

const texts = (page, what) =>
  page.locator(what).evaluateAll((all) =>
    all.map((one) => one.textContent.replaceAll("\u00a0", " ").trim()));

const title = async (page) => (await texts(page, ".memory h2"))[0];

// What a colour of the page is, as three numbers from 0 to 255.
const colours = (page, of) =>
  page.locator(of).evaluateAll((all) =>
    all.map((one) => getComputedStyle(one).backgroundColor.match(/[\d.]+/g).map(Number)));

function luminance([red, green, blue]) {
  const linear = (n) => (n <= 10 ? n / 3294 : ((n / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// Each by its words; a number of it is that of a look beside the moment selected.
async function expectKinds(page) {
  const list = page.locator(".timeline .kinds");
  await list.waitFor();
  const told = await texts(page, ".timeline .kinds li[title]");
  const mib = (text) => Number.parseFloat(text.match(/([\d.]+) MiB/)?.[1] ?? "0");
  const isTold = (text) => / \d[\d.]* (B|KiB|MiB)$/.test(text);
  expect(told.length >= 2 && told.every(isTold), `${told}`);
  expect(/^anonymous/.test(told[0]) && /^files/.test(told[1]), `which kinds: ${told}`);
  const [rss] = await texts(page, ".timeline .legend-item:has(.rss)");
  const sum = told.reduce((all, text) => all + mib(text), 0);
  expect(Math.abs(sum - mib(rss)) < 1 + mib(rss) / 8, `${told} beside ${rss}`);
  const name = await list.getAttribute("aria-label");
  expect(/^Resident memory by kind, as it was at /.test(name), name);
}

export const tests = {
  // Below the line of RSS, for as long as that is shown, on the same scale of time.
  async kinds_are_a_lane_of_the_timeline(ground, look) {
    await record(ground);
    const page = await look(await served(ground));
    await expectKinds(page);
    const edges = (of) => page.locator(of).evaluate((one) => {
      const { left, right } = one.getBoundingClientRect();
      return [left, right].map(Math.round);
    });
    expectEqual(await edges(".rss-plot svg"), await edges(".timeline .u-over"), "its time");
    const keys = await colours(page, ".timeline .kinds .swatch");
    expect(new Set(keys.map(String)).size === keys.length, `kinds look alike: ${keys}`);
    const lane = page.locator(".rss-lane");
    const rss = page.locator(".timeline .legend button", { hasText: "RSS" });
    await rss.click();
    await becomes(() => lane.count(), 0, "lanes without RSS");
    await rss.click();
    await becomes(() => lane.count(), 1, "lanes with it");
    await page.keyboard.press("u");
    await becomes(() => lane.count(), 0, "lanes of blocks");
  },

  async memory_is_that_of_maps(ground, look) {
    const { name, looks } = await record(ground);
    const page = await look(`${await served(ground)}#pane=memory`);
    await page.locator(".residence.rows").waitFor();
    const wanted = ground.json("maps", name);
    const rows = Object.values(wanted.rows).filter((n) => n > 0);
    const absent = wanted.heap.untouched ? [units.bytes(-wanted.heap.untouched)] : [];
    const numbers = await texts(page, ".residence.rows td.number:first-child");
    expectEqual(numbers, [...rows, wanted.sum].map(units.bytes).concat(absent), "the rows");
    const said = ground.tide("maps", name).replace(/\s+/g, " ");
    for (const words of await texts(page, ".residence th, .residence-notes dd"))
      expect(said.includes(words), `"${words}" is not in ${said}`);
    const select = page.getByLabel("Taken");
    expectEqual(await select.locator("option").count(), looks.length + 2, "moments to choose");
    await select.selectOption("peak");
    await page.waitForFunction(() => location.hash.includes("table=peak"));
    const [first] = looks;
    await select.selectOption({ index: 2 });
    const start = ground.json("report", name).image.start_ns;
    const at = `at ${units.time(first.time_ns - start)}`;
    await becomes(async () => (await title(page)).endsWith(at), true, `the first table, ${at}`);
    const then = await texts(page, ".residence.rows .sum td:first-child");
    const early = ground.json("maps", name, "--at", "start");
    expectEqual(then, [units.bytes(early.sum)], "its sum");
    await page.keyboard.press("Tab"); // off the list, whose keys are its own
    await page.keyboard.press("e");
    const end = `at ${units.time(looks.at(-1).time_ns - start)}`;
    await becomes(async () => (await title(page)).endsWith(end), true, `the last table, ${end}`);
  },

  async memory_over_time(ground, look) {
    const { looks } = await record(ground);
    const page = await look(`${await served(ground)}#pane=memory`);
    await page.locator(".memory-chart .look").first().waitFor();
    expectEqual(await page.locator(".memory-chart .look").count(), looks.length, "columns");
    const last = page.locator(".memory-chart .look").last().locator("rect").first();
    const box = await last.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y - 5);
    await page.locator(".memory-tip").waitFor();
    const { time_ns, trim, ...parts } = looks.at(-1);
    const keys = ["live", "held", "files", "stacks", "other", "recorder"];
    const wanted = keys.map((key) => units.bytes(parts[key]));
    expectEqual(await texts(page, ".memory-tip td.number:nth-child(2)"), wanted, "every part");
    await page.mouse.click(box.x + box.width / 2, box.y - 5);
    await page.waitForFunction(() => /table=[\d.]+s/.test(location.hash));
    const column = page.locator(".memory-chart .look").last().locator("rect");
    const height = async (i) => (await column.nth(i).boundingBox()).height;
    const scale = (await height(0)) / parts.live;
    expect(Math.abs((await height(1)) - scale * parts.held) < 1, "heights are not as the numbers");
  },

  async memory_map_of_the_heap(ground, look) {
    const { name } = await record(ground);
    const { time_ns } = ground.fragmented.looks.find(({ held }) => held >= 16e6);
    const start = ground.json("report", name).image.start_ns;
    const at = `${(time_ns - start) / 1e9}s`;
    const { buckets } = ground.json("maps", name, "--at", at).map;
    const page = await look(`${await served(ground)}#pane=memory&table=${at}`);
    await page.locator(".heap-map .cell").first().waitFor();
    expectEqual(await page.locator(".heap-map .cell").count(), buckets.length, "buckets");
    const box = await page.locator(".heap-map .cell .absent").first().boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 10);
    await page.locator(".heap-map .memory-tip").waitFor();
    const [, live, free, pinned] = buckets[0];
    const wanted = [live, pinned, free - pinned].map((n) => units.bytes(n));
    expectEqual(await texts(page, ".heap-map .memory-tip td.number"), wanted, "the first bucket");
    expect((await texts(page, ".residence.pins th"))[0].startsWith("session, "), "who pins it");
  },

  async memory_in_both_themes(ground, look) {
    const url = await served(ground);
    for (const theme of ["light", "dark"]) {
      const page = await look(`${url}#pane=memory&theme=${theme}`);
      await page.locator(".memory-chart .swatch").first().waitFor();
      const swatches = await colours(page, ".memory-chart .legend .swatch");
      const [ground_] = await colours(page, "html");
      expectEqual(new Set(swatches.map(String)).size, 6, "colours");
      for (const one of swatches)
        expect(contrast(one, ground_) >= 3, `${one} on ${ground_}: ${contrast(one, ground_)}`);
      await expectAccessible(page, theme);
    }
  },

  async memory_on_a_phone(ground, look) {
    const viewport = { width: 400, height: 800 };
    const page = await look(`${await served(ground)}#pane=memory`, { viewport });
    const box = await page.locator(".memory-chart svg").boundingBox();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 60);
    await page.locator(".memory-tip").waitFor();
    await shown(page);
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    expectEqual(await wide(), 400, "pixels wide");
  },

  async memory_mapped_over_time(ground, look) {
    ground.tide("run", "-q", "-f", "-o", "grown.tide", "--", ground.build("growing", GROWING));
    const { groups } = ground.json("report", "grown.tide", "--group", "pages");
    const told = ground.run(ground.tidemark, "report", "--group", "pages", "grown.tide").stdout;
    const { url } = await ground.view("grown.tide");
    for (const width of [1280, 400]) {
      const page = await look(`${url}#pane=about`, { viewport: { width, height: 800 } });
      const cells = page.locator(".about .grid tbody tr").first().locator(".c-live");
      await cells.last().waitFor();
      await shown(page);
      const atEnd = units.bytes(groups[0].live_bytes);
      expectEqual((await cells.allInnerTexts()).at(-1), atEnd, "mapped at the end");
      expect(await cells.last().isVisible(), `no numbers at ${width} pixels`);
      expectEqual(await page.locator(".about .spark").first().isVisible(), width > 800, "curve");
      for (const words of await texts(page, ".about .grown li"))
        expect(told.replace(/\s+/g, " ").includes(words.slice(words.indexOf(": ") + 2)), words);
    }
  },

  async memory_of_none(ground, look) {
    await record(ground);
    const merged = ["merge", "-f", "-o", "sum.tide", "fragmented.tide", "fragmented.tide"];
    ground.tide(...merged);
    for (const file of [`${ground.golden}/dhat.json`, "sum.tide"]) {
      const { url } = await ground.view(file);
      const page = await look(`${url}#pane=memory`);
      const words = await page.locator(".memory .nothing").innerText();
      const why = ground.run(ground.tidemark, "maps", file).stderr.replace(/\s+/g, " ");
      expect(why.includes(words.slice(1).replace(/\.$/, "")), `"${words}" is not in ${why}`);
    }
  },
};
