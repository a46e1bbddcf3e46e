#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/commit.py in a repository, in one with changes, in a release, and where nobody knows; and
what the command says of itself: the commit, and a version that is the same wherever one is told.

  commit_test.py COMMIT_PY TIDEMARK
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMMIT_PY, TIDEMARK = (pathlib.Path(word).resolve() for word in sys.argv[1:3])


def expect(condition, why):
    if not condition:
        sys.exit(f"FAILED {why}")


def run(*command, **env):
    """What it prints. Nobody's settings of git are asked."""
    alone = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **env}
    return subprocess.run(list(map(str, command)), env=alone, capture_output=True, text=True,
                          check=True).stdout.strip()


def git(root, *words):
    return run("git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b.example", *words)


def says(root):
    return run(sys.executable, root / "tools/commit.py")


def check_tree(root):
    """A tree as it grows up."""
    (root / "tools").mkdir()
    shutil.copy(COMMIT_PY, root / "tools")
    expect(says(root) == "unknown", f"without a repository: {says(root)}")
    git(root, "init", "-q")
    expect(says(root) == "unknown", f"before the first commit: {says(root)}")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "tag", "v9")
    digits = git(root, "rev-parse", "--short=12", "HEAD")
    expect(says(root) == digits, f"{says(root)}, not {digits}")
    (root / "untracked").write_text("", encoding="ascii")
    expect(says(root) == digits, f"with a file of nobody's: {says(root)}")
    check_written(root, digits)
    expect(run(sys.executable, root / "tools/commit.py", PATH="/nowhere") == "unknown", "no git")
    with open(root / "tools/commit.py", "a", encoding="utf-8") as file:
        file.write("\n")
    expect(says(root) == f"{digits}, with changes", f"changed: {says(root)}")
    # A release, unpacked within somebody's repository.
    (root / "COMMIT").write_text("0123456789ab\n", encoding="ascii")
    expect(says(root) == "0123456789ab", f"a release: {says(root)}")


def check_written(root, digits):
    """Written where it changes, so that nothing is compiled otherwise."""
    path = root / "commit.c"
    run(sys.executable, root / "tools/commit.py", path)
    expect(f'tide_commit[] = "{digits}";' in path.read_text(encoding="ascii"), "not written")
    os.utime(path, (1, 1))
    run(sys.executable, root / "tools/commit.py", path)
    expect(path.stat().st_mtime == 1, "written again")


# What goes out under the project's version: where it is told, and how.
TOLD = (("CHANGELOG.md", r"^## (\S+) "), ("debian/changelog", r"^tidemark \((\S+)\) "),
        ("bindings/rust/Cargo.toml", r'^version = "(.*)"$'),
        ("bindings/python/pyproject.toml", r'^version = "(.*)"$'))


def check_version(version):
    root = COMMIT_PY.parent.parent
    for path, pattern in TOLD:
        found = re.search(pattern, (root / path).read_text(encoding="utf-8"), re.M)
        expect(found and found[1] == version, f"{path}: {found and found[1]}, not {version}")
    wanted = r'^name = "tidemark"\nversion = "(.*)"$'
    locks = {path: re.search(wanted, path.read_text(encoding="utf-8"), re.M)
             for place in ("bindings", "examples", "tests")
             for path in root.glob(f"{place}/**/Cargo.lock")}
    locks = {path: found[1] for path, found in locks.items() if found}
    expect(len(locks) > 3 and set(locks.values()) == {version}, f"not {version}: {locks}")
    said = (root / "bindings/rust/README.md").read_text(encoding="utf-8")
    short = version.rpartition(".")[0]
    expect(f'tidemark = {{ version = "{short}",' in said, f"the crate's README: not {short}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_tree(pathlib.Path(scratch))
    told = run(TIDEMARK, "--version", **os.environ)
    commit = run(sys.executable, COMMIT_PY, **os.environ)  # with the settings of whoever built it
    found = re.fullmatch(rf"tidemark ([\d.]+) \(commit {re.escape(commit)}\)", told)
    expect(found, f"{told}, of {commit}")
    check_version(found[1])


if __name__ == "__main__":
    main()
