# SPDX-License-Identifier: Apache-2.0
"""The queue without a limit: docs/case-studies/queue.md."""
import os
import re
import signal
import subprocess

N, MANY = 1000, 1000000
MESSAGE_BYTES = 1024
QUEUE, BATCH = 128, 64
# The rest of a program's peak: its runtime, a request's text, the queue's own blocks.
REST_BYTES = 160 << 10


def place(report, function):
    return next(group for group in report["groups"] if (group["function"] or "").endswith(function))


def places(stage, capture):
    return stage.json("report", "--json", "--group", "place", capture)


def waited(stage, capture):
    """Mean residence of a message, as a share of the run."""
    report = places(stage, capture)
    run_ns = report["image"]["end_ns"] - report["image"]["start_ns"]
    return place(report, "::Telegrapher::send_message")["mean_life_ns"] / run_ns


def thousand(stage):
    stage.show("run", "tidemark", "run", "-o", "before.tide", "./telegraph", "before", str(N),
               loose=(r"\d+ stacks", r"in \d+ more places"))
    said = stage.show("explain", "tidemark", "explain", "before.tide")
    stage.expect("send_message, src/before.rs:" in said and "waited at once" in said and
                 "the queue is that of std::sync::mpsc::" in " ".join(said.split()),
                 f"explain does not name the line that sends, or the queue: {said}")
    found = stage.json("explain", "--json", "before.tide")["findings"][0]
    stage.expect(found["rule"] == "backlog" and found["confidence"] == "high", str(found))
    sent = place(places(stage, "before.tide"), "::send_message")
    stage.expect(sent["peak_blocks"] == sent["allocations"] >= N, f"not all waited: {sent}")
    stage.expect(sent["peak_bytes"] >= N * MESSAGE_BYTES, "less than the messages themselves")
    share = waited(stage, "before.tide")
    stage.expect(0.3 < share < 0.7, f"a message waited for {share:.2f} of the run")
    stage.size("before.peak", sent["peak_bytes"])
    stage.figure("before.blocks", sent["peak_blocks"])
    stage.figure("queue.blocks", sent["peak_blocks"] - N)
    return sent


def million(stage):
    """Not to its end, which would take twenty minutes: the peak is there when all are passed on."""
    with subprocess.Popen(["tidemark", "run", "-q", "-o", "before-million.tide", "./telegraph",
                           "before", str(MANY)], cwd=stage.scratch, env=stage.env,
                          stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        stage.expect("passed on" in child.stdout.readline(), "the messages are not passed on")
        os.killpg(child.pid, signal.SIGINT)
    before = stage.json("report", "--json", "-n", "1", "before-million.tide")["totals"]
    stage.expect(before["peak_blocks"] > MANY * 0.9, f"{before['peak_blocks']} blocks at the peak")
    stage.size("million.peak", before["peak_bytes"], within=0.05)
    stage.show("fixed", "tidemark", "run", "-o", "after-million.tide", "./telegraph", "after",
               str(MANY), loose=(r"\d[\d.]* [KM]iB", r"\d[\d.]* %", r"(?s)top at the peak.*"))
    after = stage.json("report", "--json", "-n", "1", "after-million.tide")["totals"]
    most = (QUEUE + BATCH + 1) * MESSAGE_BYTES + REST_BYTES
    stage.expect(after["allocations"] > MANY, f"only {after['allocations']} allocations")
    stage.expect(after["peak_bytes"] <= most < 1 << 20, f"a peak of {after['peak_bytes']}")
    stage.size("fixed.peak", after["peak_bytes"], within=0.1)
    share = waited(stage, "after-million.tide")
    stage.expect(share < 0.01, f"a message waited for {share:.4f} of the run")
    found = stage.json("explain", "--json", "after-million.tide")["findings"]
    stage.expect(not any(one["rule"] == "backlog" for one in found), "still called a backlog")


def hunt(stage):
    stage.crate()
    sent = thousand(stage)
    million(stage)
    stage.run("tidemark", "run", "-q", "-o", "after.tide", "./telegraph", "after", str(N))
    after = stage.json("report", "--json", "-n", "1", "after.tide")["totals"]
    stage.expect(after["peak_bytes"] < sent["peak_bytes"] / 2, "the limit helps little")
    source = (stage.home / "src/main.rs").read_text()
    stage.expect(f"new(endpoint, {QUEUE}, {BATCH})" in source, "the program has other limits")
    stage.figure("limit", QUEUE)
    stage.figure("batch", BATCH)
    stage.figure("n", N)
    stage.figure("many", MANY)
    stage.html("before.tide")
    stage.picture("before.tide")


# ---- the same with other tools ----

def from_heaptrack(_, said):
    peak = re.search(r"peak heap memory consumption: (\S+)", said).group(1)
    return f"a peak of {peak}, most by `send_message`: how much and where; nothing of how long" \
        if "send_message" in said else f"a peak of {peak}, `send_message` is not named"


def from_stats_alloc(stage, _):
    done = subprocess.run(["./telegraph-stats_alloc", "before", str(N)], cwd=stage.scratch,
                          capture_output=True, text=True, check=True)
    when, most = re.findall(r"stats_alloc: (\d+) ms, (\d+) bytes", done.stderr)[-1]
    return f"a peak of {int(most):,} bytes at {when} ms, and a curve to draw; no place"


def from_massif(_, said):
    return "a curve, and trees of the heap at some moments" + \
        (", with `send_message`" if "send_message" in said else ", `send_message` in none")


def from_gperftools(_, said):
    return "what is live at each dump, one for every 256 KiB more" + \
        (", with `send_message`" if "send_message" in said else ", `send_message` in none")


def peers(stage):
    import peers as others
    for feature in ("dhat", "stats_alloc"):
        stage.crate(features=(feature,))
    stage.crate()
    return others.table(
        stage, ["./telegraph", "before", str(N)],
        (("tidemark", lambda _, said: "how much, by which line, how long each waited, what to do"
          if "waited at once" in said else "no backlog"),
         ("heaptrack", from_heaptrack), ("dhat-rs", others.of_dhat_rs("send_message")),
         ("massif", from_massif),
         ("stats_alloc", from_stats_alloc), ("gperftools", from_gperftools)),
        programs={"dhat": "./telegraph-dhat", "stats_alloc": "./telegraph-stats_alloc"})
