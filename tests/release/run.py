#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is released: the tarball of `make dist`, and the Debian package.

  tests/release/run.py [--build DIR] [--stage DIR] [--anew] [--filter REGEX] [--only NAME]

The tarball is made twice, of a page that is built once more elsewhere, and is the same. It is
unpacked and configured where there is no node and no npm, up to what they would be needed for: to
compile the rest once more would show little and takes minutes.

The package is made of what was installed in the stage (below usr, with Debian's libdir), lintian
looks at it, and it is installed and used in a bare Debian 12 (tools/bare_root.py). With --anew it
is built in a bare Debian 12 and 13, from the tarball, of what each has, and used in another; some
minutes each. What was built on one of them does not fit the other: it has other libraries.
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
import bare_root  # noqa: E402
import commit  # noqa: E402
import dist  # noqa: E402
import record  # noqa: E402

NO_NODE = ("node", "nodejs", "npm", "npx", "corepack")


# What a user does first, where nothing but the package was installed. perl runs already.
USE = r"""
tidemark --version | grep -F "(commit $COMMIT)"
cd /tmp
tidemark run -q -o ls.tide -- ls -lR /usr/lib > /dev/null
tidemark report ls.tide | grep 'complete: every event'
tidemark html -o ls.html ls.tide
test "$(stat -c %s ls.html)" -gt 100000
tidemark check --max-peak 64MiB -- ls / | grep '^kept'
perl -e 'for (;;) { my @l = map { "x" x $_ } 1..999; undef @l; select undef, undef, undef, .01 }' &
tidemark attach -q --for 1s -o perl.tide $!
tidemark info perl.tide | grep -w perl
kill $!
! command -v node
test -e "$(tidemark help | sed -n 's/^To read on: man tidemark, and //p')"
"""
INSTALLED = ("./usr/bin/tidemark", "tidemark/libtidemark.so", "tidemark/libtidemark-agent.so",
             "./usr/include/tidemark/tidemark.h", "pkgconfig/tidemark.pc", "man1/tidemark-run.1.gz",
             "man3/tidemark.h.3.gz", "completions/tidemark", "vendor-completions/_tidemark",
             "vendor_completions.d/tidemark.fish", "tidemark/docs/README.md")


def expect(condition, what):
    if not condition:
        raise record.Failure(what)


class Ground:
    def __init__(self, options, scratch):
        self.build, self.stage, self.is_anew = options.build, options.stage, options.anew
        self.kept = options.kept  # for all tests of this run
        self.scratch = pathlib.Path(scratch)
        self.commit = commit.commit()  # of what is released; the tree may go on to another
        self.page = options.build / "ui/page.html"
        if not (ROOT / ".git").exists() or not commit.asked():
            raise record.Excused("a release is made of a repository, and git knows of none here")
        if not self.page.exists() or not self.page.stat().st_size:
            raise record.Skip("the page is not built here")

    def run(self, *command, cwd=None, env=(), umask=-1):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, umask=umask,
                              cwd=cwd or self.scratch, timeout=1800, check=False,
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
        source = self.scratch / f"tidemark-{dist.version()}"
        self.commit = (source / "COMMIT").read_text(encoding="ascii").strip()
        return source

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


def judge(ground, made):
    """The package, complete and as lintian wants it. Its path."""
    (package,) = (path for path in made.glob("*.deb") if "dbgsym" not in path.name)
    listed = ground.run("dpkg-deb", "--contents", package)
    missing = [name for name in INSTALLED if f"{name}\n" not in listed]
    expect(not missing, f"not in it: {missing}")
    needs = ground.run("dpkg-deb", "--field", package, "Depends", "Recommends")
    expect("libc6" in needs and "node" not in needs, needs)
    (changes,) = made.glob("*.changes")
    ground.run("lintian", "--allow-root", "--fail-on", "error,warning", changes)
    return package


def package(ground):
    """Of what is built: once in a run."""
    kept = ground.kept / "tidemark.deb"
    if not ground.stage:
        raise record.Excused("nothing was installed for it: make test T=install does")
    if not shutil.which("dh") or not shutil.which("lintian"):
        raise record.Skip("no debhelper or no lintian here: tools/setup.sh deb installs them")
    if not kept.exists():
        ground.tarball("dist")
        ground.run(ROOT / "tools/deb.sh", ground.scratch,
                   env={"TIDEMARK_STAGED": str(ground.stage), "DEB_BUILD_OPTIONS": "noautodbgsym"})
        shutil.copy(judge(ground, ground.scratch / "deb"), kept)
    return kept


def package_built_in(ground, suite):
    """From the tarball, of what a distribution has."""
    where = bare_root.make(suite, ground.scratch / "builds")
    shutil.move(ground.unpacked(), where / "tmp/source")
    ground.run(*bare_root.command(where, """cd /tmp/source
        apt-get -qq -y --no-install-recommends install build-essential fakeroot
        apt-get -qq -y --no-install-recommends build-dep ./
        DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage --build=binary --no-sign"""))
    return judge(ground, where / "tmp")


def package_of_what_is_built(ground):
    package(ground)


def package_in(ground, suite):
    """Installed and used where nothing else is."""
    if os.geteuid() != 0:
        raise record.Excused("to change the root takes root")
    if not shutil.which("mmdebstrap"):
        raise record.Skip("no mmdebstrap here: tools/setup.sh deb installs it")
    if not bare_root.is_served(suite):
        raise record.Excused(f"apt's mirror here has no {suite}")
    made = package_built_in(ground, suite) if ground.is_anew else package(ground)
    there = bare_root.make(suite, ground.scratch / "uses")
    shutil.copy(made, there / "tmp/tidemark.deb")
    ground.run(*bare_root.command(there, f"""
        apt-get -qq -y --no-install-recommends install /tmp/tidemark.deb
        COMMIT='{ground.commit}'
        {USE}"""))


def package_in_bookworm(ground):
    package_in(ground, "bookworm")


def package_in_trixie(ground):
    package_in(ground, "trixie")


CASES = (tarball_is_the_same_twice, tarball_builds_without_node, package_of_what_is_built,
         package_in_bookworm)
CASES_ANEW = (package_in_bookworm, package_in_trixie)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--stage", type=pathlib.Path)
    parser.add_argument("--anew", action="store_true", help="build the package in bare systems")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.stage = options.stage and options.stage.resolve()
    tally = record.Tally()
    with tempfile.TemporaryDirectory(prefix="tidemark-release-") as kept:
        options.kept = pathlib.Path(kept)
        for case in CASES_ANEW if options.anew else CASES:
            if record.is_chosen(options, case.__name__):
                with tempfile.TemporaryDirectory(prefix="tidemark-release-") as scratch:
                    tally.run(case.__name__, lambda c=case, s=scratch: c(Ground(options, s)))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
