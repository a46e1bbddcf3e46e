// SPDX-License-Identifier: Apache-2.0
//
// What is known about the box under the pointer or the keyboard's focus. It follows, is never where
// it would cover what it is about, and never leaves the window. The same is in the table for screen
// readers, so it is hidden from them.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { TERMS } from "../engine/terms.ts";
import { amount, change, count, EXACT, share } from "../engine/units.ts";
import type { Hit } from "./chart.ts";
import { cleanWithin } from "./clean.ts";
import type { TreeMeaning } from "./meaning.ts";

export interface TipTarget {
  hit: Hit;
  x: number; // in the browser window, of what it must not cover
  y: number;
  below: number; // where the free space below that begins
}

interface TipProps {
  target: TipTarget;
  meaning: TreeMeaning;
  whole: number; // what shares are of
  zoom: number;
  more?: (node: number) => ComponentChildren;
}

const MARGIN = 8;
const DISTANCE = 14;

export function Tooltip({ target, meaning, whole, zoom, more }: TipProps) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tip = ref.current;
    if (!tip) return;
    const place = placeTip(target, tip.offsetWidth, tip.offsetHeight, innerWidth, innerHeight);
    tip.style.transform = `translate(${Math.round(place.x)}px, ${Math.round(place.y)}px)`;
  });
  const { node, nMerged } = target.hit;
  return (
    <div class="flame-tip" ref={ref} aria-hidden="true">
      {nMerged > 1 && <Many hit={target.hit} meaning={meaning} />}
      <p class="flame-tip-name" dir="ltr">
        {meaning.names.fullOf(node)}
      </p>
      <Where node={node} meaning={meaning} />
      <dl>
        {rowsOf(node, meaning, whole, zoom).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {more?.(node)}
      {notesOf(node, meaning).map((note) => (
        <p class="flame-tip-note" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

// To the right of the pointer and below it, else on the other side; inside of the window always.
export function placeTip(
  target: { x: number; y: number; below: number },
  width: number,
  height: number,
  windowWidth: number,
  windowHeight: number,
): { x: number; y: number } {
  const right = target.x + DISTANCE;
  const fitsRight = right + width + MARGIN <= windowWidth;
  const x = fitsRight ? right : target.x - DISTANCE - width;
  const low = target.below + DISTANCE;
  const fitsBelow = low + height + MARGIN <= windowHeight;
  const y = fitsBelow ? low : target.y - DISTANCE - height;
  return {
    x: Math.max(MARGIN, Math.min(x, windowWidth - width - MARGIN)),
    y: Math.max(MARGIN, Math.min(y, windowHeight - height - MARGIN)),
  };
}

function Many({ hit, meaning }: { hit: Hit; meaning: TreeMeaning }) {
  const together = amount(hit.amount, meaning.options.unit, meaning.options.mark);
  return (
    <p class="flame-tip-note">
      {`${count(hit.nMerged, EXACT)} boxes too narrow to draw, ${together} together. The widest:`}
    </p>
  );
}

function Where({ node, meaning }: { node: number; meaning: TreeMeaning }) {
  const place = meaning.names.placeOf(node);
  const module = cleanWithin(meaning.names.moduleOf(node), 300);
  if (!place && !module) return null;
  return (
    <p class="flame-tip-where" dir="ltr">
      {place}
      {place && module ? " · " : ""}
      {module}
    </p>
  );
}

function rowsOf(node: number, meaning: TreeMeaning, whole: number, zoom: number) {
  const { tree, options } = meaning;
  const { unit, mark } = options;
  const rows: [string, string][] = [];
  const total = tree.total(node);
  if (tree.isDiff) {
    const n = meaning.change(node);
    rows.push([TERMS.change.text, change(n, unit, mark)]);
    rows.push([TERMS.before.text, amount(tree.before(node), unit, mark)]);
    rows.push([TERMS.after.text, amount(total, unit, mark)]);
  } else {
    rows.push([TERMS.total.text, sharesText(total, meaning, whole, zoom)]);
    const self = tree.self(node);
    if (self !== total && tree.isWhole(node))
      rows.push([TERMS.self.text, self === 0 ? "none" : amount(self, unit, mark)]);
  }
  rows.push([TERMS.stacks.text, count(tree.stacks(node), EXACT)]);
  return rows;
}

function sharesText(total: number, meaning: TreeMeaning, whole: number, zoom: number): string {
  const { tree, options } = meaning;
  const { unit, mark } = options;
  if (options.signed) return change(total, unit, mark);
  const text = `${amount(total, unit, mark)} · ${share(total, whole, mark)}`;
  const zoomed = tree.total(zoom);
  return zoom > 0 && total <= zoomed
    ? `${text} · ${share(total, zoomed, mark)} of what is shown`
    : text;
}

function notesOf(node: number, { names, tree }: TreeMeaning): string[] {
  const notes: string[] = [];
  const kind = names.kindOf(node);
  if (kind === "runtime") notes.push(TERMS.runtime.text);
  if (kind === "cut") notes.push(TERMS.framesCut.hint);
  if (kind === "lost") notes.push(TERMS.stackLost.hint);
  if (kind === "pages") notes.push(TERMS.ownPages.hint);
  if (kind === "pruned") notes.push(TERMS.otherStacks.hint);
  if (names.isInlined(node)) notes.push(TERMS.inlined.text);
  if (names.isGuessed(node)) notes.push(TERMS.guessed.text);
  const deep = tree.deep(node);
  if (deep > 1) notes.push(`calls itself, up to ${deep} deep`);
  return notes;
}
