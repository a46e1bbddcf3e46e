# SPDX-License-Identifier: Apache-2.0
"""tidemark maps: a table that adds up to what the kernel counts, with every row what it says."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import record
from ground import expect, test, wait_for

PAGE = os.sysconf("SC_PAGESIZE")
KIB, MIB = 1 << 10, 1 << 20

# Waits for a line, trims, waits again.
HEAD = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
static void stand(const char *what)
{
  char c, line[64];
  int n = snprintf(line, sizeof line, "%s %d\\n", what, getpid());
  if (write(1, line, (size_t)n) != n || read(0, &c, 1) != 1)
    _exit(1);
}
static int stand_and_trim(void)
{
  stand("ready");
  if (mallctl) {
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
  } else
    malloc_trim(0);
  stand("trimmed");
  return 0;
}
__attribute__((noipa)) static char *written(char *p, int c, size_t n) { return memset(p, c, n); }
"""

# Of four large blocks two are swapped out, of 20,000 small ones a stretch in the middle.
SWAPPED = HEAD + """
enum { N = 20000, BIG = 4 << 20 };
static char *p[N];
static void put_out(char *lo, char *hi)
{
  uintptr_t from = ((uintptr_t)lo + 4095) & ~4095ul, to = (uintptr_t)hi & ~4095ul;
  madvise((void *)from, to - from, 21); // MADV_PAGEOUT
}
__attribute__((noipa)) static char *large(int i) { return written(malloc(BIG), i, BIG); }
__attribute__((noipa)) static char *small(int i) { return written(malloc(500), i, 500); }
int main(void)
{
  for (int i = 0; i < 4; i++) {
    char *block = large(i + 1);
    if (i % 2)
      put_out(block, block + BIG);
  }
  for (int i = 0; i < N; i++)
    p[i] = small(i + 1);
  put_out(p[1000], p[11000]);
  return stand_and_trim();
}
"""

# One block of eight survives of most stretches, none of one; a few are of another place.
FRAGMENTED = HEAD + """
enum { N = 40000 };
static char *p[N];
__attribute__((noipa)) static char *often(void) { return written(malloc(1000), 1, 1000); }
__attribute__((noipa)) static char *rarely(void) { return written(malloc(1000), 2, 1000); }
int main(void)
{
  for (int i = 0; i < N; i++)
    p[i] = i % 64 ? often() : rarely();
  for (int i = 0; i < N; i++)
    if (i % 8 || (i >= N / 2 && i < N * 3 / 4))
      free(p[i]);
  return stand_and_trim();
}
"""

# The same in threads: every one has an arena of its own.
ARENAS = HEAD + """
enum { N = 8000 };
static pthread_barrier_t done, end;
static void *work(void *arg)
{
  char **p = malloc(N * sizeof *p);
  for (int i = 0; i < N; i++)
    p[i] = written(malloc(1000), 1, 1000);
  for (int i = 0; i < N; i++)
    if (i % 16)
      free(p[i]);
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&end);
  return arg;
}
int main(void)
{
  pthread_t t[4];
  pthread_barrier_init(&done, NULL, 5);
  pthread_barrier_init(&end, NULL, 5);
  for (int i = 0; i < 4; i++)
    pthread_create(&t[i], NULL, work, NULL);
  pthread_barrier_wait(&done);
  return stand_and_trim();
}
"""

# 64 MiB asked for, a tenth of its pages touched.
UNTOUCHED = HEAD + """
__attribute__((noipa)) static char *large(void) { return malloc(64 << 20); }
int main(void)
{
  char *p = large();
  for (size_t i = 0; i < 64 << 20; i += 40960)
    p[i] = 1;
  return stand_and_trim();
}
"""

# 12 MiB of anonymous shared memory, 20 MiB of a memfd, 8 MiB of a file read and 3 of them written,
# 16 MiB mapped by itself of which 5 are touched, and which have a name where the kernel gives them.
MAPPED = HEAD + """
__attribute__((noipa)) static char *load(const char *path)
{
  return mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, open(path, O_RDWR), 0);
}
__attribute__((noipa)) static char *own(void)
{
  return mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(int argc, char **argv)
{
  char *p = mmap(NULL, 12 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  written(p, 1, 12 << 20);
  int fd = memfd_create("ledger", 0);
  if (ftruncate(fd, 20 << 20))
    return 1;
  p = mmap(NULL, 20 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  written(p, 1, 20 << 20);
  p = load(argv[1]);
  written(p, 1, 3 << 20);
  unsigned sum = 0;
  for (size_t i = 0; i < 8 << 20; i += 4096)
    sum += (unsigned char)p[i];
  p = own();
  madvise(p, 16 << 20, MADV_NOHUGEPAGE);
  prctl(0x53564d41, 0, p, 16 << 20, "own arena"); // PR_SET_VMA_ANON_NAME, Linux 5.17 as configured
  written(p, sum ? 1 : 2, 5 << 20);
  return stand_and_trim();
}
"""

# Of each of 8 huge pages one byte is touched: the kernel gives all of it, or a small page. Four of
# them are a block of malloc's.
HUGE = HEAD + """
enum { HUGE = 2 << 20 };
__attribute__((noipa)) static char *own(void)
{
  return mmap(NULL, 5 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noipa)) static char *block(void) { return malloc(5 * HUGE); }
static void touch(char *from)
{
  char *first = (char *)(((uintptr_t)from + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
  madvise(first, 4 * HUGE, MADV_HUGEPAGE);
  for (int i = 0; i < 4; i++)
    written(first + i * (size_t)HUGE, 1, 1);
}
int main(void)
{
  touch(own());
  char *p = block();
  touch(p);
  int status = stand_and_trim();
  free(p);
  return status;
}
"""

# Three threads that stay, each with 2 MiB of its stack touched, and one that ended: of that one's,
# which is kept for the next, libc gives back most.
STACKS = HEAD + """
static pthread_barrier_t done, end;
__attribute__((noipa)) static void deep(size_t n) { char a[n]; written(a, 1, n); }
static void *stay(void *arg)
{
  deep(2 << 20);
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&end);
  return arg;
}
static void *leave(void *arg) { deep(1 << 20); return arg; }
int main(void)
{
  pthread_t t[4];
  pthread_barrier_init(&done, NULL, 4);
  pthread_barrier_init(&end, NULL, 4);
  for (int i = 0; i < 3; i++)
    pthread_create(&t[i], NULL, stay, NULL);
  pthread_barrier_wait(&done);
  pthread_create(&t[3], NULL, leave, NULL);
  pthread_join(t[3], NULL);
  return stand_and_trim();
}
"""

# Four threads that replace blocks without end.
MOVING = HEAD + """
static void *work(void *arg)
{
  enum { N = 5000 };
  static __thread char *p[N];
  uint32_t x = (uint32_t)(uintptr_t)arg;
  for (;;) {
    x = x * 1664525 + 1013904223;
    size_t i = (x >> 8) % N, n = x >> 28 ? 100 + x % 900 : x % 40000;
    free(p[i]);
    p[i] = written(malloc(n), 1, n);
  }
}
int main(void)
{
  pthread_t t;
  for (uintptr_t i = 1; i <= 4; i++)
    pthread_create(&t, NULL, work, (void *)i);
  usleep(300000);
  return stand_and_trim();
}
"""

# Writes nonsense over its own heaps and libc's data: numbers, zeros, addresses that lead elsewhere.
DAMAGED = HEAD + """
static uint64_t seed;
static uint64_t any(void)
{
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}
static void *work(void *arg)
{
  char *p[1000];
  for (int i = 0; i < 1000; i++)
    p[i] = malloc(100 + (size_t)i % 900);
  for (int i = 0; i < 1000; i += 2)
    free(p[i]);
  pause();
  return arg;
}
static struct range { uint64_t lo, hi; } ranges[64];
static size_t n_ranges;
static void find_ranges(void)
{
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512], flags[8];
  unsigned long lo, hi;
  while (fgets(line, sizeof line, f) && n_ranges < 64) {
    sscanf(line, "%lx-%lx %7s", &lo, &hi, flags);
    int is_arena = !strpbrk(line, "/[") && lo % (64 << 20) == 0;
    if (flags[1] == 'w' && (is_arena || strstr(line, "[heap]") || strstr(line, "libc.so.6")))
      ranges[n_ranges++] = (struct range){lo, hi};
  }
}
static uint64_t address(void)
{
  struct range r = ranges[any() % n_ranges];
  return (r.lo + any() % (r.hi - r.lo)) & ~15ull;
}
static uint64_t nonsense(uint64_t was)
{
  switch (any() % 5) {
  case 0: return any();
  case 1: return 0;
  case 2: return address();
  case 3: return (any() % 65536 & ~15ull) | any() % 8;
  default: return was ^ 1ull << any() % 64;
  }
}
int main(int argc, char **argv)
{
  static char *p[20000];
  pthread_t t;
  seed = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
  for (int i = 0; i < 3; i++)
    pthread_create(&t, NULL, work, NULL);
  for (int i = 0; i < 20000; i++)
    p[i] = malloc(20 + any() % 600);
  for (int i = 0; i < 20000; i++)
    if (any() % 3)
      free(p[i]);
  usleep(20000);
  find_ranges();
  for (uint64_t n = 1ull << any() % 14; n; n--) {
    uint64_t *at = (uint64_t *)address();
    *at = nonsense(*at);
  }
  char c, line[64];
  int n = 0;
  for (int pid = getpid(), d = 1000000; d; d /= 10) // no printf: libc is not what it was
    line[n++] = (char)('0' + pid / d % 10);
  if (write(1, "ready ", 6) != 6 || write(1, line, (size_t)n) != n || write(1, "\\n", 1) != 1)
    _exit(1);
  _exit(read(0, &c, 1) != 1);
}
"""


class Standing:
    """A program that stands still while it is looked at."""

    def __init__(self, ground, prog, *arguments, recorded=True, is_still=True):
        self.ground = ground
        out = ground.scratch / "standing.tide"
        run = [ground.tidemark, "run", "-q", "-f", "-o", out, "--"] if recorded else []
        self.child = subprocess.Popen([*run, prog, *arguments], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                      bufsize=1)
        self.said, pid = self.child.stdout.readline().split()
        self.pid = int(pid)
        if is_still:
            wait_for(self.rests, "it to stand still")

    def rests(self):
        """What a thread does from its last word to its wait touches a page or two."""
        tasks = pathlib.Path(f"/proc/{self.pid}/task").glob("*/stat")
        return all(") S " in task.read_text() for task in tasks)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()

    def go_on(self):
        self.child.stdin.write("\n")
        self.child.stdout.readline()

    def table(self):
        done = self.ground.run(self.ground.tidemark, "maps", "--json", self.pid)
        expect(done.status == 0 and not done.stderr, f"{done.status}: {done.stderr}")
        return json.loads(done.stdout)

    def text(self):
        done = self.ground.run(self.ground.tidemark, "maps", self.pid)
        expect(done.status == 0, done.stderr)
        return " ".join(done.stdout.split())

    def rss(self):
        """By the kernel's own sum of all pages."""
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as rollup:
            return int(re.search(r"^Rss:\s+(\d+)", rollup.read(), re.M)[1]) * KIB

    def huge(self):
        """What the kernel has given in huge pages, by its own sum."""
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as rollup:
            return int(re.search(r"^AnonHugePages:\s+(\d+)", rollup.read(), re.M)[1]) * KIB

    def smaps(self):
        """Resident bytes by path, from the kernel's long list: told by nobody of ours."""
        resident, path = {}, ""
        with open(f"/proc/{self.pid}/smaps", encoding="utf-8") as smaps:
            for line in smaps:
                head = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$", line)
                path = head[1] if head else path
                if line.startswith("Rss:"):
                    resident[path] = resident.get(path, 0) + int(line.split()[1]) * KIB
        return resident


def adds_up(standing, table):
    rss = standing.rss()
    expect(table["sum"] == rss == table["rss_before"] == table["rss_after"],
           f"{table['sum']}, {table['rss_before']} to {table['rss_after']}, not {rss}")
    expect(sum(table["rows"].values()) == table["sum"], "the rows do not add up")
    rows, heap = table["rows"], table["heap"]
    buckets = table["map"]["buckets"]
    live, free, pinned = (sum(b[i] for b in buckets) for i in (1, 2, 3))
    expect(free == rows["free"] + rows["top"] and pinned == heap["pinned"], f"{table['map']}")
    expect(live <= table["sum"] and len(buckets) <= 256, f"{table['map']}")
    for i, (at, *counted, _) in enumerate(buckets):
        expect(sum(counted) <= table["map"]["bucket_bytes"], f"{at}: {counted}")
        expect(not i or at > buckets[i - 1][0], "the map is not by address")
    seen = standing.smaps()
    for file in table["files"]:
        expect(seen.get(file["path"]) == file["resident"], f"{file}: not {seen.get(file['path'])}")


def wait_for_table(ground, is_it):
    """Until the capture has a table that is as wanted: in the next checkpoint but one, usually."""
    then, end = {}, time.monotonic() + 120
    while not then or not is_it(then):
        expect(time.monotonic() < end, f"{then}")
        time.sleep(0.2)
        done = ground.run(ground.tidemark, "maps", "--json", "--at", "end",
                          ground.scratch / "standing.tide")
        then = json.loads(done.stdout) if done.status == 0 else then
    return then


def trims_as_told(standing, table):
    before = standing.rss()
    standing.go_on()
    given = before - standing.rss()
    told = table["heap"]["trim"] + table["heap"]["trim_top"]
    expect(told == given, f"malloc_trim() gave back {given} bytes, not the {told} told")
    return given


def place(table, name):
    found = [p for p in table["places"] if p["place"].startswith(name + ",")]
    expect(len(found) == 1, f"{name}: {table['places']}")
    return found[0]


def near(found, wanted, pages=1):
    return abs(found - wanted) <= pages * PAGE


@test
def maps_knows_what_a_trim_gives_back(ground):
    """Fragmented heaps, recorded or not: to the byte; and who keeps the rest."""
    prog = ground.build("fragmented", FRAGMENTED)
    with Standing(ground, prog) as standing:
        table = standing.table()
        adds_up(standing, table)
        expect(table["recorded"] and table["rows"]["recorder"] > 0, "no recorder?")
        often, rarely = place(table, "often"), place(table, "rarely")
        expect(often["blocks"] == 40000 // 8 * 3 // 4 - rarely["blocks"], f"{often}")
        expect(often["resident"] == often["asked"] == often["blocks"] * 1000, f"{often}")
        expect(often["pinned_pages"] > rarely["pinned_pages"] > 0, f"{often} {rarely}")
        expect("malloc_trim(0) would give back" in standing.text(), standing.text())
        expect(trims_as_told(standing, table) > 10 * MIB, "too little to tell")
    with Standing(ground, prog, recorded=False) as standing:
        bare = standing.table()
        adds_up(standing, bare)
        expect(not bare["recorded"] and not bare["places"], "recorded by whom?")
        expect(bare["heap"]["trim"] == table["heap"]["trim"], f"{bare['heap']}")
        expect(bare["rows"]["free"] == table["rows"]["free"], f"{bare['rows']}")
        trims_as_told(standing, bare)


@test
def maps_walks_all_arenas(ground):
    with Standing(ground, ground.build("arenas", ARENAS, "-pthread")) as standing:
        table = standing.table()
        adds_up(standing, table)
        expect(len(table["arenas"]) == 5 and table["arenas"][0]["main"], f"{table['arenas']}")
        for arena in table["arenas"][1:]:
            expect(near(arena["in_use"], 8000 // 16 * 1008 + 64 * KIB, 4) and arena["trim"] > MIB,
                   f"{arena}")
        expect(sum(a["trim"] for a in table["arenas"]) == table["heap"]["trim"], "arenas, not all")
        text = " ".join(standing.text().split())
        expect("(MALLOC_ARENA_MAX=1) would keep about" in text and
               "unused pages by itself (jemalloc, mimalloc) would keep up to" in text, text)
        trims_as_told(standing, table)


@test
def maps_tells_what_was_never_touched(ground):
    with Standing(ground, ground.build("untouched", UNTOUCHED)) as standing:
        table = standing.table()
        adds_up(standing, table)
        large = place(table, "large")
        touched = -(-64 * MIB // 40960) * PAGE
        expect(large["asked"] == 64 * MIB and near(large["resident"], touched), f"{large}")
        expect(large["untouched"] == large["asked"] - large["resident"], f"{large}")
        expect("never touched" in standing.text(), standing.text())


@test
def maps_tells_files_and_shared_memory(ground):
    data = ground.scratch / "data"
    data.write_bytes(b"\1" * (8 * MIB))
    with Standing(ground, ground.build("mapped", MAPPED), data) as standing:
        table = standing.table()
        adds_up(standing, table)
        expect(table["rows"]["shared"] == 32 * MIB, f"{table['rows']}")
        files = {f["path"]: f for f in table["files"]}
        mapper = files[str(data)].pop("mapped_by", "")
        expect(files[str(data)] == {"path": str(data), "resident": 8 * MIB, "copied": 3 * MIB},
               f"{files}")
        expect(mapper.startswith("load, "), f"{files}")
        expect("3.0 MiB of it copied, mapped by load, " in standing.text(), standing.text())
        expect("mapped_by" not in next(f for p, f in files.items() if "libc.so" in p), f"{files}")
        own = place(table, "own")
        expect(own["mapped"] and own["asked"] == 16 * MIB and own["resident"] == 5 * MIB, f"{own}")
        expect(table["rows"]["mapped"] == 5 * MIB, f"{table['rows']}")
        named = [path for path in standing.smaps() if path.startswith("[anon:own")]
        for path in named:
            expect(files[path]["mapped_by"].startswith("own, "), f"{files}")
        wait_for_table(ground, lambda then: any(f["path"] == str(data) for f in then["files"]))
    pages = ground.run(ground.tidemark, "report", "--json", "--group", "pages",
                       ground.scratch / "standing.tide")
    mapped = {g["function"]: g["mapped"] for g in json.loads(pages.stdout)["groups"]}
    expect(mapped["load"] == str(data) and mapped["own"] == (named[0] if named else None),
           f"{mapped}")
    pages = ground.run(ground.tidemark, "report", "--group", "pages",
                       ground.scratch / "standing.tide")
    expect(f"of{data}" in "".join(pages.stdout.split()), pages.stdout)


@test
def maps_counts_huge_pages(ground):
    """A byte that takes 2 MiB is told as 2 MiB, by place, and how much came so."""
    with Standing(ground, ground.build("huge", HUGE)) as standing:
        given = standing.huge()
        table = standing.table()
        adds_up(standing, table)
        expect(table["huge"] == given == standing.huge(), f"{table['huge']}, not {given}")
        own, block = place(table, "own"), place(table, "block")
        small = 8 - given // (2 * MIB)  # pages where the kernel had no huge one
        expect(near(own["resident"] + block["resident"], given + small * PAGE),
               f"{own} {block} {given}")
        expect(block["asked"] == 10 * MIB and
               block["untouched"] == block["asked"] - block["resident"], f"{block}")
        if given:
            expect("of it came in huge pages" in standing.text(), standing.text())


@contextlib.contextmanager
def swap_of_our_own(ground):
    """The machine's swap, or a file of a few MiB for as long as it is needed."""
    if len(pathlib.Path("/proc/swaps").read_text(encoding="ascii").splitlines()) > 1:
        yield
        return
    if not all(shutil.which(tool) for tool in ("mkswap", "swapon", "swapoff")):
        raise record.Excused("no tools for a swap of our own (they are root's)")
    path = ground.scratch / "swap"
    path.write_bytes(bytes(48 * MIB))
    path.chmod(0o600)
    if ground.run("mkswap", path).status or ground.run("swapon", path).status:
        raise record.Excused("no swap of our own")
    try:
        yield
    finally:
        expect(ground.run("swapoff", path).status == 0, "the swap is still there")


@test
def maps_tells_what_is_swapped_out(ground):
    """It is not in memory, but was touched; whose it is, is told beside."""
    prog = ground.build("swapped", SWAPPED)
    with swap_of_our_own(ground), Standing(ground, prog) as standing:
        with open(f"/proc/{standing.pid}/status", encoding="utf-8") as status:
            swapped = int(re.search(r"^VmSwap:\s+(\d+)", status.read(), re.M)[1]) * KIB
        table = standing.table()
        adds_up(standing, table)
        if swapped < 8 * MIB:
            raise record.Excused(f"the kernel swapped out {swapped} bytes")
        expect(table["swapped"] == swapped, f"{table['swapped']} swapped out, not {swapped}")
        large, small = place(table, "large"), place(table, "small")
        for one, asked in (large, 16 * MIB), (small, 10_000_000):
            expect(one["asked"] == asked and not one["untouched"], f"{one}")
            expect(near(one["resident"] + one["swapped"], asked, 2), f"{one}")
            expect(one["swapped"] > asked / 8, f"{one}")
        expect(large["large_touched"] == large["large_asked"], f"{large}")
        expect(table["swapped_blocks"] == large["swapped"] + small["swapped"] <= swapped,
               f"{table['swapped_blocks']}")
        text = standing.text()
        expect("swapped out (" in text and "is swapped out" in text, text)
        expect("never touched" not in text and "touched 8" not in text, text)


@test
def maps_tells_stacks_apart(ground):
    with Standing(ground, ground.build("stacks", STACKS, "-pthread")) as standing:
        table = standing.table()
        adds_up(standing, table)
        rows = table["rows"]
        expect(near(rows["thread_stacks"], 3 * 2 * MIB, 3 * 8), f"{rows}")
        expect(0 < rows["ended_stacks"] <= 16 * PAGE, f"{rows}")


@test
def maps_of_one_that_goes_on(ground):
    """Nothing is lost or told twice while it changes; what could not be told is said."""
    with Standing(ground, ground.build("moving", MOVING, "-pthread"), is_still=False) as moving:
        for _ in range(5):
            table = moving.table()
            low, high = sorted((table["rss_before"], table["rss_after"]))
            expect(low - MIB <= table["sum"] <= high + MIB, f"{table['sum']}: {low} to {high}")
            expect(sum(table["rows"].values()) == table["sum"], "the rows do not add up")
            work = sum(p["resident"] for p in table["places"] if p["place"].startswith("work,"))
            expect(work > table["rows"]["live_blocks"] * 0.95, f"{table['places']}")
            expect(table["heap"]["skipped"] < table["sum"] / 10, f"{table['heap']}")


@test
def maps_counts_a_growing_mapping_once(ground):
    """The kernel tells its list in pieces, and one that grew between two of them in both."""
    prog = ground.build("growing", HEAD + """
static void *grow(void *mapping)
{
  char *behind = (char *)mapping + (32 << 20);
  for (;;) {
    for (size_t i = 1; i < 100; i++)
      mprotect(behind, 4096 * i, PROT_READ | PROT_WRITE);
    mprotect(behind, 1 << 20, PROT_NONE);
  }
}
int main(void)
{
  pthread_t t;
  for (int i = 0; i < 40; i++) {
    char *p = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mprotect(p, 32 << 20, PROT_READ | PROT_WRITE);
    written(p, 1, i % 10 == 0 ? 8 << 20 : 4096);
    if (i % 10 < 2)
      pthread_create(&t, NULL, grow, p);
  }
  return stand_and_trim();
}
""", "-pthread")
    with Standing(ground, prog, recorded=False, is_still=False) as growing:
        for _ in range(40):
            table = growing.table()
            low, high = sorted((table["rss_before"], table["rss_after"]))
            expect(low - MIB <= table["sum"] <= high + MIB, f"{table['sum']}: {low} to {high}")


@test
def maps_of_damaged_heaps(ground):
    """Whatever stands in a heap: a table in a short while, whose rows add up."""
    prog = ground.build("damaged", DAMAGED, "-pthread")
    for seed in range(1, 17):
        with Standing(ground, prog, str(seed), recorded=seed % 4 == 0) as damaged:
            table = damaged.table()
            expect(sum(table["rows"].values()) == table["sum"] == damaged.rss(), f"seed {seed}")


@test
def maps_of_other_allocators(ground):
    """What lies between live blocks is the allocator's, whichever it is."""
    prog = ground.build("fragmented", FRAGMENTED)
    with Standing(ground, "env", "LD_PRELOAD=libjemalloc.so.2", prog) as standing:
        table = standing.table()
        adds_up(standing, table)
        heap = table["heap"]
        expect(heap["known"] == "jemalloc" and "trim" not in heap, f"{heap}")
        told = ground.run(ground.tidemark, "explain", "--json", standing.pid).stdout
        advice = [found["advice"] for found in json.loads(told)["findings"]
                  if found["rule"] == "fragmented"]
        expect(len(advice) == 1 and "dirty_decay_ms" in advice[0] and "trim" not in advice[0],
               f"{advice}")  # malloc_trim() does nothing there
        before = standing.rss()
        standing.go_on()  # it gives back what it can
        given = before - standing.rss()
        expect(given <= heap["purge_at_most"] <= given * 1.15 + MIB, f"{given} {heap}")
        often = place(table, "often")
        expect(often["resident"] == often["asked"] == often["blocks"] * 1000, f"{often}")
        expect(table["rows"]["free"] > 20 * MIB, f"{table['rows']}")


@test
def maps_finds_the_store_wherever_it_lies(ground):
    """Right behind other memory, which the kernel tells with it as one stretch of pages."""
    prog = ground.build("beside", HEAD + """
int main(void)
{
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long lo, store = 0;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-", &lo) == 1 && strstr(line, "memfd:tidemark") && !store)
      store = lo;
  fclose(f);
  volatile char *before = (volatile char *)store - 1;
  mmap((void *)(store - 4096), 4096, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  *before = *before;
  written(malloc(5000), 1, 5000);
  return stand_and_trim();
}
""")
    with Standing(ground, prog) as standing:
        table = standing.table()
        adds_up(standing, table)
        # Its page in front of the store is a place too, if nothing lay there.
        blocks = [p["asked"] for p in table["places"]
                  if p["place"].startswith("main,") and not p["mapped"]]
        expect(table["recorded"] and blocks == [5000], f"{table['places']}")


@test
def maps_asks_for_a_store_in_few_calls(ground):
    """It is mapped as hundreds of gigabytes, next to nothing of which is there."""
    if not shutil.which("strace"):
        raise record.Skip("no strace here")
    with Standing(ground, ground.build("fragmented", FRAGMENTED)) as standing:
        # A sanitizer cannot look for leaks of what is traced.
        done = ground.run("strace", "-qq", "-o", "trace", "-e", "trace=ioctl,mmap",
                          "env", "ASAN_OPTIONS=detect_leaks=0",
                          ground.tidemark, "maps", "--json", str(standing.pid))
        expect(done.status == 0, f"{done.status}: {done.stderr}")
        n = (ground.scratch / "trace").read_text().count("ioctl(")
        expect(0 < n < 600, f"{n} ioctls for one look")


@test
def maps_of_a_capture(ground):
    """What was looked at meanwhile is what one sees oneself; then report and JSON say it."""
    prog = ground.build("fragmented", FRAGMENTED)
    out = ground.scratch / "standing.tide"
    with Standing(ground, prog) as standing:
        now = standing.table()
        same = ("live_blocks", "rounding", "free", "cached", "top", "main_stack", "mapped")
        then = wait_for_table(
            ground, lambda then: all(then["rows"][kind] == now["rows"][kind] for kind in same))
        expect(then["rss_before"] == then["rss_after"] == then["sum"], f"{then}")
        expect(then["pid"] == standing.pid and then["time_ns"] > 0, f"{then}")
        for key in "heap", "arenas":
            expect(then[key] == now[key], f"{then[key]}, not {now[key]}")
        for name in "often", "rarely":
            expect(place(then, name) == place(now, name), f"{then['places']}")
        trims_as_told(standing, then)
    done = ground.run(ground.tidemark, "maps", out)
    expect("malloc_trim(0) would give back" in done.stdout, done.stdout)
    totals = json.loads(ground.run(ground.tidemark, "report", "--json", out).stdout)["totals"]
    held = [look for look in totals["rss_by_kind"] if look["time_ns"] == then["time_ns"]]
    rows = then["rows"]
    expect(held and held[0]["held"] == sum(rows[k] for k in ("free", "cached", "top", "allocator"))
           and held[0]["trim"] == then["heap"]["trim"] + then["heap"]["trim_top"], f"{totals}")
    done = ground.run(ground.tidemark, "report", out)
    expect("freed but kept by malloc" in " ".join(done.stdout.split()), done.stdout)


@test
def maps_knows_what_of_large_blocks_is_touched(ground):
    prog = ground.build("untouched", UNTOUCHED)
    with Standing(ground, prog) as standing:
        large = place(standing.table(), "large")
        touched = len(range(0, 64 * MIB, 40960)) * PAGE
        expect(large["large_blocks"] == 1 and large["large_asked"] == 64 * MIB and
               near(large["large_touched"], touched), f"{large}, not {touched}")
        expect("1 block, asked 64.0 MiB, touched 6.4 MiB" in standing.text(), standing.text())


@test
def maps_knows_what_large_blocks_touched_before_they_went(ground):
    """Of blocks that no look saw; the recorder has the time to look at some, seldom at none."""
    prog = ground.build("gone", HEAD + """
__attribute__((noipa)) static char *room(void) { return malloc(262144); }
int main(void)
{
  char *p[100];
  for (int i = 0; i < 100; i++) { p[i] = room(); p[i][100] = 1; }
  for (int i = 99; i >= 0; i--) { free(p[i]); usleep(200); }
  stand("ready");
  return 0;
}""")
    with Standing(ground, prog) as standing:
        table, text = standing.table(), standing.text()
    for row in table["ended"]:
        n = row["looked_blocks"]
        expect(row["place"].startswith("room, ") and row["looked_bytes"] == 262144 * n and
               row["touched_bytes"] == (PAGE - 16) * n, f"{row}")
        expect(f": {n} block" in text, text)
        expect("not in memory when they were freed" in text and "asked 256.0 KiB" in text, text)


@test
def maps_refuses_what_it_cannot_see(ground):
    def refused(status, said, *arguments):
        done = ground.run(ground.tidemark, "maps", *arguments)
        expect(done.status == status and said in done.stderr, f"{arguments}: {done}")

    refused(1, "cannot open redis", "redis")
    refused(2, "--at is for a capture", os.getpid(), "--at", "2s")
    refused(2, "one file at a time", 1, 2)
    refused(1, "nobody looked where the memory",
            pathlib.Path(__file__).parents[1] / "golden/dhat.json")
    refused(1, "there is no process", 4194305)
    if "VmSize" not in open("/proc/2/status", encoding="utf-8").read():
        refused(1, "one of the kernel's own", 2)
