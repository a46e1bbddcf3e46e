# SPDX-License-Identifier: Apache-2.0
"""Servers of debug info, on this machine alone: the real one, and some that misbehave."""
import contextlib
import http.server
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import record
from ground import wait_for


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def reply(handler, status, body=b"", **headers):
    """Of a handler of http.server: headers are named with underscores."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def debuginfod(directory, *known_ids):
    """The real server over the files in a directory; gives its URL once it knows the build ids."""
    if not shutil.which("debuginfod"):
        raise record.Skip("no debuginfod here")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", ":memory:", directory],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        for known_id in known_ids:
            wait_for(lambda known=known_id: answers(f"{url}/buildid/{known}/debuginfo"),
                     f"debuginfod to serve {known_id}", 60)
        yield url
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def stand_in(answer):
    """A server whose every answer is what answer(handler) does; gives its URL and its requests."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                answer(self)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def send(handler, body, chunk=1 << 20, pause=0.0):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/octet-stream")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    for at in range(0, len(body), chunk):
        handler.wfile.write(body[at:at + chunk])
        handler.wfile.flush()
        time.sleep(pause)
