# SPDX-License-Identifier: Apache-2.0
"""The option table as completion_gen prints it: verbs, and the options of each."""
import subprocess


class Option:
    def __init__(self, letter, name, value, kind, words):
        self.letter = None if letter == "-" else letter
        self.name, self.value = name, None if value == "-" else value
        self.optional = kind == "optional"
        self.words = words.split()


def read(completion_gen):
    """{verb: [Option…]}, in the table's order."""
    text = subprocess.run([completion_gen, "table"], capture_output=True, text=True,
                          check=True).stdout
    verbs = {}
    for line in text.splitlines():
        kind, verb, *fields = line.split("\t")
        if kind == "verb":
            verbs[verb] = []
        else:
            verbs[verb].append(Option(*fields))
    assert len(verbs) >= 6 and sum(map(len, verbs.values())) >= 30, "too few to be the table"
    return verbs
