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
import type { Question } from "../engine/question.ts";
import { readableName } from "../engine/shorten.ts";
import { markOf, markOfAnswer } from "../engine/exactness.ts";
import { count, percent, time, EXACT } from "../engine/units.ts";
import { clean, cleanWithin } from "../flame/clean.ts";
import { cell, wordsOfMeasure } from "./words.ts";

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
  if (!group.sites.length) return "";
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

interface NumberColumn {
  id: string;
  title: string;
  hint: string;
  bytes(group: Group): number;
  blocks(group: Group): number;
  needs: "peak" | "live" | "total";
}

function numberColumn({ id, title, hint, bytes, blocks, needs }: NumberColumn): Column {
  const value = (group: Group, { question }: Context) =>
    question.unit === "bytes" ? bytes(group) : blocks(group);
  return {
    id,
    title,
    hint,
    value,
    text(group, context) {
      const { unit } = context.question;
      if (isClass(group) || lacks(context.model, needs, unit === "blocks" ? "blocks" : ""))
        return "";
      const figure = needs === "total" ? "allocated" : needs;
      const mark = markOf(context.model, figure, unit);
      return cell(value(group, context) as number, unit, mark);
    },
  };
}

export const nameColumn: Column = {
  id: "name",
  title: "Name",
  hint: "by name",
  isText: true,
  value: (group, { model }) => groupName(model, group),
  text: (group, { model }) => groupName(model, group),
};

function weightColumn(question: Question): Column {
  return {
    id: "weight",
    title: wordsOfMeasure(question.measure).name,
    hint: wordsOfMeasure(question.measure).hint,
    value: (group) => group.weight,
    text: (group, { model }) =>
      cell(group.weight, question.unit, markOfAnswer(model, question)),
  };
}

const fixedColumns: Column[] = [
  numberColumn({
    id: "peak",
    title: "At peak",
    hint: "held at the peak of the whole program",
    bytes: (group) => group.peakBytes,
    blocks: (group) => group.peakBlocks,
    needs: "peak",
  }),
  numberColumn({
    id: "live",
    title: "At end",
    hint: "held at the end",
    bytes: (group) => group.liveBytes,
    blocks: (group) => group.liveBlocks,
    needs: "live",
  }),
  numberColumn({
    id: "total",
    title: "Allocated",
    hint: "allocated in all",
    bytes: (group) => group.bAlloc,
    blocks: (group) => group.nAlloc,
    needs: "total",
  }),
  {
    id: "count",
    title: "Allocations",
    hint: "how many, resizes included",
    value: (group) => group.nAlloc,
    text: (group, { model }) =>
      lacks(model, "blocks", "total")
        ? ""
        : count(group.nAlloc, markOf(model, "allocated", "blocks")),
  },
  {
    id: "temp",
    title: "At once",
    hint: "share of the blocks that were freed within one further allocation",
    value: (group) => (group.nAlloc ? group.nTemp / group.nAlloc : 0),
    text: (group, { model }) =>
      isClass(group) || lacks(model, "temporary", "blocks")
        ? ""
        : percent(group.nTemp, group.nAlloc, markOf(model, "allocated", "blocks")),
  },
  {
    id: "stacks",
    title: "Stacks",
    hint: "distinct stacks gathered in the row",
    value: (group) => group.stacks,
    text: (group) => count(group.stacks, EXACT),
  },
  {
    id: "first",
    title: "Since",
    hint: "its first allocation, from the start of the program",
    value: (group) => group.firstNs,
    text: (group, { model }) =>
      isClass(group) || !group.nAlloc || lacks(model, "times") ? "" : time(group.firstNs),
  },
];

// Under a question of the whole run, the column that would repeat the first one.
const sameAs: Record<Question["measure"], string> = {
  peak: "peak",
  live: "live",
  total: "total",
  grown: "live",
  leak: "live",
  temp: "",
};

export function tableColumns(question: Question, kind: GroupKind): Column[] {
  const isWhole = question.from === null && question.to === null;
  const same = isWhole ? sameAs[question.measure] : "";
  const has = ({ id }: Column) => id !== same && (!isClassKind(kind) || ofClasses.includes(id));
  return [weightColumn(question), ...fixedColumns.filter(has)];
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
