# SPDX-License-Identifier: Apache-2.0
"""What processes of a run can do to each other, and what a supervisor that is not there can do to
them: nothing."""
import json
import pathlib
import stat

from ground import ALLOCATE, expect, test

PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"

CHILD = """
#include "own_maps.h"
#include <sys/wait.h>
int main(void)
{
  int status = -1;
  *(void *volatile *)&(void *){0} = malloc(10);
  pid_t child = fork();
  if (child == 0) {
    MUST(store_bytes_writable() <= CHILDREN_PAGE_BYTES);
    *(void *volatile *)&(void *){0} = malloc(10);
    MUST(store_bytes_writable() == 0);
    _exit(5);
  }
  MUST(waitpid(child, &status, 0) == child && status == 5 << 8);
  return 0;
}
"""


@test
def children_not_followed_hold_no_store(ground):
    """Nor are they lost: nobody wanted them."""
    prog = ground.build("prog", CHILD, f"-I{PROGRAMS}")
    done = ground.record("--no-follow", "-o", "x.tide", "--", prog)
    expect(done.status == 0 and done.stdout == "", f"{done.status}: {done.stdout!r}")
    report = ground.report("x.tide")
    expect(len(report["images"]) == 1, f"{report['images']}")
    expect(report["completeness"]["fork_lost"] == 0, f"{report['completeness']}")


STOPS = """
#include <dirent.h>
#include <sys/wait.h>
static int n_threads_awake(pid_t pid)
{
  char path[600], state;
  int n = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *tasks = opendir(path);
  for (struct dirent *e; (e = readdir(tasks));) {
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, e->d_name);
    FILE *stat = e->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (stat)
      n += fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state != 'T', fclose(stat);
  }
  closedir(tasks);
  return n;
}
int main(int argc, char **argv)
{
  int status = -1;
  hold_all();
  if (argc > 1)
    return 3;
  kill(getppid(), SIGSTOP);
  while (n_threads_awake(getppid()))
    usleep(1000);
  if (fork() == 0) {
    hold(0);
    _exit(4);
  }
  if (fork() == 0) {
    execl(argv[0], argv[0], "again", (char *)0);
    _exit(9);
  }
  while (wait(&status) > 0)
    printf("%d\\n", WEXITSTATUS(status));
  kill(getppid(), SIGCONT);
  return 0;
}
"""


@test
def a_supervisor_that_is_stopped(ground):
    """What starts meanwhile waits for a few seconds, goes on unrecorded and says so; the child that
    was forked is counted in its parent, the other among the programs that were not recorded."""
    prog = ground.build("prog", ALLOCATE + STOPS)
    done = ground.record("-o", "x.tide", "--", prog)
    expect(done.status == 0 and sorted(done.stdout.split()) == ["3", "4"], f"{done}")
    line = f"tidemark: this process is not recorded: its supervisor does not answer: {prog}\n"
    expect(done.stderr.count(line) == 2, f"said {done.stderr!r}")
    report = ground.report("x.tide")
    expect(report["completeness"]["fork_lost"] == 1, f"{report['completeness']}")
    info = json.loads(ground.run(ground.tidemark, "info", "--json", "x.tide").stdout)
    rows = info["capture"]["run"]["unrecorded"]
    expect([(row["reason"], row["processes"]) for row in rows] == [("answer", 1)], f"{rows}")
    expect(not info["capture"]["complete"], f"{info}")
    expect("still running" not in done.stderr, f"said {done.stderr!r}")


@test
def a_bare_store_is_its_users_own(ground):
    """Whatever the mask of the process: command lines and addresses are in there."""
    prog = ground.program("return 0;")
    env = dict(ground.env, LD_PRELOAD=str(ground.library), TIDEMARK_OPTIONS="out=%n.store")
    done = ground.run("sh", "-c", 'umask 0; exec "$0"', prog, env=env)
    expect(done.status == 0, f"{done.status}: {done.stderr}")
    mode = stat.S_IMODE((ground.scratch / "prog.store").stat().st_mode)
    expect(mode == 0o600, f"mode {mode:o}")
