#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A release as a tarball: every file of the repository, the page as it was built, and the commit.

  tools/dist.py PAGE FOLDER      writes FOLDER/tidemark-VERSION.tar.gz and prints its path

The same tree gives the same bytes, whoever makes it, when and where: order, owners, modes and times
are what git knows, the time is the commit's (or SOURCE_DATE_EPOCH). PAGE goes to ui/dist/page.html,
where ui/meson.build takes it from instead of asking for node and npm. Files are those of the tree
as it stands: where they are not those of the commit, COMMIT says so, and so does the command.
"""
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import commit

ROOT = commit.ROOT


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True,
                          check=True).stdout


def version():
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    return re.search(r"^  version: '([^']+)',$", text, re.M).group(1)


def time_s():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def tracked():
    """{path: mode} of what is in the repository, with git's modes."""
    lines = git("ls-files", "-s", "-z").split("\0")
    return {line.partition("\t")[2]: line[:6] for line in lines if line}


def entries(page):
    """(path, mode, bytes) of all that is packed."""
    for path, mode in tracked().items():
        if mode == "120000":
            yield path, mode, os.readlink(ROOT / path).encode()
        else:
            yield path, mode, (ROOT / path).read_bytes()
    yield "COMMIT", "100644", f"{commit.commit()}\n".encode()
    yield "ui/dist/page.html", "100644", page


def packed(top, page):
    """The tarball, not compressed."""
    out, when = io.BytesIO(), time_s()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, mode, content in sorted(entries(page)):
            info = tarfile.TarInfo(f"{top}/{path}")
            info.mtime, info.mode = when, 0o755 if mode == "100755" else 0o644
            if mode == "120000":
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, content.decode()
                content = b""
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def main():
    page = pathlib.Path(sys.argv[1])
    if not page.exists() or page.stat().st_size == 0:
        sys.exit("dist: the page was left out of this build; a release needs node and npm")
    if not (ROOT / ".git").exists():
        sys.exit("dist: a release is made of a git repository, and this is none")
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    top = f"tidemark-{version()}"
    made = folder / f"{top}.tar.gz"
    with open(made, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as pressed:
        pressed.write(packed(top, page.read_bytes()))
    print(made)


if __name__ == "__main__":
    main()
