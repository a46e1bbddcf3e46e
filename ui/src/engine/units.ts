// SPDX-License-Identifier: Apache-2.0
//
// Numbers for people, rounded as src/base/units.c rounds them: page and command never differ in a
// digit. A value never shows as a rounder one than it is: 1023.96 KiB is not "1024.0 KiB" but
// "1.0 MiB". And none as more exact: each wants the mark of what it is (engine/exactness.ts).

import { TERMS } from "./terms.ts";

export type Mark = "" | "≈ " | "≤ " | "≥ ";
export const EXACT: Mark = ""; // counted here and now, or known to be

// As printf's %.*f: what lies exactly in the middle goes to the even digit; toFixed() goes up.
function fixed(value: number, decimals: number): string {
  const halves = value * 2 ** (decimals + 1); // exact; only odd ones of these are in the middle
  if (!Number.isInteger(halves) || halves % 2 === 0)
    return value.toFixed(decimals);
  const scale = 10 ** decimals;
  const below = Math.floor(value * scale);
  return ((below % 2 ? below + 1 : below) / scale).toFixed(decimals);
}

// "16,204,118": every digit.
export function digits(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// In the first unit whose rounded figure stays below base; the last takes the rest.
function scaled(value: number, base: number, names: string[]): string {
  let unit = 0;
  for (; unit < names.length - 1 && value >= base - 0.05; unit++)
    value /= base;
  return `${fixed(value, 1)} ${names[unit]}`;
}

// "17 B", "412.6 MiB"; negative values keep their sign.
export function bytes(n: number, mark: Mark): string {
  const sign = n < 0 ? "-" : "";
  const size = Math.abs(n);
  if (size < 1024)
    return `${mark}${sign}${digits(size)} B`;
  return mark + sign + scaled(size / 1024, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"]);
}

// "16,204" up to a million, then "14.2 M", "3.1 G", "2.0 T".
export function count(n: number, mark: Mark): string {
  const sign = n < 0 ? "-" : "";
  const size = Math.abs(n);
  return mark + sign + (size < 1e6 ? digits(size) : scaled(size / 1e6, 1000, ["M", "G", "T", "P"]));
}

// Three significant digits below 1000 of a unit: "8.42", "12.4", "830".
function threeDigits(value: number, name: string): string {
  return `${fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${name}`;
}

// "830 ns", "12.4 µs", "3.71 ms", "8.42 s", "2 min 05 s", "3 h 10 min".
export function time(ns: number): string {
  if (ns < 1000)
    return `${Math.max(0, Math.trunc(ns))} ns`;
  if (ns < 999.5e3)
    return threeDigits(ns / 1e3, "µs");
  if (ns < 999.5e6)
    return threeDigits(ns / 1e6, "ms");
  if (ns < 99.95e9)
    return threeDigits(ns / 1e9, "s");
  const seconds = Math.floor(ns / 1e9) + (ns % 1e9 >= 5e8 ? 1 : 0);
  const two = (n: number) => String(n).padStart(2, "0");
  if (seconds < 3600)
    return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

// "46.2 %"; a share above 0 that rounds to 0 is "<0.1 %". whole 0 gives "0 %".
export function share(part: number, whole: number, mark: Mark): string {
  if (part === 0 || whole <= 0)
    return "0 %";
  const percent = (100 * part) / whole;
  const about = mark && "≈ ";
  if (percent > 0 && percent < 0.1)
    return `${about}<0.1 %`;
  if (part < whole && percent >= 99.95)
    return `${about}99.9 %`;
  return `${about}${fixed(percent, 1)} %`;
}

// "61 %" with the same care at both ends: only everything is "100 %", only nothing is "0 %".
export function percent(part: number, whole: number, mark: Mark): string {
  const value = whole ? (100 * part) / whole : 0;
  const about = part && mark && "≈ ";
  if (part > 0 && value < 1)
    return `${about}<1 %`;
  if (part < whole && value > 99)
    return about + (value > 99.5 ? ">99 %" : "99 %");
  return `${about || ""}${fixed(value, 0)} %`;
}

// An amount in the unit of a question: "412.6 MiB" or "16,204 blocks".
export function amount(n: number, unit: "bytes" | "blocks", mark: Mark): string {
  if (unit === "bytes")
    return bytes(n, mark);
  return `${count(n, mark)} ${Math.abs(n) === 1 ? "block" : "blocks"}`;
}

// As changes are told, never by colour alone: "▲ 1.2 MiB", "▼ 3 B", "0 B".
export function change(n: number, unit: "bytes" | "blocks", mark: Mark): string {
  const sign = n > 0 ? TERMS.more.text : n < 0 ? TERMS.less.text : "";
  return sign + amount(Math.abs(n), unit, mark);
}

// A number of a table, whose heading names what is counted.
export function cell(value: number, unit: "bytes" | "blocks", mark: Mark): string {
  return unit === "bytes" ? bytes(value, mark) : count(value, mark);
}

// In a table of changes: by how much, and what a side has. As src/report/diff_cells.h has them.
export function changeCell(n: number, unit: "bytes" | "blocks", mark: Mark): string {
  return change(n, unit, mark).replace(/ blocks?$/, "");
}

export function sideCell(value: number, unit: "bytes" | "blocks", mark: Mark): string {
  return value === 0 ? TERMS.nothing.text : cell(value, unit, mark);
}
