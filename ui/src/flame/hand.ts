// SPDX-License-Identifier: Apache-2.0
//
// The pointer on the graph. The wheel alone is the page's, which scrolls; with Ctrl (or ⌘, or two
// fingers that part) it comes nearer to what is below the pointer. Nearer, a drag moves along, and
// so do the wheel with Shift and two fingers sideways.

import { useRef } from "preact/hooks";
import { moved, nearer, type Span } from "./span.ts";

const DRAGGED = 4; // pixels: less is a click
const WHEEL_MOST = 100; // of one turn: browsers differ in what they call one

interface Held {
  x: number;
  y: number;
  span: Span;
  top: number;
  isDragged: boolean;
}

interface Ground {
  span: { readonly current: Span | null }; // as it is now: turns come faster than pictures
  scroller: { readonly current: HTMLElement | null };
  onSpan: (span: Span | null) => void;
}

export function useHand({ span: latest, scroller, onSpan }: Ground) {
  const held = useRef<Held | null>(null);
  const wasDragged = useRef(false);

  const onWheel = (event: WheelEvent) => {
    const span = latest.current;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) {
      const by = Math.max(-WHEEL_MOST, Math.min(WHEEL_MOST, event.deltaY));
      onSpan(nearer(span, (event.clientX - box.left) / box.width, 2 ** (by / WHEEL_MOST)));
    } else if (span && isSideways) {
      onSpan(moved(span, (event.deltaX || event.deltaY) / box.width));
    } else return;
    event.preventDefault();
  };

  const onPointerDown = (event: PointerEvent) => {
    const span = latest.current;
    wasDragged.current = false;
    if (event.button !== 0 || !span) return;
    const top = scroller.current?.scrollTop ?? 0;
    held.current = { x: event.clientX, y: event.clientY, span, top, isDragged: false };
  };

  // True: it is being dragged.
  const drag = (event: PointerEvent): boolean => {
    const hold = held.current;
    if (!hold) return false;
    const [dx, dy] = [event.clientX - hold.x, event.clientY - hold.y];
    if (!hold.isDragged && Math.hypot(dx, dy) <= DRAGGED) return false;
    const canvas = event.currentTarget as HTMLElement;
    if (!hold.isDragged) canvas.setPointerCapture(event.pointerId);
    hold.isDragged = wasDragged.current = true;
    onSpan(moved(hold.span, -dx / canvas.clientWidth));
    if (scroller.current) scroller.current.scrollTop = hold.top - dy;
    return true;
  };

  const letGo = () => {
    held.current = null;
  };
  return { onWheel, onPointerDown, drag, letGo, wasDragged };
}
