// SPDX-License-Identifier: Apache-2.0
//
// One function from both sides: who calls it, above, and what it calls, below; as the command's
// tree --callers and --callees. Runtime frames are hidden like everywhere, the function never.

import { computed } from "@preact/signals-core";
import { useMemo, useState } from "preact/hooks";
import type { Picture } from "../engine/errands.ts";
import { group } from "../engine/groups.ts";
import { exactly, partOf, wantedWeight, type View } from "../engine/look.ts";
import type { Model } from "../engine/model.ts";
import { NONE } from "../engine/names.ts";
import { orderInPieces, type Order } from "../engine/order.ts";
import { searchInPieces } from "../engine/search.ts";
import type { Pieces } from "../engine/pieces.ts";
import { readableName } from "../engine/shorten.ts";
import { treeInPieces, type Tree } from "../engine/tree.ts";
import { trieOf, type Trie } from "../engine/trie.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { amount, share } from "../engine/units.ts";
import { cleanWithin } from "../flame/clean.ts";
import { Sandwich, type SandwichHalf } from "../flame/sandwich.tsx";
import { toldNames } from "./columns.ts";
import { editorLink, heightOf, onMenu, OrderChoice } from "./graph.tsx";
import { firstSight, type Waiting } from "./first_sight.ts";
import { later } from "./later.ts";
import { Cut, Refusal, Working } from "./parts.tsx";
import { seen as ready } from "./pictures.ts";
import { rerootInPieces } from "./reroot.ts";
import { inPanes, model, order, question, refused } from "./session.ts";
import { searchFault, searchText, shape } from "./session.ts";
import { left, usedLook, weights, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import { go, moveSpan, state } from "./state.ts";

const CHOICES_MAX = 300;

// Functions to choose from, the weightiest first.
const functions = inPanes<string[]>(["callers"], () => {
  const of = model.value;
  const all = group(left.value, question.value, "function").items;
  const names = new Set<string>();
  for (const { frame } of all) {
    const text = frame === NONE ? 0 : of.frames.function[frame];
    if (text && names.size < CHOICES_MAX) names.add(of.text[text]);
  }
  return [...names];
}, []);

// As they are read, each told apart from the others; by what is read, the name.
const readable = computed(() => {
  const shown = toldNames(functions.value);
  return new Map(shown.map((text, i) => [text, functions.value[i]]));
});

const readableOf = (name: string) =>
  [...readable.peek()].find(([, of]) => of === name)?.[0] ??
  cleanWithin(readableName(name), 300);

const callee = computed(() => state.value.callee);
const chosen = computed(() => callee.value || functions.value[0] || "");

function picture(kind: "callers" | "callees") {
  const wanted = inPanes<Picture | null>(["callers"], () => ({
    look: { ...usedLook.value, [kind]: [...usedLook.value[kind], exactly(chosen.value)] },
    inverted: kind === "callers",
    byLine: shape.value.byLine,
  }), null);
  return { wanted, shown: ready(model, wanted, true) };
}

const pictures = [picture("callers"), picture("callees")];

// Of a large model what is wide enough to be seen comes first, of both together, unless somebody
// looks for more.
const isZoomed = computed(() => state.value.above.length + state.value.below.length > 0);
const isWaiting = inPanes(["callers"], () =>
  pictures.some(({ wanted, shown }) => shown.value?.picture !== wanted.value), false);
const sights = firstSight(inPanes<Waiting | null>(["callers"], () =>
  !isWaiting.value ? null : {
    of: model.value, pictures: pictures.map(({ wanted }) => wanted.value!),
    question: question.value, isEnough: !searchText.value && !isZoomed.value,
  }, null));

function side(i: number) {
  const asked = inPanes<Asked | null>(["callers"], () => {
    const { wanted, shown } = pictures[i];
    const now = shown.value?.picture === wanted.value ? shown.value
      : sights.value?.[i] ?? shown.value;
    return now && {
      of: model.value, view: partOf(now.view, left.value.only), weights: weights.value,
      picture: now.picture, order: order.value,
      search: searchFault.value ? "" : searchText.value,
    };
  }, null);
  return later(asked, makeHalf, { isKept: true, isSoon: true });
}

interface Asked {
  of: Model;
  view: View;
  weights: Float64Array;
  picture: Picture;
  order: Order;
  search: string;
}

interface Half {
  view: View;
  tree: Tree;
  trie: Trie;
  found: Uint8Array | null; // nodes that match; null: no search
}

function* makeHalf({ view, weights, picture, order, search }: Asked): Pieces<Half> {
  const { inverted, byLine } = picture;
  const made = yield* orderInPieces(yield* treeInPieces(view, weights, picture), order);
  const tree = yield* rerootInPieces(made);
  yield;
  wantedWeight(view, weights);
  yield;
  const matches = search ? yield* searchInPieces(tree, [view], search) : null;
  const trie = trieOf(view.whole, inverted, byLine);
  return { view, tree, trie, found: matches && matches.nodes };
}

const callers = side(0);
const callees = side(1);

export function SandwichPane() {
  const why = use(refused);
  const [above, below] = [use(callers), use(callees)];
  if (why) return <Refusal text={why} />;
  return above && below ? <BothSides above={above} below={below} /> : <Working />;
}

interface Sides {
  above: Half;
  below: Half;
}

function BothSides({ above, below }: Sides) {
  const name = use(chosen);
  const names = use(readable);
  const [text, setText] = useState<string | null>(null);
  const heavy = use(weights);
  const all = use(wholeWeight);
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(use(model), asked);
  const total = wantedWeight(below.view, heavy);
  const pick = (event: Event) => {
    event.preventDefault();
    if (text) go({ callee: names.get(text) ?? text, above: [], below: [] });
    setText(null);
  };
  return (
    <section class="pane sandwich" aria-label="Callers and callees">
      <form class="pane-bar" onSubmit={pick}>
        <label class="grow">
          Function{" "}
          <input
            list="functions"
            value={text ?? readableOf(name)}
            title={cleanWithin(name, 2000)}
            spellcheck={false}
            onInput={(event) => setText((event.target as HTMLInputElement).value)}
            onChange={pick}
          />
        </label>
        <datalist id="functions">
          {[...names.keys()].map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <span>
          <b>{amount(total, unit, mark)}</b> go through it, {share(total, all, mark)}
        </span>
      </form>
      <Cut of={above.trie.seen === undefined && below.trie.seen ? below.trie : above.trie} />
      {total === 0 ? (
        <p class="nothing">
          No stack with anything under this question goes through “{cleanWithin(name, 300)}”.
        </p>
      ) : (
        <Halves name={name} sides={{ above, below }} />
      )}
    </section>
  );
}

const spanKeys = { above: "spanAbove", below: "spanBelow" } as const;

function useHalf(sides: Sides, key: "above" | "below"): SandwichHalf {
  const half = sides[key];
  const { [key]: zoom, [spanKeys[key]]: span } = use(state);
  const views = useMemo(() => [half.view], [half.view]);
  const onZoom = (path: string[]) => go({ [key]: path });
  const onSpan = (next: typeof span) => moveSpan(spanKeys[key], next);
  return { tree: half.tree, views, matches: half.found, zoom, onZoom, span, onSpan };
}

function Halves({ name, sides }: { name: string; sides: Sides }) {
  const above = useHalf(sides, "above");
  const below = useHalf(sides, "below");
  const asked = use(question);
  const deeper = above.tree.nRows > below.tree.nRows ? above.tree : below.tree;
  return (
    <div class="graph half" style={heightOf(deeper)}>
      <Sandwich
        name={readableOf(name)}
        callers={above}
        callees={below}
        unit={asked.unit}
        mark={markOfAnswer(use(model), asked)}
        whole={use(wholeWeight)}
        label={cleanWithin(name, 300)}
        onMenu={onMenu}
        editorLink={editorLink}
      />
      <div class="colours">
        <OrderChoice />
      </div>
    </div>
  );
}
