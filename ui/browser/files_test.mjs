// SPDX-License-Identifier: Apache-2.0
//
// The page as a file without a network, the page of a program that runs, of several processes, and
// the page whose server has gone.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expectAccessible } from "./access_test.mjs";
import { ENDLESS } from "./programs.mjs";
import { becomes, exactUnits, expect, expectEqual, heading } from "./stage.mjs";
import { importSource, seeLargeFile, until } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

const FORKING = `
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[100];
__attribute__((noipa)) static void hold(int i, int n) { kept[i] = malloc(n); }
int main(void)
{
  for (int i = 0; i < 10; i++) hold(i, 100);
  if (fork() == 0) { for (int i = 0; i < 50; i++) hold(i, 5000); _exit(0); }
  wait(NULL);
  return 0;
}
`;

async function seeFirstAndAll(page, url) {
  await page.addInitScript(() => {
    const text = (selector) => document.querySelector(selector)?.textContent ?? "";
    new MutationObserver(() => {
      if (text(".head").includes(" so far, ")) window.sumSoFar ??= text("h2.asked b") || null;
    }).observe(document, { childList: true, subtree: true, characterData: true });
  });
  await page.goto(url);
  await page.locator("h2.asked b").waitFor();
  const isRead = async () => !(await page.locator(".head").innerText()).includes("reading");
  expect(await until(isRead, 60_000), "it is being read for a minute");
  const sum = await heading(page);
  expectEqual(await page.evaluate(() => window.sumSoFar), sum, "the sum of what was seen first");
}

export const tests = {
  async a_file_without_a_network(ground, look) {
    const served = await look(ground.served.url);
    await served.locator("h2.asked").waitFor();
    const made = { one: ["phases.tide"], two: ["phases.tide", "more.tide"] };
    for (const [name, files] of Object.entries(made)) {
      ground.tide("html", ...files, "-o", `${name}.html`);
      expect(existsSync(ground.path(`${name}.html`)), "no file");
      const page = await look(`file://${ground.path(`${name}.html`)}`, { offline: true });
      await page.locator(".flame canvas").first().waitFor();
      if (name === "one") expectEqual(await heading(page), await heading(served), "another number");
      await page.locator("#tab-table").click();
      await page.locator("table.grid .c-name .name").first().waitFor();
    }
  },

  async a_large_file(ground, look) {
    ground.tide("html", "phases.tide", "-o", "large.html");
    const page = await look(`file://${ground.path("large.html")}`, { offline: true });
    await seeLargeFile(ground, page, "large.html");
  },

  // The sum is there before all stacks are, and stays.
  async the_largest_stacks_are_seen_first(ground, look) {
    const make = join(dirname(ground.tidemark), "tests/compat/tide_make");
    const made = ground.run(make, 3, 31000, "many.tide", 2);
    expect(made.status === 0, `no large capture: ${made.stderr}`);
    ground.tide("html", "-o", "many.html", "phases.tide");
    const page = await look(`file://${ground.path("many.html")}`, { offline: true });
    ground.tide("html", "-f", "-o", "many.html", "many.tide");
    const served = await ground.serve("view", "--no-open", "many.tide");
    const other = await look(`${served.url}facts`);
    await seeFirstAndAll(page, `file://${ground.path("many.html")}`);
    await seeFirstAndAll(other, served.url);
    expectEqual(await heading(other), await heading(page), "not as it is served");
  },

  async sources_in_a_file(ground, look) {
    ground.tide("html", "phases.tide", "-o", "bare.html");
    const bare = await look(`file://${ground.path("bare.html")}#pane=source`, { offline: true });
    await bare.getByText("tidemark html --sources").waitFor();
    ground.tide("html", "--sources", "phases.tide", "-o", "sources.html");
    const page = await look(`file://${ground.path("sources.html")}#pane=source`, { offline: true });
    await page.locator("tr.heavy").first().waitFor();
    const served = await look(`${ground.served.url}#pane=source`);
    await served.locator("tr.heavy").first().waitFor();
    const table = (of) => of.locator("table.code").innerText();
    expectEqual(await table(page), await table(served), "not as it is served");
  },

  async live(ground, look) {
    const program = ground.build("endless", ENDLESS);
    const words = ["run", "--view", "--no-open", "-q", "-o", "live.tide", "--", program];
    const { url, child } = await ground.serve(...words);
    const ended = new Promise((done) => child.on("exit", done));
    const page = await look(url);
    await page.getByText("recording").first().waitFor();
    await page.keyboard.press("e");
    await page.locator("#search").fill("grow");
    await page.locator("#search").blur();
    const first = await heading(page);
    await page.waitForFunction(
      (first) => document.querySelector("h2.asked b").innerText !== first,
      first,
      { timeout: 20000 },
    );
    expect(page.url().includes("search=grow"), "what was chosen is lost");
    const asked = () => page.locator("h2.asked").innerText();
    expect((await asked()).startsWith("Live now: "), await asked());
    // A range up to now goes on with the run, and says so; it does not stay behind and wander.
    const area = await page.locator(".timeline-area").boundingBox();
    const y = area.y + area.height / 2;
    await page.mouse.move(area.x + area.width * 0.2, y);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /from=[^&]+/.test(location.hash));
    const label = () => page.locator(".range .handle-label").innerText();
    const before = await label();
    await until(async () => (await label()) !== before);
    expect(/ to \S+ \S+, now$/.test(await label()), `${before}, then ${await label()}`);
    expect(!/[#&]to=/.test(page.url()), page.url());
    await page.keyboard.press("e");
    ground.write("stop", "");
    expectEqual(await ended, 4, "the program's status");
    await page.getByText("exited 4").first().waitFor({ timeout: 20000 });
    await page.locator("h2.asked", { hasText: "At the end: " }).waitFor();
    const { totals } = ground.json("report", "live.tide");
    expect(totals.live_blocks > 0, "nothing recorded");
    ground.endDetached();
  },

  async live_and_killed(ground, look) {
    const program = ground.build("grower", ENDLESS.replace('"stop"', '"never"'));
    const words = ["run", "--view", "--no-open", "-q", "-o", "killed.tide", "--", program];
    const { url, child } = await ground.serve(...words);
    const ended = new Promise((done) => child.on("exit", (_, signal) => done(signal)));
    const page = await look(url);
    await page.getByText("recording").first().waitFor();
    const { captures } = await (await fetch(`${url}facts`)).json();
    process.kill(captures[0].images[0].pid, "SIGKILL");
    expectEqual(await ended, "SIGKILL", "the program's end");
    await page.getByText("killed by SIGKILL").first().waitFor({ timeout: 20000 });
    ground.endDetached();
  },

  async what_has_not_changed_is_not_sent_again(ground, look) {
    const program = ground.build("grower", ENDLESS.replace('"stop"', '"never"'));
    const words = ["run", "--view", "--no-open", "-q", "-o", "cut.tide", "--", program];
    const { url, child } = await ground.serve(...words);
    const { captures } = await (await fetch(`${url}facts`)).json();
    const ended = new Promise((done) => child.on("exit", done));
    child.kill("SIGKILL"); // what it wrote says that it goes on
    process.kill(captures[0].images[0].pid, "SIGKILL");
    await ended;
    const page = await look((await ground.view("cut.tide")).url);
    const isSame = (answer) => answer.url().endsWith("/facts") && answer.status() === 304;
    await page.waitForResponse(isSame, { timeout: 20000 });
    await page.locator("h2.asked").waitFor();
  },

  async processes(ground, look) {
    const program = ground.build("forking", FORKING);
    ground.tide("run", "-q", "-o", "forking.tide", "--", program);
    const { url } = await ground.view("forking.tide");
    const page = await look(url);
    const first = await heading(page);
    const options = page.getByLabel("Process").locator("option");
    expectEqual(await options.count(), 2, "processes");
    const shown = await page.getByLabel("Process").inputValue();
    await page.getByLabel("Process").selectOption(shown === "0" ? "1" : "0");
    await page.waitForFunction(
      (first) => document.querySelector("h2.asked b").innerText !== first,
      first,
    );
    await page.locator("#tab-source").click();
    await page.getByText("hold(i, 100)").first().waitFor();
    // The tree of them, with the command's peaks; a name turns the page to it.
    await page.locator("#tab-processes").click();
    const rows = page.locator(".processes tbody tr");
    await rows.nth(1).waitFor();
    const { images } = ground.json("info", "forking.tide");
    const peaks = images.map(({ peak_bytes }) => units.bytes(peak_bytes));
    expectEqual(await rows.locator(".c-weight").allInnerTexts(), peaks, "peaks");
    const indents = await rows.locator(".indent").evaluateAll((all) =>
      all.map((one) => one.getBoundingClientRect().width));
    expect(indents[1] > indents[0], `the child stands at ${indents}`);
    await expectAccessible(page, "processes");
    const told = await page.locator(".together > .pane-bar > span").first().innerText();
    await page.locator("#tab-overview").click();
    const led = page.getByLabel("What happened").getByText(/This is one of 2 processes, which/);
    const lead = (await led.innerText()).replaceAll("\u00a0", " ");
    expect(lead.includes(told.match(/[\d.]+ \S+(?= at)/)[0]), `${lead} ${told}`);
    await led.click();
    await page.getByLabel("Find").fill("nosuch");
    await becomes(() => rows.count(), 0, "found");
    await page.getByLabel("Find").fill(String(images[0].pid));
    await becomes(() => rows.count(), 1, "of that number");
    await rows.first().getByRole("button").click();
    await page.waitForFunction(() => location.hash === "#pane=overview&process=0");
    await becomes(() => page.getByLabel("Process").inputValue(), "0", "the page is of it");
    const sums = [await heading(page)];
    await page.getByLabel("Process").selectOption("1");
    await becomes(async () => (await heading(page)) !== sums[0], true, "the other one");
    sums.push(await heading(page));
    // A file has both.
    ground.tide("html", "-f", "-o", "forking.html", "forking.tide");
    const file = await look(`file://${ground.path("forking.html")}`, { offline: true });
    for (const i of [1, 0]) {
      await file.getByLabel("Process").selectOption(String(i));
      await becomes(() => heading(file), sums[i], `process ${i} in a file`);
    }
    await file.locator("#tab-processes").click();
    await file.locator(".processes tbody tr").nth(1).getByRole("button").click();
    await becomes(() => heading(file), sums[1], "by its name in the tree");
  },

  async server_gone(ground, look) {
    const { url, child } = await ground.view("forking.tide");
    const page = await look(url, { allowed: /ERR_CONNECTION_REFUSED/ });
    await page.locator("h2.asked").waitFor();
    const ended = new Promise((done) => child.on("exit", done));
    child.kill("SIGINT");
    expectEqual(await ended, 0, "status");
    const shown = await page.getByLabel("Process").inputValue();
    await page.getByLabel("Process").selectOption(shown === "0" ? "1" : "0");
    await page.getByRole("alert").getByText("tidemark view").waitFor();
    await page.locator("#tab-table").click();
    await page.locator("table.grid .c-name .name").first().waitFor();
  },
};
