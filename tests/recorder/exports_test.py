#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports exactly the functions that hooks.def lists.

  exports_test.py LIBTIDEMARK HOOKS_DEF
"""
import re
import subprocess
import sys


def main():
    library, hooks = sys.argv[1], sys.argv[2]
    table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                           capture_output=True).stdout
    exported = {line.split()[2].split("@")[0] for line in table.splitlines() if line.strip()}
    with open(hooks, encoding="utf-8") as file:
        listed = set(re.findall(r"^TIDE_HOOK\((\w+),", file.read(), re.M))
    if exported != listed or len(listed) < 40:
        sys.exit(f"exported only: {exported - listed}; listed only: {listed - exported}")
    print(f"{len(listed)} functions exported, as listed")


main()
