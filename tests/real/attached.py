# SPDX-License-Identifier: Apache-2.0
"""Real programs that run already: recorded from attach to detach, whatever their allocator, and
none the worse for it."""
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import crates
import golang
import record

TESTS = {}
CYCLES = int(os.environ.get("TIDE_ATTACH_CYCLES", "100"))  # of redis


def test(name):
    def mark(function):
        TESTS[name] = function
        return function
    return mark


def expect(condition, why):
    if not condition:
        raise record.Failure(why)


class Service:
    """A program that does something for each word on its stdin, and says so."""

    def __init__(self, stage, *command):
        self.child = subprocess.Popen([str(word) for word in command], cwd=stage.scratch,
                                      env=stage.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, bufsize=1)
        expect(self.child.stdout.readline() == "ready\n", f"{command[0]} does not start")

    def tell(self, word):
        self.child.stdin.write(word)
        self.child.stdin.flush()
        expect(self.child.stdout.readline() == "ok\n", f"it did not survive {word!r}")

    def end(self):
        self.child.stdin.close()
        return self.child.wait(timeout=60)


def attach(stage, pid, tide=None):
    child = subprocess.Popen([str(stage.tidemark), "attach", "-f", "-o", str(tide or stage.tide),
                              str(pid)],
                             cwd=stage.scratch, env=stage.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    line = child.stderr.readline()
    if "recording process" not in line:
        raise record.Failure(f"does not attach: {line}{child.stderr.read()}")
    return child, line


def let_go(child):
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    expect(child.returncode == 0, f"status {child.returncode}: {err}")
    return err


def report(stage, *words, tide=None):
    done = record.run([stage.tidemark, "report", "--json", *words, tide or stage.tide],
                      env=stage.env)
    expect(done.status == 0, done.stderr)
    return json.loads(done.stdout)


def check_service(stage, program, allocator):
    """Both parts that were asked for meanwhile, and nothing of those before and after."""
    service = Service(stage, program)
    service.tell("p")
    child, said = attach(stage, service.child.pid)
    expect(allocator in said, f"no {allocator} in: {said}")
    service.tell("p")
    service.tell("p")
    let_go(child)
    service.tell("p")
    totals = report(stage)["totals"]
    expect(totals["allocations"] == 3000, f"{totals['allocations']} allocations")
    expect(totals["live_bytes"] == 1000000, f"{totals['live_bytes']} bytes live in the end")
    expect(service.end() == 0, "it ended otherwise")
    functions = {group["function"] for group in report(stage, "--group", "function")["groups"]}
    expect(any("keep" in (name or "") for name in functions), f"keep is not among {functions}")


def build_services():
    try:
        return crates.build_crate("tests/real/allocators", crates.ROOT / "build").parent
    except crates.Missing as why:
        raise record.Skip(str(why)) from None
    except crates.Broken as why:
        raise record.Failure(str(why)) from None


@test("attached_rust_jemalloc")
def rust_jemalloc(stage):
    check_service(stage, build_services() / "with-jemalloc", "jemalloc")


@test("attached_rust_mimalloc")
def rust_mimalloc(stage):
    check_service(stage, build_services() / "with-mimalloc", "mimalloc")


@test("attached_rust_snmalloc")
def rust_snmalloc(stage):
    check_service(stage, build_services() / "with-snmalloc", "snmalloc")


@test("attached_cpython")
def cpython(stage):
    program = """
import sys
kept = []
print("ready", flush=True)
while sys.stdin.read(1) == "p":
    kept += [bytes(10000 + i) for i in range(2000)]
    print("ok", flush=True)
"""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        raise record.Skip(f"no {python} here")
    stage.env["PYTHONMALLOC"] = "malloc"
    service = Service(stage, python, "-S", "-c", program)
    service.tell("p")
    child, _ = attach(stage, service.child.pid)
    service.tell("p")
    let_go(child)
    service.tell("p")
    expect(service.end() == 0, "it ended otherwise")
    # An object of n bytes is n + 33, and there are one of each size.
    totals = report(stage)["totals"]
    wanted = sum(10033 + i for i in range(2000))
    expect(wanted <= totals["live_bytes"] < wanted + 200000,
           f"{totals['live_bytes']} bytes live, not {wanted} and a little")
    expect(2000 <= totals["allocations"] < 20000, f"{totals['allocations']} allocations")


@test("attached_cgo")
def cgo(stage):
    """Goroutines that allocate in C. The threads that Go makes for it may allocate a little."""
    service = Service(stage, golang.build(stage, "cgo_service"))
    service.tell("p")
    child, _ = attach(stage, service.child.pid)
    service.tell("p")
    service.tell("p")
    let_go(child)
    service.tell("p")
    expect(service.end() == 0, "it ended otherwise")
    totals = report(stage)["totals"]
    expect(16000 <= totals["allocations"] < 16100, f"{totals['allocations']} allocations")
    expect(800000 <= totals["live_bytes"] < 810000, f"{totals['live_bytes']} bytes live")


@contextlib.contextmanager
def redis(stage):
    for name in ("redis-server", "redis-benchmark", "redis-cli"):
        if not shutil.which(name):
            raise record.Skip(f"no {name} here")
    path = str(stage.scratch / "redis.sock")
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                               "--daemonize", "no"], cwd=stage.scratch, env=stage.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if os.path.exists(path):
                break
            time.sleep(0.05)
        yield server, path
    finally:
        server.terminate()
        server.wait(timeout=30)


@test("attached_redis")
def redis_under_load(stage):
    """Attached to and detached from again and again under load; no request is lost."""
    with redis(stage) as (server, path):
        load = ["redis-benchmark", "-s", path, "-q", "-n", "20000", "-c", "20", "-r", "5000", "-d",
                "200", "-t", "set,lpush"]
        cycles, rounds, client = 0, 0, None
        while cycles < CYCLES:
            if not client or client.poll() is not None:
                expect(not client or client.returncode == 0, "redis-benchmark failed")
                client = subprocess.Popen(load, stdout=subprocess.DEVNULL, env=stage.env,
                                          stderr=subprocess.DEVNULL)
                rounds += 1
            child, said = attach(stage, server.pid)
            expect("jemalloc" in said, said)
            time.sleep(0.02)
            let_go(child)
            expect(server.poll() is None, f"redis died in cycle {cycles}")
            cycles += 1
        expect(client.wait(timeout=120) == 0, "redis-benchmark failed")
        stats = record.run(["redis-cli", "-s", path, "info", "commandstats"], env=stage.env).stdout
        for command in ("set", "lpush"):
            calls = int(re.search(rf"cmdstat_{command}:calls=(\d+)", stats).group(1))
            expect(calls == 20000 * rounds, f"{calls} of {20000 * rounds} {command}")
        errors = record.run(["redis-cli", "-s", path, "info", "errorstats"], env=stage.env).stdout
        expect("errorstat_" not in errors, errors)
        maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text()
        expect("tidemark" not in maps, "something is left in its memory")


@contextlib.contextmanager
def postgres(stage):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found or os.geteuid():
        raise record.Skip("no initdb here, or nobody to become its user")
    home, bin_ = stage.scratch / "pg", pathlib.Path(found[-1]).parent
    home.mkdir()
    shutil.chown(home, "postgres")
    become = ["runuser", "-u", "postgres", "--"]
    done = record.run([*become, found[-1], "-D", str(home / "data"), "-A", "trust", "-U",
                       "postgres", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8"], env=stage.env)
    expect(done.status == 0, done.stderr)
    server = subprocess.Popen([*become, str(bin_ / "postgres"), "-D", str(home / "data"), "-k",
                               str(home), "-c", "listen_addresses=", "-c", "fsync=off"],
                              env=stage.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if record.run(["psql", "-h", str(home), "-U", "postgres", "-c", "select 1"],
                          env=stage.env).status == 0:
                break
            time.sleep(0.1)
        yield home
    finally:
        record.run([*become, str(bin_ / "pg_ctl"), "-D", str(home / "data"), "-m", "fast", "stop"],
                   env=stage.env)
        server.wait(timeout=60)


SORT = "select count(*) from (select i, repeat('x', 100) as t from " \
    "generate_series(1, 100000) i order by md5(i::text)) s;"


class Session:
    """One connection, and so one worker of the server."""

    def __init__(self, stage, home):
        self.child = subprocess.Popen(["psql", "-h", str(home), "-U", "postgres", "-qAtX"],
                                      env=stage.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, bufsize=1)
        self.pid = int(self.ask("select pg_backend_pid();"))

    def say(self, query):
        self.child.stdin.write(query + "\n")
        self.child.stdin.flush()

    def hear(self):
        return self.child.stdout.readline().strip()

    def ask(self, query):
        self.say(query)
        return self.hear()

    def end(self):
        self.child.stdin.close()
        expect(self.child.wait(timeout=60) == 0, "the session ended otherwise")


def all_sort(sessions):
    for session in sessions:
        session.say(SORT)
    answers = [session.hear() for session in sessions]
    expect(answers == ["100000"] * len(sessions), f"other results: {answers}")


@test("attached_postgres")
def postgres_worker(stage):
    """One worker of a server, which is another user's, in the middle of its session."""
    with postgres(stage) as home:
        session = Session(stage, home)
        all_sort([session])
        child, _ = attach(stage, session.pid)
        all_sort([session])
        let_go(child)
        all_sort([session])
        session.end()
    found = report(stage, "--group", "module")
    expect(found["totals"]["peak_bytes"] > 1 << 20, f"a peak of {found['totals']['peak_bytes']}")
    first = found["groups"][0]["module"]
    expect(first.endswith("/postgres"), f"{first} is blamed")


@test("attached_postgres_workers")
def postgres_workers(stage):
    """Four workers at a time, all at work; then the server itself, while it makes new ones."""
    with postgres(stage) as home:
        sessions = [Session(stage, home) for _ in range(4)]
        tides = [stage.scratch / f"worker{i}.tide" for i in range(len(sessions))]
        for session in sessions:
            session.say(SORT)
        children = [attach(stage, session.pid, tide)[0] for session, tide in zip(sessions, tides)]
        answers = [session.hear() for session in sessions]
        expect(answers == ["100000"] * len(sessions), f"other results: {answers}")
        all_sort(sessions)
        for child in children:
            let_go(child)
        all_sort(sessions)
        server = int((home / "data/postmaster.pid").read_text().split()[0])
        child, _ = attach(stage, server)
        younger = [Session(stage, home) for _ in range(3)]
        all_sort(sessions + younger)
        let_go(child)
        younger.append(Session(stage, home))
        all_sort(sessions + younger)
        maps = pathlib.Path(f"/proc/{server}/maps").read_text()
        expect("tidemark" not in maps, "something is left in the server's memory")
        for session in sessions + younger:
            session.end()
    for tide in tides:
        peak = report(stage, tide=tide)["totals"]["peak_bytes"]
        expect(peak > 1 << 20, f"{tide.name}: a peak of {peak}")
    expect(report(stage)["totals"]["allocations"], "nothing was recorded of the server")
