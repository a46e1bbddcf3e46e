# SPDX-License-Identifier: Apache-2.0
"""tidemark serve: profilers are answered for programs that were started with LD_PRELOAD alone."""
import concurrent.futures
import contextlib
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import record
from command_serve import HOLDER, Service, as_nobody, fields, profile_of
from ground import expect, finish, test, wait_for

# Threads that allocate and free without rest, until they are told to end.
RESTLESS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int stop;
static void *work(void *arg)
{
  void *p[64] = {0};
  for (unsigned i = 0; !stop; i++) {
    free(p[i % 64]);
    p[i % 64] = malloc(100);
  }
  return arg;
}
int main(void)
{
  pthread_t t[4];
  char c;
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, NULL);
  if (write(1, "ready\\n", 6) != 6) return 1;
  while (read(0, &c, 1) > 0) continue;
  stop = 1;
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  return 4;
}
"""


class Bare:
    """A program with the library preloaded; its store is in a folder."""

    def __init__(self, ground, program, folder, *arguments, before=()):
        env = dict(ground.env, LD_PRELOAD=str(ground.library),
                   TIDEMARK_OPTIONS=f"out={folder}/%n.%p.store")
        self.child = subprocess.Popen([*before, str(program), *arguments], env=env,
                                      cwd=ground.scratch, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.pid = self.child.pid
        self.store = folder / f"{program.name}.{self.pid}.store"
        self.is_ready = self.child.stdout.readline() == "ready\n"
        expect(self.is_ready or before, "not ready")

    def tell(self, words):
        self.child.stdin.write(words)
        self.child.stdin.flush()
        expect(self.child.stdout.read(len(words)) == "." * len(words), "no answer")

    def end(self, status=4):
        self.child.stdin.close()
        self.child.stdin = None
        got = self.child.wait(timeout=60)
        expect(got == status, f"the program ended with {got}")


@contextlib.contextmanager
def bare(ground, folder, program=None, *arguments, before=()):
    program = program or ground.build("holder", HOLDER)
    process = Bare(ground, program, folder, *arguments, before=before)
    try:
        yield process
    finally:
        if process.child.poll() is None:
            process.child.kill()
        process.child.communicate()


@contextlib.contextmanager
def serving(ground, path, *options):
    words = [ground.tidemark, "serve", "--listen", "127.0.0.1:0", *options, path]
    child = subprocess.Popen([str(word) for word in words], cwd=ground.scratch, env=ground.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.PIPE)
    try:
        service = Service(child)
        yield service
        child.send_signal(signal.SIGINT)
        status, _, err = finish(child)
        service.said += err
        expect(status == 0, f"{status}: {service.said}")
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate()


def folder_of(ground):
    folder = ground.scratch / "stores"
    folder.mkdir()
    return folder


def live(ground, service, query=""):
    totals = profile_of(ground, service.get("/debug/pprof/heap" + query))["totals"]
    return totals["live_blocks"], totals["live_bytes"]


def unavailable(service, words):
    for path in "/debug/pprof/heap", "/pprof/heap", "/metrics":
        status, _, body = service.ask(path)
        expect(status == 503 and words in body.decode(), f"{path}: {status} {body!r}")


def time_ns(body):
    return next(value for number, value in fields(gzip.decompress(body)) if number == 9)


def resident_bytes(pid):
    words = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE")


@test
def serve_a_store(ground):
    """Exact, and of the moment of asking, though the program says nothing to anybody."""
    folder = folder_of(ground)
    with bare(ground, folder) as process, serving(ground, process.store) as service:
        expect(live(ground, service) == (1000, 100000), f"{live(ground, service)}")
        process.tell("abc")
        expect(live(ground, service) == (1003, 100300), f"{live(ground, service)}")
        before = time.time_ns()
        first, second = (time_ns(service.get("/debug/pprof/heap")) for _ in range(2))
        expect(before <= first < second <= time.time_ns(), f"{before}, {first}, {second}")
        found = service.metrics()
        expect(found["tidemark_heap_live_bytes"] == 100300 and
               found["tidemark_heap_allocations_total"] == 1503 and
               found["tidemark_processes"] == 1, f"{found}")
        own, recorder = (found.get(f"{name}_resident_memory_bytes", 0)
                         for name in ("process", "tidemark_recorder"))
        counted = resident_bytes(process.pid)
        expect(own > 0 and abs(own + recorder - counted) < 1 << 20, f"{own}, {recorder}, {counted}")
        expect(recorder or b"with the recorder's part" in service.get("/metrics"), "whose is it?")
        expect(service.get("/debug/pprof/cmdline").decode().endswith("/holder"), "cmdline")
        expect("1003: 100300 [1503: 150300]" in service.get("/pprof/heap").decode(), "text")
        facts = json.loads(service.get("/tidemark/facts"))["captures"][0]
        expect(facts["live"] and facts["images"][0]["pid"] == process.pid, f"{facts}")
        status, _, _ = service.ask("/debug/pprof/heap?process=1")
        expect(status == 404, f"another process: {status}")
        process.end()
        unavailable(service, "has ended")


@test
def serve_a_folder(ground):
    """Processes come and go; those that have ended are left out, however they did."""
    folder, program = folder_of(ground), ground.build("holder", HOLDER)
    with serving(ground, folder) as service, contextlib.ExitStack() as running:
        unavailable(service, "nothing is recorded yet")
        one = running.enter_context(bare(ground, folder, program))
        expect(live(ground, service) == (1000, 100000), f"{live(ground, service)}")
        two = running.enter_context(bare(ground, folder, program))
        two.tell("ab")
        expect(service.metrics()["tidemark_processes"] == 2, f"{service.metrics()}")
        expect(live(ground, service, f"?process={one.pid}") == (1000, 100000), "the first")
        expect(live(ground, service, f"?process={two.pid}") == (1002, 100200), "the second")
        expect(live(ground, service, "?process=all") == (2002, 200200), "both")
        images = json.loads(service.get("/tidemark/facts"))["captures"][0]["images"]
        expect({image["pid"] for image in images} == {one.pid, two.pid}, f"{images}")
        expect(images[0]["pid"] == one.pid and images[0]["start_ns"] == 0 <
               images[1]["start_ns"] < 600e9, f"{images}")
        one.child.kill()
        one.child.wait()
        expect(service.metrics()["tidemark_processes"] == 1, f"{service.metrics()}")
        expect(live(ground, service) == (1002, 100200), "the second is left")
        status, _, _ = service.ask(f"/debug/pprof/heap?process={one.pid}")
        expect(status == 404, f"one that has ended: {status}")
        two.end()
        unavailable(service, "have ended")
        running.enter_context(bare(ground, folder, program))
        expect(live(ground, service) == (1000, 100000), f"{live(ground, service)}")


@test
def serve_children_of_the_bare(ground):
    """A child that was forked has a store of its own."""
    folder = folder_of(ground)
    with bare(ground, folder, None, "forks") as process, serving(ground, folder) as service:
        wait_for(lambda: service.metrics()["tidemark_processes"] == 2, "the child")
        expect(live(ground, service, f"?process={process.pid}") == (1000, 100000), "the parent")
        process.end()


@test
def serve_another_pid_namespace(ground):
    """A container beside ours, with which the folder is shared: the pid is nobody's here."""
    folder = folder_of(ground)
    before = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    with bare(ground, folder, None, before=before) as process:
        if not process.is_ready:
            raise record.Excused("no namespaces here")
        with serving(ground, folder) as service:
            expect(live(ground, service, "?process=1") == (1000, 100000), "process 1")
            expect("process_resident_memory_bytes" not in service.metrics(), "whose is that?")
            process.tell("a")
            expect(live(ground, service) == (1001, 100100), f"{live(ground, service)}")
            process.end()
            unavailable(service, "have ended")


def refused(ground, status, *words):
    done = ground.run(ground.tidemark, "serve", *words)
    expect(done.status == status, f"{words}: {done.status} {done.stderr}")
    return " ".join(done.stderr.split())


@test
def serve_refuses_what_is_no_store(ground):
    folder = folder_of(ground)
    (ground.scratch / "text").write_text("no store at all\n" * 1000)
    (ground.scratch / "empty.store").touch()
    with bare(ground, folder) as process:
        subprocess.run(["cp", "--sparse=always", process.store, ground.scratch / "copy.store"],
                       check=True)
        process.end()
    ground.record("-q", "-o", "x.tide", "--", "true")
    for name in "text", "x.tide":
        said = refused(ground, 1, name)
        expect("not a store" in said and "tidemark view" in said, said)
    said = refused(ground, 1, "empty.store")
    expect("is empty, and nobody writes to it" in said, said)
    for path in process.store, ground.scratch / "copy.store":
        said = refused(ground, 1, path)
        expect("has ended" in said and f"'tidemark view {path}'" in said, said)
    expect("cannot open" in refused(ground, 1, "nowhere"), "nowhere")
    expect("which store" in refused(ground, 2), "no word")
    expect("one too many" in refused(ground, 2, folder, folder), "two words")
    expect("nowhere to serve" in refused(ground, 2, "--listen", "x:y", folder), "address")


@test
def serve_passes_over_what_is_damaged(ground):
    """Beside a good store: some cut short, one that is none, a link, a pipe; each is told once."""
    folder = folder_of(ground)
    with bare(ground, folder) as process:
        with process.store.open("rb") as store:
            (folder / "cut.store").write_bytes(store.read(70000))
        (folder / "text.store").write_text("no store at all\n" * 1000)
        (folder / "brief.store").write_text("x\n")
        (folder / "link.store").symlink_to(process.store)
        os.mkfifo(folder / "pipe.store")
        (folder / "folder.store").mkdir()
        with serving(ground, folder) as service:
            for _ in range(3):
                expect(live(ground, service) == (1000, 100000), f"{live(ground, service)}")
            expect(service.metrics()["tidemark_processes"] == 1, f"{service.metrics()}")
        for name in "cut", "text", "brief", "link", "pipe", "folder":
            n = " ".join(service.said.split()).count(f"/{name}.store")
            expect(n == 1, f"{name} is told {n} times: {service.said}")
        with serving(ground, folder) as service:
            process.store.unlink()
            unavailable(service, "nothing is recorded yet")
        process.end()


@test
def serve_waits_for_a_store_that_is_made(ground):
    path = ground.scratch / "x.store"
    with path.open("wb"), serving(ground, path) as service:
        unavailable(service, "nothing is recorded yet")


@test
def serve_of_another_user(ground):
    """Stores are their owner's: another user is not shown them, and is told which."""
    if os.geteuid() != 0 or not shutil.which("runuser"):
        raise record.Skip("only root can be another user")
    folder, place = folder_of(ground), ground.scratch / "bin"
    place.mkdir()
    shutil.copy(ground.tidemark, place / "tidemark")
    ground.scratch.chmod(0o755)
    with bare(ground, folder) as process:
        words = ["-u", "nobody", "--", place / "tidemark", "serve", "--listen", "127.0.0.1:0"]
        child = subprocess.Popen(["runuser", *map(str, words), str(folder)], env=ground.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            service = Service(child)
            unavailable(service, "nothing is recorded yet")
            done = ground.run("runuser", *words, process.store)
            expect(done.status == 1 and "cannot open" in done.stderr, done.stderr)
        finally:
            child.terminate()
            _, err = child.communicate(timeout=30)
        process.end()
    said = " ".join((service.said + err).split())
    expect(said.count(str(process.store)) == 1, said)
    with bare(ground, folder) as process, serving(ground, folder) as service:
        expect(as_nobody(service, "/debug/pprof/heap") == "401", "without a token")
        with_token = as_nobody(service, "/debug/pprof/heap", f"Bearer {service.token}")
        expect(with_token == "200", with_token)


@test
def serve_while_it_is_written(ground):
    """Every answer is whole, however many ask; the program does not notice."""
    folder = folder_of(ground)
    program = ground.build("restless", RESTLESS, "-pthread")
    with bare(ground, folder, program) as process, serving(ground, process.store) as service:
        def ask(i):
            path = ("/debug/pprof/heap", "/metrics", "/pprof/heap", "/tidemark/data/0")[i % 4]
            return service.ask(path)[0]
        with concurrent.futures.ThreadPoolExecutor(8) as many:
            answers = list(many.map(ask, range(64)))
        expect(set(answers) == {200}, f"{answers}")
        report = profile_of(ground, service.get("/debug/pprof/heap"))
        expect(0 < report["totals"]["live_blocks"] <= 4 * 64 + 8, f"{report['totals']}")
        process.end()
