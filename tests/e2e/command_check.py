# SPDX-License-Identifier: Apache-2.0
"""Budgets: each kept and broken to the byte, each reason not to tell, every format."""
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import record
from command_inside import bare
from ground import expect, test, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"

# keep: 10 blocks of 1,000 bytes, 8 of which are freed; temp: 5 of 5,000, freed at once; most is
# live at the first of these: 15,000 bytes. 35,000 in all, in 15 allocations.
SOURCE = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[64];
__attribute__((noipa)) void keep(int i) { kept[i] = malloc(SIZE); }
__attribute__((noipa)) void temp(void) { free(malloc(5000)); }
int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  for (int i = 0; i < 10; i++) keep(i);
  for (int i = 0; i < 5; i++) temp();
  if (!strcmp(what, "fork") && fork() == 0) {
    for (int i = 20; i < 50; i++) keep(i);
    _exit(0);
  }
  if (!strcmp(what, "exec") && fork() == 0) {
    execv(argv[2], argv + 2);
    _exit(9);
  }
  while (wait(0) > 0) continue;
  if (!strcmp(what, "loud")) puts("said by the program");
  for (int i = 0; i < 8; i++) free(kept[i]);
  if (!strcmp(what, "abort")) abort();
  return !strcmp(what, "fail") ? 3 : 0;
}
"""


def made(ground, name="prog", size=1000):
    """The program, built in the test's own directory, so that its source lies there."""
    source = ground.scratch / f"{name}.c"
    source.parent.mkdir(exist_ok=True)
    source.write_text(SOURCE.replace("SIZE", str(size)))
    done = ground.run("gcc", "-O1", "-g", "-fno-builtin", "-o", name, source)
    expect(done.status == 0, f"does not build: {done.stderr}")
    return f"./{name}"


def recorded(ground, *words, name="prog", size=1000, out="x.tide", options=()):
    program = made(ground, name, size)
    done = ground.record("-q", "-f", *options, "-o", out, "--", program, *words)
    expect(done.status in (0, 3), f"status {done.status}: {done.stderr}")
    return out


def check(ground, *words, status=0, **options):
    done = ground.run(ground.tidemark, "check", *words, **options)
    expect(done.status == status,
           f"check {words}: {done.status}, not {status}: {done.stdout}{done.stderr}")
    return done


def judged(ground, *words, status=0):
    return json.loads(check(ground, "--json", *words, status=status).stdout)


@contextlib.contextmanager
def recording(ground, program, tide):
    """The program as it is recorded, with its standard input and output; it ends well."""
    child = subprocess.Popen([ground.tidemark, "run", "-q", "-o", tide, "--", program],
                             cwd=ground.scratch, env=ground.env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        yield child
        expect(child.wait(30) == 0, "it failed")
    finally:
        child.kill()
        child.communicate()


def why_not(ground, *words):
    """The doubts of the one budget given."""
    document = judged(ground, *words, status=2)
    expect(document["verdict"] == "unknown", f"{words}: {document['verdict']}")
    return document["budgets"][0]["doubts"]


@test
def check_to_the_byte(ground):
    """A value at its limit is kept, and one more breaks it: every number, on files and commands."""
    tide = recorded(ground)
    for option, value in (("--max-peak", 15000), ("--max-total", 35000), ("--max-allocs", 15),
                          ("--max-leaked", 2000), ("--max-temp", 25000)):
        kept = judged(ground, option, str(value), tide)
        expect(kept["verdict"] == "kept" and kept["kept"] == 1, f"{option}: {kept}")
        budget = kept["budgets"][0]
        expect(budget["value"] == budget["least"] == budget["most"] == budget["limit"] == value,
               f"{option}: {budget}")
        broken = judged(ground, option, str(value - 1), tide, status=1)
        budget = broken["budgets"][0]
        expect(budget["verdict"] == "broken" and budget["value"] == value, f"{option}: {budget}")
        expect(budget["places"], f"{option}: nobody broke it")
    for pattern, value in (("^keep$", 10000), ("^temp$", 5000), ("prog[.]c", 15000),
                           ("main", 15000), ("k=*eep", 10000)):
        check(ground, "--max-site", f"{pattern}={value}", tide)
        check(ground, "--max-site", f"{pattern}={value - 1}", tide, status=1)
    done = check(ground, "--max-site", "kep=0", tide)
    expect("no stack has such a function" in " ".join(done.stdout.split()), done.stdout)
    done = check(ground, "--max-site", "keep=10000", "--max-site", "temp=4999", tide, status=1)
    expect("1 of 2" in done.stdout and "temp, " in done.stdout, done.stdout)


@test
def check_of_rss(ground):
    """Of a process that was looked at it is known; nobody holds it to a byte."""
    program = ground.program(f"  char *p = malloc({64 << 20}); memset(p, 1, {64 << 20});\n"
                             "  printf(\"%d\\n\", (int)getpid()); fflush(stdout);\n"
                             "  return read(0, p, 1) != 1;")
    with recording(ground, program, "rss.tide") as child:
        pid = child.stdout.readline().strip()

        def is_seen():
            done = ground.run(ground.tidemark, "ctl", pid, "dump", "-f", "so_far.tide")
            expect(done.status == 0, done.stderr)
            row = json.loads(ground.run(ground.tidemark, "check", "--json", "--max-rss", "0",
                                        "so_far.tide").stdout)["budgets"][0]
            return row["value"] >= 64 << 20
        wait_for(is_seen, "a look at its memory")
        child.stdin.write("x")
        child.stdin.flush()
    document = judged(ground, "--max-rss", "1GiB", "rss.tide")
    value = document["budgets"][0]["value"]
    expect(64 << 20 <= value < 128 << 20, f"{value}")
    check(ground, "--max-rss", str(value), "rss.tide")
    broken = judged(ground, "--max-rss", str(value - 1), "rss.tide", status=1)
    expect(broken["budgets"][0]["places"], f"{broken}")


@test
def check_of_a_command(ground):
    """It is recorded and judged; if it fails its own status is passed on, and nothing is kept."""
    program = made(ground)
    done = check(ground, "--max-peak", "15000", "-o", "run.tide", "--", program, "loud")
    expect("said by the program" in done.stdout and "kept: the budget" in done.stdout, done.stdout)
    expect("saved run.tide" in done.stderr and (ground.scratch / "run.tide").exists(), done.stderr)
    done = check(ground, "-q", "--max-peak", "14999", "--", program, status=1)
    expect("saved" not in done.stderr, done.stderr)
    expect(len(list(ground.scratch.glob("tidemark.prog.*.tide"))) == 1, "not saved where run does")
    done = check(ground, "--max-peak", "1G", "-o", "fail.tide", "--", program, "fail", status=3)
    expect("the command exited 3" in done.stdout and "unknown" in done.stdout, done.stdout)
    expect("kept" not in done.stdout, done.stdout)
    done = check(ground, "--max-peak", "1", "-o", "both.tide", "--", program, "fail", status=3)
    expect("broken: 1 of 1" in done.stdout, done.stdout)
    done = check(ground, "--max-peak", "1G", "-o", "abort.tide", "--", program, "abort", status=-6)
    expect("was ended by signal 6" in done.stdout, done.stdout)
    check(ground, "--max-peak", "1G", "-o", "no.tide", "--", "./gone", status=127)
    check(ground, "--max-peak", "1G", "-o", "no.tide", "--", "./prog.c", status=126)
    done = check(ground, "--json", "--result", "out.json", "--max-peak", "1G", "-f", "-o",
                 "run.tide", "--", program, "loud")
    expect(done.stdout == "said by the program\n", done.stdout)
    document = json.loads((ground.scratch / "out.json").read_text())
    expect(document["command"] == {"exit_status": 0, "signal": 0}, f"{document}")
    check(ground, "--json", "--result", "out.json", "--max-peak", "1G", "run.tide", status=2)
    # Where the verdict has no place nothing is run; where there is none, none is left.
    for place, why in (("out.json", "exists already"), ("gone/out.json", "cannot write")):
        done = check(ground, "--result", place, "--max-peak", "1G", "-f" if "/" in place else "-q",
                     "--", program, "loud", status=2)
        expect(why in done.stderr and not done.stdout, f"{done.stdout}{done.stderr}")
    check(ground, "--result", "no.json", "--max-peak", "1G", "--", "./gone", status=127)
    expect(not (ground.scratch / "no.json").exists(), "a verdict of nothing")


@test
def check_of_several_processes(ground):
    """A budget is of each process by itself, and told of the worst; programs have their own."""
    tide = recorded(ground, "fork")
    # The child: 30 blocks of its own.
    document = judged(ground, "--max-total", "35000", tide)
    expect(document["budgets"][0]["processes"] == 2, f"{document}")
    document = judged(ground, "--max-allocs", "15", tide, status=1)
    budget = document["budgets"][0]
    expect(budget["value"] == 30 and budget["processes_broken"] == 1, f"{budget}")
    text = check(ground, "--max-allocs", "15", tide, status=1).stdout
    expect("broken in 1 of 2 processes" in " ".join(text.split()), text)
    expect(re.search(r"--sort count --process '#\d' x.tide", text), text)
    made(ground, "other", 3000)
    both = recorded(ground, "exec", "./other", out="both.tide")
    names = {row["process"] for row in judged(ground, "--max-peak", "1G", both)["budgets"]}
    expect(names == {"other"}, f"{names}")
    check(ground, "--max-peak", "15000", both, status=1)
    check(ground, "--max-peak", "15000", "--program", "prog", both)
    check(ground, "--max-peak", "35000", "--program", "other", both)
    check(ground, "--max-peak", "34999", "--program", "other", both, status=1)
    expect(why_not(ground, "--max-peak", "1G", "--program", "othr", both) == ["nobody"], "nobody")
    (ground.scratch / "b.toml").write_text(
        'max-peak = 15_000\n[program.other]\nmax-peak = "35000"\n')
    document = judged(ground, "--budget", "b.toml", both)
    expect(document["kept"] == 2, f"{document}")
    # Several files, each by itself.
    document = judged(ground, "--max-leaked", "2000", tide, both, status=1)
    expect([row["file"] for row in document["budgets"]] == ["x.tide", "both.tide"], f"{document}")


@test
def check_growth(ground):
    """Against a baseline: to the byte, in each number, with the places that grew."""
    old = recorded(ground, out="old.tide")
    new = recorded(ground, name="new/prog", size=1100, out="new.tide")
    document = judged(ground, "--baseline", old, "--max-growth", "0%", new, status=1)
    rows = {row["what"]: row for row in document["budgets"]}
    expect([rows[key]["verdict"] for key in ("peak", "total", "allocs", "leaked")] ==
           ["broken", "broken", "kept", "broken"], f"{rows}")
    expect(rows["peak"]["before"] == rows["peak"]["limit"] == 15000, f"{rows['peak']}")
    place = rows["peak"]["places"][0]
    expect((place["function"], place["value"], place["before"]) == ("keep", 11000, 10000),
           f"{place}")
    check(ground, "--baseline", old, "--max-growth", "10%", new)  # leaked: 2,000 to 2,200
    check(ground, "--baseline", old, "--max-growth", "9.99%", new, status=1)
    check(ground, "--baseline", new, "--max-growth", "0%", old)
    text = check(ground, "--baseline", old, "--max-growth", "1%", new, status=1).stdout
    expect("keep, " in text and "1,000 B more: 10.7 KiB" in text, text)
    text = " ".join(text.split())
    expect("the baseline has 14.6 KiB" in text and "diff old.tide new.tide" in text, text)
    # Built anew since: by its names alone the old code is known.
    shutil.copy(ground.scratch / "old.tide", ground.scratch / "named.tide")
    done = ground.run(ground.tidemark, "symbolize", "named.tide")
    expect(done.status == 0, done.stderr)
    made(ground, "prog", size=1100)
    for baseline, wanted in (old, None), ("named.tide", 10000):
        document = judged(ground, "--baseline", baseline, "--max-growth", "0%", new, status=1)
        place = document["budgets"][0]["places"][0]
        expect((place["function"], place["value"], place.get("before")) == ("keep", 11000, wanted),
               f"{place}")
        text = check(ground, "--baseline", baseline, "--max-growth", "0%", new, status=1).stdout
        expect(("'tidemark symbolize' keeps names" in " ".join(text.split())) == (not wanted), text)
    other = recorded(ground, name="other", out="other.tide")
    expect(why_not(ground, "--baseline", old, "--max-growth", "5%", other) == ["baseline"],
           "another program")


@test
def check_could_not_tell(ground):
    """What is missing makes nothing kept, and leaves what is broken broken."""
    tide = recorded(ground)
    whole = (ground.scratch / tide).read_bytes()
    (ground.scratch / "cut.tide").write_bytes(whole[:len(whole) - 40])
    expect("damaged" in why_not(ground, "--max-peak", "1G", "cut.tide"), "cut")
    (ground.scratch / "bad.tide").write_bytes(b"nothing of the kind")
    check(ground, "--max-peak", "1G", "bad.tide", status=2)
    check(ground, "--max-peak", "1G", "gone.tide", status=2)
    # Sampled: three standard errors decide.
    program = ground.program("  for (int i = 0; i < 20000; i++) if (!malloc(100)) return 1;\n"
                             "  return 0;", "many")
    done = ground.record("-q", "--sample=1KiB", "-o", "sampled.tide", "--", program)
    expect(done.status == 0, done.stderr)
    row = judged(ground, "--max-total", "1G", "sampled.tide")["budgets"][0]
    expect(row["least"] < row["value"] < row["most"], f"{row}")
    check(ground, "--max-total", str(row["most"]), "sampled.tide")
    expect(why_not(ground, "--max-total", str(row["most"] - 1), "sampled.tide") == ["sampled"], "1")
    expect(why_not(ground, "--max-total", str(row["least"]), "sampled.tide") == ["sampled"], "2")
    check(ground, "--max-total", str(row["least"] - 1), "sampled.tide", status=1)
    # The peak is the highest of many estimates, so that less of it is sure.
    row = judged(ground, "--max-peak", "1G", "sampled.tide")["budgets"][0]
    expect(abs(row["value"] - row["least"] - 2 * (row["most"] - row["value"])) < 3, f"{row}")
    # Paused: at least what was seen.
    done = ground.record("-q", "--start-paused", "-o", "paused.tide", "--", "./prog")
    expect(done.status == 0, done.stderr)
    expect("paused" in why_not(ground, "--max-peak", "1G", "paused.tide"), "paused")
    # Another tool's file does not hold everything.
    (ground.scratch / "x.folded").write_text("main;keep 10\n")
    expect(why_not(ground, "--max-temp", "1G", "x.folded") == ["lacking"], "folded")


@test
def check_of_a_store(ground):
    """What a bare preload left is judged once its process has told that it ends; until then, and of
    one that was killed, nobody knows what came after."""
    program = ground.program("  char *p = malloc(5000); puts(\"ready\"); fflush(stdout);\n"
                             "  int c = getchar(); free(p); if (c == 'k') raise(SIGKILL);\n"
                             "  return 0;")
    for word, verdict in ("e", "kept"), ("k", "unknown"):
        for old in ground.scratch.glob("*.store"):
            old.unlink()
        with subprocess.Popen([program], cwd=ground.scratch, env=bare(ground), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            expect(child.stdout.readline() == "ready\n", "it is not ready")
            store = next(ground.scratch.glob("*.store"))
            expect(why_not(ground, "--max-peak", "1G", store) == ["unfinished"], "it goes on")
            child.communicate(word)
        document = judged(ground, "--max-peak", "1G", store, status=0 if word == "e" else 2)
        expect(document["verdict"] == verdict, f"{word}: {document}")


@test
def check_of_what_is_left_behind(ground):
    """A daemon that is recorded as its command ends cannot be told; with --wait it is judged."""
    program = ground.program("  int said[2]; char c;\n  if (pipe(said)) return 1;\n"
                             "  if (fork()) return read(said[0], &c, 1) != 1;\n"
                             "  char *p = malloc(5000); setsid();\n"
                             "  if (write(said[1], p, 1) != 1) return 1;\n"
                             "  usleep(500000); free(p); p = malloc(90000); free(p);\n  return 0;")
    done = check(ground, "--max-peak", "80000", "-o", "x.tide", "--", program, status=2)
    expect("the command left processes behind: --wait judges" in done.stdout, done.stdout)
    done = check(ground, "--max-peak", "80000", "--wait", "-o", "y.tide", "--", program, status=1)
    expect("left processes behind" not in done.stdout, done.stdout)


# Its child allocates when there is a file "go"; it is a daemon, or one that has written over its
# variables as setproctitle() does.
LATE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "";
  void *volatile p = malloc(5000);
  free(p);
  if (fork())
    return 0;
  for (int fd = 0; fd < 3; fd++) close(fd);
  if (strchr(how, 's')) setsid();
  if (strchr(how, 'd') && fork()) _exit(0);
  for (char **entry = environ; strchr(how, 'w') && *entry; entry++)
    memset(*entry, 'x', strlen(*entry));
  for (int i = 0; i < 3000 && access("go", F_OK); i++) usleep(10000);
  p = malloc(90000);
  free(p);
  return 0;
}
"""


@test
def check_of_what_has_not_allocated(ground):
    """Nor can one be told that is left behind and has not allocated by then, whatever it has done
    to be found by nobody; the capture says so as well. With --wait it is judged."""
    program = ground.build("late", LATE)
    go = ground.scratch / "go"
    for how, options in (("", ()), ("sd", ()), ("sdw", ()), ("sd", ("--how", "agent"))):
        go.unlink(missing_ok=True)
        words = ("-f", "-o", "x.tide", *options, "--", program, how)
        done = check(ground, "--max-peak", "80000", "--json", *words, status=2)
        row = json.loads(done.stdout)["budgets"][0]
        expect(row["doubts"] == ["unrecorded"] and "late was not recorded: it had allocated nothing"
               in row["why"], f"{how}: {row}")
        expect(why_not(ground, "--max-peak", "80000", "x.tide") == ["unrecorded"], how)
        done = check(ground, "--max-peak", "4000", *words, status=1)
        expect("the command left processes behind: --wait judges" in done.stdout, done.stdout)
        go.touch()
    done = check(ground, "--max-peak", "80000", "--wait", "-o", "y.tide", "--", program, "sd",
                 status=1)
    expect("left processes behind" not in done.stdout, done.stdout)


@test
def check_where_proc_is_not_ours(ground):
    """Where /proc has other numbers than ours nobody is looked for: tidemark itself was found, and
    the kernel's threads, children of the 2nd process there as the program is of the 1st here."""
    program = made(ground)
    words = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    done = ground.run(*words, "true")
    if done.status:
        raise record.Excused(f"no namespaces here: {done.stderr.strip()}")
    done = ground.run(*words, ground.tidemark, "check", "--max-peak", "1GiB", "-o", "x.tide", "--",
                      program)
    expect(done.status == 0 and "\nkept: " in "\n" + done.stdout, f"{done.status} {done.stdout}")


@test
def check_unrecorded(ground):
    """A process that ran unrecorded leaves open what is about it, and nothing else."""
    made(ground)
    static = ground.build("still", '#include <unistd.h>\nint main(void) { return 0; }\n', "-static")
    done = ground.record("-q", "--how", "preload", "-o", "x.tide", "--", "./prog", "exec", static)
    expect(done.status == 0, done.stderr)
    # The command itself: there is nothing to judge.
    done = check(ground, "--how", "preload", "--max-peak", "1G", "-o", "y.tide", "--", static,
                 status=2)
    expect("still was not recorded: it is statically linked" in " ".join(done.stdout.split()),
           done.stdout)
    document = judged(ground, "--max-peak", "1G", "x.tide", status=2)
    row = document["budgets"][0]
    expect(row["doubts"] == ["unrecorded"] and "still was not recorded" in row["why"], f"{row}")
    check(ground, "--max-peak", "14999", "x.tide", status=1)
    expect(why_not(ground, "--max-peak", "1", "--program", "still", "x.tide") == ["unrecorded"],
           "still")
    done = ground.run(ground.tidemark, "check", "--max-peak", "15000", "--program", "prog",
                      "x.tide")
    # Whether the unrecorded one may have started others is the recording's to say.
    expect(done.status in (0, 2), f"{done.status}: {done.stdout}")


@test
def check_cut_stacks(ground):
    """Frames that were cut may have been of the site; what cannot matter does not."""
    source = SOURCE.replace("SIZE", "1000").replace(
        "for (int i = 0; i < 10; i++) keep(i);", "deep(30);").replace(
        "int main", "__attribute__((noipa)) void deep(int n)\n{\n"
        "  if (n) deep(n - 1); else for (int i = 0; i < 10; i++) keep(i);\n"
        "  __asm__ volatile(\"\");\n}\n__attribute__((noipa)) void unused(void) {}\nint main")
    program = ground.build("deep", source)
    done = ground.record("-q", "--depth", "8", "-o", "x.tide", "--", program)
    expect(done.status == 0, done.stderr)
    check(ground, "--max-site", "^keep$=10000", "x.tide")  # they have it
    check(ground, "--max-site", "^keep$=9999", "x.tide", status=1)
    row = judged(ground, "--max-site", "^unused$=9999", "x.tide", status=2)["budgets"][0]
    expect(row["doubts"] == ["cut"] and row["value"] == 0 and row["most"] == 10000, f"{row}")
    check(ground, "--max-site", "^unused$=10000", "x.tide")  # all of them would not be too much


@test
def check_stripped(ground):
    """Own code without names may be anybody's."""
    made(ground)
    done = ground.run("strip", "-s", "prog")
    expect(done.status == 0, done.stderr)
    done = ground.record("-q", "-o", "x.tide", "--", "./prog")
    expect(done.status == 0, done.stderr)
    row = judged(ground, "--max-site", "^keep$=14999", "x.tide", status=2)["budgets"][0]
    expect(row["doubts"] == ["no-name"] and row["most"] == 15000, f"{row}")
    check(ground, "--max-site", "^keep$=15000", "x.tide")


# Says who it is, and waits for a word after each of its steps, so that marks lie where they should.
STEPS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) static void *take(size_t n) { return malloc(n); }
static void wait_for_word(void)
{
  char text[32];
  int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
  if (write(1, text, n) != n || read(0, text, 1) != 1) _exit(1);
}
int main(void)
{
  void *first = take(1000), *second;
  wait_for_word();
  second = take(20000);
  free(take(300000));
  wait_for_word();
  free(take(4000000));
  free(first);
  return second == NULL;
}
"""


def record_with_marks(ground, tide):
    with recording(ground, ground.build("steps", STEPS), tide) as child:
        for name in ("one", "two"):
            done = ground.run(ground.tidemark, "ctl", child.stdout.readline().strip(), "mark", name)
            expect(done.status == 0, done.stderr)
            child.stdin.write("x")
            child.stdin.flush()


@test
def check_between_marks(ground):
    """Ranges are bounded by the looks around them; what lies outside is no part of them."""
    record_with_marks(ground, "m.tide")

    def limits(text, status):
        (ground.scratch / "m.toml").write_text("[[mark]]\n" + text)
        return judged(ground, "--budget", "m.toml", "m.tide", status=status)["budgets"][0]

    # Around the marks there are at least the ends of the run.
    row = limits('from = "one"\nto = "two"\nmax-total = "5MiB"\n', 0)
    expect(row["least"] <= 320000 <= row["most"] <= 4321000, f"{row}")
    row = limits('from = "start"\nto = "two"\nmax-peak = "5MiB"\n', 0)
    expect(row["most"] >= 301000, f"{row}")
    row = limits('max-total = 4321000\nto = "end"\n', 0)
    expect(row["value"] == row["least"] == row["most"] == 4321000, f"{row}")
    row = limits('max-total = 4320999\nto = "end"\n', 1)
    expect(row["places"][0]["function"] == "take", f"{row}")
    limits('max-leaked = 20000\nto = "end"\n', 0)
    limits('max-leaked = 19999\nto = "end"\n', 1)
    row = limits('from = "two"\nto = "one"\nmax-total = "1GiB"\n', 2)
    expect(row["doubts"] == ["no-mark"], f"{row}")
    row = limits('from = "three"\nmax-total = "1GiB"\n', 2)
    expect(row["doubts"] == ["no-mark"], f"{row}")


@test
def check_budget_file(ground):
    """Found by itself when nothing else is said, and refused with the line where it is wrong."""
    tide = recorded(ground)
    toml = ground.scratch / "tidemark.toml"
    toml.write_text('max-peak = "15000"\n\n[[site]]\nmatch = "^keep$"\nmax-leaked = 2000\n'
                    'max-allocs = 10\n')
    done = check(ground, tide)
    expect("budgets of tidemark.toml" in done.stderr, done.stderr)
    expect("kept: all 3 budgets" in done.stdout, done.stdout)
    done = check(ground, "--max-leaked", "2000", tide)
    expect("tidemark.toml" not in done.stderr and "kept: the budget" in done.stdout, done.stderr)
    # Options come before the file.
    check(ground, "--budget", "tidemark.toml", "--max-peak", "14999", tide, status=1)
    recorded(ground, out="sub.tide")
    (ground.scratch / "sub").mkdir()
    (ground.scratch / "sub.tide").rename(ground.scratch / "sub" / "base.tide")
    (ground.scratch / "sub" / "b.toml").write_text('baseline = "base.tide"\nmax-growth = "0%"\n')
    check(ground, "--budget", "sub/b.toml", tide)
    for text, why in (('max-paek = 5\n', 'unknown key "max-paek"; did you mean "max-peak"?'),
                      ('\nmax-peak = "5x"\n', "b.toml:2: max-peak: "),
                      ('max-peak = 5.5\n', 'b.toml:1: "5.5" is no value'),
                      ('max-peak = -5\n', "b.toml:1: max-peak: a size"),
                      ('max-peak = [5]\n', "b.toml:1: arrays are not used"),
                      ('max-peak = 5\nmax-peak = 6\n', "b.toml:2: \"max-peak\" has been given"),
                      ('[site]\nmatch = "x"\n', "write [[site]]"),
                      ('[[site]]\nmax-peak = 5\n', "b.toml:1: a site needs match"),
                      ('[[site]]\nmatch = ""\nmax-peak = 5\n', "b.toml:2: \"match\" is empty"),
                      ('[[site]]\nmatch = "("\nmax-peak = 5\n', "b.toml:2: \"(\" is no regular"),
                      ('[[site]]\nmatch = "x"\n', "b.toml:1: this table limits nothing"),
                      ('[[site]]\nmatch = "x"\nmax-rss = 5\n', "b.toml:3: unknown key \"max-rss\""),
                      ('[[mark]]\nmax-peak = 5\n', "b.toml:1: a range of marks needs"),
                      ('[program]\nx = 5\n', "[program.NAME]"),
                      ('max-growth = "5%"\n', "--baseline"),
                      ('baseline = "base.tide"\n', "--max-growth"),
                      ('# nothing\n', "no budget")):
        (ground.scratch / "b.toml").write_text(text)
        done = check(ground, "--budget", "b.toml", tide, status=2)
        expect(why in done.stderr, f"{text!r}: {done.stderr}")
    toml.unlink()
    for words, why in (((tide,), "no budget"),
                       (("--max-peak", "x", tide), "--max-peak: "),
                       (("--max-allocs", "5k", tide), "--max-allocs: allocations are counted"),
                       (("--max-site", "keep", tide), "--max-site: write it as REGEX=SIZE"),
                       (("--max-site", "(=5", tide), "no regular expression"),
                       (("--max-growth", "5", "--baseline", tide, tide), "--max-growth: "),
                       (("--max-growth", "5%", tide), "--baseline"),
                       (("--baseline", tide, tide), "--max-growth"),
                       (("--program", "x", tide), "--program is about"),
                       (("--max-peak", "5", "-o", "y", tide), "recording is for a command"),
                       (("--max-peak", "5", "--"), "run what?"),
                       (("--max-paek", "5", tide), "did you mean --max-peak?"),
                       (("--max-peak", "5", "--format", "xml", tide), "--format takes text")):
        done = check(ground, *words, status=2)
        expect(why in done.stderr and not done.stdout, f"{words}: {done.stderr}")


def plain(ground, text):
    """Without what is another one in each test run."""
    return text.replace(str(ground.scratch), "/scratch").replace(ground.scratch.name, "scratch")


@test
def check_formats(ground):
    """Each format as it was looked at once, and as its own readers have it."""
    tide = recorded(ground)
    (ground.scratch / "x.folded").write_text("main;keep 10\n")
    words = ("--max-total", "35000", "--max-temp", "24999", "--max-site", "a<b|%k=4999", tide,
             "x.folded")
    for form in ("text", "json", "github", "junit", "sarif"):
        done = ground.run(ground.tidemark, "check", "--format", form, *words,
                          env={**ground.env, "GITHUB_STEP_SUMMARY": str(ground.scratch / "sum.md")})
        expect(done.status == 1, f"{form}: {done.status} {done.stderr}")
        compare(GOLDEN / f"check.{'txt' if form == 'text' else form}", plain(ground, done.stdout))
    compare(GOLDEN / "check.md", plain(ground, (ground.scratch / "sum.md").read_text()))
    read_github(check(ground, "--format", "github", *words, status=1).stdout)
    read_junit(check(ground, "--format", "junit", *words, status=1).stdout)
    read_sarif(json.loads(check(ground, "--format", "sarif", *words, status=1).stdout))


def compare(golden, text):
    if os.environ.get("TIDE_GOLDEN_WRITE"):
        golden.write_text(text)
    expect(text == golden.read_text(), f"{golden.name} is not what it was:\n{text}")


def read_github(text):
    lines = text.splitlines()
    commands = [re.fullmatch(r"::(error|warning) ((?:\w+=[^,:\n]*,?)+)::(.*)", line)
                for line in lines[:-1]]
    expect(all(commands), text)
    error = commands[0]
    properties = dict(pair.split("=", 1) for pair in error[2].split(","))
    expect(error[1] == "error" and properties["file"] == "prog.c" and properties["line"] == "10",
           f"{properties}")
    for command in commands:
        for part in re.findall(r"%..?", command[2] + command[3]):
            expect(part in ("%25", "%0A", "%0D", "%3A", "%2C"), f"{part}: {command[0]}")


def read_junit(text):
    suites = xml.etree.ElementTree.fromstring(text)
    cases = suites.findall(".//testcase")
    expect(int(suites.get("tests")) == len(cases) == 6, text)
    expect(int(suites.get("failures")) == len(suites.findall(".//failure")) == 1, text)
    expect(int(suites.get("errors")) == len(suites.findall(".//error")), text)
    expect({case.get("name") for case in cases} >= {"temp", "peak of stacks through a<b|%k"}, text)


def read_sarif(document):
    """What the schema of SARIF 2.1.0 asks for, of what is used: the golden document, and those of
    budgets that are broken and of growth, are valid under the official one (2.1.0-rtm.5), and pass
    what sarif-multitool 5.7.0 knows of GitHub (--rule-kind Ghas)."""
    expect(document["version"] == "2.1.0" and len(document["runs"]) == 1, "version")
    run = document["runs"][0]
    driver = run["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    expect(driver["name"] and len(set(rules)) == len(rules), "rules are unique")
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            expect(rule[key]["text"], f"GitHub asks for {key}: {rule}")
    for result in run["results"]:
        expect(result["ruleId"] in rules and result["message"]["text"], f"{result}")
        expect(result["kind"] in ("fail", "review"), f"{result}")
        expect((result["level"] == "error") == (result["kind"] == "fail"), f"{result}")
        expect(len(result["locations"]) == 1, f"GitHub refuses the file: {result}")
        for place in result["locations"] + result["relatedLocations"]:
            physical = place["physicalLocation"]
            expect(re.fullmatch(r"[\w./:%~@+-]+", physical["artifactLocation"]["uri"]), f"{place}")
            expect(physical["region"]["startLine"] >= 1, f"{place}")
    failed = [result for result in run["results"] if result["kind"] == "fail"]
    expect([result["locations"][0]["physicalLocation"]["artifactLocation"] for result in failed] ==
           [{"uri": "prog.c", "uriBaseId": "%SRCROOT%"}], f"{failed}")


@test
def check_odd_names(ground):
    """A program may have any name; each format has a way to say it."""
    name = b"p\xef\xbf\xbf\xef\xbf\xbe\x01\x1b\x7f\xff%\r\n<&>'\"::,"
    odd = os.path.join(os.fsencode(ground.scratch), name)
    made(ground)
    os.rename(ground.scratch / "prog", odd)
    words = ("-f", "-o", "x.tide", "--max-peak", "1", "--", os.fsdecode(odd))
    case = xml.etree.ElementTree.fromstring(
        check(ground, "--format", "junit", *words, status=1).stdout).find(".//testcase")
    expect(case.get("classname") == "p?????\ufffd%?\n<&>'\"::,", f"{case.attrib}")
    done = check(ground, "--format", "github", *words, status=1)
    expect(len(done.stdout.splitlines()) == 2 and "%25%0D%0A<" in done.stdout, done.stdout)
    document = json.loads(check(ground, "--format", "sarif", *words, status=1).stdout)
    text = document["runs"][0]["results"][0]["message"]["text"]
    expect(text.startswith("p\uffff\ufffe\x01\x1b\x7f\ufffd%\r\n<"), text)


@test
def check_spots(ground):
    """A budget that no place in the sources is known for is annotated at its own line, and one that
    is no line of a file is told of at the capture; kept ones are no results."""
    tide = recorded(ground)
    (ground.scratch / "b").mkdir()
    (ground.scratch / "b" / "a,b.toml").write_text('max-temp = 99999\n[program.x]\nmax-peak = 1\n')
    words = ("--budget", "b/a,b.toml", tide)
    done = check(ground, "--format", "github", *words, status=2)
    expect(done.stdout.startswith("::warning file=b/a%2Cb.toml,line=3,title="), done.stdout)
    case = xml.etree.ElementTree.fromstring(
        check(ground, "--format", "junit", *words, status=2).stdout).findall(".//testcase")[1]
    expect((case.get("file"), case.get("line")) == ("b/a,b.toml", "3"), case.attrib)
    for words, uri, line in (
            (words, "b/a%2Cb.toml", 3), (("--max-peak", "1", "--program", "x", tide), tide, 1)):
        results = json.loads(check(ground, "--format", "sarif", *words, status=2).stdout)
        places = [result["locations"][0]["physicalLocation"]
                  for result in results["runs"][0]["results"]]
        expect(places == [{"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
                           "region": {"startLine": line}}], f"{places}")


@test
def check_paths(ground):
    """Source files are told from the repository, whatever the build made of its directory."""
    program = made(ground)
    (ground.scratch / "repo" / "src").mkdir(parents=True)
    (ground.scratch / "repo" / ".git").mkdir()
    (ground.scratch / "repo" / "src" / "prog.c").write_bytes(
        (ground.scratch / "prog.c").read_bytes())
    repo = ground.scratch / "repo"
    for flags, where, more, wanted in (
            ((), repo, {}, "src/prog.c"),
            ((), repo / "src", {}, "src/prog.c"),
            ((), ground.scratch, {"GITHUB_WORKSPACE": str(repo)}, "src/prog.c"),
            ((), ground.scratch, {"CI_PROJECT_DIR": str(repo / "src")}, "prog.c"),
            ((), repo, {"GITHUB_WORKSPACE": str(repo / "sr")}, None),
            ((f"-fdebug-prefix-map={repo}=.",), repo, {}, "src/prog.c")):
        done = ground.run("gcc", "-O1", "-g", "-fno-builtin", *flags, "-o", ground.scratch / "prog",
                          repo / "src" / "prog.c", cwd=repo)
        expect(done.status == 0, done.stderr)
        done = ground.record("-q", "-f", "-o", "x.tide", "--", program)
        expect(done.status == 0, done.stderr)
        words = ("--max-temp", "0", ground.scratch / "x.tide")
        done = check(ground, "--json", *words, status=1, cwd=where, env={**ground.env, **more})
        path = json.loads(done.stdout)["budgets"][0]["places"][0]["path"]
        expect(path == wanted, f"{where} {more}: {path}, not {wanted}")
        done = check(ground, "--format", "github", *words, status=1, cwd=where,
                     env={**ground.env, **more})
        expect(done.stdout.startswith(f"::error file={wanted},line=10," if wanted else
                                      "::error title="), done.stdout)


# ---- docs/check.md ----

def blocks(language):
    text = (ROOT / "docs/check.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def commands_of(yaml):
    """What `run` and `script` of a pipeline have a shell do."""
    found, lines = [], yaml.splitlines()
    for i, line in enumerate(lines):
        single = re.match(r"\s*(?:- )?run: (?!\|)(.+)", line)
        if single:
            found.append(single[1])
        if re.match(r"\s*(?:- )?(run: \||script:)$", line):
            depth = len(line) - len(line.lstrip())
            for inner in lines[i + 1:]:
                if len(inner) - len(inner.lstrip()) <= depth:
                    break
                found.append(re.sub(r"^\s*(- )?", "", inner))
    return found


@test
def check_pipelines_of_the_documentation(ground):
    """The workflow and the job parse, and their commands do what is said of them."""
    bin_dir = ground.scratch / "bin"
    bin_dir.mkdir()
    (bin_dir / "tidemark").symlink_to(ground.tidemark)
    env = {**ground.env, "PATH": f"{bin_dir}:{os.environ['PATH']}",
           "GITHUB_STEP_SUMMARY": str(ground.scratch / "summary.md")}
    expect(len(blocks("yaml")) == 2, "a workflow and a job")
    for number, yaml in enumerate(blocks("yaml")):
        commands = commands_of(yaml)
        parse_yaml(yaml, commands)
        for leak, wanted in (("0", 0), ("3", 1)):
            where = ground.scratch / f"{number}{leak}"
            where.mkdir()
            (where / "tests.c").write_text(
                "#include <stdlib.h>\nint main(void)\n{\n"
                f"  for (volatile int i = 0; i < {leak}; i++)\n    if (!malloc(100)) return 1;\n"
                "  return 0;\n}\n")
            statuses = []
            for command in commands:
                done = ground.run("sh", "-c", command, cwd=where, env=env)
                statuses.append(done.status)
                expect("tidemark:" not in done.stderr.replace("tidemark: saved", ""), done.stderr)
            expect(statuses[0] == 0 and set(statuses[1:]) == {wanted}, f"{commands}: {statuses}")
            if number == 1:
                read = xml.etree.ElementTree.parse(where / "heap.xml").getroot()
                expect(int(read.get("failures")) == wanted, f"{leak}")
            else:
                json.loads((where / "heap.sarif").read_text())
    summary = (ground.scratch / "summary.md").read_text()
    expect("kept: all 2 budgets" in summary and "broken: 1 of 2 budgets" in summary, summary)


def parse_yaml(text, commands):
    """With a reader of YAML, where there is one: the same commands."""
    if not importlib.util.find_spec("yaml"):
        return
    import yaml
    document = yaml.safe_load(text)
    if "jobs" in document:
        steps = document["jobs"]["budgets"]["steps"]
        read = [line for step in steps if "run" in step for line in step["run"].splitlines()]
    else:
        read = document["heap"]["script"]
    expect(read == commands, f"{read} is not {commands}")


@test
def check_budget_file_of_the_documentation(ground):
    tide = recorded(ground)
    (ground.scratch / tide).rename(ground.scratch / "main.tide")
    recorded(ground)
    (ground.scratch / "tidemark.toml").write_text(blocks("toml")[0])
    document = judged(ground, "--budget", "tidemark.toml", "x.tide", status=1)
    rows = {row["name"]: row for row in document["budgets"]}
    expect(rows["peak"]["verdict"] == "kept" and rows["leaked"]["verdict"] == "broken", f"{rows}")
    expect(rows["peak in indexer"]["doubts"] == ["nobody"], f"{rows}")
    expect(rows["total from loaded to served"]["doubts"] == ["no-mark"], f"{rows}")
    expect(rows["growth of peak"]["verdict"] == "kept", f"{rows}")
