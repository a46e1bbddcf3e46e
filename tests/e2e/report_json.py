# SPDX-License-Identifier: Apache-2.0
"""What `tidemark report --json` and `tree --json` print (docs/json.md), checked and unrolled.

A site of an unrolled report has every member and, in place of numbers, its `frames` innermost first
with the names that belong to them, and `culprit` and `via` as indexes of those or None.
"""
import json

SCHEMA, TREE_SCHEMA = "tidemark-report-2", "tidemark-tree-2"
NAMES = (("function", "functions"), ("file", "files"), ("module", "modules"))
HOLDS = ("stack", "weight")  # members that a site always has


class Broken(Exception):
    """The document refers to what is not there, or says something twice."""


def need(condition, message, of=None):
    if not condition:
        raise Broken(message if of is None else f"{message}: {of}")


def check_names(report):
    for _, table in NAMES:
        names = report[table]
        need(names[0] is None, f"{table}[0] is {names[0]!r}")
        need(all(isinstance(name, str) for name in names[1:]), f"{table}: not a text")
        need(len(set(names)) == len(names), f"{table}: a name is written twice")


def check_frames(report):
    seen = {table: {0} for table in ("function", "file", "module")}
    for frame in report["frames"]:
        for table, used in seen.items():
            need(0 <= frame[table] < len(report[table + "s"]), "no such name", frame)
            used.add(frame[table])
        for key, value in report["frame_defaults"].items():
            need(frame.get(key) != value, "a default is written", frame)
    for table, used in seen.items():
        need(len(used) == len(report[table + "s"]), f"{table}s that nobody refers to")


def check_stacks(report):
    frame, parent = report["stacks"]["frame"], report["stacks"]["parent"]
    need(set(report["stacks"]) == {"frame", "parent"}, f"stacks have {set(report['stacks'])}")
    need(len(frame) == len(parent), "columns of stacks differ in length")
    need(frame[0] == parent[0] == 0, "stack 0 is something")
    need(all(0 < at < len(report["frames"]) for at in frame[1:]), "no such frame")
    need(set(frame) == set(range(len(report["frames"]))), "frames that no stack has")
    need(all(0 <= up < at for at, up in enumerate(parent) if at), "a parent after its child")
    needed = set(parent) | {site["stack"] for site in report["sites"]} | {0}
    need(needed == set(range(len(frame))), "stacks that nobody refers to, or that do not exist")


def check_sites(report):
    defaults, n_frames = report["site_defaults"], len(report["frames"])
    known = {*defaults, *HOLDS}
    for site in report["sites"]:
        need(site.keys() >= set(HOLDS), "without", site)
        need(site.keys() <= known, "no default", site)
        need(all(site[key] != defaults[key] for key in site if key in defaults),
             "a default is written", site)
        for key in ("culprit", "via"):
            need(0 <= site.get(key, 0) < n_frames, "no such frame", site)


def check(report):
    need(report["schema"] == SCHEMA, f"schema {report['schema']}")
    check_names(report)
    check_frames(report)
    check_stacks(report)
    check_sites(report)


def stack_of(report, site):
    """Numbers of its frames, innermost first."""
    at, numbers = site["stack"], []
    while at:
        numbers.append(report["stacks"]["frame"][at])
        at = report["stacks"]["parent"][at]
    return numbers


def frame_of(report, number):
    frame = {**report["frame_defaults"], **report["frames"][number]}
    return {**frame, "function": report["functions"][frame["function"]],
            "file": report["files"][frame["file"]],
            "module": report["modules"][frame["module"]] or ""}


def unroll(report):
    """The same with whole sites."""
    frames = [frame_of(report, number) for number in range(len(report["frames"]))]
    sites = []
    for site in report["sites"]:
        whole, numbers = {**report["site_defaults"], **site}, stack_of(report, site)
        culprit = numbers.index(whole["culprit"]) if whole["culprit"] else None
        inside = numbers[:culprit] if culprit is not None else []
        need(not whole["via"] or whole["via"] in inside, "what it came by is not inside", site)
        via = len(inside) - 1 - inside[::-1].index(whole["via"]) if whole["via"] else None
        sites.append({**whole, "culprit": culprit, "via": via,
                      "frames": [frames[number] for number in numbers]})
    return {**report, "sites": sites}


def loads(text):
    report = json.loads(text)
    check(report)
    return unroll(report)


def loads_tree(text):
    """A tree whose nodes have every member, and names in place of their numbers."""
    tree = json.loads(text)
    need(tree["schema"] == TREE_SCHEMA, f"schema {tree['schema']}")
    check_names(tree)
    used = {key: {0} for key, _ in NAMES}

    def whole(node, is_root=False):
        defaults = tree["node_defaults"]
        need(all(node.get(key) != value for key, value in defaults.items()), "a default is written")
        below = [whole(child) for child in node.get("children", ())]
        node = {**defaults, **node, "children": below}
        if is_root:
            return {key: node[key] for key in node if key in ("total", "self", "stacks", "children",
                                                              "more")}
        for key, table in NAMES:
            used[key].add(node[key])
            node[key] = tree[table][node[key]]
        node["module"] = node["module"] or ""
        return node

    told = {**tree, "tree": whole(tree["tree"], True)}
    for key, table in NAMES:
        need(used[key] == set(range(len(tree[table]))), f"{table} that nobody refers to")
    return told
