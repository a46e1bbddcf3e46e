#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which commit this tree is of.

  tools/commit.py             print it
  tools/commit.py FILE.c      write it as src/cli/commit.h has it, unless that is there already

In a release the file COMMIT says it, which tools/dist.py puts there, and whatever repository lies
around it does not. Else git does: twelve digits, and "with changes" where a file of the commit was
changed. Where neither knows, it is unknown.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRTY = "-dirty"


def asked():
    """What git says; None: it is not here, or refuses."""
    command = ["git", "-C", ROOT, "describe", "--always", "--exclude=*", "--abbrev=12",
               f"--dirty={DIRTY}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit():
    """In words."""
    if (ROOT / "COMMIT").exists():
        return (ROOT / "COMMIT").read_text(encoding="ascii").strip()
    said = asked() if (ROOT / ".git").exists() else None
    if not said:
        return "unknown"
    return said.removesuffix(DIRTY) + (", with changes" if said.endswith(DIRTY) else "")


def main():
    words = commit()
    if len(sys.argv) < 2:
        print(words)
        return
    path = pathlib.Path(sys.argv[1])
    text = ("// Made by tools/commit.py.\n"
            '#include "cli/commit.h"\n\n'
            f'const char tide_commit[] = "{words}";\n')
    if not path.exists() or path.read_text(encoding="ascii") != text:
        path.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
