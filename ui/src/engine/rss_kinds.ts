// SPDX-License-Identifier: Apache-2.0
//
// Resident memory by kind over time: the areas of a lane, and what is known at a moment.

import type { RssKinds } from "./model.ts";

export const RSS_KINDS = ["anonymous", "files", "shared", "swapped"] as const;
export type RssKind = (typeof RSS_KINDS)[number];

// Those of which there ever was something.
export function kindsSeen(of: RssKinds): RssKind[] {
  return RSS_KINDS.filter((kind) => of[kind].some((bytes) => bytes > 0));
}

// The most of all of them together.
export function mostOfKinds(of: RssKinds): number {
  let most = 0;
  for (let i = 0; i < of.ns.length; i++) most = Math.max(most, residentAt(of, i) + of.swapped[i]);
  return most;
}

const residentAt = (of: RssKinds, i: number) => of.anonymous[i] + of.files[i] + of.shared[i];

const MOST_OFF = 1 / 8; // of the RSS of that time

// The look before a time or the one after it, not further away than `far`: where the RSS of that
// time is known, the one that saw about as much, for between the two it may have come or gone; else
// the nearer one. -1: neither tells.
export function lookNear(of: RssKinds, at: number, far: number, rss: number | null): number {
  const after = of.ns.findIndex((ns) => ns > at);
  const next = after < 0 ? of.ns.length : after;
  const near = [next - 1, next].filter((i) => Math.abs(of.ns[i] - at) <= far);
  const off = (i: number) =>
    rss === null ? Math.abs(of.ns[i] - at) : Math.abs(residentAt(of, i) - rss);
  const [best] = near.sort((a, b) => off(a) - off(b));
  return best === undefined || (rss !== null && off(best) > rss * MOST_OFF) ? -1 : best;
}

// Runs of looks that are not further apart than `far`, as [first, last].
export function nearRuns({ ns }: RssKinds, far: number): [number, number][] {
  const all: [number, number][] = [];
  for (let i = 0; i < ns.length; i++) {
    const last = all[all.length - 1];
    if (last && ns[i] - ns[i - 1] <= far) last[1] = i;
    else all.push([i, i]);
  }
  return all;
}

// Per look the edges of a kind from below, [from, to].
export function kindEdges(of: RssKinds, kind: RssKind): [number, number][] {
  const below = RSS_KINDS.slice(0, RSS_KINDS.indexOf(kind));
  return Array.from(of.ns, (_, i): [number, number] => {
    const from = below.reduce((sum, one) => sum + of[one][i], 0);
    return [from, from + of[kind][i]];
  });
}
