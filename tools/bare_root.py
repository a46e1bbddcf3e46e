#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bare Debian systems, in which the package is built, installed and used (tests/release/run.py).

    tools/bare_root.py build [bookworm] [trixie]      (no name: both)

mmdebstrap makes each once, of the mirror that apt uses here, half a minute of a processor and
170 MB; they are kept outside the tree, in $XDG_CACHE_HOME/tidemark-roots (~/.cache/tidemark-roots).
What is done in one is done in a copy.
"""
import os
import pathlib
import re
import subprocess
import sys

SUITES = "bookworm", "trixie"
LISTS = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")


def place(suite):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "tidemark-roots" / f"{suite}.tar"


def mirror():
    for path in filter(os.path.exists, LISTS):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        found = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?) +(\S+)", text, re.M)
        if found:
            return found.group(1)
    sys.exit("bare_root: apt has no mirror here")


def build(suite):
    made = place(suite)
    made.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", "--format=tar", suite,
                    f"{made}.new", mirror()], check=True)
    os.replace(f"{made}.new", made)
    print(made)


def unpack(suite, folder):
    """A copy, with what programs in it need to reach the mirror."""
    folder.mkdir()
    subprocess.run(["tar", "-C", folder, "-xf", place(suite)], check=True)
    subprocess.run(["cp", "-L", "/etc/resolv.conf", folder / "etc/resolv.conf"], check=True)
    return folder


def command(folder, script):
    """The words that run a script in there, with processes of its own."""
    return ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={folder}/proc",
            "chroot", folder, "env",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
            "LC_ALL=C.UTF-8", "HOME=/root", "sh", "-euc", script]


def main():
    words = sys.argv[1:]
    if not words or words[0] != "build" or not set(words[1:]) <= set(SUITES):
        sys.exit(__doc__)
    for suite in words[1:] or SUITES:
        build(suite)


if __name__ == "__main__":
    main()
