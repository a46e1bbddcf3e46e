# SPDX-License-Identifier: Apache-2.0
"""What the page costs in a browser: ui/browser/bench.mjs, in a copy of ui/ with its packages, which
is where the build made the page. The file is that of a capture with 100,000 stacks."""
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


def one_file(bench, build_dir, n_stacks):
    """The page of a capture with so many stacks, nothing pruned."""
    tide, html = bench.scratch / "page.tide", bench.scratch / "page.html"
    tidemark = str(build_dir / "tidemark")
    measure.run([str(build_dir / "bench/bench_capture"), tidemark, str(n_stacks), "24", str(tide),
                 str(bench.scratch / "page.addresses")])
    measure.run([tidemark, "html", "-f", "-o", str(html), "--max-bytes", "1GiB", str(tide)])
    return html


def page(bench, build_dir, say):
    work = pathlib.Path(build_dir) / "ui/work"
    lacking = missing(work)
    if lacking:
        say(f"page: {lacking}, left out")
        return None
    n_stacks, n_nodes = bench.size(100000, 1000), bench.size(1000000, 10000)
    say(f"page: a capture of {n_stacks} stacks, a graph of {n_nodes} nodes")
    html = one_file(bench, build_dir, n_stacks)
    argv = ["node", "browser/bench.mjs", "--page", str(html), "--nodes", str(n_nodes),
            "--frames", bench.size("300", "30")]
    load = os.getloadavg()[0]
    # Chromium wants a home of its own, so the environment stays as it is.
    done = subprocess.run(argv, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise measure.Failed(f"{' '.join(argv)}: {done.stderr.strip()[-300:]}")
    return {"n_stacks": n_stacks, "file_bytes": html.stat().st_size, "load": load,
            **json.loads(done.stdout)}
