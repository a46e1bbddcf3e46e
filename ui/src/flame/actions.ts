// SPDX-License-Identifier: Apache-2.0
//
// What can be done with a box. Copying is done here; the rest changes what the page looks at, and
// is told to whoever shows the graph.

import { cleanWithin } from "./clean.ts";
import type { MenuItem } from "./menu.tsx";
import type { TreeNames } from "./names.ts";
import { oneLine, stackText } from "./walk.ts";

export type FlameAction =
  "focus" | "hide" | "ignore" | "sandwich" | "collapse" | "search" | "library";

export type EditorLink = (file: string, line: number) => string | null;

// Of what was chosen.
export interface FlameTarget {
  node: number;
  name: string; // as frames have it
  stack: string; // its text, from the root of the tree on
  library: string | null; // that it is of, or stands for
}

export function targetOf(names: TreeNames, node: number): FlameTarget {
  const library = names.libraryOf(node);
  return { node, name: names.textOf(node), stack: stackText(names, node), library };
}

export function itemsFor(
  names: TreeNames,
  node: number,
  zoom: number,
  link?: EditorLink,
): MenuItem[] {
  const items: MenuItem[] = [];
  const kind = names.kindOf(node);
  if (node !== zoom) items.push({ id: "zoom", label: "Zoom to this" });
  if (zoom > 0) items.push({ id: "zoom-out", label: "Zoom out to everything" });
  if (node > 0) items.push({ id: "copy-stack", label: "Copy stack" });
  if (node > 0 && (kind === "own" || kind === "runtime")) {
    items.push(
      { id: "copy-name", label: "Copy name" },
      { id: "focus", label: "Focus on this function" },
      { id: "hide", label: "Hide this function: merge it into its callers" },
      { id: "ignore", label: "Leave out stacks with it" },
      { id: "sandwich", label: "Show callers and callees" },
      { id: "search", label: "Search this name" },
    );
    const library = names.libraryOf(node);
    if (library) items.push({ id: "library", label: libraryWords(library, names.isLibrary(node)) });
    const href = link && editorHref(names, node, link);
    if (href) items.push({ id: "editor", label: "Open in editor", href });
  }
  const label = names.isCollapsed ? "Show recursion in full" : "Collapse recursion";
  items.push({ id: "collapse", label });
  return items;
}

function libraryWords(library: string, isOne: boolean): string {
  const words = cleanWithin(library, 60);
  return isOne ? `Show the frames of ${words}` : `Show ${words} as one frame`;
}

// A template is the user's own, but a link that would run a script is none.
function editorHref(names: TreeNames, node: number, link: EditorLink): string | null {
  const file = names.fileOf(node);
  const href = file ? link(file, names.lineOf(node)) : null;
  return href && !/^\s*(javascript|data|vbscript|blob):/i.test(href) ? href : null;
}

export interface Copy {
  text: string;
  what: string;
}

export function copyOf(names: TreeNames, node: number, id: string): Copy | null {
  if (id === "copy-stack") return { text: stackText(names, node), what: "stack" };
  if (id === "copy-name") return { text: oneLine(names.textOf(node)), what: "name" };
  return null;
}
