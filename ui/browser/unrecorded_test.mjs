// SPDX-License-Identifier: Apache-2.0
//
// What ran unrecorded: a browser, whose allocator is its own, recorded as anybody would; a command
// that could not be recorded at all; and wrappers that are folded for their shape.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { here, expect, expectEqual } from "./stage.mjs";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const STATIC = "#include <stdlib.h>\nint main(void) { return malloc(100000) ? 3 : 4; }\n";

async function aboutOf(page) {
  await page.locator("#tab-about").click();
  const all = await page.locator(".unrecorded dt").allInnerTexts();
  return all.map((text) => text.replace(/\s+/g, " "));
}

// As "tidemark info" has it.
function expectListed(ground, file, seen) {
  const info = ground.tide("info", file).replace(/\s+/g, " ");
  const rows = ground.json("report", file).capture.run.unrecorded;
  expectEqual(seen.length, rows.length, "programs on the page");
  rows.forEach(({ pid, sentence }, i) => {
    const [name, reason] = seen[i].split(` ${sentence}`);
    expect(reason !== undefined, `${seen[i]} does not say "${sentence}"`);
    const line = `not recorded: ${name} (${pid}) ${sentence}${reason}`;
    expect(info.includes(line), `${line} is not in ${info}`);
  });
}

export const tests = {
  async a_browser_recorded(ground, look) {
    const page_text = "<p>told</p><script>document.write(6 * 7)</script>";
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
    const words = [CHROMIUM, ...flags, `data:text/html,${page_text}`];
    const plain = ground.run(words[0], ...words.slice(1));
    const run = ground.run(ground.tidemark, "run", "-o", "browser.tide", "--how", "preload",
      ...words);
    expectEqual([run.status, run.stdout], [plain.status, plain.stdout], "the browser's output");
    const { complete } = ground.json("report", "browser.tide").capture;
    expectEqual(complete, false, "complete");
    const rows = ground.json("report", "browser.tide").capture.run.unrecorded;
    const own = rows.find(({ is_command }) => is_command);
    expectEqual(own?.reason, "allocator", "why it was not recorded");
    expect(run.stderr.startsWith("tidemark: ") || run.stderr.includes("\ntidemark: "), run.stderr);
    expect(run.stderr.includes(`${own.program} was hardly recorded`), run.stderr);
    const gate = ground.run(ground.tidemark, "diff", "--exit-code", "browser.tide", "browser.tide");
    expectEqual(gate.status, 2, "the gate");
    const { url } = await ground.view("browser.tide");
    const page = await look(url);
    const first = await page.locator(".verdict li").first().innerText();
    expect(first.includes(`${own.program} was hardly recorded`), first);
    expectListed(ground, "browser.tide", await aboutOf(page));
  },

  async nothing_recorded(ground, look) {
    const program = ground.build("alone", STATIC, "-static");
    const run = ground.run(ground.tidemark, "run", "-q", "-o", "alone.tide", "--how", "preload",
      program);
    expectEqual(run.status, 3, "its status");
    const { url } = await ground.view("alone.tide");
    const page = await look(url);
    const told = await page.locator(".verdict").innerText();
    expect(/alone was not recorded: it is statically linked/.test(told), told);
    expect(!/every event|allocated/.test(told), told);
    await page.getByText("Nothing was recorded; About says why").first().waitFor();
    expectListed(ground, "alone.tide", await aboutOf(page));
    await page.getByText("What to do: let the agent record it").waitFor();
    for (const pane of ["graph", "table", "tree", "sizes", "leaks", "threads", "source", "diff"]) {
      await page.locator(`#tab-${pane}`).click();
      await page.locator(`#tab-${pane}[aria-selected=true]`).waitFor();
    }
  },

  async wrappers_by_their_shape(ground, look) {
    const source = readFileSync(join(here, "../test/page_wrapper.c"), "utf8");
    const program = ground.build("pool", source, "-DMANY");
    ground.tide("run", "-q", "-o", "pool.tide", "--", program);
    const { url } = await ground.view("pool.tide");
    const page = await look(`${url}#pane=table`);
    const words = await page.locator(".wrappers").innerText();
    const [wrapper] = ground.json("report", "pool.tide").wrappers;
    expect(words.includes(`${wrapper.function} (${wrapper.callers} callers)`), words);
    const names = await page.locator("table.grid .c-name .name").allInnerTexts();
    expect(names.includes("load_seas") && !names.includes(wrapper.function), names.join());
    await page.keyboard.press("r");
    await page.locator(".wrappers").waitFor({ state: "detached" });
  },
};
