# SPDX-License-Identifier: Apache-2.0
"""Memory in use: RSS is the program's own, its highest moment, and heap never touched; and what
recording cost the run, all of its processes."""
import json

from ground import expect, status_kib, test


def program(ground, body):
    """Like Ground's, with the headers that these need."""
    return ground.build("prog", """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  (void)argc, (void)argv;
""" + body + "\n}\n")


HOLD = """
  struct node { struct node *next; } *head = NULL;
  for (long n = 0; n < %d; n++) {
    struct node *node = malloc(%d);
    memset(node, 1, %d);
    node->next = head;
    head = node;
  }
  usleep(150000);
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) if (!strncmp(line, "VmRSS", 5)) fputs(line, stdout);
  usleep(150000);
  return head == NULL;"""


@test
def rss_is_the_programs_own(ground):
    for n, size in (600000, 24), (40000, 1000), (300, 100000), (1, 24):
        prog = program(ground, HOLD % (n, size, size))
        plain = status_kib(ground.run(prog).stdout, "VmRSS") * 1024
        ground.record("-q", "-f", "-o", "x.tide", "--", prog)
        totals = ground.report("x.tide")["totals"]
        room = (768 << 10) + plain // 50
        for key in "rss_at_peak_bytes", "max_rss_bytes":
            expect(abs(totals[key] - plain) <= room,
                   f"{n} blocks of {size}: {key} {totals[key]}, alone it has {plain}")
        expect(totals["recorder_rss_bytes"] > n * 16, f"the recorder's part: {totals}")


@test
def rss_of_a_fork_child_is_its_own(ground):
    prog = program(ground, "if (fork()) { waitpid(-1, NULL, 0); return 0; }"
                   + HOLD % (400000, 24, 24))
    plain = status_kib(ground.run(prog).stdout, "VmRSS") * 1024
    ground.record("-q", "-f", "-o", "x.tide", "--", prog)
    totals = ground.report("x.tide")["totals"]
    expect(abs(totals["max_rss_bytes"] - plain) <= (768 << 10) + plain // 50,
           f"{totals}, alone it has {plain}")


@test
def highest_rss_and_its_moment(ground):
    prog = program(ground, """
  char *kept = malloc(13 << 20);
  memset(kept, 1, 13 << 20);
  usleep(50000);
  char *own = mmap(NULL, 80 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(own, 1, 80 << 20);
  usleep(150000);
  munmap(own, 80 << 20);
  usleep(50000);
  char *more = malloc(2 << 20);
  memset(more, 1, 2 << 20);
  usleep(100000);
  return !kept + !more;""")
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    totals = ground.report("x.tide")["totals"]
    expect(93 << 20 <= totals["max_rss_bytes"] <= 97 << 20, f"{totals}")
    expect(totals["rss_at_peak_bytes"] < 19 << 20, f"{totals}")
    expect(13 << 20 <= totals["max_rss_live_bytes"] < 14 << 20, f"{totals}")
    expect(totals["max_rss_ns"] < totals["peak_ns"], f"{totals}")
    expect("max RSS" in done.stderr and "when the heap held 13.0 MiB" in done.stderr, done.stderr)


@test
def untouched_memory_has_its_sentence(ground):
    prog = program(ground, """
  char *p = malloc(700 << 20);
  p[0] = 1;
  usleep(300000);
  return !p;""")
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    totals = ground.report("x.tide")["totals"]
    expect(690 << 20 < totals["untouched_bytes"] <= 700 << 20, f"{totals}")
    said = " ".join(done.stderr.split())
    expect("untouched 69" in said, said)
    expect("of the heap at its peak, in memory at no look: never touched" in said, said)
    touched = program(ground, """
  char *p = malloc(30 << 20);
  memset(p, 1, 30 << 20);
  usleep(300000);
  return !p;""")
    done = ground.record("-f", "-o", "x.tide", "--", touched)
    expect("untouched" not in done.stderr, done.stderr)


@test
def rss_is_never_that_of_the_next_image(ground):
    # Whoever is looked at while it becomes another program has next to nothing in memory.
    prog = program(ground, """
  char *p = malloc(9 << 20);
  memset(p, 1, 9 << 20);
  for (int i = 0; i < 12; i++) usleep(1000);
  if (argc > 1 && atoi(argv[1]) > 0) {
    char n[16];
    snprintf(n, sizeof n, "%d", atoi(argv[1]) - 1);
    execl("/proc/self/exe", "prog", n, (char *)NULL);
  }
  return !p;""")
    ground.record("-q", "-f", "-o", "x.tide", "--", prog, "40")
    told = ground.run(ground.tidemark, "info", "--json", "x.tide").stdout
    images = json.loads(told)["images"]
    expect(len(images) >= 40, f"{len(images)} images")
    known = [i for i in images if i["rss_at_peak_bytes"]]
    expect(len(known) >= 20, f"{len(known)} images with an RSS")
    for image in known:
        expect(image["rss_at_peak_bytes"] > 1 << 20, f"{image}")  # it may be filling its block
        expect(image["untouched_bytes"] < 1 << 20, f"{image}")


@test
def overhead_is_of_the_whole_tree(ground):
    script = ground.scratch / "tree.sh"
    script.write_text("for i in 1 2 3 4 5 6 7 8; do expr $i + 1; /bin/true; done\n")
    done = ground.record("-f", "-o", "x.tide", "--", "sh", script)
    expect("overhead ≈" in done.stderr, done.stderr)
    report = ground.report("x.tide")
    cost = report["capture"]["cost"]
    kept = [ground.report("x.tide", "--process", str(i))["totals"]
            for i in range(len(report["images"]))]
    expect(len(kept) >= 9, f"{len(kept)} images")
    expect(all(totals["recorder_ns"] > 0 for totals in kept), "an image that cost nothing")
    own = sum(totals["recorder_ns"] for totals in kept)
    # true allocates nothing and is no image, but it has cost its start.
    expect(own < cost["recorder_ns"] <= cost["cpu_ns"], f"{own} of {cost}")
    expect(cost["supervisor_ns"] > 0, f"{cost}")


@test
def overhead_of_a_bare_store(ground):
    prog = program(ground, """
  for (int i = 0; i < 20000; i++) free(memset(malloc(40000), i, 40000));
  if (argc > 1) raise(9);
  return 0;""")
    env = dict(ground.env, LD_PRELOAD=ground.library)
    for words, known in ((), True), (("killed",), False):
        ground.run(prog, *words, env=env)
        [store] = ground.scratch.glob("tidemark.prog.*.store")
        report = ground.report(store)
        expect((report["totals"]["cpu_ns"] > 0) == known, f"{words}: {report['totals']}")
        expect(report["capture"]["cost"] is None, f"{report['capture']}")
        text = ground.run(ground.tidemark, "report", store).stdout
        expect(("· overhead" in text) == known, text)
        store.unlink()
