# SPDX-License-Identifier: Apache-2.0
"""The whole code of a program, looked up by us and by the tools at hand, address by address.

Every chain has to be what addr2line or llvm-symbolizer says. Both have bugs of their own, but not
the same ones. Left out are addresses that belong to no function (padding), and places for which
neither we nor addr2line know a line (startup code, libraries without debug information).
"""
import os
import re
import shutil
import subprocess

import record

PLACES_MAX = 1500
ADDRESS = re.compile(r"^0x[0-9a-f]+$")
NOTES = re.compile(r" \(discriminator \d+\)$")
# The symbol table has names of their own for parts and copies of a function; we name the function.
PART = re.compile(r" \[clone .*|(\.(cold|part|__part|isra|constprop|lto_priv)(\.\d+)?)+$")
TOOLS = {"addr2line": ["addr2line", "-a", "-i", "-f", "-e"],
         "llvm-symbolizer": ["llvm-symbolizer", "--no-demangle", "--print-address", "--inlines",
                             "--output-style=GNU", "--obj"]}


def output(command, text=""):
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True,
                          text=True)
    if done.returncode:
        raise record.Failure(f"{command[0]} ends with {done.returncode}: {done.stderr[-300:]}")
    return done.stdout.splitlines()


def places(program):
    """Addresses all over the functions of a program, at an even stride."""
    functions = set()
    for line in output(["nm", "-S", "--defined-only", program]):
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            functions.add((int(words[0], 16), int(words[1], 16)))
    stride = max(1, sum(size for _, size in functions) // PLACES_MAX)
    return sorted({at for start, size in functions for at in range(start, start + size, stride)})


def chains_of(lines):
    """The answers, one list of (function, place) for each address."""
    answers, name = [], None
    for line in lines:
        if ADDRESS.match(line):
            answers.append([])
            name = None
        elif name is None:
            name = line
        else:
            place = NOTES.sub("", line)
            file, _, number = place.rpartition(":")
            number = "0" if number == "?" else number
            file = os.path.normpath(file) if file.startswith("/") else file
            answers[-1].append((name, f"{file}:{number}"))
            name = None
    return answers


def is_same_name(ours, theirs):
    """What has no mangled name we call by its place, the tools by its last part."""
    return ours == theirs or ours.endswith("::" + theirs)


def is_same(ours, theirs):
    return len(ours) == len(theirs) and all(
        is_same_name(our[0], their[0]) and our[1] == their[1]
        for our, their in zip(ours, theirs))


def has_line(chain):
    return bool(chain) and chain[0][1].startswith("/")


def demangled(look, answers):
    names = [name for chain in answers for name, _ in chain]
    texts = iter(output([look], "".join(name + "\n" for name in names)))
    return [[(PART.sub("", next(texts)), place) for _, place in chain] for chain in answers]


def show(who, chain):
    return f"  {who}:" + "".join(f"\n    {name[:200]}\n      {place}" for name, place in chain)


def check(look, program):
    """Raises record.Failure with the first address on which we stand alone."""
    asked = places(program)
    text = "".join(f"{at:#x}\n" for at in asked)
    ours = chains_of(output([look, program], text))
    theirs = {}
    for tool, command in TOOLS.items():
        if shutil.which(tool):
            theirs[tool] = demangled(look, chains_of(output([*command, program], text)))
    if len(theirs) != len(TOOLS):
        raise record.Skip(f"no {' and no '.join(set(TOOLS) - set(theirs))} here")
    wrong, n_compared = [], 0
    for i, at in enumerate(asked):
        if not has_line(ours[i]) and not has_line(theirs["addr2line"][i]):
            continue
        n_compared += 1
        if not any(is_same(ours[i], answers[i]) for answers in theirs.values()):
            wrong.append(f"{at:#x}\n" + show("ours", ours[i]) + "".join(
                "\n" + show(tool, answers[i]) for tool, answers in theirs.items()))
    if n_compared < 300:
        raise record.Failure(f"only {n_compared} of {len(asked)} places were compared")
    if wrong:
        raise record.Failure(f"{len(wrong)} of {n_compared} places otherwise; at " + wrong[0])
