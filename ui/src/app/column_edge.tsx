// SPDX-License-Identifier: Apache-2.0
//
// The edge of a column's heading, by which it is made wider or narrower: by pointer or by keys. And
// the menu that says which columns there are.

import { useRef } from "preact/hooks";
import { columnChoice, forgetColumns, setWidth, toggleColumn } from "./column_choice.ts";
import { use } from "./signals.ts";

const STEP = 16; // pixels, by key

export function ColumnEdge({ id, title }: { id: string; title: string }) {
  const held = useRef<{ x: number; width: number } | null>(null);
  const widthOf = (edge: HTMLElement) => edge.parentElement!.getBoundingClientRect().width;
  const begin = (event: PointerEvent) => {
    const edge = event.currentTarget as HTMLElement;
    held.current = { x: event.clientX, width: widthOf(edge) };
    edge.setPointerCapture(event.pointerId);
    event.preventDefault();
  };
  const move = (event: PointerEvent) => {
    const { current } = held;
    if (current) setWidth(id, current.width + event.clientX - current.x);
  };
  const end = () => {
    held.current = null;
  };
  const keys = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(id, widthOf(event.currentTarget as HTMLElement) + by);
  };
  const { widths } = use(columnChoice);
  return (
    <span
      class="column-edge"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${title}`}
      aria-valuenow={widths[id] ?? 0}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={end}
      onKeyDown={keys}
    />
  );
}

export function ColumnMenu({ columns }: { columns: { id: string; title: string }[] }) {
  const { hidden, widths } = use(columnChoice);
  const isOwn = hidden.length > 0 || Object.keys(widths).length > 0;
  return (
    <details class="menu">
      <summary>Columns</summary>
      <div class="menu-box right">
        {columns.map(({ id, title }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={!hidden.includes(id)}
              onChange={() => toggleColumn(id)}
            />{" "}
            {title}
          </label>
        ))}
        <button type="button" disabled={!isOwn} onClick={forgetColumns}>
          As at first
        </button>
      </div>
    </details>
  );
}
