# SPDX-License-Identifier: Apache-2.0
"""tidemark view: what is served to whom, files that change, how it ends."""
import concurrent.futures
import contextlib
import gzip
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

from ground import expect, test, wait_for
from served import Page, ended, files_of, viewing
from servers import free_port


def small_capture(ground, name="x.tide", body="return 0;"):
    ground.record("-q", "-o", name, "--", ground.program(body, "prog-" + name))
    return ground.scratch / name


@test
def view_serves(ground):
    tide = small_capture(ground)
    report = ground.report(tide)
    with viewing(ground, "--no-open", tide) as page:
        facts = page.facts()
        expect([c["file"] for c in facts["captures"]] == [str(tide)], f"{facts}")
        expect(not facts["live"] and facts["version"] == 1 and facts["editor"] is None, f"{facts}")
        expect(facts["captures"][0]["images"] == report["images"], "images differ")
        block = page.block()
        for part in ("totals", "image", "completeness"):
            expect(block[part] == report[part], f"{part} differs: {block[part]}")
        status, headers, body = page.ask("/")
        expect(status == 200 and b"<!doctype html>" in body.lower(), f"page: {status}")
        policy = headers["Content-Security-Policy"]
        expect("default-src 'none'" in policy and "script-src 'sha256-" in policy and
               "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy)
    expect("tidemark: the page is at http://" in page.stderr, page.stderr)


def expect_no_source(page, text, why, what):
    """An answer that says why, and no error: browsers show those to the reader."""
    status, headers, body = page.ask(f"/source/0?text={text}")
    expect(status == 200 and headers["Tidemark-Source"] == "none" and why in body,
           f"{what}: {status} {body[:100]}")


@test
def view_sources(ground):
    tide = small_capture(ground)
    source = ground.scratch / "told.c"
    source.write_text('# 1 "' + str(source) + '"\n#include <stdlib.h>\nvoid *volatile p;\n'
                      "int main(void) { p = malloc(7); return 0; }\n")
    subprocess.run(["gcc", "-g", source, "-o", ground.scratch / "told"], check=True)
    ground.record("-q", "-o", "told.tide", "--", ground.scratch / "told")
    with viewing(ground, "--no-open", "told.tide", tide) as page:
        found = {}
        for text in range(200):
            status, headers, body = page.ask(f"/source/0?text={text}")
            expect(status in (200, 404), f"text {text}: {status}")
            if status == 200 and headers["Tidemark-Source"] != "none":
                found[text] = headers, body
        expect(source.read_bytes() in [body for _, body in found.values()], f"{len(found)} found")
        [text] = [text for text, (_, body) in found.items() if body == source.read_bytes()]
        headers = found[text][0]
        expect(headers["Content-Type"].startswith("text/plain"), "not plain text")
        expect("Tidemark-Source" not in headers, "called newer than the capture")
        source.write_text("changed\n")
        expect(page.ask(f"/source/0?text={text}")[1]["Tidemark-Source"] == "newer", "not newer")
        source.unlink()
        source.symlink_to("/dev/zero")
        expect_no_source(page, text, b"is not a file of text", "a device")
        source.unlink()
        expect_no_source(page, text, b"cannot read", "what is gone")
        for query in ("", "?text=", "?text=-1", "?text=x", "?text=1e3",
                      "?text=99999999999999999999", "?file=/etc/passwd",
                      "?text=/etc/passwd", "?text=../../etc/passwd"):
            status, _, body = page.ask("/source/0" + query)
            expect(status in (400, 404) and b"root:" not in body, f"{query}: {status}")


@test
def view_refuses_strangers(ground):
    with viewing(ground, "--no-open", small_capture(ground)) as page:
        port, here = page.port, f"127.0.0.1:{page.port}"
        wrong = page.token[:-1] + ("0" if page.token[-1] != "0" else "1")
        for path in ("/", "/facts", "/data/0", "/source/0?text=1"):
            for token in ("", wrong, page.token[:-1], page.token + "0", page.token.upper() + "x"):
                expect(page.ask(path, token=token)[0] == 404, f"token {token!r} at {path}")
            for host in ("evil.example", f"evil.example:{port}", f"0.0.0.0:{port}",
                         f"localhost.evil.example:{port}"):
                expect(page.ask(path, headers={"Host": host})[0] == 403, f"Host {host} at {path}")
            for origin in ("null", "http://evil.example", "https://" + here, "http://127.0.0.1"):
                expect(page.ask(path, headers={"Origin": origin})[0] == 403, f"Origin {origin}")
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "CONNECT"):
                expect(page.ask(path, method)[0] in (400, 404, 405), f"{method} {path}")
        expect(page.ask("/facts", headers={"Host": f"localhost:{port}"})[0] == 200, "localhost")
        for host in ("localhost:9999", "127.0.0.1"):  # as whoever forwards the port may call it
            expect(page.ask("/facts", headers={"Host": host})[0] == 200, f"forwarded as {host}")
            status, headers, _ = page.ask("", headers={"Host": host})
            expect(status == 302 and headers["Location"] == f"/{page.token}/", f"{dict(headers)}")
        expect(page.ask("/facts", headers={"Origin": "http://" + here})[0] == 200, "our own origin")
        status, headers, body = page.ask("/facts", "HEAD")
        expect(status == 200 and not body and headers["Cache-Control"] == "no-store", f"{status}")


@test
def view_has_no_files(ground):
    (ground.scratch / "secret").write_text("secret\n")
    with viewing(ground, "--no-open", small_capture(ground)) as page:
        ways = ["secret", "../secret", "/secret", "%2e%2e/secret", "..%2fsecret", "%00", "data/",
                "data/../secret", "data/0/../../secret", "data/0/", "data/1", "data/-1", "data/+0",
                "data/0x0", "data/00000000000", "data/%30%00", "source/", "source/../../etc/passwd",
                "source/0/etc/passwd", "facts/", "facts/x", "events", "index.html", "page.html",
                "x.tide", "//etc/passwd", "etc/passwd", "\\..\\secret", ".", "..", "%ff%fe"]
        for way in ways:
            status, _, body = page.ask("/" + way)
            expect(status in (400, 404), f"/{way}: {status} {body[:80]!r}")
            expect(b"secret\n" not in body and b"root:" not in body, f"/{way} reads a file")
        for query in ("1", "-1", "x", "", "99999999999"):
            query = "?process=" + query
            expect(page.ask("/data/0" + query)[0] == 404, query)
        expect(page.ask("/data/0?process=0&process=7")[0] in (200, 404), "twice")


@test
def view_packs(ground):
    with viewing(ground, "--no-open", small_capture(ground)) as page:
        plain = page.ask("/data/0")
        packed = page.ask("/data/0", headers={"Accept-Encoding": "gzip, br"})
        expect("Content-Encoding" not in plain[1], "packed unasked")
        expect(packed[1]["Content-Encoding"] == "gzip", "not packed")
        expect(gzip.decompress(packed[2]) == plain[2], "not the same")
        tag = packed[1]["ETag"]
        status, _, body = page.ask("/data/0", headers={"Accept-Encoding": "gzip",
                                                        "If-None-Match": tag})
        expect(status == 304 and not body, f"{status} with the tag of before")


@test
def view_of_many(ground):
    """What is seen first of very many stacks tells the same, and names files by its own texts."""
    lines = [f"main;part{i % 7};of{i} (of{i % 9}.c:{i % 50 + 1}) {i + 1}" for i in range(31000)]
    (ground.scratch / "many.folded").write_text("\n".join(lines) + "\n")
    with viewing(ground, "--no-open", "many.folded") as page:
        first = page.block("/data/0?part=first")
        tag = page.ask("/data/0?part=first")[1]["ETag"]
        whole = page.block()
        expect(first["pruned"]["first"] and whole["pruned"] is None, "not the first, or not all")
        expect(first["pruned"]["of"] == len(lines), f"{first['pruned']}")
        expect(first["columns"]["site_node"]["count"] < 10000, "it is not few")
        expect(whole["columns"]["site_node"]["count"] == len(lines), "it is not all")
        for key in ("totals", "verdict", "exactness", "findings", "info"):
            expect(first[key] == whole[key], f"{key}: {first[key]} and {whole[key]}")
        expect(page.ask("/data/0")[1]["ETag"] != tag, "one tag for both")
        expect(page.block("/data/0?part=first") == first, "another first one")
        expect(page.block("/data/0?part=all") == whole, "another word is not the first")
    with viewing(ground, "--no-open", small_capture(ground)) as page:
        expect(page.block("/data/0?part=first") == page.block(), "a small one has no first part")


def forks_of(pid):
    """What it forked off, and waits for, as long as that runs."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(number) for number in children.read().split()]


@test
def view_goes_on_answering(ground):
    """While all of very many stacks is made, by a fork, everybody else is answered."""
    lines = [f"main;part{i % 7};of{i} (of{i % 9}.c:{i % 50 + 1}) {i + 1}" for i in range(31000)]
    (ground.scratch / "many.folded").write_text("\n".join(lines) + "\n")

    def fork_of(page):
        end = time.monotonic() + 60
        while True:
            expect(time.monotonic() < end, "no fork that has no socket")
            for fork in forks_of(page.child.pid):
                kinds = files_of(f"/proc/{fork}")
                if kinds and not any(kind.startswith("socket:") for kind in kinds):
                    os.kill(fork, signal.SIGSTOP)
                    return fork

    for how in ("done", "killed", "left"):
        with (viewing(ground, "--no-open", "many.folded") as page,
              concurrent.futures.ThreadPoolExecutor(4) as pool):
            first = page.block("/data/0?part=first")
            answers = [pool.submit(page.block) for _ in range(2)]
            fork = fork_of(page)
            expect(page.facts()["version"] == 1, "facts")
            expect(page.block("/data/0?part=first") == first, "another first one")
            text = first["columns"]["frame_file"]
            expect(page.ask("/source/0?part=first&text=0")[0] == 404, f"{text}")
            expect(not any(answer.done() for answer in answers), "all of it, by nobody")
            if how == "left":
                page.child.terminate()
                wait_for(lambda: not os.path.exists(f"/proc/{fork}"), "the end of the fork", 60)
                continue
            os.kill(fork, signal.SIGKILL if how == "killed" else signal.SIGCONT)
            whole = [answer.result(60) for answer in answers]
            expect(whole[0] == whole[1], "two answers")
            expect(whole[0]["columns"]["site_node"]["count"] == len(lines), "it is not all")
            expect(not forks_of(page.child.pid), "a fork stays")


@test
def view_hammered(ground):
    """Many at once, some with garbage, some that hang up in the middle, some silent."""
    rng = random.Random(7)
    with viewing(ground, "--no-open", small_capture(ground)) as page:
        silent = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(20)]

        def once(i):
            kind = i % 5
            if kind < 3:
                way = ("/facts", "/data/0", "/")[kind]
                return page.ask(way)[0] == 200
            with socket.create_connection(("127.0.0.1", page.port), timeout=1) as raw:
                line = f"GET /{page.token}/data/0 HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n"
                text = bytearray(line.encode())
                if kind == 3:
                    for _ in range(rng.randrange(1, 9)):
                        text[rng.randrange(len(text))] = rng.randrange(256)
                raw.sendall(text[:rng.randrange(1, len(text))] if kind == 4 else text)
                raw.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    raw.recv(rng.randrange(1, 4096))
            return True

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            expect(all(pool.map(once, range(400))), "a request failed")
        for size in (3000, 40000, 1000000):
            with contextlib.suppress(OSError, http.client.HTTPException):
                status = page.ask("/" + "a" * size)[0]
                expect(status in (400, 413, 414, 431), f"{size} characters: {status}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                page.ask("/facts", headers={"X": "a" * size})
        for raw in silent:
            raw.close()
        expect(page.facts()["version"] == 1, "not itself any more")


@test
def view_processes(ground):
    prog = ground.program("if (fork() == 0) { for (int i = 0; i < 9; i++) kept[i] = malloc(900); "
                          "_exit(0); } int s; wait(&s); return 0;", "prog",
                          "-include", "sys/wait.h")
    ground.record("-q", "-o", "x.tide", "--", prog)
    reports = [ground.report("x.tide", "--process", f"#{i}") for i in range(2)]
    with viewing(ground, "--no-open", "x.tide") as page:
        shown = page.facts()["captures"][0]["largest"]
        expect(reports[shown]["image"]["index"] == ground.report("x.tide")["image"]["index"],
               "not the largest first")
        for i in range(2):
            expect(page.block(f"/data/0?process={i}")["totals"] == reports[i]["totals"], f"#{i}")
    pid = reports[1]["image"]["pid"]
    with viewing(ground, "--no-open", "--process", pid, "x.tide") as page:
        expect(page.facts()["captures"][0]["largest"] == 1, "--process is not heard")
    done = ground.run(ground.tidemark, "view", "--no-open", "--process", "99999999", "x.tide")
    expect(done.status in (1, 2) and not done.stdout, f"{done.status}: {done.stderr}")


@test
def view_is_the_next_step(ground):
    done = ground.record("-o", "x.tide", "--", ground.program("return 0;"))
    expect("next:  tidemark view x.tide" in done.stderr, done.stderr)
    done = ground.run(ground.tidemark, "report", "x.tide")
    expect("next:  tidemark view x.tide" in done.stdout, done.stdout)


@test
def view_two_files(ground):
    before = small_capture(ground, "before.tide")
    after = small_capture(ground, "after.tide", "kept[0] = malloc(70000); return 0;")
    with viewing(ground, "--no-open", before, after) as page:
        files = [capture["file"] for capture in page.facts()["captures"]]
        expect(files == [str(before), str(after)], f"{files}")
        peaks = [page.block(f"/data/{i}")["totals"]["peak_bytes"] for i in range(2)]
        expect(peaks[1] - peaks[0] == 70000 - 50 or peaks[1] - peaks[0] == 70000, f"{peaks}")
        expect(page.ask("/data/2")[0] == 404, "a third")
    done = ground.run(ground.tidemark, "view", before, after, before)
    expect(done.status == 2 and "one too many" in done.stderr, f"{done.status}: {done.stderr}")


@test
def view_newest(ground):
    ground.record("-q", "--", ground.program("return 0;"))
    with viewing(ground, "--no-open") as page:
        expect(page.facts()["captures"][0]["file"] == ground.tides()[0].name, "another file")
    expect(f"reading {ground.tides()[0].name}" in page.stderr, page.stderr)


@test
def view_foreign(ground):
    text = "main;parse;grow 3000\nmain;<script>x()</script> 5\n"
    (ground.scratch / "folded.txt").write_text(text)
    with viewing(ground, "--no-open", "folded.txt") as page:
        block = page.block()
        expect(block["image"]["origin"], f"{block['image']}")
        expect(b"<script>x()</script>" in page.ask("/data/0")[2], "the name was changed")
        expect(not page.facts()["live"], "live")


@test
def view_refuses(ground):
    tide = small_capture(ground)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cases = [
            (["--port", port, tide], 1, f"port {port} of 127.0.0.1 is in use"),
            (["--port", "70000", tide], 2, "--port takes a number up to 65535"),
            (["--port", "x", tide], 2, "--port takes a number"),
            (["--listen", "nowhere", tide], 2, "no address to listen on"),
            (["--listen", "192.0.2.1", tide], 1, "cannot listen on"),
            (["--editor", "javascript:alert(1)", tide], 2, "no link to an editor"),
            (["--editor", "vscode://file", tide], 2, "no link to an editor"),
            (["missing.tide"], 1, "missing.tide"),
            (["--rules", "missing.rules", tide], 1, "missing.rules"),
        ]
        for words, status, sentence in cases:
            done = ground.run(ground.tidemark, "view", "--no-open", *words)
            expect(done.status == status, f"{words}: {done.status} {done.stderr}")
            expect(sentence in done.stderr and not done.stdout, f"{words}: {done.stderr!r}")
            expect(done.stderr.count("\n") == 1, f"{words}: {done.stderr!r}")


@test
def view_port_and_editor(ground):
    port = free_port()
    link = "vscode://file%f:%l"
    with viewing(ground, "--no-open", "--port", port, small_capture(ground),
                 env={"TIDEMARK_EDITOR": link}) as page:
        expect(page.port == port, f"port {page.port}")
        expect(page.facts()["editor"] == link, f"{page.facts()['editor']}")
        status = page.ask("", headers={})[0]
        expect(status == 302, f"without the slash: {status}")


@test
def view_listens_elsewhere(ground):
    with viewing(ground, "--no-open", "--listen", "0.0.0.0", small_capture(ground)) as page:
        for host, status in (("evil.example", 403), ("192.0.2.7", 200)):
            answer = page.ask("/facts", headers={"Host": f"{host}:{page.port}"})
            expect(answer[0] == status, f"{host}: {answer[0]}")
    expect("other machines" in page.stderr, page.stderr)


def as_nobody(page, url):
    """The status that another user gets, who may be in time for the ticket."""
    ask = ("import sys, urllib.request, urllib.error\n"
           "class Stay(urllib.request.HTTPRedirectHandler):\n"
           "    def redirect_request(self, *_): return None\n"
           "try: print(urllib.request.build_opener(Stay).open(sys.argv[1]).status)\n"
           "except urllib.error.HTTPError as e: print(e.code)\n")
    result = subprocess.run(["python3", "-c", ask, url], capture_output=True, text=True, cwd="/",
                            user=65534, group=65534, extra_groups=[], check=False)
    return result.stdout.strip() or result.stderr


@test
def view_crowded(ground):
    """Connections that anybody can make, silent or dribbling, and a flood of new ones."""
    with viewing(ground, "--no-open", small_capture(ground)) as page:
        there = ("127.0.0.1", page.port)
        crowd = [socket.create_connection(there) for _ in range(200)]
        for raw in crowd[::3]:
            with contextlib.suppress(OSError):
                raw.sendall(b"GET /")
        expect(page.facts()["version"] == 1, "200 connections shut the page out")
        ended = threading.Event()

        def flood():
            while not ended.is_set():
                with contextlib.suppress(OSError), socket.create_connection(there) as raw:
                    raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

        floods = [threading.Thread(target=flood) for _ in range(3)]
        for one in floods:
            one.start()
        try:
            for _ in range(20):
                expect(page.facts()["version"] == 1, "a flood shut the page out")
        finally:
            ended.set()
            for one in floods:
                one.join()
        for raw in crowd:
            raw.close()


@test
def view_opens_browser(ground):
    tide = small_capture(ground)
    seen = ground.scratch / "seen"
    browser = f"sleep 0.3; echo %s > {seen}.part; mv {seen}.part {seen}; sleep 60"
    env = {"BROWSER": browser, "SSH_CONNECTION": "1 2 3 4"}
    with viewing(ground, tide, env=env) as page:
        wait_for(seen.exists, "the browser")
        opened = seen.read_text().strip()
        match = re.fullmatch(rf"http://127\.0\.0\.1:{page.port}/([0-9a-f]{{32}})", opened)
        expect(match and match[1] != page.token, f"opened {opened}: others can read that")
        expect(page.ask("/facts", token=match[1])[0] == 404, "the ticket is a token")
        expect(page.ask("", token=match[1], headers={"Host": "evil.example"})[0] == 403, "Host")
        if os.geteuid() == 0:
            status = as_nobody(page, opened)
            expect(status == "403", f"another user's request for the ticket: {status}")
        got, headers, _ = page.ask("", token=match[1])
        there = f"/{page.token}/"
        expect(got == 302 and headers["Location"] == there, f"{got}: {dict(headers)}")
        got, headers, _ = page.ask("", token=match[1])
        expect(got == 410 and not headers["Location"], f"the ticket is still good: {got}")
        expect(page.facts()["version"] == 1, "the page is gone with the ticket")
    env = {"SSH_CONNECTION": "192.0.2.7 50022 192.0.2.9 2222", "USER": "me", "BROWSER": ""}
    with viewing(ground, tide, env=env) as page:
        pass
    way = f"run there: ssh -L {page.port}:127.0.0.1:{page.port} -p 2222 me@192.0.2.9\n"
    expect(page.stderr.endswith(way), page.stderr)
    seen.unlink()
    for env in ({"BROWSER": browser}, {"DISPLAY": ":99", "SSH_CONNECTION": "1 2 3 4"}):
        words = ["--no-open"] if "BROWSER" in env else []
        with viewing(ground, *words, tide, env=env):
            time.sleep(0.6)
        expect(not seen.exists(), f"a browser with {env}")


@test
def view_follows_file(ground):
    first = small_capture(ground, "first.tide")
    second = small_capture(ground, "second.tide", "kept[0] = malloc(70000); return 0;")
    shown = ground.scratch / "shown.tide"
    shown.write_bytes(first.read_bytes())
    with viewing(ground, "--no-open", shown) as page:
        tag = page.ask("/data/0")[1]["ETag"]
        peak = page.block()["totals"]["peak_bytes"]

        def replace(content):
            (ground.scratch / "part").write_bytes(content)
            (ground.scratch / "part").rename(shown)

        def note():
            return page.facts()["captures"][0]["note"]

        replace(second.read_bytes())
        wait_for(lambda: page.facts()["version"] == 2, "the second version")
        expect(page.block()["totals"]["peak_bytes"] > peak + 60000, "still the first")
        expect(page.ask("/data/0")[1]["ETag"] != tag, "the same tag")
        replace(b"rubbish" * 100)
        wait_for(lambda: page.facts()["version"] == 3, "a note")
        expect("last held" in note(), f"{note()}")
        expect(page.block()["totals"]["peak_bytes"] > peak + 60000, "what was shown is gone")
        shown.unlink()
        wait_for(lambda: page.facts()["version"] == 4, "another note")
        expect("gone" in note(), f"{note()}")
        expect(page.block()["totals"]["peak_bytes"] > peak + 60000, "what was shown is gone")
        replace(first.read_bytes())
        wait_for(lambda: page.facts()["version"] == 5, "the first again")
        expect(note() is None and page.block()["totals"]["peak_bytes"] == peak, "not the first")


@test
def view_detached(ground):
    tide = small_capture(ground)
    done = ground.run(ground.tidemark, "view", "--detach", "--no-open", tide)
    expect(done.status == 0, f"{done.status}: {done.stderr}")
    page = Page(done.stdout.strip())
    with ended(page):
        expect(page.facts()["version"] == 1, "not served")
