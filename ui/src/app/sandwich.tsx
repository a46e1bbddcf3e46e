// SPDX-License-Identifier: Apache-2.0
//
// One function from both sides: who calls it, above, and what it calls, below; as the command's
// tree --callers and --callees. Runtime frames are hidden like everywhere, the function never.

import { computed } from "@preact/signals-core";
import { useMemo, useState } from "preact/hooks";
import type { Picture } from "../engine/errands.ts";
import { group } from "../engine/groups.ts";
import { exactly, partOf, wantedWeight } from "../engine/look.ts";
import { NONE } from "../engine/names.ts";
import { search } from "../engine/search.ts";
import { readableName } from "../engine/shorten.ts";
import { buildTree } from "../engine/tree.ts";
import { trieOf } from "../engine/trie.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { amount, share } from "../engine/units.ts";
import { cleanWithin } from "../flame/clean.ts";
import { Sandwich, type SandwichHalf } from "../flame/sandwich.tsx";
import { toldNames } from "./columns.ts";
import { editorLink, heightOf, onMenu, OrderChoice } from "./graph.tsx";
import { Cut, Refusal } from "./parts.tsx";
import { seen as ready } from "./pictures.ts";
import { rerooted } from "./reroot.ts";
import { model, ordered, question, refused, searchFault, searchText, shape } from "./session.ts";
import { left, usedLook, weights, wholeWeight } from "./session.ts";
import { use } from "./signals.ts";
import { go, moveSpan, state } from "./state.ts";

const CHOICES_MAX = 300;

// Functions to choose from, the weightiest first.
const functions = computed<string[]>(() => {
  const of = model.value;
  const all = group(left.value, question.value, "function").items;
  const names = new Set<string>();
  for (const { frame } of all) {
    const text = frame === NONE ? 0 : of.frames.function[frame];
    if (text && names.size < CHOICES_MAX) names.add(of.text[text]);
  }
  return [...names];
});

// As they are read, each told apart from the others; by what is read, the name.
const readable = computed(() => {
  const shown = toldNames(functions.value);
  return new Map(shown.map((text, i) => [text, functions.value[i]]));
});

const readableOf = (name: string) =>
  [...readable.peek()].find(([, of]) => of === name)?.[0] ??
  cleanWithin(readableName(name), 300);

const asked = computed(() => state.value.callee);
const chosen = computed(() => asked.value || functions.value[0] || "");

function side(kind: "callers" | "callees") {
  const wanted = computed<Picture>(() => ({
    look: { ...usedLook.value, [kind]: [...usedLook.value[kind], exactly(chosen.value)] },
    inverted: kind === "callers",
    byLine: shape.value.byLine,
  }));
  const shown = ready(model, wanted);
  const isReady = computed(() => shown.value !== null);
  const seen = computed(() => partOf(shown.value!.view, left.value.only));
  const tree = computed(() =>
    rerooted(ordered(buildTree(seen.value, weights.value, shown.value!.picture))),
  );
  const found = computed(() =>
    searchText.value && !searchFault.value
      ? search(tree.value, [seen.value], searchText.value).nodes
      : null,
  );
  const trie = computed(() => {
    const { inverted, byLine } = shown.value!.picture;
    return trieOf(seen.value.whole, inverted, byLine);
  });
  return { isReady, seen, tree, trie, found };
}
const callers = side("callers");
const callees = side("callees");

export function SandwichPane() {
  const why = use(refused);
  const isReady = [use(callers.isReady), use(callees.isReady)].every(Boolean);
  if (why) return <Refusal text={why} />;
  if (!isReady) return <p class="nothing">Working…</p>;
  return <BothSides />;
}

function BothSides() {
  const name = use(chosen);
  const names = use(readable);
  const [text, setText] = useState<string | null>(null);
  const seen = use(callees.seen);
  const heavy = use(weights);
  const all = use(wholeWeight);
  const asked = use(question);
  const { unit } = asked;
  const mark = markOfAnswer(use(model), asked);
  const total = wantedWeight(seen, heavy);
  const cut = use(callers.trie);
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
      <Cut of={cut} />
      {total === 0 ? (
        <p class="nothing">
          No stack with anything under this question goes through “{cleanWithin(name, 300)}”.
        </p>
      ) : (
        <Halves name={name} />
      )}
    </section>
  );
}

const spanKeys = { above: "spanAbove", below: "spanBelow" } as const;

function useHalf(half: typeof callers, key: "above" | "below"): SandwichHalf {
  const { [key]: zoom, [spanKeys[key]]: span } = use(state);
  const shown = use(half.seen);
  const views = useMemo(() => [shown], [shown]);
  const onZoom = (path: string[]) => go({ [key]: path });
  const onSpan = (next: typeof span) => moveSpan(spanKeys[key], next);
  return { tree: use(half.tree), views, matches: use(half.found), zoom, onZoom, span, onSpan };
}

function Halves({ name }: { name: string }) {
  const above = useHalf(callers, "above");
  const below = useHalf(callees, "below");
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
