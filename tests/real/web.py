# SPDX-License-Identifier: Apache-2.0
"""nginx with its workers, under load: attached to, started anew by its own means meanwhile, and run
by tidemark from the beginning. Each request is answered as it should be, and none is lost."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import record
from attached import attach, expect, report

TESTS = {}
WORKERS, CLIENTS = 2, 6
CONFIGURATION = """
{user}
worker_processes {workers};
pid {scratch}/nginx.pid;
error_log {scratch}/errors info;
events {{ worker_connections 256; }}
http {{
  access_log {scratch}/requests;
  client_body_temp_path {scratch}/a;
  proxy_temp_path {scratch}/b;
  fastcgi_temp_path {scratch}/c;
  uwsgi_temp_path {scratch}/d;
  scgi_temp_path {scratch}/e;
  server {{
    listen unix:{socket};
    location / {{ return 200 "$arg_n of $remote_user$request_length\\n"; }}
  }}
}}
"""


def test(name):
    def mark(function):
        TESTS[name] = function
        return function
    return mark


def nginx():
    """Servers are in /usr/sbin, which is not on everybody's PATH."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not found:
        raise record.Skip("no nginx here")
    return found


def configure(stage, path):
    (stage.scratch / "nginx.conf").write_text(CONFIGURATION.format(
        user="user root;" if os.geteuid() == 0 else "", workers=WORKERS, scratch=stage.scratch,
        socket=path))
    return [nginx(), "-p", str(stage.scratch), "-c", str(stage.scratch / "nginx.conf"), "-g",
            "daemon off;"]


def ask(path, number):
    """One request on a connection of its own; true: answered as it should be."""
    question = f"GET /?n={number} HTTP/1.0\r\n\r\n".encode()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        client.sendall(question)
        answer = b""
        while piece := client.recv(4096):
            answer += piece
    return answer.startswith(b"HTTP/1.1 200 ") and \
        answer.endswith(f"\r\n\r\n{number} of {len(question)}\n".encode())


class Load:
    """Clients that ask one question after the other."""

    def __init__(self, path):
        self.path, self.stop = path, False
        self.asked, self.wrong = [0] * CLIENTS, []
        self.clients = [threading.Thread(target=self.run, args=(i,)) for i in range(CLIENTS)]
        for client in self.clients:
            client.start()

    def run(self, index):
        while not self.stop:
            self.asked[index] += 1
            try:
                if not ask(self.path, self.asked[index]):
                    self.wrong.append(f"request {self.asked[index]} of client {index}: other words")
            except OSError as why:
                self.wrong.append(f"request {self.asked[index]} of client {index}: {why}")

    def so_far(self):
        return sum(self.asked)

    def go_on(self, n):
        """Until so many more are asked."""
        until = self.so_far() + n
        while self.so_far() < until:
            expect(not self.wrong, f"{self.wrong[:3]}")
            time.sleep(0.01)

    def end(self):
        self.stop = True
        for client in self.clients:
            client.join(timeout=120)
        expect(not self.wrong, f"{len(self.wrong)} requests were lost: {self.wrong[:3]}")
        return self.so_far()


def workers_of(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in children.read_text().split()]


@contextlib.contextmanager
def served(stage, before=()):
    """The process that was started, the server's own first one, its load; all is ended at last."""
    path = tempfile.mktemp(prefix="tide-", suffix=".sock")  # short: sun_path is 108 bytes
    server = subprocess.Popen([*before, *configure(stage, path)], env=stage.env, cwd=stage.scratch,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    load = None
    try:
        until, pid = time.time() + 60, stage.scratch / "nginx.pid"
        while not (pid.exists() and pid.read_text().strip() and os.path.exists(path)):
            expect(time.time() < until and server.poll() is None, "nginx does not start")
            time.sleep(0.05)
        load = Load(path)
        yield server, int(pid.read_text()), load
    finally:
        if load:
            load.stop = True
        if server.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((stage.scratch / "nginx.pid").read_text()), signal.SIGQUIT)
            server.wait(timeout=60)
        with contextlib.suppress(OSError):
            os.unlink(path)


def logged(stage):
    return len((stage.scratch / "requests").read_text().splitlines())


def quit_well(stage, server, first, load):
    asked = load.end()
    os.kill(first, signal.SIGQUIT)
    _, err = server.communicate(timeout=60)
    expect(server.returncode == 0, f"it ended with {server.returncode}: {err}")
    expect(logged(stage) == asked, f"{logged(stage)} of {asked} requests were served")
    said = (stage.scratch / "errors").read_text()
    for word in ("[alert]", "[crit]", "[emerg]", "exited on signal", "EINTR"):
        expect(word not in said, f"{word} in what nginx said: {said[-500:]}")
    return asked


def let_go(child):
    """A worker that had nothing to do has nothing recorded."""
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    expect(child.returncode == 0 or "called no allocator" in " ".join(err.split()), err)
    return child.returncode == 0


@test("attached_nginx")
def attached_nginx(stage):
    """The first process and all workers at a time; then it replaces its workers, attached to."""
    with served(stage) as (server, first, load):
        load.go_on(200)
        workers = workers_of(first)
        expect(len(workers) == WORKERS, f"workers {workers} of {first}")
        tides = [stage.scratch / f"worker{i}.tide" for i in range(WORKERS)]
        children = [attach(stage, pid, tide)[0] for pid, tide in zip(workers, tides)]
        child, _ = attach(stage, first)
        before = load.so_far()
        load.go_on(600)
        attached_to = load.so_far() - before - CLIENTS  # what is under way may be of either time
        recorded = [tide for tide, one in zip(tides, children) if let_go(one)]
        os.kill(first, signal.SIGHUP)
        until = time.time() + 60
        while set(workers) & set(workers_of(first)) or len(workers_of(first)) < WORKERS:
            expect(time.time() < until, "its workers were not replaced")
            time.sleep(0.02)
        load.go_on(200)
        let_go(child)
        load.go_on(200)
        maps = pathlib.Path(f"/proc/{first}/maps").read_text()
        expect("tidemark" not in maps, "something is left in its memory")
        quit_well(stage, server, first, load)
    made = sum(report(stage, tide=tide)["totals"]["allocations"] for tide in recorded)
    expect(made >= attached_to, f"{made} allocations for {attached_to} requests")
    for tide in recorded:
        missing = report(stage, tide=tide)["completeness"]
        expect(not missing["lost_busy"] + missing["lost_full"], f"{tide.name}: {missing}")


@test("run_nginx")
def run_nginx(stage):
    before = [str(stage.tidemark), "run", "-f", "-o", str(stage.tide), "--"]
    with served(stage, before) as (server, first, load):
        load.go_on(300)
        os.kill(first, signal.SIGHUP)
        load.go_on(300)
        asked = quit_well(stage, server, first, load)
    info = json.loads(record.run([stage.tidemark, "info", "--json", stage.tide],
                                 env=stage.env).stdout)
    run, images = info["capture"]["run"], info["images"]
    expect(run["recorded"] == 1 + 2 * WORKERS and not run["not_recorded"], f"{run}")
    expect(all(image["complete"] and image["end"] == "exited" for image in images), f"{images}")
    made = sum(image["allocations"] for image in images)
    expect(made >= asked, f"{made} allocations for {asked} requests")
