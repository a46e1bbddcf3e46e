#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of the real tools, read by tidemark.

  import_test.py TIDEMARK PROGRAM

Records one deterministic program with tidemark, heaptrack, valgrind's DHAT and massif, and two that
profile themselves, with dhat-rs and jemalloc_pprof. What tidemark reads of each file is compared
with what the tool's own reader prints, and with its own capture: allocations, bytes, peak, what was
left, and the places. Where they differ because the other tool errs, the test says why and asserts
the error. A tool that is not installed is skipped (in CI: a failure).
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TESTS_DIR = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS_DIR), str(TESTS_DIR / "e2e")]
import crates  # noqa: E402
import report_json  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TIDEMARK, PROGRAM = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
POOL_BYTES = 72704  # libstdc++'s emergency pool: heaptrack's library brings it into every program


class Missing(Exception):
    """Something that the test needs is not to be had."""


def run(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd,
                          env=dict(os.environ, TIDEMARK_CACHE="off"))
    if done.returncode:
        raise AssertionError(f"{command[0]}: status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def report_at(cwd, path, *options):
    return report_json.loads(run(TIDEMARK, "report", "--json", "--all", *options, path, cwd=cwd))


def report(path, *options):
    return report_at(None, path, *options)


def places(found, measure):
    """{function: sum} of the frames that are blamed, ours alone."""
    sums = {}
    for site in found["sites"]:
        if site["culprit"] is None or site["kind"] != "heap":
            continue
        name = site["frames"][site["culprit"]]["function"] or "?"
        if site.get(measure):
            sums[name] = sums.get(name, 0) + site[measure]
    return sums


def check(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found}, not {wanted}")


def near(what, found, printed):
    """A number printed as 122.30K: within what rounding leaves open."""
    match = re.fullmatch(r"([\d.]+)([KMG]?)B?", printed)
    unit = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[match[2]]
    if abs(found - float(match[1]) * unit) > 0.0051 * unit:
        raise AssertionError(f"{what}: {found}, but its own reader prints {printed}")


def without_pool(sums):
    """Of heaptrack's places: not the pool's, which is in libstdc++ or the loader, named or not."""
    return {name: value for name, value in sums.items()
            if name in ("small", "medium", "large", "grown", "churn", "leak", "main")}


def heaptrack(scratch, own, raw):
    name = f"{scratch}/heaptrack{'-raw' if raw else ''}"
    run("heaptrack", *(["--raw"] if raw else []), "-o", name, PROGRAM)
    path = next(str(path) for path in pathlib.Path(scratch).glob(f"{pathlib.Path(name).name}.*"))
    found = report(path, "--sort", "total")
    totals, ours = found["totals"], own["totals"]
    check("allocations", totals["allocations"], ours["allocations"] + 1)
    check("bytes", totals["allocated_bytes"], ours["allocated_bytes"] + POOL_BYTES)
    check("peak", totals["peak_bytes"], ours["peak_bytes"] + POOL_BYTES)
    check("left", totals["live_bytes"], ours["live_bytes"])
    for measure in ("bytes", "allocations", "peak_bytes", "live_bytes"):
        check(measure, without_pool(places(found, measure)), places(own, measure))
    if raw:
        # Its events have pointers. A resize is a free and an allocation: the first half of grown()
        # is freed right behind its allocation, which to us is no free of a temporary.
        check("temporary", totals["temporary"], ours["temporary"] + 1)
        return
    printed = run("heaptrack_print", path)
    shown = dict(re.findall(r"^([a-zA-Z ()]+): ([\d.]+[KMG]?B?)", printed, re.M))
    check("calls", totals["allocations"], int(shown["calls to allocation functions"]))
    near("peak", totals["peak_bytes"], shown["peak heap memory consumption"])
    near("leaked", totals["live_bytes"], shown["total memory leaked"])
    # heaptrack_print marks "no allocation before" with 0, which is also the number of its first
    # allocation, the pool: when that is freed at exit it counts as temporary.
    check("temporary", totals["temporary"] + 1, int(shown["temporary memory allocations"]))


def heaptrack_raw(scratch, own):
    heaptrack(scratch, own, True)


def heaptrack_interpreted(scratch, own):
    heaptrack(scratch, own, False)


def heaptrack_rust(scratch, own):
    """heaptrack leaves Rust's names mangled (v0) or takes them for C++: read, they are ours."""
    if not shutil.which("heaptrack"):
        raise Missing("no heaptrack")
    for flags in ([], ["-Csymbol-mangling-version=v0"]):
        program, tide = f"{scratch}/closures", f"{scratch}/closures.tide"
        run("rustc", "--edition=2021", "-g", "-O", *flags, "-o", program,
            str(HERE / "programs/closures.rs"))
        run(TIDEMARK, "run", "-q", "-f", "-o", tide, program)
        run("heaptrack", "-o", f"{program}{len(flags)}", program)
        path = next(str(path) for path in pathlib.Path(scratch).glob(f"closures{len(flags)}.*"))
        ours, found = (places(report(name), "live_bytes") for name in (tide, path))
        wanted = {name: n for name, n in ours.items() if name.startswith("closures::")}
        check("bytes in closures", sum(wanted.values()), 64 * 20000 + 2 * sum(range(64)))
        check("places", {name: found.get(name) for name in wanted}, wanted)
        names = [frame["function"] or "" for site in report(path)["sites"]
                 for frame in site["frames"]]
        check("mangled", [name for name in names if re.match("_R|_Z", name) or "$" in name], [])


def dhat(scratch, own):
    path = f"{scratch}/dhat.json"
    run("valgrind", "--tool=dhat", f"--dhat-out-file={path}", PROGRAM)
    found = report(path, "--sort", "total")
    totals, ours = found["totals"], own["totals"]
    with open(path) as file:
        points = json.load(file)["pps"]
    for ours_name, key in (("allocated_bytes", "tb"), ("allocations", "tbk"), ("peak_bytes", "gb"),
                           ("peak_blocks", "gbk"), ("live_bytes", "eb"), ("live_blocks", "ebk")):
        check(f"its own sum of {key}", totals[ours_name], sum(point[key] for point in points))
        check(ours_name, totals[ours_name], ours[ours_name])
    # DHAT leaves a resized block where it was allocated: one function here, so the same place.
    for measure in ("bytes", "allocations", "peak_bytes", "live_bytes"):
        check(measure, places(found, measure), places(own, measure))
    # Its own "max" of a point follows the peak of the whole heap: churn() and the second large()
    # come later, so valgrind says that they never held anything.
    wrong = [point for point in points if point["mb"] == 0 and point["tb"] > 0]
    check("points whose maximum valgrind does not know", len(wrong) >= 1, True)


# What programs/copies.c does: bytes and copies by function.
COPIED = {"copy_blocks": (1045, 10), "move_blocks": (200, 4), "copy_text": (60, 5)}


def copies(scratch, mode):
    """The program of copies and events under a mode of DHAT's: the report, and DHAT's points."""
    program, path = f"{scratch}/copies", f"{scratch}/{mode}.json"
    run("cc", "-g", "-O1", "-fno-builtin", "-o", program, str(HERE / "programs/copies.c"))
    run("valgrind", "--tool=dhat", f"--mode={mode}", f"--dhat-out-file={path}", program)
    with open(path) as file:
        points = json.load(file)["pps"]
    found = report(path)
    check("origin", found["image"]["origin"], f"DHAT ({mode})")
    check("lacks", {"peak", "live", "lifetimes"} <= set(found["image"]["lacks"]), True)
    for name, key in (("allocated_bytes", "tb"), ("allocations", "tbk")):
        check(f"its own sum of {key}", found["totals"][name], sum(point[key] for point in points))
    return found, run(TIDEMARK, "report", path)


def dhat_copy(scratch, own):
    found, text = copies(scratch, "copy")
    for measure, which in (("bytes", 0), ("allocations", 1)):
        sums = places(found, measure)  # the loader copies, too
        check(measure, {name: sums.get(name) for name in COPIED},
              {name: pair[which] for name, pair in COPIED.items()})
    check("what it says", "is a copy made" in " ".join(text.split()), True)


def dhat_ad_hoc(scratch, own):
    found, text = copies(scratch, "ad-hoc")
    check("weights", places(found, "bytes"), {"event": 1 + 2 + 3})
    check("events", places(found, "allocations"), {"event": 3})
    check("what it says", "is an event" in " ".join(text.split()), True)


def build_crate(name):
    try:
        return str(crates.build_crate(f"tests/interop/{name}", pathlib.Path(TIDEMARK).parent))
    except crates.Missing as why:
        raise Missing(str(why)) from None
    except crates.Broken as why:
        raise AssertionError(str(why)) from None


def printed_by_dhat_rs(program, mode, path):
    """What it says of itself at the end: {moment: (amount, number)}."""
    done = subprocess.run([program, mode, path], capture_output=True, text=True, timeout=60)
    rows = re.findall(r"^dhat: (.+?): +([\d,]+) \w+ in ([\d,]+) ", done.stderr, re.M)
    return {row[0]: tuple(int(word.replace(",", "")) for word in row[1:]) for row in rows}


def dhat_rs(scratch, own):
    program, path, tide = build_crate("dhat_rs"), f"{scratch}/rs.json", f"{scratch}/rs.tide"
    said = printed_by_dhat_rs(program, "heap", path)
    found = report(path, "--sort", "total")
    totals = found["totals"]
    check("origin", found["image"]["origin"], "DHAT (rust-heap)")
    check("total", (totals["allocated_bytes"], totals["allocations"]), said["Total"])
    check("peak", (totals["peak_bytes"], totals["peak_blocks"]), said["At t-gmax"])
    check("end", (totals["live_bytes"], totals["live_blocks"]), said["At t-end"])
    check("a clock", "clock" in found["image"]["lacks"], False)
    # dhat-rs starts in main and counts from there on; we count the run time's own blocks as well.
    run(TIDEMARK, "run", "-q", "-f", "-o", tide, program, "plain")
    ours = report(tide, "--sort", "total")
    names = [f"dhat_shape::{name}" for name in ("keep", "churn", "grow", "leak")]
    for measure in ("bytes", "allocations", "peak_bytes", "live_bytes"):
        theirs, own_sums = places(found, measure), places(ours, measure)
        check(measure, {name: theirs.get(name, 0) for name in names},
              {name: own_sums.get(name, 0) for name in names})
    check("the truth", [places(found, "bytes").get(name) for name in names],
          [50 * 100, 200 * 24, sum(32 << i for i in range(9)), 4321])


def dhat_rs_ad_hoc(scratch, own):
    path = f"{scratch}/rs-ad-hoc.json"
    said = printed_by_dhat_rs(build_crate("dhat_rs"), "ad-hoc", path)
    found = report(path)
    check("total", (found["totals"]["allocated_bytes"], found["totals"]["allocations"]),
          said["Total"])
    check("weights", places(found, "bytes"), {"dhat_shape::event": 12})
    check("live", "live_bytes" in found["totals"], False)


def jemalloc_pprof(scratch, own):
    """Bytes of what is live; started, like cargo does, by a path that holds in one directory."""
    program, path = build_crate("jemalloc_rs"), f"{scratch}/je.pb.gz"
    here = pathlib.Path(program).parent
    run("./jemalloc-shape", path, cwd=here)
    found = report_at(here, path)
    check("lacks", {"peak", "total", "blocks"} <= set(found["image"]["lacks"]), True)
    held = places(found, "live_bytes")
    names = [f"jemalloc_shape::{name}" for name in ("small", "large", "churn")]
    check("the truth", [held.get(name) for name in names], [4000 * 1024, 7 * 262144, None])
    check("top", max(held, key=held.get), names[0])
    check("sum", found["totals"]["live_bytes"], sum(site["live_bytes"] for site in found["sites"]))
    elsewhere = report_at(scratch, path)
    check("without names", elsewhere["totals"], found["totals"])


def massif(scratch, own):
    path = f"{scratch}/massif.out"
    run("valgrind", "--tool=massif", f"--massif-out-file={path}", "--time-unit=B",
        "--detailed-freq=1", "--peak-inaccuracy=0.0", "--threshold=0.0", PROGRAM)
    found = report(path)
    check("origin", found["image"]["origin"].split(" (")[0], "massif.out")
    check("lacks", {"total", "blocks", "temporary"} <= set(found["image"]["lacks"]), True)
    check("peak", found["totals"]["peak_bytes"], own["totals"]["peak_bytes"])
    check("places", places(found, "peak_bytes"), places(own, "peak_bytes"))
    rows = re.findall(r"^ +\d+ +([\d,]+) +([\d,]+) +([\d,]+) +[\d,]+ +[\d,]+$",
                      run("ms_print", path), re.M)
    check("largest row of ms_print", max(int(row[2].replace(",", "")) for row in rows),
          found["totals"]["peak_bytes"])
    refused = subprocess.run([TIDEMARK, "report", "--sort", "total", path], capture_output=True,
                             text=True)
    check("status", refused.returncode != 0 and "does not hold \"total\"" in refused.stderr, True)


def massif_at_the_end(scratch, own):
    """A program that ends at its peak: massif marks an earlier snapshot as the peak, or none."""
    path = f"{scratch}/end.out"
    run("valgrind", "--tool=massif", f"--massif-out-file={path}", "--time-unit=B", "perl", "-e",
        "my @a; push @a, 'x' x 5000 for 1 .. 400; use POSIX; POSIX::_exit(0)")
    totals = report(path)["totals"]
    text = pathlib.Path(path).read_text()
    most = max(int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", text, re.M))
    check("the peak is the largest snapshot", totals["peak_bytes"], most)
    again = f"{scratch}/end.again.out"
    run(TIDEMARK, "export", "--to", "massif", "-f", "-o", again, path)
    check("sizes written again", {int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", text, re.M)} -
          {int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", pathlib.Path(again).read_text(),
                                      re.M)}, set())


def every_verb(scratch, own):
    """What takes a capture takes these; two of different kinds can be compared."""
    for path in (f"{scratch}/dhat.json", f"{scratch}/massif.out"):
        run(TIDEMARK, "info", path)
        run(TIDEMARK, "tree", path)
        run(TIDEMARK, "export", "--to", "folded", path)
        run(TIDEMARK, "symbolize", "-o", f"{path}.tide", path)
        check("stored", places(report(f"{path}.tide"), "peak_bytes"),
              places(report(path), "peak_bytes"))
    run(TIDEMARK, "diff", f"{scratch}/massif.out", f"{scratch}/dhat.json")


def added(*sums):
    """Sums of {name: value}."""
    return {name: sum(part.get(name, 0) for part in sums) for name in set().union(*sums)}


def merged(scratch, own):
    """Files of two tools and ours as one: what all hold is added, the rest is absent."""
    dhat_file, massif_file, out = (f"{scratch}/{name}" for name in ("dhat.json", "massif.out",
                                                                    "sum.tide"))
    run(TIDEMARK, "merge", "-f", "-o", out, dhat_file, f"{scratch}/own.tide")
    found, theirs = report(out, "--sort", "total"), report(dhat_file, "--sort", "total")
    check("origin", found["image"]["origin"], "sum of DHAT (heap), tidemark")
    for key in ("allocations", "allocated_bytes", "live_bytes", "peak_bytes"):
        check(key, found["totals"][key], theirs["totals"][key] + own["totals"][key])
    for key in ("bytes", "live_bytes", "peak_bytes"):
        check(key, places(found, key), added(places(theirs, key), places(own, key)))
    check("lacks", found["image"]["lacks"], theirs["image"]["lacks"])
    check("temporary", "temporary" in found["totals"], False)
    run(TIDEMARK, "merge", "-f", "-o", out, massif_file, dhat_file, f"{scratch}/own.tide")
    found = report(out)
    check("peak of three", found["totals"]["peak_bytes"],
          2 * own["totals"]["peak_bytes"] + report(massif_file)["totals"]["peak_bytes"])
    check("blocks", "blocks" in found["image"]["lacks"], True)


TESTS = ((heaptrack_interpreted, "heaptrack"), (heaptrack_raw, "heaptrack"),
         (heaptrack_rust, "rustc"), (dhat, "valgrind"),
         (dhat_copy, "valgrind"), (dhat_ad_hoc, "valgrind"), (dhat_rs, "cargo"),
         (dhat_rs_ad_hoc, "cargo"), (jemalloc_pprof, "cargo"),
         (massif, "valgrind"), (massif_at_the_end, "valgrind"), (every_verb, "valgrind"),
         (merged, "valgrind"))


def main():
    failed = skipped = 0
    with tempfile.TemporaryDirectory() as scratch:
        run(TIDEMARK, "run", "-q", "-o", f"{scratch}/own.tide", PROGRAM)
        own = report(f"{scratch}/own.tide", "--sort", "total")
        for test, tool in TESTS:
            try:
                if not shutil.which(tool):
                    raise Missing(f"no {tool}")
                test(scratch, own)
                print(f"{test.__name__}: ok")
            except Missing as why:
                skipped += 1
                failed += os.environ.get("CI") == "true"
                print(f"{test.__name__}: skipped, {why}")
            except (AssertionError, KeyError, StopIteration, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{test.__name__}: FAILED: {error!r}")
    if failed:
        return 1
    return 77 if skipped == len(TESTS) else 0


if __name__ == "__main__":
    sys.exit(main())
