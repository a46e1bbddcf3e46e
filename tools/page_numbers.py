#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the page shares with the command, from the C sources: ui/src/engine/numbers.ts, the
list of what is counted per stack (numbers.def) and kinds of stacks and frames (codes.h); and
ui/src/engine/terms.ts, headings and what stands for a name (terms.def).

With --check nothing is written, and the exit status is 1 if a file is not that of its list, or if
docs/json.md or docs/page-data.md do not name what is in the first.
"""
import ast
import re
import sys

import tree

LIST = tree.ROOT / "src/model/numbers.def"
STACK = tree.ROOT / "src/store/codes.h"
TERMS = tree.ROOT / "src/view/terms.def"
PAGE = tree.ROOT / "ui/src/engine/numbers.ts"
PAGE_TERMS = tree.ROOT / "ui/src/engine/terms.ts"
ENTRY = re.compile(r"^TIDE_NUMBER\(([^)]*)\)", re.M)
HEAD = """// SPDX-License-Identifier: Apache-2.0
//
// Made from src/{list} and src/{stack} by tools/page_numbers.py.

// What is counted per stack:
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
TERMS_HEAD = """// SPDX-License-Identifier: Apache-2.0
//
// Made from src/{list} by tools/page_numbers.py, which says what each is.
//
// Headings of columns and what stands in their cells instead of a number or a name, as the command
// has them.

"""


def read_list():
    for entry in ENTRY.findall(LIST.read_text()):
        parts = [part.strip() for part in re.sub(r"\s+", " ", entry).split(",")]
        field, _, rule, _, key, _, _ = parts
        yield field, rule.lower(), None if key == "NULL" else key.strip('"')


def camel(field):
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), field)


def constants(name, enum):
    """An enum of codes.h as an object, without its numbers' common beginning."""
    body = re.search(rf"enum tide_{enum} {{(.*?)}};", STACK.read_text(), re.S).group(1)
    lines, value = [], 0
    for word, given in re.findall(r"TIDE_[A-Z]+?_(\w+)(?: = (\d+))?,", body):
        value = int(given) if given else value
        lines.append(f"  {camel(word.lower())}: {value},")
        value += 1
    return "\n".join([f"export const {name} = {{", *lines, "} as const;", ""])


def page_file(numbers):
    source = tree.ROOT / "src"
    out = HEAD.format(list=LIST.relative_to(source), stack=STACK.relative_to(source))
    for field, rule, key in numbers:
        if rule != "high":  # told of sites, not of rows
            json = f'"{key}"' if key else "null"
            out += (f'  {{ key: "{camel(field)}", column: "row_{field}", rule: "{rule}", '
                    f"json: {json} }},\n")
    return out + TAIL + constants("FrameFlag", "frame_flags") + constants("SiteKind", "site_kind")


def read_terms(macro):
    """The rows of a macro of terms.def: a word and strings."""
    text = TERMS.read_text().split("// clang-format off", 1)[1]
    for word, rest in re.findall(rf'^{macro}\((\w+),((?:\s*"[^"]*",?)+)\)', text, re.M):
        yield word.lower(), list(ast.literal_eval(f"[{rest}]"))


def ts_object(pairs):
    pairs = list(pairs)
    inner = ", ".join(f'{key}: "{text}"' for key, text in pairs)
    if len(inner) < 80:
        return f"{{ {inner} }}"
    return "{\n" + "".join(f'    {key}: "{text}",\n' for key, text in pairs) + "  }"


def terms_file():
    out = TERMS_HEAD.format(list=TERMS.relative_to(tree.ROOT / "src"))
    measure = ["name", "hint", "nothing", "bytes", "blocks", "partBytes", "partBlocks"]
    lists = [
        ("TERMS", "TIDE_TERM", ["text", "hint"]),
        ("MEASURE_TERMS", "TIDE_MEASURE_TERM", measure),
        ("GROUP_TERMS", "TIDE_GROUP_TERM", ["word", "one", "many"]),
    ]
    for name, macro, keys in lists:
        rows = [f"  {camel(word)}: {ts_object(zip(keys, texts, strict=True))},\n"
                for word, texts in read_terms(macro)]
        out += f"export const {name} = {{\n{''.join(rows)}}} as const;\n\n"
    return out.rstrip("\n") + "\n"


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
    files = [(LIST, PAGE, page_file(numbers)), (TERMS, PAGE_TERMS, terms_file())]
    if "--check" not in sys.argv[1:]:
        for _, path, text in files:
            path.write_text(text)
        return 0
    findings = list(undocumented(numbers))
    for source, path, text in files:
        if not path.exists() or path.read_text() != text:
            findings.append(f"{path.relative_to(tree.ROOT)} is not that of "
                            f"{source.relative_to(tree.ROOT)}: run tools/page_numbers.py")
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
