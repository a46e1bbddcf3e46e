# SPDX-License-Identifier: Apache-2.0
"""tidemark fetch, and URLs in place of files: our own service, others' dialects, hostile ones."""
import contextlib
import gzip
import http.server
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading
import zlib

import record
import report_json
import servers
from command_serve import serving
from ground import expect, finish, test

# gperftools' text: 2 blocks of 200 bytes are held, 3 were allocated.
HEAP_TEXT = (b"heap profile: 2: 200 [3: 300] @ heapprofile\n"
             b"2: 200 [3: 300] @ 0x401000 0x402000\n\nMAPPED_LIBRARIES:\n"
             b"00400000-00500000 r-xp 00000000 00:00 0 /nowhere/app\n")
# jemalloc's: at a sampling interval of one byte nothing is scaled.
JEMALLOC_TEXT = (b"heap_v2/1\n  t*: 2: 200 [0: 0]\n@ 0x401000 0x402000\n  t*: 2: 200 [0: 0]\n"
                 b"\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0 /nowhere/app\n")


def port_of(service):
    return f"127.0.0.1:{service.port}"


def totals(ground, path, *options):
    return ground.report(path, "--sort", "live", *options)["totals"]


def sums(printed):
    """What a diff says was held before and after."""
    found = json.loads(printed)["totals"]
    return found["before_bytes"], found["after_bytes"]


def fetch(ground, *words, **options):
    return ground.run(ground.tidemark, "fetch", *words, **options)


def refused(ground, *words, status=1, **options):
    done = fetch(ground, *words, "-f", "-o", "refused.tide", **options)
    expect(done.status == status, f"{words}: {done.status} {done.stderr}")
    expect(not (ground.scratch / "refused.tide").exists(), f"{words}: a file all the same")
    expect(done.stderr.count("\n") == 1, done.stderr)
    return done.stderr


@test
def fetch_own(ground):
    """Of a running program: the same as what it records; of every form of its address."""
    with serving(ground) as service:
        place = port_of(service)
        for n, address in enumerate((place, f"http://{place}", f"http://{place}/",
                                     f"http://{place}/{service.token}/",
                                     f"{place}/debug/pprof/", f"http://{place}/debug/pprof/heap",
                                     f"{place}/debug/pprof/heap?debug=1", f"{place}/pprof/heap")):
            done = fetch(ground, address, "-o", f"{n}.tide")
            expect(done.status == 0 and "fetched into" in done.stderr, f"{address}: {done.stderr}")
            found = totals(ground, f"{n}.tide")
            expect((found["live_bytes"], found["live_blocks"]) == (100000, 1000),
                   f"{address}: {found}")
            rows = ground.run(ground.tidemark, "report", "--sort", "live", "--csv", f"{n}.tide")
            expect("hold," in rows.stdout.splitlines()[1], f"{address}: {rows.stdout}")
        done = fetch(ground, place, "-o", "0.tide")
        expect(done.status == 1 and "exists already" in done.stderr, done.stderr)
        expect(fetch(ground, place, "-f", "-o", "0.tide").status == 0, "not forced")
        done = ground.run(ground.tidemark, "report", "--json", "--sort", "live", place)
        expect(report_json.loads(done.stdout)["totals"]["live_blocks"] == 1000, done.stderr)
        for verb in ("tree", "info", "explain"):
            done = ground.run(ground.tidemark, verb, place)
            expect(done.status == 0, f"{verb}: {done.stderr}")
        done = ground.run(ground.tidemark, "export", "--to", "folded", place)
        expect(done.status == 0 and "hold" in done.stdout, done.stderr)


@test
def fetch_and_compare(ground):
    """Two looks and what changed between them, in one command."""
    with serving(ground) as service:
        place = port_of(service)
        diff = (ground.tidemark, "diff", "--json", "--sort", "live")
        first = ground.run(ground.tidemark, "fetch", place, "-o", "first.tide")
        expect(first.status == 0, first.stderr)
        service.tell("xxxxx")
        done = ground.run(*diff, "first.tide", place)
        before, after = sums(done.stdout)
        expect((before, after) == (100000, 100500), f"{before} {after}")
        done = ground.run(*diff, place, place)
        expect(done.status == 2 and "--seconds" in done.stderr, done.stderr)
        done = ground.run(*diff, place, place, "--seconds", "1")
        expect(done.status == 0 and len(set(sums(done.stdout))) == 1, done.stderr)
        child = subprocess.Popen([*diff, place, "--seconds", "3"], cwd=ground.scratch,
                                 env=ground.env, stdout=subprocess.PIPE, text=True)
        service.tell("x")  # before the first look or between the two: told either way
        before, after = sums(finish(child, 60)[1])
        expect(after == 100600 and before in (100500, 100600), f"{before} {after}")
        for words in (("first.tide", "--seconds", "1"), (place, "--from", "1s")):
            done = ground.run(*diff, *words)
            expect(done.status == 2 and "--seconds" in done.stderr, f"{words}: {done.stderr}")


@test
def fetch_several(ground):
    """Added up in one capture, or a file each; one that fails costs the sum, or itself."""
    with serving(ground) as service:
        place = port_of(service)
        done = fetch(ground, place, place, place, "-o", "sum.tide")
        expect(done.status == 0 and "3 profiles of holder added up" in done.stderr, done.stderr)
        expect(totals(ground, "sum.tide")["live_blocks"] == 3000, "not the sum")
        expect(done.stderr.count("is given more than once") == 2, done.stderr)
        dead = f"127.0.0.1:{servers.free_port()}"
        done = fetch(ground, place, dead, "-o", "half.tide")
        expect(done.status == 1 and not (ground.scratch / "half.tide").exists(), done.stderr)
        (ground.scratch / "each").mkdir()
        done = fetch(ground, place, dead, f"{place}/pprof/heap", "-o", "each")
        expect(done.status == 1 and "nobody answers" in done.stderr, done.stderr)
        names = sorted(path.name for path in (ground.scratch / "each").iterdir())
        expect(names == [f"127.0.0.1-{service.port}-3.tide", f"127.0.0.1-{service.port}.tide"],
               f"{names}")
        for name in names:
            expect(totals(ground, f"each/{name}")["live_blocks"] == 1000, name)
    for words, why in (((), "fetch what?"), ((place,), "-o OUT"),
                       (("nowhere", "-o", "x"), "no address")):
        done = fetch(ground, *words)
        expect(done.status == 2 and why in done.stderr, f"{words}: {done.stderr}")


@test
def fetch_dialects(ground):
    """Text of gperftools and jemalloc, packed or not; a service without /debug is asked anew."""
    paths = {"/pprof/heap": HEAP_TEXT, "/je": JEMALLOC_TEXT,
             "/packed": gzip.compress(HEAP_TEXT)}

    def answer(handler):
        if handler.path == "/encoded":
            servers.reply(handler, 200, gzip.compress(HEAP_TEXT), Content_Encoding="gzip")
        elif handler.path in paths:
            servers.reply(handler, 200, paths[handler.path])
        else:
            servers.reply(handler, 404, b"Unknown profile\n")

    with servers.stand_in(answer) as (url, asked):
        for path in ("", "/je", "/packed", "/encoded"):
            expect(fetch(ground, url + path, "-f", "-o", "x.tide").status == 0, path)
            found = totals(ground, "x.tide")
            expect((found["live_bytes"], found["live_blocks"]) == (200, 2), f"{path}: {found}")
        expect(asked[:2] == ["/debug/pprof/heap", "/pprof/heap"], f"{asked}")
        said = refused(ground, url + "/none")
        expect("there is no " in said and "Unknown profile" in said, said)


@test
def fetch_refused(ground):
    """Each failure says what, where, and what to do; and no file is left."""
    answers = {
        "/401": (401, b"who are you?\n", "--token-file"), "/403": (403, b"", "--token-file"),
        "/503": (503, b"nothing is recorded yet\n", "nothing is recorded yet): ask again"),
        "/500": (500, b"\x1b[31mred\n", "HTTP 500"), "/204": (204, b"", "HTTP 204"),
        "/empty": (200, b"", "answers with nothing"),
        "/html": (200, b"\n<!doctype html><h1>Login</h1>", "a page for people"),
        "/zero": (200, bytes(1000), "is not a capture"),
        "/bad": (200, gzip.compress(HEAP_TEXT)[:-20], "is not whole"),
        "/text": (200, b"hello\n", "is not a capture"),
    }

    def answer(handler):
        status, body, _ = answers[handler.path]
        servers.reply(handler, status, body)

    with servers.stand_in(answer) as (url, _):
        for path, (_, _, why) in answers.items():
            said = refused(ground, url + path)
            expect(url in said and "\x1b" not in said, said)
            expect(why in said, f"{path}: {said}")
    expect("nobody answers" in refused(ground, url), "refused connection")
    said = refused(ground, "http://no.such.host.invalid/")
    expect("no such host" in said or "nobody answers" in said or "no answer" in said, said)
    expect("no address of HTTP" in refused(ground, "http://[::1/", status=2), "no URL")
    done = ground.run(ground.tidemark, "report", url)
    expect(done.status == 1 and "nobody answers" in done.stderr, done.stderr)


@test
def fetch_hostile(ground):
    """Services that hang, cut their answer, redirect for ever or to a file, or never end."""
    done = threading.Event()

    def answer(handler):
        if handler.path == "/hang":
            done.wait(60)
        elif handler.path == "/cut":
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            handler.wfile.write(HEAP_TEXT)
        elif handler.path == "/chunked":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                b"5\r\nheap \r\n")
        elif handler.path == "/bomb":  # 4 GiB of zeroes
            handler.send_response(200)
            handler.send_header("Content-Encoding", "gzip")
            handler.end_headers()
            packer = zlib.compressobj(1, zlib.DEFLATED, 31)
            head = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
            more = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
            with contextlib.suppress(OSError):
                handler.wfile.write(head)
                for _ in range(256):
                    handler.wfile.write(more)
        elif handler.path == "/file":
            servers.reply(handler, 302, Location="file:///etc/passwd")
        elif handler.path == "/once":
            servers.reply(handler, 302, Location="/heap")
        elif handler.path == "/heap":
            servers.reply(handler, 200, HEAP_TEXT)
        else:
            servers.reply(handler, 302, Location=handler.path + "x")

    with servers.stand_in(answer) as (url, asked):
        said = refused(ground, url + "/hang", "--timeout", "1")
        expect("in time" in said and "--timeout" in said, said)
        expect("ends too early" in refused(ground, url + "/cut"), "cut")
        expect("ends too early" in refused(ground, url + "/chunked"), "cut in chunks")
        said = refused(ground, url + "/bomb")
        expect("larger than 256.0 MiB" in said, said)
        expect("redirects more than 5 times" in refused(ground, url + "/x"), "redirected")
        expect(len(asked) < 20, f"{asked}")
        refused(ground, url + "/file", status=2)
        expect(fetch(ground, url + "/once", "-o", "x.tide").status == 0, "redirected once")
        done.set()


@test
def fetch_token(ground):
    """From a file or the environment; to the host it is for, not to one that it redirects to."""
    seen = []

    def other(handler):
        seen.append(handler.headers["Authorization"])
        servers.reply(handler, 200, HEAP_TEXT)

    def answer(handler):
        if handler.headers["Authorization"] != "Bearer s3cret-s3cret-s3cret":
            servers.reply(handler, 401, b"no\n")
        elif handler.path == "/away":
            servers.reply(handler, 302, Location=away)
        else:
            servers.reply(handler, 200, HEAP_TEXT)

    (ground.scratch / "token").write_text("s3cret-s3cret-s3cret\n")
    (ground.scratch / "none").write_text("\n")
    with servers.stand_in(other) as (away, _), servers.stand_in(answer) as (url, _):
        expect("TIDEMARK_TOKEN" in refused(ground, url), "without")
        expect("the right one" in refused(ground, url, env=dict(ground.env, TIDEMARK_TOKEN="no")),
               "a wrong one")
        expect("no token in" in refused(ground, url, "--token-file", "none", status=2), "no line")
        expect("cannot read" in refused(ground, url, "--token-file", "gone"), "no file")
        expect(fetch(ground, url, "-o", "1.tide", "--token-file", "token").status == 0, "file")
        env = dict(ground.env, TIDEMARK_TOKEN="s3cret-s3cret-s3cret")
        expect(fetch(ground, url, "-o", "2.tide", env=env).status == 0, "environment")
        expect(fetch(ground, url + "/away", "-o", "3.tide", env=env).status == 0, "redirected")
        expect(seen == [None], f"{seen}")
        place = url.removeprefix("http://")
        said = refused(ground, f"http://me:hush@{place}/")
        expect("hush" not in said and place in said, said)


@contextlib.contextmanager
def tls_server(folder):
    """Of a certificate of its own, for 127.0.0.1; gives its URL and the certificate."""
    if not shutil.which("openssl"):
        raise record.Skip("no openssl here")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1"], cwd=folder, check=True,
                   capture_output=True)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            servers.reply(self, 200, HEAP_TEXT)

        def log_message(self, *_):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pathlib.Path(folder) / "cert.pem", pathlib.Path(folder) / "key.pem")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", str(pathlib.Path(folder) / "cert.pem")
    finally:
        server.shutdown()
        server.server_close()


@test
def fetch_tls(ground):
    """A certificate that nobody vouches for is refused; one that is named is taken."""
    with tls_server(ground.scratch) as (url, certificate):
        said = refused(ground, url)
        expect("does not prove who it is" in said and "SSL_CERT_FILE" in said, said)
        env = dict(ground.env, SSL_CERT_FILE=certificate)
        expect(fetch(ground, url, "-o", "x.tide", env=env).status == 0, "a trusted one")
        said = refused(ground, url.replace("127.0.0.1", "localhost"), env=env)
        expect("does not prove who it is" in said, said)
        said = refused(ground, url.replace("https", "http"), env=env)
        expect("http" in said, said)
    with socket.socket() as plain:
        plain.bind(("127.0.0.1", 0))
        plain.listen()
        said = refused(ground, f"https://127.0.0.1:{plain.getsockname()[1]}", "--timeout", "1")
        expect("in time" in said or "TLS" in said, said)
