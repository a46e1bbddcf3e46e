// SPDX-License-Identifier: Apache-2.0
//
// What is seen, as a file: its stacks folded or as pprof, the table as CSV, the graph as SVG. Made
// here; nobody is asked for it.

import { markOfAnswer } from "../engine/exactness.ts";
import type { Measure } from "../engine/question.ts";
import { clean } from "../flame/clean.ts";
import { TreeMeaning } from "../flame/meaning.ts";
import { TreeNames } from "../flame/names.ts";
import { readPalette } from "../flame/palette.ts";
import { svgOf } from "../flame/svg.ts";
import { nodeOf } from "../flame/walk.ts";
import { selectedSites } from "./selected.ts";
import { announcement, matches, model, pane, question, refused, tree } from "./session.ts";
import { view, weights } from "./session.ts";
import { use } from "./signals.ts";
import { folded, pprof, type Seen } from "./stack_files.ts";
import { state } from "./state.ts";
import { tableTexts } from "./table.tsx";
import { csv } from "./table_text.ts";
import { programName, questionWords } from "./words.ts";

export function save(name: string, type: string, content: BlobPart): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  announcement.value = `Saved ${name}.`;
}

function stem(): string {
  const program = clean(programName(model.peek().facts.image)).replace(/[^\w.+-]+/g, "_");
  return `${program}.${question.peek().measure}`;
}

// Readers of heap profiles know what was allocated and what was in use, and nothing else.
const isDone = (measure: Measure) => measure === "total" || measure === "temp";

function seen(): Seen {
  const { measure, unit } = question.peek();
  return {
    view: view.peek(),
    weights: weights.peek(),
    sites: selectedSites.peek(),
    type: `${isDone(measure) ? "alloc" : "inuse"}_${unit === "bytes" ? "space" : "objects"}`,
    unit: unit === "bytes" ? "bytes" : "count",
  };
}

async function packed(bytes: Uint8Array): Promise<ArrayBuffer> {
  const stream = new Blob([bytes as BlobPart]).stream();
  return new Response(stream.pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
}

// With the colours that the graph on the page has.
function svg(): string | null {
  const canvas = document.querySelector<HTMLCanvasElement>(".flame canvas");
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return null;
  const of = model.peek();
  const asked = question.peek();
  const made = tree.peek();
  const { zoom, span, flip, colour } = state.peek();
  const names = new TreeNames(made, [of], "all", view.peek().look.collapse, colour);
  const meaning = new TreeMeaning(made, names, {
    unit: asked.unit,
    mark: markOfAnswer(of, asked),
    signed: made.isSigned,
    matches: matches.peek()?.nodes ?? null,
  });
  const title = `${programName(of.facts.image)}: ${questionWords(of, asked)}`;
  return svgOf(meaning, readPalette(canvas, context), nodeOf(names, zoom), span, flip, title);
}

interface Kind {
  words: string;
  save(): void | Promise<void>;
}

const kinds: Record<string, Kind> = {
  svg: {
    words: "the graph, SVG",
    save: () => save(`${stem()}.svg`, "image/svg+xml", svg() ?? ""),
  },
  folded: {
    words: "its stacks, folded",
    save: () => save(`${stem()}.folded`, "text/plain", folded(seen())),
  },
  pprof: {
    words: "its stacks, pprof",
    save: async () => save(`${stem()}.pb.gz`, "application/gzip", await packed(pprof(seen()))),
  },
  csv: {
    words: "the table, CSV",
    save: () => save(`${stem()}.csv`, "text/csv", csv(tableTexts())),
  },
};

// Of the stacks under the question; where something else is shown there is nothing to choose.
export function Download() {
  const shown = use(pane);
  const why = use(refused);
  if (why || shown === "diff" || shown === "leaks") return null;
  const hasGraph = shown === "overview" || shown === "graph";
  const close = (target: EventTarget | null) => {
    const details = (target as HTMLElement).closest("details");
    if (details) details.open = false;
    details?.querySelector("summary")?.focus();
  };
  const escape = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !(event.currentTarget as HTMLDetailsElement).open) return;
    event.stopPropagation();
    close(event.currentTarget);
  };
  return (
    <details class="menu" onKeyDown={escape}>
      <summary>Save</summary>
      <div class="menu-box" role="group" aria-label="Save what is seen">
        {Object.entries(kinds).map(([id, kind]) =>
          id === "svg" && !hasGraph ? null : (
            <button
              key={id}
              type="button"
              onClick={(event) => {
                close(event.currentTarget);
                void kind.save();
              }}
            >
              {kind.words}
            </button>
          ),
        )}
      </div>
    </details>
  );
}
