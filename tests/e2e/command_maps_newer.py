# SPDX-License-Identifier: Apache-2.0
"""tidemark maps: what later kernels and later versions of glibc do in another way."""
import json
import platform
import shutil
import subprocess

import record
from command_maps import (ARENAS, HEAD, KIB, MAPPED, MIB, PAGE, STACKS, UNTOUCHED, Standing,
                          adds_up, near, trims_as_told)
from ground import expect, test

# Four stacks in one mapping, each with a guard made by advice, as glibc 2.42 makes them. The last
# one's thread has ended.
GUARDS = HEAD + """
enum { STACKS = 4, STACK = 1 << 20, GUARD_INSTALL = 102 };
static pthread_barrier_t all_wait;
static void *wait(void *unused)
{
  char used[512 << 10];
  written(used, 1, sizeof used);
  pthread_barrier_wait(&all_wait);
  pause();
  return unused;
}
static void *end(void *unused) { return unused; }
int main(void)
{
  long page = sysconf(_SC_PAGESIZE);
  char *all = mmap(0, STACKS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t thread;
  pthread_barrier_init(&all_wait, 0, STACKS);
  for (int i = 0; i < STACKS; i++) {
    char *stack = all + (size_t)i * STACK;
    pthread_attr_t attr;
    if (madvise(stack, (size_t)page, GUARD_INSTALL) != 0) {
      stand("without");
      return 0;
    }
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, STACK);
    pthread_create(&thread, &attr, i < STACKS - 1 ? wait : end, 0);
  }
  pthread_join(thread, 0);
  pthread_barrier_wait(&all_wait);
  stand("ready");
}
"""

# In each of two arenas a large free chunk, and one in a fast bin between that and the top: the trim
# joins all three, and gives back nothing of a thread's top.
FAST_BEFORE_TOP = HEAD + """
enum { SMALL = 64, CACHED = 7 };
static pthread_barrier_t is_full;
static void *fill(void *another)
{
  char *cached[CACHED], *large, *small;
  for (int i = 0; i < CACHED; i++)
    cached[i] = malloc(SMALL);
  large = written(malloc(100000), 1, 100000);
  small = malloc(SMALL);
  for (int i = 0; i < CACHED; i++)
    free(cached[i]);
  free(large);
  free(small);
  if (another) {
    pthread_barrier_wait(&is_full);
    pause();
  }
  return 0;
}
int main(void)
{
  pthread_t thread;
  fill(0);
  pthread_barrier_init(&is_full, 0, 2);
  pthread_create(&thread, 0, fill, &thread);
  pthread_barrier_wait(&is_full);
  return stand_and_trim();
}
"""

# A heap as glibc 2.43 has it, in a program that has no other: arenas without fast bins.
WITHOUT_FAST_BINS = """
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { BINS = 254, CHUNKS = 64, CHUNK = 40000 };
struct arena {
  int mutex, flags;
  char *top, *remainder, *bins[BINS];
  unsigned bin_map[4];
  struct arena *next, *next_free;
  unsigned long threads, bytes, max_bytes;
};
static struct arena arena = {.next = &arena, .threads = 1};
int main(void)
{
  char *at = (char *)syscall(SYS_brk, 0), c, line[64], **free_chunks = arena.bins;
  char *end = (char *)syscall(SYS_brk, at + CHUNKS * CHUNK + 4096);
  for (int i = 0; i < BINS; i++)
    arena.bins[i] = (char *)&arena.bins[i / 2 * 2 - 2];
  for (int i = 0; i < CHUNKS; i++, at += CHUNK) {
    unsigned long *words = (unsigned long *)at;
    for (int k = 2; k < CHUNK / 8; k++)
      words[k] = 7;
    words[1] = CHUNK + (i % 2 == 0); // the one before is in use
    if (i % 2)
      continue;
    words[CHUNK / 8] = CHUNK; // of the next one: free chunks are those with even numbers
    words[2] = (unsigned long)free_chunks[0];
    words[3] = (unsigned long)&arena.bins[-2];
    if (free_chunks[0] == (char *)&arena.bins[-2])
      free_chunks[1] = at;
    else
      ((unsigned long *)free_chunks[0])[3] = (unsigned long)at;
    free_chunks[0] = at;
  }
  arena.top = at;
  ((unsigned long *)at)[1] = (unsigned long)(end - at) + 1;
  int n = snprintf(line, sizeof line, "ready %d\\n", getpid());
  return write(1, line, (size_t)n) != n || read(0, &c, 1) != 1;
}
"""


@test
def maps_tells_guards_from_swap(ground):
    """The kernel says of both that they are swapped out, and of the one that it is a guard."""
    with Standing(ground, ground.build("guards", GUARDS, "-pthread"), recorded=False) as standing:
        if standing.said == "without":
            raise record.Excused("this kernel makes no guards by advice")
        table = standing.table()
        adds_up(standing, table)
        rows = table["rows"]
        expect(table["swapped"] == 0, f"{table['swapped']} swapped out")
        expect(near(rows["thread_stacks"], 3 * 512 * KIB, 3 * 8), f"{rows}")
        expect(0 < rows["ended_stacks"] <= 8 * PAGE, f"{rows}")


@test
def maps_knows_fast_bins_before_the_top(ground):
    with Standing(ground, ground.build("before_top", FAST_BEFORE_TOP, "-pthread")) as standing:
        table = standing.table()
        adds_up(standing, table)
        expect(len(table["arenas"]) == 2, f"{table['arenas']}")
        trims_as_told(standing, table)


@test
def maps_knows_arenas_without_fast_bins(ground):
    if not shutil.which("musl-gcc"):
        raise record.Skip("no musl-gcc here")
    prog = ground.scratch / "without_fast_bins"
    subprocess.run(["musl-gcc", "-O1", "-static", "-x", "c", "-", "-o", prog],
                   input=WITHOUT_FAST_BINS, text=True, check=True)
    with Standing(ground, prog, recorded=False) as standing:
        table = standing.table()
        adds_up(standing, table)
        expect(len(table["arenas"]) == 1 and table["arenas"][0]["main"], f"{table['arenas']}")
        rows, heap = table["rows"], table["heap"]
        expect(near(rows["free"], 32 * 40000) and near(rows["unrecorded_blocks"], 32 * 40000),
               f"{rows}")
        pages = sum((at + 40000) // PAGE - -(-(at + 48) // PAGE)
                    for at in (range(0, 64 * 40000, 80000)))
        expect(near(heap["trim"], pages * PAGE, 32), f"{heap}: {pages} pages")


@test
def maps_knows_the_heap_of_another_processor(ground):
    """Its libc is where qemu maps it, and the kernel counts the pages. Those of qemu move a bit."""
    if platform.machine() != "x86_64":
        return
    prog = ground.build("arenas", ARENAS, "-pthread", compiler="aarch64-linux-gnu-gcc")
    with Standing(ground, "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", prog,
                  recorded=False) as standing:
        table = standing.table()
        expect(sum(table["rows"].values()) == table["sum"], "the rows do not add up")
        arenas = [arena for arena in table["arenas"] if not arena["main"]]
        expect(len(arenas) == 4, f"{table['arenas']}")
        for arena in arenas:
            expect(near(arena["in_use"], 8000 // 16 * 1008 + 64 * KIB, 4), f"{arena}")
        before = standing.rss()
        standing.go_on()
        expect(near(before - standing.rss(), table["heap"]["trim"], 64), f"{table['heap']}")


def table_of_named(standing, name_of):
    """Its table where the list of its mappings has names, as of kernels that give them: name_of()
    is asked for each that has none, with its flags and size."""
    lines, before, end = [], "", 0
    with open(f"/proc/{standing.pid}/maps", encoding="utf-8") as maps:
        for line in maps.read().splitlines():
            lo, hi = (int(word, 16) for word in line.split()[0].split("-"))
            flags, path = line.split()[1], line.split(None, 5)[5:]
            is_bss = before.startswith("/") and lo == end and not path
            name = name_of(flags, hi - lo) if not is_bss and path in (
                [], ["/dev/zero (deleted)"]) else None
            lines.append(line[:73].ljust(73) + name if name else line)
            before, end = path[0] if path else "", hi
    ground = standing.ground
    named = ground.scratch / "named"
    named.write_text("".join(line + "\n" for line in lines))
    script = 'mount --bind "$1" /proc/$2/maps || exit 99; exec "$3" maps --json $2'
    done = ground.run("unshare", "--mount", "sh", "-c", script, "sh", named, standing.pid,
                      ground.tidemark)
    if done.status == 99 or "unshare" in done.stderr:
        raise record.Excused(f"no mount of our own: {done.stderr.strip()}")
    expect(done.status == 0, done.stderr)
    return json.loads(done.stdout)


@test
def maps_reads_names_of_memory(ground):
    """Which few kernels give. They change no row, and their memory is told by them."""
    data = ground.scratch / "data"
    data.write_bytes(b"\1" * (8 * MIB))

    def named(flags, size):
        return {("rw-p", 16 * MIB): "[anon:own arena]",
                ("rw-s", 12 * MIB): "[anon_shmem:a pool]"}.get((flags, size))

    with Standing(ground, ground.build("mapped", MAPPED), data) as standing:
        bare, table = standing.table(), table_of_named(standing, named)
        files = {f["path"]: f for f in table["files"]}
        expect(table["rows"] == bare["rows"], f"{table['rows']}, not {bare['rows']}")
        own, pool = files["[anon:own arena]"], files["[anon_shmem:a pool]"]
        expect(own["resident"] == 5 * MIB and own["mapped_by"].startswith("own, "), f"{own}")
        expect(pool["resident"] == 12 * MIB, f"{pool}")

    # As glibc names all it maps, where it is told to (glibc.mem.decorate_maps, from 2.41 on).
    def by_libc(flags, size):
        return f"[anon: glibc: {size}]" if flags in ("rw-p", "---p") else None

    for name, source in (("stacks", STACKS), ("arenas", ARENAS), ("untouched", UNTOUCHED)):
        prog = ground.build(name, source, "-pthread")
        with Standing(ground, prog, recorded=False) as standing:
            bare, table = standing.table(), table_of_named(standing, by_libc)
            expect(table["rows"] == bare["rows"], f"{name}: {table['rows']}, not {bare['rows']}")
            expect(table["heap"] == bare["heap"], f"{name}: {table['heap']}, not {bare['heap']}")
