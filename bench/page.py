# SPDX-License-Identifier: Apache-2.0
"""What the page costs in a browser: ui/browser/bench.mjs, in a copy of ui/ with its packages, which
is where the build made the page. Files of captures with few and many stacks, nothing gathered in
them, one of a program that was recorded, and a graph alone."""
import json
import os
import pathlib
import shutil
import subprocess

import measure


def missing(work):
    if not (work / "node_modules/playwright-core").is_dir():
        return "tidemark is built without the page"
    browser = os.environ.get("CHROMIUM", "chromium")
    return None if shutil.which(browser) else f"{browser} is not installed"


STACKS = (17000, 200000, 1000000)
QUICK_STACKS = (1000,)


def made_capture(bench, build_dir, n_stacks, tide):
    measure.run([str(build_dir / "bench/bench_capture"), str(build_dir / "tidemark"),
                 str(n_stacks), "24", str(tide), str(bench.scratch / "page.addresses")])


def recorded_capture(bench, build_dir, n_stacks, tide):
    """Of a program all of whose stacks weigh about the same."""
    program = str(bench.scratch / "stacks")
    source = pathlib.Path(__file__).with_name("stacks.c")
    subprocess.run(["cc", "-O2", "-g", str(source), "-o", program], check=True)
    measure.run([str(build_dir / "tidemark"), "run", "-q", "-f", "-o", str(tide), "--", program,
                 "branch", str(n_stacks)])


def one_file(bench, build_dir, n_stacks, capture):
    """The page of a capture with so many stacks, nothing pruned."""
    tide, html = bench.scratch / "page.tide", bench.scratch / "page.html"
    capture(bench, build_dir, n_stacks, tide)
    measure.run([str(build_dir / "tidemark"), "html", "-f", "-o", str(html), "--max-bytes", "4GiB",
                 str(tide)])
    return html


def in_browser(work, words):
    argv = ["node", "browser/bench.mjs", *words]
    # Chromium wants a home of its own, so the environment stays as it is.
    done = subprocess.run(argv, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise measure.Failed(f"{' '.join(argv)}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def page(bench, build_dir, say):
    work = pathlib.Path(build_dir) / "ui/work"
    lacking = missing(work)
    if lacking:
        say(f"page: {lacking}, left out")
        return None
    load = os.getloadavg()[0]
    files = []
    sizes = bench.size(STACKS, QUICK_STACKS)
    kinds = [(n_stacks, made_capture) for n_stacks in sizes] + [(sizes[-1], recorded_capture)]
    for n_stacks, capture in kinds:
        is_recorded = capture is recorded_capture
        say(f"page: a capture of {n_stacks} stacks{', recorded' if is_recorded else ''}")
        html = one_file(bench, build_dir, n_stacks, capture)
        told = in_browser(work, ["--nodes", "0", "--views", "--page", str(html)])
        files.append({"n_stacks": n_stacks, "is_recorded": is_recorded,
                      "file_bytes": html.stat().st_size, **told["page"]})
    n_nodes = bench.size(1000000, 10000)
    say(f"page: a graph of {n_nodes} nodes")
    graph = in_browser(work, ["--nodes", str(n_nodes), "--frames", bench.size("300", "30")])
    return {"files": files, "load": load, **graph}
