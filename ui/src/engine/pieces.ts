// SPDX-License-Identifier: Apache-2.0
//
// Work in pieces: of a million stacks much takes longer than anybody should wait for the page to
// answer. Whoever runs such work may do something else after each piece; whoever does not care runs
// it at once. There is one way to work something out, and so one answer.

// Where somebody may want to know, a piece ends with how much of the work is done then: 0 to 1.
export type Pieces<T> = Generator<number | undefined, T, undefined>;

export const PIECE = 1 << 16; // of stacks, cells and the like: a few milliseconds

export function atOnce<T>(work: Pieces<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done)
      return value;
  }
}

// As atOnce(): whoever wants to hears how much is done.
export function told<T>(work: Pieces<T>, tell: (part: number) => void): T {
  for (;;) {
    const { done, value } = work.next();
    if (done)
      return value;
    if (value !== undefined)
      tell(value);
  }
}

// Work that is a part of another, from one share of it to a later one.
export function* within<T>(work: Pieces<T>, from: number, to: number): Pieces<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done)
      return value;
    yield value === undefined ? undefined : from + value * (to - from);
  }
}

// 0 to count - 1, stretch by stretch. A loop over a million is quick where all that it touches is
// at hand: such a one is a function of its own.
export function* stretches(
  count: number, work: (from: number, past: number) => void, size = PIECE,
): Pieces<void> {
  for (let from = 0; from < count; from += size) {
    work(from, Math.min(count, from + size));
    yield;
  }
}

// The latest few answers to questions about something, as long as that is there.
export class Few<O extends object, T> {
  private readonly kept = new WeakMap<O, Map<string, T>>();

  constructor(private readonly most: number) {}

  get(of: O, key: string): T | undefined {
    const held = this.kept.get(of);
    const value = held?.get(key);
    if (value !== undefined) {
      held!.delete(key);
      held!.set(key, value);
    }
    return value;
  }

  forget(of: O): void {
    this.kept.delete(of);
  }

  keep(of: O, key: string, value: T): T {
    const held = this.kept.get(of) ?? new Map<string, T>();
    this.kept.set(of, held);
    held.delete(key);
    held.set(key, value);
    if (held.size > this.most)
      held.delete(held.keys().next().value!);
    return value;
  }
}

// ---- sorting ----

function merge(
  from: Float64Array, to: Float64Array, left: number, middle: number, past: number,
): void {
  for (let i = left, a = left, b = middle; i < past; i++)
    to[i] = b >= past || (a < middle && from[a] <= from[b]) ? from[a++] : from[b++];
}

// Rising.
function* sortKeys(keys: Float64Array): Pieces<Float64Array> {
  yield* stretches(keys.length, (from, past) => keys.subarray(from, past).sort());
  let [now, next] = [keys, keys.length > PIECE ? new Float64Array(keys.length) : keys];
  for (let run = PIECE; run < keys.length; run *= 2) {
    for (let left = 0; left < keys.length; left += 2 * run) {
      const middle = Math.min(keys.length, left + run);
      merge(now, next, left, middle, Math.min(keys.length, left + 2 * run));
      yield;
    }
    [now, next] = [next, now];
  }
  return now;
}

// By any comparison; equals stay as they are.
export function* sorted<T>(items: T[], compare: (a: T, b: T) => number): Pieces<T[]> {
  const RUN = 1 << 11;
  let now: T[] = [];
  for (let from = 0; from < items.length; from += RUN) {
    now.push(...items.slice(from, from + RUN).sort(compare));
    yield;
  }
  for (let run = RUN; run < items.length; run *= 2) {
    const next: T[] = [];
    for (let left = 0; left < now.length; left += 2 * run) {
      const [middle, past] = [left + run, left + 2 * run].map((at) => Math.min(now.length, at));
      for (let a = left, b = middle; a < middle || b < past;) {
        next.push(b >= past || (a < middle && compare(now[a], now[b]) <= 0) ? now[a++] : now[b++]);
        if (next.length % RUN === 0)
          yield;
      }
    }
    now = next;
  }
  return now;
}

const EXACT = 2 ** 53;
const FEW = 2048; // are sorted in no time

// Whether a value and a place beside it fit into one number.
function* fits(
  values: Float64Array, order: Uint32Array, from: number, past: number,
): Pieces<number | null> {
  let [least, most, isWhole] = [Infinity, -Infinity, true];
  yield* stretches(past - from, (a, b) => {
    for (let i = from + a; i < from + b; i++) {
      const value = values[order[i]];
      isWhole &&= Number.isInteger(value);
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  });
  return isWhole && (most - least + 1) * (past - from) < EXACT ? most : null;
}

// Sorts a stretch of indexes by falling value, those of one value by the values of the next level;
// equals stay as they are.
export function* sortByFalling(
  order: Uint32Array, levels: readonly Float64Array[], from = 0, past = order.length,
): Pieces<void> {
  const [values, ...further] = levels;
  const n = past - from;
  if (!values || n < 2)
    return;
  const most = n > FEW ? yield* fits(values, order, from, past) : null;
  if (most === null) {
    order.subarray(from, past).sort((a, b) => levels.reduce((found, one) =>
      found || one[b] - one[a], 0));
    return;
  }
  const keys = new Float64Array(n);
  yield* stretches(n, (a, b) => {
    for (let i = a; i < b; i++)
      keys[i] = (most - values[order[from + i]]) * n + i;
  });
  const before = order.slice(from, past);
  const sorted = yield* sortKeys(keys);
  yield* stretches(n, (a, b) => {
    for (let i = a; i < b; i++)
      order[from + i] = before[sorted[i] % n];
  });
  for (let i = from, since = 0; i < past && further.length;) {
    let end = i + 1;
    while (end < past && values[order[end]] === values[order[i]])
      end++;
    if (end - i > 1)
      yield* sortByFalling(order, further, i, end);
    if ((since += end - i) >= PIECE) {
      since = 0;
      yield;
    }
    i = end;
  }
}
