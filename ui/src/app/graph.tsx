// SPDX-License-Identifier: Apache-2.0
//
// The graph of stacks under the question, by itself and on the first screen with the ranked table
// below it.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { markOfAnswer } from "../engine/exactness.ts";
import { exactly } from "../engine/look.ts";
import { orders, type Order } from "../engine/order.ts";
import { GROUP_TERMS } from "../engine/terms.ts";
import type { Tree } from "../engine/tree.ts";
import type { FlameTarget } from "../flame/actions.ts";
import { Flame, type FlameProps } from "../flame/flame.tsx";
import { colourings, groupColour, TreeNames, type Colouring } from "../flame/names.ts";
import { GraphTip } from "./graph_tip.tsx";
import { Cut, Refusal } from "./parts.tsx";
import { matches, model, question, refused, session, tree, trie } from "./session.ts";
import { view, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import { Staged } from "./staged.tsx";
import { addFilter, go, moveSpan, settle, state, turnLibrary } from "./state.ts";
import { GroupSwitch, GroupTable, ranked } from "./table.tsx";
import { plural, questionWords } from "./words.ts";

// What the menu of a box does to the page.
export const onMenu: FlameProps["onMenu"] = (action, target: FlameTarget) => {
  const { name, library } = target;
  const pattern = exactly(name);
  if (action === "focus") go(addFilter("focus", pattern));
  else if (action === "hide") go(addFilter("hide", pattern));
  else if (action === "ignore") go(addFilter("ignore", pattern));
  else if (action === "sandwich") go({ pane: "callers", callee: name, above: [], below: [] });
  else if (action === "library" && library) go(turnLibrary(library));
  else if (action === "collapse") go({ collapse: !state.peek().collapse });
  else if (action === "search") settle({ search: pattern });
};

// The address of a line in the reader's editor, by the template the command was given.
export function editorLink(file: string, line: number): string | null {
  const template = session.peek()?.facts.editor;
  if (!template) return null;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return template.replace(/%[fl]/g, (mark) => (mark === "%f" ? path : String(line || 1)));
}

export function StackGraph() {
  const of = use(model);
  const asked = use(question);
  const { flip, zoom, span, colour: colouring } = use(state);
  const found = use(matches);
  const shown = use(view);
  const made = use(tree);
  const views = useMemo(() => [shown], [shown]);
  return (
    <div style={heightOf(made)}>
      <Cut of={use(trie)} />
      <Flame
        tree={made}
        views={views}
        unit={asked.unit}
        mark={markOfAnswer(of, asked)}
        whole={use(wholeWeight)}
        label={questionWords(of, asked)}
        flipped={flip}
        zoom={zoom}
        matches={found?.nodes ?? null}
        span={span}
        onZoom={(path) => go({ zoom: path })}
        onSpan={(next) => moveSpan("span", next)}
        onMenu={onMenu}
        editorLink={editorLink}
        colouring={colouring}
        more={tipOf}
      />
      <Choices made={made} />
    </div>
  );
}

const tipOf = (node: number) => <GraphTip node={node} />;

const colouringWords: Record<Colouring, string> = {
  crate: "crate or file",
  module: "module",
  file: "file",
  own: "own code or library",
};

const LEGEND_MAX = 8;

// The groups that take most room, by what boxes wide enough to be seen are of.
export function legendOf(names: TreeNames): string[] {
  const { tree: made } = names;
  const room = new Map<string, number>();
  const least = made.width(0) / 300;
  if (!least) return [];
  const todo = [0];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (node && names.kindOf(node) === "own") {
      const group = names.groupOf(node);
      room.set(group, (room.get(group) ?? 0) + made.width(node));
    }
    for (let child = made.firstChild[node]; child < made.firstChild[node + 1]; child++)
      if (made.width(child) >= least) todo.push(child);
  }
  const most = [...room].sort(([, a], [, b]) => b - a).slice(0, LEGEND_MAX);
  return most.map(([group]) => group);
}

const fillOf = (group: string) => `var(--flame-${groupColour(group)})`;

const orderWords: Record<Order, string> = { name: "by name", weight: "heaviest first" };

export function turnOrder(): void {
  go({ order: state.peek().order === "name" ? "weight" : "name" });
}

// How boxes lie beside each other. By name they keep their places when numbers change.
export function OrderChoice() {
  const { order } = use(state);
  return (
    <label title="W">
      Order{" "}
      <select value={order} onChange={turnOrder}>
        {orders.map((one) => (
          <option key={one} value={one}>
            {orderWords[one]}
          </option>
        ))}
      </select>
    </label>
  );
}

function Choices({ made }: { made: Tree }) {
  return (
    <div class="colours">
      <OrderChoice />
      <ColourLegend made={made} />
    </div>
  );
}

function ColourLegend({ made }: { made: Tree }) {
  const of = use(model);
  const { colour } = use(state);
  const groups = useMemo(
    () => legendOf(new TreeNames(made, [of], "", false, colour)),
    [made, of, colour],
  );
  if (made.isSigned || !groups.length) return null;
  const change = (event: Event) =>
    settle({ colour: (event.target as HTMLSelectElement).value as Colouring });
  return (
    <>
      <label>
        Colour by{" "}
        <select value={colour} onChange={change}>
          {colourings.map((one) => (
            <option key={one} value={one}>
              {colouringWords[one]}
            </option>
          ))}
        </select>
      </label>
      <ul class="bands" aria-label="Colours">
        {groups.map((group) => (
          <li key={group} class="band">
            <span class="swatch" style={{ background: fillOf(group) }} />{" "}
            {group}
          </li>
        ))}
      </ul>
    </>
  );
}

const ROW_HEIGHT = 20; // of a graph

// No higher than the tree is deep.
export function heightOf(tree: Tree): JSX.CSSProperties {
  const rows = Math.max(3, tree.nRows);
  return { "--flame-rows": `${rows * ROW_HEIGHT + 2}px` } as JSX.CSSProperties;
}

export function GraphPane() {
  const why = use(refused);
  if (why) return <Refusal text={why} />;
  return (
    <section class="pane graph tall">
      <StackGraph />
    </section>
  );
}

export function Overview() {
  const why = use(refused);
  if (why) return <Refusal text={why} />;
  return (
    <div class="overview">
      <section class="graph">
        <StackGraph />
      </section>
      <Staged n={5}>
        <BriefTable />
      </Staged>
    </div>
  );
}

function BriefTable() {
  const rows = use(ranked);
  const { group } = use(state);
  return (
    <section class="brief-table" aria-label="Ranked table">
      <div class="pane-bar">
        <GroupSwitch />
        <button type="button" class="plain" onClick={() => go({ pane: "table" })}>
          {plural(rows.length, GROUP_TERMS[group].one, GROUP_TERMS[group].many)}, all columns
        </button>
      </div>
      <GroupTable isBrief={true} />
    </section>
  );
}
