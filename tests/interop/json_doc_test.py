#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden JSON documents parse, and docs/json.md, or the list of numbers that it leads to, explains
every key they have.

  json_doc_test.py DOC.md… FILE.json…
"""
import json
import re
import sys


def keys(value):
    """Every key of every object inside a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def main():
    explained, missing = set(), set()
    for path in (path for path in sys.argv[1:] if path.endswith(".md")):
        with open(path, encoding="utf-8") as doc:
            explained |= set(re.findall(r"`([a-z_]+)`", doc.read()))
    for path in (path for path in sys.argv[1:] if path.endswith(".json")):
        with open(path, encoding="utf-8") as file:
            found = set(keys(json.load(file)))
        assert "schema" in found and len(found) > 20, f"{path}: too few keys to be right"
        missing |= found - explained
    if missing:
        sys.exit("not in the documentation: " + ", ".join(sorted(missing)))


if __name__ == "__main__":
    main()
