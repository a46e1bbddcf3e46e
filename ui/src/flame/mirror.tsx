// SPDX-License-Identifier: Apache-2.0
//
// The picture as a table, for who does not see it: the node in focus with its ancestors, its
// neighbours and its largest children. The keyboard's focus is here; the canvas shows where it is.

import { TERMS } from "../engine/terms.ts";
import { pathOf, type Tree } from "../engine/tree.ts";
import { amount, change, share } from "../engine/units.ts";
import { cleanWithin } from "./clean.ts";
import type { TreeMeaning } from "./meaning.ts";

const ANCESTORS = 12; // at most, of each kind: a table of a million rows helps nobody
const NEIGHBOURS = 6; // to each side
const CHILDREN = 12;

// What there is to be told.
export interface Told {
  meaning: TreeMeaning;
  cursor: number;
  whole: number;
  label: string;
  isEmpty: boolean;
}

interface MirrorRow {
  node: number;
  path: number[]; // names, which another tree has as well
  level: number;
  place: number; // among its siblings, from 1
  siblings: number;
  isOpen: boolean | undefined; // undefined: it has no children
  cells: string[];
}

// Told in words.
export interface Mirrored {
  number: number; // what is told, apart from all else that was
  isNow: boolean;
  isEmpty: boolean;
  label: string;
  cursor: number;
  heads: string[];
  rows: MirrorRow[];
}

export function mirrorOf(told: Told & { number: number }): Mirrored {
  const { number, meaning, cursor, label, isEmpty } = told;
  const heads = [
    TERMS.function,
    meaning.options.signed ? TERMS.change : TERMS.total,
    TERMS.share,
    TERMS.self,
    TERMS.source,
  ];
  const nodes = isEmpty ? [] : rowsAround(meaning.tree, cursor);
  return {
    number, isEmpty, cursor, isNow: true, label: `${label}, as a table`,
    heads: heads.map(({ text }) => text), rows: nodes.map((node) => rowOf(told, node)),
  };
}

function rowOf({ meaning, whole, cursor }: Told, node: number): MirrorRow {
  const { tree, names, options: { signed, unit, mark } } = meaning;
  const siblings = node === 0 ? [0] : tree.children(tree.parent[node]);
  const isOpen = node === cursor || isAncestor(tree.parent, node, cursor);
  const total = tree.total(node);
  return {
    node, path: pathOf(tree, node), level: tree.depth(node) + 1,
    place: siblings.indexOf(node) + 1, siblings: siblings.length,
    isOpen: tree.hasChildren(node) ? isOpen : undefined,
    cells: [
      cleanWithin(names.shortOf(node), 300),
      signed ? change(meaning.change(node), unit, mark) : amount(total, unit, mark),
      signed ? "" : share(total, whole, mark),
      tree.isWhole(node) ? amount(tree.self(node), unit, mark) : "",
      names.placeOf(node),
    ],
  };
}

interface MirrorProps {
  id: string;
  of: Mirrored;
  describedBy: string;
  gridRef: { current: HTMLTableElement | null };
  onKeyDown: (event: KeyboardEvent) => void;
  onBlur: () => void;
  onChoose: (path: number[]) => void;
}

export function Mirror({ id, of, describedBy, gridRef, ...on }: MirrorProps) {
  return (
    <table
      role="treegrid"
      tabIndex={0}
      ref={gridRef}
      aria-label={of.label}
      aria-describedby={describedBy}
      aria-activedescendant={`${id}-${of.cursor}`}
      onKeyDown={on.onKeyDown}
      onBlur={on.onBlur}
    >
      <thead>
        <tr role="row">
          {of.heads.map((text) => (
            <th key={text} role="columnheader">
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {of.rows.map((row) => (
          <tr
            key={row.node}
            role="row"
            id={`${id}-${row.node}`}
            aria-level={row.level}
            aria-posinset={row.place}
            aria-setsize={row.siblings}
            aria-expanded={row.isOpen}
            aria-selected={row.node === of.cursor}
            onClick={() => on.onChoose(row.path)}
          >
            {row.cells.map((text, i) => (
              <td key={i} role="gridcell">
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// In the order of a tree that is read from above: ancestors, then the siblings with the children of
// the one in focus after it.
export function rowsAround(tree: Tree, cursor: number): number[] {
  const rows: number[] = [];
  for (let at = cursor; at !== 0 && rows.length < ANCESTORS; ) rows.push((at = tree.parent[at]));
  rows.reverse();
  const siblings = neighbours(tree, cursor);
  const at = siblings.indexOf(cursor);
  rows.push(...siblings.slice(0, at + 1), ...largest(tree, cursor), ...siblings.slice(at + 1));
  return rows;
}

function neighbours(tree: Tree, node: number): number[] {
  if (node === 0) return [0];
  const first = tree.firstChild[tree.parent[node]];
  const past = tree.firstChild[tree.parent[node] + 1];
  const near: number[] = [node];
  for (let at = node - 1, n = 0; at >= first && n < NEIGHBOURS; at--)
    if (tree.width(at) > 0) n = near.unshift(at) - 1;
  const before = near.length;
  for (let at = node + 1; at < past && near.length < before + NEIGHBOURS; at++)
    if (tree.width(at) > 0) near.push(at);
  return near;
}

function largest(tree: Tree, node: number): number[] {
  return tree.widestChildren(node, CHILDREN).sort((a, b) => a - b);
}

function isAncestor(parent: Uint32Array, node: number, of: number): boolean {
  let at = of;
  while (at > node) at = parent[at];
  return at === node && of !== node;
}
