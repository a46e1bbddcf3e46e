# SPDX-License-Identifier: Apache-2.0
"""A served page, asked over HTTP: by whom it is served, how it ends."""
import contextlib
import http.client
import json
import os
import re
import signal
import struct
import subprocess

import record
from ground import expect, finish, wait_for

ADDRESS = re.compile(r"http://(127\.0\.0\.1|\[::1\]|localhost):(\d+)/([0-9a-f]{32})/")


class Page:
    """A served page: requests to it, with or without its token."""

    def __init__(self, url):
        self.url = url
        match = ADDRESS.fullmatch(url)
        expect(match, f"no address: {url!r}")
        self.host, self.port, self.token = match[1].strip("[]"), int(match[2]), match[3]

    def ask(self, path, method="GET", token=None, headers=None):
        """(status, headers, body) of a path below the token."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, f"/{self.token if token is None else token}{path}",
                               headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def facts(self):
        status, _, body = self.ask("/facts")
        expect(status == 200, f"facts: {status}")
        return json.loads(body)

    def block(self, path="/data/0"):
        """The facts of a page's data."""
        status, _, body = self.ask(path)
        expect(status == 200 and body[:8] == b"TidePage", f"{path}: {status} {body[:100]!r}")
        [n] = struct.unpack_from("<I", body, 8)
        return json.loads(body[12:12 + n])


@contextlib.contextmanager
def viewing(ground, *words, env=None):
    """tidemark view WORDS while in the block; it must end well by SIGINT."""
    child = subprocess.Popen([str(word) for word in (ground.tidemark, "view", *words)],
                             cwd=ground.scratch, env=dict(ground.env, **(env or {})),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        line = child.stdout.readline()
        if not line:
            raise record.Failure(f"view did not start: {child.communicate()[1]}")
        page = Page(line.strip())
        page.child = child
        yield page
        child.send_signal(signal.SIGINT)
        status, _, page.stderr = finish(child)
        expect(status == 0, f"ended with {status}: {page.stderr}")
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()


def server_pid(page):
    """Who listens on the page's port, once it has gone into the background."""
    found = []
    wait_for(lambda: found.extend(listeners(page)) or found, "the server in the background")
    return found[0]


def socket_of(page):
    """What the page's listening socket is called among a process's descriptors."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.read().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and int(words[1].split(":")[1], 16) == page.port:
                return f"socket:[{words[9]}]"
    return None


def files_of(task):
    """What a process or a thread, by its directory below /proc, has open."""
    with contextlib.suppress(OSError):
        return [os.readlink(f"{task}/fd/{fd}") for fd in os.listdir(f"{task}/fd")]
    return []


def listeners(page):
    name = socket_of(page)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            in_background = os.readlink(f"/proc/{pid}/fd/2") == "/dev/null"
            if in_background and name in files_of(f"/proc/{pid}"):
                yield int(pid)


def serves_itself(child, page):
    """Does a thread of this process serve the page?"""
    name, tasks = socket_of(page), f"/proc/{child.pid}/task"
    return any(name in files_of(f"{tasks}/{task}") for task in os.listdir(tasks))


@contextlib.contextmanager
def ended(page):
    """A server in the background, in whose own session nothing of ours is held; ended after."""
    pid = server_pid(page)
    try:
        yield pid
        expect(os.getsid(pid) != os.getsid(0), "in our session")
        for fd in range(3):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            expect(target == "/dev/null", f"descriptor {fd} is {target}")
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "its end")
