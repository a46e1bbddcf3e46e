# SPDX-License-Identifier: Apache-2.0
"""The servers of tools/fleet.py, started on free ports of the loopback with the configurations of
docs/production.md. One that is not there means a skip that says which command makes it, in CI, too:
building them takes ten minutes."""
import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tools")]
import fleet  # noqa: E402
import record  # noqa: E402
from ground import expect, wait_for  # noqa: E402

HOST = "127.0.0.1"


def documented(first_line, targets, every):
    """A configuration of docs/production.md, of these services, addresses by name, this often."""
    text = (ROOT / "docs/production.md").read_text(encoding="utf-8")
    block = re.search(rf"^    {re.escape(first_line)}.*?\n\n", text, re.M | re.S)
    expect(block, f"docs/production.md has no {first_line}")
    lines = [line[4:] for line in block[0].splitlines()]
    rows = ", ".join(f"{{targets: ['{target}'], labels: {{service: {name}}}}}"
                     for name, target in targets.items())
    told = "\n".join(re.sub(r"(static_configs:) .*", rf"\1 [{rows}]", line) for line in lines)
    return told.replace("scrape_interval: 10s", f"scrape_interval: {every}")


def program(name):
    path = fleet.found(name)
    if not path:
        raise record.Excused(f"no {name} here: {fleet.how(name)}")
    return path


@contextlib.contextmanager
def started(folder, words, ready, wanted=200):
    """A server of its own, until the end of the block; ready when it answers so there."""
    with open(folder / "log", "w", encoding="utf-8") as log:
        child = subprocess.Popen([str(word) for word in words], cwd=folder, stdout=log, stderr=log,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        try:
            wait_for(lambda: child.poll() is not None or status(ready) == wanted, ready, 60)
        except record.Failure as failure:
            raise record.Failure(f"{failure}: {(folder / 'log').read_text()[-500:]}") from None
        expect(child.poll() is None, f"ended: {(folder / 'log').read_text()[-500:]}")
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()


def status(url):
    """Of a GET; 0: nobody is there."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def post(url, body, **headers):
    request = urllib.request.Request(url, body, {key.replace("_", "-"): value
                                                 for key, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise record.Failure(f"{url}: {error.code} {error.read()[:300]!r}") from None
