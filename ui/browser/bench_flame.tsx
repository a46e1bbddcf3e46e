// SPDX-License-Identifier: Apache-2.0
//
// The page that bench.mjs measures the flame graph with: a profile made up here, and a way to do
// one thing per frame and note how long every frame took.

import { render } from "preact";
import { emptyLook, type View } from "../src/engine/look.ts";
import type { Tree } from "../src/engine/tree.ts";
import { Flame } from "../src/flame/flame.tsx";
import { Layout } from "../src/flame/layout.ts";
import { TreeNames } from "../src/flame/names.ts";
import { pathOf, widestChild } from "../src/flame/walk.ts";
import { random, syntheticModel, syntheticTree } from "./synthetic.ts";

const N_FUNCTIONS = 20000;

let tree: Tree;
let names: TreeNames;
let views: View[];

function show(zoom: string[], matches: Uint8Array | null = null): void {
  const ignore = () => undefined;
  render(
    <Flame
      tree={tree}
      views={views}
      unit="bytes"
      mark=""
      whole={tree.total(0)}
      label="live bytes"
      flipped={false}
      zoom={zoom}
      span={null}
      matches={matches}
      onZoom={ignore}
      onSpan={ignore}
      onMenu={ignore}
    />,
    document.getElementById("app")!,
  );
}

const nextFrame = () => new Promise<number>((done) => requestAnimationFrame(done));

// What a frame took: from one to the next as the browser shows them, and of that what was spent in
// scripts, the drawing of the canvas included.
interface Frames {
  frame_ms: number[];
  script_ms: number[];
}

async function frames(n: number, step: (i: number) => void): Promise<Frames> {
  const result: Frames = { frame_ms: [], script_ms: [] };
  let last = await nextFrame();
  for (let i = 0; i < n; i++) {
    const start = performance.now();
    step(i);
    const spent = performance.now() - start;
    const now = await nextFrame();
    const drawn = performance.now(); // the graph asked for this frame before we did
    result.frame_ms.push(now - last);
    result.script_ms.push(spent + Math.max(0, drawn - now));
    last = now;
  }
  return result;
}

// Down the widest way and up again, then down another one.
function zooming(seed: number): () => string[] {
  const next = random(seed);
  let line: number[] = [0];
  let isDown = true;
  return () => {
    const node = line[line.length - 1];
    const child = next() < 0.7 ? widestChild(tree, node) : someChild(node, next);
    if (isDown && child !== node) line.push(child);
    else if (line.length > 1) line = line.slice(0, -1);
    isDown = line.length === 1 || (isDown && child !== node);
    return pathOf(names, line[line.length - 1]);
  };
}

function someChild(node: number, next: () => number): number {
  const n = tree.firstChild[node + 1] - tree.firstChild[node];
  return n ? tree.firstChild[node] + Math.floor(next() * n) : node;
}

function hovering(): (i: number) => void {
  const canvas = document.querySelector("canvas")!;
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return (i) => {
    const clientX = left + ((i * 37) % width);
    const clientY = top + ((i * 11) % height);
    const event = { clientX, clientY, bubbles: true, pointerType: "mouse" };
    canvas.dispatchEvent(new PointerEvent("pointermove", event));
  };
}

function scrolling(): (i: number) => void {
  const scroller = document.querySelector(".flame-scroll")!;
  return (i) => {
    const span = scroller.scrollHeight - scroller.clientHeight;
    const at = (i * 23) % (2 * span);
    scroller.scrollTop = at < span ? at : 2 * span - at;
  };
}

function searching(): (i: number) => void {
  const sets = [3, 5, 7].map((n) =>
    Uint8Array.from({ length: tree.count }, (_, node) => (tree.frame(node) % n === 0 ? 1 : 0)),
  );
  return (i) => show([], sets[i % sets.length]);
}

const bench = {
  // How long the graph takes to be there: from a tree to the first picture of it.
  async open(count: number) {
    const model = syntheticModel(Math.min(count, N_FUNCTIONS));
    tree = syntheticTree(count, model.frames.count, 1);
    views = [{ model, look: emptyLook } as View];
    names = new TreeNames(tree, [model], "all");
    const before = performance.now();
    new Layout(tree);
    const layout_ms = performance.now() - before;
    const start = performance.now();
    show([]);
    await nextFrame();
    await nextFrame();
    const shown_ms = performance.now() - start;
    return { n_nodes: count, n_rows: tree.levels.length - 1, layout_ms, shown_ms };
  },
  async zoom(n: number) {
    const next = zooming(7);
    const done = await frames(n, () => show(next()));
    show([]);
    return done;
  },
  hover: (n: number) => frames(n, hovering()),
  scroll: (n: number) => frames(n, scrolling()),
  async search(n: number) {
    const done = await frames(n, searching());
    show([]);
    return done;
  },
};

declare global {
  interface Window {
    bench: typeof bench;
  }
}

window.bench = bench;
