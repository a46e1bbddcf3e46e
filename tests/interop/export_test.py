#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is exported is what was recorded, whatever that was: captures made from seeds, with numbers
from all over their range and names of any bytes, are read by a decoder of our own format and, after
export, by those of the others (export_decode.py). Sums must be equal, and for pprof every stack.
What is not exact must be said: in the file, or by the command where that has no place for it.

  export_test.py --make TIDE_MAKE --tidemark TIDEMARK [--seeds N]
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "compat"))
import export_decode  # noqa: E402
import tide_decode  # noqa: E402

WORD = 1 << 64
EXACT, CUT, PAGES, LOST = 1, 4, 8, 16
NO_PEAK, NO_LIVE, NO_TOTAL, NO_BLOCKS, NO_TEMP, NO_LIFETIMES = 1, 2, 4, 8, 16, 32


class Truth:
    """Stacks of the heap in an image, by its own decoder."""

    def __init__(self, image):
        self.image = image
        self.lacks = image["lacks"]
        self.modules = [{"bias": 0}] + image["modules"]
        self.values = {}  # stack -> sums
        for site in image["sites"]:
            if not self.is_pages(site["stack"]):
                held = self.values.setdefault(site["stack"], dict.fromkeys(
                    ("n_alloc", "b_alloc", "live_n", "live_b", "peak_n", "peak_b"), 0))
                held["n_alloc"] += site["n_alloc"]
                held["b_alloc"] += site["b_alloc"]
                held["live_n"] += site["n_alloc"] - site["n_free"]
                held["live_b"] += site["b_alloc"] - site["b_free"]
                held["peak_n"] += site["peak_blocks"]
                held["peak_b"] += site["peak_bytes"]

    def period(self):
        """Bytes per sample: all of them; or nobody says how many."""
        every = self.image["sampled_every_bytes"]
        return {0: 1, 1: 0}.get(every, every)

    def nodes(self, stack):
        while stack:
            yield self.image["frames"][stack - 1]
            stack = self.image["frames"][stack - 1]["parent"]

    def is_pages(self, stack):
        for node in self.nodes(stack):  # the innermost mark counts
            if node["flags"] & (PAGES | LOST):
                return bool(node["flags"] & PAGES)
        return False

    def sum(self, what):
        return sum(held[what] for held in self.values.values()) % WORD

    def positive(self, what):
        """The sum of what a signed reader takes for positive."""
        return sum(held[what] % WORD for held in self.values.values()
                   if 0 < held[what] % WORD < WORD // 2) % WORD

    def addresses(self, stack):
        return tuple(0 if node["flags"] & CUT else
                     (node["pc"] - (not node["flags"] & EXACT) -
                      self.modules[node["module"]]["bias"]) % WORD
                     for node in self.nodes(stack) if not node["flags"] & (PAGES | LOST)) or (0,)

    def columns(self):
        """pprof's columns and what they must hold: what the capture lacks is none."""
        inuse = "live" if not self.lacks & NO_LIVE else "peak" if not self.lacks & NO_PEAK else None
        columns = {} if self.lacks & NO_TOTAL else {
            "alloc_objects": "n_alloc", "alloc_space": "b_alloc"}
        if inuse:
            columns |= {"inuse_objects": f"{inuse}_n", "inuse_space": f"{inuse}_b"}
        if inuse == "live" and not self.lacks & NO_PEAK:
            columns |= {"peak_objects": "peak_n", "peak_space": "peak_b"}
        return {name: what for name, what in columns.items()
                if not (self.lacks & NO_BLOCKS and name.endswith("objects"))}

    def by_addresses(self, columns):
        found = {}
        for stack, held in self.values.items():
            values = [held[what] % WORD for what in columns]
            if any(values):
                before = found.get(self.addresses(stack), [0] * len(columns))
                found[self.addresses(stack)] = [(a + b) % WORD for a, b in zip(before, values)]
        return found


def equal(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {str(got)[:300]}, not {str(wanted)[:300]}")


def export(options, index, *words, refused=False):
    """What is exported; None where it is refused, as it must be then, in one line."""
    command = [options.tidemark, "export", "-p", f"#{index}", "--to", *words, options.path]
    env = dict(os.environ, TIDEMARK_CACHE="off", DEBUGINFOD_URLS="")
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    if refused and done.returncode in (1, 2) and not done.stdout and done.stderr.count(b"\n") == 1:
        return None
    if done.returncode or refused:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout


def check_pprof(options, index, truth, label):
    columns = truth.columns()
    for words in (["--no-symbols"], []):
        data = export(options, index, "pprof", *words, refused=not columns)
        if not columns:
            continue
        equal(export(options, index, "pprof", *words), data, f"{label}: the second time")
        profile = export_decode.Pprof(data)
        equal([kind for kind, _ in profile.types], list(columns), f"{label}: types")
        equal((profile.default, profile.period), (list(columns)[-1], truth.period()),
              f"{label}: facts")
        equal(profile.sums(), {name: truth.sum(what) for name, what in columns.items()},
              f"{label}: sums of pprof's columns")
        equal(profile.by_addresses(), truth.by_addresses(columns.values()),
              f"{label}: pprof's stacks")


def check_pprof_limits(options, index, truth, label):
    """A smaller file has fewer stacks, and the same sums."""
    if not truth.columns():
        return
    data = export(options, index, "pprof")
    whole = export_decode.Pprof(data)
    n, n_bytes = len(whole.samples), len(gzip.decompress(data))
    for words in (["--max-stacks", str(max(n // 2, 1))], ["--max-stacks", "1"],
                  ["--max-bytes", str(n_bytes * 3 // 4 + 400)]):
        data = export(options, index, "pprof", *words)
        profile = export_decode.Pprof(data)
        equal(profile.sums(), whole.sums(), f"{label}: sums under {words}")
        most = int(words[1])
        if words[0] == "--max-stacks":
            equal(len(profile.samples), min(n, most), f"{label}: samples under {words}")
        elif len(gzip.decompress(data)) > most:
            sys.exit(f"{label}: {len(gzip.decompress(data))} bytes under {words}")
        left_out = len(profile.samples) < n
        equal("[other]" in profile.strings, left_out, f"{label}: [other] under {words}")
    for same in (["--max-stacks", str(max(n, 1))], ["--max-bytes", str(n_bytes + 1000)]):
        equal(export_decode.Pprof(export(options, index, "pprof", *same)).samples, whole.samples,
              f"{label}: samples under {same}")


MEASURES = (("total", "b_alloc", NO_TOTAL), ("count", "n_alloc", NO_TOTAL | NO_BLOCKS),
            ("live", "live_b", NO_LIVE), ("peak", "peak_b", NO_PEAK))


def check_folded(options, index, truth, label):
    for sort, what, needs in MEASURES:
        refused = bool(truth.lacks & needs)
        text = export(options, index, "folded", "--sort", sort, refused=refused)
        if not refused:
            stacks = export_decode.folded(text.decode("utf-8"))
            equal(sum(weight for _, weight in stacks) % WORD, truth.positive(what),
                  f"{label}: sum of folded stacks by {sort}")


def check_speedscope(options, index, truth, label):
    wanted = {"bytes held at the peak": ("peak_b", NO_PEAK),
              "bytes held at the end": ("live_b", NO_LIVE),
              "bytes allocated": ("b_alloc", NO_TOTAL),
              "blocks allocated": ("n_alloc", NO_TOTAL | NO_BLOCKS),
              "temporary blocks": (None, NO_TEMP | NO_BLOCKS)}
    wanted = {name: what for name, (what, needs) in wanted.items() if not truth.lacks & needs}
    nothing = NO_PEAK | NO_LIVE | NO_TOTAL
    refused = truth.lacks & nothing == nothing
    text = export(options, index, "speedscope", refused=refused)
    if refused:
        return
    profiles = export_decode.speedscope(text)
    whole = [name for name in profiles if "," not in name]  # the others are of the same, in parts
    equal(whole, list(wanted), f"{label}: speedscope's profiles")
    equal({name.split(",")[0] for name in profiles}, set(wanted), f"{label}: speedscope's parts")
    for name, what in wanted.items():
        if what:
            equal(sum(weight for _, weight in profiles[name]) % WORD, truth.positive(what),
                  f"{label}: sum of speedscope's {name}")


def check_svg(options, index, truth, label):
    for sort, what, needs in MEASURES:
        refused = bool(truth.lacks & needs)
        text = export(options, index, "svg", "--sort", sort, refused=refused)
        boxes = [] if refused else export_decode.svg(text)
        if boxes and sum(abs(held[what]) for held in truth.values.values()) < WORD // 2:
            export_decode.check_places(boxes)
            equal((boxes[0].title[0], boxes[0].width), ("all", 1180.0), f"{label}: the first box")


def check_dhat(options, index, truth, label):
    refused = bool(truth.lacks & (NO_PEAK | NO_LIVE | NO_TOTAL | NO_BLOCKS | NO_LIFETIMES))
    text = export(options, index, "dhat", refused=refused)
    if refused:
        return
    data = json.loads(text)
    equal(sum(point["tb"] for point in data["pps"]) % WORD,
          sum(held["b_alloc"] for held in truth.values.values() if held["n_alloc"] % WORD) % WORD,
          f"{label}: bytes in DHAT")
    equal(len({tuple(point["fs"]) for point in data["pps"]}), len(data["pps"]),
          f"{label}: points of DHAT with the same frames")


def check(options, label):
    with open(options.path, "rb") as file:
        capture = tide_decode.decode(file.read())
    for index, image in enumerate(capture["images"]):
        truth = Truth(image)
        for one in (check_pprof, check_pprof_limits, check_folded, check_speedscope, check_svg,
                    check_dhat):
            one(options, index, truth, f"{label}, image {index}")
    return len(capture["images"])


TESTS = pathlib.Path(__file__).resolve().parent.parent
FORMATS = {"dhat": True, "pprof": True, "folded": False, "speedscope": True, "svg": True,
           "massif": True, "gperftools": False, "jemalloc": False, "csv": False}  # has room


def run_tidemark(options, *words):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TIDEMARK_CACHE": "off", "DEBUGINFOD_URLS": ""}
    return subprocess.run([options.tidemark, *map(str, words)], capture_output=True, env=env)


def inexact_words(options, path):
    """How the report's sentence on it begins, in a file or behind a note."""
    told = json.loads(run_tidemark(options, "report", "--json", path).stdout)["verdict"]
    complete = next(one["text"] for one in told["sentences"] if one["kind"] == "complete")
    words = complete[0].lower() + complete[1:].rstrip(".")
    return words.replace("read from ", "read from: ", 1)


def check_exactness(options, path, is_exact):
    words, written = inexact_words(options, path), 0
    for word, has_room in FORMATS.items():
        done = run_tidemark(options, "export", "--to", word, "-o", "-", path)
        if done.returncode:
            continue
        written += 1
        body = gzip.decompress(done.stdout) if word == "pprof" else done.stdout
        plain = words.replace("±", "+/-").encode()  # standard error may go anywhere
        equal(words.encode() in body, has_room and not is_exact, f"{path} as {word} says it")
        equal(plain in done.stderr, not has_room and not is_exact, f"{word} of {path}: a note")
    return written


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", required=True)
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    n_images = 0
    with tempfile.TemporaryDirectory() as directory:
        options.path = os.path.join(directory, "x.tide")
        for seed in range(options.seeds):
            subprocess.run([options.make, str(seed), str(seed * 8), options.path], check=True)
            n_images += check(options, f"seed {seed}")
        subprocess.run([options.make, "3", "500", options.path, "12"], check=True)
        n_images += check(options, "a program of 500 stacks")
        whole = (TESTS / "golden/v1_6_let_go.tide").read_bytes()
        cut = pathlib.Path(directory, "cut.tide")
        cut.write_bytes(whole[:-40])
        captures = {TESTS / "golden/dhat.json": True, TESTS / "golden/massif.out": False,
                    TESTS / "fuzz/corpus/heap_text/sampled.heap": False, cut: False}
        n_files = [check_exactness(options, path, exact) for path, exact in captures.items()]
        equal(all(n_files), True, f"files written: {n_files}")
    print(f"{n_images} images, {sum(n_files)} files that say how exact they are")


if __name__ == "__main__":
    main()
