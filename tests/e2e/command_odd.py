# SPDX-License-Identifier: Apache-2.0
"""tidemark run with odd names, odd arguments, odd places, and commands that do odd things."""
import os
import re
import signal
import subprocess

import record
from ground import expect, test


@test
def odd_arguments(ground):
    prog = ground.program('for (int i = 1; i < argc; i++) printf("[%s]", argv[i]); return 0;')
    words = [b"", b"two words", b'"quoted"', b"line\nline", b"\xff\xfe\x01", "größe".encode(),
             b"--"]
    done = subprocess.run([os.fsencode(ground.tidemark), b"run", b"-q", b"-o", b"x.tide", b"--",
                           os.fsencode(prog), *words], cwd=ground.scratch, env=ground.env,
                          capture_output=True, timeout=30)
    expect(done.stdout == b"".join(b"[" + word + b"]" for word in words), f"{done.stdout!r}")
    command = ground.report("x.tide")["image"]["command"]
    expect(len(command) == len(words) + 1, f"command {command}")
    expect(command[2] == "two words" and command[4] == "line\nline", f"command {command}")
    expect(command[6] == "größe", f"command {command}")


@test
def odd_program_name(ground):
    prog = ground.program('puts("ran"); return 0;', "a prog ü%n.bin")
    done = ground.record("-q", "--", prog)
    expect(done.status == 0 and done.stdout == "ran\n", f"{done.status}: {done.stderr}")
    [tide] = ground.tides()
    report = ground.report(tide)
    expect(tide.name.startswith("tidemark.a prog ü%n.bin."), f"named {tide.name}")
    expect(report["sites"][0]["frames"][0]["function"] == "hold", "no names")


@test
def long_command_line(ground):
    prog = ground.program('printf("%d %zu\\n", argc, strlen(argv[argc - 1])); return 0;')
    done = ground.record("-q", "-o", "x.tide", "--", prog, *["x" * 60] * 3000)
    expect(done.stdout == "3001 60\n", f"{done.status} {done.stdout!r} {done.stderr!r}")
    expect(ground.report("x.tide")["totals"]["live_blocks"] >= 100, "capture lost")


@test
def program_given_to_the_loader(ground):
    """The kernel runs the loader then, which takes preloads: its program is recorded and named, as
    the command and as a child."""
    prog = ground.program("return 0;", "prog", "-Wl,--build-id=none")
    interp = ground.run("readelf", "-lW", prog).stdout
    loader = re.search(r"program interpreter: (\S*/ld-linux\S*)\]", interp)
    if not loader:
        raise record.Skip("a loader of another name")
    for words in ((loader[1], prog), ("sh", "-c", '"$@"; true', "sh", loader[1], prog)):
        done = ground.record("-q", "-f", "-o", "x.tide", "--", *words)
        expect(done.status == 0 and not done.stderr, f"{done.status}: {done.stderr}")
        report = ground.report("x.tide", "-p", f"#{len(ground.report('x.tide')['images']) - 1}")
        expect(report["capture"]["complete"] and report["image"]["exe"] == str(prog),
               f"{report['capture']} {report['image']['exe']}")
        own = [site for site in report["sites"] if site["frames"][0]["function"] == "hold"]
        expect(sum(site["allocations"] for site in own) == 100, f"{report['totals']}")
        expect(all(site["frames"][0]["module"] == str(prog) for site in own), "another's frames")


@test
def library_in_a_namespace_of_its_own(ground):
    """It has a libc and a heap of its own, which nobody sees: so nothing is called complete."""
    library = ground.build("libaside.so", "#include <stdlib.h>\nvoid *get(void) "
                           "{ return malloc(50); }\n", "-shared", "-fPIC")
    prog = ground.build("prog", """
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  void *library = dlmopen(argc > 2 ? LM_ID_BASE : LM_ID_NEWLM, argv[1], RTLD_NOW);
  void *(*get)(void) = (void *(*)(void))dlsym(library, "get");
  for (int i = 0; i < 70; i++)
    if (!get()) return 1;
  return 0;
}""", "-D_GNU_SOURCE")
    for words, is_whole in ((), False), (("here",), True):
        done = ground.record("-f", "-o", "x.tide", "--", prog, library, *words)
        said, report = " ".join(done.stderr.split()), ground.report("x.tide")
        expect(done.status == 0 and ("complete: every event" in said) == is_whole, said)
        expect(is_whole or "could not be hooked (malloc and free of libraries in a namespace of "
               "their own, by dlmopen(): the agent sees them)" in said, said)
        expect(report["exactness"]["allocated"]["is"] == ("exact" if is_whole else "at_least"),
               f"{report['exactness']}")
        own = sum(site["allocations"] for site in report["sites"]
                  if site["frames"][0]["function"] == "get")
        expect(own == 70 * is_whole, f"{own} seen")


@test
def program_deleted(ground):
    prog = ground.program("return unlink(argv[0]);")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    report = ground.report("x.tide")
    expect(report["totals"]["live_bytes"] == 5000, f"{report['totals']}")


@test
def program_changes_directory(ground):
    prog = ground.program('return chdir("/");')
    ground.record("-q", "-o", "x.tide", "--", prog)
    expect((ground.scratch / "x.tide").exists(), "the capture went elsewhere")


@test
def directory_not_writable(ground):
    prog = ground.program('puts("ran"); return 0;')
    done = ground.record(prog, cwd="/proc")
    expect(done.status == 125, f"status {done.status}, not 125")
    expect("tidemark:" in done.stderr and "ran" not in done.stdout, f"{done.stderr!r}")


@test
def nested(ground):
    prog = ground.program('puts("ran"); return 7;')
    done = ground.record("-q", "-o", "outer.tide", "--", ground.tidemark, "run", "-q", "-o",
                         "inner.tide", "--", prog)
    expect(done.status == 7 and done.stdout == "ran\n", f"{done.status}: {done.stderr}")
    inner = ground.report("inner.tide")
    expect(inner["totals"]["live_blocks"] >= 100, "the inner capture is empty")
    outer = [os.path.basename(image["exe"]) for image in ground.report("outer.tide")["images"]]
    expect("tidemark" in outer, f"outer images {outer}")


@test
def signals_inherited(ground):
    prog = ground.build("prog", """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  sigset_t blocked;
  struct sigaction action;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int i = 1; i < 65; i++) {
    if (sigismember(&blocked, i) == 1)
      printf("blocked %d\\n", i);
    if (!sigaction(i, NULL, &action) && action.sa_handler == SIG_IGN)
      printf("ignored %d\\n", i);
  }
  return !malloc(10);
}""")

    def before():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGCHLD])

    said = [subprocess.run(words, cwd=ground.scratch, env=ground.env, capture_output=True,
                           text=True, preexec_fn=before, restore_signals=False, timeout=30).stdout
            for words in ([prog], [ground.tidemark, "run", "-q", "-o", "x.tide", "--", prog])]
    expect("ignored 1\n" in said[0] and "blocked 12\n" in said[0], f"the test is wrong: {said[0]}")
    expect(said[0] == said[1], f"{said[0].split()} became {said[1].split()}")


@test
def three_hundred_processes(ground):
    child = ground.program("return 0;")
    loop = f'i=0; while [ $i -lt 300 ]; do "{child}" || exit 1; i=$((i+1)); done; echo all'
    done = ground.record("-q", "-o", "x.tide", "--", "sh", "-c", loop)
    expect(done.status == 0 and done.stdout == "all\n", f"{done.status}: {done.stderr[-200:]}")
    report = ground.report("x.tide")
    expect(len(report["images"]) >= 100, f"{len(report['images'])} images")


@test
def output_is_a_pipe(ground):
    prog = ground.program("return 0;")
    line = f'"{ground.tidemark}" run -q -f -o /dev/stdout -- "{prog}" | cat > piped.tide'
    done = ground.run("sh", "-c", line)
    expect(done.stderr == "", f"says {done.stderr!r}")
    expect(ground.report("piped.tide")["totals"]["live_blocks"] == 100, "not what was piped")


FILLS_DISK = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void step(unsigned path, int depth)
{
  if (!depth)
    *(void *volatile *)&(void *){0} = malloc(24);
  else if (path & 1)
    step(path >> 1, depth - 1);
  else
    step(path >> 1, depth - 1);
  __asm__ volatile("" ::: "memory");
}
int main(int argc, char **argv)
{
  static char block[4096];
  step(0, 12);
  int ballast = open("ballast", O_RDWR | O_CREAT, 0600);
  off_t n = 0;
  for (ssize_t some; (some = write(ballast, block, sizeof block)) > 0;)
    n += some;
  if (ftruncate(ballast, n - atol(argv[1]))) // so much is left
    return 1;
  for (unsigned path = 0; path < 4096; path++)
    step(path, 12);
  return 5;
}
"""


def unshared(what):
    """Words in front of a command for a namespace of its own: root needs no other user, which a
    changed root directory would forbid."""
    return ("unshare", what) if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user",
                                                        what)


@test
def a_disk_that_fills_up(ground):
    """A bare store on a disk that is full sooner or later: the program ends as without us, and
    every event is counted all the same, the last of them without their stacks."""
    prog = ground.build("prog", FILLS_DISK, "-O1", "-fno-crossjumping")
    (ground.scratch / "disk").mkdir()
    script = ("mount -t tmpfs -o size=100m none disk || exit 99; cd disk; "
              "LD_PRELOAD=$2 TIDEMARK_OPTIONS=out=x.store $3 $1; status=$?; "
              "cp --sparse=always x.store ../x.$1.store; exit $status")
    n_stacks = []
    for left in (0, 65536, 256 << 10, 16 << 20):
        done = ground.run(*unshared("--mount"), "sh", "-c", script, "sh", left, ground.library,
                          prog)
        if done.status == 99 or "unshare" in done.stderr:
            raise record.Excused(f"no mount of our own: {done.stderr.strip()}")
        expect(done.status == 5, f"{left} left: status {done.status}, {done.stderr!r}")
        report = ground.report(f"x.{left}.store")
        expect(report["totals"]["allocations"] == 4097, f"{left} left: {report['totals']}")
        n_stacks.append(report["completeness"]["stacks"])
    expect(n_stacks[0] < n_stacks[1] < n_stacks[2] < n_stacks[3] == 4097, f"stacks: {n_stacks}")


@test
def a_network_of_its_own(ground):
    """Abstract sockets end at the network namespace; a sandbox is recorded all the same."""
    prog = ground.program('puts(getenv("TIDEMARK_OPTIONS")); return 4;')
    words = unshared("--net")
    if ground.run(*words, "true").status:
        raise record.Excused("no network namespace of our own")
    done = ground.record("-o", "x.tide", "--", *words, prog)
    expect(done.status == 4 and "not recorded" not in done.stderr, f"{done.status} {done.stderr!r}")
    programs = [image["exe"].rsplit("/", 1)[-1] for image in ground.report("x.tide")["images"]]
    expect("prog" in programs, f"images of {programs}")
    name = re.search(r"socket=([^,\s]+)", done.stdout).group(1)
    expect(not os.path.exists(f"/tmp/{name}"), f"left behind: /tmp/{name}")


@test
def a_killed_supervisor_leaves_no_socket_for_long(ground):
    """Nobody can clear up after SIGKILL but the next run."""
    prog = ground.program('puts(getenv("TIDEMARK_OPTIONS")); fflush(0); pause(); return 0;')
    with subprocess.Popen([str(ground.tidemark), "run", "-q", "-o", "x.tide", "--", str(prog)],
                          cwd=ground.scratch, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, start_new_session=True) as run:
        socket = "/tmp/" + re.search(r"socket=([^,\s]+)", run.stdout.readline()).group(1)
        expect(os.path.exists(socket), f"no {socket}")
        ground.record("-q", "-o", "y.tide", "--", "true")
        expect(os.path.exists(socket), "a living run's socket was swept")
        os.killpg(run.pid, signal.SIGKILL)
    expect(os.path.exists(socket), "SIGKILL leaves nothing: is there still something to sweep?")
    os.utime(socket, (0, 0))
    ground.record("-q", "-o", "z.tide", "--", "true")
    expect(not os.path.exists(socket), f"left behind: {socket}")


# The longest list of variables that the next program can be given, found by trying.
LONG_LIST = r"""
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static char word[] = "a=0123456789abcd", *argv[] = {0, "again", 0}, *env[200000];
static int fits(int how, int n)
{
  for (int i = 0; i < n; i++)
    env[i] = word;
  env[n] = 0;
  pid_t pid;
  int status = 0, failed = 0;
  if (how == 0) {
    failed = posix_spawn(&pid, argv[0], 0, 0, argv, env) != 0;
  } else if (!(pid = fork())) {
    execve(argv[0], argv, env);
    _exit(errno == E2BIG ? 9 : 8);
  }
  if (!failed)
    waitpid(pid, &status, 0);
  return !failed && WEXITSTATUS(status) == 7;
}
int main(int argc, char **arguments)
{
  if (argc > 1)
    return 7;
  argv[0] = arguments[0];
  for (int how = 0; how < 2; how++) {
    int low = 1000, high = 190000;
    while (low + 1 < high) {
      int middle = (low + high) / 2;
      *(fits(how, middle) ? &low : &high) = middle;
    }
    printf("%d\n", low);
  }
  return fits(0, 1000) ? 0 : 1;
}
"""


@test
def no_room_for_our_variables(ground):
    """exec with all that the kernel allows: it must not fail because of what we add."""
    prog = ground.build("prog", LONG_LIST)
    plain = ground.run(prog)
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(plain.status == 0 and plain.stdout.count("\n") == 2, f"plain: {plain.stdout!r}")
    expect(done.status == 0 and done.stdout == plain.stdout,
           f"{done.stdout!r}, without us {plain.stdout!r}: {done.stderr!r}")
    expect("leave no room" in done.stderr, f"not said: {done.stderr!r}")
