// SPDX-License-Identifier: Apache-2.0
//
// The columns of the ranked table: what a row says in each, and what it is sorted by. Numbers that
// a capture does not hold are empty, never zero, and so are those that a class cannot have.

import type { Group, GroupKind } from "../engine/groups.ts";
import type { View } from "../engine/look.ts";
import { waysOf, waysText } from "../engine/ways.ts";
import { groupText } from "../engine/group_text.ts";
import type { Model } from "../engine/model.ts";
import { frameText, NONE, placeText } from "../engine/names.ts";
import type { Measure, Question, Unit } from "../engine/question.ts";
import { readableName, tellApart } from "../engine/shorten.ts";
import { errorOf, errorOfAnswer, markOf, markOfAnswer } from "../engine/exactness.ts";
import { measureTerm, questionHeading } from "../engine/question_words.ts";
import { MEASURE_TERMS, TERMS } from "../engine/terms.ts";
import { cell, count, percent, time, EXACT } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { sentence } from "./words.ts";

export interface Context {
  model: Model;
  question: Question;
  whole: number;
}

export interface Column {
  id: string;
  title: string;
  hint: string;
  isText?: boolean;
  value(group: Group, context: Context): number | string; // what it is sorted by
  text(group: Group, context: Context): string;
}

const NAME_MAX = 600; // characters of a name that anybody reads

const codeKinds: GroupKind[] = ["place", "function", "stack"];

export function groupName(model: Model, group: Group): string {
  if (codeKinds.includes(group.kind) && group.frame !== NONE)
    return cleanWithin(frameText(model, group.frame), NAME_MAX);
  return cleanWithin(groupText(model, group), NAME_MAX);
}

// A function's name, shortened where there would be no room for the place beside it.
export function nameToShow(model: Model, frame: number): string {
  const name = frameText(model, frame);
  const isFunction = frame !== NONE && model.frames.function[frame];
  return cleanWithin(isFunction ? readableName(name) : name, NAME_MAX);
}

// Names as they are read; those that would read alike, with what tells them apart.
export function toldNames(names: readonly string[]): string[] {
  const shown = names.map((name) => cleanWithin(readableName(name), NAME_MAX));
  const alike = new Map<string, number[]>();
  shown.forEach((text, i) => {
    const same = alike.get(text);
    if (same) same.push(i);
    else alike.set(text, [i]);
  });
  for (const same of alike.values())
    if (same.length > 1)
      tellApart(same.map((i) => names[i])).forEach((text, k) => {
        shown[same[k]] = cleanWithin(text, NAME_MAX);
      });
  return shown;
}

// Of code groups, what their rows are called; the others' names are short and their own.
export function rowNames(model: Model, groups: readonly Group[]): Map<Group, string> {
  const isFunction = ({ kind, frame }: Group) =>
    codeKinds.includes(kind) && frame !== NONE && model.frames.function[frame] > 0;
  const named = groups.filter(isFunction);
  const shown = toldNames(named.map(({ frame }) => frameText(model, frame)));
  return new Map(named.map((group, i) => [group, shown[i]]));
}

export function shortGroupName(model: Model, group: Group): string {
  const isCode = codeKinds.includes(group.kind) && group.frame !== NONE;
  return isCode ? nameToShow(model, group.frame) : groupName(model, group);
}

export function groupPlace(model: Model, group: Group): string {
  if (group.frame === NONE) return "";
  if (group.kind === "place" || group.kind === "stack") return clean(placeText(model, group.frame));
  if (group.kind === "crate" && !group.crate) return "module"; // beside a crate of its name
  return group.kind === "function" ? clean(placeText(model, group.frame, 0)) : "";
}

// "via serde_json::de::from_str, src/de.rs:2699".
export function groupWay(view: View, question: Question, group: Group): string {
  if (!group.sites.length || group.kind === "call") return "";
  return cleanWithin(waysText(view, waysOf(view, question, group), nameToShow), NAME_MAX);
}

// Classes are told by histograms, which know how many blocks and nothing else.
export const isClassKind = (kind: GroupKind) => kind === "size" || kind === "lifetime";
// What threads and classes held over time is not known.
export const hasCurve = (kind: GroupKind) => !isClassKind(kind) && kind !== "thread";
const isClass = (group: Group) => isClassKind(group.kind);
const ofClasses = ["weight", "count", "stacks"];

function lacks(model: Model, ...what: string[]): boolean {
  return model.facts.image.lacks.some((word) => what.includes(word));
}

// A heading, and what it means.
const headed = ({ text, hint }: { text: string; hint: string }) => ({
  title: sentence(text),
  hint,
});

interface NumberColumn {
  id: "peak" | "live" | "total";
  bytes(group: Group): number;
  blocks(group: Group): number;
}

// A measure of the whole run, beside the one that is asked for.
function numberColumn({ id, bytes, blocks }: NumberColumn, unit: Unit): Column {
  const value = unit === "bytes" ? bytes : blocks;
  const figure = id === "total" ? "allocated" : id;
  const { [unit]: text } = MEASURE_TERMS[id];
  return {
    id,
    ...headed({ text, hint: `${wholeHints[id]}, over the whole run` }),
    value,
    text: (group, { model }) =>
      isClass(group) || lacks(model, id, unit === "blocks" ? "blocks" : "")
        ? ""
        : cell(value(group), unit, markOf(model, figure, unit)) +
          errorOf(group, figure, unit, value(group)),
  };
}

const wholeHints = {
  peak: MEASURE_TERMS.peak.hint,
  live: TERMS.atEnd.hint,
  total: TERMS.allocated.hint,
};

export const nameColumn: Column = {
  id: "name",
  title: "Name",
  hint: "by name",
  isText: true,
  value: (group, { model }) => groupName(model, group),
  text: (group, { model }) => groupName(model, group),
};

function weightColumn(model: Model, question: Question): Column {
  const { hint } = measureTerm(model, question.measure);
  return {
    id: "weight",
    ...headed({ text: questionHeading(model, question), hint }),
    value: (group) => group.weight,
    text: (group, { model }) =>
      cell(group.weight, question.unit, markOfAnswer(model, question)) +
      (isClass(group) ? "" : errorOfAnswer(group, question, group.weight)),
  };
}

// Of what is temporary, the share that it is of all; else the share of blocks.
function temporaryColumn({ measure, unit }: Question): Column {
  const inBytes = measure === "temp" && unit === "bytes";
  const term = measure !== "temp" ? TERMS.temporary
    : inBytes ? TERMS.ofItsBytes : TERMS.ofItsBlocks;
  const part = (group: Group) => (inBytes ? group.bTemp : group.nTemp);
  const whole = (group: Group) => (inBytes ? group.bAlloc : group.nAlloc);
  return {
    id: "temp",
    ...headed(term),
    value: (group) => (whole(group) ? part(group) / whole(group) : 0),
    text: (group, { model }) =>
      isClass(group) || lacks(model, "temporary", inBytes ? "total" : "blocks")
        ? ""
        : percent(part(group), whole(group), markOf(model, "allocated", inBytes ? unit : "blocks")),
  };
}

const countColumn: Column = {
  id: "count",
  ...headed(TERMS.allocations),
  value: (group) => group.nAlloc,
  text: (group, { model }) =>
    lacks(model, "blocks", "total")
      ? ""
      : count(group.nAlloc, markOf(model, "allocated", "blocks")) +
        (isClass(group) ? "" : errorOf(group, "allocated", "blocks", group.nAlloc)),
};

const stacksColumn: Column = {
  id: "stacks",
  ...headed(TERMS.stacks),
  value: (group) => group.stacks,
  text: (group) => count(group.stacks, EXACT),
};

const sinceColumn: Column = {
  id: "first",
  ...headed(TERMS.since),
  value: (group) => group.firstNs,
  text: (group, { model }) =>
    isClass(group) || !group.nAlloc || lacks(model, "times") ? "" : time(group.firstNs),
};

function fixedColumns(question: Question): Column[] {
  const { unit } = question;
  const peak: NumberColumn = {
    id: "peak",
    bytes: (group) => group.peakBytes,
    blocks: (group) => group.peakBlocks,
  };
  const live: NumberColumn = {
    id: "live",
    bytes: (group) => group.liveBytes,
    blocks: (group) => group.liveBlocks,
  };
  const total: NumberColumn = {
    id: "total",
    bytes: (group) => group.bAlloc,
    blocks: (group) => group.nAlloc,
  };
  const numbers = unit === "bytes" ? [peak, live, total] : [peak, live]; // blocks: countColumn
  return [...numbers.map((one) => numberColumn(one, unit)), countColumn, temporaryColumn(question),
    stacksColumn, sinceColumn];
}

// Under a question of the whole run, the column that would repeat the first one.
const sameAs: Record<Measure, Record<Unit, string>> = {
  peak: { bytes: "peak", blocks: "peak" },
  live: { bytes: "live", blocks: "live" },
  total: { bytes: "total", blocks: "count" },
  grown: { bytes: "live", blocks: "live" },
  leak: { bytes: "live", blocks: "live" },
  temp: { bytes: "", blocks: "" },
};

// Of a part of each stack (look.ts) no more is known than what it weighs.
const ofParts = ["weight", "stacks"];

export function tableColumns(
  model: Model, question: Question, kind: GroupKind, isPart = false,
): Column[] {
  const isWhole = question.from === null && question.to === null;
  const same = isWhole ? sameAs[question.measure][question.unit] : "";
  const known = isPart ? ofParts : isClassKind(kind) ? ofClasses : null;
  const has = ({ id }: Column) => id !== same && (known?.includes(id) ?? true);
  return [weightColumn(model, question), ...fixedColumns(question).filter(has)];
}

export function sorted(items: Group[], column: Column, up: boolean, context: Context): Group[] {
  const keys = new Map(items.map((group) => [group, column.value(group, context)]));
  const order = up ? 1 : -1;
  return [...items].sort((a, b) => {
    const x = keys.get(a)!;
    const y = keys.get(b)!;
    return (x < y ? -1 : x > y ? 1 : 0) * order;
  });
}
