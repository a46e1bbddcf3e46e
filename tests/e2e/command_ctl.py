# SPDX-License-Identifier: Apache-2.0
"""A recording that is told what to do while it goes on: exactly what is recorded then, of every way
in, that nothing live is lost by it, and that the report says so."""
import os
import select
import signal
import subprocess

from ground import expect, finish, test, wait_for

# Does one thing for each letter it reads, and then answers with a dot. Blocks have 1,000 bytes.
PUPPET = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *first[100], *second[100], *later[100], *in_child[100], *pages;
static pthread_t thread;
#define PLACE(name) __attribute__((noipa)) static void *name(void) \
  { void *p = malloc(1000); __asm__("" ::"r"(p)); return p; }
PLACE(at_first) PLACE(at_second) PLACE(at_later) PLACE(at_child) PLACE(at_thread) PLACE(at_pair)
__attribute__((noipa)) static void *grow(void *p) { return realloc(p, 3000); }
static int to_thread[2], from_thread[2];
static void *work(void *nothing)
{
  static void *kept[100];
  char c;
  (void)nothing;
  while (read(to_thread[0], &c, 1) == 1 && c != 'q') {
    for (int i = 0; i < 100; i++) kept[i] = at_thread();
    if (write(from_thread[1], ".", 1) != 1) abort();
  }
  for (int i = 0; i < 100; i++) free(kept[i]);
  return NULL;
}
static void tell_thread(char c)
{
  if (write(to_thread[1], &c, 1) != 1 || read(from_thread[0], &c, 1) != 1) abort();
}
static void be_child(void)
{
  char c;
  for (int i = 0; i < 100; i++) in_child[i] = at_child();
  for (int i = 0; i < 50; i++) free(in_child[i]);
  if (write(1, ".", 1) != 1) abort();
  if (read(0, &c, 1) == 1) _exit(0);
}
int main(int argc, char **argv)
{
  char c, pid[16];
  int n = sprintf(pid, "%d\n", (int)getpid());
  if (write(1, argc < 2 ? pid : ".", argc < 2 ? n : 1) < 1) return 1;
  while (read(0, &c, 1) == 1) {
    if (c == 'q') break;
    for (int i = 0; i < 100; i++) {
      if (c == 'a') first[i] = at_first();
      if (c == 'b') second[i] = at_second();
      if (c == 'c') later[i] = at_later();
      if (c == 'A' && i < 50) free(first[i]);
      if (c == 'B') free(second[i]);
      if (c == 'r' && i >= 90) first[i] = grow(first[i]);
      if (c == 'R' && i >= 90) second[i] = grow(second[i]);
      if (c == 'p') free(at_pair());
    }
    if (c == 't' && !thread) {
      if (pipe(to_thread) || pipe(from_thread)) return 1;
      pthread_create(&thread, NULL, work, NULL);
    }
    if (c == 't') tell_thread('t');
    if (c == 'm') pages = mmap(NULL, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == 'M') pages = mremap(pages, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
    if (c == 'F' && !fork()) be_child();
    if (c == 'F') { wait(NULL); continue; }
    if (c == 'x') { execl(argv[0], argv[0], "again", NULL); return 1; }
    if (write(1, ".", 1) != 1) return 1;
  }
  return 0;
}"""


class Puppet:
    """The program under one of the ways in, and tidemark ctl."""

    def __init__(self, ground, how="run", *options, program=None):
        self.ground, self.how = ground, how
        program = program or ground.build("puppet", PUPPET, "-pthread")
        env, words = dict(ground.env), [program]
        if how == "bare":
            env["LD_PRELOAD"] = str(ground.library)
            env["TIDEMARK_OPTIONS"] = ",".join(options)
        elif how != "attach":
            more = ("--how", "agent") if how == "agent" else ()
            words = [ground.tidemark, "run", "-q", "-f", "-o", "x.tide", *more, *options, "--",
                     program]
        self.child = subprocess.Popen([str(word) for word in words], cwd=ground.scratch, env=env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self.child.stdout.fileno(), 1)
            expect(more, f"{how}: it ended at once")
            line += more
        self.pid = int(line)
        self.supervisor = None
        if how == "attach":
            self.supervisor = subprocess.Popen(
                [str(word) for word in (ground.tidemark, "attach", "-f", "-o", "x.tide", *options,
                                        self.pid)],
                cwd=ground.scratch, env=ground.env, stderr=subprocess.PIPE, text=True)
            line = self.supervisor.stderr.readline()
            expect("recording process" in line, f"does not attach: {line}")

    def do(self, letters):
        for letter in letters:
            self.child.stdin.write(letter.encode())
            self.child.stdin.flush()
            ready, _, _ = select.select([self.child.stdout], [], [], 30)
            answer = os.read(self.child.stdout.fileno(), 1) if ready else b"nothing"
            expect(answer == b".", f"{self.how}: {letter} is answered with {answer!r}")

    def write(self, letters):
        self.child.stdin.write(letters.encode())
        self.child.stdin.flush()

    def ctl(self, *words, status=0):
        done = self.ground.run(self.ground.tidemark, "ctl", self.pid, *words)
        expect(done.status == status, f"{self.how}: ctl {words}: {done.status} {done.stderr}")
        return done.stdout + done.stderr

    def end(self):
        """Ends it, and gives the path of what was recorded."""
        if self.how == "attach":
            self.supervisor.send_signal(signal.SIGINT)
            status, _, err = finish(self.supervisor)
            expect(status == 0, f"attach ended with {status}: {err}")
        self.write("q")
        expect(self.child.wait(30) == 0, f"{self.how}: it ended with {self.child.returncode}")
        if self.how != "bare":
            return "x.tide"
        (store,) = self.ground.scratch.glob(f"*.{self.pid}.store")
        return store


WAYS = "run", "agent", "attach", "bare"


def numbers(report):
    """Of each function that allocates: blocks, bytes, and both of what is live."""
    found = {}
    for site in report["sites"]:
        if site["kind"] == "heap" and site["culprit"] is not None:
            row = found.setdefault(site["frames"][site["culprit"]]["function"], [0, 0, 0, 0])
            for i, key in enumerate(("allocations", "bytes", "live_blocks", "live_bytes")):
                row[i] += site[key]
    return found


def check(found, **truth):
    for name, row in truth.items():
        expect(found.get(name, [0, 0, 0, 0]) == row, f"{name}: {found.get(name)}, not {row}")


@test
def ctl_off_and_on_are_exact(ground):
    for how in WAYS:
        puppet = Puppet(ground, how)
        puppet.do("aptm")
        expect("recording is off" in puppet.ctl("off"), "off does not say so")
        puppet.do("AbptRrM")
        expect("is off" in puppet.ctl(), "its state is not told")
        expect("off already" in puppet.ctl("off"), "off twice")
        puppet.ctl("on")
        puppet.do("ctpB")
        report = ground.report(puppet.end())
        found, image = numbers(report), report["image"]
        told = report["completeness"]
        check(found, at_first=[100, 100000, 40, 40000], at_second=[0] * 4,
              at_later=[100, 100000, 100, 100000], at_pair=[200, 200000, 0, 0],
              at_thread=[200, 200000, 200, 200000], grow=[10, 30000, 10, 30000])
        expect(image["pauses"] == 1 and image["paused_ns"] > 0, f"{how}: {image}")
        expect(not report["capture"]["complete"], f"{how}: {told}")
        text = ground.run(ground.tidemark, "report", "x.tide" if how != "bare" else
                          next(ground.scratch.glob(f"*.{puppet.pid}.store"))).stdout
        expect("incomplete" in text and "recording was off for " in text, f"{how}: {text[:600]}")
        pages = [site for site in report["sites"] if site["kind"] == "pages" and
                 any(frame["function"] == "main" for frame in site["frames"])]
        expect(sum(site["live_bytes"] for site in pages) == 2 << 20, f"{how}: {pages}")


@test
def ctl_children_begin_as_the_recording_is(ground):
    puppet = Puppet(ground, "run")
    puppet.do("a")
    puppet.ctl("off")
    puppet.do("F")
    puppet.write(".")  # for the child, which ends
    puppet.do("x")
    puppet.do("b")
    puppet.ctl("on")
    puppet.do("cF")
    puppet.write(".")
    puppet.do("a")
    path = puppet.end()
    images = ground.report(path)["images"]
    expect(len(images) == 4, f"{images}")
    off, again, on = "#1", "#2", "#3"
    check(numbers(ground.report(path, "-p", off)), at_child=[0] * 4)
    check(numbers(ground.report(path, "-p", again)), at_second=[0] * 4,
          at_later=[100, 100000, 100, 100000], at_first=[100, 100000, 100, 100000])
    child = ground.report(path, "-p", on)
    check(numbers(child), at_child=[100, 100000, 50, 50000])
    expect(child["image"]["pauses"] == 0, f"a child from after the pause: {child['image']}")
    bare = Puppet(ground, "bare")
    bare.do("a")
    bare.ctl("off")
    bare.do("F")
    stores = sorted(set(ground.scratch.glob("*.store")))
    expect(len(stores) == 2, f"{stores}")
    bare.write(".")
    bare.do("b")
    bare.end()
    for store in stores:
        found = numbers(ground.report(store))
        mine = str(bare.pid) in store.name
        check(found, at_child=[0] * 4, at_first=[100, 100000, 100, 100000] if mine else [0] * 4)


@test
def ctl_start_paused(ground):
    for how in WAYS:
        puppet = Puppet(ground, how, "paused" if how == "bare" else "--start-paused")
        if how != "attach":
            puppet.do("a")
        puppet.ctl("on")
        puppet.do("bptA" if how != "attach" else "bpt")
        report = ground.report(puppet.end())
        check(numbers(report), at_first=[0] * 4, at_second=[100, 100000, 100, 100000],
              at_pair=[100, 100000, 0, 0], at_thread=[100, 100000, 100, 100000])
        expect(report["image"]["pauses"] == 1 and not report["capture"]["complete"],
               f"{how}: {report['image']}")


@test
def ctl_loses_no_live_sample(ground):
    for how in WAYS:
        every = "sample=1K,seed=5" if how == "bare" else "--sample=1KiB"
        puppet = Puppet(ground, how, every)
        puppet.do("abt")
        puppet.ctl("off")
        before = sampled_live(ground, puppet)
        puppet.do("ccpprt")
        off = sampled_live(ground, puppet)
        expect(before["at_second"] == off["at_second"] and before["at_second"] > 10000,
               f"{how}: {before} {off}")
        expect(off.get("at_later", 0) == off.get("grow", 0) == 0, f"{how}: taken while off: {off}")
        puppet.do("AB")
        puppet.ctl("on")
        puppet.do("c")
        end = sampled_live(ground, puppet)
        expect(end.get("at_second", 0) == 0, f"{how}: a sample has leaked: {end}")
        expect(0 < end["at_later"], f"{how}: nothing is drawn again: {end}")
        expect(end["at_first"] < off["at_first"], f"{how}: {off} {end}")
        puppet.end()


@test
def ctl_another_interval(ground):
    """What is live keeps its weight, and a sample has that of the draw it was met by: one that is
    met after a change by a draw from before stands for as few as before."""
    for how in WAYS:
        puppet = Puppet(ground, how, "sample=1K,seed=5" if how == "bare" else "--sample=1KiB")
        puppet.do("abt")
        before = sampled_live(ground, puppet)
        expect("1.0 MiB" in puppet.ctl("sample=1MiB"), f"{how}: it is not said")
        expect("already" in puppet.ctl("sample", "1MiB"), f"{how}: twice")
        expect("1.0 MiB" in puppet.ctl(), f"{how}: its state")
        after = sampled_live(ground, puppet)
        expect(before == after, f"{how}: {before} {after}")
        puppet.do("B")
        expect(not sampled_live(ground, puppet).get("at_second"), f"{how}: a sample has leaked")
        report = ground.report(puppet.end())
        sampled = report["exactness"]["sampled"]
        expect(sampled == {"every_bytes": 1 << 20, "changed": True, "last_bytes": 1 << 20},
               f"{how}: {sampled}")
        marks = [mark["name"] for mark in report["image"]["marks"]]
        expect(marks == ["a sample for 1.0 MiB"], f"{how}: {marks}")
        text = ground.run(ground.tidemark, "report", "x.tide").stdout if how != "bare" else ""
        expect(how == "bare" or "changed meanwhile" in " ".join(text.split()), text)
    n_met, n_seeds = 0, 12
    for seed in range(1, n_seeds + 1):
        puppet = Puppet(ground, "bare", f"sample=1K,seed={seed}")
        puppet.do("a")
        puppet.ctl("-q", "sample=1MiB")
        puppet.do("b")
        blocks = numbers(ground.report(puppet.end())).get("at_second", [0])[0]
        expect(blocks, f"seed {seed}: the draw from before met nothing")
        n_met += blocks < 10  # and of 100,000 bytes seldom one more
    expect(n_met > n_seeds / 2, f"{n_met} of {n_seeds}")


@test
def ctl_another_interval_of_children(ground):
    puppet = Puppet(ground, "run", "--sample=1KiB")
    puppet.do("a")
    puppet.ctl("sample=16KiB")
    puppet.do("F")
    puppet.write(".")
    puppet.do("x")
    puppet.do("a")
    path = puppet.end()
    told = [ground.report(path, "-p", f"#{i}")["exactness"]["sampled"] for i in range(3)]
    expect(told == [{"every_bytes": 16384, "changed": True, "last_bytes": 16384}]
           + 2 * [{"every_bytes": 16384}], f"{told}")


def sampled_live(ground, puppet):
    puppet.ctl("dump", "-f", "d.tide")
    return {name: row[3] for name, row in numbers(ground.report("d.tide")).items()}


@test
def ctl_marks_are_moments(ground):
    for how in WAYS:
        puppet = Puppet(ground, how)
        puppet.do("a")
        puppet.ctl("mark", "before")
        puppet.do("b")
        puppet.ctl("mark", "after the ☃")
        puppet.do("c")
        path = puppet.end()
        image = ground.report(path)["image"]
        expect([mark["name"] for mark in image["marks"]] == ["before", "after the ☃"], f"{image}")
        first, second = (mark["time_ns"] for mark in image["marks"])
        expect(image["start_ns"] <= first < second <= image["end_ns"], f"{how}: {image}")
        told = ground.run(ground.tidemark, "info", path).stdout
        expect("before" in told and "after the" in told, f"{how}: {told}")
        if how == "bare":  # nobody took snapshots
            continue
        between = ground.report(path, "--range", "before..after the ☃")
        grown = {site["frames"][site["culprit"]]["function"]: site["weight"]
                 for site in between["sites"] if site["weight"]}
        expect(grown == {"at_second": 100000}, f"{how}: between the two: {grown}")
    puppet = Puppet(ground, "bare")
    puppet.do("a")
    for i in range(256):
        puppet.ctl("-q", "mark", f"m{i}")
    expect("256 already" in puppet.ctl("mark", "x", status=1), "there is an end to marks")
    puppet.ctl("off")
    puppet.do("b")
    report = ground.report(puppet.end())
    expect(len(report["image"]["marks"]) == 256 and report["image"]["pauses"] == 1, "marks, pauses")
    check(numbers(report), at_second=[0] * 4)


@test
def ctl_dumps_are_whole(ground):
    for how in WAYS:
        puppet = Puppet(ground, how)
        puppet.do("atA")
        expect("wrote d.tide" in puppet.ctl("dump", "-f", "d.tide"), "a dump does not say so")
        puppet.do("b")
        expect("exists" in puppet.ctl("dump", "d.tide", status=1), "a file is overwritten")
        check(numbers(ground.report("d.tide")), at_first=[100, 100000, 50, 50000],
              at_second=[0] * 4, at_thread=[100, 100000, 100, 100000])
        check(numbers(ground.report(puppet.end())), at_first=[100, 100000, 50, 50000],
              at_second=[100, 100000, 100, 100000])
        left = sorted(path.name for path in ground.scratch.glob("*d.tide*"))
        expect(left == ["d.tide"], f"{how}: something is left: {left}")


@test
def ctl_refusals(ground):
    puppet = Puppet(ground, "run")
    sleeper = subprocess.Popen(["sleep", "100"])
    ended = subprocess.Popen(["true"])
    wait_for(lambda: "Z" in open(f"/proc/{ended.pid}/stat").read().split(")")[1][:3], "its end")
    for words, status, why in (
            ([], 2, "which process"), (["x", "on"], 2, "no process id"),
            ([puppet.pid, "of"], 2, "'of' is nothing"),
            ([puppet.pid, "on", "x"], 2, "nothing more"),
            ([puppet.pid, "sample=1MiB"], 1, "every event is recorded"),
            ([puppet.pid, "sample"], 2, "one word more"),
            ([puppet.pid, "sample=1"], 2, "1.0 KiB to 64.0 MiB"),
            ([puppet.pid, "sample=much"], 2, "much"),
            ([puppet.pid, "reset", "now"], 2, "nothing more"),
            ([puppet.pid, "mark"], 2, "one word more"),
            ([puppet.pid, "mark", "x" * 56], 2, "1 to 55 bytes"),
            ([puppet.pid, "mark", "a\nb"], 2, "control"),
            ([sleeper.pid, "off"], 1, "is not recorded"), ([ended.pid, "off"], 1, "has ended"),
            ([999999999, "off"], 1, "no process 999999999"),
            ([puppet.pid, "dump", "/nowhere/x.tide"], 1, "/nowhere/x.tide"),
            ([puppet.pid, "dump", "/dev/full"], 1, "/dev/full")):
        done = ground.run(ground.tidemark, "ctl", *words)
        expect(done.status == status and why in done.stderr,
               f"ctl {words}: {done.status} {done.stderr!r}")
    sleeper.kill()
    sleeper.wait()
    ended.wait()
    puppet.do("a")
    os.kill(puppet.child.pid, signal.SIGKILL)  # the supervisor; the program goes on
    puppet.child.wait()
    done = ground.run(ground.tidemark, "ctl", puppet.pid, "off")
    expect(done.status == 1 and "is gone" in done.stderr, f"{done.status} {done.stderr}")
    puppet.write("q")
