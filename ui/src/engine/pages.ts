// SPDX-License-Identifier: Apache-2.0
//
// Who mapped memory beside the heap, with mmap and brk: places by what they hold, the most first.
// It is no part of the heap's numbers, but often the larger part of the RSS.

import type { View } from "./look.ts";
import { liveBytesAt, SiteKind } from "./model.ts";
import { NONE } from "./names.ts";

export interface PagePlace {
  frame: number; // NONE: no stack
  peakBytes: number; // mapped at the peak of the heap
  liveBytes: number; // at the end
  bytes: number; // in all
  maps: number;
  sites: Uint32Array; // that it is the sum of
}

export function pagePlaces(view: View): PagePlace[] {
  const { sites } = view.model;
  const places = new Map<number, PagePlace>();
  const sitesOf = new Map<PagePlace, number[]>();
  for (let site = 0; site < sites.count; site++) {
    if (sites.kind[site] !== SiteKind.pages)
      continue;
    const frame = view.readFrames(site, 1) ? view.read[0] : NONE;
    let place = places.get(frame);
    if (!place) {
      const sites = new Uint32Array();
      place = { frame, peakBytes: 0, liveBytes: 0, bytes: 0, maps: 0, sites };
      places.set(frame, place);
      sitesOf.set(place, []);
    }
    sitesOf.get(place)!.push(site);
    place.peakBytes += sites.peakBytes[site];
    place.liveBytes += liveBytesAt(sites, site);
    place.bytes += sites.bAlloc[site];
    place.maps += sites.nAlloc[site];
  }
  for (const [place, all] of sitesOf)
    place.sites = Uint32Array.from(all);
  const held = ({ peakBytes, liveBytes }: PagePlace) => Math.max(peakBytes, liveBytes);
  return [...places.values()].sort((a, b) => held(b) - held(a) || b.bytes - a.bytes);
}
