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


def stripped(ground):
    """A recorded program without debug info; its debug info is in debug/prog.debug."""
    prog = ground.program("  return 0;")
    (ground.scratch / "debug").mkdir()
    ground.run("objcopy", "--only-keep-debug", prog, "debug/prog.debug")
    ground.run("strip", prog)
    ground.record("-q", "-o", "x.tide", "--", prog)
    return ground.scratch / "x.tide"


@test
def names_in_a_debug_directory(ground):
    tide = stripped(ground)
    expect("hold" not in functions(ground.report(tide)), "the program is not stripped")
    report = ground.report(tide, "--debug-dir", "debug")
    frame = report["sites"][0]["frames"][0]
    expect(frame["function"] == "hold" and frame["line"] > 0, f"{frame}")
    done = ground.run(ground.tidemark, "export", "--to", "dhat", "--debug-dir", "debug", tide)
    expect("hold" in done.stdout, "export")
    done = ground.run(ground.tidemark, "info", "--debug-dir=debug", tide)
    expect("names and lines" in done.stdout, f"info:\n{done.stdout}")
    done = ground.record("--debug-dir", "debug", "-o", "y.tide", "--", "./prog")
    expect("hold" in done.stderr, f"run:\n{done.stderr}")
    (ground.scratch / "prog").unlink()
    expect("hold" in functions(ground.report(tide, "--debug-dir", "debug")), "of a deleted program")


@test
def names_in_no_directory(ground):
    for verb, status in (("run", 125), ("report", 1)):
        done = ground.run(ground.tidemark, verb, "--debug-dir", "nowhere", "true")
        expect(done.status == status and "nowhere" in done.stderr, f"{verb}: {done.stderr!r}")
