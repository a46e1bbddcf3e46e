// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the page to look at: node browser/shots.mjs --tidemark FILE --out DIR [--pane NAME]…
// [--width PIXELS]… [--height PIXELS] CAPTURE…, light and dark, one per capture, pane and width.
// Nothing is judged here.

import { mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Ground, launch, open, shown } from "./stage.mjs";

const { values: options, positionals: captures } = parseArgs({
  allowPositionals: true,
  options: {
    tidemark: { type: "string" },
    out: { type: "string" },
    width: { type: "string", multiple: true, default: ["1280"] },
    height: { type: "string", default: "900" },
    pane: { type: "string", multiple: true, default: ["overview"] },
  },
});

const browser = await launch();
const ground = new Ground(options.tidemark, browser);
mkdirSync(options.out, { recursive: true });
try {
  for (const capture of captures) {
    const { url, child } = await ground.view(resolve(capture));
    for (const colorScheme of ["light", "dark"]) {
      const { page, context } = await open(browser, url, { colorScheme });
      for (const pane of options.pane) {
        await page.locator(`#tab-${pane}`).click();
        for (const width of options.width) {
          const [w, h] = [width, options.height].map(Number);
          await page.setViewportSize({ width: w, height: h });
          await shown(page);
          const stem = basename(capture).replace(/\.tide$/, "");
          const path = join(options.out, `${stem}-${pane}-${colorScheme}-${width}.png`);
          await page.screenshot({ path });
          console.log(path);
        }
      }
      await context.close();
    }
    child.kill();
  }
} finally {
  await browser.close();
  ground.done();
}
