# SPDX-License-Identifier: Apache-2.0
"""Many short processes: what one does because of us, and that none is lost among many."""
import json

from ground import expect, test

# Runs a command and says how many system calls each of its processes made, in the order of their
# coming, first the command itself.
COUNTER = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static struct { pid_t pid; long stops; } seen[64];
static int n_seen;
static long *stops_of(pid_t pid)
{
  int i = 0;
  while (i < n_seen && seen[i].pid != pid) i++;
  if (i == n_seen) seen[n_seen++].pid = pid;
  return &seen[i].stops;
}
int main(int argc, char **argv)
{
  int status;
  pid_t pid = fork();
  if (!pid) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execv(argv[1], argv + 1);
    _exit(99);
  }
  if (waitpid(pid, &status, 0) != pid) return 1;
  ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL);
  stops_of(pid);
  ptrace(PTRACE_SYSCALL, pid, 0, 0);
  while ((pid = waitpid(-1, &status, __WALL)) > 0) {
    if (!WIFSTOPPED(status)) continue;
    int signal = WSTOPSIG(status);
    *stops_of(pid) += signal == (SIGTRAP | 0x80);
    int is_ours = signal == (SIGTRAP | 0x80) || signal == SIGTRAP || signal == SIGSTOP;
    ptrace(PTRACE_SYSCALL, pid, 0, is_ours ? 0 : signal);
  }
  for (int i = 0; i < n_seen; i++) printf("%ld ", (seen[i].stops + 1) / 2);
  puts("");
  return argc < 2;
}"""

FORKER = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[100];
__attribute__((noinline)) static void in_child(void) { if (!malloc(50)) _exit(3); }
int main(int argc, char **argv)
{
  int n = atoi(argv[1]), blocks = atoi(argv[2]), bad = argc != 3;
  for (int i = 0; i < 100; i++) kept[i] = malloc(80);
  for (int i = 0; i < n; i++) {
    int status = 1;
    pid_t child = fork();
    if (!child) { for (int k = 0; k < blocks; k++) in_child(); _exit(7); }
    bad |= waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7;
  }
  return bad;
}"""

# Says how many page faults each fork child had that allocated a few blocks.
FAULTS = r"""
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[32];
int main(void)
{
  for (int i = 0; i < 32; i++) kept[i] = malloc(80);
  for (int i = 0; i < 4; i++) {
    struct rusage usage;
    pid_t child = fork();
    if (!child) { for (int k = 0; k < 8; k++) { free(kept[k]); kept[k] = malloc(50); } _exit(0); }
    if (wait4(child, NULL, 0, &usage) != child) return 1;
    printf("%ld ", usage.ru_minflt);
  }
}"""


def calls(ground, counter, *command):
    """System calls of each process of a command, alone and recorded."""
    alone = ground.run(counter, *command)
    expect(alone.status == 0, f"alone: {alone.status} {alone.stderr}")
    recorded = ground.record("-q", "-f", "-o", "calls.tide", "--", counter, *command)
    expect(recorded.status == 0, f"recorded: {recorded.status} {recorded.stderr}")
    return [[int(word) for word in done.stdout.split()] for done in (alone, recorded)]


def expect_complete(ground):
    report = ground.run(ground.tidemark, "report", "x.tide").stdout
    expect("complete: every event" in report, f"not complete: {report}")


@test
def forks_without_allocations_do_nothing(ground):
    counter, forker = ground.build("counter", COUNTER), ground.build("forker", FORKER)
    alone, recorded = calls(ground, counter, forker, "5", "0")
    expect(len(alone) == 6 and alone[1:] == recorded[1:], f"alone {alone}, recorded {recorded}")
    ground.record("-q", "-f", "-o", "x.tide", "--", forker, "200", "0")
    info = json.loads(ground.run(ground.tidemark, "info", "--json", "x.tide").stdout)
    expect(len(info["images"]) == 1, f"{len(info['images'])} images of one program that allocates")
    expect_complete(ground)


@test
def forks_short_processes_make_few_calls(ground):
    counter, forker = ground.build("counter", COUNTER), ground.build("forker", FORKER)
    alone, recorded = calls(ground, counter, forker, "3", "1")
    more = [with_us - without for without, with_us in zip(alone, recorded)]
    expect(more[0] <= 80, f"an exec'd process makes {more[0]} calls of ours")
    expect(max(more[1:]) <= 40, f"fork children make {more[1:]} calls of ours")


@test
def forks_short_processes_touch_few_pages(ground):
    faults = ground.build("faults", FAULTS)
    alone = [int(word) for word in ground.run(faults).stdout.split()]
    recorded = ground.record("-q", "-f", "-o", "x.tide", "--", faults).stdout.split()
    more = [int(with_us) - without for without, with_us in zip(alone, recorded)]
    # 20 to 22, and some more by where the kernel puts what it maps.
    expect(len(more) == 4 and max(more[1:]) <= 28, f"fork children have {more} faults of ours")


@test
def forks_by_the_thousand_lose_nothing(ground):
    n, each = 2000, 3
    forker = ground.build("forker", FORKER)
    run = ground.record("-q", "-f", "-o", "x.tide", "--", forker, str(n), str(each))
    expect(run.status == 0, f"{run.status} {run.stderr}")
    info = json.loads(ground.run(ground.tidemark, "info", "--json", "x.tide").stdout)
    one_by_one = [image for image in info["images"] if image["pid"]]
    expect(len(one_by_one) == 256 and len(info["images"]) == 257,
           f"{len(one_by_one)} of {len(info['images'])} images have a pid")
    expect(info["capture"]["images_left_out"] == n + 1 - 256, f"{info['capture']}")
    lead = ground.report("x.tide")
    expect(lead["totals"]["allocations"] == 100, f"not the command: {lead['totals']}")
    expect_complete(ground)
    ground.run(ground.tidemark, "merge", "--all", "-f", "-o", "all.tide", "x.tide")
    totals = ground.report("all.tide")["totals"]
    expect(totals["allocations"] == 100 + n * each and
           totals["allocated_bytes"] == 100 * 80 + n * each * 50, f"of all: {totals}")
    size = (ground.scratch / "x.tide").stat().st_size
    expect(size < 200 * n, f"{size} bytes for {n} like processes")
