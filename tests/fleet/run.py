#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles in the hands of the servers that fleets have: pushed, scraped, and asked for again.

  tests/fleet/run.py [--tidemark PATH] [--filter REGEX] [--only NAME]…

Parca, Pyroscope, Prometheus and promtool are those of tools/fleet.py (engines.py). What comes back
is compared with what `tidemark report` says. Ends with the counts.
"""
import argparse
import contextlib
import csv
import gzip
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from engines import HOST, ROOT, documented, post, program, started
from parca import ALLOCATED, INUSE, parca, parca_points, parca_profile
import ground as grounds
import record
import otlp
from command_push import Sink
from command_serve import HOLDER, serving
from ground import expect, wait_for
from servers import free_port

FLEET_N = int(os.environ.get("TIDE_FLEET_N", "50"))
FLEET_SECONDS = int(os.environ.get("TIDE_FLEET_SECONDS", "20"))
# 32,769 stacks: one per way to come down 15 levels, and main's own.
WAYS = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
static void down(int level, int way);
__attribute__((noipa)) static void left(int level, int way) { down(level, way); }
__attribute__((noipa)) static void right(int level, int way) { down(level, way); }
__attribute__((noipa)) static void down(int level, int way)
{
  if (!level) kept = malloc(way % 3000 + 1);
  else if (way >> (level - 1) & 1) right(level - 1, way);
  else left(level - 1, way);
  __asm__ volatile("");
}
int main(void)
{
  kept = malloc(7);
  for (int way = 0; way < 1 << 15; way++) down(15, way);
  return 0;
}
"""
# 1,000 calls deep.
DEEP = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((noipa)) static void innermost(void) { kept = malloc(12345); }
__attribute__((noipa)) static void deeper(int n)
{
  if (n) deeper(n - 1);
  else innermost();
  __asm__ volatile("");
}
int main(void) { deeper(1500); return 0; }
"""


# Holds 1,000 blocks of 1,000 bytes, of which its profiler misses none.
GO_SERVICE = """package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
)

var kept [][]byte

//go:noinline
func hold() { kept = append(kept, make([]byte, 1000)) }

func main() {
	runtime.MemProfileRate = 1
	for i := 0; i < 1000; i++ {
		hold()
	}
	runtime.GC()
	runtime.GC()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	http.Serve(listener, nil)
}
"""


# ---- the servers ----

@contextlib.contextmanager
def pyroscope(ground):
    path, port = program("pyroscope"), free_port()
    folder = pathlib.Path(tempfile.mkdtemp(dir=ground.scratch))
    stores = ("ring", "distributor.ring", "compactor.ring", "query-scheduler.ring",
              "store-gateway.sharding-ring", "overrides-exporter.ring")
    words = [path, "-target=all", f"-server.http-listen-address={HOST}",
             f"-server.http-listen-port={port}", f"-server.grpc-listen-address={HOST}",
             f"-server.grpc-listen-port={free_port()}", f"-memberlist.bind-addr={HOST}",
             f"-memberlist.bind-port={free_port()}", f"-memberlist.advertise-addr={HOST}",
             f"-ingester.lifecycler.addr={HOST}", "-ingester.min-ready-duration=0s",
             f"-query-frontend.instance-addr={HOST}",
             *(f"-{name}.store=inmemory" for name in stores),
             *(f"-{name}.instance-addr={HOST}" for name in stores[1:]),
             "-pyroscopedb.data-path=./data", "-storage.backend=filesystem",
             "-storage.filesystem.dir=./shared", "-self-profiling.disable-push=true",
             "-usage-stats.enabled=false", "-log.level=warn"]
    with started(folder, words, f"http://{HOST}:{port}/ready"):
        yield f"http://{HOST}:{port}"


@contextlib.contextmanager
def collector(ground, backend):
    """An OpenTelemetry collector that passes on to a backend what it gets; gives its URL."""
    path, place = program("otelcol"), f"{HOST}:{free_port()}"
    folder = pathlib.Path(tempfile.mkdtemp(dir=ground.scratch))
    told = documented("receivers:", {}, "").replace("127.0.0.1:4318", place)
    (folder / "otelcol.yaml").write_text(told.replace("http://backend:4318", backend))
    (folder / "alone.yaml").write_text("service: {telemetry: {metrics: {level: none}}}\n")
    words = [path, "--feature-gates=service.profilesSupport", "--config=otelcol.yaml",
             "--config=alone.yaml"]
    with started(folder, words, f"http://{place}/v1development/profiles", wanted=405):
        yield f"http://{place}"


# ---- asking Pyroscope ----

def pyroscope_total(url, column, selector):
    """The sum over the last hour, and the names on the stacks."""
    now = int(time.time() * 1000)
    unit = "count" if column.endswith("objects") else "bytes"
    asked = {"profile_typeID": f"memory:{column}:{unit}:space:bytes", "labelSelector": selector,
             "start": now - 3600_000, "end": now + 60_000, "maxNodes": 1 << 20}
    told = json.loads(post(f"{url}/querier.v1.QuerierService/SelectMergeStacktraces",
                           json.dumps(asked).encode(), Content_Type="application/json"))
    graph = told.get("flamegraph") or {}
    return int(graph.get("total", 0)), set(graph.get("names", ()))


# ---- the tests ----

def push_once(ground, source, *targets, options=()):
    """Of a program that ends at once: one profile, at its end. Gives the totals of its report."""
    path = ground.build("pushed", source)
    words = [word for target in targets for word in ("--push", target)]
    done = ground.record(*words, *options, "-f", "-o", "x.tide", "--", path, timeout=120)
    expect("has all 1 profiles" in done.stderr, done.stderr[-600:])
    return ground.report("x.tide", "--sort", "live")["totals"]


def pyroscope_pushed(ground):
    """One snapshot is what the report says; what was allocated adds up over the pushes."""
    with pyroscope(ground) as url:
        options = ("--serve", f"{HOST}:0", "--push", f"pyroscope={url}", "--push-every", "1",
                   "--push-label", "region=eu")
        with serving(ground, options=options) as service:
            selector = '{service_name="holder",region="eu"}'
            wait_for(lambda: pyroscope_total(url, "inuse_space", selector)[0], "a profile", 60)
            service.tell("x" * 50)
            time.sleep(3)
        totals = ground.report("x.tide")["totals"]
        allocated, names = pyroscope_total(url, "alloc_space", selector)
        expect(allocated == totals["allocated_bytes"] == 155000, f"{allocated} {totals}")
        expect(pyroscope_total(url, "alloc_objects", selector)[0] == totals["allocations"], "count")
        expect({"hold", "use", "main"} <= names, f"{names}")
        totals = push_once(ground, WAYS, f"pyroscope={url}",
                           options=("--push-label", "service_name=once"))
        held, _ = pyroscope_total(url, "inuse_space", '{service_name="once"}')
        expect(held == totals["live_bytes"], f"{held} {totals}")


def pyroscope_limits(ground):
    """32,769 stacks and one of 1,500 frames are taken; sums are whole, the innermost are there."""
    with pyroscope(ground) as url:
        totals = push_once(ground, WAYS, f"pyroscope={url}")
        for column, key in (("inuse_space", "live_bytes"), ("inuse_objects", "live_blocks"),
                            ("alloc_space", "allocated_bytes")):
            value, names = pyroscope_total(url, column, '{service_name="pushed"}')
            expect(value == totals[key], f"{column}: {value} {totals}")
        expect("[other]" in names and "left" in names, f"{sorted(names)[:20]}")
        push_once(ground, DEEP, f"pyroscope={url}", options=("--push-label", "service_name=deep"))
        value, names = pyroscope_total(url, "inuse_space", '{service_name="deep"}')
        expect(value == 12345 and {"innermost", "[frames left out]"} <= names, f"{value} {names}")


def otlp_decoded(ground):
    """By the project's own code: every message is one, sums are the report's, names are there."""
    decoder = program("otlp")
    with Sink() as sink:
        totals = push_once(ground, WAYS, f"otlp={sink.url}")
        (_, _, body), = sink.requests
        done = subprocess.run([decoder], input=gzip.decompress(body), capture_output=True)
        expect(done.returncode == 0, done.stderr[-500:])
        told = json.loads(done.stdout)
        texts = told["dictionary"]["stringTable"]
        profiles = told["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]
        sums = {texts[one["sampleType"]["typeStrindex"]]:
                sum(int(sample["values"][0]) for sample in one["samples"]) for one in profiles}
        expect(sums == {"alloc_objects": totals["allocations"],
                        "alloc_space": totals["allocated_bytes"],
                        "inuse_objects": totals["live_blocks"],
                        "inuse_space": totals["live_bytes"]}, f"{sums} {totals}")
        expect(max(len(one["samples"]) for one in profiles) == 16000, "not cut")
        expect({"left", "right", "main", "[other]"} <= set(texts), f"{texts[:20]}")
        ours = otlp.Request(body)
        expect({one["type"][0]: one["sum"] for one in ours.profiles} == sums, "decoded otherwise")


def otlp_collected(ground):
    """Through a collector: every sample comes out with its stack and its value."""
    ways = WAYS.replace("1 << 15", "1 << 10").replace("down(15", "down(10")
    with Sink() as direct, Sink() as backend, collector(ground, backend.url) as url:
        totals = push_once(ground, ways, f"otlp={direct.url}", f"otlp={url}")
        wait_for(lambda: backend.requests, "what was passed on", 60)
        sent, got = ({one["type"][0]: sorted(one["samples"]) for _, _, body in sink.requests
                      for one in otlp.Request(body).profiles} for sink in (direct, backend))
        counts = {kind: len(samples) for kind, samples in sent.items()}
        expect(set(counts.values()) == {1025} and got == sent,
               f"{counts}, then {({kind: len(samples) for kind, samples in got.items()})}")
        expect(sum(value for _, value in got["inuse_space"]) == totals["live_bytes"], f"{totals}")


def parca_pushed(ground):
    """Each point is what was held then; what was allocated adds up."""
    with parca(ground) as url:
        options = ("--serve", f"{HOST}:0", "--push", f"parca={url}", "--push-every", "1")
        selector = '{service_name="holder"}'
        with serving(ground, options=options) as service:
            wait_for(lambda: parca_points(url, INUSE, selector), "a profile", 60)
            time.sleep(3)
            series = parca_points(url, INUSE, selector)
            expect(len(series) == 1 and len(series[0][1]) >= 2, f"{series}")
            expect(set(series[0][1]) == {100000}, f"of an idle program: {series}")
            service.tell("x" * 50)
        totals = ground.report("x.tide")["totals"]
        points = parca_points(url, ALLOCATED, selector)
        expect(sum(sum(values) for _, values in points) == totals["allocated_bytes"], f"{points}")
        # Of two points in one second Parca shows one, now this, now that.
        wait_for(lambda: parca_points(url, INUSE, selector)[0][1][-1] == totals["live_bytes"],
                 "what was held at the end", 30)
        (ground.scratch / "back.pb.gz").write_bytes(parca_profile(url, ALLOCATED, selector))
        rows = ground.run(ground.tidemark, "report", "--sort", "total", "--csv", "back.pb.gz")
        expect("hold," in rows.stdout and "use," in rows.stdout, rows.stdout + rows.stderr)
        totals = push_once(ground, WAYS, f"parca={url}")
        points = parca_points(url, INUSE, '{service_name="pushed"}')
        expect(points and points[0][1] == [totals["live_bytes"]], f"{points} {totals}")


def parca_uploaded(ground):
    """Names from files that were uploaded: what is pushed has addresses alone."""
    with parca(ground) as url:
        totals = push_once(ground, DEEP, f"parca={url}", options=("--push-debuginfo",))
        selector = '{service_name="pushed"}'

        def named():
            body = parca_profile(url, INUSE, selector)
            return b"innermost" in (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
        wait_for(named, "names", 120)
        (ground.scratch / "back.pb.gz").write_bytes(parca_profile(url, INUSE, selector))
        rows = ground.run(ground.tidemark, "report", "--sort", "live", "--csv", "back.pb.gz")
        expect("innermost," in rows.stdout, rows.stdout + rows.stderr)
        points = parca_points(url, INUSE, selector)
        expect(points[0][1] == [totals["live_bytes"]], f"{points} {totals}")
        again = ground.record("--push", f"parca={url}", "--push-debuginfo", "-f", "-o", "x.tide",
                              "--", ground.build("pushed", DEEP), timeout=120)
        expect("0 files with names were uploaded" in again.stderr, again.stderr[-600:])


def parca_scraped(ground):
    """An idle program scraped again and again: each point is what it holds, none twice that."""
    with serving(ground) as service:
        target = f"{HOST}:{service.port}"
        with parca(ground, {"held": target}, service.token) as url:
            wait_for(lambda: any(len(values) > 1 for _, values in parca_points(url, INUSE)),
                     "two scrapes", 60)
            points = parca_points(url, INUSE)
            expect(len(points) == 1 and set(points[0][1]) == {100000}, f"{points}")
            body = parca_profile(url, INUSE)
            text = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            expect(b"hold" in text, f"no name: {len(body)} bytes")


def parca_fleet(ground):
    """50 processes scraped by one: every point of each is exact, and the merged sum is theirs."""
    with contextlib.ExitStack() as stack:
        services = [stack.enter_context(serving(ground)) for _ in range(FLEET_N)]
        targets = {f"s{n}": f"{HOST}:{service.port}" for n, service in enumerate(services)}
        url = stack.enter_context(parca(ground, targets))
        ends = time.monotonic() + FLEET_SECONDS

        def is_enough():
            points = parca_points(url, INUSE)
            return (time.monotonic() > ends and len(points) == FLEET_N and
                    all(len(values) >= 3 for _, values in points))
        wait_for(is_enough, "three scrapes of each", FLEET_SECONDS + 120)
        until = int(time.time()) - 1
        points = parca_points(url, INUSE, until=until)
        expect(len({labels["service"] for labels, _ in points}) == FLEET_N, f"{len(points)}")
        expect({value for _, values in points for value in values} == {100000}, f"{points[:3]}")
        total = sum(sum(values) for _, values in points)
        (ground.scratch / "merged.pb.gz").write_bytes(parca_profile(url, INUSE, until=until))
        done = ground.run(ground.tidemark, "report", "--json", "merged.pb.gz")
        found = json.loads(done.stdout)["totals"]
        expect(total == found["live_bytes"], f"{total} {found}")
        print(f"# {FLEET_N} processes, {sum(len(values) for _, values in points)} points")


def prometheus_scraped(ground):
    with serving(ground) as service:
        path, port = program("prometheus"), free_port()
        folder = pathlib.Path(tempfile.mkdtemp(dir=ground.scratch))
        config = documented("scrape_configs:\n    - job_name: tidemark\n      static",
                            {"held": f"{HOST}:{service.port}"}, "1s")
        (folder / "p.yml").write_text("global: {scrape_interval: 1s}\n" + config)
        words = [path, "--config.file=p.yml", "--storage.tsdb.path=data",
                 f"--web.listen-address={HOST}:{port}"]
        with started(folder, words, f"http://{HOST}:{port}/-/ready"):
            def value(name):
                with urllib.request.urlopen(f"http://{HOST}:{port}/api/v1/query?query={name}",
                                            timeout=30) as answer:
                    told = json.loads(answer.read())["data"]["result"]
                return float(told[0]["value"][1]) if told else None
            wait_for(lambda: value("tidemark_heap_live_bytes"), "a scrape", 60)
            expect(value("tidemark_heap_live_bytes") == 100000, "live bytes")
            expect(value("tidemark_heap_allocations_total") == 1500, "allocations")
            service.tell("xxx")
            wait_for(lambda: value("tidemark_heap_live_blocks") == 1003, "the next scrape", 60)
        done = subprocess.run([program("promtool"), "check", "metrics"],
                              input=service.get("/metrics"), capture_output=True, check=False)
        expect(done.returncode == 0, f"{done.stdout!r} {done.stderr!r}")


def fetched(ground):
    """Several services at once, added up; go tool pprof says the same of one."""
    with contextlib.ExitStack() as stack:
        services = [stack.enter_context(serving(ground)) for _ in range(5)]
        places = [f"{HOST}:{service.port}" for service in services]
        done = ground.run(ground.tidemark, "fetch", *places, "-o", "sum.tide")
        expect(done.status == 0, done.stderr)
        totals = ground.report("sum.tide", "--sort", "live")["totals"]
        expect(totals["live_bytes"] == 5 * 100000, f"{totals}")


def fetched_of_go(ground):
    """A Go program with net/http/pprof: the same bytes as go tool pprof says, by the same name."""
    if not shutil.which("go"):
        raise record.Skip("no go here")
    (ground.scratch / "main.go").write_text(GO_SERVICE)
    (ground.scratch / "go.mod").write_text("module service\n\ngo 1.19\n")
    home = {"HOME": str(pathlib.Path.home()), "PPROF_TMPDIR": str(ground.scratch)}
    env = dict(ground.env, GOFLAGS="-buildvcs=false -p=1", CGO_ENABLED="0", **home)
    done = ground.run("go", "build", "-o", "service", ".", env=env, timeout=400)
    expect(done.status == 0, done.stderr)
    child = subprocess.Popen([ground.scratch / "service"], stdout=subprocess.PIPE, text=True)
    try:
        url = child.stdout.readline().strip()
        expect(ground.run(ground.tidemark, "fetch", url, "-o", "go.tide").status == 0, "fetch")
        found = ground.run(ground.tidemark, "report", "--sort", "live", "--csv", "go.tide").stdout
        rows = list(csv.DictReader(found.splitlines()))
        held = {row["function"]: int(row["live_bytes"]) for row in rows}
        done = ground.run("go", "tool", "pprof", "-top", "-unit=B", "-sample_index=inuse_space",
                          f"http://{url}/debug/pprof/heap", env=env, timeout=300)
        row = re.search(r"^ *(\d+)B .* main\.hold$", done.stdout, re.M)
        expect(row and int(row[1]) == held.get("main.hold"), f"{done.stdout[:600]} {held}")
        done = ground.run(ground.tidemark, "diff", "--json", "--sort", "live", url, "--seconds",
                          "1")
        expect(done.status == 0, done.stderr)
    finally:
        child.kill()
        child.communicate()


def block_of(first_line, until):
    """Lines of docs/production.md from one to before another, as they are in a file."""
    text = (ROOT / "docs/production.md").read_text(encoding="utf-8")
    found = re.search(rf"^    {re.escape(first_line)}.*?(?=^{re.escape(until)})", text, re.M | re.S)
    expect(found, f"docs/production.md has no {first_line}")
    return "\n".join(line[4:] for line in found[0].splitlines()) + "\n"


def unit_of_systemd(ground):
    """The unit of the documentation is one, and its command line runs, ends and says how."""
    unit = block_of("[Unit]", "`KillMode=mixed`")
    server = ground.build("holder", HOLDER)
    unit = unit.replace("/usr/local/bin/tidemark", str(ground.tidemark))
    unit = unit.replace("/usr/local/bin/server", str(server))
    (ground.scratch / "server.service").write_text(unit)
    if shutil.which("systemd-analyze"):
        done = ground.run("systemd-analyze", "verify", "--man=no",
                          str(ground.scratch / "server.service"))
        expect(done.status == 0 and "server.service" not in done.stderr, done.stderr)
    (ground.scratch / "parca").write_text("s3cret\n")
    with Sink() as sink:
        line = re.search(r"^ExecStart=(.*)", unit, re.M)[1].replace("127.0.0.1:6060", "127.0.0.1:0")
        line = line.replace("http://127.0.0.1:7070", sink.url)
        folder = str(ground.scratch)
        for name in "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY":
            line = line.replace(f"${{{name}}}", folder)
        child = subprocess.Popen(shlex.split(line), cwd=folder, env=ground.env, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        try:
            expect(child.stdout.readline() == "ready\n", "not ready")
            child.send_signal(signal.SIGTERM)
            status, err = child.wait(60), child.stderr.read()
        finally:
            if child.poll() is None:
                child.kill()
            child.communicate()
        expect(status == -signal.SIGTERM, f"{status}: {err}")
        expect((ground.scratch / "server.tide").exists(), "no capture")
        expect(sink.requests[0][1]["Authorization"] == "Bearer s3cret", "no token")


def sidecar_of_kubernetes(ground):
    """The commands of the documentation's pod, with its folders: the sidecar answers."""
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise record.Excused("no PyYAML here") from None
    pod = yaml.safe_load(block_of("apiVersion: v1", "With `shareProcessNamespace`"))["spec"]
    expect({v["name"] for v in pod["volumes"]} ==
           {m["name"] for c in pod["initContainers"] + pod["containers"]
            for m in c["volumeMounts"]}, "a volume that nobody has, or everybody lacks")
    library, (server, sidecar) = pod["initContainers"][0], pod["containers"]
    environment = dict(ground.env)

    def placed(word):
        for mount in ("/library", "/run/heap", "/run/profiling"):
            word = word.replace(mount, str(ground.scratch / mount.rsplit("/", 1)[1]))
        word = word.replace("/usr/local/lib/tidemark", str(ground.tidemark.parent))
        return word.replace("0.0.0.0:6060", "127.0.0.1:0")
    for name in "library", "heap", "profiling":
        (ground.scratch / name).mkdir()
    (ground.scratch / "profiling/token").write_text("s3cret-and-long-enough\n")
    done = ground.run(*map(placed, library["command"]))
    expect(done.status == 0, done.stderr)
    for row in server["env"]:
        environment[row["name"]] = placed(row["value"])
    child = subprocess.Popen([ground.build("holder", HOLDER)], env=environment, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    words = [str(ground.tidemark)] + [placed(word) for word in sidecar["command"][1:]]
    beside = subprocess.Popen(words, env=ground.env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        expect(child.stdout.readline() == "ready\n", "not ready")
        line = beside.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", line)
        expect(url, f"no address: {line}")
        request = urllib.request.Request(f"{url[0]}/metrics",
                                         headers={"Authorization": "Bearer s3cret-and-long-enough"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read().decode()
        expect("tidemark_heap_live_bytes 100000\n" in text, text[:500])
        expect("process_resident_memory_bytes" in text, text[:500])
    finally:
        for process in child, beside:
            process.kill()
            process.communicate()


CASES = (unit_of_systemd, sidecar_of_kubernetes, otlp_decoded, otlp_collected, fetched,
         fetched_of_go, prometheus_scraped, pyroscope_pushed, pyroscope_limits, parca_pushed,
         parca_uploaded, parca_scraped, parca_fleet)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--tidemark", type=pathlib.Path, default=ROOT / "build/tidemark")
    options = parser.parse_args()
    options.tidemark = options.tidemark.resolve()
    options.library = None
    tally = record.Tally()
    for case in CASES:
        if not record.is_chosen(options, case.__name__):
            continue
        with tempfile.TemporaryDirectory(prefix="tidemark-fleet-") as scratch:
            tally.run(case.__name__, lambda c=case, s=scratch: c(grounds.Ground(options, s)))
    return tally.close()


if __name__ == "__main__":
    os.environ.pop("TIDEMARK_PUSH_TOKEN", None)
    sys.exit(main())
