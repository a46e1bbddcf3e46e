// SPDX-License-Identifier: Apache-2.0
//
// Which columns of the ranked table the reader wants to see, and how wide: a matter of taste and of
// the screen, so it is remembered by the browser, not in the address. Where a browser remembers
// nothing, as of some files, it holds until the page is closed.

import { signal } from "@preact/signals-core";

export interface ColumnChoice {
  hidden: string[]; // ids
  widths: Record<string, number>; // pixels, by id
}

const KEY = "tidemark-columns";
const NARROWEST = 40;
const WIDEST = 1200;

// Whatever is in the store was written by some version of this page, or by anybody.
export function parseChoice(text: string | null): ColumnChoice {
  const choice: ColumnChoice = { hidden: [], widths: {} };
  try {
    const { hidden, widths } = JSON.parse(text ?? "{}") as Partial<ColumnChoice>;
    if (Array.isArray(hidden))
      choice.hidden = hidden.filter((id) => typeof id === "string").slice(0, 100);
    for (const [id, width] of Object.entries(widths ?? {}).slice(0, 100))
      if (typeof width === "number") choice.widths[id] = bounded(width);
  } catch {
    // As if nothing were there.
  }
  return choice;
}

function bounded(width: number): number {
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width || NARROWEST)));
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const columnChoice = signal<ColumnChoice>(parseChoice(read()));

function keep(next: ColumnChoice): void {
  columnChoice.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Remembered until the page is closed.
  }
}

export function toggleColumn(id: string): void {
  const { hidden, widths } = columnChoice.peek();
  const without = hidden.filter((one) => one !== id);
  keep({ hidden: without.length < hidden.length ? without : [...hidden, id], widths });
}

export function setWidth(id: string, width: number): void {
  const { hidden, widths } = columnChoice.peek();
  keep({ hidden, widths: { ...widths, [id]: bounded(width) } });
}

export function forgetColumns(): void {
  keep({ hidden: [], widths: {} });
}
