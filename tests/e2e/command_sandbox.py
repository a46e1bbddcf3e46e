# SPDX-License-Identifier: Apache-2.0
"""Programs that put a seccomp filter on themselves, and what they start under it."""
from ground import ALLOCATE, expect, test

FILTER = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#define ON(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
static void confine(void)
{
  struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ON(SYS_socket), ON(SYS_connect), ON(SYS_memfd_create), ON(SYS_madvise), ON(SYS_prctl),
    ON(SYS_ftruncate), ON(SYS_readlinkat), ON(SYS_gettid),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter)) _exit(97);
}
"""


def both_ways(ground, prog, *words):
    """Runs it alone, bare and recorded: all end alike. Returns the recorded outcome."""
    plain = ground.run(prog, *words)
    expect(plain.status >= 0 and plain.status != 97, f"alone: {plain.status} {plain.stderr}")
    bare_env = dict(ground.env, LD_PRELOAD=ground.library,
                    TIDEMARK_OPTIONS=f"out={ground.scratch}/bare.%p.store")
    bare = ground.run(prog, *words, env=bare_env)
    run = ground.record("-q", "-f", "-o", "x.tide", "--", prog, *words)
    for name, done in (("bare", bare), ("run", run)):
        expect((done.status, done.stdout) == (plain.status, plain.stdout),
               f"{name}: {done.status} {done.stdout!r} {done.stderr!r}, alone {plain.status}")
    return run


@test
def sandbox_then_fork(ground):
    prog = ground.build("prog", ALLOCATE + FILTER + r"""
int main(void)
{
  int status;
  hold_all();
  confine();
  if (!fork()) { hold_all(); _exit(kept[99] ? 5 : 6); }
  wait(&status);
  hold_all();
  return WEXITSTATUS(status);
}""")
    run = both_ways(ground, prog)
    expect(run.status == 5, f"the child ended with {run.status}")
    report = ground.report("x.tide")
    expect(report["totals"]["allocations"] == 200, f"{report['totals']}")
    expect(report["completeness"]["fork_lost"] == 1, f"{report['completeness']}")


@test
def sandbox_then_exec(ground):
    """By exec the next image goes without us; by system() it finds us, and we keep still."""
    prog = ground.build("prog", ALLOCATE + FILTER + r"""
int main(int argc, char **argv)
{
  char command[4096];
  hold_all();
  if (argc > 2) return 9;
  confine();
  if (argv[1][0] == 'e') execl(argv[0], argv[0], "again", "again", (char *)NULL);
  snprintf(command, sizeof command, "%s again again", argv[0]);
  return WEXITSTATUS(system(command));
}""")
    for how in ("exec", "system"):
        run = both_ways(ground, prog, how)
        expect(run.status == 9, f"{how}: {run.status}")
        report = ground.report("x.tide")
        expect(report["totals"]["allocations"] == 100, f"{how}: {report['totals']}")
        said = "a seccomp filter was put on it" in run.stderr
        lost = report["completeness"]["fork_lost"]
        expect(said if how == "system" else lost == 1, f"{how}: lost {lost}, said {run.stderr!r}")


@test
def sandbox_without_room(ground):
    """Blocks so far apart that the tables for them are more than was reserved."""
    prog = ground.build("prog", ALLOCATE + FILTER + r"""
int main(void)
{
  hold_all();
  confine();
  for (int i = 0; i < 3000; i++) if (!malloc(1l << 30)) return 8;
  return 0;
}""")
    run = both_ways(ground, prog)
    expect(run.stderr == "", f"said {run.stderr!r}")
    report = ground.report("x.tide")
    text = ground.run(ground.tidemark, "report", "x.tide").stdout
    expect(100 < report["totals"]["allocations"] < 3100, f"{report['totals']}")
    expect(report["image"]["off_reason"] == 3, f"off_reason {report['image']['off_reason']}")
    said = " ".join(text.split())
    expect("recording stopped when the program sandboxed itself; what is above is until then"
           in said and "\n  complete:" not in text, text)
    expect("events until recording stopped" in said and "complete: every event" not in said
           and "peak exact" not in said, text)
    exact = report["exactness"]
    expect(exact["allocated"]["is"] == exact["peak"]["is"] == "at_least"
           and exact["live"]["is"] == "within", f"{exact}")
