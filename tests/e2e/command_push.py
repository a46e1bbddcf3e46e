# SPDX-License-Identifier: Apache-2.0
"""tidemark run --push and attach --push: a server that takes everything, and some that mean harm.

What real servers make of it is told by tests/fleet.
"""
import contextlib
import gzip
import http.server
import os
import re
import signal
import socket
import subprocess
import threading
import time

import otlp
import record
import servers
from command_serve import Service, fields, serving
from ground import expect, finish, test, wait_for
from otlp import varints

GRPC_OK = b"\0\0\0\0\0\x80\0\0\0\x10grpc-status: 0\r\n"


class Sink:
    """A server: the requests that it got, and what it answers to each, by `answer`."""

    def __init__(self):
        self.requests = []  # (path, headers, body)
        self.answer = take
        self.done = threading.Event()
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.requests.append((self.path, self.headers, body))
                with contextlib.suppress(OSError):
                    sink.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.done.set()
        self.server.shutdown()
        self.server.server_close()

    def profiles(self):
        return [profile for request in self.requests for profile in unpacked(*request)]


def take(handler):
    servers.reply(handler, 200, GRPC_OK if "WriteRaw" in handler.path else b"")


def unpacked(path, _headers, body):
    """(labels, columns with their sums, time, duration, names) of each profile of a request."""
    is_parca = "WriteRaw" in path
    if is_parca:
        expect(body[0] == 0 and int.from_bytes(body[1:5], "big") == len(body) - 5, "frame")
        body = body[5:]
    message = list(fields(body))
    expect(not is_parca or (3, 1) in message, "not normalized")
    for key, series in message:
        if key != (2 if is_parca else 1):
            continue
        labels = [pair for number, pair in fields(series) if number == 1]
        if is_parca:
            labels = [pair for _, pair in fields(labels[0])]
        named = [tuple(text.decode() for _, text in fields(pair)) for pair in labels]
        expect(named == sorted(named), f"{named}")
        for number, sample in fields(series):
            if number == 2:
                yield dict(named), *numbers_of(gzip.decompress(dict(fields(sample))[1]))


def numbers_of(profile):
    found = list(fields(profile))
    texts = [value.decode() for key, value in found if key == 6]
    columns = [texts[dict(fields(value))[1]] for key, value in found if key == 1]
    sums = [0] * len(columns)
    for sample in (value for key, value in found if key == 2):
        packed = next(value for key, value in fields(sample) if key == 2)
        sums = [a + b for a, b in zip(sums, varints(packed))]
    rest = dict((key, value) for key, value in found if key in (9, 10))
    return dict(zip(columns, sums)), rest[9], rest.get(10, 0), set(texts)


def pushing(ground, target, *options, every="1"):
    return serving(ground, options=("--serve", "127.0.0.1:0", "--push", target, "--push-every",
                                    every, *options))


def told(ground, *options, seconds=120):
    """Of a program that ends at once: (what tidemark says at the end, how long it took)."""
    program = ground.program("return 3;")
    begun = time.monotonic()
    done = ground.record(*options, "-f", "-o", "x.tide", "--", program, timeout=seconds)
    expect(done.status == 3, f"{done.status}: {done.stderr}")
    return done.stderr, time.monotonic() - begun


@test
def push_pyroscope(ground):
    """Each has what is held then; what was allocated adds up to all of it, whenever that was."""
    with Sink() as sink:
        with pushing(ground, f"pyroscope={sink.url}/base/", "--push-label", "region=eu",
                     "--push-label", "host=here", "--push-tenant", "us") as service:
            wait_for(lambda: len(sink.requests) >= 2, "two profiles", 60)
            service.tell("x" * 30)
            n = len(sink.requests)
            wait_for(lambda: len(sink.requests) >= n + 2, "two more", 60)
            metrics = service.metrics()
            expect(metrics["tidemark_push_profiles_total"] >= n + 1, f"{metrics}")
            expect(metrics["tidemark_push_dropped_profiles_total"] == 0, f"{metrics}")
        path, headers, _ = sink.requests[0]
        expect(path == "/base/push.v1.PusherService/Push", path)
        expect(headers["Content-Type"] == "application/proto", f"{headers}")
        expect(headers["X-Scope-OrgID"] == "us" and not headers["Authorization"], f"{headers}")
        profiles = sink.profiles()
        labels, columns, _, duration, names = profiles[0]
        expect(labels.pop("pid").isdigit(), f"{labels}")
        expect(labels == {"__delta__": "false", "__name__": "memory", "service_name": "holder",
                          "host": "here", "region": "eu"}, f"{labels}")
        expect(columns == {"alloc_objects": 1500, "alloc_space": 150000, "inuse_objects": 1000,
                           "inuse_space": 100000}, f"{columns}")
        expect({"hold", "main"} <= names and duration == 0, f"{names}")
        expect(profiles[1][1]["inuse_space"] == 100000, "of an idle program")
        expect(profiles[1][1]["alloc_space"] == 0, "what was told before")
        totals = ground.report("x.tide")["totals"]
        expect(sum(one[1]["alloc_space"] for one in profiles) == totals["allocated_bytes"] ==
               153000, f"{totals}")
        expect(profiles[-1][1]["inuse_objects"] == totals["live_blocks"] == 1030, "the last")
        times = [one[2] for one in profiles]
        expect(times == sorted(set(times)), f"{times}")


@test
def push_while_recording_is_off(ground):
    """One more profile, with what was recorded up to then, and then none until it is on."""
    with Sink() as sink:
        with pushing(ground, f"pyroscope={sink.url}") as service:
            wait_for(lambda: sink.requests, "a profile", 60)
            service.tell("x" * 10)

            def switch(word):
                done = ground.run(ground.tidemark, "ctl", service.child.pid, word)
                expect(done.status == 0, done.stderr)
                return time.time_ns()
            off = switch("off")
            service.tell("x" * 40)
            while "recording is off: servers have" not in service.said:
                line = service.child.stderr.readline()
                expect(line, f"nothing is said: {service.said}")
                service.said += line
            on = switch("on")
            service.tell("x" * 20)
            n = len(sink.requests)
            wait_for(lambda: len(sink.requests) > n, "another profile", 60)
        profiles = sink.profiles()
        # One may have been on its way when it was switched off.
        meanwhile = [one for one in profiles if off < one[2] < on]
        expect(len(meanwhile) in (1, 2), f"{len(meanwhile)} of {len(profiles)}")
        expect(meanwhile[-1][1]["inuse_space"] == 101000, f"{meanwhile[-1]}")
        totals = ground.report("x.tide")["totals"]
        expect(sum(one[1]["alloc_space"] for one in profiles) == totals["allocated_bytes"] ==
               153000, f"{totals}")
        expect(service.said.count("recording is off") == 1, service.said)


@test
def push_parca(ground):
    """What was allocated is a profile of its own, as a duration makes all columns differences."""
    with Sink() as sink, Sink() as other:
        with pushing(ground, f"parca={sink.url}", "--push", f"pyroscope={other.url}") as service:
            wait_for(lambda: len(sink.requests) >= 2 and other.requests, "two profiles", 60)
            service.tell("x" * 30)
        path, headers, _ = sink.requests[0]
        expect(path == "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw", path)
        expect(headers["Content-Type"] == "application/grpc-web+proto", f"{headers}")
        held, allocated = sink.profiles()[0::2], sink.profiles()[1::2]
        expect(all(set(one[1]) == {"inuse_objects", "inuse_space"} and one[3] == 0
                   for one in held), f"{held}")
        expect(all(set(one[1]) == {"alloc_objects", "alloc_space"} and one[3] > 0
                   for one in allocated), f"{allocated}")
        expect("__delta__" not in held[0][0], f"{held[0]}")
        for sums in (allocated, other.profiles()):
            expect(sum(one[1]["alloc_space"] for one in sums) == 153000, f"{sums}")
        expect(held[-1][1]["inuse_space"] == 103000, f"{held[-1]}")


@test
def push_otlp(ground):
    """Each column is a profile, what was allocated of a range of time; by another decoder."""
    with Sink() as sink:
        with pushing(ground, f"otlp={sink.url}/base", "--push-label", "region=eu") as service:
            wait_for(lambda: len(sink.requests) >= 2, "two profiles", 60)
            service.tell("x" * 30)
        path, headers, _ = sink.requests[0]
        expect(path == "/base/v1development/profiles", path)
        expect(headers["Content-Type"] == "application/x-protobuf", f"{headers}")
        expect(headers["Content-Encoding"] == "gzip", f"{headers}")
        columns = {}
        for _, _, body in sink.requests:
            for profile in otlp.Request(body).profiles:
                columns.setdefault(profile["type"], []).append(profile)
        expect(set(columns) == {("alloc_objects", "count"), ("alloc_space", "bytes"),
                                ("inuse_objects", "count"), ("inuse_space", "bytes")},
               f"{columns}")
        first, held = columns["alloc_space", "bytes"], columns["inuse_space", "bytes"]
        expect(first[0]["resource"].pop("host.name"), "no host")
        expect(isinstance(first[0]["resource"].pop("process.pid"), int), "no pid")
        expect(first[0]["resource"] == {"service.name": "holder", "region": "eu"}, "resource")
        totals = ground.report("x.tide")["totals"]
        expect(sum(one["sum"] for one in first) == totals["allocated_bytes"] == 153000, "sum")
        expect([held[0]["sum"], held[-1]["sum"]] == [100000, 103000], f"{held}")
        for before, after in zip(first, first[1:]):
            expect(after["duration"] > 0, "no range")
            expect(after["time"] == before["time"] + before["duration"], "a gap, or twice")
        expect(all(one["duration"] == 0 for one in held), "a moment of some length")
        expect(len({one["id"] for rows in columns.values() for one in rows}) ==
               sum(map(len, columns.values())), "an id twice")
        frames = next(stack for stack, _ in held[0]["samples"])
        expect([name for name, *_ in frames][:2] == ["hold", "main"], f"{frames}")
        expect(frames[0][1].endswith("<stdin>") and frames[0][2] > 0 and frames[0][3] > 0, "where")
        expect(len(frames[0][4]) == 40, f"no build id: {frames}")
        expect("holder" in held[0]["attributes"]["pprof.profile.comment"][0], f"{held[0]}")


@test
def push_processes(ground):
    """Each process under its own labels, and the last of one that ended is of its end."""
    with Sink() as sink:
        def moments():
            return [request for request in sink.requests if "Pusher" in request[0]]
        with forks(ground, "--push", f"pyroscope={sink.url}", "--push", f"otlp={sink.url}"):
            wait_for(lambda: len(moments()) >= 2, "two moments", 60)
        series = {}
        for labels, columns, _, _, _ in [one for r in moments() for one in unpacked(*r)]:
            series.setdefault(labels["pid"], []).append(columns)
        held = sorted(rows[-1]["inuse_space"] for rows in series.values())
        expect(held == [7000, 10000, 20000], f"{series}")
        expect(sorted(sum(one["alloc_space"] for one in rows) for rows in series.values()) == held,
               f"{series}")
        batch = next(r for r in moments() if len(list(unpacked(*r))) == 3)
        expect(batch, "not together")
        decoded = [otlp.Request(body) for path, _, body in sink.requests if "Pusher" not in path]
        sums = {}
        for profile in (one for request in decoded for one in request.profiles):
            if profile["type"][0] == "alloc_space":
                pid = profile["resource"]["process.pid"]
                sums[str(pid)] = sums.get(str(pid), 0) + profile["sum"]
        expect(sorted(sums.values()) == held and set(sums) == set(series), f"{sums}")


@contextlib.contextmanager
def forks(ground, *words):
    """FORKS pushes each second while the body runs; gives a list, then of what was said."""
    child = subprocess.Popen([ground.tidemark, "run", *words, "--push-every", "1", "-f", "-o",
                              "x.tide", "--", ground.build("forks", FORKS)], cwd=ground.scratch,
                             env=ground.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    said = []
    try:
        expect(child.stdout.readline() == "ready\n", "not ready")
        yield said
        said.append(child.communicate("x\n", 60)[1])
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()


# The parent holds 7,000 bytes, its children 10,000 and 20,000, until a line comes.
FORKS = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
int main(void)
{
  static char out[64];
  int ends[2], told[2];
  char c;
  setvbuf(stdout, out, _IOFBF, sizeof out);
  if (pipe(ends) || pipe(told)) return 1;
  kept = malloc(7000);
  for (int i = 1; i <= 2; i++)
    if (!fork()) {
      close(ends[1]);
      kept = malloc((size_t)i * 10000);
      if (write(told[1], "x", 1) != 1) return 1;
      return read(ends[0], &c, 1) != 0;
    }
  if (read(told[0], &c, 1) != 1 || read(told[0], &c, 1) != 1) return 1;
  puts("ready");
  fflush(stdout);
  if (read(0, &c, 1) < 0) return 1;
  close(ends[1]);
  while (wait(NULL) > 0) continue;
  return 0;
}
"""


class Archive(Sink):
    """A Parca that lacks all files but those of build ids in `known`; is_signed: PUT elsewhere."""

    def __init__(self, is_signed=False, known=()):
        super().__init__()
        self.files, self.finished, self.known = {}, [], set(known)
        self.is_signed, self.answer = is_signed, self.serve
        self.server.RequestHandlerClass.do_PUT = self.server.RequestHandlerClass.do_POST

    def serve(self, handler):
        path, headers, body = self.requests[-1]
        method = path.rsplit("/", 1)[1]
        if handler.command == "PUT":
            self.files[method] = body
            expect(not headers["Authorization"], "the token is Parca's")
            return servers.reply(handler, 200, b"")
        messages = list(frames_of(body))
        asked = dict(fields(messages[0]))
        out = b""
        if method == "ShouldInitiateUpload":
            out = b"" if asked[1].decode() in self.known else b"\x08\x01"
        elif method == "InitiateUpload":
            how = b"\x12\x02id\x18" + bytes([2 if self.is_signed else 1])
            if self.is_signed:
                url = f"{self.url}/signed/{asked[1].decode()}".encode()
                how += b"\x22" + bytes([len(url)]) + url
            out = b"\x0a" + bytes([len(how)]) + how
        elif method == "Upload":
            info = dict(fields(asked[1]))
            expect(info[2] == b"id", f"{info}")
            self.files[info[1].decode()] = b"".join(dict(fields(one))[2] for one in messages[1:])
        elif method == "MarkUploadFinished":
            expect(asked[2] == b"id", f"{asked}")
            self.finished.append(asked[1].decode())
        return servers.reply(handler, 200,
                             b"\0" + len(out).to_bytes(4, "big") + out + GRPC_OK[5:])


def frames_of(body):
    while body:
        n = int.from_bytes(body[1:5], "big")
        expect(body[0] == 0 and len(body) >= n + 5, "frame")
        yield body[5:5 + n]
        body = body[5 + n:]


@test
def push_debuginfo(ground):
    """Parca gets addresses, and the files that it lacks, whole; names of none it would not find."""
    padded = ground.build("padded", "#include <stdlib.h>\nstatic const char pad[3 << 20] = {1};\n"
                          "static void *volatile kept;\n__attribute__((noipa)) void *hold(void)\n"
                          "{ kept = malloc(1234); return (void *)pad; }\n"
                          "int main(void) { return hold() ? 3 : 0; }\n")
    for is_signed in (False, True):
        (ground.scratch / "token").write_text("s3cret\n")
        with Archive(is_signed) as sink:
            words = ("--push", f"parca={sink.url}", "--push-debuginfo", "--push-token-file",
                     "token", "-f", "-o", "x.tide", "--", str(padded))
            done = ground.record(*words, timeout=120)
            n_files = len(sink.files)
            expect(n_files and sorted(sink.files) == sorted(sink.finished), f"{sink.finished}")
            expect(padded.read_bytes() in sink.files.values(), "not as it is")
            expect(f"{n_files} files with names were uploaded, 0" in done.stderr, done.stderr)
            profiles = [one for request in sink.requests if "WriteRaw" in request[0]
                        for one in unpacked(*request)]
            expect(not {"hold", "main"} & profiles[0][4], f"{profiles}")
            known = list(sink.files)
    with Archive(known=known) as sink:
        words = [word if "http" not in word else f"parca={sink.url}" for word in words]
        done = ground.record(*words, timeout=120)
        expect(f"0 files with names were uploaded, {n_files} it had" in done.stderr, done.stderr)
        expect(not sink.files, "brought all the same")
    with Sink() as sink:
        def refuse(handler):
            if "Debuginfo" in handler.path:
                return servers.reply(handler, 200, b"", Grpc_Status="12", Grpc_Message="none such")
            return take(handler)
        sink.answer = refuse
        words = [word if "http" not in word else f"parca={sink.url}" for word in words]
        done = ground.record(*words, timeout=120)
        expect(f"{n_files} files with names were not uploaded (0 were, 0 it had)" in done.stderr and
               "none such" in done.stderr, done.stderr)


@test
def push_attached(ground):
    with Sink() as sink, serving_nobody(ground) as child:
        watch = subprocess.Popen([ground.tidemark, "attach", "--push", f"pyroscope={sink.url}",
                                  "--push-every", "1", "-f", "-o", "x.tide", str(child.pid)],
                                 cwd=ground.scratch, env=ground.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            line = watch.stderr.readline()
            if "recording process" not in line:
                raise record.Skip(f"cannot attach here: {line}")
            Service.tell(Holder(child), "xxxxx")
            wait_for(lambda: sink.requests, "a profile", 60)
            watch.send_signal(signal.SIGINT)
            status, _, err = finish(watch, 60)
            expect(status == 0 and "has all" in err, f"{status}: {err}")
            expect(sum(one[1]["alloc_space"] for one in sink.profiles()) == 500, "not all")
        finally:
            if watch.poll() is None:
                watch.kill()
            watch.communicate()


class Holder:
    def __init__(self, child):
        self.child = child


@contextlib.contextmanager
def serving_nobody(ground):
    from command_serve import HOLDER  # pylint: disable=import-outside-toplevel
    child = subprocess.Popen([ground.build("holder", HOLDER)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        expect(child.stdout.readline() == "ready\n", "not ready")
        yield child
    finally:
        child.kill()
        child.communicate()


def cut(handler):
    """An answer that ends before it is whole."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half")


@test
def push_again(ground):
    """A server that is too busy, fails, or cuts its answer, is asked again, and gets each once."""
    moods = [lambda h: servers.reply(h, 429, b"slow down\n", Retry_After="1"),
             lambda h: servers.reply(h, 500, b"\x1b[31mred"), cut,
             lambda h: h.connection.shutdown(socket.SHUT_RDWR)]
    with Sink() as sink:
        def moody(handler):
            (moods.pop(0) if moods else take)(handler)
        sink.answer = moody
        with pushing(ground, f"parca={sink.url}", every="3") as service:
            wait_for(lambda: not moods and len(sink.requests) >= 7, "better moods", 120)
            expect("slow down" in service.child.stderr.readline(), "the first failure is not told")
            metrics = service.metrics()
            expect(metrics["tidemark_push_failures_total"] == 4, f"{metrics}")
        bodies = [body for _, _, body in sink.requests]
        expect(len(set(bodies[:5])) == 1, "not the same again")
        expect(len(set(bodies[4:])) == len(bodies[4:]), "one is there twice")
        allocated = [one for request in sink.requests[4:] for one in unpacked(*request)][1::2]
        expect(sum(one[1]["alloc_space"] for one in allocated) == 150000, f"{allocated}")


@test
def push_refused(ground):
    """What a server does not want is not sent again: one request per profile."""
    (ground.scratch / "token").write_text("s3cret\n")
    for status, words in ((401, "which token"), (404, "is that its address"), (400, "bad thing")):
        with Sink() as sink:
            sink.answer = lambda h, s=status: servers.reply(h, s, b"bad thing\n")
            said, _ = told(ground, "--push", f"pyroscope={sink.url}", "--push-token-file", "token")
            expect(len(sink.requests) == 1, f"{len(sink.requests)} requests")
            expect(sink.requests[0][1]["Authorization"] == "Bearer s3cret", "no token")
            expect("has 0 of 1 profiles: 1 were refused" in said and words in said, said)
    grpc = b"\x80\0\0\0\x26grpc-status: 3\r\ngrpc-message: not mine\r\n"
    for answer, words in ((lambda h: servers.reply(h, 200, grpc[:5] + grpc[5:43]), "gRPC status 3"),
                          (lambda h: servers.reply(h, 200, b"", Grpc_Status="7", Grpc_Message="no"),
                           "gRPC status 7: no"),
                          (lambda h: servers.reply(h, 200, b"<html>"), "not gRPC-Web"),
                          (lambda h: servers.reply(h, 302, b"", Location="http://127.0.0.1:1/"),
                           "HTTP 302")):
        with Sink() as sink:
            sink.answer = answer
            said, _ = told(ground, "--push", f"parca={sink.url}")
            expect(words in said and "1 were refused" in said, said)


@test
def push_dead(ground):
    """Whoever hangs, never stops or is not there costs five seconds at the end, and is told of."""
    with Sink() as sink:
        sink.answer = lambda h: sink.done.wait(300)
        dead = f"http://127.0.0.1:{servers.free_port()}"
        said, took = told(ground, "--push", f"pyroscope={sink.url}", "--push", f"parca={dead}")
        expect("pyroscope at" in said and "parca at" in said, said)
        expect(said.count("has 0 of 1 profiles: 0 were refused, 1 not sent") == 2, said)
        expect("nobody answers" in said, said)
        expect(took < 100, f"{took} s")  # five, and the machine's own slowness
    said, _ = told(ground, "-q", "--push", f"parca={dead}")
    expect(said.count("\n") == 1 and "1 not sent" in said, said)


@test
def push_taken_whatever_is_said(ground):
    """Who says by a status that it has the profile does not get it again, however the rest ends."""
    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(bytes(1 << 16))

    rejects = b"\x0a\x0b\x08\x03\x12\x07too old" + bytes(100000)
    for kind, answer, taken in (("pyroscope", lambda h: servers.reply(h, 200, bytes(100000)), 1),
                                ("pyroscope", cut, 1), ("pyroscope", endless, 1),
                                ("pyroscope", lambda h: servers.reply(h, 204), 1),
                                ("pyroscope", lambda h: servers.reply(h, 400, bytes(100000)), 0),
                                ("otlp", cut, 1), ("otlp", endless, 1),
                                ("otlp", lambda h: servers.reply(h, 200, rejects), 0),
                                ("parca", endless, 0)):
        with Sink() as sink:
            sink.answer = answer
            said, _ = told(ground, "--push", f"{kind}={sink.url}")
            expect(len(sink.requests) == 1, f"{kind}: {len(sink.requests)} requests: {said}")
            wanted = "has all 1 profiles" if taken else "has 0 of 1 profiles: 1 were refused"
            expect(wanted in said, f"{kind}: {said}")


@test
def push_refused_in_part(ground):
    """Nobody says which of several processes' profiles were: told are bounds."""
    def picky(handler):
        body = sink.requests[-1][2]
        of = {one["resource"]["process.pid"] for one in otlp.Request(body).profiles}
        sizes.append(len(of))
        servers.reply(handler, 200, b"\x0a\x0b\x08\x01\x12\x07too old")

    sizes = []
    with Sink() as sink:
        sink.answer = picky
        with forks(ground, "--push", f"otlp={sink.url}") as said:
            wait_for(lambda: 3 in sizes, "all three in one request", 60)
    [said], n, n_refused = said, sum(sizes), len(sizes)
    expect(f"has at least {n - n_refused} of {n} profiles: at most {n_refused} were refused, 0 not "
           f"sent, 0 dropped" in said and "its sums lack at most " in said and "too old" in said,
           f"{sizes}: {said}")


@test
def push_outage(ground):
    """A long one: few profiles wait, the newest; what is missing with the others is told."""
    is_up, refusals = threading.Event(), []

    def moody(handler):
        if is_up.is_set():
            return take(handler)
        refusals.append(handler)
        return servers.reply(handler, 503)

    with Sink() as sink:
        sink.answer = moody
        with pushing(ground, f"pyroscope={sink.url}") as service:
            def dropped():
                return service.metrics()["tidemark_push_dropped_profiles_total"]
            wait_for(lambda: sink.requests, "a request", 60)
            service.tell("x" * 10)
            wait_for(lambda: dropped() >= 2, "a full box", 60)
            service.tell("x" * 20)
            is_up.set()
            wait_for(lambda: len(sink.requests) > len(refusals) + 6, "what waited", 120)
            metrics = service.metrics()
        taken = [one for request in sink.requests[len(refusals):]
                 for one in unpacked(*request)]
        lost = metrics["tidemark_push_dropped_bytes_total"]
        first = list(unpacked(*sink.requests[0]))[0]
        expect(first[1]["alloc_space"] == 150000 and lost >= 150000, f"{first} {lost}")
        expect(sum(one[1]["alloc_space"] for one in taken) == 153000 - lost, f"{taken} {lost}")
        expect(taken[-1][1]["inuse_space"] == 103000, f"{taken[-1]}")
        times = [one[2] for one in taken]
        expect(times == sorted(set(times)) and times[0] > first[2], f"{times} {first}")
        said = re.search(r"(\d+) dropped, the oldest, while it did not answer; its sums lack "
                         r"([\d,]+) allocated bytes; the latest failure: .* 503", service.said)
        expect(said and int(said[1]) >= 2 and int(said[2].replace(",", "")) == lost, service.said)


@test
def push_misunderstood(ground):
    """Before anything is started."""
    for words, why in ((("--push", "parca"), "nowhere to push to"),
                       (("--push", "jaeger=http://a"), "nowhere to push to"),
                       (("--push", "parca=a:7070"), "nowhere to push to"),
                       (("--push-every", "3"), "go with --push"),
                       (("--push", "parca=http://a", "--push-label", "a"), "no label"),
                       (("--push", "parca=http://a", "--push-label", "__a=b"), "no label"),
                       (("--push", "parca=http://a", "--push-label", "a=b", "--push-label", "a=c"),
                        "given twice"),
                       (("--push", "parca=http://a", "--push-token-file", "gone"), "cannot read")):
        done = ground.record(*words, "--", "touch", "started")
        expect(done.status == 125 and why in done.stderr, f"{words}: {done.status} {done.stderr}")
        expect(not (ground.scratch / "started").exists(), f"{words}: started")


@test
def push_leaves_the_program_alone(ground):
    """It ends as it does, with its output and descriptors, whatever the server does."""
    with Sink() as sink:
        sink.answer = lambda h: sink.done.wait(60)
        child = ground.start("-q", "--push", f"parca={sink.url}", "--push-every", "1", "-f", "-o",
                             "x.tide", "--", "sh", "-c", "ls /proc/self/fd; sleep 3; kill -TERM $$")
        status, out, err = finish(child, 60)
        plain = subprocess.run(["sh", "-c", "ls /proc/self/fd"], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, check=True).stdout
        expect(status == -signal.SIGTERM, f"{status} {err}")
        expect(out == plain, f"{out} {plain}")
        expect(re.search(r"has 0 of \d+ profiles", err), err)
    expect(os.path.exists(ground.scratch / "x.tide"), "no capture")
