# SPDX-License-Identifier: Apache-2.0
"""tidemark top in a terminal of tmux: keys in, screens out.

Whatever is waited for is waited for on the screen; the programs do nothing but what they are told
through a pipe of their own, so the numbers are exact.
"""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import record
from ground import expect, finish, test, wait_for

# Holds 100 blocks of 4,000 bytes, and as many more for each line that comes through the pipe.
TOLD = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[100000];
static int n;
__attribute__((noipa)) static void *make(void) { return memset(malloc(4000), 1, 4000); }
__attribute__((noipa)) static void hold(void)
{
  for (int i = 0; i < 100; i++)
    kept[n++] = make();
}
__attribute__((noipa)) static void use(void) { free(memset(malloc(64), 1, 64)); }
int main(int argc, char **argv)
{
  char c;
  int fd = open(argv[argc - 1], O_RDONLY);
  hold();
  for (int i = 0; i < 50; i++)
    use();
  puts("said by the command");
  fflush(stdout);
  while (read(fd, &c, 1) == 1)
    hold();
  return 3;
}
"""
HUNDRED = "390.6 KiB"  # 100 times 4,000
TWO_HUNDRED = "781.2 KiB"


class Told:
    """The program, and the pipe that it listens to."""

    def __init__(self, ground, pipe="orders"):
        self.program = ground.build("told", TOLD)
        self.path = ground.scratch / pipe
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDWR)

    def start(self):
        """Without us, until it has begun."""
        child = subprocess.Popen([self.program, self.path], cwd=self.path.parent,
                                 stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        return child

    def hold_more(self):
        os.write(self.fd, b"x")

    def end(self):
        """The program reads the end of the pipe once nobody else has it."""
        os.close(self.fd)
        self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.fd >= 0:
            os.close(self.fd)


class Pane:
    """A terminal with a command in it."""
    numbers = itertools.count()

    def __init__(self, ground, *words, size=(80, 24), env=()):
        if not shutil.which("tmux"):
            raise record.Skip("no tmux here")
        # One of its own: the server of the last may not have gone yet.
        self.socket = ground.scratch / f"tmux{next(Pane.numbers)}"
        environment = {**ground.env, "LC_ALL": "C.UTF-8", **dict(env)}
        environment.pop("TMUX", None)
        line = " ".join(f"'{word}'" for word in words)
        terminal = environment.pop("TERM_INSIDE", "screen")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", size[0], "-y", size[1],
                  f"TERM={terminal} {line}; echo ended with $?; exec sleep 1000",
                  cwd=ground.scratch, env=environment)

    def tmux(self, *words, **options):
        return subprocess.run(["tmux", "-S", self.socket, *map(str, words)], capture_output=True,
                              text=True, check=True, timeout=60, **options).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def screen(self, *options):
        """Lines that the terminal has wrapped are whole."""
        return self.tmux("capture-pane", "-p", "-J", *options)

    def shows(self, *texts, without=()):
        """Waits until all of the texts are on the screen, and none of the others."""
        end, seen = time.monotonic() + 90, ""
        while True:
            seen = self.screen()
            if all(re.search(t, seen) for t in texts) and not any(
                    re.search(t, seen) for t in without):
                return seen
            expect(time.monotonic() < end, f"no {texts}, or {without}, in:\n{seen}")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


def held_by(ground, tide):
    """Bytes that `hold` and `make` have by the report of a capture."""
    done = ground.run(ground.tidemark, "report", "--json", "--sort", "live", "--group", "place",
                      tide)
    expect(done.status == 0, done.stderr)
    return json.loads(done.stdout)["groups"][0]["live_bytes"]


def is_dump(ground, tide):
    """It says so, and of no file that was left unfinished."""
    done = ground.run(ground.tidemark, "report", tide)
    expect("this is a dump of a run that went on" in done.stdout
           and "not ended properly" not in done.stdout, done.stdout)


def is_free(pid):
    """Is nothing of ours in the process, and nobody traces it?"""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        text = maps.read()
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        tracer = re.search(r"^TracerPid:\s+(\d+)", status.read(), re.M)[1]
    return not re.search("libtidemark|memfd:tidemark", text) and tracer == "0"


@test
def top_runs_a_command(ground):
    with Told(ground) as told, Pane(ground, ground.tidemark, "top", "--", told.program,
                                    told.path) as pane:
        pane.shows(r"told \(process \d+\) · run", r"live 39\d\.\d KiB in 101 blocks", "RSS",
                   HUNDRED + r" .*100 +make", "█ live", "q quit .* d dump")
        expect("said by" not in pane.screen(), pane.screen())
        # Its tree, and back.
        pane.keys("Enter")
        pane.shows("callers below", r"make .*\n.* hold .*\n.* main", without=["live blocks"])
        pane.keys("Escape")
        pane.shows("live blocks")
        # Other measures: `use` holds nothing, and was called.
        pane.keys("s", "t")
        pane.shows("allocated", r"3\.1 KiB .* use ")
        pane.keys("s", "l")
        pane.shows(r" live +share", without=[" use "])
        # A filter of stacks.
        pane.keys("/")
        pane.keys("mai", "n", "Enter")
        pane.shows("of stacks with /main/")
        pane.keys("/", "BSpace", "BSpace", "BSpace", "BSpace", "Enter")
        pane.shows("where", without=["of stacks"])
        # A mark, and what came since.
        pane.keys("m")
        pane.shows("mark 1: in the graph", "since mark")
        told.hold_more()
        pane.shows(TWO_HUNDRED, r"\+" + HUNDRED)
        # A pause: the program goes on, the screen does not.
        pane.keys("p")
        pane.shows("paused")
        told.hold_more()
        time.sleep(1.5)
        pane.shows("paused", TWO_HUNDRED, without=["1.1 MiB"])
        pane.keys("p")
        pane.shows(r"1\.1 MiB .* make", without=["paused"])
        # A dump says the same.
        pane.keys("d")
        seen = pane.shows(r"wrote tidemark\.told\.\d+\.top-1\.after-mark-1\.tide")
        dump = re.search(r"wrote (\S+)", seen)[1]
        expect(held_by(ground, dump) == 300 * 4000, f"{dump}: {held_by(ground, dump)}")
        is_dump(ground, dump)
        # Left, it goes on, and is recorded to its end.
        pane.keys("q")
        pane.shows("w wait for it, e end it")
        pane.keys("w")
        pane.shows("goes on, and is recorded to its end")
        told.hold_more()
        told.end()
        seen = pane.shows("ended with 0", r"exited 3", r"saved tidemark\.told\.\d+\.tide")
        said = re.search(r"what the command printed is in (tidemark\.told\.\d+\.out)", seen)[1]
        expect((ground.scratch / said).read_text() == "said by the command\n", said)
        tide = re.search(r"saved (\S+)", seen)[1]
        expect(held_by(ground, tide) == 400 * 4000, f"{tide}: {held_by(ground, tide)}")


@test
def top_shows_the_end_of_a_command(ground):
    with Told(ground) as told, Pane(ground, ground.tidemark, "top", "--", told.program,
                                    told.path) as pane:
        pid = re.search(r"process (\d+)", pane.shows(HUNDRED))[1]
        done = ground.run(ground.tidemark, "ctl", pid, "reset")
        expect(done.status == 0, done.stderr)
        told.hold_more()
        pane.shows("since a reset at ", TWO_HUNDRED)
        pane.keys("s", "t")
        pane.shows(r"allocated +share", HUNDRED + r" .*make", without=[TWO_HUNDRED + r" .*make"])
        pane.keys("s", "l")
        told.end()
        pane.shows("exited 3", "ended", TWO_HUNDRED)
        pane.keys("q")
        pane.shows("ended with 0", "exited 3 after|exited 3 in")
    with Told(ground_again(ground)) as told, Pane(ground, ground.tidemark, "top", "--",
                                                  told.program, told.path) as pane:
        pane.shows(HUNDRED)
        pane.keys("C-c")
        pane.shows("w wait for it, e end it")
        pane.keys("e")
        pane.shows("ended with 0", "killed by SIGTERM")


def ground_again(ground):
    (ground.scratch / "orders").unlink()
    return ground


@test
def top_fits_every_terminal(ground):
    with Told(ground) as told, Pane(ground, ground.tidemark, "top", "--", told.program, told.path,
                                    size=(40, 12), env={"NO_COLOR": "1"}) as pane:
        pane.shows(r"told \(process \d+\)", HUNDRED, "make", r"q quit  \? help")
        pane.keys("q")
        pane.shows("w wait, e end it")
        pane.resize(200, 60)  # which is no answer
        seen = pane.shows("w wait for it, e end it", "bytes/blocks", r"command_top|<stdin>")
        expect(len(seen.splitlines()) == 60, seen)
        pane.keys("x")
        pane.resize(20, 5)
        pane.shows("live")
        pane.resize(10, 3)
        pane.shows("too small")
        pane.resize(80, 24)
        pane.shows(HUNDRED, "d dump")
        expect(not re.search("\x1b\\[[0-9;]*3[0-7]", pane.screen("-e")), pane.screen("-e"))
        pane.keys("q", "e")
        pane.shows("ended with 0")
    with Told(ground_again(ground)) as told, Pane(ground, ground.tidemark, "top", "--",
                                                  told.program, told.path) as pane:
        pane.shows(HUNDRED)
        expect(re.search("\x1b\\[[0-9;]*36", pane.screen("-e")), "no colour")
        pane.keys("?")
        pane.shows("What the command prints goes to tidemark.told", "Ctrl-C +quit")
        pane.keys("x", "q", "e")
        pane.shows("ended with 0")
    with Told(ground_again(ground)) as told, Pane(ground, ground.tidemark, "top", "--",
                                                  told.program, told.path,
                                                  env={"LC_ALL": "C"}) as pane:
        seen = pane.shows(HUNDRED, "# live")
        expect(seen.isascii(), seen)
        pane.keys("q", "e")
        pane.shows("ended with 0")


@test
def top_attaches_and_lets_go(ground):
    with Told(ground) as told:
        child = told.start()
        with Pane(ground, ground.tidemark, "top", child.pid) as pane:
            pane.shows("attached")
            told.hold_more()
            pane.shows(HUNDRED + r" .*100 +make")
            pane.keys("q")
            pane.shows("ended with 0", "then let go", r"saved tidemark\.told\.\d+\.tide")
        wait_for(lambda: is_free(child.pid), "the process to be free")
        # The same when the terminal goes.
        with Pane(ground, ground.tidemark, "top", "-f", child.pid) as pane:
            pane.shows("attached")
            told.hold_more()
            pane.shows(HUNDRED + r" .*100 +make")
        wait_for(lambda: is_free(child.pid), "the process to be free")
        told.hold_more()
        told.end()
        expect(child.wait(timeout=30) == 3, f"ended with {child.returncode}")


@test
def top_samples(ground):
    """By the words of run and attach; what is an estimate is shown as one."""
    estimate = r"live ≈ \d+\.\d KiB ± \d+\.\d KiB · one sample for 1\.0 KiB"
    words = ("top", "--sample=1KiB", "-o")
    with Told(ground) as told:
        with Pane(ground, ground.tidemark, *words, "run.tide", "--", told.program,
                  told.path) as pane:
            pane.shows(estimate, r"≈ \d+\.\d KiB ± \d+\.\d KiB  ≈ \d+\.\d % +make")
            told.end()
            pane.shows("ended")
            pane.keys("q")
            pane.shows("standard error", "ended with 0")
    with Told(ground, "more_orders") as told:
        child = told.start()
        with Pane(ground, ground.tidemark, *words, "attached.tide", child.pid) as pane:
            pane.shows("attached")
            told.hold_more()
            pane.shows(estimate)
            pane.keys("m")
            pane.shows("mark 1")
            told.hold_more()
            gained = r"\+≈ \d+\.\d KiB"
            pane.shows(rf" ≈ \d+\.\d % +{gained} +make")
            pane.resize(160, 24)  # there is room for all errors
            pane.shows(rf" ≈ \d+\.\d % +≈ \d+ ± \d+ +{gained} ± \d+\.\d KiB +make")
            pane.keys("q")
            pane.shows("ended with 0")
        told.end()
        expect(child.wait(timeout=30) == 3, f"ended with {child.returncode}")
    for tide in "run.tide", "attached.tide":
        done = ground.run(ground.tidemark, "report", "--json", tide)
        sampled = json.loads(done.stdout)["exactness"]["sampled"]
        expect(sampled == {"every_bytes": 1024}, f"{tide}: {sampled}")


@test
def top_of_a_recorded_process(ground):
    with Told(ground) as told:
        child = ground.start("-q", "-o", "run.tide", "--", told.program, told.path)
        pid = []

        def begun():
            with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="ascii") as children:
                pid[:] = [p for p in children.read().split()
                          if os.path.realpath(f"/proc/{p}/exe") == str(told.program.resolve())]
            return pid
        wait_for(begun, "the command")
        done = ground.run(ground.tidemark, "top", "--sample", pid[0])
        expect(done.status == 2 and f"'tidemark ctl {pid[0]} sample=SIZE'" in done.stderr,
               f"{done.status}: {done.stderr}")
        with Pane(ground, ground.tidemark, "top", pid[0]) as pane:
            pane.shows("recorded by another", HUNDRED + r" .*100 +make", "RSS")
            told.hold_more()
            pane.shows(TWO_HUNDRED)
            pane.keys("d")
            dump = re.search(r"wrote (\S+)", pane.shows(r"wrote \S+\.top-1\.tide"))[1]
            expect(held_by(ground, dump) == 200 * 4000, dump)
            is_dump(ground, dump)
            done = ground.run(ground.tidemark, "ctl", pid[0], "mark", "warm")
            expect(done.status == 0, done.stderr)
            pane.shows("warm▾|▾warm")
            told.end()
            pane.shows("ended")
            pane.keys("q")
            pane.shows("ended with 0")
        status, _, err = finish(child)
        expect(status == 3, f"{status}: {err}")
        expect(held_by(ground, "run.tide") == 200 * 4000, "the recording was disturbed")
    with Pane(ground, ground.tidemark, "top", "run.tide") as pane:
        pane.shows("a finished capture", "at the peak", TWO_HUNDRED)
        pane.keys("p")
        pane.shows("nothing moves here")
        pane.keys("d")
        pane.shows("it is in its file already")
        pane.keys("q")
        pane.shows("ended with 0")


@test
def top_follows_a_file(ground):
    with Told(ground) as told:
        child = ground.start("-q", "-o", "run.tide", "--", told.program, told.path)
        tide = ground.scratch / "run.tide"
        wait_for(lambda: tide.exists() and tide.stat().st_size, "the first checkpoint", 60)
        with Pane(ground, ground.tidemark, "top", "run.tide") as pane:
            pane.shows("a file as it is written", HUNDRED)
            told.hold_more()
            told.end()
            pane.shows("ended", TWO_HUNDRED)
            pane.keys("q")
            pane.shows("ended with 0")
        expect(finish(child)[0] == 3, "the command was disturbed")


@test
def top_refuses(ground):
    prog = ground.program("return 0;")
    done = subprocess.run([ground.tidemark, "top", "--", prog], cwd=ground.scratch, env=ground.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          start_new_session=True, check=False)
    expect(done.returncode == 125 and "top needs a terminal" in done.stderr, done.stderr)
    for words, said in (((), "top of what"), (("1", "2"), "one at a time: \"2\""),
                        (("--sample", "run.tide"), "a file was recorded as it is"),
                        (("--sample=1", "--", prog), "--sample takes 1.0 KiB to 64.0 MiB"),
                        (("nowhere.tide",), "cannot open nowhere.tide|top needs a terminal")):
        done = ground.run(ground.tidemark, "top", *words)
        expect(done.status in (1, 2) and re.search(said, done.stderr), done.stderr)
    for terminal in ("dumb", "nobody-knows-it"):
        with Pane(ground, ground.tidemark, "top", "--", prog,
                  env={"TERM_INSIDE": terminal}) as pane:
            pane.shows("ended with 125", "cannot be drawn on")
    with Pane(ground, ground.tidemark, "top", "--", "/nonexistent/program") as pane:
        pane.shows("ended with 127", "cannot run /nonexistent/program")
    # ncurses is loaded for this alone, and said to be missing.
    needed = subprocess.run(["readelf", "-d", ground.tidemark], capture_output=True, text=True,
                            check=True).stdout
    expect("libc.so.6" in needed and "curses" not in needed, needed)
    (ground.scratch / "broken").mkdir()
    (ground.scratch / "broken/libncursesw.so.6").write_bytes(b"")
    with Pane(ground, ground.tidemark, "top", "--", prog,
              env={"LD_LIBRARY_PATH": ground.scratch / "broken"}) as pane:
        pane.shows("ended with 125", "install libncursesw6")
    left = sorted(path.name for path in ground.scratch.glob("tidemark.*"))
    expect(not left, f"left behind: {left}")


@test
def top_gives_the_terminal_back(ground):
    """Also when it is told to end by a signal."""
    with Told(ground) as told:
        child = told.start()
        with Pane(ground, ground.tidemark, "top", child.pid) as pane:
            pane.shows("attached")
            shell = pane.tmux("display", "-p", "#{pane_pid}").strip()
            with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
                os.kill(int(children.read().split()[0]), signal.SIGTERM)
            pane.shows("then let go|nothing was recorded", "ended with", without=["q quit"])
            pane.keys("e", "c", "h", "o")  # would be seen if the terminal echoed
        wait_for(lambda: is_free(child.pid), "the process to be free")
        told.end()
        child.wait(timeout=30)
