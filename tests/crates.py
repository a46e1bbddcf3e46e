#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of crates.io, for the tests that need some.

  tests/crates.py [BUILD]     build all of them below BUILD (build), as the tests will find them

The crates are pinned, and what is built is kept, in one place: what several of them are made of, in
the same version, with the same features and options (Cargo.toml), is compiled once. jemalloc's C is
taken from Debian, its names under the crate's prefix, because the crate takes two minutes to build
the same; where Debian's is not here, the crate builds its own.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Directory of its Cargo.toml, and the program.
CRATES = {"tests/interop/dhat_rs": "dhat-shape", "tests/interop/jemalloc_rs": "jemalloc-shape",
          "tests/real/allocators": "with-jemalloc", "tests/real/leaky": "leaky",
          "tests/real/tokio": "relay", "bindings/rust/examples/axum": "axum-heap",
          "tests/bindings/linked": "around-jemalloc", "examples/queue": "telegraph",
          "examples/mqtt": "devices", "examples/node": "node",
          "examples/orders": "orders"}
# Those whose jemalloc is Debian's.
WITH_JEMALLOC = "jemalloc_rs", "allocators", "linked", "node", "orders"


class Missing(Exception):
    """The crates are neither at hand nor to be had, or cargo is not."""


class Broken(Exception):
    """They are, and do not compile."""


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def prefixed_jemalloc(build):
    found = output("gcc", "-print-file-name=libjemalloc_pic.a").strip()
    if not os.path.isabs(found):
        return {}
    made = build / "libjemalloc_prefixed.a"
    if not made.exists():
        listed = output("nm", "--defined-only", found)
        names = set(re.findall(r"^\w+ [a-zA-Z] (\w+)$", listed, re.M))
        table = build / "libjemalloc_prefixed.names"
        table.write_text("".join(f"{name} _rjem_{name}\n" for name in sorted(names)))
        output("objcopy", f"--redefine-syms={table}", found, made)
    return {"JEMALLOC_OVERRIDE": str(made)}


def build_crate(directory, build, features=()):
    """The program's path."""
    build = pathlib.Path(build).resolve()
    target = build / "crates"
    more = prefixed_jemalloc(build) if directory.endswith(WITH_JEMALLOC) else {}
    more["TIDEMARK_LIB_DIR"] = str(build)  # of the crate's feature `link`
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path",
               str(ROOT / directory / "Cargo.toml"), "--target-dir", str(target)]
    command += [f"--features={','.join(features)}"] if features else []
    for words in (command + ["--offline"], command):
        try:
            done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **more})
        except FileNotFoundError:
            raise Missing("no cargo here") from None
        if done.returncode == 0:
            return target / "release" / CRATES[directory]
    if "error: could not compile" in done.stderr:
        raise Broken(f"does not build: {done.stderr[-300:]}")
    raise Missing(f"no crates here: {done.stderr.strip()[-200:]}")


def main():
    for directory in CRATES:
        try:
            print(build_crate(directory, sys.argv[1] if sys.argv[1:] else ROOT / "build"))
        except (Missing, Broken) as why:
            print(f"{directory}: {why}")  # the test that needs it will count it


if __name__ == "__main__":
    main()
