#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what others share with the command, from the C sources. For the page, which is built with
it (tools/build_page.py): numbers.ts, the list of what is counted per stack (numbers.def) and kinds
of stacks and frames (codes.h); and terms.ts, headings and what stands for a name (terms.def). For
people: docs/numbers.md, the same list.

    tools/page_numbers.py            writes docs/numbers.md
    tools/page_numbers.py --check    is it that of the list? If not, the exit status is 1
"""
import ast
import re
import sys

import tree

LIST = tree.ROOT / "src/model/numbers.def"
STACK = tree.ROOT / "src/store/codes.h"
TERMS = tree.ROOT / "src/view/terms.def"
DOCUMENT = tree.ROOT / "docs/numbers.md"
SOURCES = [LIST, STACK, TERMS]
PAGE, PAGE_TERMS = "src/engine/numbers.ts", "src/engine/terms.ts"  # below ui/
ENTRY = re.compile(r"^TIDE_NUMBER(|_LIVE|_SINCE|_WHERE|_HISTOGRAMS)\b(?:\((.*?)\)$)?", re.M | re.S)
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
DOCUMENT_HEAD = """# Numbers of a stack

Made from src/model/numbers.def by tools/page_numbers.py.

What is counted per stack, and by thread. "Key" is its name in JSON ([json.md](json.md)) and CSV; a
number without one is told as a mean. "Page" is its column in the page's data
([page-data.md](page-data.md)). "File" is how its column in the part SITES of a .tide file is coded
([tide-format.md](tide-format.md)); the columns stand there in this order. What is "done" adds up
over stacks and threads, and is what a thread did, whosever blocks they were; what is "held" adds up
too, and is of the blocks that a thread allocated. How exact a number is says the `exactness` of its
image, under the word given here.

| Key | Page | Unit | Adds up | Exactness | File | What |
|---|---|---|---|---|---|---|
"""
CODES = {"PLAIN": "varint", "SIGNED": "zigzag", "LEFT_BLOCKS": "diff: `allocations` less it",
         "LEFT_BYTES": "diff: `bytes` less it", "SINCE_FIRST": "diff: it less `first_ns`"}
RULES = {"done": "done", "held": "held", "high": "to a bound", "earliest": "the first",
         "latest": "the last"}


def arguments(text):
    """The arguments of a macro: words, or a string of one piece or several."""
    for one in re.findall(r'(?:[^,"]|"[^"]*")+', text):
        one = one.strip()
        yield "".join(re.findall(r'"([^"]*)"', one)) if '"' in one else one


def read_list():
    """Each entry as a dictionary; of LIVE, SINCE, WHERE and HISTOGRAMS by their "macro"."""
    names = {
        "": "field type rule code store unit key figure needs what",
        "_LIVE": "field before more less unit key figure needs what",
        "_SINCE": "flag format",
        "_WHERE": "flag format",
        "_HISTOGRAMS": "",
    }
    text = LIST.read_text().split("// clang-format off", 1)[1].split("// clang-format on", 1)[0]
    for macro, inner in ENTRY.findall(text):
        entry = dict(zip(names[macro].split(), arguments(inner), strict=True), macro=macro)
        if entry.get("key") == "NULL":
            entry["key"] = None
        yield entry


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


def page_file():
    source = tree.ROOT / "src"
    out = HEAD.format(list=LIST.relative_to(source), stack=STACK.relative_to(source))
    for entry in read_list():
        if entry["macro"] == "" and entry["rule"] != "HIGH":  # told of sites, not of rows
            json = f'"{entry["key"]}"' if entry["key"] else "null"
            out += (f'  {{ key: "{camel(entry["field"])}", column: "row_{entry["field"]}", '
                    f'rule: "{entry["rule"].lower()}", json: {json} }},\n')
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


def page_files():
    """{path below ui/: its text}"""
    return {PAGE: page_file(), PAGE_TERMS: terms_file()}


def document():
    out, since = DOCUMENT_HEAD, ""
    for entry in read_list():
        macro = entry["macro"]
        if macro in ("_SINCE", "_WHERE"):
            since = f"since format {entry['format']}: "
        elif macro == "_HISTOGRAMS":
            out += "| | | | | | (histograms) | |\n"
        else:
            is_live = macro == "_LIVE"
            key = f"`{entry['key']}`" if entry["key"] else ""
            page = "" if is_live or entry["rule"] == "HIGH" else f"`row_{entry['field']}`"
            rule = "held" if is_live else RULES[entry["rule"].lower()]
            code = "" if is_live else CODES[entry["code"]]
            what = entry["what"] if is_live else since + entry["what"]
            out += (f"| {key} | {page} | {entry['unit'].lower()} | {rule} | "
                    f"`{entry['figure'].lower()}` | {code} | {what} |\n")
    return out


def main():
    if "--check" not in sys.argv[1:]:
        DOCUMENT.write_text(document())
        return 0
    if not DOCUMENT.exists() or DOCUMENT.read_text() != document():
        print("docs/numbers.md is not that of src/model/numbers.def: run tools/page_numbers.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
