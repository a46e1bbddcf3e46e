# SPDX-License-Identifier: Apache-2.0
"""What the page costs in a browser: ui/browser/bench.mjs, in a copy of ui/ with its packages, which
is where the build made the page. Files of captures with few and many stacks, nothing gathered in
them, and a graph alone."""
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


def one_file(bench, build_dir, n_stacks):
    """The page of a capture with so many stacks, nothing pruned."""
    tide, html = bench.scratch / "page.tide", bench.scratch / "page.html"
    tidemark = str(build_dir / "tidemark")
    measure.run([str(build_dir / "bench/bench_capture"), tidemark, str(n_stacks), "24", str(tide),
                 str(bench.scratch / "page.addresses")])
    measure.run([tidemark, "html", "-f", "-o", str(html), "--max-bytes", "4GiB", str(tide)])
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
    for n_stacks in bench.size(STACKS, QUICK_STACKS):
        say(f"page: a capture of {n_stacks} stacks")
        html = one_file(bench, build_dir, n_stacks)
        told = in_browser(work, ["--nodes", "0", "--views", "--page", str(html)])
        files.append({"n_stacks": n_stacks, "file_bytes": html.stat().st_size, **told["page"]})
    n_nodes = bench.size(1000000, 10000)
    say(f"page: a graph of {n_nodes} nodes")
    graph = in_browser(work, ["--nodes", str(n_nodes), "--frames", bench.size("300", "30")])
    return {"files": files, "load": load, **graph}
