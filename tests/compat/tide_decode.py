#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second decoder of .tide files, written from docs/tide-format.md and
docs/numbers.md, and nothing else.

    tide_decode.py FILE        prints everything in the file as JSON

It shares no code and no shortcut with the C reader: where the two disagree, one of them or the
document is wrong.
"""
import itertools
import json
import struct
import sys
import zlib

from tide_payload import MASK64, Payload, Stop, signed, unpack_zstd

MAGIC = b"\x89TIDE\r\n\x1a"
PART_HEADER = struct.Struct("<4sHHIIQQII")
FACTS, IMAGE, MODULES, THREADS, FRAMES, SITES, TIMELINE, SNAPSHOTS, MARKS = range(1, 10)
SYMBOLS, LATE_FREES, ROLL, RESIDENT, COST, ALLOCATORS = 10, 11, 12, 13, 14, 15
RESIDENCE, EVENTS, HELD, RSS_KINDS, END = 16, 17, 18, 19, 255
STORED, BEHIND, BY_STACK, GOES_ON = 1, 2, 4, 8
N_REASONS = 23
N_SIZE_BUCKETS, N_LIFE_BUCKETS = 32, 48


def decode_facts(p):
    facts = {
        "tool_version": p.string(),
        "arch": p.varint(32),
        "kernel_page_bytes": p.varint(32),
        "hostname": p.string(),
        "kernel": p.string(),
        "start_realtime_ns": p.varint(),
        "duration_ns": p.varint(),
        "finished": p.u8() != 0,
        "n_images_left_out": p.varint(32),
    }
    n_images, n_parts = p.varint(32), p.varint(32)
    facts["taken"] = (p.string() if p.at < len(p.data) else "") or None
    return facts, n_images, n_parts


def decode_image(p, own_index):
    image = {
        "pid": p.varint(32),
        "ppid": p.varint(32),
        "parent_image": p.varint(32),
        "by_fork": p.u8() != 0,
        "exe": p.string(),
        "cmdline": p.bytes().decode("latin-1"),
        "allocator": p.string(),
        "start_ns": p.varint(),
        "end_ns": p.varint(),
        "end_kind": p.varint(32),
        "end_value": p.zigzag(32),
        "inherited_bytes": p.varint(),
        "off_reason": p.varint(32),
        "peak_bytes": p.zigzag(),
        "peak_blocks": p.zigzag(),
        "peak_ns": p.varint(),
        "peak_bound_bytes": p.varint(),
        "max_rss_bytes": p.varint(),
        "rss_at_peak_bytes": p.varint(),
        "page_live_bytes": p.zigzag(),
        "page_peak_bytes": p.zigzag(),
        "page_n_map": p.varint(),
        "page_b_map": p.varint(),
        "page_n_unmap": p.varint(),
        "page_b_unmap": p.varint(),
        "recorder_ns": p.varint(),
        "cpu_ns": p.varint(),
        "n_threads": p.varint(32),
        "max_live_threads": p.varint(32),
        "depth_limit": p.varint(32),
        "loss.n_unknown_free": p.varint(),
        "loss.n_lost_busy": p.varint(),
        "loss.n_lost_full": p.varint(),
        "loss.n_cut": p.varint(),
        "loss.n_broken": p.varint(),
        "loss.n_guessed": p.varint(),
        "loss.n_fork_lost": p.varint(),
        "loss.n_failed": p.varint(),
    }
    image["lacks"] = p.varint(32) if p.at < len(p.data) else 0
    image["origin"] = p.string() if p.at < len(p.data) else ""
    image["sampled_every_bytes"] = p.varint() if p.at < len(p.data) else 0
    image["refused"] = p.string() if p.at < len(p.data) else ""
    image["has_samples"] = image["sampled_every_bytes"] > 1
    more = p.varint() if p.at < len(p.data) else 0
    image["has_spreads"] = image["has_samples"] and more & 1 != 0
    image["is_resampled"] = int(image["has_spreads"] and more & 4 != 0)
    image["is_reset"] = more & 16 != 0
    image["n_pauses"] = p.varint(32) if more & 2 else 0
    image["paused_ns"] = p.varint() if more & 2 else 0
    image["is_paused"] = int(p.varint() != 0) if more & 2 else 0
    now_bytes = p.varint() if more & 8 else 0
    image["sampled_now_bytes"] = now_bytes if image["is_resampled"] else 0
    if image["parent_image"] > own_index:
        raise Stop("an image comes before its parent")
    if image["end_kind"] > 4:
        image["end_kind"] = 0
    for table in "modules", "threads", "frames", "sites", "ticks", "marks", "snapshots", "names":
        image[table] = []
    image["late_frees"] = []
    image["events"] = []
    image["has_temp_bytes"] = image["has_counts"] = image["has_late_frees"] = False
    image["has_resized_bytes"] = image["has_tick_resizes"] = image["has_touches"] = False
    image["resident"] = None
    image["allocators"] = None
    image["held"] = []
    image["rss_kinds"] = []
    image["residences"] = []
    return image


def rows_of(n, **columns):
    return [{name: values[i] for name, values in columns.items()} for i in range(n)]


def decode_modules(p, image):
    n = p.table(len(image["modules"]) + 1)
    path = p.column(n, p.string)
    build_id = p.column(n, p.bytes)
    start = p.diffs(n)
    size = p.column(n, p.varint)
    from_bias = p.column(n, p.zigzag)
    if any(len(b) > 32 for b in build_id) or len(image["modules"]) + 1 + n > 65536:
        raise Stop("a module is out of bounds")
    image["modules"] += rows_of(
        n,
        path=path,
        build_id=[b.hex() for b in build_id],
        start=start,
        end=[(a + b) & MASK64 for a, b in zip(start, size)],
        bias=[(a - b) & MASK64 for a, b in zip(start, from_bias)],
        first_ns=p.column(n, p.varint),
        generation=p.column(n, lambda: p.varint(32)),
    )


def decode_threads(p, image):
    n = p.table(len(image["threads"]) + 1)
    tid = p.column(n, lambda: p.varint(32))
    owners = p.column(n, lambda: p.varint(32))
    name = p.column(n, p.string)
    if any(len(text) > 15 for text in name):
        raise Stop("a thread's name is too long")
    image["threads"] += rows_of(n, tid=tid, n_owners=owners, name=name)


def decode_frames(p, image):
    first = len(image["frames"]) + 1
    n = p.table(first)
    n_places = p.varint()
    if n_places > len(p.data):
        raise Stop("too many places")
    pc = p.diffs(n_places)
    module = p.column(n_places, lambda: p.varint(16))
    flags = p.column(n_places, lambda: p.varint(16))
    up = p.column(n, p.varint)
    place = p.column(n, p.varint)
    if any(m > len(image["modules"]) for m in module):
        raise Stop("a place has no module")
    if any(k >= n_places for k in place):
        raise Stop("a frame has no place")
    if any(not 1 <= u <= first + i for i, u in enumerate(up)):
        raise Stop("a frame has no parent")
    image["frames"] += rows_of(
        n,
        pc=[pc[k] for k in place],
        parent=[first + i - u for i, u in enumerate(up)],
        module=[module[k] for k in place],
        flags=[flags[k] for k in place],
    )


def buckets(p, mask, n):
    return [p.varint() if mask >> k & 1 else 0 for k in range(n)]


def from_neighbours(site, start_ns, unit):
    """Stacks and times that are told by the row before."""
    def unzigzag(value):
        return (value >> 1) ^ -(value & 1)

    stacks = list(itertools.accumulate(unzigzag(value) for value in site["stack"]))
    if any(stack < 0 for stack in stacks):
        raise Stop("a site has no stack")
    since = [b - a for a, b in zip(site["first_ns"], site["last_ns"])]
    first = list(itertools.accumulate(unzigzag(value) for value in site["first_ns"]))
    site["stack"] = stacks
    site["first_ns"] = [(start_ns + a * unit) & MASK64 for a in first]
    site["last_ns"] = [(start_ns + (a + b) * unit) & MASK64 for a, b in zip(first, since)]


def decode_sites(p, image, by_stack):
    n = p.table(len(image["sites"]))
    unit = p.varint() if by_stack else 1
    if not 1 <= unit <= 1_000_000_000:
        raise Stop("a unit of time is out of bounds")
    site = {
        "stack": p.column(n, lambda: p.varint(32)),
        "thread": p.column(n, lambda: p.varint(32)),
        "n_alloc": p.column(n, p.varint),
        "b_alloc": p.column(n, p.varint),
    }
    live_blocks = p.column(n, p.zigzag)
    live_bytes = p.column(n, p.zigzag)
    site["n_free"] = [(a - b) & MASK64 for a, b in zip(site["n_alloc"], live_blocks)]
    site["b_free"] = [(a - b) & MASK64 for a, b in zip(site["b_alloc"], live_bytes)]
    for name in "peak_blocks", "peak_bytes", "high_bytes":
        site[name] = p.column(n, p.zigzag)
    for name in "life_ns_sum", "live_age_ns_sum", "n_temp", "n_foreign", "n_resize", "b_resize_old":
        site[name] = p.column(n, p.varint)
    site["n_moved"] = p.column(n, p.varint)
    site["first_ns"] = p.column(n, p.varint)
    since = p.column(n, p.zigzag)
    site["last_ns"] = [(a + b) & MASK64 for a, b in zip(site["first_ns"], since)]
    size_mask = p.column(n, lambda: p.varint(N_SIZE_BUCKETS))
    life_mask = p.column(n, lambda: p.varint(N_LIFE_BUCKETS))
    site["size_hist"], site["life_hist"] = [], []
    for i in range(n):
        site["size_hist"].append(buckets(p, size_mask[i], N_SIZE_BUCKETS))
        site["life_hist"].append(buckets(p, life_mask[i], N_LIFE_BUCKETS))
    has_bytes = p.has_appended(len(image["sites"]), n, image["has_temp_bytes"])
    for name in "b_temp", "b_moved":
        site[name] = p.column(n, p.varint) if has_bytes else [0] * n
    has_resized = p.has_appended(len(image["sites"]), n, image["has_resized_bytes"])
    site["b_resize_new"] = p.column(n, p.varint) if has_resized else [0] * n
    has_samples = image["has_samples"] and has_resized
    site["n_samples"] = p.column(n, p.varint) if has_samples else [0] * n
    has_spreads = image["has_spreads"] and has_samples
    for of in "alloc", "live", "peak":
        for name in f"{of}_blocks_spread", f"{of}_bytes_spread":
            site[name] = p.column(n, p.varint) if has_spreads else [0] * n
    is_reset = image["is_reset"] and has_resized
    for name in "before_blocks", "before_bytes":
        site[name] = p.column(n, p.zigzag) if is_reset else [0] * n
    has_touches = p.has_appended(len(image["sites"]), n, image["has_touches"])
    for name in "n_looked", "b_looked", "b_touched":
        site[name] = p.column(n, p.varint) if has_touches else [0] * n
    if by_stack:
        from_neighbours(site, image["start_ns"], unit)
    if any(stack > len(image["frames"]) for stack in site["stack"]):
        raise Stop("a site has no stack")
    if any(thread > len(image["threads"]) for thread in site["thread"]):
        raise Stop("a site has no thread")
    image["sites"] += rows_of(n, **site)
    image["has_temp_bytes"] = has_bytes
    image["has_resized_bytes"] = has_resized
    image["has_samples"] = has_samples
    image["has_spreads"] = has_spreads
    image["is_reset"] = is_reset
    image["has_touches"] = has_touches


def decode_timeline(p, image):
    n = p.table(len(image["ticks"]))
    tick = {
        "time_ns": p.rises(n),
        "live_bytes": p.diffs(n, True),
        "live_blocks": p.diffs(n, True),
        "n_alloc": p.diffs(n),
        "b_alloc": p.diffs(n),
        "n_free": p.diffs(n),
        "rss_bytes": p.diffs(n),
        "page_bytes": p.diffs(n, True),
    }
    has_resizes = p.has_appended(len(image["ticks"]), n, image["has_tick_resizes"])
    tick["n_resize"] = p.diffs(n) if has_resizes else [0] * n
    tick["b_resized"] = p.diffs(n, True) if has_resizes else [0] * n
    ticks = rows_of(n, **tick)
    if ticks and image["ticks"] and ticks[0]["time_ns"] < image["ticks"][-1]["time_ns"]:
        raise Stop("time goes back")
    image["ticks"] += ticks
    image["has_tick_resizes"] = has_resizes


def decode_marks(p, image):
    n = p.table(len(image["marks"]))
    marks = rows_of(n, time_ns=p.rises(n), name=p.column(n, p.string))
    if marks and image["marks"] and marks[0]["time_ns"] < image["marks"][-1]["time_ns"]:
        raise Stop("time goes back")
    image["marks"] += marks


def decode_rows(p, n_frames, last, number):
    """Rows of stack and two numbers; stacks rise from the last one of the piece before."""
    n = p.varint()
    if n > len(p.data):
        raise Stop("a snapshot claims too many rows")
    gaps = p.column(n, p.varint)
    stacks = [last + 1 + i + gap for i, gap in enumerate(itertools.accumulate(gaps))]
    if stacks and stacks[-1] > n_frames:
        raise Stop("a snapshot names no stack")
    return list(zip(stacks, p.column(n, number), p.column(n, number)))


def changed(before, changes):
    alive = {row[0]: (row[1], row[2]) for row in before}
    for stack, more_bytes, more_blocks in changes:
        was = alive.pop(stack, (0, 0))
        now = signed(was[0] + more_bytes), signed(was[1] + more_blocks)
        if now != (0, 0):
            alive[stack] = now
    return [[k, *alive[k]] for k in sorted(alive)]


def counted(counts):
    return [list(row) for row in counts if row[1:] != (0, 0)]


def decode_moment(p, before_ns):
    time_ns = before_ns + p.varint()
    if time_ns > MASK64:
        raise Stop("time runs out of 64 bits")
    kind = p.varint(32)
    return {"time_ns": time_ns, "kind": kind if kind <= 2 else 0}


def last_of(snapshots):
    return snapshots[-1] if snapshots else {"time_ns": 0, "rows": []}


def decode_piece(p, image, pieces, goes_on):
    """One snapshot, whose rows go on from part to part. Gives what comes before the next piece."""
    n_frames, before = len(image["frames"]), last_of(image["snapshots"])
    is_first = pieces is None
    changes, counts, has_counts = pieces or ([], [], image["has_counts"])
    moment = decode_moment(p, before["time_ns"])
    changes = changes + decode_rows(p, n_frames, changes[-1][0] if changes else -1, p.zigzag)
    has_counts = p.has_appended(len(image["snapshots"]) if is_first else 1, 1, has_counts)
    if has_counts:
        counts = counts + decode_rows(p, n_frames, counts[-1][0] if counts else -1, p.varint)
    if goes_on:
        return changes, counts, has_counts
    moment.update(rows=changed(before["rows"], changes), counts=counted(counts))
    image["snapshots"] = [*image["snapshots"], moment]
    image["has_counts"] = has_counts
    return None


def decode_snapshots(p, image, pieces, goes_on):
    n_before, n_frames = len(image["snapshots"]), len(image["frames"])
    n = p.table(n_before)
    if n_before + n > 4096:
        raise Stop("too many snapshots")
    if goes_on or pieces:
        if n != 1:
            raise Stop("a snapshot in pieces is not alone")
        return decode_piece(p, image, pieces, goes_on)
    snapshots = list(image["snapshots"])
    for _ in range(n):
        before = last_of(snapshots)
        moment = decode_moment(p, before["time_ns"])
        changes = decode_rows(p, n_frames, -1, p.zigzag)
        moment.update(rows=changed(before["rows"], changes), counts=[])
        snapshots.append(moment)
    has_counts = p.has_appended(n_before, n, image["has_counts"])
    for snapshot in snapshots[n_before:] if has_counts else []:
        snapshot["counts"] = counted(decode_rows(p, n_frames, -1, p.varint))
    image["snapshots"] = snapshots
    image["has_counts"] = has_counts
    return None


def decode_late_frees(p, image):
    n = p.table(len(image["late_frees"]))
    total = p.varint()
    freed = p.rises(n)
    stack = p.column(n, lambda: p.varint(32))
    ages = p.column(n, lambda: p.varint(32))
    blocks = p.column(n, p.varint)
    size = p.column(n, p.varint)
    if any(k >= len(image["snapshots"]) or not 1 <= age <= k for k, age in zip(freed, ages)):
        raise Stop("a late free has no snapshots")
    if any(k > len(image["frames"]) for k in stack):
        raise Stop("a late free has no stack")
    rows = image["late_frees"] + [
        [k, s, k - age, b, m] for k, s, age, b, m in zip(freed, stack, ages, blocks, size)]
    if any(a[:3] >= b[:3] for a, b in zip(rows, rows[1:])) or len(rows) > total:
        raise Stop("late frees out of order")
    image["late_frees"] = rows
    image["has_late_frees"] = len(rows) == total


def decode_events(p, image):
    n = p.table(len(image["events"]))
    stack = p.rises(n)
    thread = p.column(n, lambda: p.varint(32))
    counts = p.column(n, p.varint)
    weights = p.column(n, p.varint)
    first = p.column(n, p.varint)
    last = p.column(n, p.varint)
    if any(k > len(image["frames"]) for k in stack):
        raise Stop("an event has no stack")
    if any(k > len(image["threads"]) for k in thread):
        raise Stop("an event has no thread")
    rows = image["events"] + list(map(list, zip(stack, thread, counts, weights, first, last)))
    if any(a[:2] >= b[:2] for a, b in zip(rows, rows[1:])):
        raise Stop("events out of order")
    image["events"] = rows


def decode_symbols(p, image):
    n = p.table(len(image["names"]))
    if n == 0:
        return
    n_strings = p.varint()
    if n_strings > len(p.data):
        raise Stop("too many strings")
    strings = [""] + p.column(n_strings, p.string)
    module = p.column(n, lambda: p.varint(16))
    addr = p.diffs(n)
    n_frames = p.column(n, lambda: p.varint(32))
    if any(m > len(image["modules"]) for m in module):
        raise Stop("a place has no module")
    total = sum(n_frames)
    if 0 in n_frames or total > len(p.data):
        raise Stop("a place has no frames")
    function = p.column(total, p.varint)
    file = p.column(total, p.varint)
    line = p.column(total, lambda: p.varint(32))
    flags = p.column(total, p.varint)
    if any(k > n_strings for k in function + file):
        raise Stop("a frame has no name")
    names, at = list(image["names"]), 0
    for i in range(n):
        if names and (names[-1]["module"], names[-1]["addr"]) >= (module[i], addr[i]):
            raise Stop("places are out of order")
        rows = range(at, at + n_frames[i])
        at += n_frames[i]
        texts = [[strings[function[k]], strings[file[k]]] for k in rows]
        frames = [[*text, line[k], flags[k] & 1 == 1] for text, k in zip(texts, rows)]
        names.append({"module": module[i], "addr": addr[i], "frames": frames})
    image["names"] = names


def decode_resident(p, image):
    if image["resident"] is not None:
        raise Stop("a second word on resident memory")
    image["resident"] = {
        "rss_is_own": p.varint() & 1 == 1,
        "max_rss_ns": p.varint(),
        "max_rss_live_bytes": p.zigzag(),
        "recorder_rss_bytes": p.varint(),
        "rss_bound_bytes": p.varint(),
        "untouched_bytes": p.varint(),
        "swapped_bytes": p.varint(),
    }


def decode_allocators(p, image):
    if image["allocators"] is not None:
        raise Stop("a second word on allocators")
    by_agent = p.varint() & 1 == 1
    n = p.varint()
    if n > 64:
        raise Stop("too many allocators")
    image["allocators"] = {"by_agent": by_agent, "rows": [
        [p.varint(32), p.varint(), p.varint(), p.zigzag(), p.zigzag(), p.zigzag(), p.zigzag()]
        for _ in range(n)]}


def decode_held(p, image):
    if image["held"]:
        raise Stop("a second word on what was held at ticks")
    n_ticks, n = p.varint(), p.varint()
    if n_ticks != len(image["ticks"]):
        raise Stop("not about the timeline before it")
    if n > 64 or n * n_ticks > len(p.data):
        raise Stop("it claims too many rows")
    stack, series = -1, []
    for _ in range(n):
        stack += 1 + p.varint(32)
        if stack > len(image["frames"]):
            raise Stop("no such stack")
        series.append({"stack": stack, "shift": p.varint()})
        if series[-1]["shift"] > 62:
            raise Stop("a unit is too large")
    for one in series:
        numbers = p.diffs(n_ticks)
        if any(number > ((1 << 63) - 1) >> one["shift"] for number in numbers):
            raise Stop("too much was held")
        one["bytes"] = [number - 1 << one["shift"] if number else -1 for number in numbers]
    image["held"] = series


def decode_rss_kinds(p, image):
    if image["rss_kinds"]:
        raise Stop("a second word on the kinds of RSS")
    n = p.varint()
    if n > 4096 or 5 * n > len(p.data):
        raise Stop("it claims too many rows")
    times, time = [], 0
    for _ in range(n):
        time += p.varint()
        times.append(time)
    if time >= 1 << 64:
        raise Stop("time goes back")
    image["rss_kinds"] = [list(row) for row in zip(times, *(p.diffs(n) for _ in range(4)))]


KINDS, OTHER_KIND = 18, 15


def decode_residence(p, image):
    if len(image["residences"]) == 64:
        raise Stop("too many tables of memory")
    flags, heap = p.varint(), p.varint(32)
    facts = [flags & 1, flags >> 1 & 1, heap if heap <= 3 else 0] + [p.varint() for _ in range(22)]
    if image["residences"] and image["residences"][-1]["facts"][3] > facts[3]:
        raise Stop("tables of memory are out of order")
    rows = [0] * KINDS
    for i in range(n_rows_of(p, 1)):
        at = i if i < KINDS else OTHER_KIND
        rows[at] = (rows[at] + p.varint()) % (1 << 64)
    arenas = [[p.varint() & 1, p.varint(32), *(p.varint() for _ in range(6))]
              for _ in range(n_rows_of(p, 8))]
    files = [[p.string(), p.varint(), p.varint(), p.varint(32)] for _ in range(n_rows_of(p, 4))]
    sites = [[p.varint(32), p.varint() & 1, *(p.varint() for _ in range(9))]
             for _ in range(n_rows_of(p, 11))]
    if any(stack > len(image["frames"]) for stack in
           [site[0] for site in sites] + [file[3] for file in files]):
        raise Stop("a site or a file has no stack")
    bucket_bytes, at, buckets = p.varint(), 0, []
    for _ in range(n_rows_of(p, 4)):
        at = (at + p.varint()) & MASK64
        buckets.append([at, p.varint(), p.varint(), p.varint()])
    classes, runs, sparse = [], [0, 0], [[0, 0] for _ in sites]
    if p.at < len(p.data):  # files from before they were told end here
        classes = [[p.varint() for _ in range(11)] for _ in range(n_rows_of(p, 11))]
        runs = [p.varint(), p.varint()]
        for _ in range(n_rows_of(p, 3)):
            site = p.varint()
            if site >= len(sites):
                raise Stop("a run is kept by a site that there is not")
            sparse[site] = [p.varint(), p.varint()]
    swapped = [0 for _ in range(len(sites) + 1)]
    if p.at < len(p.data):  # nothing is, most often
        swapped[0] = p.varint()
        for _ in range(n_rows_of(p, 2)):
            site = p.varint()
            if site >= len(sites):
                raise Stop("a site that there is not has something swapped out")
            swapped[site + 1] = p.varint()
    image["residences"].append(
        {"facts": facts, "rows": rows, "arenas": arenas, "files": files, "sites": sites,
         "bucket_bytes": bucket_bytes, "map": buckets, "classes": classes, "runs": runs,
         "sparse": sparse, "swapped": swapped})


def n_rows_of(p, least_bytes):
    n = p.varint()
    if n * least_bytes > len(p.data):
        raise Stop("it claims more rows than it holds")
    return n


def decode_cost(p):
    return {name: p.varint() for name in ("cpu_ns", "recorder_ns", "supervisor_ns")}


def decode_roll(p):
    roll = {"at_least": p.varint() & 1 == 1}
    roll["command_pid"] = p.varint(32)
    roll["n_recorded"] = p.varint()
    roll["n_refused"] = p.varint()
    n = p.varint()
    if n > len(p.data):
        raise Stop("the roll claims too many rows")
    roll["rows"] = []
    for _ in range(n):
        row = {"exe": p.string(), "detail": p.string(), "parent": p.string()}
        row["why"] = p.varint(32)
        row["is_command"] = p.varint() & 1 == 1
        row["pid"] = p.varint(32)
        for name in "n_processes", "start_ns", "end_ns", "max_rss_bytes", "recorded_bytes":
            row[name] = p.varint()
        if row["why"] >= N_REASONS:
            row["why"] = 0
        roll["rows"].append(row)
    return roll


TABLES = {
    MODULES: decode_modules,
    THREADS: decode_threads,
    FRAMES: decode_frames,
    SITES: None,  # has two forms
    TIMELINE: decode_timeline,
    SNAPSHOTS: None,  # by take_part()
    MARKS: decode_marks,
    SYMBOLS: decode_symbols,
    LATE_FREES: decode_late_frees,
    RESIDENT: decode_resident,
    ALLOCATORS: decode_allocators,
    RESIDENCE: decode_residence,
    EVENTS: decode_events,
    HELD: decode_held,
    RSS_KINDS: decode_rss_kinds,
}


class Decoder:
    def __init__(self, data):
        self.data = data
        self.at = 16
        self.n_parts = 0
        self.capture = None
        self.images = []
        self.roll = None
        self.cost = None
        self.n_images = 0
        self.ended = False
        self.roots = {}  # sequence number: type and payload
        self.by_stack = self.goes_on = False  # of the part at hand
        self.pieces = {}  # per image, of a snapshot whose end has not come

    def next_part(self):
        """Type, image and payload of the next part; the payload is None for unknown types."""
        header = self.data[self.at : self.at + PART_HEADER.size]
        if len(header) < PART_HEADER.size:
            raise Stop("cut")
        (magic, kind, flags, image, sequence, n_raw, n_stored, crc,
         root) = PART_HEADER.unpack(header)
        stored = self.data[self.at + PART_HEADER.size :][:n_stored]
        if magic != b"PART" or len(stored) < n_stored:
            raise Stop("cut or damaged")
        if zlib.crc32(header[:32] + bytes(4) + header[36:] + stored) != crc:
            raise Stop("wrong checksum")
        if sequence != self.n_parts or (kind == FACTS) != (sequence == 0):
            raise Stop("a part out of turn")
        own = {SITES: BY_STACK, SNAPSHOTS: GOES_ON}.get(kind, 0)
        if flags & ~(STORED | BEHIND | own):
            raise Stop("a flag is not known")
        self.at += PART_HEADER.size + n_stored
        self.n_parts += 1
        if kind not in TABLES and kind not in (FACTS, IMAGE, ROLL, COST, END):
            return kind, image, None
        raw = self.unpack(kind, flags, stored, n_raw, root)
        if len(raw) != n_raw:
            raise Stop("wrong raw length")
        if not flags & BEHIND:
            self.roots[sequence] = kind, raw
        self.by_stack = flags & BY_STACK != 0
        self.goes_on = flags & GOES_ON != 0
        return kind, image, Payload(raw)

    def unpack(self, kind, flags, stored, n_raw, root):
        if flags & STORED:
            return stored
        if not flags & BEHIND:
            return unpack_zstd(stored, n_raw)
        if self.roots.get(root, (None,))[0] != kind:
            raise Stop("a part has no root")
        return unpack_zstd(stored, n_raw, self.roots[root][1])

    def take_part(self):
        kind, image, payload = self.next_part()
        if kind == FACTS:
            self.capture, self.n_images, _ = decode_facts(payload)
        elif kind == IMAGE:
            if image != len(self.images):
                raise Stop("an image out of turn")
            self.images.append(decode_image(payload, image))
        elif kind == ROLL:
            if self.roll is not None:
                raise Stop("a second roll")
            self.roll = decode_roll(payload)
        elif kind == COST:
            if self.cost is not None:
                raise Stop("a second cost")
            self.cost = decode_cost(payload)
        elif kind == END:
            if payload.varint(32) != self.n_parts or len(self.images) != self.n_images:
                raise Stop("the counts do not agree")
            if any(self.pieces.values()):
                raise Stop("a snapshot has no end")
            self.ended = True
        elif payload is not None:
            if image >= len(self.images):
                raise Stop("a part of an unknown image")
            if kind == SITES:
                decode_sites(payload, self.images[image], self.by_stack)
            elif kind == SNAPSHOTS:
                self.pieces[image] = decode_snapshots(
                    payload, self.images[image], self.pieces.get(image), self.goes_on)
            else:
                TABLES[kind](payload, self.images[image])


def decode(data):
    if data[:8] != MAGIC or len(data) < 16:
        raise ValueError("not a .tide file")
    major, minor = struct.unpack("<HH", data[8:12])
    if major != 1:
        raise ValueError(f"format version {major}.{minor} is not known here")
    decoder = Decoder(data)
    try:
        while not decoder.ended:
            decoder.take_part()
    except Stop as stop:
        if not decoder.images:
            raise ValueError(f"nothing can be read: {stop}") from stop
    capture = dict(decoder.capture)
    capture["cut"] = not decoder.ended
    capture["images"] = decoder.images
    capture["roll"] = decoder.roll
    capture["cost"] = decoder.cost
    return capture


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tide_decode.py FILE")
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    try:
        json.dump(decode(data), sys.stdout)
    except ValueError as error:
        sys.exit(f"tide_decode.py: {sys.argv[1]}: {error}")
    print()


if __name__ == "__main__":
    main()
