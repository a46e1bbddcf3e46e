// SPDX-License-Identifier: Apache-2.0
//
// How large blocks were and how long they lived, in classes.

import { SiteKind, type Model } from "./model.ts";

export const SIZE_BUCKETS_N = 32;
export const LIFE_BUCKETS_N = 48;

export interface Histogram {
  sizes: Float64Array; // 32 counts of allocations: 0 to 4 bytes, then 2^(k+1)+1 to 2^(k+2) bytes
  lifetimes: Float64Array; // 48 counts of frees: 0 ns, then 2^(k-1) to 2^k - 1 ns
}

function noHistogram(): Histogram {
  return {
    sizes: new Float64Array(SIZE_BUCKETS_N), lifetimes: new Float64Array(LIFE_BUCKETS_N),
  };
}

export function addSiteHistogram(model: Model, site: number, sum: Histogram): void {
  const { bucket, number, first, order } = model.histograms;
  for (let k = first[site]; k < first[site + 1]; k++) {
    const i = order ? order[k] : k;
    if (bucket[i] < SIZE_BUCKETS_N)
      sum.sizes[bucket[i]] += number[i];
    else
      sum.lifetimes[bucket[i] - SIZE_BUCKETS_N] += number[i];
  }
}

// Of some sites; null: of all that are heap.
export function histogram(model: Model, sites: ArrayLike<number> | null): Histogram {
  const sum = noHistogram();
  const n = sites ? sites.length : model.sites.count;
  for (let i = 0; i < n; i++) {
    const site = sites ? sites[i] : i;
    if (sites || model.sites.kind[site] !== SiteKind.pages)
      addSiteHistogram(model, site, sum);
  }
  return sum;
}

// The limits of a bucket, both included; most is Infinity in the last.
export function sizeRange(bucket: number): { least: number; most: number } {
  return {
    least: bucket ? 2 ** (bucket + 1) + 1 : 0,
    most: bucket === SIZE_BUCKETS_N - 1 ? Infinity : 2 ** (bucket + 2),
  };
}

export function lifeRange(bucket: number): { least: number; most: number } {
  return {
    least: bucket ? 2 ** (bucket - 1) : 0,
    most: bucket === LIFE_BUCKETS_N - 1 ? Infinity : bucket ? 2 ** bucket - 1 : 0,
  };
}
