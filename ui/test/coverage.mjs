// SPDX-License-Identifier: Apache-2.0
//
// Which lines of the page's sources its tests reached: node test/coverage.mjs DIR, where DIR is
// what NODE_V8_COVERAGE named while they ran. Prints {"ui/src/FILE": {LINE: reached}} as JSON.
// V8 counts ranges of the bundles; a line of a bundle counts as its first character does, for the
// line of the source that it was made of.

import { readdirSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const directory = process.argv[2];
const reached = {};

// How often each character of a script was run: inner ranges come after the outer ones and win.
function countsOf(functions, length) {
  const counts = new Int32Array(length);
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      counts.fill(count, startOffset, endOffset);
  return counts;
}

function note(entry, isReached) {
  const at = entry.originalSource?.lastIndexOf("/src/") ?? -1;
  if (at < 0 || entry.originalSource.includes("node_modules")) return;
  const lines = (reached[`ui${entry.originalSource.slice(at)}`] ??= {});
  lines[entry.originalLine + 1] ||= isReached;
}

function add({ url, functions }, { data }) {
  const text = readFileSync(fileURLToPath(url), "utf8");
  const counts = countsOf(functions, text.length);
  const map = new SourceMap(data);
  let offset = 0;
  text.split("\n").forEach((line, number) => {
    const column = line.search(/\S/);
    if (column >= 0 && !/^[\s})\];,]*$|^\s*\/\//.test(line))
      note(map.findEntry(number, column), counts[offset + column] > 0);
    offset += line.length + 1;
  });
}

for (const name of readdirSync(directory)) {
  const said = JSON.parse(readFileSync(join(directory, name), "utf8"));
  const maps = said["source-map-cache"] ?? {};
  for (const script of said.result) if (maps[script.url]?.data) add(script, maps[script.url]);
}
console.log(JSON.stringify(reached));
