# SPDX-License-Identifier: Apache-2.0
"""examples/under_test with make, CTest and GoogleTest, and meson: what is kept passes, and the
planted leak fails, with its place."""
import os
import shutil

import record
from command_inside import INCLUDE
from ground import expect, test

EXAMPLE = INCLUDE.parent / "examples/under_test"


def example(ground, *tools):
    """A copy of it, and an environment in which tidemark and its header are to be found."""
    for tool in tools:
        if not shutil.which(tool):
            raise record.Skip(f"no {tool} here")
    folder = ground.scratch / "under_test"
    shutil.copytree(EXAMPLE, folder)
    path = f"{os.path.dirname(ground.tidemark)}:{os.environ['PATH']}"
    return folder, dict(ground.env, PATH=path, CFLAGS="", CXXFLAGS=f"-I{INCLUDE}")


@test
def examples_for_make(ground):
    folder, env = example(ground, "make")
    done = ground.run("make", "-s", "check", cwd=folder, env=env)
    expect(done.status == 0 and "kept     peak" in done.stdout, done.stdout + done.stderr)
    ground.run("make", "-s", "clean", cwd=folder, env=env)
    done = ground.run("make", "-s", "check", "LEAKY=1", cwd=folder, env=env)
    expect(done.status == 2 and "broken   leaked" in done.stdout, done.stdout + done.stderr)
    expect("field_new" in done.stdout and "parse.c:11" in done.stdout, done.stdout)


@test
def examples_for_ctest(ground):
    """With GoogleTest, whose tests have budgets of their own."""
    folder, env = example(ground, "cmake", "ctest", "g++")
    if not os.path.exists("/usr/include/gtest/gtest.h"):
        raise record.Skip("no GoogleTest here; tools/setup.sh test installs it")

    def tested(*options):
        for words in (("cmake", "-S", folder, "-B", "built", *options),
                      ("cmake", "--build", "built")):
            done = ground.run(*words, env=env)
            expect(done.status == 0, done.stdout + done.stderr)
        return ground.run("ctest", "--test-dir", "built", "-V", env=env)
    done = tested()
    expect(done.status == 0 and "100% tests passed, 0 tests failed out of 3" in done.stdout,
           done.stdout + done.stderr)
    expect("[  PASSED  ] 2 tests" in done.stdout and "SKIPPED" not in done.stdout, done.stdout)
    alone = ground.run(ground.scratch / "built/parse_gtest")
    expect(alone.status == 0 and alone.stdout.count("[  SKIPPED ] Heap.") >= 2, alone.stdout)
    done = tested("-DLEAKY=ON")
    expect(done.status == 8 and "33% tests passed, 2 tests failed out of 3" in done.stdout,
           done.stdout + done.stderr)
    for text in ("field_new", "parse.c:11", "[  FAILED  ] Heap.ParsingLeavesNothing",
                 "14 bytes left"):
        expect(text in done.stdout, f"{text}: {done.stdout}")


@test
def examples_for_meson(ground):
    folder, env = example(ground, "meson", "ninja")
    wrap = "--wrap", "tidemark check --max-leaked 0 --", "--no-suite", "heap", "-v"

    def tested(leaky, *words):
        if not os.path.exists(ground.scratch / "built"):
            done = ground.run("meson", "setup", "built", folder, env=env)
        else:
            done = ground.run("meson", "configure", "built", f"-Dleaky={leaky}", env=env)
        expect(done.status == 0, done.stdout + done.stderr)
        return ground.run("meson", "test", "-C", "built", *words, env=env)
    done = tested("false")
    expect(done.status == 0 and "Ok:                 2" in done.stdout, done.stdout + done.stderr)
    done = tested("false", *wrap)
    expect(done.status == 0 and "kept     leaked" in done.stdout, done.stdout + done.stderr)
    done = tested("true", *wrap)
    expect(done.status == 1 and "broken   leaked" in done.stdout, done.stdout + done.stderr)
    expect("field_new" in done.stdout, done.stdout)
