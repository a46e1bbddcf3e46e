#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidemark.h(3) says what the header says, no less and no more.

  header_man_test.py TIDEMARK.H PAGE.3.scd

Every function with its parameters, every assertion, every field of the numbers, every constant and
every error of the header is in the page; and what the page names is in the header.
"""
import pathlib
import re
import sys

FAILED = []
NEEDED = ("NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS", "EXAMPLES", "SEE ALSO")


def check(condition, what):
    if not condition:
        FAILED.append(what)
        print("FAILED", what)


def plain(text):
    return " ".join(text.split())


def functions(header):
    """{name: its declaration}, of those that a program calls."""
    found = re.findall(r"^static inline (\w[^{;]*?\b(tidemark_\w+)\([^{;]*\))\s*\{", header, re.M)
    return {name: plain(text) + ";" for text, name in found if "private" not in name}


def main():
    header, page = (pathlib.Path(path).read_text() for path in sys.argv[1:])
    parts = dict(zip(*[iter(re.split(r"^# (.+)\n", page, flags=re.M)[1:])] * 2))
    check(page.startswith("tidemark.h(3)\n"), "preamble")
    check(all(part in parts for part in NEEDED), f"sections {list(parts)}")
    declared = functions(header)
    check(len(declared) >= 11, f"functions of the header: {sorted(declared)}")
    synopsis = parts["SYNOPSIS"].replace("\\*", "@").replace("*", "").replace("@", "*")
    for name, text in declared.items():
        check(text in synopsis, f"SYNOPSIS: not there: {text}")
        check(f"*{name}*()" in parts["DESCRIPTION"], f"{name} is not explained")
    asserts = set(re.findall(r"^#define (TIDEMARK_ASSERT_[A-Z_]+[A-Z]\(\w+(?:, \w+)?\))", header,
                             re.M))
    check(len(asserts) >= 6, f"assertions of the header: {asserts}")
    for text in asserts:
        check(text + ";" in synopsis, f"SYNOPSIS: not there: {text}")
    fields = re.search(r"struct tidemark_stats \{(.*?)\};", header, re.S)[1]
    fields = re.sub(r"//.*", "", fields)
    named = set(re.findall(r"(\w+)\s*[,;]", fields))
    numbers = page.split("## struct tidemark_stats")[1].split("\n# ")[0]
    check(set(re.findall(r"\*(\w+)\*", numbers)) == named, f"struct tidemark_stats: {named}")
    constants = set(re.findall(r"^\s+(TIDEMARK_[A-Z_]+) = ", header, re.M)) | {
        "TIDEMARK_PROCESS", "TIDEMARK_THREAD"}
    for name in constants:
        check(f"*{name}*" in parts["DESCRIPTION"], f"{name} is not explained")
    errors = set(re.findall(r"\bE[A-Z]{3,}\b", re.sub(r'".*?"', "", header)))
    told = set(re.findall(r"^\*(E[A-Z]+)\*$", parts["ERRORS"], re.M))
    for error in told ^ (errors - {"ENOMEM"}):  # that is what write() may say, too
        check(False, f"ERRORS: {error}: in one of header and page alone")
    for name in set(re.findall(r"\b(?:tidemark_|TIDEMARK_)\w*\w", page)):
        known = re.search(rf"\b{name}\b", header) or name == "TIDEMARK_ASSERT_"
        check(known, f"{name}: not in the header")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
