// SPDX-License-Identifier: Apache-2.0
//
// The stacks as a tree one can open node by node, the weightiest first, with arrows as in any tree.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Model } from "../engine/model.ts";
import { frameText, placeText } from "../engine/names.ts";
import type { Tree } from "../engine/tree.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { TERMS } from "../engine/terms.ts";
import { cell, count, share, EXACT, type Mark } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { nameToShow } from "./columns.ts";
import { Marked } from "./found.tsx";
import { Bar, Cut, Refusal, Th } from "./parts.tsx";
import { matchesLeft, model, question, refused, treeLeft, trie } from "./session.ts";
import { wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import { ROW } from "./table.tsx";
import { treeLines, type TreeLine, type Turned } from "./tree_lines.ts";
import { useRowsInSight } from "./virtual.ts";

export function TreePane() {
  const why = use(refused);
  if (why) return <Refusal text={why} />;
  return <StackTree />;
}

function StackTree() {
  const tree = use(treeLeft);
  const found = use(matchesLeft)?.nodes ?? null;
  return (
    <section class="pane fill" aria-label="Tree">
      <Cut of={use(trie)} />
      <TreeGrid tree={tree} found={found} label="Stacks, the weightiest first" />
    </section>
  );
}

interface GridProps {
  tree: Tree;
  found: Uint8Array | null; // of a search: nodes that match
  label: string;
}

export function TreeGrid({ tree, found, label }: GridProps) {
  const of = use(model);
  const all = use(wholeWeight);
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(of, asked);
  const [turned, setTurned] = useState<Turned>(new Map());
  const [current, setCurrent] = useState<string | null>(null);
  const hasFocus = useRef(false);
  const lines = useMemo(() => treeLines(tree, turned, found), [tree, turned, found]);
  const { frame, element, window, show } = useRowsInSight(lines.length, ROW);
  const at = Math.max(
    0,
    lines.findIndex((line) => line.key === current),
  );
  useEffect(() => {
    if (!hasFocus.current) return;
    show(at);
    requestAnimationFrame(() =>
      element?.querySelector<HTMLElement>("tr[tabindex='0']")?.focus(),
    );
  }, [current]);
  const turn = (line: TreeLine, isOpen: boolean) =>
    setTurned(new Map(turned).set(line.key, isOpen && tree.hasChildren(line.node)));
  const move = (index: number) =>
    setCurrent(lines[Math.min(lines.length - 1, Math.max(0, index))]?.key ?? null);
  const parentOf = (index: number) => {
    let i = index - 1;
    while (i >= 0 && lines[i].depth >= lines[index].depth) i--;
    return i < 0 ? index : i;
  };
  const keys = (event: KeyboardEvent) => {
    const line = lines[at];
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((element?.clientHeight ?? 400) / ROW) - 2);
    const canOpen = tree.hasChildren(line.node);
    const acts: Record<string, () => void> = {
      ArrowDown: () => move(at + 1),
      ArrowUp: () => move(at - 1),
      PageDown: () => move(at + page),
      PageUp: () => move(at - page),
      Home: () => move(0),
      End: () => move(lines.length - 1),
      ArrowRight: () => (canOpen && !line.isOpen ? turn(line, true) : move(at + 1)),
      ArrowLeft: () => (line.isOpen ? turn(line, false) : move(parentOf(at))),
      Enter: () => turn(line, !line.isOpen),
      " ": () => turn(line, !line.isOpen),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    hasFocus.current = true;
    act();
  };
  if (!lines.length) {
    const words = found ? "No stack has a match." : "No stack weighs anything under this question.";
    return <p class="nothing">{words}</p>;
  }
  return (
    <div class="grid-frame" ref={frame}>
      <table
        class="grid tree"
        role="treegrid"
        aria-label={label}
        aria-rowcount={lines.length + 1}
        onKeyDown={keys}
        onFocusOut={() => (hasFocus.current = false)}
      >
        <thead>
          <tr role="row">
            <Th of="c-share" term={TERMS.share} />
            <Th of="c-weight number" term={TERMS.total} />
            <Th of="c-self number" term={TERMS.self} />
            <Th of="c-name" term={TERMS.function} />
            <Th of="c-stacks number" term={TERMS.stacks} />
          </tr>
        </thead>
        <tbody>
          {window.first > 0 && <Gap rows={window.first} />}
          {lines.slice(window.first, window.past).map((line, i) => (
            <NodeRow
              key={line.key}
              line={line}
              row={window.first + i}
              isCurrent={window.first + i === at}
              tree={tree}
              of={of}
              whole={all}
              unit={unit}
              mark={mark}
              onTurn={() => turn(line, !line.isOpen)}
              onPick={() => {
                hasFocus.current = true;
                setCurrent(line.key);
              }}
            />
          ))}
          {window.past < lines.length && <Gap rows={lines.length - window.past} />}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ rows }: { rows: number }) {
  return <tr aria-hidden="true" class="gap" style={{ height: `${rows * ROW}px` }} />;
}

interface RowProps {
  line: TreeLine;
  row: number;
  isCurrent: boolean;
  tree: Tree;
  of: Model;
  whole: number;
  unit: "bytes" | "blocks";
  mark: Mark;
  onTurn(): void;
  onPick(): void;
}

function NodeRow({ line, row, isCurrent, tree, of, whole, unit, mark, onTurn, onPick }: RowProps) {
  const { node, isOpen } = line;
  const canOpen = tree.hasChildren(node);
  const frame = tree.frame(node);
  const name = cleanWithin(frameText(of, frame), 2000);
  const place = clean(placeText(of, frame, tree.line(node)));
  const deep = tree.deep(node);
  const total = tree.total(node);
  const self = tree.self(node);
  return (
    <tr
      role="row"
      tabIndex={isCurrent ? 0 : -1}
      aria-rowindex={row + 2}
      aria-level={line.depth}
      aria-posinset={line.index}
      aria-setsize={line.of}
      aria-expanded={canOpen ? isOpen : undefined}
      onClick={onPick}
      onDblClick={onTurn}
    >
      <td role="gridcell" class="c-share number">
        <Bar part={total} whole={whole} /> {share(total, whole, mark)}
      </td>
      <td role="gridcell" class="c-weight number">
        {cell(total, unit, mark)}
      </td>
      <td role="gridcell" class="c-self number">
        {self ? cell(self, unit, mark) : ""}
      </td>
      <td role="gridcell" class="c-name" title={`${name}\n${place}`}>
        <span class="indent" style={{ width: `${Math.min(40, line.depth - 1) * 14}px` }} />
        <span class={canOpen ? "twist" : "twist none"} aria-hidden="true" onClick={onTurn}>
          {isOpen ? "▾" : "▸"}
        </span>
        <span class="name">
          <Marked text={nameToShow(of, frame)} />
        </span>
        {deep > 1 && <span class="muted"> ×{deep} deep</span>} <span class="muted">{place}</span>
      </td>
      <td role="gridcell" class="c-stacks number">
        {count(tree.stacks(node), EXACT)}
      </td>
    </tr>
  );
}
