// SPDX-License-Identifier: Apache-2.0
//
// One line above the graph: what the box under the pointer or in focus is, where one is in the
// whole, and the buttons for what is otherwise done by right click and Escape.

import type { ComponentChildren } from "preact";
import { amount, change, share } from "../engine/units.ts";
import type { TreeMeaning } from "./meaning.ts";

interface BarProps {
  meaning: TreeMeaning;
  whole: number;
  node: number;
  isZoomed: boolean;
  isMenuOpen: boolean;
  map: ComponentChildren; // where one is, zoomed
  onZoomOut: () => void;
  onMenu: (x: number, y: number) => void;
}

export function Bar(props: BarProps) {
  const { meaning, node, isZoomed, isMenuOpen } = props;
  const open = (event: MouseEvent) => {
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    props.onMenu(rect.left, rect.bottom);
  };
  return (
    <div class="flame-bar">
      <span class="flame-bar-text" dir="ltr">
        <b>{meaning.names.shortOf(node).slice(0, 300)}</b> {figuresOf(props)}{" "}
        <span class="flame-bar-place">{meaning.names.placeOf(node)}</span>
      </span>
      {isZoomed ? (
        <>
          {props.map}
          <button type="button" onClick={props.onZoomOut}>
            Zoom out
          </button>
        </>
      ) : (
        <span class="flame-hint">Ctrl + wheel: nearer</span>
      )}
      <button
        type="button"
        aria-haspopup="menu"
        aria-expanded={isMenuOpen}
        aria-label="What to do with the box in focus"
        onClick={open}
      >
        ⋯
      </button>
    </div>
  );
}

function figuresOf({ meaning, node, whole }: BarProps): string {
  const { tree, options } = meaning;
  if (tree.count === 0) return "";
  const n = meaning.change(node);
  if (options.signed) return change(n, options.unit, options.mark);
  return `${amount(n, options.unit, options.mark)} · ${share(n, whole, options.mark)}`;
}
