#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that runs for days, at once and for minutes: is anything lost, does anything grow?

  tests/soak/run.py [--tidemark PATH] [--seconds N] [--docs]

Fifty processes of worker.c, which keep count of what they allocate. Twelve are recorded exactly and
twelve by samples, both served, pushed and dumped, while processes end and others begin; the others
run alone, and tidemark is put on one after the other and taken off again. Meanwhile profiles are
scraped, moments are marked, and the server that is pushed to is out of order for a while. At every
moment and in the end the numbers must be those of the workers, to the byte; where samples tell,
within six standard errors. No supervisor may grow from the second quarter to the end. Ends with the
counts; --docs writes docs/soak.md.
"""
import argparse
import concurrent.futures
import contextlib
import dataclasses
import gzip
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import record  # noqa: E402
import report_json  # noqa: E402
import servers  # noqa: E402
from command_push import Sink, numbers_of, take  # noqa: E402
from command_serve import Service  # noqa: E402
from ground import expect, finish, wait_for  # noqa: E402

RECORDED, ALONE = 12, 26  # of one moment 16 processes are pushed, those that ended with them
PLACES = ("small", "medium", "large", "grown")
THREADS, WORDS = 2, 6  # of struct account in worker.c
STRANGERS = 16  # allocations of libc in a process, for its threads
LOOK_SECONDS = 10
ATTACHED_SECONDS = 8
DUMPS = 5
PUSH_SECONDS, OUTAGE_SECONDS = 5, 15  # or a look longer: eight pushes may wait
GROWTH_BYTES = 4 << 20
KEPT_BYTES = 1 << 19  # of a process that ended
SAMPLE = 64 << 10


@dataclasses.dataclass
class Ledger:
    """Sums over threads or processes."""
    begun: int = 0
    begun_bytes: int = 0
    done: int = 0
    done_bytes: int = 0
    live: int = 0
    live_bytes: int = 0

    def add(self, words):
        for name, word in zip(vars(self), words):
            setattr(self, name, getattr(self, name) + word)


class Account:
    """What a worker says of itself, in a file that it has mapped."""

    def __init__(self, path):
        self.path, self.pid = path, int(path.name)

    def ledger(self):
        words = struct.unpack_from(f"<{THREADS * WORDS}Q", self.path.read_bytes(), 24)
        sums = Ledger()
        for thread in range(THREADS):
            sums.add(words[thread * WORDS:][:WORDS])
        return sums

    def head(self):
        return struct.unpack_from("<3Q", self.path.read_bytes())

    def has_ended(self):
        return self.head()[2] != 0

    def write_pause(self, value):
        with open(self.path, "r+b") as file:
            file.write(struct.pack("<Q", value))

    @contextlib.contextmanager
    def at_rest(self):
        self.write_pause(1)
        wait_for(lambda: self.head()[1] == THREADS, f"the threads of {self.pid} to rest", 60)
        try:
            yield
        finally:
            self.write_pause(0)


class Family:
    """A worker with its children, started by `words`."""

    def __init__(self, soak, name, words, number, life):
        self.name, self.place = name, soak.scratch / name
        self.place.mkdir()
        command = [*words, soak.worker, self.place, number, life]
        self.child = subprocess.Popen([str(word) for word in command], cwd=soak.scratch,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.resident = []

    def accounts(self):
        return [Account(path) for path in sorted(self.place.iterdir()) if path.name.isdigit()]

    def running(self):
        return [account for account in self.accounts() if not account.has_ended()]

    def ledger(self):
        sums = Ledger()
        for account in self.accounts():
            sums.add(vars(account.ledger()).values())
        return sums

    def measure(self):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        self.resident.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024)

    def grew(self):
        """Bytes from the second quarter's most to the last quarter's."""
        quarter = len(self.resident) // 4
        return max(self.resident[-quarter:]) - max(self.resident[quarter:2 * quarter])

    def end(self):
        os.kill(self.master_pid(), signal.SIGTERM)
        status, _, err = finish(self.child, 120)
        expect(status == 0, f"{self.name} ended with {status}: {err[-500:]}")

    def close(self):
        """Of what did not end well nothing is left."""
        if self.child.poll() is None:
            for account in self.accounts():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(account.pid, signal.SIGKILL)
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.communicate()

    def master_pid(self):
        """The worker itself, also where tidemark is its parent."""
        children = pathlib.Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children")
        first = children.read_text().split()[0]
        is_master = self.child.args[0].endswith("/worker")
        return self.child.pid if is_master else int(first)


class Recorded(Family):
    """A family under `tidemark run`, with all that goes with it."""

    def __init__(self, soak, name, *options):
        self.sink = Sink()
        self.capture = soak.scratch / f"{name}.tide"
        super().__init__(soak, name, [
            soak.tidemark, "run", "-f", "-o", self.capture, "--serve", "127.0.0.1:0",
            "--push", f"pyroscope={self.sink.url}", "--push-every", str(PUSH_SECONDS),
            "--dump-every", f"{max(soak.seconds // 12, 2)}s", "--dump-keep", str(DUMPS),
            *options, "--"], RECORDED, 5 * soak.seconds // 2)  # a half of the time
        self.service = Service(self.child)
        self.n_looks = self.n_refused = 0

    def look(self):
        """What is told over HTTP of those that run: between what was done before and what is begun
        after."""
        before = {account.pid: account.ledger().done for account in self.running()}
        told = self.service.metrics("?process=all")
        profile = numbers_of_heap(self.service.get("/debug/pprof/allocs?process=all"))
        least = sum(before.get(account.pid, 0) for account in self.running())
        most = sum(account.ledger().begun + STRANGERS for account in self.accounts()
                   if account.pid in before or not account.has_ended()) + STRANGERS
        self.measure()
        self.n_looks += 1
        if told["tidemark_sample_interval_bytes"]:
            return
        for what, found in (("metrics", told["tidemark_heap_allocations_total"]),
                            ("profile", profile["alloc_objects"])):
            expect(least <= found <= most, f"{self.name}: {what} say {found} allocations, the "
                   f"workers {least} to {most}")

    def refuse(self, handler):
        """What was not taken does not count, and comes again."""
        self.sink.requests.pop()
        self.n_refused += 1
        servers.reply(handler, 503, b"out of order")

    def pushed(self, column):
        return sum(columns.get(column, 0) for _, columns, _, _, _ in self.sink.profiles())

    def close(self):
        super().close()
        self.sink.__exit__()


def numbers_of_heap(body):
    return numbers_of(gzip.decompress(body))[0]


class Soak:
    def __init__(self, options, scratch):
        self.tidemark = str(pathlib.Path(options.tidemark).resolve())
        self.seconds = options.seconds
        self.scratch = pathlib.Path(scratch)
        self.worker = self.scratch / "worker"
        subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-pthread", "-o", self.worker,
                        HERE / "worker.c"], check=True)
        self.cycles = {"at rest": 0, "at work": 0}
        self.n_marks = 0

    def report(self, path, *options):
        done = subprocess.run([self.tidemark, "report", "--json", "--all", *options, path],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"report of {path}: {done.stderr[-300:]}")
        return report_json.loads(done.stdout)

    def info(self, path):
        done = subprocess.run([self.tidemark, "info", "--json", path], capture_output=True,
                              text=True)
        expect(done.returncode == 0, f"info of {path}: {done.stderr[-300:]}")
        return json.loads(done.stdout)

    def of_workers(self, path, *options):
        """(allocations, bytes, live blocks, live bytes) of the workers' own places."""
        sites = [site for site in self.report(path, *options)["sites"]
                 if site["culprit"] is not None
                 and site["frames"][site["culprit"]]["function"] in PLACES]
        return tuple(sum(site[name] for site in sites)
                     for name in ("allocations", "bytes", "live_blocks", "live_bytes"))

    def attach_in_turns(self, alone, until):
        """Put on each and taken off again; every second time while it rests: exact to the byte."""
        accounts = alone.accounts()
        while time.monotonic() < until:
            for kind in self.cycles:
                account = accounts[sum(self.cycles.values()) % len(accounts)]
                rests = account.at_rest if kind == "at rest" else contextlib.nullcontext
                with rests():
                    before = account.ledger()
                    child = self.attach(account.pid)
                    first = account.ledger()
                time.sleep(ATTACHED_SECONDS)
                with rests():
                    last = account.ledger()
                    child.send_signal(signal.SIGINT)
                    status, _, err = finish(child, 120)
                    after = account.ledger()
                expect(status == 0, f"detach: {status}: {err}")
                found = self.of_workers(self.scratch / "turn.tide")[:2]
                for what, value, least, most in (
                        ("allocations", found[0], last.done - first.begun,
                         after.begun - before.done),
                        ("bytes", found[1], last.done_bytes - first.begun_bytes,
                         after.begun_bytes - before.done_bytes)):
                    expect(least <= value <= most, f"attached {kind}: {value} {what}, the worker "
                           f"says {least} to {most}")
                self.cycles[kind] += 1

    def attach(self, pid):
        child = subprocess.Popen([self.tidemark, "attach", "-f", "-o", self.scratch / "turn.tide",
                                  str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        line = child.stderr.readline()
        if "recording process" not in line:
            raise record.Failure(f"does not attach: {line}{child.stderr.read()}")
        return child

    def mark(self, family):
        subprocess.run([self.tidemark, "ctl", str(family.master_pid()), "mark",
                        f"look {family.n_looks}"], check=True, capture_output=True)
        self.n_marks += 1

    def look_around(self, families, until):
        """The sinks are out of order from a third of the time on, for as long as what is pushed can
        wait for them."""
        begun = time.monotonic()
        while (now := time.monotonic()) < until:
            out_since = now - begun - self.seconds / 3
            is_out = 0 < out_since < OUTAGE_SECONDS
            for family in families:
                family.sink.answer = family.refuse if is_out else take
                family.look()
                self.mark(family)
            time.sleep(max(0, min(LOOK_SECONDS, until - time.monotonic())))

    def check_exact(self, family):
        """Every process of the capture against its own account."""
        images = {image["pid"]: image for image in self.info(family.capture)["images"]}
        for account in family.accounts():
            image, truth = images[account.pid], account.ledger()
            if not image["complete"] or image["lost_full"] or image["lost_busy"]:
                told = self.report(family.capture, "--process", str(account.pid))
                raise record.Failure(f"{account.pid} is not complete: {told['completeness']}, "
                                     f"{image}")
            found = self.of_workers(family.capture, "--process", str(account.pid))
            wanted = (truth.done, truth.done_bytes, truth.live, truth.live_bytes)
            expect(found == wanted, f"process {account.pid}: {found}, it says {wanted}")
        return len(family.accounts())

    def check_sampled(self, family):
        """Of all processes together, within what is stated."""
        found = [self.report(family.capture, "--process", str(account.pid))["totals"]
                 for account in family.accounts()]
        total = sum(totals["allocated_bytes"] for totals in found)
        error = sum(totals["allocated_bytes_error"] ** 2 for totals in found) ** 0.5
        truth = family.ledger().done_bytes
        off = abs(total - truth) / error
        expect(off < 6, f"{total} bytes by samples, in truth {truth}: {off:.1f} standard errors")
        return off

    def check_dumps(self, family):
        dumps = sorted(self.scratch.glob(f"{family.name}.[0-9]*.tide"))
        expect(1 <= len(dumps) <= DUMPS, f"{family.name}: {len(dumps)} dumps")
        for dump in dumps:
            expect(self.info(dump)["capture"]["finished"], f"{dump.name} is not finished")
        return len(dumps)

    def check_pushes(self, family):
        """What was sent, piece by piece, is what the capture has, whatever was refused."""
        wanted = sum(allocator["allocated_bytes"]
                     for image in self.info(family.capture)["images"]
                     for allocator in image["allocators"])
        found = family.pushed("alloc_space")
        expect(found == wanted, f"{family.name}: {found} bytes pushed, {wanted} recorded")
        expect(family.n_refused, f"{family.name}: nothing was refused")
        return len(family.sink.requests)

    def check_growth(self, family):
        ended = len(family.accounts()) - RECORDED
        grown = family.grew()
        expect(grown <= GROWTH_BYTES + ended * KEPT_BYTES,
               f"{family.name}: tidemark grew by {grown} bytes: {family.resident}")
        return max(family.resident)


def tell(soak, exact, sampled, alone):
    """Each row: what was asked, and what was found; raises where it is not so."""
    yield "processes recorded exactly, each equal to its own count to the byte", \
        f"{soak.check_exact(exact)} ({exact.ledger().done:,} allocations)"
    yield "processes recorded by samples, their sum off by", \
        f"{soak.check_sampled(sampled):.1f} standard errors ({len(sampled.accounts())} processes)"
    yield "attached and let go at rest, equal to the byte", f"{soak.cycles['at rest']} times"
    yield "attached and let go at work, within what the worker did", \
        f"{soak.cycles['at work']} times"
    yield "scrapes of metrics and profile, each between what was done and what was begun", \
        f"{exact.n_looks} (and {sampled.n_looks} of samples)"
    for family in (exact, sampled):
        yield f"pushes taken, {family.name}; together what the capture has, to the byte", \
            f"{soak.check_pushes(family)} ({family.n_refused} refused meanwhile and sent again)"
        yield f"dumps kept, {family.name}, each finished", \
            f"{soak.check_dumps(family)} of {DUMPS} at most"
        yield f"tidemark at most, {family.name}", f"{soak.check_growth(family) / 2**20:.1f} MiB"
        yield f"of that, grown since the second quarter, {family.name}", \
            f"{max(family.grew(), 0) / 2**20:.1f} MiB"
    yield "allocations of the workers that were not recorded all the time", \
        f"{alone.ledger().done:,}"


def run(soak):
    """Gives the rows of the table."""
    with contextlib.ExitStack() as stack:
        exact, sampled, alone = (stack.enter_context(contextlib.closing(family)) for family in (
            Recorded(soak, "exact"), Recorded(soak, "sampled", f"--sample={SAMPLE}"),
            Family(soak, "alone", [], ALONE, 0)))
        wait_for(lambda: len(alone.accounts()) == ALONE, "all workers", 60)
        until = time.monotonic() + soak.seconds
        with concurrent.futures.ThreadPoolExecutor() as pool:
            turns = pool.submit(soak.attach_in_turns, alone, until)
            soak.look_around((exact, sampled), until)
            turns.result()
        for family in (alone, exact, sampled):
            family.end()
        for asked, found in tell(soak, exact, sampled, alone):
            print(f"ok {asked}: {found}", flush=True)
            yield asked, found


def write_docs(seconds, rows):
    table = "".join(f"| {asked} | {found} |\n" for asked, found in rows)
    (ROOT / "docs/soak.md").write_text(f"""# The soak

Written by `tests/soak/run.py --docs`: all that runs for days, at once, for {seconds // 60} minutes.
{RECORDED} processes are recorded exactly and {RECORDED} by samples (one for {SAMPLE >> 10} KiB),
both families served, pushed to a server that is out of order for a while, and dumped, while
processes end and others begin; {ALONE} run alone, and tidemark is put on one after the other and
taken off again. All keep count themselves, and what tidemark tells must be that. What is grown is
what is kept of processes that ended, and of moments.

| What | Seen |
|---|---|
{table}""")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tidemark", default=ROOT / "build/tidemark")
    parser.add_argument("--seconds", type=int,
                        default=int(os.environ.get("TIDE_SOAK_SECONDS", "600")))
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="tidemark-soak-") as scratch:
        try:
            rows.extend(run(Soak(options, scratch)))
        except record.Failure as failure:
            print(f"FAILED soak: {failure}\n{len(rows)} passed, 1 failed")
            return 1
    if options.docs:
        write_docs(options.seconds, rows)
    print(f"{len(rows)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
