// SPDX-License-Identifier: Apache-2.0
//
// What the keys do. Arrows go where they point in the picture; Enter zooms, Escape and Backspace go
// back out; + and − come nearer and go away, and with Shift arrows move along what is seen.

import type { Tree } from "../engine/tree.ts";
import { PAN_STEP, ZOOM_STEP } from "./span.ts";
import { sibling, widestChild } from "./walk.ts";

export type Command =
  | { do: "go"; node: number }
  | { do: "zoom"; node: number }
  | { do: "near"; factor: number }
  | { do: "move"; by: number } // in widths of what is seen
  | { do: "all" } // of the width
  | { do: "menu" }
  | { do: "copy" };

export interface KeyState {
  tree: Tree;
  cursor: number;
  zoom: number;
  isNear: boolean; // not all of the width is seen
  flipped: boolean;
}

export interface Key {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

const asides: Record<string, number> = { ArrowLeft: -PAN_STEP, ArrowRight: PAN_STEP };

export function commandOf(event: Key, state: KeyState): Command | null {
  const { tree, cursor, zoom, isNear, flipped } = state;
  if (event.ctrlKey || event.altKey || event.metaKey) return copyCommand(event);
  if (isNear && event.shiftKey && Object.hasOwn(asides, event.key))
    return { do: "move", by: asides[event.key] };
  switch (event.key) {
    case "ArrowUp":
      return { do: "go", node: flipped ? widestChild(tree, cursor) : tree.parent[cursor] };
    case "ArrowDown":
      return { do: "go", node: flipped ? tree.parent[cursor] : widestChild(tree, cursor) };
    case "ArrowLeft":
      return { do: "go", node: sideways(state, -1) };
    case "ArrowRight":
      return { do: "go", node: sideways(state, 1) };
    case "Home":
      return { do: "go", node: 0 };
    case "Enter":
    case " ":
      return { do: "zoom", node: cursor };
    case "+":
    case "=":
      return { do: "near", factor: ZOOM_STEP };
    case "-":
      return { do: "near", factor: 1 / ZOOM_STEP };
    case "Escape":
    case "Backspace":
      if (isNear) return { do: "all" };
      return zoom > 0 ? { do: "zoom", node: tree.parent[zoom] } : null;
    case "ContextMenu":
      return { do: "menu" };
    case "F10":
      return event.shiftKey ? { do: "menu" } : null;
  }
  return null;
}

function copyCommand(event: Key): Command | null {
  const isCopy = (event.ctrlKey || event.metaKey) && !event.altKey && event.key === "c";
  return isCopy ? { do: "copy" } : null;
}

// Beside what is zoomed to, and beside what leads to it, nothing is shown.
function sideways({ tree, cursor, zoom }: KeyState, step: 1 | -1): number {
  return tree.depth(cursor) <= tree.depth(zoom) ? cursor : sibling(tree, cursor, step);
}
