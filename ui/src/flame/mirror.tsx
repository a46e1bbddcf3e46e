// SPDX-License-Identifier: Apache-2.0
//
// The picture as a table, for who does not see it: the node in focus with its ancestors, its
// neighbours and its largest children. The keyboard's focus is here; the canvas shows where it is.

import { TERMS } from "../engine/terms.ts";
import type { Tree } from "../engine/tree.ts";
import { amount, change, share } from "../engine/units.ts";
import { cleanWithin } from "./clean.ts";
import type { TreeMeaning } from "./meaning.ts";

const ANCESTORS = 12; // at most, of each kind: a table of a million rows helps nobody
const NEIGHBOURS = 6; // to each side
const CHILDREN = 12;

interface MirrorProps {
  id: string;
  label: string;
  describedBy: string;
  meaning: TreeMeaning;
  whole: number;
  cursor: number;
  gridRef: { current: HTMLTableElement | null };
  onKeyDown: (event: KeyboardEvent) => void;
  onBlur: () => void;
  onChoose: (node: number) => void;
}

export function Mirror(props: MirrorProps) {
  const { id, meaning, cursor } = props;
  const nodes = rowsAround(meaning.tree, cursor);
  return (
    <table
      role="treegrid"
      tabIndex={0}
      ref={props.gridRef}
      aria-label={props.label}
      aria-describedby={props.describedBy}
      aria-activedescendant={`${id}-${cursor}`}
      onKeyDown={props.onKeyDown}
      onBlur={props.onBlur}
    >
      <thead>
        <tr role="row">
          {[
            TERMS.function,
            meaning.options.signed ? TERMS.change : TERMS.total,
            TERMS.share,
            TERMS.self,
            TERMS.source,
          ].map(({ text }) => (
            <th key={text} role="columnheader">
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <Row key={node} node={node} {...props} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ node, id, meaning, whole, cursor, onChoose }: MirrorProps & { node: number }) {
  const { tree, names, options } = meaning;
  const hasChildren = tree.hasChildren(node);
  const siblings = node === 0 ? [0] : tree.children(tree.parent[node]);
  const isOpen = node === cursor || isAncestor(tree.parent, node, cursor);
  return (
    <tr
      role="row"
      id={`${id}-${node}`}
      aria-level={tree.depth(node) + 1}
      aria-posinset={siblings.indexOf(node) + 1}
      aria-setsize={siblings.length}
      aria-expanded={hasChildren ? isOpen : undefined}
      aria-selected={node === cursor}
      onClick={() => onChoose(node)}
    >
      <td role="gridcell">{cleanWithin(names.shortOf(node), 300)}</td>
      <td role="gridcell">
        {options.signed
          ? change(meaning.change(node), options.unit, options.mark)
          : amount(tree.total(node), options.unit, options.mark)}
      </td>
      <td role="gridcell">{options.signed ? "" : share(tree.total(node), whole, options.mark)}</td>
      <td role="gridcell">
        {tree.isWhole(node) && amount(tree.self(node), options.unit, options.mark)}
      </td>
      <td role="gridcell">{names.placeOf(node)}</td>
    </tr>
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
  const children = tree.childrenByWeight(node).filter((child) => tree.width(child) > 0);
  return children.slice(0, CHILDREN).sort((a, b) => a - b);
}

function isAncestor(parent: Uint32Array, node: number, of: number): boolean {
  let at = of;
  while (at > node) at = parent[at];
  return at === node && of !== node;
}
