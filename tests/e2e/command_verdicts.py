# SPDX-License-Identifier: Apache-2.0
"""Assertions of a program about a region of its heap, by <tidemark/tidemark.h>."""
import re
import subprocess

from command_inside import INCLUDE, bare
from ground import expect, test

# Two blocks that are kept, one of them resized, and two that are not; then one of the assertions.
SOURCE = r"""
#include <tidemark/tidemark.h>
#include <stdlib.h>
#define PLACE __attribute__((noipa))
static void *kept[2];
PLACE void keep(int i, int n) { kept[i] = malloc(n); }
PLACE void widen(void) { kept[1] = realloc(kept[1], 500); }
PLACE void churn(void) { free(malloc(1000)); }
int main(int argc, char **argv)
{
  struct tidemark_region r;
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  keep(0, 4000);
  keep(1, 50);
  widen();
  for (int i = 1; i <= argc; i++) churn(); // twice
#line 7 "budget.c"
  switch (atoi(argv[1])) {
  case 1: TIDEMARK_ASSERT_MAX_BYTES(&r, N); break;
  case 2: TIDEMARK_ASSERT_MAX_ALLOCATIONS(&r, N); break;
  case 3: TIDEMARK_ASSERT_NO_LEAKS(&r); break;
  case 4: TIDEMARK_ASSERT_MAX_LEFT(&r, N); break;
  case 5: TIDEMARK_ASSERT_ALLOCATIONS(&r, N); break;
  case 6: TIDEMARK_ASSERT_BYTES(&r, N); break;
  }
  free(kept[0]);
  free(kept[1]);
  TIDEMARK_ASSERT_NO_LEAKS(&r);
  return tidemark_region_end(&r, NULL) && errno != ENOSYS && errno != ENODATA;
}
"""
NUMBERS = """\
tidemark: in all 4 allocations, 1 reallocation, 2 deallocations; 5500 bytes at most, \
4500 bytes left in 2 blocks
"""
ALL = """\
tidemark: allocated here:
tidemark:   4000 bytes in 1 block
tidemark:     at keep
tidemark:   2000 bytes in 2 blocks
tidemark:     at churn
tidemark:   500 bytes in 1 block
tidemark:     at widen
tidemark:   50 bytes in 1 block
tidemark:     at keep
"""
LEFT = """\
tidemark: what is left was allocated here:
tidemark:   4000 bytes in 1 block
tidemark:     at keep
tidemark:   500 bytes in 1 block
tidemark:     at widen
"""
NEXT = """\
tidemark: names: 'tidemark report' of this recording, or addr2line -Cfpie FILE ADDRESS
"""

# What is asserted, with which bound it is broken, what is said then, and a bound that is kept.
VERDICTS = (
    (1, 5499, "8: at most 5499 bytes were to be live at once, and it came to 5500 bytes", ALL,
     5500),
    (2, 1, "9: at most 1 allocation was expected, and it came to 4", ALL, 4),
    (3, 0, "10: at most 0 blocks were to be left, and there are more: 2", LEFT, None),
    (4, 1, "11: at most 1 byte was to be left, and there is more: 4500 bytes", LEFT, 4500),
    (5, 3, "12: exactly 3 allocations were expected, and it came to 4", ALL, 4),
    (6, 10, "13: exactly 10 bytes were to be allocated, and it came to 6500", ALL, 6500),
)


def named(said, prog):
    """Innermost frames by the names of their functions; the rest of each stack is left out."""
    def name(match):
        done = subprocess.run(["addr2line", "-fe", match[1], match[2]], capture_output=True,
                              text=True, check=True)
        return "at " + done.stdout.split()[0]
    expect(f"from {prog}+0x" in said, f"no callers: {said}")
    said = re.sub(r"tidemark: {7}from .*\n", "", said)
    return re.sub(r"at (/\S+)\+(0x[0-9a-f]+)", name, said)


@test
def verdicts_kept_and_broken(ground):
    """Each form, each message, under run and with a bare preload; the capture is there."""
    for number, limit, says, sites, kept in VERDICTS:
        prog = ground.build("broken", SOURCE, f"-I{INCLUDE}", f"-DN={limit}")
        runs = ((ground.tidemark, "run", "-q", "-f", "-o", "x.tide", prog, str(number)), None), \
            ((prog, str(number)), bare(ground))
        for command, env in runs:
            done = ground.run(*command, env=env)
            expect(done.status in (-6, 134), f"{says}: {done.status} {done.stderr}")
            said = named(done.stderr, prog)
            expect(said == f"tidemark: budget.c:{says}\n{NUMBERS}{sites}{NEXT}", said)
        totals = ground.report("x.tide")["totals"]
        expect(totals["live_bytes"] == 4500, f"{totals}")
        if kept is None:
            continue
        prog = ground.build("kept", SOURCE, f"-I{INCLUDE}", f"-DN={kept}")
        for command, env in runs:
            done = ground.run(*(prog if part == ground.scratch / "broken" else part
                                for part in command), env=env)
            expect(done.status == 0 and not done.stderr, f"{says}: {done.status} {done.stderr}")


@test
def verdicts_that_cannot_be(ground):
    """Without a recorder nothing is judged and nothing said; where not all is known it is said,
    once, and the program goes on."""
    prog = ground.build("broken", SOURCE, f"-I{INCLUDE}", "-DN=1")
    done = ground.run(prog, "1")
    expect(done.status == 0 and not done.stderr, f"{done.status}: {done.stderr}")
    for option in "--start-paused", "--sample=64KiB":
        done = ground.run(ground.tidemark, "run", "-q", "-f", option, "-o", "x.tide", prog, "1")
        expect(done.status == 0, f"{done.status}: {done.stderr}")
        expect(done.stderr == "tidemark: budget.c:8: cannot be judged: not every event of this "
               "region is known (recording is or was off, only samples are recorded, or the region "
               "is not open)\n", done.stderr)


@test
def verdicts_of_many_places(ground):
    """Of more sites than are told the largest, of more events than are kept the latest, and of the
    process what its other threads did."""
    prog = ground.build("many", r"""
#include <tidemark/tidemark.h>
#include <pthread.h>
#include <stdlib.h>
#define PLACE __attribute__((noipa))
#define AT(n) PLACE void *at_##n(void) { return malloc(n); }
AT(100) AT(200) AT(300) AT(400) AT(500) AT(600) AT(700)
static void *work(void *arg)
{
  void *volatile p[] = {at_100(), at_300(), at_500(), at_700(), at_600(), at_400(), at_200()};
  return arg ? arg : p[0];
}
int main(void)
{
  struct tidemark_region r;
  pthread_t thread;
  tidemark_region_begin(&r, TIDEMARK_PROCESS);
  for (int i = 0; i < 5000; i++) free(malloc(9));
  pthread_create(&thread, 0, work, &r);
  pthread_join(thread, 0);
  TIDEMARK_ASSERT_MAX_LEFT(&r, 100);
}
""", "-pthread", f"-I{INCLUDE}")
    done = ground.run(ground.tidemark, "run", "-q", "-f", "-o", "x.tide", prog)
    expect("\ntidemark: what is left was allocated here, in the latest 4096 events, the largest:\n"
           in done.stderr, done.stderr)
    said = re.findall(r"(\d+) bytes in 1 block\ntidemark: {5}at (\S+)\n", named(done.stderr, prog))
    places = [(size, name) for size, name in said if name.startswith("at_")]
    expect(places == [(str(n), f"at_{n}") for n in (700, 600, 500, 400, 300)][:len(places)] and
           len(places) >= 4, done.stderr)
