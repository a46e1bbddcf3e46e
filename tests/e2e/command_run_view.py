# SPDX-License-Identifier: Apache-2.0
"""tidemark run --view: the page while the command runs, of one process, whatever happens to it."""
import contextlib
import os
import signal
import socket
import threading

import record
from ground import expect, finish, test, wait_for
from served import ADDRESS, Page, ended, serves_itself, viewing

# Allocates a block of 1000 bytes every 20 ms, for ever or N times.
GROWING = """
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
static void *volatile kept[100000];
__attribute__((noipa)) static void grow(int i) { kept[i] = malloc(1000); }
int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 100000;
  for (int i = 0; i < n; i++) {
    grow(i);
    usleep(20000);
  }
  puts("grown");
  return 3;
}
"""


def children_of(pid):
    """But for those that are the command itself, too: what its ushers come from."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [child for child in children.read().split()
                if exe_of(child) not in (None, exe_of(pid))]


def exe_of(pid):
    with contextlib.suppress(OSError):  # it has ended
        return os.readlink(f"/proc/{pid}/exe")
    return None


@test
def run_view(ground):
    """Live while it runs, of one process; the end is shown; status and output are the program's."""
    prog = ground.build("growing", GROWING)
    child = ground.start("--view", "--no-open", "-o", "x.tide", "--", prog, 250)
    try:
        line = child.stderr.readline()
        match = ADDRESS.search(line)
        expect(match, f"no address: {line!r}")
        page = Page(match[0])
        expect(serves_itself(child, page), "another process serves it")
        expect(len(children_of(child.pid)) == 1, f"{children_of(child.pid)}: not the program alone")
        expect(page.facts()["live"], "not live")
        blocks = page.block()["totals"]["live_blocks"]
        versions = set()
        wait_for(lambda: versions.add(page.facts()["version"]) or len(versions) > 2, "new versions")
        expect(page.block()["totals"]["live_blocks"] > blocks, "nothing more was shown")
        unchanged(page)
        status, out, err = finish(child)
        expect(status == 3 and out == "grown\n", f"{status}: {out!r}")
        expect(f"the page is still at {page.url}" in err, err)
        with ended(page):
            expect(not page.facts()["live"], "still live")
            expect(page.block()["totals"] == ground.report("x.tide")["totals"], "not the end")
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def unchanged(page):
    """Facts that the page has already are not sent again."""
    def asked_twice():
        _, headers, _ = page.ask("/facts")
        status, _, body = page.ask("/facts", headers={"If-None-Match": headers["ETag"]})
        expect(status in (200, 304) and bool(body) == (status == 200), f"{status}: {body!r}")
        return status == 304
    wait_for(asked_twice, "an answer without the facts")


@test
def run_view_short(ground):
    """Over before there was anything to see: shown afterwards."""
    done = ground.record("--view", "--no-open", "-o", "x.tide", "--", ground.program("return 5;"))
    expect(done.status == 5, f"{done.status}: {done.stderr}")
    page = Page(ADDRESS.search(done.stderr)[0])
    with ended(page):
        expect(page.block()["totals"] == ground.report("x.tide")["totals"], "not what was recorded")


def kill_group(child):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


@contextlib.contextmanager
def growing_for_ever(ground):
    """A program that does not end by itself, and its page, which stays. Whatever hangs, it is ended
    in time."""
    child = ground.start("--view", "--no-open", "-q", "-o", "x.tide", "--",
                         ground.build("growing", GROWING))
    limit = threading.Timer(60, kill_group, [child])
    limit.start()
    try:
        line = child.stderr.readline()
        expect(ADDRESS.search(line), f"no page: {line!r}")
        page = Page(ADDRESS.search(line)[0])
        yield child, page
        with ended(page):
            pass
    finally:
        limit.cancel()
        if child.poll() is None:
            kill_group(child)
            finish(child)


@test
def run_view_interrupted(ground):
    """Ctrl-C is the program's; the page stays."""
    with growing_for_ever(ground) as (child, page):
        os.killpg(child.pid, signal.SIGINT)
        status, _, _ = finish(child)
        expect(status == -signal.SIGINT, f"status {status}")
        wait_for(lambda: not page.facts()["live"], "the end on the page")
        expect(page.block()["image"]["end"] == "signaled", f"{page.block()['image']}")


@test
def run_view_target_killed(ground):
    """The program is killed: its last moment is shown."""
    with growing_for_ever(ground) as (child, page):
        [target] = children_of(child.pid)
        os.kill(int(target), signal.SIGKILL)
        status, _, _ = finish(child)
        expect(status == -signal.SIGKILL, f"status {status}")
        wait_for(lambda: not page.facts()["live"], "the end on the page")
        image = page.block()["image"]
        expect(image["end"] == "signaled" and image["end_value"] == 9, f"{image}")
        expect(page.block()["totals"] == ground.report("x.tide")["totals"], "not the end")


@test
def run_view_supervisor_killed(ground):
    """A supervisor that is killed takes its page along, and leaves the last checkpoint."""
    child = ground.start("--view", "--no-open", "-q", "-o", "x.tide", "--",
                         ground.build("growing", GROWING))
    try:
        page = Page(ADDRESS.search(child.stderr.readline())[0])
        wait_for(lambda: (ground.scratch / "x.tide").stat().st_size, "a checkpoint")
    finally:
        kill_group(child)
        finish(child)
    try:
        page.facts()
        raise record.Failure("served by whom?")
    except OSError:
        pass
    with viewing(ground, "--no-open", "x.tide") as page:
        expect(page.block()["totals"]["live_blocks"] > 0, "nothing is shown")


@test
def run_view_deaf_clients(ground):
    """Clients that ask for much and never read it: the page answers others, the run goes on."""
    with growing_for_ever(ground) as (child, page):
        deaf = []
        for _ in range(30):
            client = socket.create_connection((page.host, page.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            request = f"GET /{page.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n"
            client.sendall(request.encode() * 100)
            deaf.append(client)
        blocks = page.block()["totals"]["live_blocks"]
        wait_for(lambda: page.block()["totals"]["live_blocks"] > blocks, "something newer")
        os.killpg(child.pid, signal.SIGINT)
        status, _, _ = finish(child)
        expect(status == -signal.SIGINT, f"status {status}")
        wait_for(lambda: not page.facts()["live"], "the end on the page")
        for client in deaf:
            client.close()


CROWD = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[100];
__attribute__((noipa)) static void hold(int i) { kept[i] = malloc(1000); }
int main(int argc, char **argv)
{
  (void)argc;
  for (int i = 0; i < atoi(argv[1]); i++)
    if (fork() == 0) {
      for (int k = 0; k < 10; k++) hold(k);
      while (access("stop", F_OK)) usleep(10000);
      _exit(0);
    }
  hold(0);
  while (wait(NULL) > 0) continue;
  return 6;
}
"""


@test
def run_view_of_many(ground):
    """More processes than a page's server could have descriptors, were they its own."""
    n = 280
    child = ground.start("--view", "--no-open", "-q", "-o", "x.tide", "--",
                         ground.build("crowd", CROWD), n)
    limit = threading.Timer(60, kill_group, [child])
    limit.start()
    try:
        page = Page(ADDRESS.search(child.stderr.readline())[0])

        def n_open():
            return len(os.listdir(f"/proc/{child.pid}/fd"))
        wait_for(lambda: n_open() > 1024, "many descriptors")
        wait_for(lambda: len(page.facts()["captures"][0]["images"]) >= 200, "the processes", 40)
        expect(page.block("/data/0?process=1")["totals"]["live_blocks"] == 10, "not as it is")
        (ground.scratch / "stop").touch()
        status, _, err = finish(child)
        expect(status == 6, f"{status}: {err}")
        with ended(page):
            report = ground.report("x.tide")
            images = page.facts()["captures"][0]["images"]
            expect(images == report["images"], "not the end")
    finally:
        (ground.scratch / "stop").touch()
        limit.cancel()
        if child.poll() is None:
            kill_group(child)
            finish(child)


@test
def run_view_without_a_disk(ground):
    """No checkpoint can be written, nor the end: the page has both."""
    (ground.scratch / "disk").mkdir()
    child = ground.start("--view", "--no-open", "-o", "disk/x.tide", "--",
                         ground.build("growing", GROWING), 200)
    try:
        page = Page(ADDRESS.search(child.stderr.readline())[0])
        for file in (ground.scratch / "disk").iterdir():
            file.unlink()
        (ground.scratch / "disk").rmdir()
        blocks = page.block()["totals"]["live_blocks"]
        wait_for(lambda: page.block()["totals"]["live_blocks"] > blocks, "something newer")
        expect(page.facts()["captures"][0]["note"] is None, "a note")
        status, _, err = finish(child)
        expect(status == 3 and "disk/x.tide" in err, f"{status}: {err}")
        with ended(page):
            expect(page.facts()["captures"][0]["note"] is None and not page.facts()["live"],
                   f"{page.facts()}")
            block = page.block()
            expect(block["image"]["end"] == "exited" and block["totals"]["live_blocks"] >= 200,
                   f"{block['image']}")
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


DAEMON = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[100];
__attribute__((noipa)) static void hold(int i, int n) { kept[i] = malloc(n); }
int main(void)
{
  hold(0, 10);
  if (fork() == 0) {
    setsid();
    for (int i = 0; i < 50; i++) hold(i, 4000);
    while (access("stop", F_OK)) usleep(10000);
    hold(50, 77777);
    _exit(0);
  }
  return 3;
}
"""


@test
def run_view_and_wait(ground):
    """What the command leaves behind is recorded on and shown; a browser is not waited for."""
    browser = ground.scratch / "browser"
    browser.write_text("#!/bin/sh\necho $$ > opening\nmv opening opened\nexec sleep 60\n")
    browser.chmod(0o755)
    ground.env["BROWSER"] = f"{browser} %s"
    child = ground.start("--view", "--wait", "-o", "x.tide", "--", ground.build("daemon", DAEMON))
    sleeper = None
    try:
        said = [child.stderr.readline(), child.stderr.readline()]
        expect(any("left behind" in line for line in said), f"{said}")
        page = Page(next(ADDRESS.search(line)[0] for line in said if ADDRESS.search(line)))
        wait_for((ground.scratch / "opened").exists, "the browser")
        sleeper = int((ground.scratch / "opened").read_text())
        # Whoever started it may need a moment to end.
        wait_for(lambda: len(children_of(child.pid)) == 1, "a browser that is not our child")
        wait_for(lambda: most_held(page) == 50 * 4000, "all that the daemon holds")
        (ground.scratch / "stop").touch()
        status, _, err = finish(child)
        expect(status == 3, f"{status}: {err}")
        with ended(page):
            expect(most_held(page) == 50 * 4000 + 77777, f"{page.facts()['captures']}")
    finally:
        (ground.scratch / "stop").touch()
        if sleeper:
            os.kill(sleeper, signal.SIGKILL)
        if child.poll() is None:
            kill_group(child)
        child.communicate()


def most_held(page):
    return max(image["peak_bytes"] for image in page.facts()["captures"][0]["images"])


@test
def run_view_nothing(ground):
    """Nothing recorded: no page, and nothing else changes. Nowhere to write to: the page all the
    same."""
    done = ground.record("--view", "--no-open", "-o", "x.tide", "--", "/bin/false-not-there")
    expect(done.status == 127, f"{done.status}: {done.stderr}")
    done = ground.record("--view", "--no-open", "-q", "-f", "-o", "/dev/null", "--",
                         ground.program("return 5;"))
    expect(done.status == 5, f"{done.status}: {done.stderr}")
    page = Page(ADDRESS.search(done.stderr)[0])
    with ended(page):
        expect(page.block()["totals"]["live_blocks"] >= 100, "not what was recorded")
    done = ground.record("--no-open", "--", "true")
    expect(done.status == 125 and "--view" in done.stderr, f"{done.status}: {done.stderr}")
