// SPDX-License-Identifier: Apache-2.0
//
// The state and the address: whatever is selected comes back from the address as it was, and
// whatever stands in an address does no harm.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  emptyState,
  filterKinds,
  formatState,
  groupKinds,
  measures,
  panes,
  parseState,
  parseTime,
  slide,
  state,
  timeText,
  type State,
} from "../src/app/state.ts";
import { colourings } from "../src/flame/names.ts";
import { orders } from "../src/engine/order.ts";
import { CHANGES } from "../src/engine/diff.ts";

function comesBack(change: Partial<State>): void {
  const selected = { ...emptyState(), ...change };
  const text = formatState(selected);
  assert.deepEqual(parseState(`#${text}`), selected, text);
  assert.doesNotMatch(text, /[\s"<>#]/, "safe in an address");
}

test("nothing selected is an empty address", () => {
  assert.equal(formatState(emptyState()), "");
  assert.deepEqual(parseState(""), emptyState());
  assert.deepEqual(parseState("#"), emptyState());
});

test("every word comes back", () => {
  for (const pane of panes) comesBack({ pane });
  for (const measure of measures) comesBack({ measure });
  for (const group of groupKinds) comesBack({ group });
  for (const change of CHANGES) comesBack({ change });
  for (const theme of ["system", "light", "dark"] as const) comesBack({ theme });
  for (const table of ["rss", "peak", 0, 1_500_296_030] as const) comesBack({ table });
  comesBack({ unit: "blocks", edge: "from", sort: "peak", up: true, process: 3, capture: 1 });
  for (const colour of colourings) comesBack({ colour });
  comesBack({ library: ["crate serde_json", "module libz.so.1"] });
  for (const order of orders) comesBack({ order });
  comesBack({ thread: "flush-19", versus: "main thread", suppress: ["a", "b<c>"] });
  comesBack({ runtime: true, collapse: false, lines: true, invert: true, flip: true, rss: false });
});

test("what of the graph's width is seen comes back, and is all of what is zoomed to anew", () => {
  comesBack({ span: { from: 0.25, to: 0.375 }, zoom: ["main"] });
  comesBack({ spanAbove: { from: 0, to: 0.5 }, spanBelow: { from: 0.5, to: 0.75 } });
  const parsed = parseState("#span=25-37.5&zoom=main");
  state.value = parsed;
  slide({ invert: true });
  assert.deepEqual(state.value.span, { from: 0.25, to: 0.375 });
  slide({ zoom: ["main", "run"] });
  assert.equal(state.value.span, null);
});

test("an address reads as a person would write it", () => {
  const state = { ...emptyState(), measure: "live" as const, at: 6_130_000_000 };
  assert.equal(formatState(state), "measure=live&at=6.13s");
  assert.equal(parseState("#measure=live&at=6130ms").at, 6_130_000_000);
  assert.equal(parseState("#at=2min").at, 120_000_000_000);
});

test("times are exact to the nanosecond", () => {
  for (const ns of [0, 1, 999, 1e9, 1e9 - 1, 84_058_048, 123_456_789_012_345, 2 ** 52]) {
    assert.equal(parseTime(timeText(ns)), ns, timeText(ns));
    comesBack({ from: ns, to: ns + 5, base: ns, left: ns, right: ns + 9 });
  }
  for (const text of ["", "-1s", "1e3s", "6.13 s", "s", "1.5h", "0x10s", "9".repeat(13)])
    assert.equal(parseTime(text), null, text);
});

test("names with anything in them come back", () => {
  const names = [
    "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
    "operator+=(a & b, c #d)",
    '<script>alert("x")</script>',
    "100%&zoom=evil#x",
    "tab\tline\nnull\u0000",
    "π 名前 \u{1f600}",
    "^a\\.b$|[c-d]{2}",
  ];
  comesBack({ above: names, below: [names[0]] });
  comesBack({ zoom: names, search: names[6], callee: names[1], source: `/a b/${names[5]}` });
  for (const kind of filterKinds) {
    const { filters } = emptyState();
    filters[kind] = names;
    comesBack({ filters });
  }
});

test("what makes no sense is as if it were not there", () => {
  const text = "#pane=attic&measure=most&unit=stones&at=soon&group=colour&process=-1&theme=pink";
  assert.deepEqual(parseState(text), emptyState());
  assert.deepEqual(parseState("#future=1&__proto__=x&constructor=y&toString=z"), emptyState());
  assert.deepEqual(parseState("#focus=&hide="), emptyState());
  assert.deepEqual(parseState("#%E0%A4%A&&&==&=x"), emptyState());
});

test("a range has its ends in order", () => {
  const { from, to } = parseState("#from=3s&to=1s");
  assert.deepEqual([from, to], [1e9, 3e9]);
});

test("selections come back: rows, threads, classes", () => {
  comesBack({ row: "place parse<a, b> /src/a b.c:12", thread: "flush-19 #3" });
  for (let size = 0; size < 32; size++) comesBack({ size });
  for (let lifetime = 0; lifetime < 15; lifetime++) comesBack({ lifetime });
  assert.equal(formatState({ ...emptyState(), size: 4, lifetime: 14 }), "size=33&lifetime=kept");
  assert.equal(parseState("#size=40").size, 4);
  assert.equal(parseState("#size=x&lifetime=y").lifetime, null);
});
