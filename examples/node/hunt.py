# SPDX-License-Identifier: Apache-2.0
"""The node: docs/case-studies/node.md."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import crates
from peers import descendants
from stage import Figure

MIB = 1 << 20
BUILDS = {"node": "glibc's malloc", "node-jemalloc": "jemalloc", "node-mimalloc": "mimalloc"}
TIPSETS, LIMIT = 4000, 256
BLOCKS, BODY_BYTES, HEADER_BYTES = 65536, 3064, 1016
TABLES = 4
SMALL = (r".*KiB.*", r"\d[\d.]* %", r"pid \d+", r"\S*/table_\d,?", r"in \d+ more places?")


def place(stage, capture, function):
    found = stage.json("report", "--json", "--group", "place", capture)["groups"]
    return next(group for group in found if (group["function"] or "").endswith(function))


# ---- 42 MiB and 666 MiB ----

def of_the_source(stage, name, pattern, unit):
    """A number that the page takes from the program."""
    found = re.search(pattern, (stage.home / "src/lib.rs").read_text())
    stage.expect(found, f"lib.rs has no {pattern}")
    stage.figure(name, f"{found[1]} {unit}")


def sum_of_two(stage):
    of_the_source(stage, "small", r"small = .*allocate_memory\((\d+)\)", "MiB")
    of_the_source(stage, "large", r"large = .*allocate_memory\((\d+)\)", "MiB")
    wanted = (42 + 666) * MIB
    for build in BUILDS:
        stage.run("tidemark", "run", "-q", "-o", f"{build}.tide", f"./{build}", "allocate")
        held = place(stage, f"{build}.tide", "node::allocate_memory")
        stage.expect(held["peak_bytes"] == wanted and held["peak_blocks"] == 2, f"{build}: {held}")
        totals = stage.json("report", "--json", "-n", "1", f"{build}.tide")["totals"]
        stage.expect(0 < totals["peak_bytes"] - wanted < 4096, f"{build}: {totals}")
        stage.figure(f"{build}.rest", totals["peak_bytes"] - wanted)
    seen = (r"exited (?s:.*?)peak heap", r"B  at (?s:.*?)at exit", r"churn .*", r"own pages.*",
            r"(?s)complete:.*")
    stage.show("sum", "tidemark", "report", "--units", "bytes", "-n", "1", "node.tide", loose=seen)
    stage.show("jemalloc", "tidemark", "report", "-n", "1", "node-jemalloc.tide", loose=seen)
    stage.figure("wanted", wanted)
    stage.figure("wanted.mib", f"{wanted // MIB} MiB")
    found = stage.json("explain", "--json", "node.tide")["findings"][0]
    stage.expect(found["rule"] == "untouched" and found["saving"]["value"] > 0.95 * wanted,
                 f"{found}")


# ---- an assertion ----

def build_tests(stage):
    """The crate's own tests, as cargo test has them."""
    more = crates.prefixed_jemalloc(stage.build)
    done = subprocess.run(["cargo", "test", "--quiet", "--release", "--locked", "--offline",
                           "--no-run", "--message-format=json", "--test", "heap",
                           "--manifest-path", str(stage.home / "Cargo.toml"), "--target-dir",
                           str(stage.build / "crates")], env={**os.environ, **more},
                          capture_output=True, text=True, timeout=300, check=False)
    made = [json.loads(line).get("executable") for line in done.stdout.splitlines()]
    made = [path for path in made if path and pathlib.Path(path).name.startswith("heap-")]
    stage.expect(made, f"the tests do not build: {done.stderr[-300:]}")
    shutil.copy(made[0], stage.scratch / "heap")


def assertion(stage):
    build_tests(stage)
    stage.env["RUST_BACKTRACE"] = "0"
    told = stage.show("assert", "tidemark", "run", "-q", "-o", "tests.tide", "./heap", "-q",
                      "--ignored", status=101, loose=(r"\(\d+\) panicked", r"finished in .*"))
    wanted = 11 * MIB
    stage.expect(f"{wanted} bytes at once" in told, told)
    stage.expect("next: tidemark report tidemark-heap.tide" in told, told)
    command = "tidemark", "report", "-n", "1", "tidemark-heap.tide"
    row = next(line for line in stage.run(*command).splitlines() if "allocate_memory" in line)
    # With a course in time, if that was looked at often enough.
    stage.quote("site", " ".join(command), row, loose=(r"\d[\d.]* %", r" [▁▂▃▄▅▆▇█⣿ ]+ "))
    held = place(stage, "tidemark-heap.tide", "node::allocate_memory")
    stage.expect(held["peak_bytes"] == wanted, f"{held}")
    stage.show("check", "tidemark", "check", "--max-peak", "10MiB", "-q", "-o", "check.tide", "--",
               "./node", "export", "at-once", status=1, loose=(r"\d[\d.]* %",))
    stage.run("tidemark", "check", "--max-peak", "10MiB", "-q", "-f", "-o", "check.tide", "--",
              "./node", "export", "in-pieces")
    stage.run("tidemark", "run", "-q", "-f", "-o", "tests.tide", "./heap")
    stage.figure("eleven", wanted)
    stage.figure("most", "10 MiB")
    of_the_source(stage, "piece", r"piece = vec!\[0; (\d+) << 10\]", "KiB")


# ---- a cache ----

def cache(stage):
    for build in BUILDS:
        stage.run("tidemark", "run", "-q", "-o", f"{build}-none.tide", f"./{build}", "follow",
                  "none", str(TIPSETS))
        found = stage.json("explain", "--json", f"{build}-none.tide")["findings"][0]
        stage.expect(found["rule"] == "growth" and found["confidence"] == "high" and
                     "node::Tipset::load, src/lib.rs:" in found["sentence"], f"{build}: {found}")
        held = place(stage, f"{build}-none.tide", "node::Tipset::load")
        stage.expect(held["peak_blocks"] == TIPSETS, f"{build}: {held}")
    stage.show("growth", "tidemark", "explain", "node-none.tide",
               loose=(r"saves up to.*? of", r"only grows:(?s:.*?)If it",))
    stage.run("tidemark", "run", "-q", "-o", "node-limit.tide", "./node", "follow", str(LIMIT),
              str(TIPSETS))
    held = place(stage, "node-limit.tide", "node::Tipset::load")
    stage.expect(held["peak_blocks"] == LIMIT + 1, f"{held}")
    found = stage.json("explain", "--json", "node-limit.tide")["findings"]
    stage.expect(all(one["kind"] == "note" for one in found), f"{found}")
    for name in "none", "limit":
        totals = stage.json("report", "--json", "-n", "1", f"node-{name}.tide")["totals"]
        stage.size(f"{name}.peak", totals["peak_bytes"], within=0.05)
    stage.figure("tipsets", TIPSETS)
    stage.figure("limit", LIMIT)
    stage.html("node-none.tide")
    stage.picture("node-none.tide")


# ---- what is no heap ----

@contextlib.contextmanager
def synced(stage, *prefix, build="node"):
    """The process id of a node that has its headers and tables, until the end of the block."""
    child = subprocess.Popen([*prefix, f"./{build}", "sync", "tables"], cwd=stage.scratch,
                             env=stage.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        stage.expect(child.stdout.readline() == "ready\n", "the node does not come")
        pid = str(child.pid)
        if prefix:
            pid = next(str(one) for one in descendants(child.pid)
                       if os.path.basename(os.readlink(f"/proc/{one}/exe")) == build)
        yield pid
    finally:
        child.communicate(timeout=60)


def await_own_look(stage, pid):
    """Until the recording itself has looked where the memory is: what explain says stands on it."""
    for _ in range(60):
        stage.run("tidemark", "ctl", "-f", pid, "dump", "dump.tide")
        told = stage.json("info", "--json", "dump.tide")["images"][0]["rss_by_kind"]
        if told and told[-1]["pinned"] >= 128 * MIB:
            return
        time.sleep(0.5)
    stage.expect(False, "nobody has looked where its memory is")


def residence(stage):
    (stage.scratch / "tables").mkdir()
    for number in range(TABLES):
        with open(stage.scratch / f"tables/table_{number}", "wb") as table:
            table.truncate(128 * MIB // TABLES)
    with synced(stage, "tidemark", "run", "-q", "-o", "sync.tide", "--") as pid:
        found = json.loads(stage.run("tidemark", "maps", "--json", pid))
        said = stage.run("tidemark", "maps", "-n", str(TABLES), pid)
        await_own_look(stage, pid)
    told = f"\n```console\n$ tidemark maps $(pidof node)\n{said.rstrip()}\n```\n"
    stage.figures["maps"] = Figure(told, loose=SMALL + (r"\d+\.\d MiB +in all", r"files, in.*",
                                                       r"\d+\.\d MiB +files"))
    rows, heap = found["rows"], found["heap"]
    chunk = BODY_BYTES + 8  # malloc's own part; both sizes make whole pages of it
    stage.expect(abs(rows["free"] - BLOCKS * chunk) < 65536, f"{rows}")
    stage.expect(heap["pinned"] >= rows["free"] - 8192 and heap["trim"] < MIB, f"{heap}")
    stage.expect(rows["files"] >= 128 * MIB, f"{rows}")
    stage.expect(found["rss_before"] <= found["sum"] <= found["rss_after"], f"{found['sum']}")
    stage.size("free", rows["free"])
    stage.figure("tables", "128 MiB")
    stage.size("headers", BLOCKS * HEADER_BYTES)
    stage.figure("blocks", BLOCKS)
    stage.expect(re.search(r"192\.0 MiB +\d+\.\d % +node::header_of, src/lib.rs:\d+, on 65,", said),
                 said)
    first = stage.json("explain", "--json", "sync.tide")["findings"][0]
    stage.expect(first["rule"] == "fragmented" and "node::header_of" in first["sentence"],
                 f"{first}")


def hunt(stage):
    stage.crate(*BUILDS)
    sum_of_two(stage)
    assertion(stage)
    cache(stage)
    residence(stage)


# ---- the same with other tools ----

def from_heaptrack(_, said):
    peak = re.search(r"peak heap memory consumption: (\S+)", said).group(1)
    return f"a peak of {peak}, {'most by' if 'Tipset::load' in said else 'without'} " \
        "`Tipset::load`, and a curve in its window; no verdict"


def named(said):
    """Who of those that hold the tipsets is in it."""
    found = [name for name in ("Tipset::load", "Chain::load_tipset") if name in said]
    return f"with `{found[0]}`" if found else "without a name of ours"


def from_massif(_, said):
    return f"a curve that climbs, and trees of the heap at some moments, {named(said)}"


def from_gperftools(_, said):
    return f"what is live at each dump, {named(said)}; the curve is to be made from them"


def beside_the_table(stage):
    """The other questions, to the tools that could have an answer."""
    stage.run("valgrind", "--tool=massif", "--massif-out-file=sum.massif", "./node", "allocate")
    useful = re.findall(r"mem_heap_B=(\d+)", (stage.scratch / "sum.massif").read_text())
    stage.run("heaptrack", "-o", "jemalloc", "./node-jemalloc", "follow", "none", str(TIPSETS))
    said = stage.run("heaptrack_print", "jemalloc.zst")
    peak = re.search(r"peak heap memory consumption: (\S+)", said).group(1)
    with synced(stage) as pid:
        maps = pathlib.Path(f"/proc/{pid}/smaps").read_text()
    sizes = [int(size) for path, size in re.findall(r"^\w+-\w+ .*?(\S*)\nSize:.*?\nRss: +(\d+) kB",
                                                    maps, re.M | re.S) if "/table_" in path]
    return (f"Of `node allocate` Massif has {max(map(int, useful)):,} bytes at the peak. Of the "
            f"build with jemalloc heaptrack saw a peak of {peak}: nothing of the cache, and "
            "nothing says "
            "so. Of the tables `/proc/PID/smaps`, added up by a script as the article's, has "
            f"{sum(sizes) // 1024} MiB in {len(sizes)} files; nothing but `maps` here says what of "
            "the heap is free and why it stays.")


def peers(stage):
    import peers as others
    stage.crate("node-dhat", features=("dhat",))
    stage.crate(*BUILDS)
    rows = others.table(
        stage, ["./node", "follow", "none", str(TIPSETS)],
        (("tidemark", lambda _, said: "that it only grows, by which line, how fast, what to do"
          if "only grows" in said else "no growth"),
         ("heaptrack", from_heaptrack), ("dhat-rs", others.of_dhat_rs("Tipset::load")),
         ("massif", from_massif),
         ("gperftools", from_gperftools)), programs={"dhat": "./node-dhat-dhat"})
    return rows + "\n\n" + beside_the_table(stage)
