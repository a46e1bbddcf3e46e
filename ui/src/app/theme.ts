// SPDX-License-Identifier: Apache-2.0
//
// Light or dark, as the reader chose or the system says. Colours are the style sheet's; whoever
// draws on a canvas asks for them by name.

import { computed, effect, signal } from "@preact/signals-core";
import { settle, state } from "./state.ts";

const wish = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(wish.matches);
wish.addEventListener("change", () => (systemIsDark.value = wish.matches));

const theme = computed(() => state.value.theme);
export const isDark = computed(() =>
  theme.value === "system" ? systemIsDark.value : theme.value === "dark",
);

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
});

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function nextTheme(): void {
  const order = ["system", "light", "dark"] as const;
  settle({ theme: order[(order.indexOf(state.peek().theme) + 1) % order.length] });
}
