#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ui/src/engine/numbers.ts, the page's side of the one list of numbers (numbers.def).

With --check nothing is written, and the exit status is 1 if the file is not that of the list, or if
docs/json.md or docs/page-data.md do not name what is in it.
"""
import re
import sys

import tree

LIST = tree.ROOT / "src/capture/numbers.def"
PAGE = tree.ROOT / "ui/src/engine/numbers.ts"
ENTRY = re.compile(r"^TIDE_NUMBER\(([^)]*)\)", re.M)
HEAD = """// SPDX-License-Identifier: Apache-2.0
//
// What is counted per stack: made from src/{list} by tools/page_numbers.py.
//
//   done      adds up; what a thread did, whosever blocks they were
//   held      adds up; of the blocks that a thread allocated
//   earliest  the first, of rows with allocations
//   latest    the last, of rows with allocations

export const NUMBERS = [
"""
TAIL = """] as const;

export type NumberKey = (typeof NUMBERS)[number]["key"];
export type NumberRule = (typeof NUMBERS)[number]["rule"];

export function numbersOf(...rules: NumberRule[]): NumberKey[] {
  return NUMBERS.filter((number) => rules.includes(number.rule)).map((number) => number.key);
}
"""


def read_list():
    for entry in ENTRY.findall(LIST.read_text()):
        field, _, rule, _, key, _ = (part.strip() for part in re.sub(r"\s+", " ", entry).split(","))
        yield field, rule.lower(), None if key == "NULL" else key.strip('"')


def camel(field):
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), field)


def page_file(numbers):
    out = HEAD.format(list=LIST.relative_to(tree.ROOT / "src"))
    for field, rule, key in numbers:
        if rule != "high":  # told of sites, not of rows
            json = f'"{key}"' if key else "null"
            out += (f'  {{ key: "{camel(field)}", column: "row_{field}", rule: "{rule}", '
                    f"json: {json} }},\n")
    return out + TAIL


def undocumented(numbers):
    json_text = (tree.ROOT / "docs/json.md").read_text()
    page_text = (tree.ROOT / "docs/page-data.md").read_text()
    for field, rule, key in numbers:
        if key and f"`{key}`" not in json_text:
            yield f"docs/json.md does not name `{key}`"
        if rule != "high" and f"`row_{field}`" not in page_text:
            yield f"docs/page-data.md does not name `row_{field}`"


def main():
    numbers = list(read_list())
    text = page_file(numbers)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
        return 0
    findings = list(undocumented(numbers))
    if PAGE.read_text() != text:
        findings.append(f"{PAGE.relative_to(tree.ROOT)} is not that of "
                        f"{LIST.relative_to(tree.ROOT)}: run tools/page_numbers.py")
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
