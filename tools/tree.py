# SPDX-License-Identifier: Apache-2.0
"""The source files of the tree. Walks the directories rather than asking git: a source tree without
its repository, or one owned by somebody else, is linted all the same."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What runs in the target.
RECORDER = {"rt", "store", "unwind", "record", "exec", "ask", "preload", "agent"}


def files(*suffixes):
    """Paths below ROOT with one of the suffixes (all when none), without builds and packages."""
    found = []
    for place, directories, names in os.walk(ROOT):
        at_top = pathlib.Path(place) == ROOT
        directories[:] = [d for d in directories
                          if d not in (".git", "__pycache__", "node_modules")
                          and not (at_top and (d == "build" or d.startswith("build-")))]
        found += [pathlib.Path(place) / name for name in names]
    return sorted(path for path in found
                  if path.is_file() and (not suffixes or path.suffix in suffixes))
