# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: what the report calls them, what it knows of them, and what it does not."""
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


def written(ground, name, text):
    path = ground.scratch / name
    path.write_text(text)
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
