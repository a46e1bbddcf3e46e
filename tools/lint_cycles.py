#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Circles inside a room of src/: a module is x.h with x.c, and knows those that either includes.
Two that know each other, by whatever way round, can only be read, tested and moved together: they
are one subject, or one of them asks for too much. (Between rooms tools/layers.txt forbids them.)

Prints one line per circle, exits 1 when there is one.
"""
import re
import sys

import tree

ROOT = tree.ROOT
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)\.h"', re.M)


def module_graph():
    """{module: {module of the same room that it includes: the file that does}}"""
    graph = {}
    for path in tree.files(".c", ".h"):
        name = path.relative_to(ROOT)
        if name.parts[0] != "src":
            continue
        module = name.relative_to("src").with_suffix("").as_posix()
        known = graph.setdefault(module, {})
        for other in INCLUDE.findall(path.read_text()):
            if other != module and other.split("/")[0] == name.parts[1]:
                known.setdefault(other, name.as_posix())
    return graph


def way(graph, start, goal):
    """The shortest way from a module to another, both included; [] when there is none."""
    came_from, queue = {start: None}, [start]
    for module in queue:
        for other in sorted(graph.get(module, ())):
            if other == goal:
                steps = [goal]
                while module:
                    steps.append(module)
                    module = came_from[module]
                return steps[::-1]
            if other not in came_from:
                came_from[other] = module
                queue.append(other)
    return []


def circles(graph):
    """A shortest circle of each set of modules of which each knows each other."""
    found, seen = [], set()
    for module in sorted(graph):
        circle = [] if module in seen else way(graph, module, module)
        if circle:
            members = {other for other in graph
                       if way(graph, module, other) and way(graph, other, module)}
            shortest = min((way(graph, other, other) for other in sorted(members)), key=len)
            found.append(shortest)
            seen |= members
    return found


def main():
    graph, findings = module_graph(), []
    for circle in circles(graph):
        steps = [f"{graph[a][b]} includes {b}.h" for a, b in zip(circle, circle[1:])]
        findings.append(f"src/{circle[0]}.h: a circle: {', '.join(steps)}")
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
