// SPDX-License-Identifier: Apache-2.0
//
// Looking around: the first screen, zoom, inverting, panes, themes, the address, names that try to
// be markup.

import { HOSTILE, hostileFile, LONG_NAME } from "./programs.mjs";
import { expect, expectEqual, heading, shown } from "./stage.mjs";

export const PANES =
  "overview graph table tree callers sizes leaks threads source diff memory about".split(" ");

const grid = (page) => page.locator(".flame-mirror [role=treegrid]");

async function gridNames(page) {
  await shown(page);
  return grid(page).locator("tbody tr td:first-child").allInnerTexts();
}

// Is anything drawn on a canvas?
export function isPainted(canvas) {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4 * 97) seen.add((data[i] << 16) | (data[i + 1] << 8));
  return width > 100 && height > 20 && seen.size > 2;
}

export const tests = {
  async first_screen(ground, look) {
    const page = await look(ground.served.url);
    await page.locator("table.grid .c-name .name").first().waitFor();
    for (const canvas of [".timeline canvas", ".flame canvas"])
      expect(await page.locator(canvas).first().evaluate(isPainted), `${canvas} is empty`);
    const seen = await page.evaluate(() =>
      [".verdict", ".timeline", ".flame canvas", "table.grid tbody tr:nth-child(2)"].map((name) => {
        const box = document.querySelector(name).getBoundingClientRect();
        return box.width > 0 && box.top >= 0 && box.bottom <= innerHeight;
      }),
    );
    expectEqual(seen, [true, true, true, true], "not all of it is on the first screen");
    expect((await page.title()).includes("phases"), await page.title());
    const [top] = await page.locator("table.grid .c-name .name").allInnerTexts();
    expectEqual(top, "fill_cache", "who is first");
  },

  async zoom_by_mouse_and_back(ground, look) {
    const page = await look(ground.served.url);
    const canvas = page.locator(".flame canvas").first();
    const box = await canvas.boundingBox();
    await canvas.hover({ position: { x: box.width / 2, y: 50 } });
    await page.locator(".flame-tip").waitFor();
    await canvas.click({ position: { x: box.width / 2, y: 50 } });
    await page.waitForFunction(() => location.hash.includes("zoom="));
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes("zoom="));
    await canvas.click({ button: "right", position: { x: box.width / 2, y: 50 } });
    await page.getByRole("menu").waitFor();
    const items = await page.getByRole("menuitem").allInnerTexts();
    for (const wanted of ["copy stack", "copy name", "focus", "hide"])
      expect(
        items.some((item) => item.toLowerCase().includes(wanted)),
        `no "${wanted}" in ${items}`,
      );
    await page.getByRole("menuitem", { name: /copy stack/i }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("main"));
  },

  async invert_flip_runtime(ground, look) {
    const page = await look(ground.served.url);
    await grid(page).waitFor({ state: "attached" });
    const before = await gridNames(page);
    await page.keyboard.press("i");
    await page.waitForFunction(() => location.hash.includes("invert=1"));
    const inverted = await gridNames(page);
    expect(inverted.includes("fill_cache"), `inverted: ${inverted}`);
    expect(JSON.stringify(before) !== JSON.stringify(inverted), "inverting changes nothing");
    await page.keyboard.press("i");
    await page.keyboard.press("r");
    await page.waitForFunction(() => location.hash === "#runtime=1");
    const whole = await gridNames(page);
    expect(whole.join() !== before.join(), "runtime frames change nothing");
    await page.keyboard.press("r");
    await page.keyboard.press("f");
    await page.waitForFunction(() => location.hash === "#flip=1");
    expectEqual(await gridNames(page), before, "flipped");
  },

  async every_pane(ground, look) {
    const page = await look(ground.served.url);
    for (const pane of PANES) {
      await page.locator(`#tab-${pane}`).click();
      await page.locator(`#tab-${pane}[aria-selected=true]`).waitFor();
      const text = await page.locator("#pane").innerText();
      expect(text.trim().length > 10, `${pane} is empty`);
    }
  },

  async bars_are_drawn(ground, look) {
    const page = await look(`${ground.served.url}#pane=sizes`);
    const bars = page.locator("table.bars .bar span");
    await bars.first().waitFor({ state: "attached" });
    const sizes = await bars.evaluateAll((all) =>
      all.map((one) => one.getBoundingClientRect()).map(({ width, height }) => [width, height]),
    );
    const most = Math.max(...sizes.map(([width]) => width));
    expect(most > 100 && sizes.every(([, height]) => height > 5), `bars of ${sizes.join("; ")}`);
  },

  async source_lines(ground, look) {
    const page = await look(`${ground.served.url}#pane=source`);
    await page.getByText("fill_cache(int i)").first().waitFor();
  },

  async editor_links(ground, look) {
    const { url } = await ground.serve(
      ...["view", "--no-open", "--editor", "test://open?f=%f&l=%l", "phases.tide"],
    );
    const page = await look(`${url}#pane=source`);
    const link = page.locator('a[href^="test://open"]').first();
    await link.waitFor();
    const href = await link.getAttribute("href");
    expect(/^test:\/\/open\?f=\/.*phases\.c&l=\d+$/.test(href), href);
  },

  async dark_and_light(ground, look) {
    const brightness = (page) =>
      page.evaluate(() => {
        const [r, g, b] = getComputedStyle(document.documentElement)
          .backgroundColor.match(/\d+/g)
          .map(Number);
        const own = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
        const [x, y, z] = own.length > 3 && own[3] === 0 ? [r, g, b] : own;
        return (x + y + z) / 3;
      });
    const light = await look(ground.served.url, { colorScheme: "light" });
    const dark = await look(ground.served.url, { colorScheme: "dark" });
    expect((await brightness(light)) > 200, "light is not light");
    expect((await brightness(dark)) < 60, "dark is not dark");
    await dark.getByLabel("Theme").selectOption("light");
    expect((await brightness(dark)) > 200, "the choice does not count");
    await dark.reload();
    await dark.locator("h2.asked").waitFor();
    expect((await brightness(dark)) > 200, "the choice is not in the address");
  },

  async all_of_it_in_the_address(ground, look) {
    const page = await look(ground.served.url);
    await page.locator("h2.asked").waitFor();
    for (const key of ["m", "i", "u", "f"]) await page.keyboard.press(key);
    await page.locator("#search").fill("fill");
    await page.getByLabel("Group by").selectOption("function");
    await page.locator("#search").blur();
    const [url, said] = [page.url(), await heading(page)];
    const names = await gridNames(page);
    const again = await look(url);
    await again.locator("h2.asked").waitFor();
    expectEqual(await heading(again), said, "another heading");
    expectEqual(await gridNames(again), names, "another graph");
    expectEqual(await again.locator("#search").inputValue(), "fill", "another search");
    const odd = await look(`${ground.served.url}#measure=x&at=NaN&group=[]&zoom=nowhere&pane=[`);
    await odd.locator("h2.asked").waitFor();
    const lost = await look(`${ground.served.url}#process=99`);
    await lost.getByRole("alert").getByText("no such process").waitFor();
    await lost.locator("h2.asked").waitFor();
  },

  async hostile_names(ground, look) {
    ground.write("hostile.json", hostileFile());
    const { url } = await ground.view("hostile.json");
    const file = ground.path("hostile.html");
    ground.tide("html", "hostile.json", "-o", "hostile.html");
    for (const address of [url, `file://${file}`]) {
      const page = await look(address, { allowed: /status of 404/ });
      for (const pane of PANES) {
        await page.locator(`#tab-${pane}`).click();
        await page.locator("#pane").innerText();
      }
      await page.locator("#tab-table").click();
      await page.locator("table.grid .c-name .name").first().waitFor();
      const names = await page.locator("table.grid .c-name .name").allTextContents();
      for (const name of HOSTILE.filter((one) => one !== LONG_NAME && /^[\x20-\x7e]*$/.test(one)))
        expect(
          names.some((shown) => shown.includes(name.slice(0, 40))),
          `${name} is not shown: ${names}`,
        );
      const raw = await page.evaluate(
        () => /[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]/.exec(document.body.innerText)?.[0],
      );
      expect(raw === undefined, `a raw control character: ${JSON.stringify(raw)}`);
      expectEqual(await page.evaluate(() => typeof window.hacked), "undefined", "script ran");
      const extra = await page.locator("#app img, #app script").count();
      expectEqual(extra, 0, "names became elements");
      for (const name of HOSTILE.slice(0, 8)) {
        await page.locator("#search").fill(name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
        await page.locator("#search-result").innerText();
      }
    }
  },

  // As links may be, after months or by mistake: all panes are there, and say what is wrong.
  async links_that_make_no_sense(ground, look) {
    const many = Array.from({ length: 31 }, (_, i) => `hide=f${i}`).join("&");
    const page = await look(`${ground.served.url}#process=99`);
    await page.locator("h2.asked").waitFor();
    const links = { "focus=(": "no regular expression", [many]: "29 patterns", "capture=5": "",
      "base=99s": "", "at=99s&measure=live": "", "callee=nobody": "", "sort=x&zoom=y": "" };
    for (const [link, why] of Object.entries(links))
      for (const pane of PANES) {
        await page.evaluate((hash) => (location.hash = hash), `#pane=${pane}&${link}`);
        await page.locator(`#tab-${pane}[aria-selected=true]`).waitFor();
        await shown(page);
        const text = await page.locator("main").innerText();
        const isAsked = pane !== "about" && pane !== "memory"; // which answer no question
        if (isAsked) expect(text.includes(why), `${pane} ${link}: ${text.slice(0, 300)}`);
        expect((await page.locator("#pane").innerText()).length > 5, `${pane} ${link}: nothing`);
      }
  },

  async nothing_recorded(ground, look) {
    ground.build("idle", "int main(void) { return 0; }\n");
    ground.tide("run", "-q", "-o", "idle.tide", "--", ground.path("idle"));
    const { url } = await ground.view("idle.tide");
    const page = await look(url);
    await page.getByText("Nothing was allocated on the heap.").waitFor();
    const said = await page.locator(".verdict").innerText();
    expect(!/further allocation\)\.|every block/.test(said), "more");
  },

  // Numbers and names are readable, on a telephone too, and nothing is wider than the screen.
  async narrow(ground, look) {
    const faultsOf = () => {
      const cells = [...document.querySelectorAll(".grid .number")];
      const isPastEdge = (cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const [text, box] = [range, cell].map((one) => one.getBoundingClientRect());
        return text.right > box.right - 4 || text.left < box.left;
      };
      const isCut = (cell) => cell.scrollWidth > cell.clientWidth + 1 || isPastEdge(cell);
      const cut = cells.filter((cell) => cell.offsetWidth && cell.innerText && isCut(cell));
      const names = [...document.querySelectorAll(".grid:not(.code) td.c-name")];
      const tight = names.filter((cell) => cell.clientWidth < 100);
      return [
        ...cut.map((cell) => `${cell.className} cuts ${cell.innerText}`),
        ...tight.map((cell) => `no room for ${cell.innerText}`),
        ...(document.documentElement.scrollWidth > innerWidth ? ["wider than the screen"] : []),
      ];
    };
    for (const width of [1024, 400])
      for (const [url, panes] of [[ground.served.url, PANES], [ground.compared.url, ["diff"]]]) {
        const page = await look(url, { viewport: { width, height: 800 } });
        for (const pane of panes) {
          await page.locator(`#tab-${pane}`).click();
          await shown(page);
          const faults = await page.evaluate(faultsOf);
          expect(!faults.length, `${pane} in ${width}: ${faults.slice(0, 3).join("; ")}`);
        }
      }
  },

  async foreign_files(ground, look) {
    for (const name of ["massif.out", "dhat.json", "gperftools.heap"]) {
      const { url } = await ground.view(`${ground.golden}/${name}`);
      const page = await look(url); // their sources are not here, which is no error
      for (const pane of PANES) {
        await page.locator(`#tab-${pane}`).click();
        expect((await page.locator("#pane").innerText()).length > 5, `${name}: ${pane}`);
        const nonsense = /.*\b(NaN|undefined|null|Infinity)\b.*/.exec(
          await page.locator("body").innerText(),
        );
        expect(!nonsense, `${name}: ${pane} says ${nonsense}`);
      }
    }
  },
};
