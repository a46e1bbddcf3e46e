# SPDX-License-Identifier: Apache-2.0
"""A service with a slow leak: docs/case-studies/orders.md."""
import contextlib
import pathlib
import re
import shutil
import signal
import subprocess
import time
import urllib.request

from engines import status
from ground import wait_for
from parca import INUSE, parca, parca_changes, parca_series
from peers import highest_rss
from record import Excused
from servers import free_port
from stage import Figure

HOST = "127.0.0.1"
REQUESTS, CONNECTIONS, GONE_EVERY = 5000, 4, 50
TRACE_BYTES = 16384
LEFT = REQUESTS // GONE_EVERY


def told(stage, name, command, said, ports, loose=()):
    """A block of the page: what was typed and said, with the ports anybody would have taken."""
    for port, other in ports.items():
        said = said.replace(f"{HOST}:{port}", f"{HOST}:{other}")
    text = f"\n```console\n$ {command}\n{said.rstrip()}\n```\n"
    stage.figures[name] = Figure(text, loose=loose)


def heap(port):
    with urllib.request.urlopen(f"http://{HOST}:{port}/debug/pprof/heap", timeout=60) as answer:
        return answer.read()


@contextlib.contextmanager
def service(stage, *words, prefix=(), program="./orders"):
    """The process and the port, until the end of the block."""
    child = subprocess.Popen([*prefix, program, f"{HOST}:0", *words], cwd=stage.scratch,
                             env=stage.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    try:
        line = child.stdout.readline()
        stage.expect(line.startswith("listening on"), f"the service does not come: {line!r}")
        yield child, int(line.rsplit(":", 1)[1])
    finally:
        child.terminate()
        child.wait(60)
        child.stdout.close()


def load(stage, port, requests=REQUESTS, *more):
    said = stage.run("./orders-load", f"{HOST}:{port}", str(requests), str(CONNECTIONS), *more)
    wanted = f"{requests} requests, {requests // GONE_EVERY} not found;"
    stage.expect(said.startswith(wanted), said)
    time.sleep(0.3)  # its connections are closed on the other side, too
    return said


def change_of(stage, function, *sides):
    """Bytes and blocks that a place holds more of."""
    found = stage.json("diff", "--json", *sides)["places"]
    return next(((row["change_bytes"], row["change_blocks"]) for row in found
                 if (row["function"] or "").endswith(function)), None)


# ---- two scrapes ----

def scrapes(stage):
    serve = free_port()
    prefix = ("tidemark", "run", "-q", "--serve", f"{HOST}:{serve}", "-o", "orders.tide", "--")
    with service(stage, prefix=prefix) as (_, port):
        ports, asked = {serve: 6060, port: 8080}, f"{HOST}:{serve}"
        told(stage, "load", "./orders-load 127.0.0.1:8080 5000", load(stage, port), ports,
             loose=(r"; .*",))
        stage.run("tidemark", "fetch", asked, "-o", "first.tide")
        (stage.scratch / "first.pb.gz").write_bytes(heap(serve))
        ranked = stage.run("tidemark", "report", "--sort", "live", "-n", "2", "first.tide")
        told(stage, "first", "tidemark fetch 127.0.0.1:6060 -o first.tide && "
             "tidemark report --sort live -n 2 first.tide", ranked, ports,
             loose=(r"\(?\d[\d.,]* (?:[KM]iB|%)\)?", r"(?s)in \d+ more places.*",
                    r"\d[\d,.]* M? ?(?:allocations|blocks)"))
        load(stage, port)
        said = stage.run("tidemark", "diff", "first.tide", asked)
        change = change_of(stage, "orders::Trace::new", "first.tide", asked)
        told(stage, "diff", "tidemark diff first.tide 127.0.0.1:6060", said, ports,
             loose=(r"(?s)before .*?held at", r"\d[\d.]* [KM]iB  *\d[\d.]* [KM]iB",
                    r"(?s)▲ [\d.]* KiB +\S+ KiB.*"))
        with_go(stage, serve, ports)
        with_parca(stage, serve, port)
    stage.expect(change == (LEFT * TRACE_BYTES, LEFT), f"{change}")
    stage.figure("left", f"{LEFT * TRACE_BYTES:,} bytes")
    stage.figure("requests", REQUESTS)
    stage.figure("n.left", LEFT)
    stage.figure("trace", f"{TRACE_BYTES:,} bytes")
    stage.expect(ranked.find("orders::Shop::open") < ranked.find("orders::Trace::new"), ranked)
    stage.html("orders.tide")


def with_go(stage, serve, ports):
    """Google's pprof on the same two scrapes."""
    if not shutil.which("go"):
        stage.expect(False, "no go here")
    words = ["go", "tool", "pprof", "-top", "-show=orders::", "-unit=KB", "-base", "first.pb.gz"]
    said = stage.run(*words, f"http://{HOST}:{serve}/debug/pprof/heap",
                     env={"PPROF_TMPDIR": str(stage.scratch), "HOME": str(pathlib.Path.home())})
    rows = "\n".join(said.splitlines()[-4:])
    stage.expect(re.search(rf"^ *{LEFT * TRACE_BYTES // 1024}kB .* orders::Trace::new", rows, re.M),
                 said)
    told(stage, "pprof", f"curl -s {HOST}:6060/debug/pprof/heap > first.pb.gz      # before\n$ "
         f"{' '.join(words)} http://{HOST}:6060/debug/pprof/heap", rows, ports,
         loose=(r"\d[\d.]*%", r"\d+\.\d+kB", r"(?<= )16\d\dkB|(?<= )0(?= )"))


def with_parca(stage, serve, port):
    """Two points of the series that Parca keeps, compared by Parca."""
    selector, points = '{service="orders"}', []

    def next_point(url):
        """Of a scrape that begins now or later, while nothing is asked of the service."""
        since = time.time_ns()

        def later():
            return [point for _, series in parca_series(url, INUSE, selector) for point in series
                    if point[0] > since]
        wait_for(later, "a scrape", 60)
        return later()[0]
    try:
        with parca(stage, {"orders": f"{HOST}:{serve}"}) as url:
            points.append(next_point(url))
            load(stage, port)
            points.append(next_point(url))
            (before_ns, before), (after_ns, after) = points
            change = parca_changes(url, INUSE, selector, before_ns, after_ns)
    except Excused as why:
        stage.without({"parca.before", "parca.after", "parca.change"}, why)
        return
    stage.expect(change.get("orders::Trace::new") == LEFT * TRACE_BYTES, f"{change}")
    stage.size("parca.before", before, within=0.02)
    stage.size("parca.after", after, within=0.02)
    stage.figure("parca.change", f"{change['orders::Trace::new']:,} bytes")


# ---- a service that runs already ----

def served(stage):
    """The same two scrapes of one that was attached to."""
    serve = free_port()
    with service(stage) as (child, port):
        beside = subprocess.Popen(["tidemark", "attach", "-q", "--serve", f"{HOST}:{serve}", "-o",
                                   "served.tide", str(child.pid)], cwd=stage.scratch,
                                  env=stage.env, stderr=subprocess.DEVNULL)
        try:
            # While nothing happens there is nothing to tell, which is a 503.
            wait_for(lambda: status(f"http://{HOST}:{serve}/metrics") in (200, 503), "attaching")
            load(stage, port)
            stage.run("tidemark", "fetch", f"{HOST}:{serve}", "-o", "first-served.tide")
            load(stage, port)
            change = change_of(stage, "orders::Trace::new", "first-served.tide", f"{HOST}:{serve}")
        finally:
            beside.send_signal(signal.SIGINT)
            ended = beside.wait(60)
        stage.expect(ended == 0 and child.poll() is None, f"it ended with {ended}")
    stage.expect(change == (LEFT * TRACE_BYTES, LEFT), f"{change}")


def attached(stage):
    with service(stage) as (child, port):
        client = subprocess.Popen(["./orders-load", f"{HOST}:{port}", "14000", str(CONNECTIONS),
                                   "4000"], cwd=stage.scratch, env=stage.env,
                                  stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        stage.run("tidemark", "attach", "-q", "--for", "2s", "-o", "attached.tide", str(child.pid))
        stage.expect(client.wait(60) == 0, "requests were lost")
        stage.expect(child.poll() is None, "the service did not survive it")
    found = stage.json("explain", "--json", "attached.tide")["findings"][0]
    stage.expect(found["rule"] == "growth" and "orders::Trace::new, src/main.rs:" in
                 found["sentence"], f"{found}")
    told(stage, "attached", "tidemark attach -q --for 2s -o attached.tide $(pidof orders) && "
         "tidemark explain attached.tide", stage.run("tidemark", "explain", "attached.tide"), {},
         loose=(r"saves up to.*? of", r"only grows:(?s:.*?)If it"))
    stage.picture("attached.tide")


def repaired(stage):
    serve = free_port()
    prefix = ("tidemark", "run", "-q", "--serve", f"{HOST}:{serve}", "-o", "fixed.tide", "--")
    with service(stage, "fixed", prefix=prefix) as (_, port):
        load(stage, port)
        stage.run("tidemark", "fetch", f"{HOST}:{serve}", "-o", "first-fixed.tide")
        load(stage, port)
        change = change_of(stage, "orders::Trace::new", "first-fixed.tide", f"{HOST}:{serve}")
    stage.expect(change in (None, (0, 0)), f"it still grows by {change}")


def hunt(stage):
    stage.crate("orders", "orders-load")
    scrapes(stage)
    attached(stage)
    served(stage)
    repaired(stage)


# ---- the same with other tools ----

def measured(stage, program, prefix, ask):
    """The most memory of a process, and what ask(port) gave after each of three loads."""
    with service(stage, prefix=prefix, program=program) as (child, port):
        scraped = []
        for _ in range(3):
            load(stage, port)
            scraped += [ask(port)] if ask else []
        most = highest_rss(child.pid)
    return most, scraped


def told_by_pprof(stage, first, second):
    """What go tool pprof has of the line in the second of two profiles that is not in the first."""
    for name, body in ("one.pb.gz", first), ("two.pb.gz", second):
        (stage.scratch / name).write_bytes(body)
    said = stage.run("go", "tool", "pprof", "-top", "-nodecount=1000", "-unit=B", "-base",
                     "one.pb.gz", "./orders-jemalloc-pprof", "two.pb.gz",
                     env={"PPROF_TMPDIR": str(stage.scratch), "HOME": str(pathlib.Path.home())})
    # From addresses pprof has short names of this program, and none of what was inlined.
    for name in r"orders::Trace::new( \(inline\))?", "begin":
        row = re.search(rf"^ *\S+ +\S+ +\S+ +(-?\d+)B +\S+ +{name}$", said, re.M)
        if row:
            return int(row[1])
    return 0


def peers(stage):
    stage.crate("orders", features=("jemalloc-pprof",))
    stage.crate("orders", "orders-load")
    serve = free_port()
    run = ("tidemark", "run", "-q", "-f", "--serve", f"{HOST}:{serve}", "-o", "peer.tide")
    sampled = (*run, "--sample", "--")
    rows = ["| Tool | What it took | Memory | What the second scrape had more, and the third |",
            "|---|---|---:|---|"]
    for name, took, program, prefix, ask in (
            ("none", "", "./orders", (), None),
            ("tidemark", "`tidemark run --serve 6060`", "./orders", (*run, "--"),
             lambda _: heap(serve)),
            ("tidemark, sampled", "`tidemark run --sample --serve 6060`", "./orders", sampled,
             lambda _: heap(serve)),
            ("jemalloc_pprof", "two crates, a feature, `malloc_conf`, a route; a build; the "
             "program's file for names", "./orders-jemalloc-pprof", (), heap)):
        most, scraped = measured(stage, program, prefix, ask)
        more = [f"{told_by_pprof(stage, *pair):,}" for pair in zip(scraped, scraped[1:])]
        rows.append(f"| {name} | {took} | {most / 2**20:.1f} MiB | " +
                    (f"{more[0]} bytes, then {more[1]}" if more else "") + " |")
    return "\n".join(rows)
