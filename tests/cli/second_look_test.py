#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How tools/test.py counts tests that fail, pass when they run once more, or fail again.

  second_look_test.py SOURCE PAGE_TESTS

The runners are stand-ins that fail as the case needs; that the real ones take the names they tell
is asked of them, too. PAGE_TESTS is ui/test/run.mjs where the build has put it, if it has.
"""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE, PAGE_TESTS = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tools"))
import test as tool  # noqa: E402
import test_run  # noqa: E402

# Says what stands in the file "first", and when it is asked for names, what stands in "again".
STAND_IN = """
import pathlib, sys
here = pathlib.Path(__file__).parent
only = [word for word in sys.argv if word.startswith("--only=")]
with open(here / "asked", "a") as asked:
    asked.write(" ".join(only) + "\\n")
text = (here / ("again" if only else "first")).read_text()
print(text, end="")
sys.exit(0 if ", 0 failed" in text else 1)
"""
NODE_PARTS = """TAP version 13
    not ok 1 - sub x
      ---
      error: |-
        differs
      ...
    ok 2 - sub y
not ok 1 - one \\# (a)
  ---
  error: '1 subtest failed'
  ...
ok 2 - two
"""
PAGE_TEST = """
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
test("steady", () => {});
test("once (a+b) [c]", async (t) => {
  await t.test("part", () => {
    if (existsSync(process.env.MARK)) return;
    writeFileSync(process.env.MARK, "");
    throw new Error("first time");
  });
});
"""


# Fails the first time it is asked for what its argument names, or hangs, or always fails.
MESON_TEST = """
import os, sys, time
mark = os.environ["MARK"] + sys.argv[1]
is_first = not os.path.exists(mark)
open(mark, "w").close()
if sys.argv[1] == "hangs" and is_first:
    time.sleep(60)
sys.exit("first time" if sys.argv[1] == "fails" or sys.argv[1] == "once" and is_first else 0)
"""
MESON_PROJECT = """project('mine')
python = find_program('python3')
foreach name : ['steady', 'once', 'hangs', 'fails']
  test(name, python, args: [files('it.py'), name], suite: name, timeout: 1)
endforeach
"""


def expect(condition, why):
    if not condition:
        sys.exit(f"FAILED {why}")


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {got!r}, not {wanted!r}")


class Place:
    """A stand-in for a runner, and a log."""

    def __init__(self, root, first, again=""):
        self.root = pathlib.Path(root)
        self.runner = self.root / "stand_in.py"
        self.runner.write_text(STAND_IN)
        (self.root / "first").write_text(first)
        (self.root / "again").write_text(again)

    def first_counts(self, second_look=True):
        return test_run.runner(open_log(self.root), [sys.executable, self.runner],
                               second_look=second_look)

    def counts(self, second_look=True):
        return looked_again(open_log(self.root), self.first_counts(second_look))

    def asked(self):
        return (self.root / "asked").read_text().splitlines()


def looked_again(log, counts):
    for look in counts.again:
        counts.add(look(log))
    return counts


def open_log(root):
    test_run.LOGS = pathlib.Path(root)
    return test_run.Log("stand_in", False)


@contextlib.contextmanager
def place(*texts):
    with tempfile.TemporaryDirectory() as root:
        yield Place(root, *texts)


def passes_at_second_look():
    with place("ok a\nFAIL b[x y]: 7, not 8\nskip c: none\n1 passed, 1 failed, 1 skipped\n",
               "ok b[x y]\n1 passed, 0 failed\n") as there:
        counts = there.first_counts()
        equal(str(counts), "1 passed, 0 failed, 1 skipped", "before the second look")
        equal(there.asked(), [""], "what the runner is asked for while others run")
        looked_again(open_log(there.root), counts)
        equal(str(counts), "2 passed, 0 failed, 1 skipped", "a test that passes then")
        equal(counts.notes, [], "what is told as failed")
        equal(counts.unsteady, ["b[x y]: 7, not 8"], "what is told as unsteady")
        equal(there.asked(), ["", "--only=b[x y]"], "what the runner is asked for")


def fails_again():
    with place("FAIL a: one\n  two\nFAIL b: three\nok c\n1 passed, 2 failed\n",
               "FAIL a: four\nok b\n1 passed, 1 failed\n") as there:
        counts = there.counts()
        equal(str(counts), "2 passed, 1 failed", "one of two that fails again")
        equal(counts.notes, ["a: one\n      two\n    once more, alone: four"], "both messages")
        equal(counts.unsteady, ["b: three"], "the other")


def shows_nothing():
    first = "FAIL a: one\nok c\n1 passed, 1 failed\n"
    for again in ("", "skip a: none\n0 passed, 0 failed, 1 skipped\n", "0 passed, 0 failed\n"):
        with place(first, again) as there:
            counts = there.counts()
            equal(str(counts), "1 passed, 1 failed", f"a second look that says {again!r}")
            expect("did not run" in counts.notes[0], f"{counts.notes}")


def has_no_second_look():
    many = "".join(f"FAIL t{n}: no\n" for n in range(9)) + "0 passed, 9 failed\n"
    for first, second_look in (("FAIL a: one\n0 passed, 1 failed\n", False), (many, True),
                               ("FAIL a: one\n", True)):
        with place(first, "ok a\n9 passed, 0 failed\n") as there:
            counts = there.counts(second_look)
            equal(there.asked(), [""], f"after {first!r}")
            expect(counts.failed and not counts.unsteady, f"{first!r}: {counts}")


def parts_of_node():
    with place(NODE_PARTS + "2 passed, 2 failed\n", "ok 1 - one\n2 passed, 0 failed\n") as there:
        counts = there.counts()
        equal(str(counts), "4 passed, 0 failed", "a test with its part")
        equal(there.asked(), ["", "--only=one # (a)"], "what the runner is asked for")
        equal(counts.unsteady[0].splitlines()[0], "one # (a): differs", "what it said")


def meson_tests_have_it():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "meson.build").write_text(MESON_PROJECT)
        (root / "it.py").write_text(MESON_TEST)
        log = open_log(root)
        for ways, wanted in ((("FAIL", "TIMEOUT"), "3 passed, 1 failed"),
                             (("TIMEOUT",), "2 passed, 2 failed")):
            build = root / f"build{len(ways)}"
            os.environ["MARK"] = f"{build}."
            subprocess.run(["meson", "setup", build, root], check=True, capture_output=True)
            counts = looked_again(log, test_run.meson_tests(log, build, "-t", "2",
                                                            second_look=ways))
            equal(str(counts), wanted, f"meson's tests with a second look at {ways}")
            told = sorted(note.splitlines()[0].rpartition(" / ")[2] for note in counts.unsteady)
            equal(told, ["hangs: TIMEOUT", "once: FAIL"][:len(ways)], "what is told as unsteady")
            expect(any("fails: FAIL" in note for note in counts.notes), f"{counts.notes}")
        log.close()


def session_tells_at_the_end():
    with place("FAIL a: one\nFAIL b: two\n0 passed, 2 failed\n",
               "ok a\nFAIL b: three\n1 passed, 1 failed\n") as there:
        session = tool.Session({"mine": None, "other": None})
        tool.LOGS = there.root
        log = open_log(there.root)
        log.name = "mine"
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            session.total = test_run.Counts()
            session.finish(log, there.first_counts())
            session.look_again()
            status = session.close()
        lines = said.getvalue().splitlines()
        equal(status, 1, "the status")
        equal(lines[-1], "1 passed, 1 failed", "the last line")
        first = [line for line in lines if line.startswith("   mine ")]
        expect(first[0].endswith("  0 passed, 0 failed, some once more at the end"), f"{first}")
        told = [line for line in lines if line.startswith(("UNSTEADY", "FAILED"))]
        equal(told, ["FAILED mine-again: b: two", "UNSTEADY mine-again: a: one"] * 2,
              "what is told, at once and at the end")
        equal((there.root / "summary").read_text(), "1 passed, 1 failed\n", "the summary")


def real_runners_take_names():
    for runner in "e2e", "real", "symbols":
        path = SOURCE / "tests" / runner / "run.py"
        names = subprocess.run([sys.executable, path, "--list"], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        wanted = [names[0], names[-1]]
        got = subprocess.run([sys.executable, path, "--list", *(f"--only={n}" for n in wanted)],
                             capture_output=True, text=True, check=True).stdout.splitlines()
        equal(got, wanted, f"{runner}'s tests of two names")


def page_tests_take_names():
    """With a test of our own in place of the page's, which fails the first time in a part."""
    modules = PAGE_TESTS.parent.parent / "node_modules"
    if not shutil.which("node") or not modules.exists():
        return
    with tempfile.TemporaryDirectory() as root:
        work = pathlib.Path(root) / "work"
        (work / "test").mkdir(parents=True)
        (work / "node_modules").symlink_to(modules)
        shutil.copy(PAGE_TESTS, work / "test/run.mjs")
        (work / "test/mine.test.ts").write_text(PAGE_TEST)
        os.environ["MARK"] = f"{root}/mark"
        log = open_log(root)
        counts = looked_again(log, test_run.runner(
            log, ["node", work / "test/run.mjs", root], second_look=True))
        log.close()
        text = (pathlib.Path(root) / "stand_in.log").read_text()
        equal(str(counts), "3 passed, 0 failed", f"in node, {text}")
        expect(counts.unsteady[0].startswith("once (a+b) [c]: first time"), f"{counts.unsteady}")
        expect("2 passed, 0 failed\n" in text, f"not it alone the second time: {text}")


for case in (passes_at_second_look, fails_again, shows_nothing, has_no_second_look, parts_of_node,
             meson_tests_have_it, session_tells_at_the_end, real_runners_take_names,
             page_tests_take_names):
    case()
    print(f"ok {case.__name__}")
