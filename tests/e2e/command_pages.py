# SPDX-License-Identifier: Apache-2.0
"""What the program mapped itself: by stack, with maxima, as table and as tree."""
import csv
import glob
import io

import command_foreign
import record
import report_json
from ground import expect, test

PAGE = 4096
# All through one function, from three stacks: 300 pages three times over, one at a time; 200 pages,
# half of them given back; 7 pages of a file. And 10 pages by the break, of which 4 remain.
PROGRAM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define PAGE 4096
#define SITE __attribute__((noipa))
void *volatile kept;
SITE char *map(size_t n, int fd)
{
  char *at = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
                  fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) _exit(9);
  return at;
}
SITE void scratch(void) { munmap(map(300, -1), 300 * PAGE); __asm__(""); }
SITE void arena(void) { munmap(map(200, -1), 100 * PAGE); __asm__(""); }
SITE void of_file(void)
{
  int fd = open("mapped.bin", O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, 7 * PAGE) != 0) _exit(8);
  map(7, fd);
  close(fd);
}
SITE void up(void) { sbrk(10 * PAGE); __asm__(""); }
SITE void down(void) { sbrk(-6 * PAGE); __asm__(""); }
int main(void)
{
  for (volatile int i = 0; i < 3; i++) scratch();
  arena(), of_file();
  up(), down();
  kept = malloc(100);
  return 0;
}"""
# By who called the place, or by the place: own maximum, live at the end, in all, mappings.
TRUTH = {"scratch": (300, 0, 900, 3), "arena": (200, 100, 200, 1), "up": (10, 4, 10, 1),
         "of_file": (7, 7, 7, 1)}
AT_ONCE = 300
KEYS = ("own_max_bytes", "live_bytes", "bytes", "allocations")


def capture(ground):
    done = ground.record("-f", "-o", "x.tide", "--", ground.build("prog", PROGRAM))
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    # More than the heap ever held, and said so with what to do next.
    expect("next:  tidemark report --group pages x.tide" in done.stderr, done.stderr)
    return "x.tide"


def who(row):
    return row["function"] if row["function"] == "up" else row["caller"]["function"]


def numbers(row):
    return tuple(row[key] // (1 if key == "allocations" else PAGE) for key in KEYS)


def show(ground, verb, *words):
    done = ground.run(ground.tidemark, verb, "--group", "pages", *words, "x.tide")
    expect(done.status == 0 and not done.stderr, f"{words}: {done.status} {done.stderr}")
    return done.stdout


@test
def pages_by_stack(ground):
    tide = capture(ground)
    found = ground.report(tide, "--group", "pages")
    expect({who(row): numbers(row) for row in found["groups"]} == TRUTH, f"{found['groups']}")
    expect([who(row) for row in found["groups"]] == list(TRUTH), f"{found['groups']}")
    expect(not any(row["own_max_is_bound"] for row in found["groups"]), f"{found['groups']}")
    expect(all(row["file"].endswith("<stdin>") and row["line"] for row in found["groups"]),
           f"{found['groups']}")
    sums = [sum(row[i] for row in TRUTH.values()) for i in range(4)]
    expect(found["whole"] == found["wanted"] == sums[0] * PAGE, f"{found['whole']}")
    expect({site["kind"] for site in found["sites"]} == {"pages"}, "sites of the heap")
    expect(found["question"]["of"] == "pages", f"{found['question']}")
    pages = found["pages"]
    expect(pages["peak_bytes"] == AT_ONCE * PAGE and pages["live_bytes"] == sums[1] * PAGE and
           pages["maps"] == sums[3], f"{pages}")
    # The heap has its own numbers, with and without.
    plain = ground.report(tide)
    expect(plain["totals"] == found["totals"] and plain["totals"]["allocations"] == 1,
           f"{found['totals']}")
    expect("of" not in plain["question"] and plain["whole"] == 100, f"{plain['question']}")


@test
def pages_of_every_rank(ground):
    tide = capture(ground)
    for words, i, unit in (((), 0, PAGE), (("--sort", "live"), 1, PAGE),
                           (("--sort", "leak"), 1, PAGE), (("--sort", "total"), 2, PAGE),
                           (("--sort", "count"), 3, 1)):
        wanted = sorted((row[i] * unit for row in TRUTH.values() if row[i]), reverse=True)
        found = ground.report(tide, "--group", "pages", *words)
        expect([row["weight"] for row in found["groups"]] == wanted, f"{words}: {found['groups']}")
        rows = list(csv.DictReader(io.StringIO(show(ground, "report", "--csv", *words))))
        weights = [int(row["weight"]) for row in rows if row["function"] != "(rest)"]
        expect(weights == wanted, f"{words}: {rows}")
        for column, k in (("own_max_bytes", 0), ("live_bytes", 1), ("allocated_bytes", 2)):
            summed = sum(int(row[column]) for row in rows)
            expect(summed == PAGE * sum(row[k] for row in TRUTH.values()), f"{words}: {column}")
    found = ground.report(tide, "--group", "pages", "--function", "^arena$")
    expect([who(row) for row in found["groups"]] == ["arena"], f"{found['groups']}")


@test
def pages_as_text(ground):
    capture(ground)
    text = show(ground, "report")
    lines = text.splitlines()
    expect("1.2 MiB  at most at once; 444.0 KiB at the end" in text, text)
    expect("in 6 mappings from 4" in " ".join(text.split()), text)
    expect(any("by own maximum (at the end, in all, mappings)" in line for line in lines), text)
    top = next(line for line in lines if "%" in line)
    expect("1.2 MiB" in top and "0 B, 3.5 MiB, 3  map  " in top and "<stdin>:" in top, text)
    expect("called by scratch" in text and "complete:" not in text, text)
    expect("next:  tidemark tree --group pages x.tide" in text, text)
    expect("| 1.2 MiB |" in show(ground, "report", "--md"), "no Markdown row")


@test
def pages_as_tree(ground):
    capture(ground)
    found = report_json.loads_tree(show(ground, "tree", "--json"))
    whole = PAGE * sum(row[0] for row in TRUTH.values())
    expect(found["question"]["of"] == "pages" and found["tree"]["total"] == whole, f"{found}")
    main = found["tree"]["children"][0]
    expect(main["function"] == "main" and main["total"] == whole, f"{main}")
    below = {child["function"]: child["total"] // PAGE for child in main["children"]}
    expect(below == {name: row[0] for name, row in TRUTH.items()}, f"{below}")
    found = report_json.loads_tree(show(ground, "tree", "--json", "--sort", "live"))
    expect(found["tree"]["total"] == PAGE * (100 + 7 + 4), f"{found['tree']}")
    text = show(ground, "tree")
    expect(text.startswith("prog: 2.0 MiB mapped by the program itself, each stack at its own"),
           text)
    heap = ground.run(ground.tidemark, "tree", "--group", "heap", "x.tide").stdout
    expect(heap == ground.run(ground.tidemark, "tree", "x.tide").stdout != text, heap)


@test
def pages_refused(ground):
    capture(ground)
    (ground.scratch / "leaks.supp").write_text("leak:map\n")
    foreign = command_foreign.written(ground, "h.txt", command_foreign.HEAPTRACK)
    for verb, words, said in (
            ("report", ("--sort", "temp", "x.tide"), '"temp" is not known'),
            ("tree", ("--sort", "grown", "x.tide"), '"grown" is not known'),
            ("report", ("--at", "50%", "--sort", "leak", "x.tide"), "--at with --sort live"),
            ("report", ("--range", "0%..50%", "x.tide"), "--range with --sort total"),
            ("tree", ("--range", "0%..50%", "--sort", "live", "x.tide"), "with --sort total"),
            ("report", ("--by", "blocks", "x.tide"), "try --sort count"),
            ("report", ("--details", "x.tide"), "without --group pages"),
            ("tree", ("--suppressions", "leaks.supp", "x.tide"), "without --group pages"),
            ("report", (foreign,), "h.txt holds nothing of memory the program mapped itself"),
            ("tree", (foreign,), "h.txt holds nothing of memory the program mapped itself"),
            ("diff", ("x.tide", "x.tide"), "--group takes")):
        done = ground.run(ground.tidemark, verb, "--group", "pages", *words)
        expect(done.status == 2 and said in done.stderr and not done.stdout,
               f"{verb} {words}: {done.status} {done.stderr}")


IN_PHASES = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define SITE __attribute__((noipa))
SITE char *map(size_t n)
{
  return mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
SITE char *early(void) { char *p = map(100); __asm__(""); return p; }
SITE char *late(void) { char *p = map(50); __asm__(""); return p; }
SITE void phase(void) { for (int i = 0; i < 100; i++) { free(malloc(10)); usleep(5000); } }
int main(void)
{
  char *p = early();
  phase();
  munmap(p, 60 * 4096), late();
  phase();
  return malloc(100000) == 0;
}"""


@test
def pages_of_a_moment(ground):
    """What was mapped at a moment, and in a part of the run; as table, tree and in words."""
    ground.record("-q", "-f", "-o", "x.tide", "--", ground.build("prog", IN_PHASES))
    for words, wanted in ((("--at", "25%"), {"early": 100}),
                          (("--at", "75%"), {"early": 40, "late": 50}),
                          (("--at", "end"), {"early": 40, "late": 50}),
                          (("--range", "0%..25%", "--sort", "total"), {"early": 100}),
                          (("--range", "25%..75%", "--sort", "total"), {"late": 50}),
                          (("--range", "start..end", "--sort", "total"),
                           {"early": 100, "late": 50})):
        found = ground.report("x.tide", "--group", "pages", *words)
        rows = {row["caller"]["function"]: row["weight"] // PAGE for row in found["groups"]}
        expect(rows == wanted, f"{words}: {found['groups']}")
        expect(found["whole"] == PAGE * sum(wanted.values()), f"{words}: {found['whole']}")
        tree = report_json.loads_tree(show(ground, "tree", "--json", *words))["tree"]
        expect(tree["total"] == found["whole"], f"{words}: {tree}")
    text = show(ground, "report", "--at", "25%")
    expect("mapped by the program itself at " in text and "early" in text, text)
    text = show(ground, "tree", "--range", "25%..75%", "--sort", "total")
    expect(" mapped by the program itself from " in text, text)


@test
def no_pages(ground):
    """A program that maps nothing: that is known, and no error."""
    done = ground.record("-q", "-f", "-o", "x.tide", "--", ground.program("return 0;"))
    expect(done.status == 0, done.stderr)
    for verb in ("report", "tree"):
        text = show(ground, verb)
        expect("the program mapped no memory itself\n" in text, text)
    found = ground.report("x.tide", "--group", "pages")
    expect(found["groups"] == found["sites"] == [] and found["whole"] == 0, f"{found['groups']}")


# A mapping that doubles, one that comes by equal pieces, and a vector of the heap.
GROWING = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define SITE __attribute__((noipa))
SITE char *first(size_t n)
{
  return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
SITE char *doubled(char *at, size_t n) { return mremap(at, n, 2 * n, MREMAP_MAYMOVE); }
SITE void piece(void) { sbrk(16 * 4096); __asm__(""); }
SITE char *vector(char *at, size_t n) { return realloc(at, n); }
int main(void)
{
  size_t n = 65536;
  char *at = first(n), *grown = NULL;
  for (int i = 0; i < 8; i++, n *= 2) {
    usleep(40000);
    at = doubled(at, n);
    grown = vector(grown, 2 * n);
    memset(grown, 1, 2 * n);
    piece();
  }
  usleep(40000);
  return at == MAP_FAILED || !grown;
}"""


# How many looks there were depends on the machine; what they saw adds up however many.
@test
def pages_over_time(ground):
    tide = "grown.tide"
    done = ground.record("-f", "-o", tide, "--", ground.build("growing", GROWING))
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    rows = {row["function"]: row for row in ground.report(tide, "--group", "pages")["groups"]}
    expect(set(rows) == {"first", "doubled", "piece"}, f"{set(rows)}")
    for name, row in rows.items():
        steps = row["history"]
        for key, of_step in (("live_bytes", "grown_bytes"), ("bytes", "bytes"),
                             ("allocations", "allocations")):
            expect(sum(step[of_step] for step in steps) == row[key], f"{name} {key}: {steps}")
        expect(steps[-1]["live_bytes"] == row["live_bytes"], f"{name}: {steps}")
        times = [step["time_ns"] for step in steps]
        expect(times == sorted(set(times)), f"{name}: {times}")
    expect(all(step["bytes"] == 16 * PAGE * step["allocations"]
               for step in rows["piece"]["history"]), f"{rows['piece']}")
    # No look saw two of a chain.
    expect(all(step["live_bytes"] in {0, *(131072 << i for i in range(8))}
               for step in rows["doubled"]["history"]), f"{rows['doubled']}")
    if min(sum(step["grown_bytes"] > 0 for step in rows[name]["history"])
           for name in ("doubled", "piece")) < 4:
        return  # a machine too busy to look
    text = ground.run(ground.tidemark, "report", "--group", "pages", tide).stdout
    words = " ".join(text.split())
    expect("each by half of it or more" in words and "asked for by 64.0 KiB" in words, text)
    details = ground.run(ground.tidemark, "report", "--details", tide).stdout
    words = " ".join(details.split())
    expect("mapped 7 of more than 128 KiB" in words and "grew from" in words, details)


# Blocks of 9,000 bytes from two threads, and 5 pages that are the program's own.
BESIDE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
static void *work(void *at)
{
  for (int i = 0; i < 1000; i++) ((void **)at)[i] = malloc(9000);
  return NULL;
}
static void *blocks[2][1000];
int main(void)
{
  pthread_t other;
  work(blocks[0]);
  if (mmap(NULL, 5 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 9;
  if (pthread_create(&other, NULL, work, blocks[1])) return 8;
  return pthread_join(other, NULL);
}"""
# One that nobody knows: every block has a mapping, and its notes are libc's blocks.
UNKNOWN = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
void *malloc(size_t n)
{
  char *at = mmap(NULL, n + 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? NULL : at + 16;
}
void *calloc(size_t n, size_t each) { return malloc(n * each); }
void *realloc(void *old, size_t n) { return old ? NULL : malloc(n); }
void free(void *p) { (void)p; }
"""


@test
def pages_of_an_allocator_are_not_the_programs(ground):
    """What another allocator maps for its heap is its own business: exactly and by samples."""
    libraries = [ground.build("odd.so", UNKNOWN, "-shared", "-fPIC")]
    for name in ("jemalloc.so.2", "tcmalloc_minimal.so.4", "mimalloc.so.2"):
        libraries += sorted(glob.glob(f"/usr/lib/*/lib{name}"))
    if len(libraries) < 4:
        raise record.Skip(f"not all allocators are here: {libraries}")
    program = ground.build("beside", BESIDE)
    for library in libraries:
        command = "--", "env", f"LD_PRELOAD={library}", program
        for words in ((), ("--sample=64KiB",)):
            done = ground.record("-f", "-o", "x.tide", "--how", "preload", *words, *command)
            expect(done.status == 0, f"{library} {words}: {done.stderr}")
            report = ground.report("x.tide")
            found = report["pages"]["maps"], report["pages"]["mapped_bytes"]
            expect(found == (1, 5 * PAGE), f"{library} {words}: {report['pages']}")
            if not words:
                total = sum(group["allocations"] for group in ground.report(
                    "x.tide", "--group", "function")["groups"] if group["function"] == "work")
                expect(total == 2000, f"{library}: {total} of 2000 blocks")
