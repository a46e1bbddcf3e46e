# SPDX-License-Identifier: Apache-2.0
"""Names from elsewhere than the program's own file."""
from ground import expect, test


def functions(report, where=lambda frame: True):
    frames = (frame for site in report["sites"] for frame in site["frames"])
    return {frame["function"] for frame in frames if where(frame)}


@test
def names_of_the_vdso(ground):
    """A handler that allocates interrupts clock_gettime, whose code is the kernel's."""
    prog = ground.build("prog", """
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static volatile int n;
static void *volatile kept;
__attribute__((noipa)) static void on_alarm(int s) { (void)s; kept = malloc(100); n++; }
int main(void)
{
  struct itimerval often = {{0, 200}, {0, 200}};
  struct timespec now;
  signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &often, 0);
  while (n < 1000) clock_gettime(CLOCK_MONOTONIC, &now);
  return 0;
}""")
    ground.record("-q", "-o", "x.tide", "--", prog)
    report = ground.report("x.tide", "--all-frames")
    named = functions(report, lambda frame: frame["module"] == "[vdso]")
    if named:  # else none of a thousand signals came while it ran
        expect(any(name and "clock_gettime" in name for name in named), f"{named}")
    modules = {frame["module"] for site in report["sites"] for frame in site["frames"]}
    expect(not any("linux-vdso" in name for name in modules), f"{modules}")
