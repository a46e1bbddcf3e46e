# SPDX-License-Identifier: Apache-2.0
"""tidemark run --serve and attach --serve: what profilers and monitors ask for over HTTP."""
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import record
from ground import expect, finish, test, wait_for

# Holds 1,000 blocks of 100 bytes and has freed 500 more, then one block more for each line it is
# told; ends at the end of what it is told.
HOLDER = """
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[2000];
__attribute__((noipa)) static void hold(int i) { kept[i] = malloc(100); }
__attribute__((noipa)) static void use(void) { free(malloc(100)); }
static void work(void) // a block, as long as its parent lives
{
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kept[0] = malloc(1000);
    pause();
  }
}
int main(int argc, char **argv)
{
  char c;
  int n = 0;
  if (argc > 1 && fork() == 0) { // holds more than all others, and ends with it
    for (int i = 0; i < 1900; i++) kept[i] = malloc(10000);
    _exit(0);
  }
  if (argc > 1) wait(0);
  while (n < 1000) hold(n++);
  for (int i = 0; i < 500; i++) use();
  for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) work();
  if (argc > 1 && fork() == 0)
    for (int i = 0; i < 100; i++) hold(n++);
  if (write(1, "ready\\n", 6) != 6) return 1;
  while (read(0, &c, 1) == 1) {
    hold(n++);
    if (write(1, ".", 1) != 1) return 1;
  }
  return 4;
}
"""
PLACE = re.compile(r"profiles are at http://([^/ ]+)/debug/pprof/heap")
TOKEN = re.compile(r"needs the token: Authorization: Bearer ([0-9a-f]{32})")


class Service:
    """A program under tidemark that is told what to do, and what is asked of its server."""

    def __init__(self, child):
        self.child, self.said = child, ""
        while not (place := PLACE.search(self.said)) or not TOKEN.search(self.said):
            line = child.stderr.readline()
            expect(line, f"no address: {self.said}")
            self.said += line
        self.host, _, port = place[1].rpartition(":")
        self.port, self.token = int(port), TOKEN.search(self.said)[1]

    def ask(self, path, method="GET", body=None, **headers):
        """(status, headers, body)."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        status, _, body = self.ask(path, **headers)
        expect(status == 200, f"{path}: {status} {body[:200]!r}")
        return body

    def metrics(self, of=""):
        lines = self.get(f"/metrics{of}").decode().splitlines()
        return {name: float(value) for name, value in
                (line.split() for line in lines if not line.startswith("#"))}

    def tell(self, words):
        """One block more for each character; waited for."""
        self.child.stdin.write(words)
        self.child.stdin.flush()
        expect(self.child.stdout.read(len(words)) == "." * len(words), "no answer")


@contextlib.contextmanager
def serving(ground, options=("--serve", "127.0.0.1:0"), arguments=(), flags=()):
    program = ground.build("holder", HOLDER, *flags)
    words = [ground.tidemark, "run", *options, "-f", "-o", "x.tide", "--", program, *arguments]
    child = subprocess.Popen([str(word) for word in words], cwd=ground.scratch, env=ground.env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        service = Service(child)
        expect(child.stdout.readline() == "ready\n", "not ready")
        yield service
        child.stdin.close()
        child.stdin = None
        status, _, err = finish(child)
        expect(status == 4, f"{status}: {err}")
        service.said += err
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def profile_of(ground, body, name="p.pb.gz"):
    (ground.scratch / name).write_bytes(body)
    return ground.report(name, "--sort", "live")


def fields(message):
    """(number, value) of a protobuf message: integers, bytes, and 8 or 4 bytes as they are."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = number()
        n = {1: 8, 5: 4}.get(key & 7) or number()
        if key & 7:
            yield key >> 3, message[at:at + n]
            at += n
        else:
            yield key >> 3, n


def numbers_of(body):
    """Of a profile: when it was taken, what is shown first, and its comments."""
    found = list(fields(gzip.decompress(body)))
    texts = [value.decode() for key, value in found if key == 6]
    first = dict((key, value) for key, value in found if key in (9, 14))
    return first[9], texts[first[14]], [texts[value] for key, value in found if key == 13]


@test
def serve_heap(ground):
    """The profile is of the moment of asking, exact, named, and not called incomplete."""
    with serving(ground) as service:
        before = time.time_ns()
        status, headers, body = service.ask("/debug/pprof/heap")
        after = time.time_ns()
        expect(status == 200 and headers["Content-Type"] == "application/octet-stream",
               f"{status} {headers}")
        expect(headers["Content-Disposition"] == 'attachment; filename="heap"', f"{headers}")
        expect(not headers["Content-Encoding"] and headers["X-Content-Type-Options"] == "nosniff",
               f"{headers}")
        totals = profile_of(ground, body)["totals"]
        expect((totals["live_bytes"], totals["live_blocks"]) == (100000, 1000), f"{totals}")
        expect((totals["allocated_bytes"], totals["allocations"]) == (150000, 1500), f"{totals}")
        rows = ground.run(ground.tidemark, "report", "--sort", "live", "--csv", "p.pb.gz").stdout
        expect("hold," in rows.splitlines()[1], rows)
        taken, first, comments = numbers_of(body)
        expect(before <= taken <= after, f"{before} {taken} {after}")
        expect(first == "inuse_space", first)
        expect(not any("incomplete" in comment for comment in comments), f"{comments}")
        service.tell("xxx")
        body = service.get("/debug/pprof/heap?gc=1")
        expect(profile_of(ground, body)["totals"]["live_blocks"] == 1003, "not of this moment")
        expect(numbers_of(body)[0] > taken, "the same moment")
        time.sleep(0.01)
        again = service.get("/debug/pprof/heap")
        expect(numbers_of(again)[0] > numbers_of(body)[0], "an idle program: the same moment")
        body = service.get("/debug/pprof/allocs")
        expect(numbers_of(body)[1] == "alloc_space", numbers_of(body)[1])
    expect(ground.report("x.tide")["totals"]["live_blocks"] == 1003, "the recording")


@test
def serve_dialects(ground):
    with serving(ground, arguments=("",)) as service:
        wait_for(lambda: service.metrics()["tidemark_processes"] == 2, "the child")
        body = service.get("/debug/pprof/heap?debug=1")
        expect(body == service.get("/pprof/heap"), "two texts")
        expect(body == service.get("/debug/pprof/allocs?debug=1"), "allocs as text")
        expect(body.startswith(b"heap profile: 1000: 100000 [1500: 150000] @ heapprofile\n"),
               f"{body[:80]!r}")
        expect(b"MAPPED_LIBRARIES:" in body, "no libraries")
        words = [str(ground.scratch / "holder"), ""]
        told = service.get("/debug/pprof/cmdline").decode()
        expect(told == words[0], f"{told!r}")
        expect(service.get("/pprof/cmdline").decode() == words[0], "lines")
        expect(service.get("/debug/pprof/symbol") == b"num_symbols: 1\n", "symbols")
        addresses = body.decode().splitlines()[1].split(" @ ")[1].split()
        asked, some = "+".join(addresses), "num_symbols: 1\n"
        for method, path, begins, between in (
                ("POST", "/pprof/symbol", "", "\t"), ("POST", "/debug/pprof/symbol", some, " "),
                ("GET", f"/debug/pprof/symbol?{asked}", some, " ")):
            status, _, names = service.ask(path, method, asked if method == "POST" else None)
            names = names.decode()
            expect(status == 200 and names.startswith(begins), f"{path}: {status} {names}")
            names = dict(line.split(between) for line in names[len(begins):].splitlines())
            expect(names[addresses[0]] == "hold" and "main" in names.values(), f"{path}: {names}")
        expect(service.ask("/pprof/symbol", "POST", "what+0x0+0xffffffffffffffffffff")[2] == b"",
               "names of nothing")
        picture = service.get("/debug/pprof/heap/flamegraph")
        expect(b"<svg" in picture and b"hold" in picture, f"{picture[:80]!r}")
        index = service.get("/debug/pprof/")
        expect(b'href="heap"' in index and b'href="allocs"' in index, f"{index!r}")
        status, headers, _ = service.ask("/debug/pprof")
        expect(status == 301 and headers["Location"] == "pprof/", f"{status} {headers}")


@test
def serve_as_go(ground):
    """Numbers that are none, and forms, are taken as Go's net/http/pprof takes them."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with serving(ground) as service:
        for method, query, posted, name in (
                ("GET", "debug=x", None, "heap"), ("GET", "debug=", None, "heap"),
                ("GET", "debug=1x", None, "heap"), ("GET", "debug=0", None, "heap"),
                ("GET", "debug=-1", None, None), ("GET", "debug=99999999999999999999", None, None),
                ("GET", "seconds=&debug=2", None, None), ("GET", "gc=x&seconds=", None, "heap"),
                ("GET", "seconds=%2B1&debug=x", None, "heap-delta"),
                ("POST", "debug=1", "", None), ("POST", "", "", "heap"),
                ("POST", "", "gc=1&debug=1", None), ("POST", "debug=1", "debug=0", "heap"),
                ("POST", "", "seconds=1", "heap-delta")):
            status, headers, body = service.ask(f"/debug/pprof/heap?{query}", method, posted,
                                                **form)
            expect(status == 200, f"{method} {query} {posted}: {status} {body[:99]!r}")
            wanted = name and f'attachment; filename="{name}"'
            expect(headers["Content-Disposition"] == wanted, f"{query} {posted}: {headers}")
            expect(name or body.startswith(b"heap profile: "), f"{query}: {body[:99]!r}")
        headers = service.ask("/debug/pprof/allocs?seconds=1")[1]
        expect("allocs-delta" in headers["Content-Disposition"], f"{headers}")
        for path in "/debug/pprof/", "/debug/pprof/cmdline":
            expect(service.ask(path, "POST", "")[2] == service.get(path), path)
        status, headers, body = service.ask("/debug/pprofx")
        expect(status == 404 and not headers["X-Go-Pprof"], f"{status} {headers} {body!r}")


def varints(packed):
    begin = 0
    for at, byte in enumerate(packed):
        if byte < 128:
            yield packed[begin:at + 1]
            begin = at + 1


def values_of(body):
    """The sums of the columns, and for how long."""
    found = list(fields(gzip.decompress(body)))
    sums, lasted = [0] * 4, dict(found).get(10)
    for sample in (value for key, value in found if key == 2):
        packed = next(value for key, value in fields(sample) if key == 2)
        values = [n for _, n in fields(b"".join(b"\x08" + one for one in varints(packed)))]
        sums = [(a + b) % (1 << 64) for a, b in zip(sums, values)]
    return sums, lasted


def begun(service, path):
    connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
    connection.request("GET", path)
    return connection


@test
def serve_differences(ground):
    """Over some seconds, of all four columns; others are answered meanwhile."""
    with serving(ground) as service:
        waiting = [begun(service, "/debug/pprof/heap?seconds=3"),
                   begun(service, "/debug/pprof/allocs?seconds=3&process=all")]
        for _ in range(3):  # who asks later is answered later: both have begun then
            service.get("/debug/pprof/heap")
        service.tell("xxxxx")
        for connection in waiting:
            sums, lasted_ns = values_of(connection.getresponse().read())
            connection.close()
            expect(sums == [5, 500, 5, 500], f"{sums}")
            expect(3_000_000_000 <= lasted_ns < 60_000_000_000, f"{lasted_ns}")
        sums, _ = values_of(service.get("/debug/pprof/heap?seconds=1"))
        expect(sums == [0] * 4, f"of an idle program: {sums}")
        last = begun(service, "/debug/pprof/heap?seconds=600")
        service.get("/debug/pprof/heap")  # the end of the run does not wait for that one
    last.close()


@test
def serve_real_tools(ground):
    """What people have: go tool pprof by either dialect, google-pprof with names from here."""
    with serving(ground) as service:
        url = f"http://{service.host}:{service.port}"
        env = dict(ground.env, PPROF_TMPDIR=str(ground.scratch), HOME=str(ground.scratch))
        if shutil.which("go"):  # which may have to build its pprof: a minute, once for all tests
            env["GOCACHE"] = ground.run("go", "env", "GOCACHE").stdout.strip()
            for path in "/debug/pprof/heap", "/pprof/heap":
                done = ground.run("go", "tool", "pprof", "-top", "-unit=B",
                                  "-sample_index=inuse_space", url + path, env=env, timeout=300)
                row = re.search(r"^ *(\d+)B .* hold$", done.stdout, re.M)
                expect(row and row[1] == "100000", f"{path}: {done.stdout} {done.stderr}")
        if shutil.which("google-pprof"):
            done = ground.run("google-pprof", "--text", "--show_bytes", url + "/pprof/heap",
                              env=env, timeout=300)
            row = re.search(r"^ *(\d+) +\S+ .* hold$", done.stdout, re.M)
            expect(row and row[1] == "100000", f"{done.stdout} {done.stderr}")


@test
def serve_processes(ground):
    """One that runs; another by its pid; all of a program that run, added up."""
    with serving(ground, arguments=("",)) as service:
        wait_for(lambda: service.metrics()["tidemark_processes"] == 2, "the child")
        images = service.get("/tidemark/facts").decode()
        pids = [int(pid) for pid in re.findall(r'"pid": (\d+)', images)]
        expect(len(set(pids)) == 3, f"{pids}")
        body = service.get("/debug/pprof/heap")
        expect(profile_of(ground, body)["totals"]["live_blocks"] == 1000, "of one that has ended")
        blocks = {}
        for pid in pids:
            body = service.get(f"/debug/pprof/heap?process={pid}")
            blocks[pid] = profile_of(ground, body)["totals"]["live_blocks"]
        expect(sorted(set(blocks.values())) == [100, 1000, 1900], f"{blocks}")
        body = service.get("/debug/pprof/heap?process=all")
        expect(profile_of(ground, body)["totals"]["live_blocks"] == 1100, "not all")
        status, headers, body = service.ask("/debug/pprof/heap?process=999999999")
        expect(status == 404 and headers["X-Go-Pprof"] == "1", f"{status} {body}")


@test
def serve_hundreds_of_processes(ground):
    """More than a capture keeps one by one: no sum lacks any."""
    n = 260
    with serving(ground, arguments=(str(n),)) as service:
        wait_for(lambda: service.metrics()["tidemark_processes"] == 2 + n, "all workers")

        def live():
            body = service.get("/debug/pprof/heap?process=all")
            return profile_of(ground, body)["totals"]["live_blocks"]

        wait_for(lambda: live() == 1100 + n, "their blocks")


@test
def serve_metrics(ground):
    with serving(ground) as service:
        status, headers, body = service.ask("/metrics")
        expect(status == 200, f"{status}")
        expect(headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", f"{headers}")
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=body, check=False,
                                  capture_output=True)
            expect(done.returncode == 0, f"{done.stderr!r}")
        wanted = {"heap_live_bytes": 100000, "heap_live_blocks": 1000,
                  "heap_allocated_bytes_total": 150000, "heap_allocations_total": 1500,
                  "heap_freed_bytes_total": 50000, "heap_frees_total": 500, "processes": 1,
                  "recorder_lost_events_total": 0, "sample_interval_bytes": 0,
                  "recording": 1}
        got = service.metrics()
        expect({name: got[f"tidemark_{name}"] for name in wanted} == wanted, f"{got}")
        expect(100000 <= got["tidemark_heap_peak_bytes"] <= 100100, f"{got}")
        expect(abs(got["process_start_time_seconds"] - time.time()) < 600, f"{got}")
        wait_for(lambda: service.metrics().get("process_resident_memory_bytes", 0) > 100000, "RSS")
        service.tell("x")
        expect(service.metrics()["tidemark_heap_live_blocks"] == 1001, "not of this moment")
        done = ground.run(ground.tidemark, "ctl", "-q", service.child.pid, "off")
        expect(done.status == 0, f"{done.stderr}")
        service.tell("x")
        got = service.metrics()
        expect(got["tidemark_recording"] == 0 and got["tidemark_heap_live_blocks"] == 1001,
               f"while recording is off: {got}")


@test
def serve_another_interval(ground):
    """Which one is now, and which was the largest."""
    options = "--serve", "127.0.0.1:0", "--sample=64KiB"
    with serving(ground, options=options) as service:
        def intervals():
            got = service.metrics()
            return (got["tidemark_sample_interval_bytes"],
                    got["tidemark_sample_interval_max_bytes"])
        expect(intervals() == (65536, 65536), f"{intervals()}")
        for word, told in ("sample=1MiB", (1 << 20, 1 << 20)), ("sample=4KiB", (4096, 1 << 20)):
            done = ground.run(ground.tidemark, "ctl", "-q", service.child.pid, word)
            expect(done.status == 0, done.stderr)
            expect(intervals() == told, f"{word}: {intervals()}")
    sampled = ground.report("x.tide")["exactness"]["sampled"]
    expect(sampled == {"every_bytes": 1 << 20, "changed": True, "last_bytes": 4096}, f"{sampled}")


@test
def serve_switched_off(ground):
    """No profile is told as one while blocks go unrecorded; metrics say that it is so."""
    profiles = ("/debug/pprof/heap", "/debug/pprof/heap?debug=1", "/debug/pprof/allocs",
                "/debug/pprof/heap?process=all", "/pprof/heap", "/debug/pprof/heap/flamegraph")
    with serving(ground) as service:
        pid = json.loads(service.get("/tidemark/facts"))["captures"][0]["images"][0]["pid"]
        for word, wanted, state in ("off", 403, 0), ("on", 200, 1):
            done = ground.run(ground.tidemark, "ctl", str(pid), word)
            expect(done.status == 0, done.stderr)
            expect(service.metrics()["tidemark_recording"] == state, f"{service.metrics()}")
            for path in profiles:
                status, _, body = service.ask(path)
                expect(status == wanted, f"{word}: {path}: {status} {body[:200]!r}")
                expect(status == 200 or b"recording is off" in body, f"{path}: {body[:200]!r}")
            expect(service.ask("/debug/pprof/cmdline")[0] == 200, word)


@test
def serve_refusals(ground):
    """No error is a 200, and each says what it is."""
    with serving(ground) as service:
        for method, path, wanted in (
                ("GET", "/debug/pprof/goroutine", 404), ("GET", "/debug/pprof/heap/", 404),
                ("GET", "/nothing", 404), ("GET", "/debug/pprof/heap?seconds=x", 400),
                ("GET", "/debug/pprof/heap?seconds=0", 400),
                ("GET", "/debug/pprof/heap?seconds=1.5", 400),
                ("GET", "/debug/pprof/heap?seconds=-1", 400),
                ("GET", "/debug/pprof/heap?seconds=1000000", 400),
                ("GET", "/debug/pprof/heap?seconds=1&debug=1", 400),
                ("GET", "/tidemark/nothing", 404),
                ("POST", "/metrics", 405), ("POST", "/tidemark/facts", 405),
                ("POST", "/pprof/heap", 405), ("DELETE", "/debug/pprof/heap", 405),
                ("GET", "/debug/pprof/heap%00", 400),
                ("GET", "/" + "x" * 3000, 414)):
            status, headers, body = service.ask(path, method)
            expect(status == wanted and len(body) > 10, f"{method} {path}: {status} {body!r}")
            expect(headers["Content-Type"].startswith("text/plain"), f"{path}: {headers}")
            if "/debug/pprof/" in path and wanted in (400, 404) and "%" not in path:
                expect(headers["X-Go-Pprof"] == "1", f"{path}: {headers}")
        status, _, body = service.ask("/pprof/symbol", "POST", "0x1+" * 300000)
        expect(status == 413, f"{status} {body!r}")
        expect(service.ask("/debug/pprof/heap", "HEAD")[0] == 200, "HEAD")
        expect(service.ask("/")[1]["Location"] == "tidemark/", "the page")
        expect(service.get("/tidemark/facts"), "no facts")


@test
def serve_strangers(ground):
    """Others need the token: by header or path. No other site gets anything."""
    with serving(ground) as service:
        heap, token = "/debug/pprof/heap", service.token
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            expect(service.ask(heap, **headers)[0] == 403, f"{headers}")
        expect(service.ask(heap, Sec_Fetch_Site="cross-site")[0] == 401, "led by another site")
        expect(service.ask(heap, Sec_Fetch_Site="none")[0] == 200, "typed")
        service.get(heap, Authorization=f"Bearer {token}", Host="db.example:6060")
        service.get(f"/{token}{heap}", Host="db.example:6060")
        expect(service.ask(heap, Authorization="Bearer x", Host="db.example")[0] == 403, "named")
        expect(service.ask(f"/{token}/", Host="db.example")[1]["Location"] == "tidemark/", "page")
        if os.geteuid() == 0:
            expect(as_nobody(service, heap) == "401", as_nobody(service, heap))
            expect(as_nobody(service, f"/{token}{heap}") == "200", "path")
            expect(as_nobody(service, heap, f"Bearer {token}") == "200", "header")
            expect(as_nobody(service, heap, f"Bearer {token[::-1]}") == "401", "another token")


def as_nobody(service, path, authorization=""):
    ask = ("import sys, urllib.request, urllib.error\n"
           "headers = {'Authorization': sys.argv[2]} if sys.argv[2] else {}\n"
           "request = urllib.request.Request(sys.argv[1], headers=headers)\n"
           "try: print(urllib.request.urlopen(request).status)\n"
           "except urllib.error.HTTPError as e: print(e.code)\n")
    url = f"http://{service.host}:{service.port}{path}"
    done = subprocess.run(["python3", "-c", ask, url, authorization], capture_output=True,
                          text=True, cwd="/", user=65534, group=65534, extra_groups=[], check=False)
    return done.stdout.strip() or done.stderr


@test
def serve_nothing(ground):
    """Nothing is recorded: said so, by a status that nobody takes for a profile."""
    with serving(ground, options=("--serve", "0", "--how", "preload"),
                 flags=("-static",)) as service:
        for path in "/debug/pprof/heap", "/metrics", "/pprof/heap", "/tidemark/", "/tidemark/facts":
            status, _, body = service.ask(path)
            expect(status == 503 and b"nothing is recorded yet" in body, f"{path}: {status} {body}")
        expect(b"heap" in service.get("/debug/pprof/"), "the index")


@test
def serve_nowhere(ground):
    """Where it cannot be served, nothing is started."""
    program = ground.build("marked", 'int main(void) { return !fopen("ran", "w"); }\n'
                           .replace("int", "#include <stdio.h>\nint", 1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (ground.scratch / "short").write_text("secret\n")
        for words, wanted in ((["--serve", f"127.0.0.1:{port}"], f"port {port}"),
                              (["--serve", "somewhere:6060"], "no address to listen on"),
                              (["--serve", "127.0.0.1:99999"], "nowhere to serve"),
                              (["--serve", "127.0.0.1:"], "nowhere to serve"),
                              (["--serve", "0", "--view"], "leave --view out"),
                              (["--token-file", "short"], "goes with --serve"),
                              (["--serve", "0", "--token-file", "short"], "16 to 128"),
                              (["--serve", "0", "--token-file", "none"], "none")):
            done = ground.record(*words, "-o", "x.tide", "--", program)
            expect(done.status == 125 and wanted in done.stderr, f"{words}: {done.stderr}")
            expect(not (ground.scratch / "ran").exists(), f"{words}: it ran")


@test
def serve_places(ground):
    """A token of one's own; every address; version 6."""
    (ground.scratch / "token").write_text("mine-mine-mine-mine\n")
    child = ground.start("--serve", ":0", "--token-file", "token", "-f", "-o", "x.tide", "--",
                         ground.program("sleep(60); return 0;"))
    try:
        line = child.stderr.readline() + child.stderr.readline()
        place = PLACE.search(line)
        expect(place and "needs the token in token" in line and "mine" not in line, line)
        host, _, port = place[1].rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request("GET", "/mine-mine-mine-mine/debug/pprof/", headers={"Host": "a.b"})
        expect(connection.getresponse().status == 200, "by the token")
        connection.close()
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
    with serving(ground, options=("--serve", "0.0.0.0:0")) as service:
        expect("127.0.0.1" in service.said, service.said)
        expect("from other machines, unencrypted" in child_says(service), "not said")
    if has_v6():
        with serving(ground, options=("--serve", "[::1]:0")) as service:
            service.get("/debug/pprof/heap")


def child_says(service):
    return service.child.stderr.readline()


def has_v6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as trial:
        trial.bind(("::1", 0))
        return True
    return False


@test
def serve_crowd(ground):
    """Many at once, some of whom never read or never finish asking: each profile is whole."""
    with serving(ground) as service:
        deaf = [socket.create_connection((service.host, service.port)) for _ in range(20)]
        for i, one in enumerate(deaf):
            one.sendall(b"GET /debug/pprof/heap HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
                        (b"\r\n" if i % 2 else b""))
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            bodies = list(pool.map(lambda _: service.get("/debug/pprof/heap"), range(64)))
        for one in deaf:
            one.close()
        for n, body in enumerate(bodies):
            texts = gzip.decompress(body)
            expect(len(texts) > 200, f"{n}: {len(texts)}")
        expect(profile_of(ground, bodies[-1])["totals"]["live_blocks"] == 1000, "not whole")
        service.tell("x")


@test
def serve_idlers(ground):
    """Nine hundred who are silent, stop in the middle of a word, or wait for an hour: a scrape gets
    its answer all the same."""
    ask = b"GET /debug/pprof/heap?seconds=3600 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving(ground) as service, contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (limit, most))
        for words in b"", ask[:20], ask:
            for _ in range(900 if words != ask else 300):
                idler = socket.create_connection((service.host, service.port), timeout=60)
                stack.enter_context(idler).sendall(words)
            for _ in range(3):
                expect(service.metrics()["tidemark_processes"] == 1, f"{words}")
        service.tell("x")


@test
def serve_attached(ground):
    """Of a process that runs already."""
    program = ground.build("holder", HOLDER)
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    watch = None
    try:
        expect(child.stdout.readline() == "ready\n", "not ready")
        watch = subprocess.Popen([ground.tidemark, "attach", "--serve", "127.0.0.1:0", "-f", "-o",
                                  "x.tide", str(child.pid)], cwd=ground.scratch, env=ground.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        service = Service(watch)
        line = watch.stderr.readline()
        if "recording process" not in line:
            raise record.Skip(f"cannot attach here: {line}")
        service.child = child
        service.tell("xxxxx")
        expect(service.metrics()["tidemark_processes"] == 1, f"{service.metrics()}")
        totals = profile_of(ground, service.get("/debug/pprof/heap"))["totals"]
        expect((totals["live_blocks"], totals["live_bytes"]) == (5, 500), f"{totals}")
        watch.send_signal(signal.SIGINT)
        expect(watch.wait(timeout=60) == 0, "not ended well")
        service.tell("x")
    finally:
        for process in (child, watch):
            if process and process.poll() is None:
                process.kill()
            if process:
                process.communicate()
