// SPDX-License-Identifier: Apache-2.0
//
// Long lists of rows of one height: only those in sight are in the document.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const SPARE = 8; // rows above and below

export interface Window {
  first: number;
  past: number;
}

export function rowsInSight(top: number, height: number, row: number, count: number): Window {
  const first = Math.max(0, Math.floor(top / row) - SPARE);
  const past = Math.min(count, Math.ceil((top + height) / row) + SPARE);
  return { first: Math.min(first, past), past };
}

// The rows to draw of a scrolling element.
export function useRowsInSight(
  count: number,
  row: number,
): { frame: RefObject<HTMLDivElement>; window: Window; show(index: number): void } {
  const frame = useRef<HTMLDivElement>(null);
  const [window, setWindow] = useState<Window>({ first: 0, past: Math.min(count, 40) });
  useLayoutEffect(() => {
    const element = frame.current!;
    const look = () => {
      const next = rowsInSight(element.scrollTop, element.clientHeight, row, count);
      setWindow((now) => (now.first === next.first && now.past === next.past ? now : next));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [count, row]);
  const show = (index: number) => {
    const element = frame.current!;
    const top = index * row;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * row > element.scrollTop + element.clientHeight)
      element.scrollTop = top + 2 * row - element.clientHeight;
  };
  return { frame, window, show };
}
