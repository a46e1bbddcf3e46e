// SPDX-License-Identifier: Apache-2.0
//
// A menu: arrows, Home, End, first letters, Enter; Escape or a click elsewhere closes it. Focus is
// inside while it is open; whoever opened it takes it back.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface MenuItem {
  id: string;
  label: string;
  href?: string; // a link of its own, instead of being chosen
}

interface MenuProps {
  label: string;
  items: readonly MenuItem[];
  x: number; // in the browser window
  y: number;
  onChoose: (id: string) => void;
  onClose: () => void;
}

export function Menu({ label, items, x, y, onChoose, onClose }: MenuProps) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = ref.current;
    if (!menu) return;
    const left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4));
    const top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4));
    menu.style.transform = `translate(${left}px, ${top}px)`;
    itemsOf(menu)[0]?.focus({ preventScroll: true });
  }, [x, y]);
  useEffect(() => closeElsewhere(ref, onClose), [onClose]);

  const choose = (item: MenuItem) => {
    if (!item.href) onChoose(item.id);
    onClose();
  };
  return (
    <div
      class="flame-menu"
      role="menu"
      aria-label={label}
      ref={ref}
      onKeyDown={(event) => onKey(event, ref.current, onClose)}
      onContextMenu={(event) => event.preventDefault()}
    >
      {items.map((item) => (
        <Item key={item.id} item={item} onClick={() => choose(item)} />
      ))}
    </div>
  );
}

function Item({ item, onClick }: { item: MenuItem; onClick: () => void }) {
  const shared = { role: "menuitem", tabIndex: -1, onClick } as const;
  return item.href ? (
    <a {...shared} href={item.href}>
      {item.label}
    </a>
  ) : (
    <button {...shared} type="button">
      {item.label}
    </button>
  );
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role="menuitem"]')];
}

function onKey(event: KeyboardEvent, menu: HTMLElement | null, onClose: () => void): void {
  if (!menu) return;
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = nextItem(event, items.map((item) => item.textContent ?? ""), at);
  event.stopPropagation(); // the page has keys of its own
  if (event.key === "Escape" || event.key === "Tab") onClose();
  else if (next >= 0) items[next].focus();
  else return;
  event.preventDefault();
}

// Where a key leads among the items; -1: nowhere.
export function nextItem(
  event: { key: string; ctrlKey: boolean; altKey: boolean; metaKey: boolean },
  labels: readonly string[],
  at: number,
): number {
  const n = labels.length;
  if (event.key === "ArrowDown") return (at + 1) % n;
  if (event.key === "ArrowUp") return (at - 1 + n) % n;
  if (event.key === "Home") return 0;
  if (event.key === "End") return n - 1;
  if (event.key.length !== 1 || event.key === " " || event.ctrlKey || event.altKey || event.metaKey)
    return -1;
  for (let step = 1; step <= n; step++) {
    const i = (at + step) % n;
    if (labels[i].toLowerCase().startsWith(event.key.toLowerCase())) return i;
  }
  return -1;
}

function closeElsewhere(ref: { current: HTMLElement | null }, onClose: () => void): () => void {
  const outside = (event: Event) => {
    if (!ref.current?.contains(event.target as Node)) onClose();
  };
  const kinds = ["pointerdown", "wheel", "focusin"] as const;
  const options = { capture: true, passive: true };
  for (const kind of kinds) document.addEventListener(kind, outside, options);
  addEventListener("blur", onClose);
  return () => {
    for (const kind of kinds) document.removeEventListener(kind, outside, options);
    removeEventListener("blur", onClose);
  };
}
