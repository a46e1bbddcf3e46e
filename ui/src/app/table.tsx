// SPDX-License-Identifier: Apache-2.0
//
// The ranked table. Rows come from the same question as the graph; a heading sorts, a name opens
// the stacks of its row.

import { computed } from "@preact/signals-core";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { group, groupRefusal, type Group, type GroupKind, type Groups } from "../engine/groups.ts";
import { isNarrow } from "../engine/look.ts";
import { markOfAnswer } from "../engine/exactness.ts";
import { measureTerm } from "../engine/question_words.ts";
import { GROUP_TERMS, TERMS } from "../engine/terms.ts";
import { share } from "../engine/units.ts";
import { cleanWithin } from "../flame/clean.ts";
import {
  groupName,
  groupPlace,
  groupWay,
  hasCurve,
  isClassKind,
  nameColumn,
  rowNames,
  shortGroupName,
  sorted,
  tableColumns,
  type Column,
  type Context,
} from "./columns.ts";
import { columnChoice } from "./column_choice.ts";
import { ColumnEdge, ColumnMenu } from "./column_edge.tsx";
import { copy } from "./copy.ts";
import { isFound, Marked } from "./found.tsx";
import { Bar, Middle, Refusal, Th } from "./parts.tsx";
import { partStep, RowActions } from "./row_actions.tsx";
import { foundSites, grouped, inPanes, lookFault, model, question, refused } from "./session.ts";
import { left, searchRegex, weights, wholeWeight } from "./session.ts";
import { letGo, use } from "./signals.ts";
import { Spark } from "./spark.tsx";
import { go, groupKinds, settle, state, type GroupWord } from "./state.ts";
import { rowKey, TableLines, type Line } from "./table_rows.ts";
import { csv, markdown } from "./table_text.ts";
import { useRowsInSight } from "./virtual.ts";
import { sentence } from "./words.ts";

export const ROW = 26; // pixels

const kind = grouped;

export const groupFault = computed(
  () => refused.value ?? groupRefusal(model.value, kind.value),
);
export const groups = inPanes<Groups | null>(["overview", "table"], () =>
  groupFault.value ? null : group(left.value, question.value, kind.value), null,
);

const isPart = computed(() => isNarrow(left.value.look));

const order = computed(() => `${state.value.sort ?? ""} ${state.value.up}`);

// Rows as they are shown.
export const ranked = letGo<Group[]>(() => {
  const all = groups.value;
  if (!all) return [];
  const known = all.rest.stacks ? [...all.items, all.rest] : all.items;
  const items = foundSites.value ? known.filter(isFound) : known;
  const [id, up] = order.value.split(" ");
  if (!id) return items;
  const context = { model: model.value, question: question.value, whole: wholeWeight.value };
  const columns = [
    nameColumn,
    ...tableColumns(model.value, question.value, all.kind, isPart.value),
  ];
  const column = columns.find((one) => one.id === id);
  return column ? sorted(items, column, up === "true", context) : items;
}, () => groups.peek() === null);

const TOLD_MAX = 2000; // rows: further down nobody compares

const toldRows = letGo(
  () => rowNames(model.value, ranked.value.slice(0, TOLD_MAX)), () => groups.peek() === null,
);

export function TablePane() {
  return (
    <section class="pane fill" aria-label="Table">
      <div class="pane-bar">
        <GroupSwitch />
        <span class="buttons">
          <TableColumns />
          <CopyButtons />
        </span>
      </div>
      <GroupTable isBrief={false} />
      <Wrappers />
    </section>
  );
}

// What no rule folds and is folded all the same.
function Wrappers() {
  const words = use(model).facts.wrappers_told;
  if (!words || use(state).runtime) return null;
  return (
    <p class="muted wrappers">
      Wrappers: {cleanWithin(words, 600)}; without “hide runtime” they are shown, and a rule “own
      function NAME” keeps one.
    </p>
  );
}

export function GroupTable({ isBrief }: { isBrief: boolean }) {
  const fault = use(groupFault);
  const byPlace = { words: "Group by place", step: { group: "place" as const } };
  if (!fault) return <RankedTable isBrief={isBrief} />;
  return <Refusal text={fault} way={use(refused) ? null : byPlace} />;
}

export function GroupSwitch() {
  const now = use(kind);
  const change = (event: Event) => {
    const word = (event.target as HTMLSelectElement).value as GroupWord;
    go({ group: word, sort: null, up: false });
  };
  return (
    <label>
      Group by{" "}
      <select value={now} onChange={change}>
        {groupKinds.map((word) => (
          <option key={word} value={word}>
            {GROUP_TERMS[word].word}
          </option>
        ))}
      </select>
    </label>
  );
}

// All but the first, which is what is asked, and the name.
function TableColumns() {
  const kind = use(ranked)[0]?.kind ?? "place";
  const all = tableColumns(use(model), use(question), kind, use(isPart)).slice(1);
  const spark = { id: "spark", title: sentence(TERMS.overTime.text) };
  return <ColumnMenu columns={hasCurve(kind) && !use(isPart) ? [spark, ...all] : all} />;
}

// As it is shown, with everything in full.
export function tableTexts(): string[][] {
  const context = { model: model.peek(), question: question.peek(), whole: wholeWeight.peek() };
  const kind = ranked.peek()[0]?.kind ?? "place";
  const columns = tableColumns(context.model, context.question, kind, isPart.peek());
  const titles = columns.map((column) => column.title);
  const head = [TERMS.share.text, ...titles, "name", "place", "way"];
  const body = ranked
    .peek()
    .map((item) => [
      share(item.weight, context.whole, markOfAnswer(context.model, context.question)),
      ...columns.map((column) => column.text(item, context)),
      groupName(context.model, item),
      groupPlace(context.model, item),
      groupWay(left.peek(), context.question, item),
    ]);
  return [head, ...body];
}

function CopyButtons() {
  const asMarkdown = () => {
    const all = tableTexts().slice(0, 101);
    return markdown(
      all,
      all[0].map((name) => ["name", "place", "way"].includes(name)),
    );
  };
  return (
    <span class="buttons">
      <button type="button" onClick={() => copy(csv(tableTexts()), "the table as CSV")}>
        Copy CSV
      </button>
      <button
        type="button"
        onClick={() => copy(asMarkdown(), "the first rows as Markdown")}
        title="The first 100 rows"
      >
        Copy Markdown
      </button>
    </span>
  );
}

const briefIds = ["weight", "count", "live", "stacks"];

export function RankedTable({ isBrief }: { isBrief: boolean }) {
  const rows = use(ranked);
  const shown = use(left);
  const heavy = use(weights);
  const asked = use(question);
  const whole = use(wholeWeight);
  const of = use(model);
  use(lookFault);
  const [open, setOpen] = useState<Set<string>>(new Set());
  const mark = markOfAnswer(of, asked);
  const source = { view: shown, weights: heavy, whole, unit: asked.unit, mark };
  const lines = useMemo(
    () => new TableLines(rows, open, source),
    [rows, open, shown, heavy, whole],
  );
  const { frame, element, window } = useRowsInSight(lines.length, ROW);
  const context: Context = { model: of, question: asked, whole };
  const kind = rows[0]?.kind ?? "place";
  const all = tableColumns(of, asked, kind, use(isPart));
  const { hidden, widths } = use(columnChoice);
  const [first, ...others] = all.filter((one) => !isBrief || briefIds.includes(one.id));
  const columns = [first, ...others.filter(({ id }) => isBrief || !hidden.includes(id))];
  const hasSpark = hasCurve(kind) && !use(isPart) && (isBrief || !hidden.includes("spark"));
  const span = useColumnsSeen(element, columns.length + (hasSpark ? 3 : 2));
  const toggle = (item: Group) => {
    const key = rowKey(item);
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  const word = GROUP_TERMS[kind];
  if (!rows.length) return <Nothing />;
  return (
    <div
      class={`grid-frame ${isBrief ? "brief" : ""}`}
      ref={frame}
      tabIndex={0}
      role="region"
      aria-label={`Ranked ${word.many}`}
    >
      <table
        class={`grid ${of.facts.exactness.sampled ? "sampled" : ""}`}
        aria-rowcount={lines.length + 1}
      >
        <Head {...{ columns, kind, hasSpark }} widths={isBrief ? null : widths} />
        <tbody>
          {window.first > 0 && <Gap rows={window.first} />}
          {lines.slice(window.first, window.past).map((line, i) => (
            <TableLine
              key={window.first + i}
              line={line}
              index={window.first + i}
              columns={columns}
              span={span}
              hasSpark={hasSpark}
              context={context}
              onToggle={toggle}
            />
          ))}
          {window.past < lines.length && <Gap rows={lines.length - window.past} />}
        </tbody>
      </table>
    </div>
  );
}

// Those of all columns that are seen: a cell over hidden ones would take room from the names.
function useColumnsSeen(frame: HTMLElement | null, all: number): number {
  const [seen, setSeen] = useState(all);
  useLayoutEffect(() => {
    if (!frame) return;
    const look = () => {
      const heads = [...frame.querySelectorAll<HTMLElement>("thead th")];
      setSeen(heads.filter(({ offsetWidth }) => offsetWidth > 0).length);
    };
    const observer = new ResizeObserver(look); // tells of the first size, too
    observer.observe(frame);
    return () => observer.disconnect();
  }, [frame, all]);
  return Math.max(1, Math.min(seen, all));
}

// Of a whole run, what the command says; of a part or of some stacks, that they have none.
function Nothing() {
  const { measure, from, to } = use(question);
  const { nothing } = measureTerm(use(model), measure);
  const isAll = from === null && to === null && !use(left).isFiltered;
  const isSearch = use(searchRegex) !== null;
  const none = isAll ? nothing : "nothing here weighs anything under this question";
  const words = isSearch ? "no row here has a match of the search" : none;
  return <p class="nothing">{sentence(words)}.</p>;
}

function Gap({ rows }: { rows: number }) {
  return <tr aria-hidden="true" class="gap" style={{ height: `${rows * ROW}px` }} />;
}

interface HeadProps {
  columns: Column[];
  kind: GroupKind;
  hasSpark: boolean;
  widths: Record<string, number> | null; // null: they cannot be changed here
}

function Head({ columns, kind, hasSpark, widths }: HeadProps) {
  const [first, ...others] = columns;
  const name = { ...nameColumn, title: sentence(GROUP_TERMS[kind].word) };
  return (
    <thead>
      <tr aria-rowindex={1}>
        <Th of="c-share" term={TERMS.share} />
        <SortHead column={first} {...{ kind, widths }} />
        {hasSpark && <Th of="c-spark" term={TERMS.overTime} />}
        <SortHead column={name} kind={kind} widths={null} />
        {others.map((column) => (
          <SortHead key={column.id} {...{ column, kind, widths }} />
        ))}
      </tr>
    </thead>
  );
}

// Classes come in their own order until another is chosen.
function SortHead({ column, kind, widths }: Omit<HeadProps, "columns" | "hasSpark"> & {
  column: Column;
}) {
  const { sort, up } = use(state);
  const isNow = (sort ?? (isClassKind(kind) ? "" : "weight")) === column.id;
  const direction = isNow ? (up ? "ascending" : "descending") : undefined;
  const click = () =>
    settle(isNow ? { sort: column.id, up: !up } : { sort: column.id, up: column.isText === true });
  return (
    <th
      scope="col"
      class={`c-${column.id} ${column.isText ? "text" : "number"}`}
      style={widths?.[column.id] ? { width: `${widths[column.id]}px` } : undefined}
      aria-sort={direction}
    >
      <button type="button" class="sort" onClick={click} title={column.hint}>
        {column.title}
        <span aria-hidden="true">{isNow ? (up ? " ▴" : " ▾") : ""}</span>
      </button>
      {widths && <ColumnEdge id={column.id} title={column.title} />}
    </th>
  );
}

interface LineProps {
  line: Line;
  index: number;
  columns: Column[];
  span: number; // of columns, with those that are always there
  hasSpark: boolean;
  context: Context;
  onToggle(item: Group): void;
}

function TableLine({ line, span, ...more }: LineProps) {
  const { index } = more;
  if (line.kind === "row") return <Row {...{ line, span, ...more }} />;
  return (
    <tr class={`detail ${line.kind}`} aria-rowindex={index + 2}>
      <td colSpan={span}>
        {line.kind === "actions" && <RowActions group={line.group} />}
        {line.kind === "stack" && <b>{line.text}</b>}
        {line.kind === "note" && <span class="muted">{line.text}</span>}
        {line.kind === "frame" && (
          <>
            <span class="name">{line.text}</span> <span class="muted">{line.place}</span>
          </>
        )}
      </td>
    </tr>
  );
}

function Row({
  line,
  index,
  columns,
  hasSpark,
  context,
  onToggle,
}: LineProps & { line: Line & { kind: "row" } }) {
  const { group: item, isOpen } = line;
  const { model: of, question: asked, whole } = context;
  const mark = markOfAnswer(of, asked);
  const [first, ...others] = columns;
  const name = use(toldRows).get(item) ?? shortGroupName(of, item);
  const place = groupPlace(of, item);
  const way = groupWay(left.value, asked, item);
  const hint = [groupName(of, item).slice(0, 2000), place, way].filter(Boolean).join("\n");
  return (
    <tr aria-rowindex={index + 2} class={isOpen ? "open" : ""}>
      <td class="c-share number">
        <Bar part={item.weight} whole={whole} /> {share(item.weight, whole, mark)}
      </td>
      <td class="c-weight number">{first.text(item, context)}</td>
      {hasSpark && (
        <td class="c-spark">
          <Spark model={of} sites={item.sites} unit={asked.unit} />
        </td>
      )}
      <td class="c-name" title={hint}>
        {item.sites.length ? (
          <button
            type="button"
            class="opener"
            aria-expanded={isOpen}
            onClick={() => onToggle(item)}
          >
            <span aria-hidden="true">{isOpen ? "▾ " : "▸ "}</span>
            <span class="name">
              <Fitting text={name} />
            </span>{" "}
            <span class="muted at">
              <Fitting text={place} isPlace={true} />
            </span>{" "}
            <span class="muted way">
              <Marked text={way} />
            </span>
          </button>
        ) : (
          <PartName item={item} name={name} place={place} />
        )}
      </td>
      {others.map((column) => (
        <td key={column.id} class={`c-${column.id} number`}>
          {column.text(item, context)}
        </td>
      ))}
    </tr>
  );
}

// Names differ at their ends, and places say most there. What a search matches stands as it is.
function Fitting({ text, isPlace }: { text: string; isPlace?: boolean }) {
  return use(searchRegex) ? <Marked text={text} /> : <Middle text={text} isPlace={isPlace} />;
}

// Threads and classes have no stacks of their own; a click leaves what is known to be theirs.
function PartName({ item, name, place }: { item: Group; name: string; place: string }) {
  const text = (
    <>
      <span class="name">
        <Marked text={name} />
      </span>{" "}
      <span class="muted">{place}</span>
    </>
  );
  const step = partStep(item);
  if (!step) return text;
  return (
    <button type="button" class="opener" title="Only this" onClick={() => go(step)}>
      {text}
    </button>
  );
}
