// SPDX-License-Identifier: Apache-2.0
//
// What the keys do. Arrows go where they point in the picture; Enter zooms, Escape and Backspace go
// back out.

import type { Tree } from "../engine/tree.ts";
import { sibling, widestChild } from "./walk.ts";

export type Command =
  | { do: "go"; node: number }
  | { do: "zoom"; node: number }
  | { do: "menu" }
  | { do: "copy" };

export interface KeyState {
  tree: Tree;
  cursor: number;
  zoom: number;
  flipped: boolean;
}

export interface Key {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

export function commandOf(event: Key, state: KeyState): Command | null {
  const { tree, cursor, zoom, flipped } = state;
  if (event.ctrlKey || event.altKey || event.metaKey) return copyCommand(event);
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
    case "Escape":
    case "Backspace":
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
