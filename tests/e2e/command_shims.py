# SPDX-License-Identifier: Apache-2.0
"""Allocators as browsers bring them: under libc's names, with arenas, with ways in that no name
shows; and started behind a preload of their own."""
import re

from ground import expect, test

POOL = """
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define EXPORT __attribute__((noipa, optimize("O0"))) // begins as functions do
static _Alignas(64) char pool[16 << 20];
static size_t used;
static void *carve(size_t n)
{
  char *p = pool + used;
  used += (n + 127) / 64 * 64;
  *(size_t *)p = n;
  return p + 64;
}
static void *again(void *old, size_t n)
{
  void *p = carve(n);
  return old ? memcpy(p, old, *(size_t *)((char *)old - 64)) : p;
}
EXPORT void *malloc(size_t n) { return carve(n); }
EXPORT void *calloc(size_t n, size_t each) { return carve(n * each); }
EXPORT void *realloc(void *old, size_t n) { return again(old, n); }
EXPORT void free(void *p) { __asm__ volatile("" ::"r"(p)); }
"""


def recorded(ground, source, *words):
    prog = ground.build("prog", source, "-rdynamic", "-fno-builtin")
    done = ground.record("-f", "-o", "x.tide", "--", *words, prog)
    expect(done.status == 6, f"status {done.status}: {done.stderr}")
    return ground.report("x.tide"), \
        " ".join(done.stderr.split())


@test
def shim_by_libcs_inner_names(ground):
    """A malloc that stands in for libc's, inner names and all: its operator new is its own."""
    report, said = recorded(ground, POOL + """
EXPORT void *__libc_malloc(size_t n) { return carve(n); }
EXPORT void *_Znwm(size_t n) { return carve(n); }
EXPORT void *_ZnwmRKSt9nothrow_t(size_t n, const void *tag) { return tag ? carve(n) : NULL; }
EXPORT void _ZdlPv(void *p) { __asm__ volatile("" ::"r"(p)); }
int main(void)
{
  for (int i = 0; i < 30; i++) free(malloc(100));
  for (int i = 0; i < 40; i++) _ZdlPv(_Znwm(200));
  _Znwm(7000);
  return 6;
}
""")
    totals = report["totals"]
    expect((totals["allocations"], totals["live_bytes"]) == (71, 7000), f"{totals}")
    expect("an allocator of its own; by the agent" in said and " complete: every event" in said,
           said)


@test
def shim_with_arenas(ground):
    """mozjemalloc's functions that are told an arena, and those that copy."""
    report, said = recorded(ground, POOL + """
EXPORT void *moz_arena_malloc(size_t a, size_t n) { return carve(n + 0 * a); }
EXPORT void *moz_arena_calloc(size_t a, size_t n, size_t each) { return carve(n * each + 0 * a); }
EXPORT void *moz_arena_realloc(size_t a, void *p, size_t n) { return again(p, n + 0 * a); }
EXPORT void *moz_arena_memalign(size_t a, size_t to, size_t n) { return carve(n + 0 * (a + to)); }
EXPORT void moz_arena_free(size_t a, void *p) { __asm__ volatile("" ::"r"(p), "r"(a)); }
EXPORT void *moz_xmemdup(const void *p, size_t n) { return memcpy(carve(n), p, n); }
EXPORT char *moz_xstrdup(const char *s) { return strcpy(carve(strlen(s) + 1), s); }
int main(void)
{
  for (int i = 0; i < 10; i++) moz_arena_free(9, moz_arena_malloc(9, 100));
  for (int i = 0; i < 10; i++) free(moz_arena_calloc(9, 3, 70));
  moz_arena_realloc(9, moz_arena_memalign(9, 64, 500), 3000);
  moz_xmemdup("some bytes", 11);
  moz_xstrdup("twenty characters ..");
  free(moz_xstrdup("gone"));
  return 6;
}
""")
    totals = report["totals"]
    expect((totals["allocations"], totals["live_bytes"]) == (25, 3000 + 11 + 21), f"{totals}")
    expect("mozjemalloc; by the agent" in said and " complete: every event" in said, said)


PARTITIONS = """
EXPORT void *blink_buffer(size_t n, const char *of)
    __asm__("_ZN5blink10Partitions12BufferMallocEmPKc");
void *blink_buffer(size_t n, const char *of) { return carve(n + 0 * *of); }
EXPORT void *blink_again(void *p, size_t n, const char *of)
    __asm__("_ZN5blink10Partitions16BufferTryReallocEPvmPKc");
void *blink_again(void *p, size_t n, const char *of) { return again(p, n + 0 * *of); }
EXPORT void blink_buffer_free(void *p) __asm__("_ZN5blink10Partitions10BufferFreeEPv");
void blink_buffer_free(void *p) { __asm__ volatile("" ::"r"(p)); }
EXPORT void *wtf_fast(size_t n, const char *of) __asm__("_ZN3WTF10Partitions10FastMallocEmPKc");
void *wtf_fast(size_t n, const char *of) { return *of ? malloc(n) : NULL; }
EXPORT void wtf_fast_free(void *p) __asm__("_ZN3WTF10Partitions8FastFreeEPv");
void wtf_fast_free(void *p) { free(p); }
int main(void)
{
  for (int i = 0; i < 10; i++) blink_buffer_free(blink_buffer(100, "buffer"));
  for (int i = 0; i < 20; i++) wtf_fast_free(wtf_fast(50, "fast"));
  blink_again(blink_buffer(500, "buffer"), 3000, "buffer");
  for (int i = 0; i < 30; i++) free(malloc(10));
  return 6;
}
"""


@test
def shim_with_partitions(ground):
    """PartitionAlloc by its symbols: malloc, and Blink's partitions beside and on top of it."""
    report, said = recorded(ground, POOL + PARTITIONS)
    totals = report["totals"]
    expect((totals["allocations"], totals["live_bytes"]) == (62, 3000), f"{totals}")
    expect("PartitionAlloc; by the agent" in said and " complete: every event" in said, said)


@test
def shim_with_partitions_stripped(ground):
    """Exports alone: malloc is hooked and said to be its own; Blink's partitions are not seen."""
    prog = ground.build("prog", POOL + PARTITIONS, "-fno-builtin",
                        "-Wl,--export-dynamic-symbol=malloc,--export-dynamic-symbol=calloc,"
                        "--export-dynamic-symbol=realloc,--export-dynamic-symbol=free")
    ground.run("strip", prog)
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    said = " ".join(done.stderr.split())
    expect(done.status == 6, f"status {done.status}: {done.stderr}")
    expect(ground.report("x.tide")["totals"]["allocations"] == 50, said)
    expect("an allocator of its own; by the agent" in said, said)


@test
def shim_with_a_way_past(ground):
    """What is freed was allocated, if by nobody whom a name shows: not complete, and said."""
    report, said = recorded(ground, POOL + """
int main(void)
{
  for (int i = 0; i < 500; i++) free(malloc(100));
  for (int i = 0; i < 7; i++) free(carve(100));
  return 6;
}
""")
    expect("incomplete: 1,000 events seen, and 7 frees of blocks not seen allocated" in said, said)
    expect("from before" not in said, said)
    expect(not report["capture"]["complete"], f"{report['capture']}")
    expect(report["completeness"]["unknown_frees"] == 7, f"{report['completeness']}")
    listed = " ".join(ground.run(ground.tidemark, "info", "x.tide").stdout.split())
    expect("frees of blocks not seen allocated: 7" in listed, listed)


@test
def shim_behind_another_preload(ground):
    """Who starts it has put a library of its own before ours: it is recorded one way, not two."""
    ground.build("libfirst.so", "int first;\n", "-shared", "-fPIC")
    start = ground.build("start", """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  char list[8192];
  snprintf(list, sizeof list, "%s/libfirst.so %s:%s", argv[1], getenv("LD_PRELOAD"),
           getenv("LD_PRELOAD"));
  setenv("LD_PRELOAD", list, 1);
  return argc > 2 ? execv(argv[2], argv + 2) : 3;
}
""")
    _, said = recorded(ground, POOL + """
int main(void)
{
  for (int i = 0; i < 50; i++) malloc(100);
  return getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "libtidemark.so:/") ? 6 : 5;
}
""", start, ground.scratch)
    report = ground.report("x.tide")
    mine = [image for image in report["images"] if image["exe"].endswith("/prog")]
    expect(len(mine) == 1 and mine[0]["allocations"] == 50, f"{mine}")
    expect(not report["capture"]["run"]["unrecorded"], f"{report['capture']['run']}")
    expect(" complete: " in said, said)


PARTLY = POOL + """
__asm__(".globl memalign\\n.type memalign, @function\\nmemalign: call carve_any\\nret\\n"
        ".size memalign, .-memalign");
__attribute__((used)) void *carve_any(size_t to, size_t n) { return carve(n + 0 * to); }
void *memalign(size_t, size_t);
int main(void)
{
  for (int i = 0; i < 40; i++) free(malloc(100));
  memalign(64, 100);
  return 6;
}
"""


@test
def shim_partly_hooked(ground):
    """A function that begins with a call cannot be hooked: the recording is a part, and says so."""
    report, said = recorded(ground, PARTLY)
    expect("incomplete: 80 events seen, functions of its allocator could not be hooked (memalign: "
           "it begins with a call)" in said, said)
    image = report["image"]
    expect("unhooked" in image["lacks"], f"{image}")
    expect(image["not_hooked"] == "memalign: it begins with a call", f"{image}")
    expect("could not be hooked (memalign: it" in
           " ".join(ground.run(ground.tidemark, "report", "x.tide").stdout.split()), "report")


@test
def shim_passed_on(ground):
    """One that begins with a call, too, but of a hooked one whose block it returns: seen there."""
    report, said = recorded(ground, PARTLY.replace(
        "call carve_any\\nret", ".cfi_startproc\\npush %rbx\\n.cfi_adjust_cfa_offset 8\\n"
        "mov %rsi, %rdi\\ncall malloc\\npop %rbx\\n.cfi_adjust_cfa_offset -8\\nret\\n.cfi_endproc"))
    expect(report["image"]["not_hooked"] is None and " complete: " in said,
           f"{report['image']}: {said}")
    expect(report["totals"]["allocations"] == 41, f"{report['totals']}")


# Every function of it begins with a call, which cannot be moved elsewhere.
FENTRY = POOL.replace(', optimize("O0")', "") + """
__attribute__((naked, no_instrument_function)) void __fentry__(void) { __asm__("ret"); }
__attribute__((noipa)) static void work(void)
{
  for (int i = 0; i < 40; i++) free(malloc(100));
  malloc(3000);
}
"""
MAIN = FENTRY + "int main(void) { work(); return 6; }\n"
# No function of libc is called, so that nothing at all comes to the agent.
START = FENTRY + """
__attribute__((force_align_arg_pointer)) void _start(void)
{
  work();
  __asm__ volatile("syscall" ::"a"(231), "D"(6));
}
"""


@test
def shim_not_hooked(ground):
    """No function of its allocator can be hooked: which, why and what would help; not complete."""
    for source, flags in ((MAIN, ()), (START, ("-nostartfiles",))):
        prog = ground.build("prog", source, "-rdynamic", "-fno-builtin", "-pg", "-mfentry", *flags)
        done = ground.record("-f", "-o", "x.tide", "--", prog)
        said = " ".join(done.stderr.split())
        expect(done.status == 6, f"status {done.status}: {said}")
        named = re.search(r"\(([a-z, ]+): it begins with a call\): its blocks are not seen", said)
        expect(named and set(named[1].split(", ")) == {"malloc", "calloc", "realloc"}, said)
        expect("-fpatchable-function-entry" in said and "complete: every" not in said, said)
        expect("before its first" not in said and "nothing was allocated" not in said, said)
        report = ground.report("x.tide")
        rows = report["capture"]["run"]["unrecorded"]
        expect([row["reason"] for row in rows] == ["unhooked"], f"{rows}")
        expect(not report["capture"]["complete"], f"{report['capture']}")


@test
def shim_hooked_as_advised(ground):
    prog = ground.build("prog", START, "-rdynamic", "-fno-builtin", "-pg", "-mfentry",
                        "-nostartfiles", "-fpatchable-function-entry=8")
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    totals = ground.report("x.tide")["totals"]
    expect((totals["allocations"], totals["live_bytes"]) == (41, 3000), f"{totals}")
    expect("its blocks are not seen" not in " ".join(done.stderr.split()), done.stderr)
