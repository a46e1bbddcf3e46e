// SPDX-License-Identifier: Apache-2.0
//
// What a graph keeps between two times it is rendered: everything that follows from its tree, made
// again only when that changes, and the stage it is drawn on.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { View } from "../engine/look.ts";
import type { Unit } from "../engine/question.ts";
import type { Tree } from "../engine/tree.ts";
import type { Mark } from "../engine/units.ts";
import { Layout } from "./layout.ts";
import { TreeMeaning } from "./meaning.ts";
import { TreeNames, type Colouring } from "./names.ts";
import { Stage } from "./stage.ts";
import { nodeOf } from "./walk.ts";

export interface Shown {
  tree: Tree;
  views: readonly View[]; // that of the tree; of a diff, those after and before
  unit: Unit;
  mark: Mark; // of all numbers
  rootLabel?: string; // what all of it is
  flipped: boolean; // the root below
  zoom: readonly string[]; // names from the root's child on
  matches: Uint8Array | null; // per node, of a search
  colouring?: Colouring; // what has a colour of its own
}

export interface Scenery {
  names: TreeNames;
  layout: Layout;
  meaning: TreeMeaning;
  zoomNode: number;
  isEmpty: boolean;
}

export function useScenery(shown: Shown): Scenery {
  const { tree, views, unit, mark, rootLabel = "all", zoom, matches } = shown;
  const { colouring = "crate" } = shown;
  const [after, before] = views;
  const names = useMemo(() => {
    const models = before ? [after.model, before.model] : [after.model];
    return new TreeNames(tree, models, rootLabel, after.look.collapse, colouring);
  }, [tree, after, before, rootLabel, colouring]);
  const layout = useMemo(() => new Layout(tree), [tree]);
  const signed = useMemo(() => tree.isSigned, [tree]);
  const meaning = useMemo(
    () => new TreeMeaning(tree, names, { unit, mark, signed, matches }),
    [names, unit, mark, signed, matches],
  );
  const zoomNode = useMemo(() => nodeOf(names, zoom), [names, zoom]);
  const isEmpty = tree.count === 0 || tree.width(0) <= 0;
  return { names, layout, meaning, zoomNode, isEmpty };
}

// The node the keyboard is at, kept by its path so that it is the same in the next tree; null until
// somebody has chosen one.
export function useChosen(names: TreeNames) {
  const [path, setPath] = useState<readonly string[] | null>(null);
  const node = useMemo(() => path && nodeOf(names, path), [names, path]);
  return { node, setPath };
}

export function useStage() {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const window = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const [, setPlaced] = useState(0); // how often boxes moved: rendered anew, the rings follow
  const [beyond, setBeyond] = useState(0);
  useLayoutEffect(() => {
    const elements = {
      scroller: scroller.current!,
      content: content.current!,
      window: window.current!,
      canvas: canvas.current!,
    };
    const placed = () => setPlaced((n) => n + 1);
    const made = (stage.current = new Stage(elements, placed, setBeyond));
    return () => made.close();
  }, []);
  return { stage, beyond, scroller, content, window, canvas };
}
