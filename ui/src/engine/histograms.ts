// SPDX-License-Identifier: Apache-2.0
//
// How large blocks were and how long they lived, in classes.

import type { Model } from "./model.ts";

export const SIZE_BUCKETS_N = 32;
export const LIFE_BUCKETS_N = 48;

export interface Histogram {
  sizes: Float64Array; // 32 counts of allocations: 0 to 4 bytes, then 2^(k+1)+1 to 2^(k+2) bytes
  lifetimes: Float64Array; // 48 counts of frees: 0 ns, then 2^(k-1) to 2^k - 1 ns
}

// Of some sites; null: of all that are heap.
export function histogram(_model: Model, _sites: ArrayLike<number> | null): Histogram {
  throw new Error("not built yet");
}

// The limits of a bucket, both included; most is Infinity in the last.
export function sizeRange(_bucket: number): { least: number; most: number } {
  throw new Error("not built yet");
}
export function lifeRange(_bucket: number): { least: number; most: number } {
  throw new Error("not built yet");
}
