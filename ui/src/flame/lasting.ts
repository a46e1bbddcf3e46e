// SPDX-License-Identifier: Apache-2.0
//
// Hooks of a graph that last longer than a tree. What a hook is given stays until what it depends
// on changes, and with it all that was in scope where it was made: were these in the graph itself,
// they would keep trees that nobody sees any more, such as the one that screen readers were told of
// when another one was drawn. Of a million stacks each is some hundred MiB.

import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Layout } from "./layout.ts";
import type { TreeMeaning } from "./meaning.ts";
import { mirrorOf, type Mirrored, type Told } from "./mirror.tsx";
import type { Span } from "./span.ts";
import type { Stage } from "./stage.ts";

interface Ref<T> { readonly current: T }

interface Picture {
  layout: Layout;
  meaning: TreeMeaning;
  zoomNode: number;
  span: Span | null;
  flipped: boolean;
}

export function useShow(
  stage: Ref<Stage | null>, picture: Picture, setTip: (tip: null) => void,
): void {
  const { layout, meaning, zoomNode, span, flipped } = picture;
  useLayoutEffect(() => {
    stage.current?.show(layout, meaning, zoomNode, span, flipped);
    setTip(null);
  }, [layout, meaning, zoomNode, flipped]);
}

const SETTLED_MS = 100;

let nTold = 0;

// What the table says of the graph: as that was when it last stood still, or as it is for whoever
// is in the table. It is text alone: who renders a part of a page again keeps what was there.
export function useMirrored(
  { meaning, cursor, whole, label, isEmpty }: Told, grid: Ref<Element | null>,
): Mirrored {
  const told = useMemo(
    () => ({ number: ++nTold, meaning, cursor, whole, label, isEmpty }),
    [meaning, cursor, whole, label],
  );
  const [settled, setSettled] = useState(() => mirrorOf(told));
  const isIn = () => grid.current !== null && grid.current === document.activeElement;
  useEffect(() => {
    const timer = setTimeout(() => setSettled(mirrorOf(told)), isIn() ? 0 : SETTLED_MS);
    return () => clearTimeout(timer);
  }, [told]);
  const isUrgent = isIn() && settled.number !== told.number;
  const urgent = useMemo(() => (isUrgent ? mirrorOf(told) : null), [told, isUrgent]);
  const shown = urgent ?? settled;
  const isNow = shown.number === told.number;
  return useMemo(() => ({ ...shown, isNow }), [shown, isNow]);
}

interface Look {
  stage: Ref<Stage | null>;
  span: Span | null;
  pointer: Ref<unknown>;
  follow: Ref<() => void>;
}

export function useLook({ stage, span, pointer, follow }: Look): void {
  useLayoutEffect(() => {
    stage.current?.look(span);
    if (pointer.current) follow.current();
  }, [span]);
}

export function useReveal(stage: Ref<Stage | null>, node: number): void {
  useEffect(() => stage.current?.reveal(node), [node]);
}

export function useFocus(grid: Ref<HTMLElement | null>): () => void {
  return useCallback(() => grid.current?.focus({ preventScroll: true }), []);
}

export function useCloser(setMenu: (menu: null) => void, focus: () => void): () => void {
  return useCallback(() => {
    setMenu(null);
    focus();
  }, []);
}

export function useFollowing(isTold: boolean, follow: Ref<() => void>): void {
  useEffect(() => (isTold ? afterScrolling(() => follow.current()) : undefined), [isTold]);
}

// Once a frame, when everything has its new place.
function afterScrolling(look: () => void): () => void {
  let frame = 0;
  const scrolled = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      look();
    });
  };
  const options = { capture: true, passive: true };
  document.addEventListener("scroll", scrolled, options);
  return () => {
    cancelAnimationFrame(frame);
    document.removeEventListener("scroll", scrolled, options);
  };
}
