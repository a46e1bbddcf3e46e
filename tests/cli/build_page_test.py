#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/build_page.py where the page cannot be had, and where it can again.

  build_page_test.py BUILD_PAGE CC PAGE_BUILT_IN INCLUDE

node and npm are stand-ins that do what the case needs, so that no network is asked.
"""
import pathlib
import subprocess
import sys
import tempfile

BUILD_PAGE, CC, BUILT_IN, INCLUDE = sys.argv[1:5]
NPM_BROKEN = '#!/bin/sh\necho "$@" >> {log}\nexit 1\n'
NPM_CACHED = '#!/bin/sh\necho "$@" >> {log}\nmkdir -p node_modules\n'
NPM_FAR = ('#!/bin/sh\necho "$@" >> {log}\ncase "$*" in *--offline*) exit 1 ;; esac\n'
           'mkdir -p node_modules\n')
NODE = '#!/bin/sh\necho "<!doctype html>" > "$2"\n'
PROGRAM = """
#include "page/html_report.h"
int main(void) { return tide_embedded_page() ? 0 : 3; }
"""


def expect(condition, why):
    if not condition:
        sys.exit(f"FAILED {why}")


class Place:
    """A source tree of a page, a build directory, and a PATH with what a case has."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.ui, self.tools = self.root / "ui", self.root / "bin"
        self.html, self.c = self.root / "page.html", self.root / "page_bytes.c"
        self.depfile, self.log = self.root / "page.d", self.root / "npm-calls"
        self.ui.mkdir()
        self.tools.mkdir()
        for name in ("package.json", "package-lock.json"):
            (self.ui / name).write_text('{"dependencies": {"something": "1"}}', encoding="ascii")
        for name in ("sh", "mkdir", "python3"):
            found = subprocess.run(["/bin/sh", "-c", f"command -v {name}"], capture_output=True,
                                   text=True, check=True).stdout.strip()
            (self.tools / name).symlink_to(found)

    def has(self, name, text):
        (self.tools / name).write_text(text.format(log=self.log), encoding="ascii")
        (self.tools / name).chmod(0o755)

    def build(self, *words, **env):
        self.log.write_text("", encoding="ascii")
        return subprocess.run(
            [sys.executable, BUILD_PAGE, "--ui", self.ui, "--work", self.root / "work", "--html",
             self.html, "--c", self.c, "--depfile", self.depfile, *words],
            env={"PATH": str(self.tools), **env}, capture_output=True, text=True, check=False)

    def command_has_page(self):
        """Of a command with what was built."""
        program = self.root / "program"
        subprocess.run([CC, "-fms-extensions", "-I", INCLUDE, "-x", "c", "-", self.c, BUILT_IN,
                        "-o", program], input=PROGRAM, text=True, check=True)
        return subprocess.run([program], check=False).returncode == 0

    def comes_again(self):
        """Does ninja? It does where an input is not there."""
        inputs = self.depfile.read_text(encoding="utf-8").split(": ")[1].split()
        return not all(pathlib.Path(path).exists() for path in inputs)


def check_left_out(place, why):
    done = place.build()
    expect(done.returncode == 0, f"{why}: {done.stderr}")
    expect(done.stdout.count("\n") == 1 and why in done.stdout and "'make' tries again" in
           done.stdout and not done.stderr, f"{why}: {done.stdout!r} {done.stderr!r}")
    expect(place.comes_again() and not place.command_has_page(), f"{why}: not left out")
    before = place.c.stat().st_mtime_ns
    place.build()
    expect(place.c.stat().st_mtime_ns == before, f"{why}: everything is linked again")
    for env, words in (({"CI": "true"}, ()), ({"TIDEMARK_PAGE": "required"}, ()),
                       ({}, ("--required",))):
        done = place.build(*words, **env)
        expect(done.returncode == 1 and "no page: " in done.stderr, f"{why}, {env}{words}: {done}")


def main():
    with tempfile.TemporaryDirectory() as root:
        place = Place(root)
        check_left_out(place, "there is no node")
        place.has("node", NODE)
        check_left_out(place, "there is no npm")
        place.has("npm", NPM_BROKEN)
        check_left_out(place, "npm reaches no registry")
        calls = place.build() and place.log.read_text(encoding="ascii")
        expect("--fetch-retries=0" in calls and "--prefer-offline" not in calls,
               f"npm tries for minutes: {calls}")
        place.has("npm", NPM_FAR)
        done = place.build()
        expect(done.returncode == 0 and not done.stdout, f"built: {done}")
        expect(place.command_has_page() and not place.comes_again(), "no page, or never done")
    with tempfile.TemporaryDirectory() as root:
        place = Place(root)
        place.has("node", NODE)
        place.has("npm", NPM_CACHED)
        expect(place.build().returncode == 0 and place.command_has_page(), "from npm's cache")
        calls = place.log.read_text(encoding="ascii")
        expect(calls.count("\n") == 1 and "--offline" in calls, f"asked the network: {calls}")
    with tempfile.TemporaryDirectory() as root:
        place = Place(root)  # without node and npm: another build had them
        made = place.root / "made.html"
        done = place.build("--from", made)
        expect(done.returncode == 1 and str(made) in done.stderr, f"there is none: {done}")
        made.write_text("<!doctype html>", encoding="ascii")
        expect(place.build("--from", made, CI="true").returncode == 0 and
               place.command_has_page() and not place.comes_again(), "from another build")
        inputs = place.depfile.read_text(encoding="utf-8").split(": ")[1].split()
        expect(inputs == [str(made)], f"made again when {inputs} change")
    print("ok")


if __name__ == "__main__":
    main()
