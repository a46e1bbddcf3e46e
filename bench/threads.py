# SPDX-License-Identifier: Apache-2.0
"""Threads at once: what a pair of malloc and free costs among them, how well the peak is known, and
what memory the recorder takes for each."""
import json
import subprocess

import measure
import peers

COUNTS = (1, 2, 8, 64, 256, 1000)


def number_printed(argv, env):
    printed = measure.run(argv, env)["stdout"]
    numbers = [line for line in printed.splitlines() if line.replace(".", "", 1).isdigit()]
    if len(numbers) != 1:
        raise measure.Failed(f"{' '.join(argv)}: no number in its output")
    return float(numbers[0])


def facts(tidemark, path):
    done = subprocess.run([str(tidemark), "report", "--json", path], check=True,
                          capture_output=True, text=True)
    totals = json.loads(done.stdout)["totals"]
    return {"peak_bytes": totals["peak_bytes"], "bound_bytes": totals["peak_bound_bytes"],
            "recorder_bytes": totals.get("recorder_rss_bytes", 0)}


def threads(bench, build, source, say):
    program = str(bench.scratch / "threads")
    subprocess.run(["cc", "-O2", "-g", str(source), "-o", program, "-lpthread"], check=True)
    n_pairs = bench.size(1000000, 20000)
    rows = []
    for count in COUNTS:
        say(f"threads: {count}")
        told = []

        def one(peer):
            output = bench.output(peer)
            argv = peer.wrap([program, str(count), str(n_pairs)], output)
            ns = number_printed(argv, peer.environment(output))
            if isinstance(peer, peers.Tidemark):
                told.append(facts(build / "tidemark", f"{output}.tide"))
            return ns

        values = bench.interleave(bench.fast_peers(), one)
        result = {peer: measure.summary(list_) for peer, list_ in values.items()}
        for peer in result:
            result[peer]["added_ns"] = result[peer]["median"] - result["plain"]["median"]
        worst = max(told, key=lambda fact: fact["bound_bytes"] / max(fact["peak_bytes"], 1))
        rows.append({"threads": count, "pairs": n_pairs, "ns": result, "told": worst})
    return rows
