// SPDX-License-Identifier: Apache-2.0
//
// What the page says is what the command says, to the digit: under every measure and unit, for
// groups, parts of the run, filters, searches and comparisons.

import { becomes, exactUnits, expect, expectEqual, heading, headingIs } from "./stage.mjs";
import { importSource, shown } from "./stage.mjs";

const units = exactUnits(await importSource("src/engine/units.ts"));

// By the address alone, on a page that is open.
async function turnTo(page, hash) {
  await page.evaluate((hash) => (location.hash = hash), hash);
  await shown(page);
}

async function rowsOf(page, n = 8) {
  await page.locator("table.grid tbody tr .c-name .name").first().waitFor();
  return page.locator("table.grid tbody tr").evaluateAll(
    (rows, n) =>
      rows
        .filter((row) => row.querySelector(".c-name .name"))
        .slice(0, n)
        .map((row) => [
          row.querySelector(".c-name .name").textContent,
          row.querySelector(".c-weight").textContent.trim(),
        ]),
    n,
  );
}

// As a cell has it: blocks without the word.
function cell(weight, unit) {
  return units.amount(weight, unit).replace(/ blocks?$/, "");
}

function wantedRows(report, name, n = 8) {
  const { unit } = report.question;
  return report.groups
    .filter((group) => group.weight !== 0)
    .slice(0, n)
    .map((group) => [name(group), cell(group.weight, unit)]);
}

export const tests = {
  async measures_and_units(ground, look) {
    const page = await look(ground.served.url);
    for (const measure of ["peak", "live", "total", "leak", "temp"])
      for (const unit of ["bytes", "blocks"]) {
        const words = ["--sort", measure, "--by", unit, "--group", "function"];
        const report = ground.json("report", "phases.tide", ...words);
        const hash = `#pane=table&group=function&measure=${measure}&unit=${unit}`;
        await turnTo(page, hash);
        const asked = `${measure} in ${unit}`;
        const wanted = wantedRows(report, (group) => group.function);
        expectEqual(await heading(page), units.amount(report.wanted, unit), asked);
        expectEqual(await rowsOf(page), wanted, asked);
      }
  },

  async groups(ground, look) {
    const kinds = {
      place: (group) => group.function,
      file: (group) => group.file,
      module: (group) => group.module,
      thread: (group) => group.thread,
      size: null,
      lifetime: null,
    };
    const page = await look(ground.served.url);
    for (const [kind, name] of Object.entries(kinds)) {
      const report = ground.json("report", "phases.tide", "--sort", "peak", "--group", kind);
      await turnTo(page, `#pane=table&group=${kind}&measure=peak`);
      const found = await rowsOf(page, 5);
      const wanted = wantedRows(report, name ?? (() => ""), 5);
      expectEqual(
        found.map(([, weight]) => weight),
        wanted.map(([, weight]) => weight),
        kind,
      );
      if (kind === "place")
        expectEqual(
          found.map(([text]) => text),
          wanted.map(([text]) => text),
          kind,
        );
    }
    await turnTo(page, "#");
    await page.getByLabel("Group by").selectOption("thread");
    await page.waitForFunction(() => location.hash.includes("group=thread"));
    expect((await rowsOf(page)).length >= 2, "no two threads");
  },

  async leaks(ground, look) {
    const report = ground.json("report", "phases.tide", "--sort", "leak", "--group", "place");
    const page = await look(ground.served.url);
    await turnTo(page, "#pane=leaks");
    await page.locator("table.grid .c-fate").first().waitFor();
    const cells = ["weight", "fate", "name .name", "count", "age", "first"];
    const shown = await page
      .locator("table.grid")
      .first()
      .locator("tbody tr")
      .evaluateAll(
        (rows, cells) =>
          rows.map((row) => cells.map((one) => row.querySelector(`.c-${one}`).textContent.trim())),
        cells,
      );
    const { start_ns } = report.image;
    const wanted = report.groups
      .filter((group) => group.live_blocks > 0)
      .map((group) => [
        units.bytes(group.live_bytes),
        group.fate === "throughout" ? "start to end" : group.fate,
        group.function,
        units.count(group.live_blocks),
        units.time(group.mean_age_ns),
        units.time(group.first_ns - start_ns),
      ]);
    const names = wanted.map(([, , name]) => name);
    expect(names.includes("worker"), "no block is left of a place that others free");
    expectEqual(shown.sort(), wanted.sort(), "every cell of the leaks");
    const weights = report.groups.map(({ live_bytes }) => live_bytes);
    expectEqual(weights, [...weights].sort((a, b) => b - a), "the largest first");
  },

  async threads(ground, look) {
    const words = ["--sort", "total", "--group", "thread"];
    const report = ground.json("report", "phases.tide", ...words);
    const page = await look(ground.served.url);
    await turnTo(page, "#pane=threads&measure=total");
    await page.locator("table.grid .c-foreign").first().waitFor();
    const shown = await page.locator("table.grid tbody tr").evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("td.number")].slice(1).map((cell) =>
        cell.textContent.trim())));
    const wanted = report.groups.map((group) => [
      units.bytes(group.weight),
      units.count(group.allocations),
      units.bytes(group.bytes),
      units.bytes(group.freed_bytes),
      units.count(group.foreign_frees),
      units.percent(group.temporary, group.allocations),
    ]);
    expect(report.groups.some((group) => group.foreign_frees === 40), "no frees of others' blocks");
    expectEqual(shown, wanted, "every cell of the threads");
  },

  async verdict_says_the_report(ground, look) {
    const report = ground.json("report", "phases.tide");
    const page = await look(ground.served.url);
    await page.locator(".verdict summary").click(); // what cards say, too
    const shown = await page.getByLabel("What happened").innerText();
    const text = shown.replaceAll("\u00a0", " "); // which keeps a number and its unit together
    const { peak_bytes, live_bytes } = report.totals;
    for (const number of [peak_bytes, live_bytes])
      expect(text.includes(units.bytes(number)), `${units.bytes(number)} is not in ${text}`);
  },

  async moments(ground, look) {
    const page = await look(ground.served.url);
    const report = (...words) => ground.json("report", "phases.tide", ...words);
    await page.locator("h2.asked").waitFor();
    const [end, peak] = [report("--at", "end"), report()].map(({ wanted }) => units.bytes(wanted));
    await page.keyboard.press("e");
    await headingIs(page, end, "E");
    await page.keyboard.press("p");
    await headingIs(page, peak, "P");
    await page.keyboard.press("e");
    await headingIs(page, end, "E again");
    await page.keyboard.press("[");
    await page.waitForFunction((x) => document.querySelector("h2.asked b").innerText !== x, end);
    await page.goto(`${ground.served.url}#measure=live&at=0.2s`);
    await page.reload();
    await headingIs(page, units.bytes(report("--at", "0.2s").wanted), "at 0.2 s");
  },

  async brush(ground, look) {
    const page = await look(ground.served.url);
    const box = await page.locator(".timeline-area").boundingBox();
    const at = (share) => [box.x + box.width * share, box.y + box.height / 2];
    await page.mouse.move(...at(0.2));
    await page.mouse.down();
    for (let share = 0.2; share <= 0.7; share += 0.05) await page.mouse.move(...at(share));
    await page.mouse.up();
    await page.waitForFunction(() => /from=.*to=/.test(location.hash));
    const [, from] = /from=([\d.]+s)/.exec(page.url());
    const [, to] = /to=([\d.]+s)/.exec(page.url());
    for (const [measure, button] of Object.entries({ grown: "grown", total: "allocated" })) {
      const words = ["--range", `${from}..${to}`, "--sort", measure, "--group", "function"];
      const report = ground.json("report", "phases.tide", ...words);
      await page.locator(".range-numbers button", { hasText: button }).click();
      await headingIs(page, units.bytes(report.wanted), `${measure} ${from}..${to}`);
      await turnTo(page, `${new URL(page.url()).hash}&pane=table&group=function`);
      expectEqual(await rowsOf(page), wantedRows(report, (g) => g.function), measure);
      await page.goBack();
    }
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !/from=/.test(location.hash));
  },

  async filters(ground, look) {
    const page = await look(ground.served.url);
    const cases = { focus: "build_index", function: "churn|recurse", ignore: "fill_cache" };
    for (const [kind, pattern] of Object.entries(cases)) {
      const words = [`--${kind}`, pattern, "--group", "function", "--sort", "total"];
      const report = ground.json("report", "phases.tide", ...words);
      const filter = `${kind}=${encodeURIComponent(pattern)}`;
      const hash = `#pane=table&group=function&measure=total&${filter}`;
      await turnTo(page, hash);
      expectEqual(await heading(page), units.bytes(report.wanted), `${kind} ${pattern}`);
      expectEqual(await rowsOf(page), wantedRows(report, (g) => g.function), kind);
      await page.locator(".chip").first().click();
      await page.waitForFunction((kind) => !location.hash.includes(`${kind}=`), kind);
    }
  },

  async search_counts_once(ground, look) {
    const page = await look(ground.served.url);
    await page.locator("h2.asked").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("recurse|build_index");
    const report = ground.json("report", "phases.tide", "--function", "recurse|build_index");
    await page.waitForFunction(
      (start) => document.querySelector("#search-result").innerText.startsWith(start),
      units.bytes(report.wanted),
    );
    await page.locator("#search").fill("(");
    await page.waitForFunction(() => document.querySelector("#search").ariaInvalid === "true");
  },

  async tree_is_the_commands(ground, look) {
    const page = await look(ground.served.url);
    for (const inverted of [false, true]) {
      const words = inverted ? ["--invert"] : [];
      const { tree } = ground.json("tree", "phases.tide", ...words);
      const hash = `#pane=tree${inverted ? "&invert=1" : ""}`;
      await turnTo(page, hash);
      const first = page.locator('[role="treegrid"] tbody tr[aria-level="2"]');
      await first.first().waitFor();
      const found = await page
        .locator('section[aria-label="Tree"] [role="treegrid"] tbody tr')
        .evaluateAll((rows) =>
          rows
            .filter((row) => row.ariaLevel === "1")
            .map((row) => [
              row.querySelector(".c-name .name, .c-name").textContent.replace(/^[▸▾ ]+/, ""),
              row.querySelector(".c-weight").textContent.trim(),
            ]),
        );
      const wanted = tree.children.map((node) => units.bytes(node.total));
      expect(found.length >= 1, "no rows");
      for (const [, weight] of found)
        expect([...wanted, units.bytes(tree.total)].includes(weight), `${weight} not in ${wanted}`);
    }
  },

  // The function's own row, and those below it, of either half.
  async callers_and_callees(ground, look) {
    const page = await look(ground.served.url);
    const rowsOf = (half) =>
      page
        .getByRole("treegrid", { name: new RegExp(`^${half}: `) })
        .locator("tbody tr")
        .evaluateAll((rows) =>
          rows
            .filter((row) => row.ariaLevel <= "2")
            .map((row) => [...row.cells].slice(0, 2).map((cell) => cell.textContent)),
        );
    const wantedOf = ({ tree, functions }) => {
      const name = (node) => functions[node.function];
      const [{ children = [], ...top }] = tree.children;
      const nodes = [top, ...children.sort((a, b) => (name(a) < name(b) ? -1 : 1))];
      return nodes.map((node) => [name(node), units.bytes(node.total)]);
    };
    for (const name of ["main", "recurse", "worker", "leak_a_little"])
      for (const runtime of [0, 1]) {
        await turnTo(page, `#pane=callers&measure=total&callee=${name}&runtime=${runtime}`);
        for (const half of ["callers", "callees"]) {
          const frames = runtime ? ["--all-frames"] : [];
          const words = ["--sort", "total", "--min-share", "0", ...frames];
          const json = ground.json("tree", "phases.tide", `--${half}`, `^${name}$`, ...words);
          const found = await rowsOf(half[0].toUpperCase() + half.slice(1));
          expectEqual(found, wantedOf(json), `${half} of ${name}, runtime ${runtime}`);
        }
      }
  },

  async comparison(ground, look) {
    const diff = ground.json("diff", "phases.tide", "more.tide", "--sort", "live");
    const page = await look(`${ground.compared.url}#measure=live`);
    const text = await page.locator(".diff-total").innerText();
    for (const side of ["before_bytes", "after_bytes"])
      expect(text.includes(units.bytes(diff.totals[side])), `${diff.totals[side]} not in ${text}`);
    const { peak_bytes } = ground.json("report", "phases.tide").totals;
    const beside = page.locator(".legend-item", { hasText: "phases.tide" }).locator("b");
    expectEqual(await beside.innerText(), units.bytes(peak_bytes), "the other's curve");
    await page.locator("table.grid tbody tr .c-change").first().waitFor();
    const found = await page.locator("table.grid tbody tr").evaluateAll((rows) =>
      rows.map((row) =>
        [".c-change", ".c-name .name", ".c-by"].map((name) => row.querySelector(name)?.textContent),
      ),
    );
    const wanted = diff.places.filter((place) => place.change !== "same");
    expectEqual(
      found,
      wanted.slice(0, found.length).map((place) =>
        [place.change, place.function, units.change(place.change_bytes, "bytes")]),
      "places",
    );
    for (const [, , by] of found)
      expect(/^[▲▼] /.test(by), `${by} by colour alone`);
  },

  async comparison_by_group(ground, look) {
    const page = await look(`${ground.compared.url}#measure=live`);
    const pick = page.getByRole("combobox", { name: "Group by" });
    for (const group of ["file", "crate", "module", "thread", "size", "lifetime"]) {
      const diff = ground.json("diff", "phases.tide", "more.tide", "--sort", "live", "-g", group);
      await pick.selectOption(group);
      expect(page.url().includes(`group=${group}`), page.url());
      await page.getByRole("region", { name: /^Changed / }).waitFor();
      const found = await page.locator("table.grid tbody tr").evaluateAll((rows) =>
        rows.map((row) => [
          row.querySelector(".c-name .name").textContent,
          row.querySelector(".c-by").textContent,
        ]),
      );
      const wanted = diff.places.filter((place) => place.change !== "same");
      expect(wanted.length > 0, `nothing changed by ${group}`);
      expectEqual(
        found,
        wanted.map((place) => [place[group], units.change(place.change_bytes, "bytes")]),
        group,
      );
    }
  },

  // Whichever capture is looked at, and whatever part of it was selected: the first is before.
  async comparison_is_of_both(ground, look) {
    const { totals } = ground.json("diff", "phases.tide", "more.tide", "--sort", "live");
    const page = await look(ground.compared.url);
    const changed = units.change(totals.change_bytes, "bytes");
    const part = "&from=0.05s&to=0.2s";
    for (const hash of ["", "&capture=0", part, "&at=0.1s", "&capture=0&at=0.1s"]) {
      await turnTo(page, `#pane=diff&measure=live${hash}`);
      const chosen = hash.includes("capture=0") ? "phases" : "more";
      const option = page.locator(".head option:checked", { hasText: chosen });
      await option.waitFor({ state: "attached" });
      const text = await page.locator(".diff-total").innerText();
      const parts = ["phases.tide", units.bytes(totals.before_bytes), "more.tide",
        units.bytes(totals.after_bytes), changed];
      const places = parts.map((part) => text.indexOf(part));
      expect(places.every((at, i) => at >= 0 && at >= (places[i - 1] ?? 0)), `${hash}: ${text}`);
      const graph = await page.locator(".diff .flame-bar").innerText();
      expect(graph.includes(changed), `${hash}: the graph says ${graph}, not ${changed}`);
    }
  },

  async search_in_a_comparison(ground, look) {
    const words = ["--sort", "live", "--function", "build_index"];
    const { totals } = ground.json("diff", "phases.tide", "more.tide", ...words);
    const page = await look(`${ground.compared.url}#pane=diff&measure=live&search=build_index`);
    const { before_bytes: before, after_bytes: after } = totals;
    const wanted = `${units.bytes(before)} → ${units.bytes(after)} in 1 frame`;
    await page.locator("#search-result", { hasText: wanted }).waitFor();
    const text = await page.locator("#search-result").innerText();
    expect(text.startsWith(units.change(after - before, "bytes")), text);
  },

  // A side without names says why, and all of its code is one place.
  async comparison_without_names(ground, look) {
    ground.build("bare", "#include <stdlib.h>\nint main(void) { return !malloc(9); }\n");
    ground.tide("run", "-q", "-o", "bare.tide", "--", ground.path("bare"));
    ground.build("bare", "#include <stdlib.h>\nint main(void) { return !malloc(90); }\n");
    ground.tide("run", "-q", "-o", "named.tide", "--", ground.path("bare"));
    const { places } = ground.json("diff", "bare.tide", "named.tide");
    expect(places.some(({ kind }) => kind === "module"), JSON.stringify(places));
    const { url } = await ground.view("bare.tide", "named.tide");
    const page = await look(url);
    await page.getByText(/before: .*was rebuilt since the capture/).waitFor();
    await page.locator(".c-name .name", { hasText: "(code without names)" }).waitFor();
    await page.getByRole("button", { name: /gone/ }).click();
    await page.waitForFunction(() => location.hash.includes("change=gone"));
    await page.reload();
    await page.locator("[aria-pressed=true]", { hasText: "gone" }).waitFor();
    expectEqual(await page.locator(".diff .grid tbody tr").count(), 1, "rows of what is gone");
  },

  async two_moments(ground, look) {
    const diff = ground.json("diff", "phases.tide", "--from", "peak", "--to", "end");
    const page = await look(`${ground.served.url}#pane=diff`);
    const told = page.locator(".diff-total");
    const tells = async ({ totals }, what) => {
      const text = await told.innerText();
      for (const side of ["before_bytes", "after_bytes"])
        expect(text.includes(units.bytes(totals[side])), `${what}: ${totals[side]} not in ${text}`);
    };
    await told.waitFor();
    await tells(diff, "at first, from the peak to the end");
    const { peak_bytes } = ground.json("report", "phases.tide").totals;
    await page.getByRole("button", { name: "start to peak" }).click();
    await page.waitForFunction(() => location.hash.includes("base=0s"));
    await shown(page);
    await tells({ totals: { before_bytes: 0, after_bytes: peak_bytes } }, "from the start");
    const marks = await page.locator(".mark.compared").evaluateAll((all) =>
      all.map((mark) => [mark.textContent, parseFloat(mark.style.left)]));
    expectEqual(marks.map(([text]) => text), ["before", "after"], "marked on the timeline");
    expect(marks[0][1] === 0 && marks[1][1] > 20, `at ${marks}`);
  },

  // What the one allocated against what the other did, each as its own row has it.
  async two_threads(ground, look) {
    const words = ["--sort", "total", "--group", "thread"];
    const { groups } = ground.json("report", "phases.tide", ...words);
    const of = (isMain) => units.bytes(groups.find(({ tid }) => tid > 0 === isMain).weight);
    const page = await look(`${ground.served.url}#pane=threads&measure=total`);
    await page.getByRole("button", { name: /^main thread/ }).click();
    const pick = page.getByLabel("Compare with");
    const other = await pick.locator("option").nth(1).innerText();
    await pick.selectOption(other);
    const text = await page.locator(".diff-total").innerText();
    const parts = [other, of(false), "main thread", of(true)];
    const places = parts.map((part) => text.indexOf(part));
    expect(places.every((at, i) => at > (places[i - 1] ?? 0)), `${text}: ${places}`);
    const rows = page.locator(".diff .grid tbody .c-name .name");
    expect((await rows.allInnerTexts()).includes("worker"), "worker is gone");
    await page.locator("#search").fill("build_index");
    await becomes(() => rows.allInnerTexts(), ["build_index"], "found");
    await turnTo(page, "#pane=threads&measure=total&search=worker");
    await becomes(() => page.locator("table.grid tbody tr").count(), 1, "threads of worker");
    await turnTo(page, "#pane=tree&measure=total&search=recurse");
    const names = page.locator("table.tree tbody .name");
    await becomes(() => names.allInnerTexts(), ["main", "recurse"], "the way to recurse");
    expectEqual(await page.locator("table.tree mark").innerText(), "recurse", "marked");
  },
};
