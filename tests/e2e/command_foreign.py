# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: what the report calls them, what it knows of them, and what it does not."""
import csv
import io
import json
import re

from ground import expect, test

MASSIF = """desc: (none)
cmd: ./grower 1
time_unit: i
snapshot=0
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
snapshot=1
time=500
mem_heap_B=94371840
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=detailed
n1: 94371840 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n0: 94371840 0x20: main (a.c:9)
snapshot=2
time=600
mem_heap_B=104857600
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
"""


HEAPTRACK = """v 10400 3
X ./grower
I 1000 5e
s 8 /bin/one
s 4 main
s 3 a.c
i 1000 1 2 3 9
t 1 0
a 64 1
+ 0
c 5
R 10
+ 0
- 0
c 9
R 20
"""

DHAT = ('{"dhatFileVersion":2,"mode":"%s","verb":"Allocated","bklt":%s,"bkacc":false,"tu":"%s",'
        '"Mtu":"M","tuth":10,"cmd":"./grower","pid":77,"te":9000,"tg":4000,"pps":[{"tb":300,'
        '"tbk":4,%s"fs":[1]}],"ftbl":["[root]","0x30: main (a.c:3)"]}\n')
HELD = '"tl":8000,"mb":200,"mbk":3,"gb":150,"gbk":2,"eb":%d,"ebk":%d,'
HEAP = "heap profile: 2: 80 [%s] @ %s\n2: 80 [%s] @ 0x401010\nMAPPED_LIBRARIES:\n" \
       "00400000-00402000 r-xp 00000000 00:00 1 /bin/grower\n"

# What each file holds besides what its measures say; all else must be absent, and never zero.
FILES = {
    "massif": (MASSIF, {"peak"}),
    "massif.end": (MASSIF.replace("mem_heap_B=104857600", "mem_heap_B=0"), {"peak", "live"}),
    "heaptrack": (HEAPTRACK, {"peak", "live", "total", "blocks", "temp", "sizes", "times", "clock",
                              "rss"}),
    "dhat.us": (DHAT % ("heap", "true", "µs", HELD % (60, 1)),
                {"peak", "live", "total", "blocks", "life", "clock"}),
    "dhat.us.freed": (DHAT % ("rust-heap", "true", "µs", HELD % (0, 0)),
                      {"peak", "live", "total", "blocks", "life", "clock"}),
    "dhat.instrs": (DHAT % ("heap", "true", "instrs", HELD % (60, 1)),
                    {"peak", "live", "total", "blocks"}),
    "dhat.adhoc": (DHAT % ("ad-hoc", "false", "instrs", ""), {"total", "blocks"}),
    "gperftools": (HEAP % ("3: 90", "heapprofile", "3: 90"), {"live", "total", "blocks"}),
    "gperftools.sampled": (HEAP % ("2: 80", "heap_v2/524288", "2: 80"), {"live", "blocks"}),
    "jemalloc": ("heap_v2/0\n  t*: 2: 80 [0: 0]\n@ 0x401010\n  t*: 2: 80 [0: 0]\n"
                 "MAPPED_LIBRARIES:\n00400000-00402000 r-xp 00000000 00:00 1 /bin/grower\n",
                 {"live", "blocks"}),
    "pprof": (None, {"live", "total", "blocks"}),  # made from gperftools'
    "folded": ("main;grow 80\n", {"live"}),
}
# Which keys of JSON and columns of CSV need which of these.
NEEDS = {
    "allocations": ("total", "blocks"), "allocated_bytes": ("total",), "frees": ("total", "blocks"),
    "bytes": ("total",), "freed_bytes": ("total",), "live_blocks": ("live", "blocks"),
    "live_bytes": ("live",), "peak_bytes": ("peak",), "peak_blocks": ("peak", "blocks"),
    "peak_bound_bytes": ("peak",), "peak_ns": ("peak", "clock"), "own_max_bytes": ("peak", "total"),
    "temporary": ("temp",), "temporary_bytes": ("temp",), "mean_life_ns": ("life",),
    "mean_age_ns": ("life",),
    "lifetimes": ("never",), "sizes": ("sizes",), "resizes": ("never",), "moved": ("never",),
    "moved_bytes": ("never",), "resized_old_bytes": ("never",), "resized_new_bytes": ("never",),
    "foreign_frees": ("never",), "thread_slots": ("never",), "first_ns": ("times",),
    "last_ns": ("times",), "start_ns": ("clock",), "end_ns": ("clock",), "duration_ns": ("clock",),
    "rss_at_peak_bytes": ("rss",), "max_rss_bytes": ("rss",), "recorder_ns": ("never",),
    "cpu_ns": ("never",), "maps": ("never",), "mapped_bytes": ("never",), "lost_busy": ("never",),
    "lost_full": ("never",), "cut_stacks": ("never",), "guessed_stacks": ("never",),
    "fork_lost": ("never",), "broken_stacks": ("never",),
}
SORTS = {"peak": "peak", "live": "live", "leak": "live", "total": "total", "temp": "temp",
         "count": "total"}


def written(ground, name, text):
    path = ground.scratch / name
    path.write_text(text or "")
    return path


@test
def massif_that_ends_at_its_peak(ground):
    """Its last snapshot is the largest and has no tree: nothing of it may be lost."""
    path = written(ground, "end.out", MASSIF)
    done = ground.run(ground.tidemark, "report", "--units", "bytes", path)
    expect(re.search(r"peak heap +104,857,600 B\b", done.stdout), done.stdout)
    expect("no stacks at its peak: those of 90.0 MiB are shown" in done.stdout, done.stdout)
    ground.run(ground.tidemark, "export", "--to", "massif", "-o", "again.out", path)
    again = (ground.scratch / "again.out").read_text()
    expect("mem_heap_B=104857600\n" in again and "mem_heap_B=94371840\n" in again, again)


@test
def errors_name_the_file(ground):
    path = written(ground, "some-run.txt", MASSIF)
    for words in (("report", "--sort", "total"), ("report", "--by", "blocks"),
                  ("report", "--group", "thread"), ("report", "--at", "3s"),
                  ("export", "--to", "dhat")):
        done = ground.run(ground.tidemark, *words, path)
        expect(done.status != 0 and "some-run.txt" in done.stderr, f"{words}: {done.stderr}")


@test
def titles_of_files_read_back(ground):
    """A profile that names no program has the file's name; a library is never the program."""
    prog = ground.program("free(kept[0]); return 0;", "grower")
    ground.record("-q", "-o", "x.tide", "--", prog)
    for kind in ("gperftools", "jemalloc", "folded"):
        ground.run(ground.tidemark, "export", "--to", kind, "-o", f"back.{kind}", "x.tide")
        path = ground.scratch / f"back.{kind}"
        lines = path.read_text().splitlines()
        if "MAPPED_LIBRARIES:" in lines:  # the program last, in a list that is not by address
            at = lines.index("MAPPED_LIBRARIES:") + 1
            path.write_text("\n".join(lines[:at] + sorted(lines[at:], key=lambda line: "grower"
                                                          in line)) + "\n")
        title = ground.run(ground.tidemark, "report", path).stdout.splitlines()[0].split(" ")[0]
        wanted = "back.folded" if kind == "folded" else "grower"
        expect(title == wanted, f"{kind}: '{title}', not '{wanted}'")


@test
def numbers_stand_apart(ground):
    """At every width and in every unit a number has a space on both sides."""
    prog = ground.build("large", """
#include <stdlib.h>
int main(void) { void *p[9]; for (int i = 0; i < 9; i++) p[i] = malloc(123456789);
                 free(p[0]); return p[1] == p[2]; }""")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, done.stderr)
    ground.run(ground.tidemark, "export", "--to", "massif", "-o", "x.massif", "x.tide")
    for width in (40, 60, 80, 120, 160):
        for units in ("iec", "si", "bytes"):
            for words in (("report",), ("report", "--details"), ("report", "--stacks"), ("tree",),
                          ("report", "--sort", "leak"), ("report", "--group", "size"), ("info",),
                          ("report", "--group", "thread"), ("diff", "x.tide")):
                for path in ("x.tide", "x.massif"):
                    if path == "x.massif" and "--group" in words:
                        continue
                    extra = () if words == ("info",) else ("--units", units)
                    done = ground.run(ground.tidemark, *words, *extra, path,
                                      env={**ground.env, "COLUMNS": str(width)})
                    expect(done.status in (0, 1), f"{words} {path}: {done.status} {done.stderr}")
                    run_together = re.search(r"[A-Za-z)→>]\d[\d,]{5,} ?B\b|\d\n +(?:B|%)|"
                                             r"\d [KMG]?i?B[A-Za-z0-9]", done.stdout)
                    expect(not run_together, f"{words} at {width}, {units}: "
                           f"'{run_together and run_together.group()}' in\n{done.stdout}")


def members(value):
    """Every key of a document, however deep, with its value; but for what was asked."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "question":
                yield key, inner
                yield from members(inner)
    if isinstance(value, list):
        for inner in value:
            yield from members(inner)


def check_json(name, holds, report):
    for key, value in members(report):
        lacking = set(NEEDS.get(key, ())) - holds
        expect(not lacking, f"{name}: {key} is {value}, and the file holds no {lacking}")
    found = set(report["site_defaults"]) | {"stack", "weight"} | set(report["totals"])
    for key, needs in NEEDS.items():
        expect(set(needs) - holds or key in found or key in ("start_ns", "end_ns", "duration_ns",
                                                             "allocated_bytes", "peak_ns"),
               f"{name}: {key} is known and not told")


def check_csv(name, holds, text):
    for row in csv.DictReader(io.StringIO(text)):
        for key, value in row.items():
            lacking = set(NEEDS.get(key, ())) - holds
            expect(not lacking or value == "", f"{name}: column {key} is '{value}'")


@test
def what_a_format_lacks_is_absent(ground):
    """Every importer, every measure: in JSON, CSV, text, a merged capture and a stored one."""
    for name, (text, holds) in FILES.items():
        path = written(ground, name, text)
        if text is None:
            ground.run(ground.tidemark, "export", "--to", "pprof", "-f", "-o", path, "gperftools")
        ground.run(ground.tidemark, "symbolize", "-f", "-o", f"{name}.tide", path)
        for file in (path, ground.scratch / f"{name}.tide"):
            check_json(name, holds, ground.report(file))
            check_json(name, holds, ground.report(file, "--group", "function"))
        for sort, need in SORTS.items():
            units = ("blocks",) if sort in ("count", "temp") else ("bytes",)
            known = need in holds and (units == ("bytes",) or "blocks" in holds)
            for form in ((), ("--json",), ("--csv",), ("--md",), ("--details",), ("--stacks",)):
                done = ground.run(ground.tidemark, "report", "--sort", sort, *form, path)
                expect((done.status == 0) == known, f"{name} {sort}: {done.status} {done.stderr}")
                expect(known or name in done.stderr, f"{name} {sort}: {done.stderr}")
                if known and form == ("--json",):
                    check_json(name, holds, json.loads(done.stdout))
                if known and form == ("--csv",):
                    check_csv(name, holds, done.stdout)
        shown = ground.run(ground.tidemark, "report", "--details", path).stdout
        for word, need in (("peak heap", "peak"), ("at the end", "live"), ("churn", "total"),
                           ("lived ", "life"), ("sizes ", "sizes"), ("never freed", "live"),
                           ("RSS", "rss"), ("allocation", "total"), ("ran for", "clock")):
            expect(need in holds or word not in shown, f"{name}: '{word}' in\n{shown}")


@test
def dhat_lifetimes(ground):
    """8 ms over four blocks is 2 ms each; in instructions there is no time to tell."""
    for name, said in (("dhat.us", "mean 2.00 ms, with blocks not freed"),
                       ("dhat.us.freed", "mean 2.00 ms\n")):
        path = written(ground, name, FILES[name][0])
        site = ground.report(path)["sites"][0]
        expect(site["mean_life_ns"] == 2000000, f"{name}: {site['mean_life_ns']}")
        shown = ground.run(ground.tidemark, "report", "--details", path).stdout
        expect(said in " ".join(shown.split("  ")), shown)
        ground.run(ground.tidemark, "export", "--to", "dhat", "-f", "-o", "again.json", path)
        again = json.loads((ground.scratch / "again.json").read_text())
        expect([point["tl"] for point in again["pps"]] == [8000], f"{again['pps']}")
    path = written(ground, "dhat.instrs", FILES["dhat.instrs"][0])
    expect("mean_life_ns" not in ground.report(path)["sites"][0], "a life without a clock")
    done = ground.run(ground.tidemark, "export", "--to", "dhat", path)
    expect(done.status != 0 and "how long blocks lived" in done.stderr, done.stderr)


def pprof_bytes(period):
    """One stack of 4 blocks, 4,096 bytes, as Go writes it: with the period of its samples."""
    def field(number, value):
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        return varint(number << 3 | 2) + varint(len(value)) + value

    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    names = ["", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space",
             "space", "main.grow", "grow.go"]
    out = b"".join(field(1, field(1, names.index(what)) + field(2, names.index(unit)))
                   for what, unit in (("alloc_objects", "count"), ("alloc_space", "bytes"),
                                      ("inuse_objects", "count"), ("inuse_space", "bytes")))
    out += field(2, field(1, 1) + b"".join(field(2, n) for n in (4, 4096, 4, 4096)))
    out += field(4, field(1, 1) + field(4, field(1, 1) + field(2, 7)))
    out += field(5, field(1, 1) + field(2, 8) + field(4, 9))
    out += b"".join(field(6, name.encode()) for name in names)
    if period is not None:
        out += field(11, field(1, 7) + field(2, 4)) + (field(12, period) if period else b"")
    return out


def sampled_files(ground):
    """Every kind of sampled file, what its samples stand for, and files that count everything."""
    jemalloc = FILES["jemalloc"][0]
    yield written(ground, "sampled.heap", FILES["gperftools.sampled"][0]), 524288
    yield written(ground, "je.heap", jemalloc.replace("heap_v2/0", "heap_v2/524288")), 524288
    yield written(ground, "counted.heap", FILES["gperftools"][0]), 0
    for name, period, every in (("go.pb", 524288, 524288), ("je.pb", 0, None), ("all.pb", 1, 0),
                                ("old.pb", None, 0)):
        path = ground.scratch / name
        path.write_bytes(pprof_bytes(period))
        yield path, every


# A number with its unit, or a share, that stands under no sign for what is not exact.
BARE = re.compile(r"(?<![≈~] )(?<![\d.,])\d[\d.,]*(?: [KMGT]?i?B\b| %)")


@test
def estimates_say_so_on_every_screen(ground):
    for path, every in sampled_files(ground):
        for words in (("report",), ("report", "--sort", "leak", "--details"), ("tree",),
                      ("report", "--md"), ("report", "--stacks=2"), ("report", "--by", "blocks"),
                      ("diff", path), ("diff", "--md", path)):
            text = ground.run(ground.tidemark, *words, path).stdout
            text = re.sub(r"sampled every \d+ bytes", "", text)
            bare = [found for found in BARE.findall(text) if found not in ("0 B", "0 %")]
            expect(bool(text), f"{words} {path.name}: nothing")
            expect("≈" in text or "--md" in words or "diff" in words or every == 0, text)
            if every == 0:
                expect("≈" not in text and "estimated" not in text, f"{words} {path.name}: {text}")
            else:
                expect(not bare, f"{words} {path.name}: {bare} in {text}")
        info = ground.run(ground.tidemark, "info", path).stdout
        expect(("≈" in info) == (every != 0), info)
        svg = ground.run(ground.tidemark, "export", "--to", "svg", "-o", "-", path).stdout
        expect(("≈ " in svg) == (every != 0), svg[:2000])


@test
def estimates_say_so_to_machines(ground):
    for path, every in sampled_files(ground):
        sampled = None if every == 0 else {"every_bytes": every}
        report = json.loads(ground.run(ground.tidemark, "report", "--json", path).stdout)
        tree = json.loads(ground.run(ground.tidemark, "tree", "--json", path).stdout)
        info = json.loads(ground.run(ground.tidemark, "info", "--json", path).stdout)
        diff = json.loads(ground.run(ground.tidemark, "diff", "--json", path, path).stdout)
        for of in (report, tree, info["images"][0], diff["before"], diff["after"]):
            exactness = of["exactness"]
            expect(exactness["sampled"] == sampled, exactness)
            expect(exactness["live"]["is"] == ("estimated" if sampled else "exact"), exactness)
            expect(exactness["peak"]["is"] == "unknown", exactness)
        has = bool(every)
        expect(("samples" in report["totals"]) == has, report["totals"])
        expect(all(("samples" in site or "samples" in report["site_defaults"]) == has
                   for site in report["sites"]), report["sites"])
        for words in (("report", "--csv"), ("tree", "--csv"), ("diff", "--csv", path)):
            rows = list(csv.DictReader(
                io.StringIO(ground.run(ground.tidemark, *words, path).stdout)))
            for row in rows:
                told = [row[key] for key in row if key.endswith("exactness")]
                expect(len(told) == 1 + ("diff" in words), row)
                expect(all(("live:estimated" in how) == (every != 0) for how in told), row)
                expect(all((how == "exact") == (every == 0) for how in told), row)
            expect(rows or "diff" in words, f"{words}: nothing")
            if words[0] == "report":
                expect((rows[0]["samples"] != "") == has, rows)


@test
def estimates_say_so_between_two_files(ground):
    both = [written(ground, f"{n}.heap", FILES["gperftools.sampled"][0].replace(
        "2: 80", f"{n}: {n}00000")) for n in (20, 300)]
    for words in (("explain",), ("diff",), ("diff", "--md")):
        text = " ".join(ground.run(ground.tidemark, *words, *both).stdout.split())
        bare = [found for found in BARE.findall(text) if found not in ("0 B", "0 %")]
        expect("≈" in text or "--md" in words, text)
        expect(not bare, f"{words}: {bare} in {text}")
    text = " ".join(ground.run(ground.tidemark, "explain", *both).stdout.split())
    expect(re.search(r"≈ [\d,]+ blocks of ≈ [\d.]+ KiB each, before ≈ [\d,]+ of ≈ ", text), text)


@test
def bounds_are_in_tables_for_machines(ground):
    """Of processes that were added up: peaks are at most so much, what was allocated is exact."""
    done = ground.record("-q", "-o", "one.tide", "--", ground.program("return 0;"))
    expect(done.status == 0, done.stderr)
    ground.run(ground.tidemark, "merge", "-o", "sum.tide", "one.tide", "one.tide")
    for name, told in (("one.tide", "exact"), ("sum.tide", "peak:at_most:")):
        for words in (("report", "--csv"), ("tree", "--csv"), ("export", "--to", "csv", "-o", "-")):
            out = ground.run(ground.tidemark, *words, name).stdout
            rows = list(csv.DictReader(io.StringIO(out)))
            expect(rows and all(row["exactness"].startswith(told) for row in rows), out)
            expect(all("allocated" not in row["exactness"] for row in rows), out)


@test
def estimates_outlive_every_way_through_a_file(ground):
    """Saved with names, merged with what was counted, exported and read again: still estimates."""
    path, every = next(sampled_files(ground))
    ground.run(ground.tidemark, "symbolize", "-o", "named.tide", path)
    ground.run(ground.tidemark, "merge", "-o", "both.tide", path, path)
    counted = written(ground, "counted.heap", FILES["gperftools"][0])
    ground.run(ground.tidemark, "merge", "-o", "mixed.tide", path, counted)
    ground.run(ground.tidemark, "export", "--to", "pprof", "-o", "again.pb", path)
    for name, expected in (("named.tide", every), ("both.tide", every), ("mixed.tide", None),
                           ("again.pb", every)):
        done = ground.run(ground.tidemark, "report", "--json", name)
        expect(done.status == 0, done.stderr)
        exactness = json.loads(done.stdout)["exactness"]
        expect(exactness["sampled"] == {"every_bytes": expected}, f"{name}: {exactness}")
        expect("≈" in ground.run(ground.tidemark, "report", name).stdout, name)
