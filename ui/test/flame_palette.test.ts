// SPDX-License-Identifier: Apache-2.0
//
// The colours of the graph, read from its style sheet: every text has the contrast that people need
// to read it, and fills are told apart with any kind of colour vision.

import assert from "node:assert/strict";
import { test } from "node:test";
import sheet from "../src/flame/flame.css" with { type: "text" };
import { N_COLOURS, N_TINTS } from "../src/flame/names.ts";
import { tinted } from "../src/flame/palette.ts";

type Theme = Record<string, string>;

function theme(selector: string): Theme {
  const at = sheet.indexOf(`${selector} {`);
  assert.ok(at >= 0, selector);
  const block = sheet.slice(at, sheet.indexOf("}", at));
  const found = block.matchAll(/--flame-([a-z0-9-]+): (#[0-9a-f]{6});/g);
  return Object.fromEntries([...found].map(([, name, colour]) => [name, colour]));
}

const THEMES: Record<string, Theme> = {
  light: theme(":root"),
  dark: theme(':root[data-theme="dark"]'),
};

// Linear light, 0 to 1.
function linear(colour: string): number[] {
  return [1, 3, 5].map((at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

// As WCAG 2 defines it.
function contrast(a: string, b: string): number {
  const [low, high] = [a, b]
    .map((colour) => linear(colour))
    .map(([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b)
    .sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// Machado, Oliveira and Fernandes 2009, at full severity, on linear light.
const VISIONS: Record<string, number[][]> = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [
    [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

// Oklab, times 100.
function seen(colour: string, vision: number[][]): number[] {
  const light = linear(colour);
  const [r, g, b] = vision.map((row) => {
    const sum = row[0] * light[0] + row[1] * light[1] + row[2] * light[2];
    return Math.min(1, Math.max(0, sum));
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    100 * (0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s),
    100 * (1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s),
    100 * (0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s),
  ];
}

function distance(a: string, b: string, vision: number[][]): number {
  const [p, q] = [seen(a, vision), seen(b, vision)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

const FILLS = [
  ...Array.from({ length: N_COLOURS }, (_, i) => `${i}`),
  ..."runtime root many dim match grown grown-weak shrunk shrunk-weak".split(" "),
  "even", "hatch", "hatch-line",
];

for (const [name, colours] of Object.entries(THEMES)) {
  test(`${name}: text on every fill has a contrast of 4.5`, () => {
    for (let i = 0; i < N_COLOURS; i++)
      for (let tint = 0; tint < N_TINTS; tint++)
        assert.ok(contrast(tinted(colours[i], colours.background, tint), colours.text) >= 4.5);
    for (const fill of FILLS) {
      const text = colours[`${fill}-text`] ?? colours.text;
      assert.ok(contrast(colours[fill], text) >= 4.5, `${fill}: ${contrast(colours[fill], text)}`);
    }
    for (const text of ["panel-text", "panel-faint"])
      assert.ok(contrast(colours.panel, colours[text]) >= 4.5, text);
    assert.ok(contrast(colours["panel-active"], colours["panel-text"]) >= 4.5);
    assert.ok(contrast(colours.background, colours["panel-faint"]) >= 4.5);
    assert.ok(contrast(colours.background, colours.ring) >= 7);
  });

  // What is between two boxes of one colour is the background: brown on brown is one box.
  test(`${name}: boxes are told apart from what is between them`, () => {
    const least = name === "dark" ? 1.8 : 1.15; // near black, eyes want more
    for (let i = 0; i < N_COLOURS; i++)
      for (let tint = 0; tint < N_TINTS; tint++) {
        const clear = contrast(tinted(colours[i], colours.background, tint), colours.background);
        assert.ok(clear >= least, `${colours[i]}, tint ${tint}: ${clear}`);
      }
  });

  test(`${name}: what matches in part is told apart from all and nothing`, () => {
    for (const matrix of Object.values(VISIONS))
      for (const other of ["match", "many"])
        assert.ok(distance(colours["some-match"], colours[other], matrix) >= 8, other);
  });

  test(`${name}: fills of crates are told apart with any colour vision`, () => {
    for (const [vision, matrix] of Object.entries(VISIONS))
      for (let a = 0; a < N_COLOURS; a++)
        for (let b = 0; b < a; b++) {
          const apart = distance(colours[a], colours[b], matrix);
          assert.ok(apart >= 5, `${vision}: ${colours[a]} ${colours[b]}: ${apart}`);
        }
  });

  test(`${name}: grown and shrunk are told apart with any colour vision`, () => {
    for (const matrix of Object.values(VISIONS))
      for (const grown of ["grown", "grown-weak"])
        for (const shrunk of ["shrunk", "shrunk-weak"])
          assert.ok(distance(colours[grown], colours[shrunk], matrix) >= 8);
  });
}

test("tints go from the colour itself towards the background", () => {
  assert.equal(tinted("#804020", "#ffffff", 0), "#804020");
  assert.equal(tinted("#800000", "#ffffff", 1), "#922424");
  assert.equal(tinted("#800000", "#ffffff", 2), "#a44747");
});

test("light and dark have the same colours by name", () => {
  assert.deepEqual(Object.keys(THEMES.dark), Object.keys(THEMES.light));
});
