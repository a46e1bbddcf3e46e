// SPDX-License-Identifier: Apache-2.0
//
// The way to what the graph is zoomed to: its callers, which have no rows of their own then. Each
// is a step back out. Of a long way the ends are shown.

import type { TreeNames } from "./names.ts";
import { lineageOf } from "./walk.ts";

const FIRST = 2;
const LAST = 5;

interface CrumbsProps {
  names: TreeNames;
  node: number;
  onZoom: (node: number) => void;
}

export function Crumbs({ names, node, onZoom }: CrumbsProps) {
  const way = [0, ...lineageOf(names.tree, node)];
  const left = way.length - FIRST - LAST;
  const shown = left > 1 ? [...way.slice(0, FIRST), ...way.slice(-LAST)] : way;
  return (
    <nav class="flame-crumbs" aria-label="Zoomed to">
      <ol>
        {shown.map((at, i) => (
          <li key={at}>
            {left > 1 && i === FIRST && <span class="flame-crumbs-left">… {left} more ›</span>}
            {at === node ? (
              <b aria-current="true">{names.shortOf(at).slice(0, 100)}</b>
            ) : (
              <button type="button" onClick={() => onZoom(at)} title={names.fullOf(at)}>
                {names.shortOf(at).slice(0, 100)}
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
