// SPDX-License-Identifier: Apache-2.0
//
// The page in a real browser: node browser/run.mjs --tidemark FILE --golden DIR [--filter TEXT]
// [--only NAME]… DIR has files of other tools. Ends with the line "N passed, N failed". With
// SHOTS=DIR, pictures of the pages of failed tests go there.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { tests as access } from "./access_test.mjs";
import { tests as deeds } from "./deeds_test.mjs";
import { tests as files } from "./files_test.mjs";
import { tests as findings } from "./findings_test.mjs";
import { closeFirefox, tests as inFirefox } from "./firefox_test.mjs";
import { tests as graph } from "./graph_test.mjs";
import { tests as looks } from "./looks_test.mjs";
import { tests as memory } from "./memory_test.mjs";
import { tests as numbers } from "./numbers_test.mjs";
import { PHASES } from "./programs.mjs";
import { tests as selection } from "./selection_test.mjs";
import { tests as sight } from "./sight_test.mjs";
import { Ground, launch, runAll } from "./stage.mjs";
import { tests as unrecorded } from "./unrecorded_test.mjs";

const { values: options } = parseArgs({
  options: {
    tidemark: { type: "string" },
    golden: { type: "string" },
    filter: { type: "string", default: "" },
    only: { type: "string", multiple: true },
  },
});

const isChosen = (name) =>
  name.includes(options.filter) && (options.only?.includes(name) ?? true);
const browser = await launch();
const ground = new Ground(options.tidemark, browser);
ground.golden = resolve(options.golden);
try {
  const phases = ground.build("phases", PHASES, "-lpthread");
  ground.tide("run", "-q", "-o", "phases.tide", "--", phases);
  ground.tide("run", "-q", "-o", "more.tide", "--", phases, "15");
  ground.served = await ground.view("phases.tide");
  ground.compared = await ground.view("phases.tide", "more.tide");
  const seen = { ...numbers, ...looks, ...sight, ...memory, ...findings };
  const tests = {
    ...seen, ...graph, ...selection, ...deeds, ...access, ...files, ...unrecorded, ...inFirefox,
  };
  process.exitCode = await runAll(tests, ground, isChosen);
} finally {
  await browser.close();
  await closeFirefox();
  ground.done();
}
