// SPDX-License-Identifier: Apache-2.0
//
// Findings on the first screen: in the words of "explain", and each leads to its place.

import { readFileSync } from "node:fs";
import { becomes, expect, expectEqual } from "./stage.mjs";

async function served(ground) {
  if (!ground.faults) {
    const source = readFileSync(new URL("../test/page_faults.c", import.meta.url), "utf8");
    const program = ground.build("faults", source, "-O1");
    ground.tide("run", "-q", "-o", "faults.tide", "--", program);
    ground.faults = await ground.view("faults.tide");
  }
  return ground.faults.url;
}

const texts = (page, of) => page.locator(of).allInnerTexts();
const plain = (text) => text.replace(/\s+/g, " ").trim();

export const tests = {
  async findings_are_those_of_explain(ground, look) {
    const page = await look(await served(ground));
    await page.locator(".findings li").first().waitFor();
    const { findings } = ground.json("explain", "faults.tide");
    const sure = findings.filter(({ confidence }) => confidence !== "low");
    expect(sure.length > 0 && sure.length < findings.length, JSON.stringify(findings));
    expectEqual(await page.locator(".findings > ol > li").count(), sure.length, "shown at once");
    await page.locator(".findings summary").click();
    const words = (await texts(page, ".findings li")).map(plain);
    expectEqual(words, findings.map(({ heading, sentence, advice }) =>
      plain(`${heading} ${sentence} ${advice}`)), "in order");
  },

  async finding_leads_to_its_place(ground, look) {
    const page = await look(await served(ground));
    const [first] = ground.json("explain", "faults.tide").findings;
    await page.locator(".findings .sentence").first().click();
    await page.waitForFunction(() => location.hash.includes("pane=table"));
    const rows = () => texts(page, "table.grid .c-name .name");
    await becomes(async () => (await rows())[0], first.function, "the place alone");
    expect((await page.evaluate(() => location.hash)).includes(`measure=${first.see}`), first.see);
  },
};
