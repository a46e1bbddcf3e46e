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


def chromium(stage):
    if not shutil.which("chromium"):
        raise record.Skip("no chromium here")
    mark, first, seen = f"HOME={stage.scratch}\0".encode(), {}, set()
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={stage.scratch}/profile", "--dump-dom", PAGE]
    child = subprocess.Popen([stage.tidemark, "run", "-f", "-o", stage.tide, "--", *words],
                             cwd=stage.scratch, env=dict(stage.env, HOME=str(stage.scratch)),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    while child.poll() is None:
        # A fork child that allocates nothing before its exec or its end is no process of its own.
        for pid in running("chromium", mark):
            if time.monotonic() - first.setdefault(pid, time.monotonic()) > 0.3:
                seen.add(pid)
        time.sleep(0.02)
    out, err = child.communicate()
    expect(child.returncode == 0 and "<title>ran</title>" in out,
           f"status {child.returncode}, {out[:200]!r}: {err[-300:]}")
    done = record.run([stage.tidemark, "report", "--json", stage.tide], env=stage.env)
    report = json.loads(done.stdout)
    mine = [image for image in report["images"] if image["exe"].endswith("/chromium")]
    listed = sum(row["processes"] for row in report["capture"]["run"]["unrecorded"])
    recorded = {image["pid"] for image in mine}
    expect(len(recorded & seen) >= 4, f"recorded {recorded}, seen {seen}")
    missing = seen - recorded
    expect(len(missing) <= listed, f"{missing} neither recorded nor listed")
    # operator new is most of it: a few thousand allocations would be malloc's alone.
    browser = max(mine, key=lambda image: image["allocations"])
    expect(browser["allocations"] > 250000, f"only {browser['allocations']} allocations")
    done = record.run([stage.tidemark, "report", "--json", "--process", f"#{browser['index']}",
                       stage.tide], env=stage.env)
    whole = json.loads(done.stdout)["completeness"]
    expect(whole["unknown_frees"] < browser["allocations"] / 100, f"{whole}")
    expect(not (whole["unknown_frees"] and " complete: " in err), err[-600:])


TESTS = {"chromium": chromium}
