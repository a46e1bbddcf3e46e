#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports exactly the functions that hooks.def lists and those that tidemark.h declares
as its own, and what the list says of each agrees with its parameters.

  exports_test.py LIBTIDEMARK HOOKS_DEF TIDEMARK_H
"""
import re
import subprocess
import sys

ROW = re.compile(r"^TIDE_HOOK(?:_OWN)?\((\w+),\s+(\w+),\s+(\w+),\s+(\w+),"
                 r"\s+([\w *]+?),\s+\((.*?)\)\)$", re.M | re.S)
# Of a symbol: its visibility, section and name. A hidden or local one is nobody's to bind to.
DYNAMIC = re.compile(r"^ *\d+: \w+ +\w+ +\w+ +(?!LOCAL)\w+ +(\w+) +(\w+) +([^@\s]+)", re.M)
# What a role says of the result and of the first arguments; None: nothing.
SIZE, BLOCK = "size_t", "void *"
ROLES = {"ALLOC": (BLOCK, SIZE), "ALLOC_ALIGNED": (BLOCK, SIZE, SIZE),
         "ALLOC_SECOND": (BLOCK, SIZE, SIZE), "NEW": (BLOCK, SIZE),
         "NEW_ALIGNED": (BLOCK, SIZE, SIZE), "CALLOC": (BLOCK, SIZE, SIZE),
         "REALLOC": (BLOCK, BLOCK, SIZE), "REALLOC_ARRAY": (BLOCK, BLOCK, SIZE, SIZE),
         "POSIX": ("int", "void **", SIZE, SIZE), "RESIZE_IN_PLACE": (SIZE, BLOCK, SIZE, SIZE),
         "FREE": ("void", BLOCK), "MAP": (BLOCK, BLOCK, SIZE), "UNMAP": ("int", BLOCK, SIZE),
         "REMAP": (BLOCK, BLOCK, SIZE, SIZE), "BREAK": (None,), "UNLOAD": ("int", BLOCK),
         "NO_EVENT": (None,)}
EVENTS = {"libc", "jemalloc", "cxx", "pages"}
SAME = {"REALLOC_ARRAY": "REALLOC"}  # as far as one can stand for the other


def faults(rows):
    names = {row[0]: row for row in rows}
    for name, real, family, role, result, parameters in rows:
        types = [result] + [text.strip() for text in parameters.split(",")]
        if role not in ROLES:
            yield f"{name}: no such role: {role}"
            continue
        wanted = ROLES[role]
        for number, type_ in enumerate(wanted):
            if type_ and (number >= len(types) or types[number] != type_):
                yield f"{name}: of {role}, argument {number} (0: the result) is {type_}"
        if (role in ("NO_EVENT", "UNLOAD")) == (family in EVENTS):
            yield f"{name}: {role} in family {family}"
        if real not in names or names[real][1] != real or names[real][3] != SAME.get(role, role):
            yield f"{name}: {real} cannot stand for it"


def main():
    library, hooks, header = sys.argv[1:]
    table = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, text=True,
                           capture_output=True).stdout
    exported = {name for visibility, where, name in DYNAMIC.findall(table)
                if visibility != "HIDDEN" and where != "UND"}
    with open(hooks, encoding="utf-8") as file:
        text = file.read()
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"^TIDE_HOOK", text, re.M)):
        sys.exit("a row of hooks.def cannot be read")
    with open(header, encoding="utf-8") as file:
        asked = set(re.findall(r"^__attribute__\(\(weak\)\) .*?(tidemark_v\d+_\w+)\(", file.read(),
                               re.M))
    if not asked:
        sys.exit("tidemark.h declares nothing")
    listed = {row[0] for row in rows} | asked
    if exported != listed or len(listed) < 40:
        sys.exit(f"exported only: {exported - listed}; listed only: {listed - exported}")
    bad = list(faults(rows))
    if bad:
        sys.exit("\n".join(bad))
    print(f"{len(listed)} functions exported, as listed")


main()
