// SPDX-License-Identifier: Apache-2.0
//
// Tables as text for elsewhere: CSV as the command writes it (RFC 4180, nothing that a spreadsheet
// would compute), Markdown with what it would take as markup escaped.

function csvCell(text: string): string {
  const safe = /^[=+\-@]/.test(text) && !/^-?[\d.,]+$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(rows: string[][]): string {
  return rows.map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
}

function markdownCell(text: string): string {
  return text.replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/\s+/g, " ");
}

// Text stands at the left, numbers at the right.
export function markdown(rows: string[][], isText: boolean[]): string {
  const line = (row: string[]) => `| ${row.map(markdownCell).join(" | ")} |`;
  const rule = `|${isText.map((text) => (text ? " --- " : " ---: ")).join("|")}|`;
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].join("\n") + "\n";
}
