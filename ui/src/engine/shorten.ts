// SPDX-License-Identifier: Apache-2.0
//
// A function's name as it fits into a box or a line: without the hash of a Rust symbol, without
// parameters, its type arguments folded to <…>, the trait of a Rust method gone. The whole is a
// hover away.

const LONGEST = 2000; // characters looked at: no label is wider

// `depth`: how deep type arguments stay as they are.
export function shortName(name: string, depth = 0): string {
  let short = name.length > LONGEST ? name.slice(0, LONGEST) : name;
  short = short.replace(/::h[0-9a-f]{16}$/, "");
  short = short.slice(0, parametersAt(short));
  short = withoutSubject(short);
  return foldArguments(short, depth).replaceAll("::<…>", "<…>");
}

const DEPTHS = [0, 1, 2, 3, 4];

// Names that stand side by side, so short that each still says which it is: with their arguments
// where those are all the difference, with parameters where nothing else is. Equal names stay so.
export function tellApart(names: readonly string[]): string[] {
  const all = [...new Set(names)]; // rows of stacks: thousands have one name
  const ways = [...DEPTHS.map((depth) => all.map((name) => shortName(name, depth))), all];
  const counts = ways.map(countsOf);
  const made = all.map((_, i) => {
    const alone = ways.findIndex((way, k) => counts[k].get(way[i]) === 1);
    return (ways[alone] ?? all)[i];
  });
  const short = middlesOf(made);
  if (new Set(short).size < all.length) return [...names];
  const told = new Map(all.map((name, i) => [name, short[i]]));
  return names.map((name) => told.get(name)!);
}

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const HEAD = 24; // characters kept of what all begin with,
const MIDDLE = 48; // of what differs,
const TAIL = 28; // and of what all end with

// What is long gives way at both sides of what differs.
function middlesOf(names: readonly string[]): string[] {
  const first = names[0] ?? "";
  const shortest = Math.min(...names.map((name) => name.length));
  let p = 0;
  while (p < shortest && names.every((name) => name[p] === first[p])) p++;
  let q = 0;
  const fromEnd = (name: string) => name[name.length - 1 - q];
  while (q < shortest - p && names.every((name) => fromEnd(name) === fromEnd(first))) q++;
  return names.map((name) => {
    if (name.length <= HEAD + MIDDLE + TAIL) return name;
    const [head, middle, tail] = [name.slice(0, p), name.slice(p, -q || undefined),
      q ? name.slice(-q) : ""];
    return (
      (head.length > HEAD ? `${head.slice(0, HEAD)}…` : head) +
      (middle.length > MIDDLE ? `${middle.slice(0, MIDDLE)}…` : middle) +
      (tail.length > TAIL ? `…${tail.slice(-TAIL)}` : tail)
    ).replace(/…+/g, "…");
  });
}

const READABLE = 60; // characters

// The whole name where it is of a length that people read, else the short one.
export function readableName(name: string): string {
  return name.length <= READABLE ? name : shortName(name);
}

// What may be shown of a short name, from all of it down to its last part, each shorter than the
// one before: the tail of a qualified name says most. A closure's name is that of where it is.
export function tailsOf(short: string): string[] {
  const starts: number[] = [];
  let at = short.length;
  while (starts.length < 2) {
    at = short.lastIndexOf("::", at - 1);
    if (at <= 0) break;
    if (short[at + 2] !== "{") starts.push(at + 2);
  }
  return [short, ...starts.reverse().map((start) => short.slice(start))];
}

// For where there is little room: the longest of them that is so short, or the last. Names that
// would be alike by it stay whole.
export function tailsApart(names: readonly string[], most: number): string[] {
  const tails = names.map((name) => {
    const all = tailsOf(name);
    return all.find((tail) => tail.length <= most) ?? all[all.length - 1];
  });
  const isAlone = (tail: string, i: number) =>
    tails.every((other, k) => other !== tail || names[k] === names[i]);
  return tails.map((tail, i) => (isAlone(tail, i) ? tail : names[i]));
}

// "…/macros/support.rs:653" of a long path: its end says where, as in the command's tables.
export function placeWithin(place: string, most: number): string {
  if (place.length <= most) return place;
  const last = place.lastIndexOf("/");
  if (last < 0) return place;
  const at = place.indexOf("/", place.length - most + 1);
  return `…${place.slice(at < 0 ? last : at)}`;
}

// Where the parameter list of a C++ name starts, its length if it has none: at the last top-level
// parenthesis, so that "(anonymous namespace)::f(int)" and "operator()(int) const" come out right.
function parametersAt(name: string): number {
  const close = name.lastIndexOf(")");
  if (close < 0 || !/^( const| volatile| &&?| noexcept| \[.*\])*$/.test(name.slice(close + 1)))
    return name.length;
  let depth = 0;
  for (let i = close; i >= 0; i--) {
    if (name[i] === ")") depth++;
    if (name[i] === "(") depth--;
    if (depth > 0) continue;
    const isName = i === 0 || name.slice(0, i).endsWith("operator");
    return isName ? name.length : i;
  }
  return name.length;
}

// "->" and "=>" do not close anything, nor do the brackets of an operator's own name.
function isOpening(name: string, i: number): boolean {
  return name[i] === "<" && !/operator<?$/.test(name.slice(Math.max(0, i - 9), i));
}

function isClosing(name: string, i: number): boolean {
  return name[i] === ">" && name[i - 1] !== "-" && name[i - 1] !== "=";
}

// Rust's "<Type as Trait>::method" and "<impl Trait for Type>::method" as "Type::method".
function withoutSubject(name: string): string {
  if (name[0] !== "<") return name;
  let depth = 0;
  let as = -1;
  let close = 0;
  for (; close < name.length; close++) {
    if (isOpening(name, close)) depth++;
    if (isClosing(name, close) && --depth === 0) break;
    if (depth === 1 && as < 0 && name.startsWith(" as ", close)) as = close;
  }
  if (!name.startsWith("::", close + 1)) return name;
  let subject = name.slice(1, as < 0 ? close : as);
  const impl = /^impl .* for (.*)$/.exec(subject);
  if (impl) subject = impl[1];
  subject = subject.replace(/^impl /, "");
  return subject + name.slice(close + 1);
}

// Arguments of arguments count as deeper; what is deeper than `most` is folded.
function foldArguments(name: string, most: number): string {
  let out = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const opens = i > 0 && isOpening(name, i);
    if (opens && depth++ === most) out += "<…";
    if (depth > 0 && isClosing(name, i)) depth--;
    if (depth <= most) out += name[i];
  }
  return depth <= most ? out : `${out}>`;
}
