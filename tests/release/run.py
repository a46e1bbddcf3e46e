#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is released: the tarball of `make dist`.

  tests/release/run.py [--build DIR] [--filter REGEX] [--only NAME]

The tarball is made twice, of a page that is built once more elsewhere, and is the same. It is
unpacked and configured where there is no node and no npm, up to what they would be needed for: to
compile the rest once more would show little and takes minutes.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tools")]
import commit  # noqa: E402
import dist  # noqa: E402
import record  # noqa: E402

NO_NODE = ("node", "nodejs", "npm", "npx", "corepack")


def expect(condition, what):
    if not condition:
        raise record.Failure(what)


class Ground:
    def __init__(self, options, scratch):
        self.build = options.build
        self.scratch = pathlib.Path(scratch)
        self.page = options.build / "ui/page.html"
        if not (ROOT / ".git").exists():
            raise record.Skip("this is no repository: a release is made of one")
        if not self.page.exists() or not self.page.stat().st_size:
            raise record.Skip("the page is not built here")

    def run(self, *command, cwd=None, env=(), umask=-1):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, umask=umask,
                              cwd=cwd or self.scratch, timeout=600, check=False,
                              env={**os.environ, **dict(env)})
        expect(done.returncode == 0,
               f"{command[0]} {command[1:3]}: {done.stdout[-900:]} {done.stderr[-900:]}")
        return done.stdout

    def tarball(self, folder, page=None, **options):
        told = self.run(sys.executable, ROOT / "tools/dist.py", page or self.page,
                        self.scratch / folder, **options)
        return pathlib.Path(told.strip())

    def unpacked(self):
        with tarfile.open(self.tarball("dist")) as tar:
            tar.extractall(self.scratch)
        return self.scratch / f"tidemark-{dist.version()}"

    def path_without_node(self):
        """A PATH with all that is on this one, but for node and what comes with it."""
        folder = self.scratch / "bin"
        folder.mkdir()
        for place in reversed(os.environ["PATH"].split(":")):
            for name in os.listdir(place) if os.path.isdir(place) else ():
                if name not in NO_NODE:
                    (folder / name).unlink(missing_ok=True)
                    (folder / name).symlink_to(os.path.join(place, name))
        expect(not any(shutil.which(name, path=folder) for name in NO_NODE), "node is there")
        return str(folder)


def page_built_elsewhere(ground):
    """The page of the same sources and packages, built in another folder."""
    work = ground.build / "ui/work"
    again = ground.scratch / "elsewhere/and/deeper"
    shutil.copytree(work, again, ignore=shutil.ignore_patterns("node_modules"))
    (again / "node_modules").symlink_to(work / "node_modules")
    page = ground.scratch / "again.html"
    ground.run("node", "build.mjs", page, cwd=again, env={"TZ": "Asia/Tokyo"})
    return page


def tarball_is_the_same_twice(ground):
    if not shutil.which("node"):
        raise record.Skip("no node here to build the page again")
    first = ground.tarball("first", umask=0o022)
    second = ground.tarball("second", page=page_built_elsewhere(ground), umask=0o077,
                            env={"TZ": "America/Lima", "LC_ALL": "C.UTF-8", "USER": "else"})
    expect(first.name == second.name == f"tidemark-{dist.version()}.tar.gz", first.name)
    expect(first.read_bytes() == second.read_bytes(), "two tarballs of one tree differ")


def tarball_builds_without_node(ground):
    source = ground.unpacked()
    there = {str(path.relative_to(source)) for path in source.rglob("*") if not path.is_dir()}
    expect(there == {*dist.tracked(), "COMMIT", "ui/dist/page.html"},
           f"{there ^ set(dist.tracked())}")
    env = {"PATH": ground.path_without_node(), "TIDEMARK_PAGE": "required"}
    told = ground.run("meson", "setup", "made", cwd=source, env=env)
    expect("cmocka" not in told, "a release asks for what tests need")
    made = source / "made"
    ground.run("ninja", "-C", made, "ui/page.html", "src/cli/commit.c", env=env)
    expect((made / "ui/page.html").read_bytes() == ground.page.read_bytes(), "another page")
    expect(f'"{commit.commit()}"' in (made / "src/cli/commit.c").read_text(), "another commit")
    left = ground.run("ninja", "-C", made, "-n", env=env)  # fails where a source is not there
    expect("Linking target tidemark\n" in left, left[-300:])


CASES = (tarball_is_the_same_twice, tarball_builds_without_node)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    options.build = options.build.resolve()
    tally = record.Tally()
    for case in CASES:
        if record.is_chosen(options, case.__name__):
            with tempfile.TemporaryDirectory(prefix="tidemark-release-") as scratch:
                tally.run(case.__name__, lambda c=case, s=scratch: c(Ground(options, s)))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
