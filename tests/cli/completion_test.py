#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shells complete every verb, option and choice of the option table.

  completion_test.py COMPLETION_GEN BASH_FILE ZSH_FILE FISH_FILE

bash and fish are asked as a person would ask them, zsh is made to say what it would offer. A shell
that is not installed is left out and said to be.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import option_table

FAILED = []


def check(condition, what):
    if not condition:
        FAILED.append(what)
        print("FAILED", what)


def shell(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check(done.returncode == 0 and not done.stderr, f"{command}: {done.stderr.strip()}")
    return done.stdout.splitlines()


class Bash:
    """Calls the completion function with the words readline would have."""
    SCRIPT = """
source "$1"; shift
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tidemark
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def __init__(self, path):
        self.path = path
        shell("bash", "-n", path)

    def offers(self, *words):
        return shell("bash", "--norc", "-c", self.SCRIPT, "bash", self.path, "tidemark", *words)


class Fish:
    def __init__(self, path):
        self.path = path
        shell("fish", "-n", path)

    def offers(self, *words):
        script = "source $argv[1]; complete -C $argv[2]"
        line = " ".join(("tidemark", *words))
        return [offer.split("\t")[0] for offer in
                shell("fish", "--no-config", "-c", script, self.path, line)]


class Zsh:
    """Has _arguments and _describe print what they are given: the options as typed."""
    SCRIPT = """
_arguments() { print -rl -- "${(@)@}" }
_describe() { print -rl -- "${(@)${(P)@[-1]}%%:*}" }
compadd() { print -rl -- "$@" }
path_=$1; shift
words=("$@") CURRENT=$#
source $path_
"""

    def __init__(self, path):
        self.path = path
        shell("zsh", "-n", path)

    def offers(self, *words):
        lines = shell("zsh", "-f", "-c", self.SCRIPT, "zsh", self.path, "tidemark", *words)
        # '(-s --sort)--sort=[rank …]:WHAT:(peak live)' is --sort; a choice has no brackets.
        return [line.split("[")[0].split(")")[-1].rstrip("=+-") if "[" in line else line
                for line in lines]


def every_option(table, bash, fish, zsh):
    for verb, options in table.items():
        for name, one in (("bash", bash), ("fish", fish), ("zsh", zsh)):
            if not one:
                continue
            stem = () if name == "zsh" else (verb[:2],)
            check(verb in one.offers(*(stem or ("",))), f"{name}: verb {verb}")
            offered = one.offers(verb, "" if name == "zsh" else "--")
            names = {f"--{option.name}" for option in options}
            check(names <= set(offered), f"{name}: {verb}: {names - set(offered)} not offered")
            extra = {offer for offer in offered if offer.startswith("--")} - names
            check(not extra, f"{name}: {verb}: {extra} offered, but there is none")
        for option in options:
            words = option.words
            for one in filter(None, (bash, fish)):
                check(not words or set(words) <= set(one.offers(verb, f"--{option.name}", "")),
                      f"{type(one).__name__}: {verb} --{option.name}: choices")
        if bash:
            letters = {f"-{option.letter}" for option in options if option.letter}
            check(letters <= set(bash.offers(verb, "-")), f"bash: {verb}: {letters}")


def by_hand_bash(bash):
    def same(words, expected):
        offered = sorted(bash.offers(*words))
        check(offered == sorted(expected), f"bash: {words}: {offered}")

    ranks = ["peak", "live", "total", "grown", "leak", "temp", "count"]
    captures = ["x.tide", "y.store", "dir"]
    same(["re"], ["report"])
    same(["report", "--so"], ["--sort"])
    same(["report", "--sort", ""], ranks)
    same(["report", "-s", "t"], ["total", "temp"])
    same(["report", "--sort", "=", "le"], ["leak"])  # as bash splits --sort=le
    same(["report", "--sort", "="], ranks)
    same(["report", ""], captures)
    same(["report", "--sort", "peak", ""], captures)
    same(["report", "--stacks", ""], captures)  # its value never stands apart
    same(["info", "x"], ["x.tide"])
    same(["export", "-o", ""], captures + ["with blank.txt"])
    same(["help", "re"], ["report"])
    same(["version", ""], [""])
    same(["run", "-o", "with"], ["with blank.txt"])
    same(["run", "a-command", "-"], [""])  # its own options are not ours
    same(["run", "a-command", "x"], ["x.tide"])
    check("env" in bash.offers("run", "-q", "en"), "bash: commands")
    check("env" in bash.offers("run", "--depth", "5", "--", "en"), "bash: commands after --")
    check("env" in bash.offers("run", "--depth", "=", "5", "en"), "bash: commands after =")


def by_hand_fish(fish):
    check(fish.offers("re") == ["report"], "fish: verbs")
    check(fish.offers("report", "--so") == ["--sort"], "fish: options")
    check({"x.tide", "y.store"} <= set(fish.offers("report", "")), "fish: captures")
    check("env" in fish.offers("run", "-o", "x", "en"), "fish: commands")


def main():
    gen, *files = (os.path.abspath(path) for path in sys.argv[1:])
    table = option_table.read(gen)
    made = {}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HOME"] = f"{scratch}/home"
        pathlib.Path(scratch, "work/dir").mkdir(parents=True)
        os.chdir(f"{scratch}/work")
        for name in ("x.tide", "y.store", "with blank.txt"):
            pathlib.Path(name).touch()
        for name, kind, path in zip(("bash", "zsh", "fish"), (Bash, Zsh, Fish), files):
            made[name] = kind(path) if shutil.which(name) else None
            if not made[name]:
                print(f"{name} is not installed: not tested")
        check(any(made.values()), "no shell at all")
        every_option(table, made["bash"], made["fish"], made["zsh"])
        if made["bash"]:
            by_hand_bash(made["bash"])
        if made["fish"]:
            by_hand_fish(made["fish"])
        os.chdir("/")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
