# SPDX-License-Identifier: Apache-2.0
"""What a hunt has at hand: a directory, programs built into it, commands run and shown there, and
the figures that its page may quote."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/e2e"), str(ROOT / "tests/fleet")]
import crates  # noqa: E402
import record  # noqa: E402

TIMEOUT_S = 600
# What no two runs of a program have alike, and no page is held to.
VARIABLE = (r"\d[\d.,]* ?(?:ns|µs|ms|s|min|h)\b", r"[▁▂▃▄▅▆▇█▏▎▍▌▋▊▉⠀-⣿]+", r"overhead ≈.*",
            r"RSS +\d[\d.]* \w+( ± \d[\d.]* \w+)?", r"saved .*", r"next: .*", r"peak exact",
            r"(peak )?± \d[\d.]* \w+", r"every event \(.*?\), \d+ stacks",
            # What a runtime does, which is another with each version of it.
            r"\d[\d,.]*( M)? allocations", r"at exit .*", r"(?m)^ +<?0\.\d %.*\n( +via .*\n)?",
            r"\s+")
# What not each of them has: a program that ends within milliseconds is looked at before its peak,
# at it or after it, and often enough for the curves of its places or not.
OPTIONAL = (r"  \(RSS [^)]*\)", r"(?m)^ +max RSS .*\n", r"  live from start to end; ⣿ never freed")


class Figure:
    """A text that the page quotes; `within`: a number in it may be so much off, as a share."""

    def __init__(self, text, within=0.0, loose=()):
        self.text, self.within, self.loose = text, within, loose

    def agrees(self, quoted):
        if self.within:
            return re.sub(NUMBER, "", quoted) == re.sub(NUMBER, "", self.text) and all(
                abs(a - b) <= self.within * abs(b)
                for a, b in zip(numbers(quoted), numbers(self.text)))
        return blurred(quoted, self.loose) == blurred(self.text, self.loose)


NUMBER = r"\d[\d,]*(?:\.\d+)?"


def numbers(text):
    return [float(word.replace(",", "")) for word in re.findall(NUMBER, text)]


def blurred(text, loose):
    """A quoted block without what is variable; a figure in a sentence is as it is."""
    if "\n" in text:
        for pattern in OPTIONAL:
            text = re.sub(pattern, "", text)
        for pattern in (*loose, *VARIABLE):
            text = re.sub(pattern, "~", text)
        text = re.sub("~+", "~", text)  # a bar, a curve or none
    return text


def size_words(n_bytes):
    """As tidemark writes it."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n_bytes >= 1 << shift:
            return f"{n_bytes / (1 << shift):.1f} {unit}"
    return f"{n_bytes:,} bytes"


class Stage:
    """One hunt's."""

    def __init__(self, name, build, picturing=False):
        self.name, self.build, self.picturing = name, build, picturing
        self.home = ROOT / "examples" / name
        # What is shown in pictures is recorded where no path tells whose machine it was.
        self.scratch = (pathlib.Path("/tmp") if picturing else build) / "case-studies" / name
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.figures, self.kept = {}, set()
        self.env = record.clean_environment(LC_ALL="C.UTF-8", COLUMNS="100",
                                            PATH=f"{build}:{os.environ['PATH']}")

    # ---- programs ----

    def crate(self, *programs, features=()):
        """Builds the hunt's crate; its programs can then be started as ./PROGRAM, with features as
        ./PROGRAM-FEATURE."""
        try:
            made = crates.build_crate(f"examples/{self.name}", self.build, features)
        except crates.Missing as why:
            raise record.Skip(str(why)) from None
        except crates.Broken as why:
            raise record.Failure(str(why)) from None
        for program in programs or (made.name,):
            name = "-".join((program, *features))
            shutil.copy(made.parent / program, self.scratch / name)

    def compile(self, *words):
        """A compiler's command, made in the hunt's directory of sources."""
        if not shutil.which(words[0]):
            raise record.Skip(f"no {words[0]} here")
        done = record.run(words, cwd=self.home, timeout=TIMEOUT_S)
        self.expect(done.status == 0, f"does not build: {done.stderr[-300:]}")

    # ---- commands ----

    def run(self, *words, status=0, timeout=TIMEOUT_S, env=None):
        """What a command writes to its output; `status` None: however it ends."""
        done = record.run(words, cwd=self.scratch, env=self.env | (env or {}), timeout=timeout)
        self.expect(status is None or done.status == status,
                    f"{shlex.join(map(str, words))}: status {done.status}, {done.stderr[-300:]}")
        return done.stdout

    def show(self, name, *words, status=0, loose=(), lines=None):
        """Runs a command for the page: `name` is the block with it and what it wrote; of that only
        the lines of a slice, if one is given. `loose`: patterns of what may differ."""
        done = subprocess.run(words, cwd=self.scratch, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=TIMEOUT_S, check=False)
        self.expect(status is None or done.returncode == status,
                    f"{shlex.join(words)}: status {done.returncode}, {done.stdout[-300:]}")
        self.quote(name, shlex.join(words), done.stdout, loose, lines)
        return done.stdout

    def quote(self, name, command, text, loose=(), lines=None):
        """A block: a command and what it wrote."""
        said = text.rstrip().splitlines()
        told = "\n".join([f"$ {command}", *(said[lines] if lines else said)])
        self.figures[name] = Figure(f"\n```console\n{told}\n```\n", loose=loose)

    def json(self, *words):
        return json.loads(self.run("tidemark", *words))

    def html(self, capture):
        """The page as a file, beside the captures."""
        made = pathlib.Path(capture).with_suffix(".html")
        self.run("tidemark", "html", "-f", "-o", str(made), capture)
        self.expect((self.scratch / made).stat().st_size > 100000, f"{made} is not all of the page")

    def picture(self, capture, pane="overview"):
        """With --write: the page in a browser, as docs/case-studies/HUNT-CAPTURE.png."""
        stem = pathlib.Path(capture).stem
        kept = ROOT / f"docs/case-studies/{self.name}-{stem}.png"
        if self.picturing:
            shots = self.build / "ui/work/browser/shots.mjs"
            self.run("node", str(shots), "--tidemark", str(self.build / "tidemark"), "--out",
                     "shots", "--pane", pane, "--height", "700", capture)
            shutil.copy(self.scratch / f"shots/{stem}-{pane}-light-1280.png", kept)
        self.expect(kept.exists(), f"{kept.name} is missing: examples/run.py --write makes it")

    # ---- what is told ----

    @staticmethod
    def expect(condition, why):
        if not condition:
            raise record.Failure(why)

    def figure(self, name, value, within=0.0):
        """What the page quotes as `name`: a text, or a number with commas."""
        text = f"{value:,}" if isinstance(value, int) else str(value)
        self.figures[name] = Figure(text, within=within)

    def without(self, figures, why):
        """A part of the hunt cannot be made here: what the page has of it stays, unjudged."""
        self.kept.update(figures)
        print(f"# {self.name}: {why}", flush=True)

    def size(self, name, n_bytes, within=0.0):
        self.figure(name, size_words(n_bytes), within)
