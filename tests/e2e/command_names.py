# SPDX-License-Identifier: Apache-2.0
"""Names from elsewhere than the program's own file."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
import zlib

import record
import report_json
import servers
from command_attach import Target, attach, let_go
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


def served(ground, url, **more):
    """The environment of somebody who has that server configured, and nothing downloaded yet."""
    cache = ground.scratch / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    return dict(ground.env, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=str(cache), **more)


def text(ground, env, *options):
    done = ground.run(ground.tidemark, "report", *options, "x.tide", env=env)
    expect(done.status == 0 and not done.stderr, f"{done.status}: {done.stderr!r}")
    return done.stdout


@test
def names_from_a_server(ground):
    tide = stripped(ground)
    prog = ground.scratch / "prog"
    with servers.debuginfod(ground.scratch / "debug", servers.build_id(prog)) as url:
        env = served(ground, url)
        expect("hold" not in text(ground, env, "--no-debuginfod"), "downloaded though told not to")
        info = ground.run(ground.tidemark, "info", tide, env=env).stdout
        expect("names and lines" not in info.split("modules")[1].split("\n")[0], "info downloads")
        done = ground.record("-o", "y.tide", "--", prog, env=env)
        expect("hold" not in done.stderr, "run downloads")
        shown = text(ground, env)
        expect("hold" in shown and "note:" not in shown, f"no names:\n{shown}")
        done = ground.run(ground.tidemark, "export", "--to", "dhat", tide, env=env)
        expect("hold" in done.stdout, "export does not download")
        prog.unlink()
        expect("hold" in text(ground, served(ground, url)), "no names once the program is gone")
    expect("hold" in text(ground, dict(env)), "nothing is kept of what was downloaded")


@test
def names_that_no_server_has(ground):
    stripped(ground)
    with servers.stand_in(lambda handler: handler.send_error(404)) as (url, asked):
        shown = text(ground, served(ground, url))
        expect(asked and "compile with -g" in shown, f"{asked}:\n{shown}")
    shown = text(ground, served(ground, url))
    expect("debuginfod: " in shown, f"no word of a server that is gone:\n{shown}")


@test
def names_of_another_program(ground):
    stripped(ground)
    ground.program("  return 1;", "other")
    for body in ((ground.scratch / "other").read_bytes(), b"", b"\177ELF", os.urandom(5000)):
        with servers.stand_in(lambda handler: servers.send(handler, body)) as (url, asked):
            shown = text(ground, served(ground, url))
            expect(asked and "hold" not in shown, f"took another file:\n{shown}")


@test
def names_from_a_silent_server(ground):
    stripped(ground)
    silence, ended = threading.Event(), []

    def answer(_):
        ended.append(silence.wait(60))

    with servers.stand_in(answer) as (url, _):
        shown = text(ground, served(ground, url, DEBUGINFOD_TIMEOUT="1"))
        expect(not ended, "waits for a server that does not answer")
        silence.set()
        expect("does not answer" in shown, f"no word of it:\n{shown}")


def answer_head(handler, **headers):
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def stream(handler, n_bytes):
    """So many bytes, as long as somebody takes them; gives how many they were."""
    sent = 0
    with contextlib.suppress(OSError):
        while sent < n_bytes:
            sent += handler.wfile.write(bytes(1 << 16))
    return sent


MAX_BYTES = 1 << 20


def too_large(handler, kind, sent):
    """An answer beyond the limit, honest or not."""
    if kind == "honest":
        answer_head(handler, Content_Length=str(256 << 20))
    elif kind == "modest":  # says less than it has: what is beyond is not read
        answer_head(handler, Content_Length="5000")
    elif kind == "packed":
        answer_head(handler, Content_Encoding="gzip")
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for _ in range(64):
            handler.wfile.write(packer.compress(bytes(1 << 20)))
        handler.wfile.write(packer.flush())
        return
    else:
        answer_head(handler)
    sent.append(stream(handler, 256 << 20))


@test
def names_in_too_large_an_answer(ground):
    stripped(ground)
    for kind in ("honest", "endless", "modest", "packed"):
        sent = []
        with servers.stand_in(lambda handler: too_large(handler, kind, sent)) as (url, asked):
            env = served(ground, url, DEBUGINFOD_MAXSIZE=str(MAX_BYTES))
            shown = text(ground, env)
        expect(asked and "hold" not in shown, f"{kind}: {asked}")
        if kind != "modest":
            said = " ".join(shown.split())
            expect("larger than 1.0 MiB, which DEBUGINFOD_MAXSIZE can change" in said, said)
        cache = pathlib.Path(env["DEBUGINFOD_CACHE_PATH"])
        left = [path for path in cache.rglob("*") if path.is_file()]
        expect(all(path.stat().st_size <= 5000 for path in left), f"{kind}: {left}")
        expect(all(n < 64 << 20 for n in sent), f"{kind}: took {sent}")
    with servers.stand_in(lambda handler: answer_head(handler, Content_Length="50000")) as (url, _):
        shown = text(ground, served(ground, url))
        expect("hold" not in shown and "no debug info" in shown, f"no answer at all:\n{shown}")
    (ground.scratch / "prog").unlink()
    with servers.stand_in(lambda handler: too_large(handler, "honest", [])) as (url, asked):
        text(ground, served(ground, url, DEBUGINFOD_MAXSIZE=str(MAX_BYTES)))
    expect(len(set(asked)) > 1, f"one answer was refused, and then nothing was asked for: {asked}")


@test
def names_from_a_dripping_server(ground):
    stripped(ground)

    def drip(handler):
        answer_head(handler, Content_Length="100000")
        with contextlib.suppress(OSError):
            for _ in range(1000):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.05)

    for limit, word in (("DEBUGINFOD_TIMEOUT", "too slow"), ("DEBUGINFOD_MAXTIME", "too long")):
        with servers.stand_in(drip) as (url, _):
            shown = text(ground, served(ground, url, **{limit: "1"}))
            expect(f"{word} ({limit})" in " ".join(shown.split()), f"{limit}:\n{shown}")


def on_terminal(ground, env, act):
    """Runs a report with a terminal as its standard error; returns its text and what it showed."""
    parent, child = pty.openpty()
    report = subprocess.Popen([ground.tidemark, "report", "x.tide"], cwd=ground.scratch, env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=child,
                              text=True, start_new_session=True)
    os.close(child)
    act(report)
    out = report.communicate(timeout=30)[0]
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # how a terminal ends
        pass
    os.close(parent)
    return report.returncode, out, seen.decode()


@test
def names_with_progress(ground):
    stripped(ground)
    body = (ground.scratch / "debug" / "prog.debug").read_bytes()
    slowly = {"chunk": len(body) // 15 + 1, "pause": 0.1}
    with servers.stand_in(lambda handler: servers.send(handler, body, **slowly)) as (url, _):
        status, out, seen = on_terminal(ground, served(ground, url), lambda report: None)
        expect(status == 0 and "hold" in out, f"{status}:\n{out}")
        expect("debug info of prog" in seen and "KiB" in seen, f"no progress: {seen!r}")
        expect(seen.endswith("\r\x1b[K"), f"the line stays: {seen!r}")
        expect(text(ground, served(ground, url)), "progress where there is no terminal")


# Stands between tidemark and libdw: whoever reads debug info waits until there is a file "go".
WAITING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
void *dwarf_begin_elf(void *elf, int command, void *section)
{
  void *(*real)(void *, int, void *) = (void *(*)(void *, int, void *))dlsym(RTLD_NEXT, __func__);
  while (access("go", F_OK) != 0)
    usleep(10000);
  return real(elf, command, section);
}
"""


def read_until(terminal, wanted):
    seen = b""
    try:
        while wanted not in seen:
            seen += os.read(terminal, 65536)
    except OSError:  # how a terminal ends
        pass
    return seen


@test
def names_that_take_long(ground):
    """The line comes while names are looked up, tells where, and is gone when they are there."""
    ground.program("  return 0;")
    ground.record("-q", "-f", "-o", "x.tide", "--", ground.scratch / "prog")
    library = ground.build("waiting.so", WAITING, "-shared", "-fPIC", "-ldl")
    env = dict(ground.env, TERM="xterm", TIDEMARK_CACHE="off", LD_PRELOAD=str(library))
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 35, 0, 0))
    report = subprocess.Popen([ground.tidemark, "report", "x.tide"], cwd=ground.scratch, env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=child,
                              text=True, start_new_session=True)
    os.close(child)
    seen = read_until(parent, b"\x1b[K")
    expect(report.poll() is None, f"it did not wait: {seen!r}")
    (ground.scratch / "go").touch()
    out = report.communicate(timeout=60)[0]
    seen += read_until(parent, b"all of it, to the end")
    os.close(parent)
    expect(report.returncode == 0 and "hold" in out, f"{report.returncode}:\n{out}")
    first = re.match(r"\r(tidemark: looking up names in [^\r]*)\x1b\[K", seen.decode())
    expect(first and len(first[1]) <= 34, f"{seen!r}")  # no more than there is room for
    expect(seen.endswith(b"\r\x1b[K"), f"the line stays: {seen!r}")


@test
def names_given_up(ground):
    """Ctrl-C ends the download; the report comes without."""
    stripped(ground)
    asked_for, given_up, ended = threading.Event(), threading.Event(), []

    def answer(_):
        asked_for.set()
        ended.append(given_up.wait(60))

    def interrupt(report):
        expect(asked_for.wait(30), "nobody asks the server")
        time.sleep(0.3)
        report.send_signal(signal.SIGINT)

    with servers.stand_in(answer) as (url, _):
        status, out, _ = on_terminal(ground, served(ground, url), interrupt)
        expect(not ended, "does not stop")
        given_up.set()
        expect(status == 0 and "the download was stopped" in out, f"{status}:\n{out}")


@test
def names_of_made_code(ground):
    """JavaScript functions: from the map while it is there, and kept by run for when it is not."""
    if not shutil.which("node"):
        raise record.Skip("no node here")
    script = ground.scratch / "script.js"
    script.write_text("""'use strict';
const kept = [];
function fillBuffer(n) { kept.push(Buffer.allocUnsafeSlow(n)); }
function fillMany(n) { for (let i = 0; i < n; i++) fillBuffer(5000); }
for (let round = 0; round < 20; round++) fillMany(100);
""")
    node = ("node", "--perf-basic-prof", "--interpreted-frames-native-stack", script)
    done = ground.record("-q", "-o", "x.tide", "--", *node)
    expect(done.status == 0, f"{done.status}: {done.stderr}")
    ground.run(*node, env=dict(ground.env, LD_PRELOAD=ground.library))
    stores = sorted(ground.scratch.glob("tidemark.node.*.store"))
    expect(len(stores) == 1, f"{stores}")
    maps = []
    for path in ("x.tide", stores[0]):
        pid = ground.report(path)["image"]["pid"]
        maps.append(pathlib.Path(f"/tmp/perf-{pid}.map"))
    try:
        lines = {}
        for site in ground.report(stores[0])["sites"]:
            for frame in site["frames"]:
                if frame["file"] == str(script):
                    lines[frame["function"]] = frame["line"]
        expect(lines.get("fillMany") == 4 and lines.get("(anonymous)") == 1, f"{lines}")
    finally:
        for path in maps:
            path.unlink()
    expect("fillMany" in functions(ground.report("x.tide")), "run kept no names")
    expect("fillMany" not in functions(ground.report(stores[0])), "names from nowhere")


def newer_python():
    """One that writes a map for perf (3.12 and later), by a path that starts it without a shim."""
    ask = "import sys; print(sys.executable if sys.version_info >= (3, 12) else '')"
    built = sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    for name in ["python3", *(f"python3.{n}" for n in range(12, 20)), *built]:
        if shutil.which(name):
            told = subprocess.run([name, "-c", ask], capture_output=True, text=True)
            if told.stdout.strip():
                return told.stdout.strip()
    return None


PYTHON = """
import sys
kept = []
class Store:
    def fill(self, n):
        kept.append(bytearray(n))
def each(store, n):
    for _ in range(n):
        store.fill(50_000)
def load():
    each(Store(), 200)
print("ready", flush=True)
while sys.stdin.read(1):
    load()
    print("ok", flush=True)
"""
NOT_WHOLE = "broken_stacks", "guessed_stacks"  # which only our own captures tell of
PYTHON_CALLS = ["<module>", "load", "each", "Store.fill"]


def expect_python_calls(ground, script, capture):
    """Every function of the script, in order and with its file, on the way to what it keeps."""
    report = ground.report(capture)
    sites = [site for site in report["sites"] if site["bytes"] >= 10_000_000]
    expect(len(sites) == 1, f"{sites}")
    calls = [frame["function"] for frame in sites[0]["frames"] if frame["file"] == str(script)]
    expect(calls == PYTHON_CALLS[::-1], f"{calls}")
    for n in (n for key, n in report["completeness"].items() if key in NOT_WHOLE):
        expect(n == 0, f"{report['completeness']}")


@test
def names_of_python_functions(ground):
    """Who called the interpreter's C: by the map that CPython writes where it is told to. Its
    trampolines have no unwind information, and no stack may end with one. Debian 12 has no Python
    that does, so CI goes without where none was installed by hand."""
    python = newer_python()
    if not python:
        raise record.Excused("no Python from 3.12 on here, and none in Debian 12")
    script = ground.scratch / "script.py"
    script.write_text(PYTHON)
    done = ground.record("-q", "-o", "x.tide", "--", python, script, stdin="x",
                         env=dict(ground.env, PYTHONPERFSUPPORT="1"))
    expect(done.status == 0, f"{done.status}: {done.stderr}")
    pathlib.Path(f"/tmp/perf-{ground.report('x.tide')['image']['pid']}.map").unlink()
    expect_python_calls(ground, script, "x.tide")
    printed = ground.run(ground.tidemark, "report", "x.tide").stdout
    expect(re.search(r"9\.5 MiB .* Store\.fill ", printed), printed)
    ground.run(ground.tidemark, "export", "--to", "folded", "-o", "x.folded", "x.tide")
    folded = [line for line in (ground.scratch / "x.folded").read_text().splitlines()
              if re.fullmatch(r".*;<module>;.*;load;.*;each;.*;Store\.fill;.* 100\d{5}", line)]
    expect(len(folded) == 1, f"{folded}")
    ground.run(ground.tidemark, "export", "--to", "pprof", "-o", "x.pb", "x.tide")
    expect_python_calls(ground, script, "x.pb")
    target = Target(ground, python, "-X", "perf", script)
    child, _ = attach(ground, target.pid)
    target.tell("x")
    let_go(child)
    expect(target.end("") == 0, "it ended otherwise")
    pathlib.Path(f"/tmp/perf-{target.pid}.map").unlink()
    expect_python_calls(ground, script, "x.tide")


@test
def names_in_parts_from_a_server(ground):
    """Debug info that dwz split between programs: the server has both parts."""
    if not shutil.which("dwz"):
        raise record.Skip("no dwz here")
    source = """
#include <stdlib.h>
static void *kept[100];
static inline __attribute__((always_inline)) void keep(int i) { kept[i] = malloc(50); }
__attribute__((noipa)) void hold(int i) { keep(i); }
int main(void) { for (int i = 0; i < 100; i++) hold(i); return %d; }
"""
    progs = [ground.build(name, source % status) for name, status in (("a", 0), ("b", 0), ("c", 1))]
    (ground.scratch / "debug").mkdir()
    done = ground.run("dwz", "-m", "debug/common.debug", *progs)
    expect(done.status == 0, f"dwz: {done.stderr}")
    parts = [servers.build_id(path) for path in (progs[0], ground.scratch / "debug/common.debug")]
    ground.run("objcopy", "--only-keep-debug", "a", "debug/a.debug")
    ground.run("strip", "a")
    ground.record("-q", "-o", "x.tide", "--", "./a")
    with servers.debuginfod(ground.scratch / "debug", *parts) as url:
        shown = ground.run(ground.tidemark, "report", "--json", "x.tide", env=served(ground, url))
        found = functions(report_json.loads(shown.stdout))
        expect({"keep", "hold"} <= found, f"{shown.stdout[:2000]}")
        fetched = list((ground.scratch / "cache").glob("*/debuginfo"))
        expect(len(fetched) == 2, f"the parts are not two: {fetched}")
