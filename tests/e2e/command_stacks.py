# SPDX-License-Identifier: Apache-2.0
"""Many distinct stacks: all of them are there, each with its own numbers."""
import json
import pathlib
import signal
import subprocess
import time

from ground import expect, test

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "bench/stacks.c"


@test
def a_hundred_thousand_stacks(ground):
    prog = ground.build("stacks", SOURCE.read_text())
    for mode, n in ("leaf", 100000), ("branch", 10000):
        ground.record("-q", "-f", "-o", "x.tide", "--", prog, mode, str(n))
        report = ground.report("x.tide", "--all")
        totals, sites = report["totals"], report["sites"]
        expect(report["capture"]["complete"], f"{mode}: {report['completeness']}")
        expect(report["completeness"]["lost_full"] == 0, f"{mode}: stacks were lost")
        # The program's own, and the buffer of its standard output.
        own = [site for site in sites if site["bytes"] < 1024]
        expect(len(own) == n, f"{mode}: {len(own)} stacks of {n}")
        expect(all(site["allocations"] == 1 for site in own), f"{mode}: a stack was met twice")
        sizes = sorted(site["bytes"] for site in own)
        expect(sizes == sorted(16 + i % 64 for i in range(n)), f"{mode}: sizes differ")
        expect(sum(site["frees"] for site in own) == n // 2, f"{mode}: {totals['frees']} frees")
        for key, total in (("allocations", "allocations"), ("bytes", "allocated_bytes"),
                           ("frees", "frees"), ("freed_bytes", "freed_bytes")):
            expect(sum(site[key] for site in sites) == totals[total], f"{mode}: {key} of all")


# The kernel counts what a process was before its exec, too: a copy of this small program, not of
# the tests.
WEIGH = r"""
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  int status;
  struct rusage usage;
  pid_t pid = argc > 1 ? fork() : -1;
  if (pid == 0) {
    execv(argv[1], argv + 1);
    _exit(127);
  }
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status)
    return 1;
  fprintf(stderr, "%ld\n", usage.ru_maxrss);
  return 0;
}
"""


class Recording:
    """Of N stacks; tells the most that tidemark had in memory, the store's pages included."""

    def __init__(self, ground, prog, n, *words):
        self.ground, self.n, self.tide = ground, n, f"{n}.tide"
        weigh = ground.build("weigh", WEIGH)
        argv = [str(word) for word in (weigh, ground.tidemark, "run", "-q", "-f", "-o",
                                       ground.scratch / self.tide, "--", prog, "leaf", n, *words)]
        self.process = subprocess.Popen(argv, env=ground.env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def await_checkpoint(self):
        """Until there is one that has all stacks, made while the program waits."""
        seen, until = None, time.monotonic() + 90
        expect(self.process.stdout.readline() == b"ready\n", "the program is not ready")
        while time.monotonic() < until:
            time.sleep(0.05)
            path = self.ground.scratch / self.tide
            now = path.stat().st_ino if path.exists() and path.stat().st_size else seen
            if now == seen:
                continue
            done = self.ground.run(self.ground.tidemark, "info", "--json", self.tide)
            seen, image = now, json.loads(done.stdout)["images"][0]
            if image["allocations"] >= self.n:
                return
        raise AssertionError(f"no checkpoint has all {self.n} stacks")

    def memory(self):
        """Lets it end."""
        _, told = self.process.communicate()
        expect(self.process.returncode == 0, f"{self.n} stacks: {told.decode()}")
        return int(told) * 1024


def expect_little(few, many, most):
    per_stack = (many.memory() - few.memory()) / (many.n - few.n)
    expect(per_stack < most, f"{per_stack:.0f} bytes per stack")


@test
def a_stack_takes_little_memory_of_tidemark(ground):
    """Of the recording, which it reads in place, 86 bytes; when all stacks were rows in memory it
    was 450 in all."""
    prog = ground.build("stacks", SOURCE.read_text())
    expect_little(*(Recording(ground, prog, n) for n in (50000, 250000)), 250)


@test
def a_stack_of_a_checkpoint_takes_little_memory(ground):
    """About 200 bytes, though so few stacks do not tell exactly; when drafts were made of rows it
    was 780."""
    prog = ground.build("stacks", SOURCE.read_text())
    few, many = (Recording(ground, prog, n, "hold") for n in (34000, 70000))
    few.await_checkpoint()
    many.await_checkpoint()
    shown = ground.run(ground.tidemark, "report", few.tide)
    expect_little(few, many, 400)
    expect("this is its last checkpoint" in shown.stdout and "block_new" in shown.stdout,
           shown.stdout)


@test
def the_first_screen_of_many_stacks(ground):
    """What was packed for the file is unpacked for the screen; a kill loses nothing of it."""
    source = SOURCE.read_text()
    expect("(void)getchar();" in source, "the program holds in another way")
    source = "#include <signal.h>\n" + source.replace("(void)getchar();", "raise(SIGKILL);")
    prog = ground.build("killed", source)
    done = ground.record("-f", "-o", "x.tide", "--", prog, "leaf", "50000", "hold")
    screen = done.stderr
    expect(done.status == -signal.SIGKILL, f"status {done.status}")
    expect("block_new" in screen and "complete: every event (75,0" in screen, screen)
    report = ground.report("x.tide", "--all")
    expect(report["capture"]["complete"], report["completeness"])
    own = [site for site in report["sites"] if site["bytes"] < 1024]
    expect(len(own) == 50000, f"{len(own)} stacks")
