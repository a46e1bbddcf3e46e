# SPDX-License-Identifier: Apache-2.0
"""What a connection of an MQTT client costs: docs/case-studies/mqtt.md."""
import json
import pathlib
import re

N = 100
# What MqttState::new gives room for: how many, each of so many bytes, in rumqttc 0.24.0 on a 64-bit
# machine. By hand, from its source: a limit of 100 messages in flight and one that is wasted.
FIELDS = {"outgoing_pub": (101, 64), "outgoing_rel": (101, 4), "incoming_pub": (65536, 4),
          "events": (100, 144), "write": (10240, 1)}
PAGE_BYTES = 4096
MAPPED_HEADER_BYTES = 16
LOOKED_BYTES = 64 << 10  # blocks from this size on are looked at when they are freed


def fields(stage, capture="devices.tide"):
    """{field: its place}, by the lines of the client's own source."""
    report = stage.json("report", "--json", "--group", "place", "--blame", "library", capture)
    found = {}
    for group in report["groups"]:
        if group["function"] == "rumqttc::state::MqttState::new":
            line = pathlib.Path(group["file"]).read_text().splitlines()[group["line"] - 1]
            found[re.match(r"\s*(\w+):", line).group(1)] = group
    return found


def table(stage, found):
    rows = ["", "| Field of `MqttState` | Room for | Each | Bytes | in memory of it |",
            "|---|---:|---:|---:|---:|"]
    for name, (n, each) in sorted(FIELDS.items(), key=lambda item: -item[1][0] * item[1][1]):
        place = found.get(name)
        stage.expect(place, f"nobody allocates {name}: {sorted(found)}")
        stage.expect((place["peak_blocks"], place["peak_bytes"]) == (N, N * n * each),
                     f"{name} is {place['peak_bytes']} in {place['peak_blocks']} blocks")
        looked = place["looked_blocks"]
        touched = f"{place['touched_bytes'] // looked:,}" if looked else "not looked at"
        rows.append(f"| `{name}` | {n:,} | {each} | {n * each:,} | {touched} |")
    whole = sum(n * each for n, each in FIELDS.values())
    stage.figure("fields", "\n".join([*rows, f"| together | | | {whole:,} | |", ""]))
    stage.figure("whole", whole)


def lose(stage):
    """All connections go: the client writes to every id, and the whole table is in memory."""
    stage.run("tidemark", "run", "-q", "-o", "lost.tide", "./devices", str(N), "lose")
    stage.show("lost", "tidemark", "report", "-n", "1", "lost.tide", lines=slice(0, 5),
               loose=(r"max RSS .*", r"\d+ % of blocks", r"3,\d+ allocations"))
    totals = stage.json("report", "--json", "-n", "1", "lost.tide")["totals"]
    stage.expect(totals["untouched_bytes"] < totals["peak_bytes"] / 10 and
                 totals["max_rss_bytes"] > totals["peak_bytes"], str(totals))
    ids = fields(stage, "lost.tide")["incoming_pub"]
    stage.expect(ids["touched_bytes"] == ids["looked_bytes"] == ids["peak_bytes"],
                 f"of {ids['looked_bytes']} bytes {ids['touched_bytes']} were in memory")


def hunt(stage):
    stage.crate()
    stage.show("run", "tidemark", "run", "-o", "devices.tide", "./devices", str(N),
               loose=(r"in \d+ more places", r"(untouched|at least) +\d[\d.]* MiB", r"temporary",
                      r"\d+ % of blocks", r"3,\d+ allocations"))
    stage.show("explain", "tidemark", "explain", "devices.tide",
               loose=(r"(≥|least) +\d[\d.]* MiB",))
    finding = stage.json("explain", "--json", "devices.tide")["findings"][0]
    stage.expect(finding["rule"] == "untouched" and finding["confidence"] == "high", str(finding))
    evidence = finding["evidence"]
    whole = sum(n * each for n, each in FIELDS.values())
    stage.expect(evidence["items"] == N, f"{evidence['items']} instances")
    stage.expect(whole <= evidence["item_bytes"] <= whole + 512, f"{evidence['item_bytes']} each")
    stage.figure("each", evidence["item_bytes"])
    stage.size("each.words", evidence["item_bytes"])
    stage.figure("beside", evidence["item_bytes"] - whole)
    stage.show("library", "tidemark", "report", "--blame", "library", "-n", "6", "devices.tide",
               lines=slice(0, 13), loose=(r"in \d+ more places",
                                          r"(untouched|at least) +\d[\d.]* MiB", r"\d+ % of blocks",
                                          r"3,\d+ allocations", r"…\S+"))
    found = fields(stage)
    table(stage, found)
    ids = found["incoming_pub"]
    # Of a block with a mapping of its own the first page has malloc's header in it.
    stage.expect(ids["looked_blocks"] == N and
                 ids["touched_bytes"] <= N * (PAGE_BYTES - MAPPED_HEADER_BYTES),
                 f"of its ids {ids['touched_bytes']} bytes in {ids['looked_blocks']} blocks")
    stage.figure("ids", FIELDS["incoming_pub"][0] * FIELDS["incoming_pub"][1])
    stage.figure("ids.touched", ids["touched_bytes"] // N)
    stage.figure("ids.share", f"{100 * 262144 / evidence['item_bytes']:.0f} %")
    stage.figure("n", N)
    stage.size("looked", LOOKED_BYTES)
    lose(stage)
    stage.html("devices.tide")
    stage.picture("devices.tide")


# ---- the same with other tools ----

def from_heaptrack(_, said):
    peak = re.search(r"peak heap memory consumption: (\S+)", said).group(1)
    lines = sorted(set(re.findall(r"state\.rs:(\d+)", said)), key=int)
    return f"a peak of {peak}, by lines {', '.join(lines)} of state.rs; nothing of what was touched"


def from_massif(_, said):
    return "the heap at some moments, as a tree" + \
        (" with `MqttState::new`" if "MqttState" in said else "; `MqttState` is not in it")


def from_dhat(stage, _):
    told = json.loads((stage.scratch / "peer.dhat").read_text())
    frames = told["ftbl"]
    of_ids = [point for point in told["pps"] if any("state.rs:98" in frames[at] or
              "MqttState::new" in frames[at] for at in point["fs"])]
    most = max(of_ids, key=lambda point: point.get("gb", 0))
    return (f"{most['gb']:,} bytes at the peak in {most['gbk']} blocks by `MqttState::new`, of "
            f"which {most['rb']:,} were read and {most['wb']:,} written: to the byte, where "
            "tidemark knows pages")


def peers(stage):
    import peers as others
    return others.table(
        stage, ["./devices", str(N)],
        (("tidemark", lambda _, said: "what a connection costs, by which line, how much of all was "
          "never in memory" if "for each of" in said else "nothing of instances"),
         ("heaptrack", from_heaptrack), ("DHAT", from_dhat), ("massif", from_massif)))
