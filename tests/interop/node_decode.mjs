// SPDX-License-Identifier: Apache-2.0
//
// What the npm package pprof-format finds in a profile: the sum of each column, and all names.
//
// usage: node node_decode.mjs NODE_MODULES FILE
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { createRequire } from 'node:module';

const [modules, file] = process.argv.slice(2);
const { Profile } = createRequire(path.join(modules, 'x.js'))('pprof-format');
const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(file)));
const text = (number) => profile.stringTable.strings[Number(number)];
const sums = {};
profile.sampleType.forEach((type, i) => {
  sums[text(type.type)] = profile.sample.reduce((sum, s) => sum + Number(s.value[i]), 0);
});
const names = profile.function.map((f) => text(f.name));
console.log(JSON.stringify({ sums, names, period: Number(profile.period) }));
