# SPDX-License-Identifier: Apache-2.0
"""tidemark run: where the capture goes, how it ends, which signals go where."""
import os
import pty
import select
import signal
import time

import record
from ground import ALLOCATE, expect, finish, test, wait_for


@test
def output_pattern(ground):
    prog = ground.program("return 0;")
    done = ground.record("-q", "-o", "c-%n-%p-100%%.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    [tide] = ground.tides()
    image = ground.report(tide)["image"]
    expect(tide.name == f"c-prog-{image['pid']}-100%.tide", f"named {tide.name}")


@test
def output_default(ground):
    prog = ground.program("return 0;")
    ground.record("-q", prog)
    [tide] = ground.tides()
    pid = ground.report(tide)["image"]["pid"]
    expect(tide.name == f"tidemark.prog.{pid}.tide", f"named {tide.name}")


@test
def output_not_overwritten(ground):
    prog = ground.program('puts("ran"); return 0;')
    (ground.scratch / "there.tide").write_text("precious")
    done = ground.record("-q", "-o", "there.tide", "--", prog)
    expect(done.status == 125, f"status {done.status}, not 125")
    expect("there.tide" in done.stderr and "-f" in done.stderr, f"says {done.stderr!r}")
    expect("ran" not in done.stdout, "the command was run all the same")
    expect((ground.scratch / "there.tide").read_text() == "precious", "the file was touched")
    expect("there.tide exists already; -f replaces it\n" in done.stderr, done.stderr)
    done = ground.record("-o", "/", "--", prog)
    expect(done.status == 125 and "/ is a directory; -o wants a file\n" in done.stderr, done.stderr)
    done = ground.record("-q", "-f", "-o", "there.tide", "--", prog)
    expect(done.status == 0, f"-f: status {done.status}: {done.stderr}")
    expect(ground.report("there.tide")["totals"]["live_blocks"] >= 100, "not replaced")


@test
def output_directory_missing(ground):
    prog = ground.program('puts("ran"); return 0;')
    done = ground.record("-o", "no/such/dir/x.tide", "--", prog)
    expect(done.status == 125, f"status {done.status}, not 125")
    expect("no/such/dir" in done.stderr, f"says {done.stderr!r}")


@test
def quiet_and_first_screen(ground):
    prog = ground.program('puts("mine"); return 0;')
    done = ground.record("-q", "-o", "a.tide", "--", prog)
    expect(done.stderr == "" and done.stdout == "mine\n", f"not quiet: {done.stderr!r}")
    done = ground.record("-o", "b.tide", "--", prog)
    expect(done.stdout == "mine\n", "the report is on standard output")
    for word in ("tidemark:", "peak", "hold", "b.tide", "complete", "next"):
        expect(word in done.stderr, f"the first screen does not say {word!r}:\n{done.stderr}")
    expect("\033[" not in done.stderr, "colour codes in a file")


@test
def status_of_the_command(ground):
    prog = ground.program("return atoi(argv[1]);")
    for status in (0, 1, 2, 77, 125, 255):
        done = ground.record("-q", "-f", "-o", "x.tide", "--", prog, str(status))
        expect(done.status == status, f"exit {status} became {done.status}")


@test
def status_of_our_own(ground):
    plain = ground.scratch / "not-executable"
    plain.write_text("just text\n")
    for status, words in ((127, ["./no-such-program"]), (127, ["no-such-program-anywhere"]),
                          (126, ["./not-executable"]), (126, ["/"]), (125, []),
                          (125, ["--no-such-option", "true"]), (125, ["--depth", "many", "true"])):
        done = ground.record(*words)
        expect(done.status == status, f"{words}: status {done.status}, not {status}")
        expect(done.stderr.startswith("tidemark:"), f"{words}: says {done.stderr!r}")
        expect(not ground.tides(), f"{words}: left {ground.tides()}")


@test
def signal_raised_again(ground):
    prog = ground.program("raise(atoi(argv[1])); return 0;")
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGINT,
                   signal.SIGPIPE, signal.SIGUSR1):
        done = ground.record("-q", "-f", "-o", "x.tide", "--", prog, str(int(number)))
        expect(done.status == -number, f"{number.name}: status {done.status}, not {-number}")
        expect(ground.report("x.tide")["totals"]["live_blocks"] == 100, f"{number.name}: lost")
    line = f'"{ground.tidemark}" run -q -f -o x.tide -- "{prog}" 15; echo $?'
    done = ground.run("sh", "-c", line)
    expect("143" in done.stdout, f"a shell sees {done.stdout!r}, not 143")
    report = ground.report("x.tide")["image"]
    expect((report["end"], report["end_value"]) == ("signaled", 15), f"end {report['end']}")


WAITS = """
static void caught(int number) { write(1, "caught\\n", 7); _exit(number + 40); }
int main(int argc, char **argv)
{
  hold_all();
  if (argc > 1)
    signal(atoi(argv[1]), caught);
  write(1, "ready\\n", 6);
  for (;;)
    pause();
}
"""


def waiter(ground):
    return ground.build("waiter", ALLOCATE + WAITS)


@test
def interrupt_to_the_group(ground):
    prog = waiter(ground)
    child = ground.start("-q", "-o", "x.tide", "--", prog, "2")
    child.stdout.readline()
    os.killpg(child.pid, signal.SIGINT)
    status, out, err = finish(child)
    expect(status == 42 and "caught" in out, f"status {status}, out {out!r}, err {err!r}")
    expect(out.count("caught") == 1, "delivered more than once")
    expect(ground.report("x.tide")["totals"]["live_blocks"] == 100, "capture lost")


@test
def interrupt_not_handled(ground):
    child = ground.start("-q", "-o", "x.tide", "--", waiter(ground))
    child.stdout.readline()
    os.killpg(child.pid, signal.SIGINT)
    status, _, err = finish(child)
    expect(status == -signal.SIGINT, f"status {status}: {err!r}")
    expect(ground.report("x.tide")["totals"]["live_blocks"] == 100, "capture lost")


@test
def interrupt_from_a_terminal(ground):
    prog = waiter(ground)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ground.scratch)
        os.execve(ground.tidemark, [ground.tidemark, "run", "-q", "-o", "x.tide", "--", str(prog),
                                    "2"], ground.env)
    seen, deadline, sent = b"", time.time() + 20, False
    while time.time() < deadline and b"caught" not in seen:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 1000)
            except OSError:
                break
        if b"ready" in seen and not sent:
            os.write(terminal, b"\x03")
            sent = True
    expect(b"caught" in seen, f"the terminal shows {seen!r}")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    expect(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 42, f"wait status {status}")


@test
def terminate_is_passed_on(ground):
    prog = waiter(ground)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        child = ground.start("-q", "-f", "-o", "x.tide", "--", prog, str(int(number)))
        child.stdout.readline()
        os.kill(child.pid, number)
        status, out, err = finish(child)
        expect(status == number + 40, f"{number.name}: status {status}, {err!r}")
        expect(out.count("caught") == 1, f"{number.name}: delivered {out.count('caught')} times")


@test
def supervisor_killed(ground):
    prog = ground.program("""
  while (access("go", F_OK)) { free(malloc(100)); usleep(10000); }
  FILE *f = fopen("done", "w"); fputs("alive", f); fclose(f); return 0;""")
    child = ground.start("-q", "-o", "x.tide", "--", prog)
    wait_for(lambda: ground.run(ground.tidemark, "info", "x.tide").status == 0, "a checkpoint", 60)
    wait_for(lambda: ground.report("x.tide")["totals"]["live_blocks"] >= 100, "all blocks", 60)
    child.kill()
    child.wait()
    report = ground.report("x.tide")
    expect(not report["capture"]["finished"], "a checkpoint must not claim to be finished")
    expect(report["totals"]["live_blocks"] >= 100, "the checkpoint holds less")
    (ground.scratch / "go").touch()
    done = ground.scratch / "done"
    wait_for(lambda: done.exists() and done.read_text() == "alive",
             "the program to go on without its supervisor")


@test
def no_follow(ground):
    prog = ground.program("""
  fflush(0);
  if (fork() == 0) { hold_all(); _exit(0); }
  return system("true");""")
    ground.record("-q", "--no-follow", "-o", "x.tide", "--", prog)
    images = ground.report("x.tide")["images"]
    expect(len(images) == 1, f"{len(images)} images")


@test
def depth(ground):
    deep = ground.build("deep", """
#include <stdlib.h>
__attribute__((noipa)) void *leaf(void) { void *p = malloc(10); return p; }
__attribute__((noipa)) void *down(int n) { void *p = n ? down(n - 1) : leaf(); return p; }
int main(void) { return !down(200); }""", "-fno-optimize-sibling-calls")
    ground.record("-q", "--depth", "10", "-o", "x.tide", "--", deep)
    report = ground.report("x.tide")
    frames = [f for f in report["sites"][0]["frames"] if f["function"]]
    names = [frame["function"] for frame in frames]
    expect(report["completeness"]["cut_stacks"] >= 1, "the cut is not counted")
    expect(len(frames) <= 10, f"{len(frames)} frames")
    expect(names[0] == "leaf" and "_start" in names, f"an end is missing: {names}")
    flags = [flag for frame in report["sites"][0]["frames"] for flag in frame["flags"]]
    expect("cut" in flags, f"the cut is not marked: {flags}")


@test
def clean_environment_by_env(ground):
    prog = ground.program('puts(getenv("PATH") ? "path" : "no path"); return 0;')
    done = ground.record("-q", "-o", "x.tide", "--", "env", "-i", prog)
    expect(done.stdout == "no path\n", f"prints {done.stdout!r}")
    exes = [os.path.basename(image["exe"]) for image in ground.report("x.tide")["images"]]
    expect("prog" in exes, f"images {exes}")


@test
def preload_set_by_env(ground):
    prog = ground.program('puts(getenv("LD_PRELOAD")); return 0;')
    mark = ground.build("mark.so", "int mark(void) { return 1; }", "-shared", "-fPIC")
    done = ground.record("-q", "-o", "x.tide", "--", "env", f"LD_PRELOAD={mark}", prog)
    expect(str(mark) in done.stdout, f"the user's preload is gone: {done.stdout!r}")
    exes = [os.path.basename(image["exe"]) for image in ground.report("x.tide")["images"]]
    expect("prog" in exes, f"images {exes}")


@test
def closed_standard_descriptors(ground):
    prog = ground.program("return fcntl(0, 1) >= 0 || fcntl(1, 1) >= 0 || fcntl(2, 1) >= 0;",
                          "prog", "-include", "fcntl.h")
    line = f'"{ground.tidemark}" run -q -o x.tide -- "{prog}" <&- >&- 2>&-'
    done = ground.run("sh", "-c", line)
    expect(done.status == 0, f"status {done.status}: descriptors appeared from nowhere")
    expect(ground.report("x.tide")["totals"]["live_blocks"] == 100, "capture lost")


@test
def many_runs_at_once(ground):
    prog = ground.program("usleep(50000); return 0;")
    children = [ground.start("-q", "-o", f"{i}.tide", "--", prog) for i in range(8)]
    for i, child in enumerate(children):
        status, _, err = finish(child)
        expect(status == 0, f"run {i}: status {status}: {err}")
        images = ground.report(f"{i}.tide")["images"]
        expect(len(images) == 1 and images[0]["allocations"] >= 100, f"run {i}: {images}")


@test
def daemon_does_not_hold_us(ground):
    prog = ground.program("""
  if (fork() == 0) {
    setsid(); close(0); close(1); close(2);
    for (int i = 0; i < 600 && access("go", F_OK); i++) usleep(100000);
    fclose(fopen("done", "w")); _exit(0);
  }
  usleep(50000); return 0;""")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0 and not (ground.scratch / "done").exists(), "waited for the daemon")
    (ground.scratch / "go").touch()
    expect(ground.report("x.tide")["totals"]["live_blocks"] == 100, "capture lost")


DAEMON = """
  int pid = fork();
  if (pid != 0) return 3; // at once: the rest comes of the daemon's own
  setsid();
  if (fork() != 0) _exit(0);
  close(0); close(1); close(2);
  usleep(300000);
  for (int i = 0; i < 50; i++) if (!malloc(10000)) return 1;
  if (link(argv[0], "allocated")) return 1;
  usleep(%d);
  if (link(argv[0], "lived")) return 1;
  return 0;"""


def daemon_of(ground, name):
    """Of the daemon's image, what it allocated after the command's end."""
    images = ground.report(name)["images"]
    return max(image["peak_bytes"] for image in images)


@test
def wait_records_a_daemon(ground):
    prog = ground.program(DAEMON % 200000)
    done = ground.record("--wait", "-o", "x.tide", "--", prog)
    expect(done.status == 3, f"status {done.status}, not the command's 3: {done.stderr}")
    expect((ground.scratch / "lived").exists(), "did not wait for the daemon")
    expect("left behind" in done.stderr, f"does not say what it waits for: {done.stderr!r}")
    expect(daemon_of(ground, "x.tide") == 50 * 10000, "the daemon's blocks are not there")
    for left in ("allocated", "lived"):
        (ground.scratch / left).unlink()
    done = ground.record("--wait", "-q", "-o", "y.tide", "--", prog)
    expect(done.status == 3 and not done.stderr, f"not quiet: {done.stderr!r}")


@test
def wait_is_ended_by_a_signal(ground):
    prog = ground.program(DAEMON % 2000000)
    child = ground.start("--wait", "-o", "x.tide", "--", prog)
    wait_for((ground.scratch / "allocated").exists, "the daemon's blocks")
    child.send_signal(signal.SIGINT)
    status, _, err = finish(child)
    expect(status == 3, f"status {status}, not the command's 3: {err}")
    expect(not (ground.scratch / "lived").exists(), "waited on")
    expect(daemon_of(ground, "x.tide") == 50 * 10000, "the daemon's blocks are not there")
    wait_for((ground.scratch / "lived").exists, "the daemon, which was harmed")


@test
def wait_without_anything_to_wait_for(ground):
    prog = ground.program("return 4;")
    done = ground.record("--wait", "-o", "x.tide", "--", prog)
    expect(done.status == 4 and "left behind" not in done.stderr,
           f"status {done.status}: {done.stderr}")
    done = ground.record("--wait", "--no-follow", "--", prog)
    expect(done.status == 125 and "--wait" in done.stderr, done.stderr)


@test
def file_size_limit(ground):
    """A store counts as a file of its full size; the command keeps its limit."""
    prog = ground.program('return system("ulimit -f");')
    soft = f'ulimit -S -f 3; exec "{ground.tidemark}" run -q -o x.tide -- "{prog}"'
    done = ground.run("bash", "-c", soft)
    expect(done.status == 0 and done.stdout.split() == ["3"],
           f"status {done.status}: {done.stdout} {done.stderr}")
    expect(ground.report("x.tide")["totals"]["live_blocks"] >= 100, "not recorded")
    humble = "" if os.geteuid() else "setpriv --bounding-set=-sys_resource"
    hard = f'ulimit -f 3; exec {humble} "{ground.tidemark}" run -o y.tide -- "{prog}"'
    done = ground.run("bash", "-c", hard)
    expect(done.status == 0 and "ulimit -f" in done.stderr,
           f"status {done.status}: {done.stderr}")


@test
def peak_of_many_threads_with_little_each(ground):
    """None of them publishes much; held for a while, it is the peak all the same."""
    prog = ground.build("crowd", ALLOCATE + """
#include <pthread.h>
static pthread_barrier_t all;
__attribute__((noipa)) static void *little(void) { return malloc(100); }
static void *live(void *nothing)
{
  void *held[20];
  for (int i = 0; i < 20; i++) held[i] = little();
  pthread_barrier_wait(&all);
  sleep(1);
  for (int i = 0; i < 20; i++) free(held[i]);
  return nothing;
}
int main(void)
{
  pthread_t threads[100];
  pthread_barrier_init(&all, NULL, 100);
  for (int i = 0; i < 100; i++) if (pthread_create(&threads[i], NULL, live, NULL)) return 1;
  for (int i = 0; i < 100; i++) pthread_join(threads[i], NULL);
  return 0;
}
""", "-pthread")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    report = ground.report("x.tide")
    totals = report["totals"]
    [site] = [row for row in report["sites"] if row["frames"][0]["function"] == "little"]
    expect(site["peak_bytes"] == 200000 and site["peak_blocks"] == 2000, f"{site}")
    others = sum(row["peak_bytes"] for row in report["sites"] if row is not site)
    expect(totals["peak_bytes"] == 200000 + others, f"{totals}")
    expect(0 < totals["peak_bound_bytes"] <= 100 * 2000 + 8192, f"{totals}")


@test
def timeline_and_times(ground):
    prog = ground.program("""
  for (int i = 0; i < 60; i++) { free(malloc(100000 + i)); usleep(10000); }
  return 0;""")
    ground.record("-q", "-o", "x.tide", "--", prog)
    report = ground.report("x.tide")
    expect(report["timeline"]["ticks"] >= 5, f"timeline {report['timeline']}")
    expect(2 <= report["timeline"]["snapshots"] <= 200, f"timeline {report['timeline']}")
    expect(5e8 < report["capture"]["duration_ns"] < 2e10, f"{report['capture']}")
    expect(5e8 < report["totals"]["peak_ns"] <= report["capture"]["duration_ns"],
           f"peak at {report['totals']['peak_ns']}")
    expect(0 < report["totals"]["peak_bytes"] < report["totals"]["max_rss_bytes"], "no RSS")


@test
def bare_preload(ground):
    prog = ground.program("return 3;")
    env = dict(ground.env, LD_PRELOAD=ground.library)
    done = ground.run(prog, env=env)
    expect(done.status == 3 and done.stderr == "", f"status {done.status}, {done.stderr!r}")
    [store] = ground.scratch.glob("tidemark.prog.*.store")
    report = ground.report(store)
    expect(report["totals"]["allocations"] == 100, f"totals {report['totals']}")
    env["TIDEMARK_OPTIONS"] = "out=mine-%n.store,colour=blue"
    done = ground.run(prog, env=env)
    expect(done.status == 3, f"status {done.status}")
    expect(done.stderr.count("\n") == 1 and "colour" in done.stderr, f"says {done.stderr!r}")
    report = ground.report("mine-prog.store")
    expect(report["totals"]["live_bytes"] == 5000, f"totals {report['totals']}")


def _full(ground, *words, before=""):
    prog = ground.program('puts("mine"); return 4;')
    quoted = " ".join(f'"{word}"' for word in (ground.tidemark, "run", *words, "--", prog))
    done = ground.run("sh", "-c", f"{before} {quoted}")
    expect(done.status == 4 and done.stdout == "mine\n", f"status {done.status}, {done.stdout!r}")
    return done


@test
def disk_full(ground):
    done = _full(ground, "-q", "-f", "-o", "/dev/full")
    expect("/dev/full" in done.stderr and "tidemark:" in done.stderr, f"says {done.stderr!r}")
    expect(os.path.exists("/dev/full"), "the device is gone")


@test
def file_size_limit(ground):
    done = _full(ground, "-q", "-o", "x.tide", before="ulimit -f 0;")
    expect("tidemark:" in done.stderr, f"says {done.stderr!r}")


@test
def small_file_system(ground):
    if os.geteuid() != 0:
        raise record.Skip("needs root")
    full = ground.scratch / "full"
    full.mkdir()
    if ground.run("mount", "-t", "tmpfs", "-o", "size=8k", "none", full).status:
        return  # not allowed here; /dev/full tests the same path
    try:
        (full / "filler").write_bytes(b"x" * 8192)
        done = _full(ground, "-q", "-o", full / "x.tide")
        expect("tidemark:" in done.stderr, f"says {done.stderr!r}")
    finally:
        ground.run("umount", full)


@test
def core_not_swollen(ground):
    prog = ground.program("""
  static char text[4096];
  FILE *f = fopen("/proc/self/smaps", "r");
  for (size_t n; (n = fread(text, 1, sizeof text, f)) > 0;) fwrite(text, 1, n, stdout);
  return 0;""")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    _, found, rest = done.stdout.partition("memfd:tidemark")
    expect(found, "the store is not among the mappings")
    flags = rest.partition("VmFlags:")[2].splitlines()[0].split()
    expect("dd" in flags, f"a core of the program would hold our store: {flags}")
