#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the page and make it a part of the command.

The sources in ui/ are copied to a directory of the build, packages are fetched there (once for each
state of the lock file), and esbuild makes one file of it all. A C file is written that holds that
file's bytes. Nothing is ever written to the source tree.
"""
import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

LEFT_OUT = {"node_modules", "dist"}
WAY_OUT = "-Dui=disabled builds tidemark without the page"


def sources(ui):
    """Every file of ui/ that is a source, relative to it."""
    for directory, names, files in os.walk(ui):
        names[:] = sorted(name for name in names if name not in LEFT_OUT)
        for name in sorted(files):
            yield (pathlib.Path(directory) / name).relative_to(ui)


def copy(ui, work):
    """Make work a copy of ui, but for what was fetched there."""
    wanted = set(sources(ui))
    for path in list(sources(work)):
        if path not in wanted:
            (work / path).unlink()
    for path in wanted:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ui / path, work / path)


def run(command, work, why):
    """Run quietly; when it fails say all it said, why that matters and the way out."""
    env = dict(os.environ, NO_COLOR="1", NO_UPDATE_NOTIFIER="1")
    result = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        sys.stderr.write(result.stdout.decode(errors="replace"))
        sys.exit(f"build_page: {why}; {WAY_OUT}")


def fetch(npm, work):
    """The packages of the lock file, unless they are there."""
    lock = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        lock.update((work / name).read_bytes())
    stamp = work / "node_modules" / ".tidemark-lock"
    if stamp.exists() and stamp.read_text(encoding="ascii") == lock.hexdigest():
        return
    run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], work,
        "npm could not fetch what the page is built from (is there a network?)")
    stamp.write_text(lock.hexdigest(), encoding="ascii")


def embed(html):
    """A C file with the bytes of the page. Its text changes when they do."""
    path = str(html).replace("\\", "\\\\").replace('"', '\\"')
    digest = hashlib.sha256(html.read_bytes()).hexdigest()
    quoted = f'\\"{path}\\"'.replace("\\\\", "\\\\\\\\")
    return f"""// Made by tools/build_page.py.
extern const char tide_page_digest[];
const char tide_page_digest[] = "{digest}";
__asm__(".pushsection .rodata\\n"
        ".globl tide_page_html\\n"
        ".globl tide_page_html_end\\n"
        "tide_page_html:\\n"
        ".incbin {quoted}\\n"
        "tide_page_html_end:\\n"
        ".byte 0\\n"
        ".popsection\\n");
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("ui", "work", "html", "c", "depfile"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--node", required=True)
    parser.add_argument("--npm", required=True)
    args = parser.parse_args()
    ui, work, html = args.ui.resolve(), args.work.resolve(), args.html.resolve()
    work.mkdir(parents=True, exist_ok=True)
    copy(ui, work)
    fetch([args.npm], work)
    run([args.node, "build.mjs", str(html)], work, "the page could not be built")
    args.c.write_text(embed(html), encoding="utf-8")
    names = " ".join(str(ui / path).replace(" ", "\\ ") for path in sources(ui))
    args.depfile.write_text(f"{args.html}: {names}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
