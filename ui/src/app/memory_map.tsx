// SPDX-License-Identifier: Apache-2.0
//
// The heap by address: how much of each stretch is in use, how much is free, and what of that is
// pinned by the blocks beside it.

import { useState } from "preact/hooks";
import { cellAt, mapCells, type MapCell } from "../engine/residence.ts";
import type { HeapMap } from "../engine/model.ts";
import { bytes, EXACT } from "../engine/units.ts";
import { useWidth } from "./timeline.tsx";
import { sentence, unbroken } from "./words.ts";

const HEIGHT = 64;
const GAP = 3; // pixels, between two heaps
const KINDS = ["live", "pinned", "free"];

export function MemoryMap({ map, words }: { map: HeapMap; words: string[] }) {
  const [frame, width] = useWidth();
  const [hovered, setHovered] = useState<number | null>(null);
  const cells = mapCells(map, width, GAP);
  const near = (event: MouseEvent) =>
    cellAt(cells, event.clientX - (event.currentTarget as Element).getBoundingClientRect().left);
  return (
    <figure class="heap-map" aria-label="Map of the heap">
      <figcaption>{unbroken(sentence(map.title))}</figcaption>
      <p class="legend">
        {KINDS.map((kind, i) => (
          <span key={kind} class="legend-item">
            <span class={`swatch map-${kind}`} aria-hidden="true" />
            {words[i]}
          </span>
        ))}
      </p>
      <div
        class="memory-frame"
        ref={frame}
        onPointerMove={(event) => setHovered(near(event))}
        onPointerLeave={() => setHovered(null)}
      >
        <svg width={width} height={HEIGHT} role="img" aria-label="Its sums are in the table">
          {cells.map((cell, i) => (
            <Cell key={i} cell={cell} whole={map.bucket_bytes} />
          ))}
        </svg>
        {hovered !== null && cells[hovered] && (
          <CellTip cell={cells[hovered]} words={words} width={width} />
        )}
      </div>
    </figure>
  );
}

// From below: in use, pinned, free. What is not in memory is left blank.
function Cell({ cell, whole }: { cell: MapCell; whole: number }) {
  let y = HEIGHT;
  return (
    <g class="cell">
      <rect class="absent" x={cell.x} width={cell.width} y={0} height={HEIGHT} />
      {cell.parts.map((part, i) => {
        const tall = Math.max(0, Math.min(y, (part / whole) * HEIGHT));
        y -= tall;
        return (
          <rect
            key={i}
            class={`map-${KINDS[i]}`}
            x={cell.x}
            width={cell.width}
            y={y}
            height={tall}
          />
        );
      })}
    </g>
  );
}

interface TipProps {
  cell: MapCell;
  words: string[];
  width: number;
}

function CellTip({ cell, words, width }: TipProps) {
  const isLate = cell.x > width / 2;
  const side = isLate ? { right: `${Math.max(0, width - cell.x)}px` } : { left: `${cell.x}px` };
  return (
    <div class="memory-tip" role="tooltip" style={width < 500 ? { left: "0" } : side}>
      <b>0x{cell.address.toString(16)}</b>
      <table>
        <tbody>
          {KINDS.map((kind, i) => (
            <tr key={kind}>
              <td>
                <span class={`swatch map-${kind}`} aria-hidden="true" /> {words[i]}
              </td>
              <td class="number">{bytes(cell.parts[i], EXACT)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
