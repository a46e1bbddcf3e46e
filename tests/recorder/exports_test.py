#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports exactly the functions that hooks.def lists, and what the list says of each
agrees with its parameters.

  exports_test.py LIBTIDEMARK HOOKS_DEF
"""
import re
import subprocess
import sys

ROW = re.compile(r"^TIDE_HOOK\((\w+),\s+(\w+),\s+(\w+),\s+(\w+)(?:\(([\d, ]*)\))?,"
                 r"\s+([\w *]+?),\s+\((.*?)\)\)$", re.M | re.S)
# What the arguments of a role are, where there are any.
SIZE, BLOCK, OUT = ("size_t",), ("void *",), ("void **",)
ROLES = {"ALLOCATES": (SIZE, SIZE, SIZE, OUT), "FREES": (BLOCK,), "RESIZES": (BLOCK, SIZE, SIZE),
         "MAPS": (BLOCK, SIZE), "UNMAPS": (BLOCK, SIZE), "REMAPS": (BLOCK, SIZE, SIZE),
         "MOVES_BREAK": (("void *", "intptr_t"),), "NO_EVENT": ()}
EVENTS = {"libc", "jemalloc", "cxx", "pages"}


def faults(rows):
    names = {row[0]: row for row in rows}
    for name, real, family, role, numbers, result, parameters in rows:
        types = [text.strip() for text in parameters.split(",")]
        at = [int(number) for number in numbers.split(",")] if numbers else []
        if role not in ROLES or len(at) != len(ROLES[role]):
            yield f"{name}: no such role, or not so many arguments: {role}({numbers})"
            continue
        for number, allowed in zip(at, ROLES[role]):
            if number and (number > len(types) or types[number - 1] not in allowed):
                yield f"{name}: argument {number} is none of {allowed}"
        if (role == "NO_EVENT") == (family in EVENTS):
            yield f"{name}: {role} in family {family}"
        if role == "ALLOCATES" and (result == "void *") == bool(at[3]):
            yield f"{name}: its block is neither returned nor put somewhere, or both"
        if at and not any(at[:2]):
            yield f"{name}: says nothing of its arguments"
        if real not in names or names[real][1] != real or names[real][3] != role:
            yield f"{name}: {real} cannot stand for it"


def main():
    library, hooks = sys.argv[1], sys.argv[2]
    table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                           capture_output=True).stdout
    exported = {line.split()[2].split("@")[0] for line in table.splitlines() if line.strip()}
    with open(hooks, encoding="utf-8") as file:
        text = file.read()
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"^TIDE_HOOK", text, re.M)):
        sys.exit("a row of hooks.def cannot be read")
    listed = {row[0] for row in rows}
    if exported != listed or len(listed) < 40:
        sys.exit(f"exported only: {exported - listed}; listed only: {listed - exported}")
    bad = list(faults(rows))
    if bad:
        sys.exit("\n".join(bad))
    print(f"{len(listed)} functions exported, as listed")


main()
