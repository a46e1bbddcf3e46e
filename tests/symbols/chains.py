# SPDX-License-Identifier: Apache-2.0
"""The truth the sources declare, and whether a report says the same.

A chain is one allocation and the calls that led to it. It is declared in a source's head

  // chain: NAME SIZE, NAME SIZE …       SIZE in bytes is its own: it finds the site in the report

and each of its frames beside the call, or on a line of its own before it:

  // frame NAME.N: FUNCTION              frame N, counted from the allocation, is called from here
  // inlined NAME.N: FUNCTION            the same, and FUNCTION is inlined into frame N+1
  // either NAME.N: FUNCTION             inlined or not, as the compiler likes
  // frame NAME.N, NAME.N: FUNCTION      of several chains, or several times of one
  // frame NAME.N: FUNCTION at TAG       only in builds that have this tag
  // frame NAME.N: FUNCTION | FUNCTION   the second is how the older mangling of Rust has it

The numbers order the frames; a build may leave some out. A chain is right if those frames of the
site that lie in the sources are these: names, places and what is inlined. Frames of libraries in
between are not declared, nor what calls initialisers of globals.

Two tags change what is compared. In a build without debug information (`names`) the functions that
are not inlined have to be there by name, in this order. With bare line tables (`last_part`) an
inlined function is known by the last part of its name.

Names are compared as written in the source: without return types and parameters, and with {lambda}
and {closure} for whatever number a compiler gave it. In a name ... stands for at least 10,000
characters, with as many brackets closed as opened.
"""
import os
import re

import record

CHAINS = re.compile(r"// chain: (.*)")
MARK = re.compile(r"// (frame|inlined|either) ((?:\w+\.\d+(?:, )?)+): (.+?)(?: at (\w+))?$")
KINDS = {"frame": False, "inlined": True, "either": None}
LINE = re.compile(r'#line (\d+) "([^"]+)"')


class Frame:
    """One declared frame."""

    def __init__(self, names, file, line, inlined):
        self.names, self.file, self.line = names, file, line
        self.inlined = inlined  # None: may be

    def __str__(self):
        return f"{self.names[0]} {self.file}:{self.line}{' inlined' if self.inlined else ''}"


class Truth:
    """All chains of a program's sources, as a build with these tags has them."""

    def __init__(self, paths, tags, directory):
        self.sizes, self.chains, self.files, self.renamed = {}, {}, set(), set()
        self.is_rust = any(path.suffix == ".rs" for path in paths)
        self.directory = directory  # of the sources, as the compiler saw it
        self.tags = tags
        for path in paths:
            self.read(path, tags)
        undeclared = set(self.chains) ^ set(self.sizes)
        if undeclared:
            raise ValueError(f"chains without a size or without frames: {sorted(undeclared)}")

    def read(self, path, tags):
        file, number, pending = path.name, 0, []
        for text in path.read_text().splitlines():
            number += 1
            text = text.strip()
            renamed = LINE.match(text)
            if renamed:
                number, file = int(renamed.group(1)) - 1, renamed.group(2)
                self.renamed.add(file)
                continue
            declared = CHAINS.match(text)
            if declared:
                for entry in declared.group(1).split(","):
                    name, size = entry.split()
                    self.sizes[name] = int(size)
                continue
            found = MARK.search(text)
            pending += [found] if found else []
            if text.startswith("//"):
                continue  # it speaks of the next line
            for mark in pending:
                self.add(mark, file, number, tags)
            pending = []

    def add(self, mark, file, line, tags):
        kind, places, names, tag = mark.groups()
        self.files.add(file)
        if tag and tag not in tags:
            return
        frame = Frame(names.split(" | "), file, line, KINDS[kind])
        for place in places.split(", "):
            chain, number = place.split(".")
            if self.chains.setdefault(chain, {}).setdefault(int(number), frame) is not frame:
                raise ValueError(f"two frames {place}")

    def is_ours(self, frame):
        return (os.path.basename(frame["file"] or "") in self.files
                and not (frame["function"] or "").startswith("_GLOBAL__sub_I_"))

    def is_same(self, wanted, got):
        name = plain(got["function"] or "", self.is_rust)
        names = wanted.names
        if "last_part" in self.tags and got["inlined"]:
            names = [one.split("::")[-1] for one in names]
        return (any(is_named(one, name) for one in names)
                and wanted.inlined in (None, got["inlined"])
                and self.is_at(wanted.file, got["file"]) and got["line"] == wanted.line)

    def is_at(self, wanted, got):
        """A file that only a #line names is not in the sources' directory."""
        directory, name = os.path.split(os.path.normpath(got))
        return name == wanted and (directory == self.directory or name in self.renamed)

    def is_right(self, wanted, frames):
        if "names" in self.tags:
            names = iter([plain(frame["function"] or "", self.is_rust) for frame in frames])
            return all(any(is_named(one, name) for name in names for one in frame.names)
                       for frame in wanted if frame.inlined is False)
        got = [frame for frame in frames if self.is_ours(frame)]
        return len(got) == len(wanted) and all(map(self.is_same, wanted, got))

    def check(self, report):
        """Raises record.Failure with every chain that is otherwise."""
        wrong = []
        for name, numbered in self.chains.items():
            wanted = [numbered[number] for number in sorted(numbered)]
            sites = [site for site in report["sites"] if site["allocations"] == 1
                     and site["bytes"] == self.sizes[name]]
            if len(sites) != 1:
                wrong.append(f"{name}: {len(sites)} sites of {self.sizes[name]} bytes")
                continue
            frames = sites[0]["frames"]
            if not self.is_right(wanted, frames):
                got = [frame for frame in frames if self.is_ours(frame)] or frames
                wrong.append(f"{name}: wanted\n    " + "\n    ".join(map(str, wanted))
                             + "\n  got\n    " + "\n    ".join(map(show, got)))
        if wrong:
            raise record.Failure(f"{len(wrong)} of {len(self.chains)} chains: "
                                 + "\n  ".join(wrong))


def is_named(wanted, name):
    start, dots, end = wanted.partition("...")
    if not dots:
        return name == wanted
    middle = name[len(start):len(name) - len(end)]
    return (name.startswith(start) and name.endswith(end) and len(middle) >= 10000
            and all(middle.count(pair[0]) == middle.count(pair[1]) for pair in ("<>", "()", "[]")))


def show(frame):
    place = f"{os.path.basename(frame['file'] or '?')}:{frame['line']}"
    more = " inlined" if frame["inlined"] else ""
    return f"{(frame['function'] or '?')[:300]} {place}{more} [{os.path.basename(frame['module'])}]"


def without_parameters(name):
    """Removes what is in parentheses, but for the names that have them."""
    name = name.replace("operator()", "operator\1").replace("(anonymous namespace)", "\2")
    kept, depth = [], 0
    for char in name:
        depth += char == "("
        if depth == 0:
            kept.append(char)
        depth -= char == ")"
    return "".join(kept).replace("\1", "()").replace("\2", "(anonymous namespace)")


def plain(name, is_rust):
    """A name as a source would have it."""
    if is_rust:
        name = re.sub(r"^(\{[^ ]*\}) in .*", r"\1", name)  # where it was inlined, not its own
        return re.sub(r"\{\{?(closure|async_fn)(#\d+)?\}?\}", "{closure}", name)
    name = re.sub(r"'lambda\d*'(\([^)]*\))?|\{lambda\([^)]*\)#\d+\}|\$_\d+|<lambda\([^)]*\)>",
                  "{lambda}", name)
    name = re.sub(r"(?<=\)) const(?=::|$)", "", name)
    name = re.sub(r"( \[clone [^\]]*\])*$", "", without_parameters(name))
    return re.sub(r"^(?:void|auto) (?=\S)", "", name)
