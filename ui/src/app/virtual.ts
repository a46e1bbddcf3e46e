// SPDX-License-Identifier: Apache-2.0
//
// Long lists of rows of one height: only those in sight are in the document. And of those that are
// all in it some come first, the others by and by: the browser draws and answers in between.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";

const SPARE = 8; // rows above and below
const AT_FIRST = 4; // rows in sight, until it is known how many are
const BY_AND_BY = { first: 12, more: 36 };

export interface Window {
  first: number;
  past: number;
}

export function rowsInSight(top: number, height: number, row: number, count: number): Window {
  const first = Math.max(0, Math.floor(top / row) - SPARE);
  const past = Math.min(count, Math.ceil((top + height) / row) + SPARE);
  return { first: Math.min(first, past), past };
}

interface Sight {
  frame(element: HTMLDivElement | null): void; // the ref of what scrolls
  element: HTMLDivElement | null;
  window: Window;
  show(index: number): void;
}

// The rows to draw of a scrolling element, which is there when there are any.
export function useRowsInSight(count: number, row: number): Sight {
  const [element, frame] = useState<HTMLDivElement | null>(null);
  // As last seen: asking the document while it changes has it laid out once more.
  const [seen, setSeen] = useState({ top: 0, height: AT_FIRST * row });
  useLayoutEffect(() => {
    if (!element) return;
    const look = () => {
      const { scrollTop: top, clientHeight: height } = element;
      setSeen((now) => (now.top === top && now.height === height ? now : { top, height }));
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const resized = () => {
      clearTimeout(timer);
      timer = setTimeout(look); // further rows once these are drawn
    };
    const observer = new ResizeObserver(resized); // tells of the first size, too
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [element]);
  // Rows that went away may have been those in sight: the browser scrolls up then, and says so.
  const top = Math.min(seen.top, Math.max(0, count * row - seen.height));
  const window = rowsInSight(top, seen.height, row, count);
  const show = (index: number) => {
    if (!element) return;
    const top = index * row;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * row > element.scrollTop + element.clientHeight)
      element.scrollTop = top + 2 * row - element.clientHeight;
  };
  return { frame, element, window, show };
}

// How many of the rows are there so far. isLeft: something else is asked for, and these are seen
// until it is there; no more come then, as each time the browser paints all of them.
export function useRowsByAndBy(count: number, isLeft: boolean): number {
  const [n, setN] = useState(BY_AND_BY.first);
  const isAll = n >= count;
  useEffect(() => {
    if (isAll || isLeft) return;
    const timer = setTimeout(() => setN(n + BY_AND_BY.more));
    return () => clearTimeout(timer);
  }, [n, isAll, isLeft]);
  return Math.min(n, count);
}
