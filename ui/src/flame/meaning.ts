// SPDX-License-Identifier: Apache-2.0
//
// What the boxes of a tree show: colours by crate or module, or by growth and shrinking; what was
// searched for before everything else. Growth is never told by colour alone: labels begin with ▲
// or ▼.

import type { Unit } from "../engine/question.ts";
import { widthsOf, type Widths } from "../engine/search.ts";
import { TERMS } from "../engine/terms.ts";
import type { Tree } from "../engine/tree.ts";
import { amount, type Mark } from "../engine/units.ts";
import type { Meaning } from "./draw.ts";
import type { TreeNames } from "./names.ts";
import { Style } from "./palette.ts";

export interface MeaningOptions {
  unit: Unit;
  mark: Mark; // of its numbers
  signed: boolean;
  matches: Uint8Array | null; // per node
}

const MUCH = 1 / 4; // of all that changed
const LITTLE = 1 / 50;
const GROWN = [Style.grownWeak, Style.grownSome, Style.grown];
const SHRUNK = [Style.shrunkWeak, Style.shrunkSome, Style.shrunk];

export class TreeMeaning implements Meaning {
  private readonly widths: Widths | null; // of a search

  constructor(
    readonly tree: Tree,
    readonly names: TreeNames,
    readonly options: MeaningOptions,
  ) {
    const { matches } = options;
    this.widths = matches && widthsOf(tree, matches);
  }

  style(node: number): number {
    const { matches, signed } = this.options;
    if (matches) return matches[node] ? Style.match : Style.dim;
    const kind = this.names.kindOf(node);
    if (kind !== "own" && kind !== "runtime") return Style.hatch;
    if (signed) return this.signedStyle(node);
    if (node === 0) return Style.root;
    return kind === "runtime" ? Style.runtime : this.names.colourOf(node);
  }

  // The darker, the more of all that changed; where growth and shrinking nearly make up for each
  // other, the lightest.
  private signedStyle(node: number): number {
    const n = this.change(node);
    if (n === 0) return Style.even;
    const isClear = Math.abs(n) >= 0.5 * this.tree.width(node);
    const part = Math.abs(n) / this.tree.width(0);
    const shade = !isClear || part < LITTLE ? 0 : part < MUCH ? 1 : 2;
    return (n > 0 ? GROWN : SHRUNK)[shade];
  }

  labels(node: number): readonly string[] {
    const plain = this.names.labelsOf(node);
    const deep = this.tree.deep(node);
    const mark = this.options.signed ? arrow(this.change(node)) : "";
    const times = node > 0 && deep > 1 ? ` ×${deep}` : "";
    if (mark === "" && times === "") return plain;
    return plain.map((label) => mark + label + times);
  }

  figure(node: number): string {
    const { signed, unit, mark } = this.options;
    const n = signed ? Math.abs(this.change(node)) : this.tree.total(node);
    return amount(n, unit, mark);
  }

  isJoined(node: number): boolean {
    return this.names.isInlined(node);
  }

  get isSearched(): boolean {
    return this.widths !== null;
  }

  matchOf(first: number, past: number): number {
    if (!this.widths) return 0;
    const { matched, all } = this.widths;
    if (all[past] <= all[first]) return 0;
    return (matched[past] - matched[first]) / (all[past] - all[first]);
  }

  change(node: number): number {
    const { tree } = this;
    return tree.isDiff ? tree.total(node) - tree.before(node) : tree.total(node);
  }
}

function arrow(n: number): string {
  return n > 0 ? TERMS.more.text : n < 0 ? TERMS.less.text : "= ";
}
