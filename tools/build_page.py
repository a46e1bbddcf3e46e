#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the page and make it a part of the command.

The sources in ui/ are copied to a directory of the build, what is made from lists in C is put
beside them (tools/page_numbers.py), packages are fetched there (once for each state of the lock
file), and esbuild makes one file of it all. A C file is written that holds that
file's bytes. Nothing is ever written to the source tree.

Where there is no node or npm, or npm reaches no registry, the page is left out and one line says
so; the next build tries again. With --required (-Dui=enabled), TIDEMARK_PAGE=required (make test)
or CI=true that is an error. With --from FILE, FILE is the page, built already by another build.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import page_numbers

LEFT_OUT = {"node_modules", "dist"}
WAY_OUT = "-Dui=disabled builds tidemark without the page"
PROBE_S = 8


def sources(ui):
    """Every file of ui/ that is a source, relative to it."""
    for directory, names, files in os.walk(ui):
        names[:] = sorted(name for name in names if name not in LEFT_OUT)
        for name in sorted(files):
            yield (pathlib.Path(directory) / name).relative_to(ui)


def copy(ui, work):
    """Make work a copy of ui, with what is made for it, but for what was fetched there."""
    wanted, made = set(sources(ui)), page_numbers.page_files()
    for path in list(sources(work)):
        if path not in wanted:
            (work / path).unlink()
    for path in wanted:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ui / path, work / path)
    for path, text in made.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")


class LeftOut(Exception):
    """Why there can be no page here."""


def run(command, work, timeout=None):
    """(worked, what it said)."""
    env = dict(os.environ, NO_COLOR="1", NO_UPDATE_NOTIFIER="1")
    try:
        result = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                timeout=timeout)
    except subprocess.TimeoutExpired as late:
        return False, (late.stdout or b"").decode(errors="replace")
    return result.returncode == 0, result.stdout.decode(errors="replace")


def is_reachable(npm, work):
    """Does the registry that npm is configured for answer? Asked by npm itself, which knows proxies
    and mirrors; it would try for minutes."""
    package = next(iter(json.loads((work / "package.json").read_bytes())["dependencies"]))
    ask = [npm, "view", package, "name", "--fetch-retries=0", f"--fetch-timeout={PROBE_S * 1000}"]
    return run(ask, work, timeout=2 * PROBE_S)[0]


def install(npm, work, is_required):
    """The packages of the lock file, from npm's cache or the registry."""
    ci = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    if not is_required:
        if run([*ci, "--offline"], work)[0]:
            return
        if not is_reachable(npm, work):
            raise LeftOut("npm reaches no registry")
    worked, said = run([*ci, "--prefer-offline"], work)
    if not worked:
        (work / "npm.log").write_text(said, encoding="utf-8")
        if is_required:
            sys.stderr.write(said)
        raise LeftOut(f"npm could not fetch what it is built from ({work / 'npm.log'})")


def fetch(npm, work, is_required):
    """The packages of the lock file, unless they are there."""
    lock = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        lock.update((work / name).read_bytes())
    stamp = work / "node_modules" / ".tidemark-lock"
    if stamp.exists() and stamp.read_text(encoding="ascii") == lock.hexdigest():
        return
    install(npm, work, is_required)
    stamp.write_text(lock.hexdigest(), encoding="ascii")


def tool(name):
    path = shutil.which(name)
    if not path:
        raise LeftOut(f"there is no {name}")
    return path


def build(work, html, is_required):
    """The page as one file."""
    node, npm = tool("node"), tool("npm")
    fetch(npm, work, is_required)
    worked, said = run([node, "build.mjs", str(html)], work)
    if not worked:
        sys.stderr.write(said)
        sys.exit(f"build_page: the page could not be built; {WAY_OUT}")


def write(path, text):
    """Only what is new: nothing is compiled again for the rest."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


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


def escaped(path):
    return str(path).replace(" ", "\\ ")


def depend(args, names):
    args.depfile.write_text(f"{args.html}: {' '.join(names)}\n", encoding="utf-8")


def take(args, html):
    """The page that another build has made."""
    if not args.made.exists():
        sys.exit(f"build_page: there is no {args.made}; run make first")
    shutil.copyfile(args.made, html)
    write(args.c, embed(html))
    depend(args, [escaped(args.made)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("ui", "work", "html", "c", "depfile"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--required", action="store_true")
    parser.add_argument("--from", dest="made", type=pathlib.Path)
    args = parser.parse_args()
    ui, work, html = args.ui.resolve(), args.work.resolve(), args.html.resolve()
    is_required = (args.required or os.environ.get("TIDEMARK_PAGE") == "required" or
                   os.environ.get("CI") == "true")
    if args.made:
        take(args, html)
        return
    work.mkdir(parents=True, exist_ok=True)
    copy(ui, work)
    lists = [*page_numbers.SOURCES, pathlib.Path(page_numbers.__file__)]
    names = [escaped(path) for path in [*(ui / path for path in sources(ui)), *lists]]
    try:
        build(work, html, is_required)
    except LeftOut as why:
        if is_required:
            sys.exit(f"build_page: no page: {why}; {WAY_OUT}")
        print(f"the page (tidemark view, html) is left out: {why}; 'make' tries again")
        write(html, "")
        names.append(str(work / "never-there"))  # makes ninja come here again
    write(args.c, embed(html))
    depend(args, names)


if __name__ == "__main__":
    main()
