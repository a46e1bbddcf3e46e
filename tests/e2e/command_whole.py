# SPDX-License-Identifier: Apache-2.0
"""Completeness is about the whole run: what ran unrecorded is listed, nothing is called complete
over it, the first screen leads with it, gates do not decide by it; and the run's own processes are
recorded, nobody else's."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import record
from ground import expect, test

# As if there were no agent: what it would record is then a program that nobody could.
PRELOAD = ("--how", "preload")

# Eats so many bytes, stays for so many milliseconds.
EATER = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  size_t n = strtoul(argv[1], 0, 0);
  char *p = malloc(n);
  memset(p, 1, n);
  if (argc > 2)
    usleep((unsigned)atoi(argv[2]) * 1000);
  return p[n / 2] != 1;
}
"""

# Starts its arguments and waits.
STARTER = """
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  int status;
  if (fork() == 0) {
    execv(argv[1], argv + 1);
    _exit(9);
  }
  return argc < 2 || wait(&status) < 0 || status;
}
"""

# Becomes its arguments by a system call of its own, or with "fork" before them lets a child do so.
EXEC_BY_HAND = """
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
  int status = 0, first = strcmp(argv[1], "fork") == 0 ? 2 : 1;
  pid_t child = first == 2 ? fork() : 0;
  void *p = malloc(1000);
  if (child == 0)
    syscall(SYS_execve, argv[first], argv + first, environ);
  return argc < 2 || !p || wait(&status) < 0 || status;
}
"""

# Removes itself and leaves a pipe in its place, which nobody will ever write to.
BECOMES_A_PIPE = """
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  void *p = malloc(1000);
  return argc < 1 || !p || unlink(argv[0]) || mkfifo(argv[0], 0600);
}
"""

SPAWNER = """
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
int main(int argc, char **argv)
{
  int status;
  void *p = malloc(1000);
  if (posix_spawn(0, argv[1], 0, 0, argv + 1, environ))
    return 3;
  wait(&status);
  return argc < 2 || !p;
}
"""

# jemalloc under the names that Rust gives it, as programs call it that do not replace malloc.
PREFIXED = EATER.replace("int main", "void *_rjem_malloc(size_t);\nint main").replace(
    "p = malloc", "p = _rjem_malloc")


def info(ground, tide):
    done = ground.run(ground.tidemark, "info", "--json", tide)
    expect(done.status == 0, f"info: {done.stderr}")
    return json.loads(done.stdout)


def rows(ground, tide):
    """The roll by program; the capture must say the same everywhere."""
    capture = info(ground, tide)["capture"]
    report = ground.report(tide)["capture"]
    expect(capture["run"] == report["run"], "info and report differ")
    unrecorded = capture["run"]["unrecorded"]
    expect(capture["run"]["not_recorded"] == sum(row["processes"] for row in unrecorded), "sums")
    for said in capture, report:
        expect(said["complete"] == (not unrecorded), f"complete: {said['complete']}")
    return {row["program"]: row for row in unrecorded}


def static_jemalloc(ground, name, source, prefix=""):
    libraries = [f"/usr/lib/{arch}-linux-gnu/libjemalloc.a" for arch in ("x86_64", "aarch64")]
    found = [path for path in libraries if os.path.exists(path)]
    if not found:
        raise record.Skip("no libjemalloc.a here")
    library = found[0]
    if prefix:
        names = subprocess.run(["nm", "--defined-only", library], capture_output=True, text=True)
        own = {m[1] for m in re.finditer(r" [TW] (\w+)", names.stdout)}
        listing = ground.scratch / "names"
        public = [n for n in own if not n.startswith(("je_", "_Z"))]
        listing.write_text("".join(f"{n} {prefix}{n}\n" for n in public))
        library = ground.scratch / "prefixed.a"
        subprocess.run(["objcopy", f"--redefine-syms={listing}", found[0], library], check=True)
    return ground.build(name, source, f"-Wl,{library}", "-lpthread", "-ldl", "-lm", "-lstdc++")


@test
def whole_run_is_complete(ground):
    eat, start = ground.build("eat", EATER), ground.build("start", STARTER)
    done = ground.record("-o", "a.tide", start, eat, "1000000", "30")
    expect("complete: every event (" in done.stderr, done.stderr)
    expect("not recorded" not in done.stderr, done.stderr)
    expect(not rows(ground, "a.tide"), "something is on the roll")
    run = info(ground, "a.tide")["capture"]["run"]
    expect(run["recorded"] == 2 and not run["at_least"] and not run["refused"], f"{run}")


@test
def whole_static_child(ground):
    """However short it lives, by exec and by posix_spawn."""
    big = ground.build("big", EATER, "-static")
    for name, source in ("start", STARTER), ("spawn", SPAWNER):
        prog = ground.build(name, source)
        done = ground.record("-o", f"{name}.tide", *PRELOAD, prog, big, "100")
        expect("incomplete: 1 of at least 2 processes recorded" in done.stderr, done.stderr)
        expect("not recorded: big (static" in done.stderr, done.stderr)
        row = rows(ground, f"{name}.tide")["big"]
        expect(row["reason"] == "static" and row["processes"] == 1, f"{row}")
        expect(row["exe"] == str(big) and row["pid"] and not row["is_command"], f"{row}")
        expect(pathlib.Path(row["parent"]).name == name, f"parent {row['parent']}")


@test
def whole_static_child_that_profiles_itself(ground):
    """Go's programs are known by a section of theirs."""
    start = ground.build("start", STARTER)
    mark = '__attribute__((section(".go.buildinfo"))) char mark[32] = "\\xff Go buildinf:";\n'
    go = ground.build("go", mark + EATER, "-static")
    done = ground.record("-o", "a.tide", *PRELOAD, start, go, "20000000", "1000")
    row = rows(ground, "a.tide")["go"]
    expect(row["reason"] == "static" and row["detail"] == "Go's runtime", f"{row}")
    said = " ".join(done.stderr.split())
    expect("way out: Go's runtime profiles itself: save /debug/pprof/heap" in said, done.stderr)


@test
def whole_program_that_became_a_pipe(ground):
    """What lies at the path of a program by the time that it is looked at may be anything."""
    prog = ground.build("gone", BECOMES_A_PIPE)
    done = ground.record("-q", "-o", "a.tide", prog, timeout=60)
    expect(done.status == 0, done.stderr)
    expect(ground.report("a.tide")["image"]["program"] == "gone", "not recorded")


@test
def whole_exec_that_is_not_libcs(ground):
    """Nobody says a word of it: the process is found to have its store no longer."""
    by_hand = ground.build("by_hand", EXEC_BY_HAND)
    static, dynamic = ground.build("big", EATER, "-static"), ground.build("eat", EATER)
    ground.record("-q", "-o", "a.tide", by_hand, static, "30000000", "1500")
    row = rows(ground, "a.tide")["big"]
    expect(row["reason"] == "static" and row["is_command"] and not row["parent"], f"{row}")
    expect(row["max_rss_bytes"] > 29000000, f"{row}")
    done = ground.run(ground.tidemark, "diff", "--exit-code", "a.tide", "a.tide")
    expect(done.status == 2, f"a gate passes it: {done.status}")
    ground.record("-q", "-o", "b.tide", by_hand, "fork", static, "30000000", "1500")
    row = rows(ground, "b.tide")["big"]
    expect(row["reason"] == "static" and not row["is_command"], f"{row}")
    ground.record("-q", "-o", "c.tide", by_hand, dynamic, "30000000", "100")
    expect(not rows(ground, "c.tide"), "one that was recorded is on the roll")
    expect(ground.report("c.tide")["image"]["program"] == "eat", "it is not what is shown")


@test
def whole_failed_exec_is_nothing(ground):
    prog = ground.build("try", STARTER.replace("execv(argv[1], argv + 1);", """
    static char *bad[1 << 16];
    for (int i = 0; i < (1 << 16) - 1; i++)
      bad[i] = argv[1];
    static char big[1 << 17];
    for (int i = 0; i < (1 << 17) - 1; i++)
      big[i] = 'x';
    for (int i = 0; i < 100; i++)
      bad[i] = big;
    execv(argv[1], bad);"""))
    big = ground.build("big", EATER, "-static")
    ground.record("-q", "-o", "a.tide", prog, big, "100")
    expect(not rows(ground, "a.tide"), "an exec that failed is on the roll")


@test
def whole_vfork_child_takes_its_time(ground):
    """Until it becomes another program it is in its parent's memory, with the recorder."""
    prog = ground.build("slow", """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
  char *args[] = {"true", NULL};
  int status;
  free(malloc(10));
  pid_t pid = vfork();
  if (pid == 0) {
    usleep(700000);
    execv("/bin/true", args);
    _exit(1);
  }
  waitpid(pid, &status, 0);
  return status != 0;
}""")
    for how in "agent", "preload":
        done = ground.record("-q", "-o", f"{how}.tide", "--how", how, prog)
        expect(done.status == 0, f"{how}: {done.stderr}")
        expect(not rows(ground, f"{how}.tide"), f"{how}: {rows(ground, f'{how}.tide')}")


@test
def whole_musl_and_setuid_children(ground):
    eat = ground.build("eat", EATER)
    start = ground.build("start", STARTER)
    musl = ground.build("musl", EATER, compiler="musl-gcc") if shutil.which("musl-gcc") else None
    if musl:
        ground.record("-q", "-o", "m.tide", *PRELOAD, start, musl, "100")
        expect(rows(ground, "m.tide")["musl"]["reason"] == "musl", "musl")
    if os.geteuid() != 0:
        raise record.Skip("only root can make a setuid program of somebody else")
    shutil.copy(eat, ground.scratch / "setuid")
    os.chown(ground.scratch / "setuid", 12345, -1)
    os.chmod(ground.scratch / "setuid", 0o4755)
    os.chmod(ground.scratch, 0o755)
    ground.record("-q", "-o", "s.tide", *PRELOAD, start, ground.scratch / "setuid", "100")
    expect(rows(ground, "s.tide")["setuid"]["reason"] == "privileged", "setuid")


@test
def whole_static_starts_static(ground):
    """Nobody tells of the second: it is found."""
    big = ground.build("big", EATER, "-static")
    start = ground.build("start", STARTER, "-static")
    wrapper = ground.build("wrapper", SPAWNER)
    done = ground.record("-o", "a.tide", *PRELOAD, wrapper, start, big, "40000000", "1500")
    found = rows(ground, "a.tide")
    expect(set(found) == {"start", "big"}, f"on the roll: {set(found)}")
    expect(found["big"]["max_rss_bytes"] >= 40000000, f"{found['big']}")
    expect(pathlib.Path(found["big"]["parent"]).name == "start", f"{found['big']}")
    lines = done.stderr.splitlines()
    expect(lines[0].startswith("tidemark: big was not recorded: it is statically"), lines[0])
    expect(any(line.startswith("tidemark: wrapper exited") for line in lines), done.stderr)


@test
def whole_static_command_alone(ground):
    big = ground.build("big", EATER, "-static")
    start = ground.build("start", STARTER, "-static")
    done = ground.record("-o", "a.tide", *PRELOAD, start, big, "20000000", "600")
    expect("nothing was recorded: start (static" in done.stderr, done.stderr)
    expect("big (static" in done.stderr, done.stderr)
    expect(done.status == 0, f"status {done.status}")
    expect("saved a.tide, which says so" in done.stderr, done.stderr)


@test
def whole_nothing_recorded_is_saved(ground):
    """A capture of the roll alone: every reader says so, and a gate does not pass it."""
    big = ground.build("big", EATER, "-static")
    done = ground.record("-q", "-o", "a.tide", *PRELOAD, "--redact-args", big, "20000000",
                         "100")
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    row = rows(ground, "a.tide")["big"]
    expect(row["is_command"] and row["max_rss_bytes"] >= 20000000, f"{row}")
    report = ground.report("a.tide")
    expect(report["sites"] == [] and "peak_bytes" not in report["totals"], f"{report['totals']}")
    expect(report["image"]["end"] == "exited" and report["image"]["exe"] == str(big),
           f"{report['image']}")
    expect(len(report["image"]["command"]) == 1, f"{report['image']['command']}")
    said = " ".join(ground.run(ground.tidemark, "report", "a.tide").stdout.split())
    expect(said.startswith("big was not recorded: it is statically linked") and
           "incomplete: 0 of at least 1 process recorded" in said and
           "nothing was allocated" not in said, said)
    for words in ["report", "--sort", "leak"], ["tree"], ["info"], ["html", "-o", "a.html"]:
        done = ground.run(ground.tidemark, *words, "a.tide")
        expect(done.status == 0 or words[0] == "html", f"{words}: {done.stderr}")
    expect("it was not recorded" in ground.run(ground.tidemark, "info", "a.tide").stdout, "info")
    eat = ground.build("eat", EATER)
    ground.record("-q", "-o", "b.tide", eat, "20000000")
    for pair in ("a.tide", "a.tide"), ("a.tide", "b.tide"), ("b.tide", "a.tide"):
        done = ground.run(ground.tidemark, "diff", "--exit-code", *pair)
        expect(done.status == 2 and "big was not recorded" in done.stderr, f"{pair}: {done.stderr}")
    done = ground.run(ground.tidemark, "merge", "a.tide", "b.tide", "-o", "m.tide")
    expect(done.status == 0, done.stderr)
    expect(rows(ground, "m.tide")["big"]["reason"] == "static", "merged")


@test
def whole_cleared_environment(ground):
    """An unrecorded program that starts one without our variables, and env -i, which we mend."""
    eat = ground.build("eat", EATER)
    clear = ground.build("clear", STARTER.replace("execv(argv[1], argv + 1)",
                                                  "execve(argv[1], argv + 1, (char *[]){0})"),
                         "-static")
    ground.record("-q", "-o", "a.tide", *PRELOAD, "sh", "-c",
                  f"{clear} {eat} 30000000 900; true")
    found = rows(ground, "a.tide")
    expect(found["eat"]["reason"] == "environment" and found["clear"]["reason"] == "static",
           f"{found}")
    ground.record("-q", "-o", "b.tide", "env", "-i", eat, "100000")
    expect(not rows(ground, "b.tide"), "env -i")


@test
def whole_sandbox(ground):
    """A root directory without our library."""
    start = ground.build("jail", STARTER.replace("execv(", "if (chroot(\"root\") || chdir(\"/\")) "
                                                 "_exit(8);\n    execv(").replace(
                                                     "#include <unistd.h>",
                                                     "#define _GNU_SOURCE\n#include <unistd.h>"))
    if os.geteuid() != 0:
        raise record.Skip("only root can change the root directory")
    eat = ground.build("eat", EATER)
    root = ground.scratch / "root"
    libraries = subprocess.run(["ldd", eat], capture_output=True, text=True, check=True).stdout
    for path in [str(eat)] + re.findall(r"(/\S+) \(", libraries):
        to = root / path.lstrip("/") if path != str(eat) else root / "eat"
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    ground.record("-q", "-o", "a.tide", start, "/eat", "1000")
    expect(rows(ground, "a.tide")["eat"]["reason"] == "library", f"{rows(ground, 'a.tide')}")


def gate(ground, tide):
    return ground.run(ground.tidemark, "diff", "--exit-code", tide, tide)


@test
def whole_user_namespace(ground):
    """One that knows neither root nor us: the supervisor is not believed there, and knows it."""
    start = ground.build("start", "#define _GNU_SOURCE\n#include <sched.h>\n" + STARTER.replace(
        "execv(", "if (unshare(CLONE_NEWUSER)) _exit(8);\n    execv(").replace(
            "|| status", "|| (status && status != 8 << 8) ? 1 : status ? 77 : 0"))
    eat = ground.build("eat", EATER)
    if ground.run(start, eat, "10").status == 77:
        raise record.Skip("no user namespaces here")
    done = ground.record("-o", "a.tide", start, eat, "30000000", "1500")
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    row = rows(ground, "a.tide")["eat"]
    expect(row["reason"] == "namespace" and row["processes"] == 1, f"{row}")
    expect(row["max_rss_bytes"] >= 30000000, f"{row}")
    expect("  complete:" not in done.stderr, done.stderr)
    expect("tidemark: eat was not recorded: it ran in a user namespace" in done.stderr, done.stderr)
    judged = gate(ground, "a.tide")
    expect(judged.status == 2, f"the gate passed with {judged.status}")
    # However short it lives: also if the run is over before anybody has looked at who came.
    for _ in range(15):
        ground.record("-q", "-f", "-o", "b.tide", start, eat, "10")
        expect(not ground.report("b.tide")["capture"]["complete"], "complete")


@test
def whole_bubblewrap(ground):
    """With all files there it is recorded as it is outside; without our library it is listed."""
    if not shutil.which("bwrap"):
        raise record.Skip("no bwrap here")
    eat = ground.build("eat", EATER)
    whole = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-all", "--"]
    lib64 = ["--symlink", "usr/lib64", "/lib64"] if os.path.islink("/lib64") else []
    bare = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", *lib64,
            "--ro-bind", eat, "/eat", "--unshare-all", "--"]
    if ground.run(*whole, "true").status or ground.run(*bare, "/eat", "10").status:
        raise record.Skip("bwrap cannot make a sandbox here")
    for name, words in ("whole", [*whole, eat, "x"]), ("bare", [*bare, "/eat", "x"]):
        alone = ground.run(*words[:-1], "30000000", "10")
        done = ground.record("-o", f"{name}.tide", *words[:-1], "30000000", "1500")
        expect((done.status, done.stdout) == (alone.status, alone.stdout), f"{name}: {done.stderr}")
        expect("  complete:" not in done.stderr, done.stderr)
    report = ground.report("whole.tide")
    expect(report["image"]["program"] == "eat", f"{report['image']}")
    expect(report["totals"]["peak_bytes"] >= 30000000, f"{report['totals']}")
    judged = gate(ground, "bare.tide")
    expect(judged.status == 2, f"the gate passed a sandbox with {judged.status}: {judged.stderr}")
    found = rows(ground, "bare.tide")
    expect(found["eat"]["reason"] == "library" and found["eat"]["max_rss_bytes"] >= 30000000,
           f"{found}")
    expect(ground.run(ground.tidemark, "report", "bare.tide").stdout.startswith(
        "eat was not recorded: it ran where the recorder's library"), "lead")


@test
def whole_own_allocators(ground):
    """jemalloc in the place of malloc, and under names of its own: a gate must not pass it."""
    for name, prog in (("instead", static_jemalloc(ground, "instead", EATER)),
                       ("beside", static_jemalloc(ground, "beside", PREFIXED, "_rjem_"))):
        done = ground.record("-o", f"{name}.tide", *PRELOAD, prog, "30000000", "100")
        expect(f"tidemark: {name} was hardly recorded: it has jemalloc linked in" in done.stderr,
               done.stderr)
        expect("  complete:" not in done.stderr and "tidemark report FILE.heap" in done.stderr,
               done.stderr)
        row = rows(ground, f"{name}.tide")[name]
        expect(row["reason"] == "allocator" and row["detail"] == "jemalloc" and row["is_command"],
               f"{row}")
        expect(row["max_rss_bytes"] >= 30000000 > 1000000 > row["recorded_bytes"], f"{row}")
        done = ground.run(ground.tidemark, "diff", "--exit-code", f"{name}.tide", f"{name}.tide")
        expect(done.status == 2, f"the gate passed {name} with {done.status}")
        expect(f"{name} was not recorded: it has jemalloc linked in" in done.stderr, done.stderr)


@test
def whole_gate_passes_what_was_recorded(ground):
    """A small static helper beside the program does not keep a gate from deciding."""
    eat, helper = ground.build("eat", EATER), ground.build("helper", EATER, "-static")
    script = f"{helper} 100; {eat} 5000000"
    for name in "a", "b":
        ground.record("-q", "-o", f"{name}.tide", *PRELOAD, "sh", "-c", script)
    done = ground.run(ground.tidemark, "diff", "--exit-code", "a.tide", "b.tide")
    expect(done.status == 0, f"{done.status}: {done.stderr}")
    expect("before: not recorded: helper (static" in done.stdout, done.stdout)


@test
def whole_lead(ground):
    """The command leads unless another was far larger."""
    eat = ground.build("eat", EATER)
    both = ground.build("both", EATER.replace("return p[", 'if (argc > 3)\n    system(argv[3]);\n'
                                              "  return p["))
    ground.record("-q", "-o", "a.tide", "sh", "-c", f"{eat} 3000000; true")
    expect(ground.report("a.tide")["image"]["program"] == "eat", "a wrapper leads")
    ground.record("-q", "-o", "b.tide", both, "30000000", "20", f"{eat} 40000000 20")
    expect(ground.report("b.tide")["image"]["program"] == "both", "the command does not lead")
    ground.record("-q", "-o", "c.tide", both, "30000000", "20", f"{eat} 200000000 20")
    expect(ground.report("c.tide")["image"]["program"] == "eat", "the largest does not lead")


@test
def whole_cargo_build(ground):
    if not shutil.which("cargo"):
        raise record.Skip("no cargo here")
    rustc = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True)
    names = subprocess.run(["nm", "-D", "--defined-only", rustc.stdout.strip() + "/bin/rustc"],
                           capture_output=True, text=True).stdout
    if " T malloc\n" not in names:
        raise record.Skip("this rustc has no allocator of its own")
    crate = ground.scratch / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text('[package]\nname = "tiny"\nversion = "0.1.0"\n')
    (crate / "src/main.rs").write_text("fn main() {}\n")
    env = dict(os.environ, CARGO_TARGET_DIR=str(crate / "target"))
    done = ground.record("-o", "../a.tide", "cargo", "build", "-q", "--offline", cwd=crate, env=env,
                         timeout=120)
    expect(done.status == 0, done.stderr)
    roll = info(ground, "a.tide")["capture"]["run"]
    expect(not roll["unrecorded"], f"{roll}")
    peaks = [image["peak_bytes"] for image in ground.report("a.tide")["images"]
             if image["program"] == "rustc"]
    expect(max(peaks, default=0) > 5 << 20, f"rustc's peaks: {peaks}")
    shutil.rmtree(crate / "target")
    done = ground.record("-o", "../c.tide", *PRELOAD, "cargo", "build", "-q", "--offline",
                         cwd=crate, env=env, timeout=120)
    expect(done.status == 0, done.stderr)
    expect(re.search(r"tidemark: (\d+ \S+ )?rustc was hardly recorded: (it|each) has", done.stderr),
           done.stderr)
    expect("  complete:" not in done.stderr, done.stderr)
    expect(rows(ground, "c.tide")["rustc"]["reason"] == "allocator", "rustc")


def knock(ground, name, user=None):
    """A recorded program that is started from outside of the run, with its variables."""
    words = ["runuser", "-u", user, "--"] if user else []
    return subprocess.Popen([*words, "env", f"LD_PRELOAD={ground.library}",
                             f"TIDEMARK_OPTIONS=socket={name}", str(ground.scratch / "eat"), "100"],
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                            cwd="/tmp")


def door_of(ground, pid):
    for _ in range(400):
        try:
            child = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
            environ = pathlib.Path(f"/proc/{child}/environ").read_text()
            return re.search(r"socket=(tidemark-[^,\0]+)", environ)[1]
        except (OSError, IndexError, TypeError):
            time.sleep(0.01)
    raise record.Failure("the run has no door")


@test
def whole_strangers_are_refused(ground):
    """The same user by accident, and another user, at root's door too: neither is in the report."""
    ground.build("eat", EATER)
    os.chmod(ground.scratch, 0o755)
    prog = ground.program("while (access(\"go\", F_OK)) usleep(10000); return 0;")
    run = ground.start("-q", "-o", "a.tide", prog)
    name = door_of(ground, run.pid)
    users = [None] + (["nobody"] if os.geteuid() == 0 and shutil.which("runuser") else [])
    for user in users:
        # What the tests themselves start is no descendant of the run.
        stranger = knock(ground, name, user)
        said = stranger.communicate(timeout=60)[1]
        expect(stranger.returncode == 0, f"harmed: {stranger.returncode} {said}")
        expect("not of the run" in said, f"{user}: {said!r}")
    (ground.scratch / "go").touch()
    run.wait(timeout=60)
    report = ground.report("a.tide")
    expect([image["program"] for image in report["images"]] == ["prog"], f"{report['images']}")
    # They had the run's variables, so they may be of it: nothing is complete over that. What
    # another user's program is called does not get into the report.
    outside = [row for row in report["capture"]["run"]["unrecorded"] if row["reason"] == "outside"]
    names = sorted(row["program"] for row in outside)
    expect(names == ["eat", ""][:len(users)][::-1], f"{report['capture']['run']}")
    expect(not report["capture"]["complete"], "complete, and one that was refused may be of it")
    done = ground.run(ground.tidemark, "report", "a.tide")
    expect("eat (not known to be of the run)" in " ".join(done.stdout.split()), done.stdout)
    expect(done.stdout.startswith("prog exited"), done.stdout)


FLOOD = """
import socket, sys, time
held, until = [], time.monotonic() + 60
while time.monotonic() < until:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect("\\0" + sys.argv[1])
    except OSError:
        break
    held.append(s)
    if len(held) > 300:
        held.pop(0).close()
"""


@test
def whole_flood_costs_no_child(ground):
    """Thousands of connections by others while the run starts its children."""
    prog = ground.build("prog", """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
  for (int i = 0; i < 40; i++) {
    if (fork() == 0) {
      void *volatile p = malloc(1000);
      usleep(1000);
      _exit(!p);
    }
    usleep(20000);
  }
  while (wait(0) > 0)
    ;
  return malloc(10) == 0;
}
""")
    run = ground.start("-q", "-o", "a.tide", prog)
    name = door_of(ground, run.pid)
    can_change = os.geteuid() == 0 and shutil.which("runuser")
    words = ["runuser", "-u", "nobody", "--"] if can_change else []
    floods = [subprocess.Popen([*words, "python3", "-c", FLOOD, name], stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd="/") for _ in range(2)]
    run.wait(timeout=120)
    for flood in floods:
        flood.wait(timeout=120)
    capture = info(ground, "a.tide")
    expect(len(capture["images"]) == 41, f"{len(capture['images'])} of 41 images were recorded")
    expect(capture["capture"]["complete"], f"{capture['capture']['run']}")
    expect(capture["capture"]["run"]["refused"] >= 1, "nobody was refused")


@test
def whole_daemons_belong(ground):
    """They have lost their parents before their first event, and before an exec."""
    eat = ground.build("eat", EATER)
    prog = ground.build("prog", """
#include <stdlib.h>
#include <unistd.h>
static char *const nothing[] = {0};
int main(int argc, char **argv)
{
  void *volatile p = malloc(100);
  if (fork() == 0) { /* orphaned, then allocates */
    usleep(200000);
    p = malloc(70000);
    usleep(300000);
    _exit(0);
  }
  if (fork() == 0) { /* twice forked, in a session whose leader ends at once, then exec */
    setsid();
    if (fork() == 0) {
      usleep(200000);
      execve(argv[1], argv + 1, nothing);
    }
    _exit(0);
  }
  return argc < 2 || !p;
}
""")
    done = ground.record("-q", "--wait", "-o", "w.tide", prog, eat, "90000")
    expect(done.status == 0, done.stderr)
    peaks = [image["peak_bytes"] for image in ground.report("w.tide")["images"]]
    expect(any(p >= 90000 for p in peaks) and any(70000 <= p < 90000 for p in peaks), f"{peaks}")
    # Without --wait nobody adopts them: the kernel still shows whose they are. The command stays.
    keep = ground.build("keep", STARTER.replace("return argc", "sleep(2);\n  return argc"))
    ground.record("-q", "-o", "k.tide", keep, prog, eat, "90000", timeout=60)
    run = info(ground, "k.tide")["capture"]["run"]
    expect(run["refused"] == 0, f"refused its own: {run}")
    peaks = [image["peak_bytes"] for image in ground.report("k.tide")["images"]]
    expect(any(p >= 90000 for p in peaks) and any(70000 <= p < 90000 for p in peaks), f"{peaks}")
