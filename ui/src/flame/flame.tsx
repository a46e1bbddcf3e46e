// SPDX-License-Identifier: Apache-2.0
//
// The flame graph (root below) or icicle (root above) of a tree: a canvas, and around it what makes
// it usable: zoom, hover, keyboard, menu, and a table for screen readers. It holds no state of the
// page: what it is zoomed to comes in as a path of names and goes out again by onZoom.

import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { findPath } from "../engine/tree.ts";
import { copyOf, itemsFor, targetOf } from "./actions.ts";
import type { EditorLink, FlameAction, FlameTarget } from "./actions.ts";
import { Bar } from "./bar.tsx";
import type { Rect } from "./chart.ts";
import { copyText } from "./clipboard.ts";
import { Crumbs } from "./crumbs.tsx";
import { type Shown, useChosen, useScenery, useStage } from "./hooks.ts";
import { useCloser, useFocus, useFollowing, useLook, useReveal } from "./lasting.ts";
import { useMirrored, useShow } from "./lasting.ts";
import { useHand } from "./hand.ts";
import { commandOf, type Command } from "./keys.ts";
import { Menu } from "./menu.tsx";
import { Minimap } from "./minimap.tsx";
import { Mirror } from "./mirror.tsx";
import { moved, nearer, reaching, type Span } from "./span.ts";
import { Tooltip, type TipTarget } from "./tooltip.tsx";
import { pathOf } from "./walk.ts";
import "./flame.css";

export interface FlameProps extends Shown {
  whole: number; // what shares are of
  label: string; // what the picture shows: "live bytes at the peak"
  span: Span | null; // what of the width of that is seen; null: all
  onZoom: (path: string[]) => void;
  onSpan: (span: Span | null) => void;
  onMenu: (action: FlameAction, target: FlameTarget) => void;
  onSelect?: (target: FlameTarget) => void;
  editorLink?: EditorLink;
  more?: (node: number) => ComponentChildren; // of a box, below its numbers
}

const HELP =
  "Arrow keys walk from box to box, Enter zooms to one, Escape zooms out, Home goes to the root, " +
  "plus and minus come nearer and go away, Shift and arrow keys move along then, " +
  "the menu key or Shift F10 shows what else can be done.";

const NOTHING = () => {};

interface Handlers {
  onKeyDown: (event: KeyboardEvent) => void;
  onChoose: (path: number[]) => void;
}

interface MenuState {
  node: number;
  x: number; // in the browser window
  y: number;
}

export function Flame(props: FlameProps) {
  const { tree, whole, label, span, flipped, onZoom, onMenu, onSelect, editorLink, more } = props;
  const { names, layout, meaning, zoomNode, isEmpty } = useScenery(props);
  const chosen = useChosen(names);
  const cursor = chosen.node ?? zoomNode;
  const { stage, beyond, ...elements } = useStage();
  const [tip, setTip] = useState<TipTarget | null>(null);
  const [menu, setMenu] = useState<MenuState | null>(null);
  const pointer = useRef<{ x: number; y: number } | null>(null); // null: the tip is the keyboard's
  const [said, setSaid] = useState("");
  const grid = useRef<HTMLTableElement>(null);
  const id = useId();

  useShow(stage, { layout, meaning, zoomNode, span, flipped }, setTip);
  const follow = useRef(NOTHING);
  useLook({ stage, span, pointer, follow });
  useReveal(stage, zoomNode);
  const focusGrid = useFocus(grid);
  const closeMenu = useCloser(setMenu, focusGrid);
  const goTo = (node: number) => {
    chosen.setPath(pathOf(names, node));
    onSelect?.(targetOf(names, node));
  };
  const zoomTo = (node: number) => {
    goTo(node);
    if (node !== zoomNode) onZoom(pathOf(names, node));
    else if (span) see(null);
  };
  const latest = useRef(span);
  latest.current = span;
  const see = (next: Span | null) => {
    latest.current = next;
    stage.current?.look(next);
    props.onSpan(next);
  };
  const hand = useHand({ span: latest, scroller: elements.scroller, onSpan: see });
  const openMenu = (node: number, x: number, y: number) => {
    setTip(null);
    setMenu({ node, x, y });
  };
  const act = async (action: string, node: number) => {
    const copy = copyOf(names, node, action);
    if (copy)
      setSaid((await copyText(copy.text)) ? `${copy.what} copied` : `${copy.what} not copied`);
    else if (action === "zoom") zoomTo(node);
    else if (action === "zoom-out") zoomTo(0);
    else onMenu(action as FlameAction, targetOf(names, node));
  };

  // Of a box, in what is seen.
  const middleOf = (node: number) => {
    const { from, to } = stage.current!.chart.range;
    const middle = (layout.left(node) + layout.right(node)) / 2;
    return Math.min(1, Math.max(0, (middle - from) / (to - from || 1)));
  };
  const obey = (command: Command) => {
    if (command.do === "copy") return void act("copy-stack", cursor);
    if (command.do === "all") return see(null);
    if (command.do === "move") return see(moved(latest.current, command.by));
    if (command.do === "near")
      return see(nearer(latest.current, middleOf(cursor), command.factor));
    const isOut = command.do === "go" && tree.depth(command.node) < tree.depth(zoomNode);
    if (command.do === "zoom" || (command.do === "go" && isOut)) return zoomTo(command.node);
    if (command.do === "go") goTo(command.node);
    const node = command.do === "go" ? command.node : cursor;
    if (span) see(reaching(span, layout.rangeOf(zoomNode), layout.rangeOf(node)));
    stage.current?.reveal(node);
    const rect = stage.current?.clientRectOf(node);
    if (!rect) return;
    pointer.current = null;
    if (command.do === "go") setTip(tipBeside(node, tree.width(node), rect));
    else openMenu(node, rect.x + Math.min(40, rect.width / 2), rect.y + rect.height);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const where = { tree, cursor, zoom: zoomNode, flipped };
    const command = commandOf(event, { ...where, isNear: span !== null });
    if (event.key === "Escape") setTip(null);
    if (!command) return;
    event.preventDefault();
    event.stopPropagation();
    obey(command);
  };

  const hitOf = (event: MouseEvent) => stage.current?.hit(event.clientX, event.clientY) ?? null;
  const tipAt = (x: number, y: number) => {
    const hit = stage.current?.hit(x, y) ?? null;
    setTip(hit && { hit, x, y, below: y });
  };
  const onPointerMove = (event: PointerEvent) => {
    const { clientX: x, clientY: y } = event;
    if (hand.drag(event)) {
      pointer.current = null;
      return setTip(null);
    }
    pointer.current = event.pointerType === "touch" || menu ? null : { x, y };
    if (pointer.current) tipAt(x, y);
    else setTip(null);
  };
  // Boxes move below a pointer that rests: what is told is what is there now.
  follow.current = () => {
    const at = pointer.current;
    const isThere = at && document.elementFromPoint(at.x, at.y) === elements.canvas.current;
    if (at && isThere) tipAt(at.x, at.y);
    else setTip(null);
  };
  useFollowing(tip !== null, follow);
  const onClick = (event: MouseEvent) => {
    const hit = hitOf(event);
    focusGrid();
    if (hand.wasDragged.current) return;
    if (hit && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey)
      zoomTo(hit.node);
  };
  const onContextMenu = (event: MouseEvent) => {
    const hit = hitOf(event);
    if (!hit) return;
    event.preventDefault();
    goTo(hit.node);
    openMenu(hit.node, event.clientX, event.clientY);
  };

  // Who looks at the canvas does not wait for the table; who is in the table does not wait at all.
  const mirrored = useMirrored({ meaning, cursor, whole, label, isEmpty }, grid);
  const onChoose = (path: number[]) => zoomTo(Math.max(0, findPath(tree, path)));
  const handlers = useRef<Handlers | null>(null);
  handlers.current = { onKeyDown, onChoose };
  const table = useMemo(
    () =>
      mirrored.isEmpty ? (
        <p class="flame-empty">Nothing here: no stack has any of it.</p>
      ) : (
        <div class="flame-mirror">
          <Mirror
            id={id}
            of={mirrored}
            describedBy={`${id}-help`}
            gridRef={grid}
            onKeyDown={(event) => handlers.current!.onKeyDown(event)}
            onBlur={() => setTip(null)}
            onChoose={(path) => handlers.current!.onChoose(path)}
          />
        </div>
      ),
    [mirrored],
  );

  const hovered = tip && !menu ? tip.hit.node : null;
  const rectOf = (node: number) => stage.current?.chart.rectOf(node) ?? null;
  const isIdle = chosen.node === null || chosen.node === zoomNode;
  return (
    <section class="flame" aria-label={label} aria-busy={!mirrored.isNow}>
      <Bar
        meaning={meaning}
        whole={whole}
        node={hovered ?? cursor}
        isZoomed={zoomNode > 0 || span !== null}
        isMenuOpen={menu !== null}
        map={
          <Minimap
            layout={layout}
            zoom={zoomNode}
            span={span}
            flipped={flipped}
            controls={`${id}-canvas`}
            onSpan={see}
          />
        }
        onZoomOut={() => (zoomNode > 0 ? zoomTo(0) : see(null))}
        onMenu={(x, y) => openMenu(cursor, x, y)}
      />
      {zoomNode > 0 && <Crumbs names={names} node={zoomNode} onZoom={zoomTo} />}
      <div class="flame-scroll" ref={elements.scroller}>
        <div class="flame-content" ref={elements.content}>
          <div class="flame-window" ref={elements.window}>
            <canvas
              ref={elements.canvas}
              id={`${id}-canvas`}
              class={span ? "near" : ""}
              role="img"
              aria-label={label}
              aria-describedby={`${id}-help`}
              onWheel={hand.onWheel}
              onPointerDown={hand.onPointerDown}
              onPointerUp={hand.letGo}
              onPointerCancel={hand.letGo}
              onPointerMove={onPointerMove}
              onPointerLeave={() => setTip(null)}
              onClick={onClick}
              onContextMenu={onContextMenu}
            />
            {table}
          </div>
          <Ring kind="flame-hover" rect={hovered === null ? null : rectOf(hovered)} />
          <Ring kind={isIdle ? "flame-cursor flame-idle" : "flame-cursor"} rect={rectOf(cursor)} />
        </div>
      </div>
      {beyond > 0 && (
        <button
          type="button"
          class={`flame-beyond ${flipped ? "above" : ""}`}
          onClick={() => stage.current?.scrollOn()}
        >
          {flipped ? "▴" : "▾"} {beyond === 1 ? "1 more row" : `${beyond} more rows`}
        </button>
      )}
      <p id={`${id}-help`} class="flame-unseen">
        {HELP}
      </p>
      <p role="status" class="flame-unseen">
        {said}
      </p>
      {tip && !menu && (
        <Tooltip target={tip} meaning={meaning} whole={whole} zoom={zoomNode} more={more} />
      )}
      {menu && (
        <Menu
          label={`What to do with ${names.shortOf(menu.node).slice(0, 100)}`}
          items={itemsFor(names, menu.node, zoomNode, editorLink)}
          x={menu.x}
          y={menu.y}
          onChoose={(action) => void act(action, menu.node)}
          onClose={closeMenu}
        />
      )}
    </section>
  );
}

function tipBeside(node: number, amount: number, rect: Rect): TipTarget {
  const x = rect.x + Math.min(rect.width / 2, 60);
  return { hit: { node, nMerged: 1, amount }, x, y: rect.y, below: rect.y + rect.height };
}

function Ring({ kind, rect }: { kind: string; rect: Rect | null }) {
  if (!rect) return null;
  const style = {
    left: `${rect.x}px`,
    top: `${rect.y}px`,
    width: `${Math.max(2, rect.width)}px`,
    height: `${rect.height}px`,
  };
  return <div class={`flame-ring ${kind}`} style={style} />;
}
