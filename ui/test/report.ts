// SPDX-License-Identifier: Apache-2.0
//
// A report of the command (tidemark-report-2) with its stacks unrolled: each site with all its
// members, its frames innermost first with their names, and culprit and via as indexes of those.
// And a tree (tidemark-tree-2) whose nodes have all their members, and names.

// Sizes and lifetimes are written as pairs of the most of a class and how many: null has no limit.
export type Counts = [number | null, number][];

export function sizeCounts(counts: Iterable<number>): Counts {
  return pairs([...counts], (bucket) => 4 * 2 ** bucket);
}

export function lifeCounts(counts: Iterable<number>): Counts {
  return pairs([...counts], (bucket) => 2 ** bucket - 1);
}

function pairs(counts: number[], most: (bucket: number) => number): Counts {
  return counts.map((n, bucket): [number | null, number] =>
    [bucket + 1 < counts.length ? most(bucket) : null, n]).filter(([, n]) => n > 0);
}

function stackOf(report: any, site: any): number[] {
  const numbers: number[] = [];
  for (let at = site.stack; at; at = report.stacks.parent[at])
    numbers.push(report.stacks.frame[at]);
  return numbers;
}

export function unroll(report: any): any {
  const frames = report.frames.map((frame: any) => ({
    ...report.frame_defaults, ...frame, function: report.functions[frame.function],
    file: report.files[frame.file], module: report.modules[frame.module] ?? "",
    flags: (frame.flags ?? []).filter((flag: string) => flag !== "exact"), // of no use to the page
  }));
  const sites = report.sites.map((told: any) => {
    const { stack, ...site } = { ...report.site_defaults, ...told };
    const numbers = stackOf(report, told);
    const culprit = site.culprit ? numbers.indexOf(site.culprit) : null;
    const via = site.via ? numbers.lastIndexOf(site.via, culprit! - 1) : null;
    return { ...site, culprit, via, frames: numbers.map((number) => frames[number]) };
  });
  return { ...report, sites };
}

export function unrollTree(told: any): any {
  const whole = (node: any): any => {
    const all = { ...told.node_defaults, ...node };
    return {
      ...all, function: told.functions[all.function] ?? null, file: told.files[all.file] ?? null,
      module: told.modules[all.module] ?? "", children: all.children.map(whole),
    };
  };
  const { total, self, stacks, children } = { ...told.node_defaults, ...told.tree };
  return { ...told, tree: { total, self, stacks, children: children.map(whole) } };
}
