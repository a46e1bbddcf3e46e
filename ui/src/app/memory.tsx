// SPDX-License-Identifier: Apache-2.0
//
// Where the resident memory was: the table of one moment as "tidemark maps" has it, and the kinds
// over time. Every word of a table is the command's.

import { computed } from "@preact/signals-core";
import { chosenTable, type Choice } from "../engine/residence.ts";
import type { Residence, ResidenceLine, ResidenceList, ResidenceTable } from "../engine/model.ts";
import { bytes, share, EXACT } from "../engine/units.ts";
import { clean } from "../flame/clean.ts";
import { MemoryChart } from "./memory_chart.tsx";
import { MemoryMap } from "./memory_map.tsx";
import { selectedTime } from "./moments.ts";
import { Bar } from "./parts.tsx";
import { model } from "./session.ts";
import { use } from "./signals.ts";
import { go, state, timeText } from "./state.ts";
import { sentence, unbroken } from "./words.ts";

const chosen = computed(() => {
  const { residence } = model.value.facts;
  const choice = state.value.table ?? selectedTime.value;
  return residence.tables.length ? chosenTable(residence, choice) : -1;
});

export function MemoryPane() {
  const { residence } = use(model).facts;
  const at = use(chosen);
  if (at < 0)
    return (
      <section class="pane memory" aria-label="Resident memory">
        <p class="nothing" role="status">
          {residence.none}
        </p>
      </section>
    );
  const table = residence.tables[at];
  return (
    <section class="pane memory" aria-label="Resident memory">
      <MemoryChart chosen={at} />
      <div class="pane-bar">
        <Picker residence={residence} at={at} />
      </div>
      <h2>{clean(sentence(table.title))}</h2>
      <div class="columns">
        <div>
          <Rows table={table} />
          <Notes table={table} />
        </div>
        <div>
          {table.map && <MemoryMap map={table.map} words={residence.map_words} />}
          {table.lists.map((list) => (
            <List key={list.key} list={list} whole={table.sum.bytes} />
          ))}
        </div>
      </div>
    </section>
  );
}

// As it is kept in the address.
const textOf = (choice: Choice) => (typeof choice === "number" ? timeText(choice) : choice);

function Picker({ residence, at }: { residence: Residence; at: number }) {
  const choice = use(state).table ?? use(selectedTime) ?? "rss";
  const { time_ns } = residence.tables[at];
  const pick = (event: Event) => {
    const { value } = event.target as HTMLSelectElement;
    const one = residence.tables.find((table) => textOf(table.time_ns) === value);
    go({ table: one ? one.time_ns : (value as "rss" | "peak") });
  };
  return (
    <label>
      Taken{" "}
      <select value={textOf(typeof choice === "number" ? time_ns : choice)} onChange={pick}>
        {residence.choices.map(({ key, words }) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
        {residence.tables.map((table) => (
          <option key={table.time_ns} value={textOf(table.time_ns)}>
            {table.when}: {bytes(table.sum.bytes, EXACT)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface LineProps {
  line: ResidenceLine;
  whole: number;
  kind?: string;
}

function Line({ line, whole, kind }: LineProps) {
  return (
    <tr class={kind}>
      <td class="number">{bytes(line.bytes, EXACT)}</td>
      <td class="number muted">{line.share ? share(line.bytes, whole, EXACT) : ""}</td>
      <td class="c-bar">{line.share && <Bar part={line.bytes} whole={whole} />}</td>
      <th scope="row">{unbroken(clean(line.words))}</th>
    </tr>
  );
}

function Rows({ table }: { table: ResidenceTable }) {
  const whole = table.sum.bytes;
  return (
    <table class="residence rows">
      <tbody>
        {table.rows.map((line) => (
          <Line key={line.words} line={line} whole={whole} />
        ))}
        <Line line={table.sum} whole={whole} kind="sum" />
        {table.absent && <Line line={table.absent} whole={whole} kind="absent" />}
      </tbody>
    </table>
  );
}

function Notes({ table }: { table: ResidenceTable }) {
  return (
    <dl class="residence-notes">
      {table.notes.map(({ label, text }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{unbroken(clean(text))}</dd>
        </div>
      ))}
    </dl>
  );
}

function List({ list, whole }: { list: ResidenceList; whole: number }) {
  return (
    <table class={`residence ${list.key}`}>
      <caption>{sentence(list.title)}</caption>
      <tbody>
        {list.lines.map((line, i) => (
          <Line key={i} line={line} whole={whole} />
        ))}
      </tbody>
      {list.left > 0 && (
        <tfoot>
          <tr>
            <td colSpan={4} class="muted">
              and {list.left} more
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}
