#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages say what the option table says, no less and no more.

  man_test.py COMPLETION_GEN PAGE.1.scd…

A page's OPTIONS are its verb's, each with its letter and the name of its value; every choice of
an option is named under it; an option mentioned anywhere is one that exists; every verb with
options of its own has a page, and tidemark(1) lists all verbs.
"""
import pathlib
import re
import sys

import option_table

FAILED = []
TOP_LEVEL = {"help": "h", "version": "V"}  # of the command itself, not of a verb
NO_PAGE = {"help", "version"}  # explained in tidemark(1)
NEEDED = ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO")
ENTRY = re.compile(r"^(?:\*-(\w)\*, )?\*--([a-z-]+)\*(?: _(\w+)_|\[=_(\w+)_\])?$")


def check(condition, what):
    if not condition:
        FAILED.append(what)
        print("FAILED", what)


def sections(text):
    parts = re.split(r"^# (.+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def entries(section):
    """{heading line: what stands below it} of a list of terms."""
    found, term = {}, None
    for line in section.splitlines():
        if line.startswith("*") and not line.endswith("++") and not line.endswith("."):
            term = line
            found[term] = ""
        elif term:
            found[term] += line + "\n"
    return found


def check_options(name, section, options):
    left = {option.name: option for option in options}
    for term, text in entries(section).items():
        match = ENTRY.match(term)
        check(match, f"{name}: not an option: {term}")
        if not match:
            continue
        letter, long, value, optional = match.groups()
        option = left.pop(long, None)
        check(option, f"{name}: --{long} is not an option of it, or is there twice")
        if not option:
            continue
        check(letter == option.letter, f"{name}: --{long}: letter {letter}, not {option.letter}")
        check((value or optional) == option.value, f"{name}: --{long}: value {value or optional}")
        check(bool(optional) == option.optional, f"{name}: --{long}: is its value optional?")
        check(len(text.split()) >= 2, f"{name}: --{long} is not explained")
        for word in option.words:
            check(f"*{word}*" in text, f"{name}: --{long}: the choice {word} is not explained")
    check(not left, f"{name}: not explained: {', '.join(sorted(left))}")


def check_mentions(name, text, table):
    known = {option.name for options in table.values() for option in options} | set(TOP_LEVEL)
    for long in set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text)):
        # What an example gives to the recorded command is not ours.
        foreign = re.search(rf"tidemark run .*\./\w+ .*--{long}\b", text)
        check(long in known or foreign, f"{name}: --{long} does not exist")
    for verb in set(re.findall(r"^\ttidemark ([a-z]+)", text, re.M)):
        check(verb in table, f"{name}: the verb {verb} does not exist")


def check_page(name, text, table):
    parts = sections(text)
    check(text.startswith(f"{name}(1)\n"), f"{name}: preamble")
    check(all(part in parts for part in NEEDED), f"{name}: sections {list(parts)}")
    check(parts.get("NAME", "").strip().startswith(f"{name} - "), f"{name}: NAME")
    check_mentions(name, text, table)
    check(not re.search(r"^\t*(\.[^ ]|')", text, re.M), f"{name}: a line that troff takes")
    if name != "tidemark":
        check_options(name, parts["OPTIONS"], table[name.removeprefix("tidemark-")])
        check("EXAMPLES" in parts and "*tidemark*(1)" in parts["SEE ALSO"], f"{name}: examples")
        return
    verbs = {re.match(r"\*(\w+)\*", term).group(1) for term in entries(parts["VERBS"])}
    check(verbs == set(table), f"{name}: verbs {verbs ^ set(table)}")
    matches = map(ENTRY.match, entries(parts["OPTIONS"]))
    flags = {(match.group(2), match.group(1)) for match in matches if match}
    check(flags == set(TOP_LEVEL.items()), f"{name}: options {flags}")
    for word in ("TIDEMARK_OPTIONS", "TIDEMARK_PAGER", "NO_COLOR", "CLICOLOR_FORCE", "TERM"):
        check(f"*{word}*" in parts["ENVIRONMENT"], f"{name}: {word}")


def main():
    table = option_table.read(sys.argv[1])
    pages = {}
    for path in map(pathlib.Path, sys.argv[2:]):
        pages[path.name.removesuffix(".1.scd")] = path.read_text()
    wanted = {"tidemark"} | {f"tidemark-{verb}" for verb in table if verb not in NO_PAGE}
    check(set(pages) == wanted, f"pages: {set(pages) ^ wanted}")
    for name, text in pages.items():
        check_page(name, text, table)
        for other in re.findall(r"\*(tidemark[a-z-]*)\*\(1\)", text):
            check(other in pages, f"{name}: see {other}(1), which does not exist")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
