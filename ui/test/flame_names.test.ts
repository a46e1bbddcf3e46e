// SPDX-License-Identifier: Apache-2.0
//
// Labels: names shortened, made harmless, and cut to what fits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, cleanWithin } from "../src/flame/clean.ts";
import { Fitter } from "../src/flame/fit.ts";
import { placeWithin, readableName, shortName } from "../src/engine/shorten.ts";
import { tailsApart, tailsOf, tellApart } from "../src/engine/shorten.ts";

const SHORT: [string, string][] = [
  ["malloc", "malloc"],
  ["indexer::postings::Block::push::h0123456789abcdef", "indexer::postings::Block::push"],
  ["alloc::vec::Vec<T,A>::push", "alloc::vec::Vec<…>::push"],
  ["alloc::vec::Vec::<T>::push", "alloc::vec::Vec<…>::push"],
  ["<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc::vec::Vec<…>::drop"],
  ["<T as a::B<C>>::f", "T::f"],
  ["<impl core::fmt::Debug for x::Y>::fmt", "x::Y::fmt"],
  ["core::ops::function::FnOnce::call_once{{vtable.shim}}",
    "core::ops::function::FnOnce::call_once{{vtable.shim}}"],
  ["f(int, char const*)", "f"],
  ["(anonymous namespace)::f(int)", "(anonymous namespace)::f"],
  ["ns::T::operator()(int) const", "ns::T::operator()"],
  ["std::map<int, std::vector<int> >::operator[](int&&)", "std::map<…>::operator[]"],
  ["operator<<(std::ostream&, X const&)", "operator<<"],
  ["T::operator->() const", "T::operator->"],
  ["f(int) [clone .part.0]", "f"],
  ["std::function<void (int)>::operator()(int) const", "std::function<…>::operator()"],
  ["call<fn() -> u8>::g", "call<…>::g"],
  ["_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault"],
  ["a<b", "a<…>"],
  ["", ""],
];

test("names are shortened to what tells them apart", () => {
  for (const [name, short] of SHORT) assert.equal(shortName(name), short);
});

test("tails go from the whole name to its last part, closures with where they are", () => {
  assert.deepEqual(tailsOf("a::b::c::d"), ["a::b::c::d", "c::d", "d"]);
  assert.deepEqual(tailsOf("a::b::{{closure}}"), ["a::b::{{closure}}", "b::{{closure}}"]);
  assert.deepEqual(tailsOf("main"), ["main"]);
  assert.deepEqual(tailsOf("::a"), ["::a"]);
});

test("a name of 100 KB gives a label like any other", () => {
  for (const piece of ["a", "<", ">", "(", "::", "<a as ", "operator<", "\u0301"]) {
    const name = piece.repeat(100000 / piece.length);
    assert.ok(shortName(name).length <= 2001);
    assert.ok(cleanWithin(name, 300).length < 400);
  }
});

test("what would harm becomes visible", () => {
  assert.equal(clean("a\u0000b\nc\u001b[31md"), "a\ufffdb\ufffdc\ufffd[31md");
  assert.equal(clean("user\u202egnp.exe"), "user\ufffdgnp.exe");
  assert.equal(clean("a\u200bb\u2066c\ufeff"), "a\ufffdb\ufffdc\ufffd");
  assert.equal(clean("\ud800x"), "\ufffdx");
  assert.equal(clean("Z\u0300\u0301\u0302\u0303!"), "Z\u0300\u0301!");
  assert.equal(clean("größe::<T>‘日本’"), "größe::<T>‘日本’");
  assert.equal(clean("<script>alert(1)</script>"), "<script>alert(1)</script>");
});

test("what is too long keeps both ends and says how long it is", () => {
  const text = cleanWithin(`begin${"x".repeat(5000)}end`, 100);
  assert.match(text, /^begin.*end \(5,008 characters\)$/);
  assert.ok(text.length < 150);
});

const fitter = () => new Fitter((text) => 10 * [...text].length);

test("the first label that fits is taken, then the beginning of the last", () => {
  const labels = ["a::long::name", "long::name", "name"];
  assert.equal(fitter().fit(labels, 130), "a::long::name");
  assert.equal(fitter().fit(labels, 129), "long::name");
  assert.equal(fitter().fit(labels, 99), "name");
  assert.equal(fitter().fit(labels, 39), "");
  assert.equal(fitter().fit(["resize"], 45), "res…");
  assert.equal(fitter().fit(["resize"], 39), "");
  assert.equal(fitter().fit([], 1000), "");
});

test("names side by side keep what tells them apart, and no more", () => {
  const told: [string[], string[]][] = [
    [["Reg<A>::add(int)", "Reg<B>::add(int)"], ["Reg<A>::add", "Reg<B>::add"]],
    [["Reg<P<int, A>>::add(int)", "Reg<P<int, B>>::add(int)", "Reg<Q<int>>::add(int)"],
      ["Reg<P<int, A>>::add", "Reg<P<int, B>>::add", "Reg<Q<…>>::add"]],
    [["f(int)", "f(double)"], ["f(int)", "f(double)"]],
    [["v<A>::push", "v<A>::push"], ["v<…>::push", "v<…>::push"]], // one function, two places
    [["f(int)", "f(double)", "f(int)"], ["f(int)", "f(double)", "f(int)"]],
    [["a", "b"], ["a", "b"]],
  ];
  for (const [names, wanted] of told) assert.deepEqual(tellApart(names), wanted);
});

test("without room names lose their beginnings, but not what tells them apart", () => {
  const closure = "devices::connect_device::{{closure}}";
  assert.deepEqual(tailsApart([`${closure}:19`, "devices::main"], 30),
    ["connect_device::{{closure}}:19", "devices::main"]);
  assert.deepEqual(tailsApart(["ns::a::one::push", "ns::b::one::push", "c::push"], 12),
    ["ns::a::one::push", "ns::b::one::push", "c::push"]);
  assert.deepEqual(tailsApart(["a::b::c", "a::b::c"], 3), ["c", "c"]);
  assert.deepEqual(tailsApart(["no_parts_but_very_long"], 5), ["no_parts_but_very_long"]);
});

test("of a path without room the end says where", () => {
  assert.equal(placeWithin("src/main.rs:19", 22), "src/main.rs:19");
  const long = "tokio-1.54.1/src/macros/support.rs:653";
  assert.equal(placeWithin(long, 26), "…/macros/support.rs:653");
  assert.equal(placeWithin(long, 22), "…/support.rs:653");
  assert.equal(placeWithin("a/very_long_name_of_a_file_indeed.rs:7", 22),
    "…/very_long_name_of_a_file_indeed.rs:7");
  assert.equal(placeWithin("very_long_name_of_a_file_indeed.rs:7", 22),
    "very_long_name_of_a_file_indeed.rs:7");
});

test("what tells long names apart is in the middle, and stays", () => {
  const long = "outer_namespace::".repeat(9);
  const names = ["Left", "Right"].map((side) => `${long}Tree<${side}>::${"inner_".repeat(9)}run`);
  const told = tellApart(names);
  assert.equal(new Set(told).size, 2);
  told.forEach((text, i) => {
    assert.ok(text.length < 110, text);
    assert.ok(text.includes(["Left", "Right"][i].slice(0, 3)) && text.endsWith("run"), text);
    assert.ok(!text.includes("……"), text);
  });
});

test("what is folded and cut has one ellipsis", () => {
  const fitter = new Fitter(() => 1);
  for (let width = 4; width < 12; width++)
    assert.ok(!/……|<…$/.test(fitter.fit(["vector<…>"], width)), `${width}`);
  assert.equal(fitter.fit(["vector<…>"], 8), "vector…");
});

test("what is fitted is never wider than its box", () => {
  const measured: string[] = [];
  const fit = new Fitter((text) => {
    measured.push(text);
    return 3 + (text.codePointAt(0)! % 9);
  });
  const label = "abc<日本>::𝒳yz_def";
  for (let width = 0; width < 200; width++)
    assert.ok(fit.width(fit.fit([label], width)) <= width);
  assert.ok(measured.every((text) => [...text].length === 1)); // one character at a time
});

test("a surrogate pair is never cut", () => {
  for (let width = 0; width < 120; width += 5) {
    const text = fitter().fit(["𝒳𝒳𝒳𝒳𝒳𝒳𝒳𝒳𝒳𝒳"], width);
    assert.ok(!/[\ud800-\udfff]/u.test(text));
  }
});

test("a name is shortened where it would not be read", () => {
  const short = "std::vector<int>::push_back(int&&)";
  assert.equal(readableName(short), short);
  const long = "app::Archive::keep(std::basic_string<char, std::char_traits<char> > const&)";
  assert.equal(readableName(long), "app::Archive::keep");
  assert.equal(shortName("<lambda>"), "<lambda>");
});
