# SPDX-License-Identifier: Apache-2.0
"""A browser: many processes, an allocator of its own. Each is recorded, or listed and why."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import record

PAGE = "data:text/html,<p>a page</p><script>document.title='ran'</script>"


def expect(condition, why):
    if not condition:
        raise record.Failure(why)


def running(program, mark):
    """Pids of the program's processes that were started with the mark in their environment."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe").endswith("/" + program) and \
                    mark in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:
            pass
    return found


def recorded(stage, program, words, watches):
    """Runs it recorded; gives what it printed, its messages and its images. Watched: of its
    processes, those that lived for a while are recorded or listed."""
    if not shutil.which(words[0]):
        raise record.Skip(f"no {words[0]} here")
    mark, first, seen = f"HOME={stage.scratch}\0".encode(), {}, set()
    child = subprocess.Popen([stage.tidemark, "run", "-f", "-o", stage.tide, "--", *words],
                             cwd=stage.scratch, env=dict(stage.env, HOME=str(stage.scratch)),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    while watches and child.poll() is None:
        # A fork child that allocates nothing before its exec or its end is no process of its own.
        for pid in running(program, mark):
            if time.monotonic() - first.setdefault(pid, time.monotonic()) > 0.3:
                seen.add(pid)
        time.sleep(0.02)
    out, err = child.communicate()
    expect(child.returncode == 0, f"status {child.returncode}, {out[:200]!r}: {err[-300:]}")
    done = record.run([stage.tidemark, "report", "--json", stage.tide], env=stage.env)
    report = json.loads(done.stdout)
    mine = [image for image in report["images"] if image["exe"].endswith("/" + program)]
    listed = sum(row["processes"] for row in report["capture"]["run"]["unrecorded"])
    pids = {image["pid"] for image in mine}
    expect(len(pids & seen if watches else pids) >= 4, f"recorded {pids}, seen {seen}")
    missing = seen - pids
    expect(len(missing) <= listed, f"{missing} neither recorded nor listed")
    return out, err, mine


def largest(stage, images, err):
    """The image with most allocations, of which hardly an end is unknown, and nothing is called
    complete that is not."""
    most = max(images, key=lambda image: image["allocations"])
    done = record.run([stage.tidemark, "report", "--json", "--process", f"#{most['index']}",
                       stage.tide], env=stage.env)
    whole = json.loads(done.stdout)["completeness"]
    expect(whole["unknown_frees"] < most["allocations"] / 100, f"{whole}")
    expect(not (whole["unknown_frees"] and " complete: " in err), err[-600:])
    return most


def chromium(stage):
    out, err, images = recorded(stage, "chromium", [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu",
        f"--user-data-dir={stage.scratch}/profile", "--dump-dom", PAGE], True)
    expect("<title>ran</title>" in out, out[:200])
    # operator new is most of it: a few thousand allocations would be malloc's alone.
    browser = largest(stage, images, err)
    expect(browser["allocations"] > 250000, f"only {browser['allocations']} allocations")


def firefox(stage):
    """Its allocator is mozjemalloc. Beside each sandboxed process one waits that never allocates,
    and is no process of a recording: so they are not counted from outside."""
    (stage.scratch / "profile").mkdir()
    shot = stage.scratch / "shot.png"
    _, err, images = recorded(stage, "firefox-esr", [
        "firefox-esr", "--headless", "--no-remote", "--profile", str(stage.scratch / "profile"),
        "--screenshot", str(shot), PAGE], False)
    expect(shot.exists() and shot.stat().st_size > 1000, f"no picture: {err[-600:]}")
    browser = largest(stage, images, err)
    expect(browser["allocations"] > 250000, f"only {browser['allocations']} allocations")


TESTS = {"chromium": chromium, "firefox": firefox}
