# SPDX-License-Identifier: Apache-2.0
"""The benchmark's JSON as the page people read (docs/overhead.md)."""
import sys

import devices
import sampling
import stages
import steady

NAMES = ["plain", "tidemark", "heaptrack", "dhat", "gperftools"]
PAIRS_TIMES = 5  # many short runs: a few of them are left alone by whatever else the machine does


def columns(per_peer):
    return [name for name in NAMES if name in per_peer]


def header(titles):
    return ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]


def row(cells):
    return "| " + " | ".join(cells) + " |"


def number(value, digits=1):
    return f"{round(value, digits) + 0:,.{digits}f}"  # and no -0


def spread(summary, digits=1):
    return f"{number(summary['low'], digits)}–{number(summary['high'], digits)}"


def pairs_lines(rows):
    peers = [name for name in NAMES if any(name in r["ns"] for r in rows)]
    titles = ["ns per malloc + free", "plain"] + [f"{p} adds" for p in peers if p != "plain"]
    lines = header(titles + ["heaptrack / tidemark", "at best"])
    for entry in rows:
        ns = entry["ns"]
        cells = [entry["workload"], number(ns["plain"]["median"])]
        for peer in peers:
            if peer == "plain":
                continue
            cells.append(f"{ns[peer]['added_ns']:+,.1f} ({spread(ns[peer], 0)})"
                         if peer in ns else "")
        cells += [ratio_of(ns, "added_ns"),
                  f"{ratio_of(ns, 'added_low_ns')} ({ns['tidemark']['added_low_ns']:+,.1f})"]
        lines.append(row(cells))
    return lines


def threads_lines(rows):
    peers = columns(rows[0]["ns"])
    lines = header(["Threads at once", "plain"] + [f"{p} adds" for p in peers if p != "plain"]
                   + ["peak", "known to", "memory for each"])
    for entry in rows:
        ns, told = entry["ns"], entry["told"]
        known = 100 * told["bound_bytes"] / max(told["peak_bytes"], 1)
        cells = [number(entry["threads"], 0), number(ns["plain"]["median"])]
        cells += [f"{ns[p]['added_ns']:+,.1f} ({spread(ns[p], 0)})" for p in peers if p != "plain"]
        cells += [f"{number(told['peak_bytes'] / 1024, 0)} KiB",
                  f"{known:.2f} %" if told["bound_bytes"] else "the byte",
                  f"{number(told['recorder_bytes'] / 1024 / entry['threads'], 0)} KiB"]
        lines.append(row(cells))
    return lines


def ratio_of(per_peer, key):
    if "tidemark" not in per_peer or "heaptrack" not in per_peer:
        return ""
    ours = per_peer["tidemark"][key]
    return f"{per_peer['heaptrack'][key] / ours:,.1f}×" if ours > 0 else ""


def programs_lines(rows):
    peers = [name for name in NAMES if any(name in r["wall_s"] for r in rows) and name != "plain"]
    lines = header(["Program", "Allocations", "CPU plain"] + [f"{name}: CPU" for name in peers]
                   + ["wall plain"] + [f"{name}: wall" for name in peers])
    for entry in rows:
        count = entry.get("allocations")
        cells = [entry["workload"], number(count, 0) if count else ""]
        for key in ("cpu_s", "wall_s"):
            cells.append(f"{number(entry[key]['plain']['median'], 2)} s")
            cells += [f"{number(of['median_ratio'], 2)}×, at best "
                      f"{number(of['low_eighth_ratio'], 2)}×"
                      for of in (entry[key][peer] for peer in peers)]
        lines.append(row(cells))
    return lines


def stages_lines(rows):
    lines = header(["Program", "CPU plain"] + stages.COLUMNS)
    for entry in rows:
        plain = entry["plain_ms"]["median"]
        lines.append(row([entry["workload"], f"{number(plain / 1e3, 2)} s"]
                         + [f"{number(entry['ms'][column]['median'] / plain * 100)} %"
                            for column in stages.COLUMNS]))
    return lines


def devices_lines(rows):
    lines = header(["Instructions of the recorder", "with all", *(f"without {name}"
                                                                  for name in devices.DEVICES)])
    for entry in rows:
        whole = entry["instructions"]
        lines.append(row([entry["workload"], f"{number(whole / 1e6)} M"]
                         + [f"{(entry['without'][name] / whole - 1) * 100:+.1f} %"
                            for name in devices.DEVICES]))
    return lines


def said_lines(rows):
    lines = header(["Program", "CPU plain", "measured", "range", "said", "within a quarter"])
    for entry in rows:
        lines.append(row([entry["workload"], f"{number(entry['plain_s']['median'], 2)} s",
                          f"{number(entry['true'], 2)}×", spread(entry["true_range"], 2),
                          f"{number(entry['said'], 2)}×",
                          "yes" if entry["within"] else "no"]))
    return lines


def startup_lines(entry):
    lines = header(["Start to end of `true`", "ms", "added ms", "range"])
    for peer in columns(entry["ms"]):
        summary = entry["ms"][peer]
        lines.append(row([peer, number(summary["median"]), number(summary["added_ms"]),
                          spread(summary)]))
    return lines


def forks_lines(rows):
    peers = [name for name in NAMES if any(name in r["cpu_s"] for r in rows) and name != "plain"]
    lines = header(["Processes", "number", "CPU plain"] + peers + ["tidemark at best", "capture"])
    for entry in rows:
        cpu, n = entry["cpu_s"], entry["n_processes"]
        plain_us = cpu["plain"]["median"] / n * 1e6
        cells = [entry["workload"], number(n, 0), f"{number(plain_us, 0)} µs"]
        cells += [f"{cpu[peer]['added_us']:+,.0f} µs ({number(cpu[peer]['ratio'], 2)}×)"
                  for peer in peers]
        cells.append(f"{cpu['tidemark']['added_low_us']:+,.0f} µs")
        cells.append(f"{number(entry['capture_bytes']['median'] / 2**10, 0)} KiB")
        lines.append(row(cells))
    return lines


def memory_lines(entry):
    lines = header([f"{entry['n_live']:,} live blocks", "MiB over all processes", "added MiB",
                    "added bytes per block"])
    for peer in columns(entry["peers"]):
        values = entry["peers"][peer]
        lines.append(row([peer, number(values["bytes"] / 2**20), number(
            values["added_bytes"] / 2**20), number(values["added_per_block"])]))
    return lines + [""] + memory_size_lines(entry["sizes"])


def memory_size_lines(sizes):
    peers = list(sizes[0]["added_bytes"])
    lines = header(["1 GiB of blocks of", "blocks"]
                   + [f"{peer}: added MiB" for peer in peers]
                   + [f"{peer}: per block" for peer in peers]
                   + [f"{peer}: per block, half freed" for peer in peers])
    for entry in sizes:
        size, n_live = entry["size"], entry["n_live"]
        lines.append(row(
            [f"{size:,} bytes" if size > 0 else f"16 to {-size:,} bytes", f"{n_live:,}"]
            + [number(entry["added_bytes"][peer] / 2**20) for peer in peers]
            + [number(entry["added_bytes"][peer] / n_live) for peer in peers]
            + [number(entry["half_added_bytes"][peer] / (n_live / 2)) for peer in peers]))
    return lines


def stacks_lines(rows):
    peers = [name for name in NAMES if any(name in r["peers"] for r in rows)]
    lines = header(["New stacks"] + [f"{name}: ns each, CPU s, peak MiB" for name in peers])
    for entry in rows:
        cells = [f"{entry['n_stacks']:,}, {entry['mode']}"]
        for name in peers:
            values = entry["peers"][name]
            cells.append(", ".join([number(values["ns"]["median"], 0),
                                    number(values["cpu_s"]["median"], 2),
                                    number(values["peak_bytes"]["median"] / 2**20, 0)]))
        lines.append(row(cells))
    return lines


def attach_lines(entry):
    ways = list(entry["still"][0]["longest_us"])
    lines = header(["Longest round, µs: threads", *ways])
    for still in entry["still"]:
        lines.append(row([number(still["threads"], 0)]
                         + [f"{number(found['median'], 0)} ({spread(found, 0)})" if found
                            else "died of it" for found in still["longest_us"].values()]))
    lines += ["", *header(["ns per malloc + free", "plain", "preloaded adds", "attached adds",
                           "attached / preloaded", "at best"])]
    for pairs in entry["pairs"]:
        ns = pairs["ns"]
        added = {way: {key: ns[way][key] - ns["plain"][key] for key in ("median", "low_eighth")}
                 for way in ("preload", "agent")}
        ratios = [f"{added['agent'][key] / added['preload'][key]:,.2f}×"
                  if added["preload"][key] > 0 else "" for key in ("median", "low_eighth")]
        lines.append(row([pairs["workload"], number(ns["plain"]["median"])]
                         + [f"{added[way]['median']:+,.1f} ({spread(ns[way], 0)})"
                            for way in ("preload", "agent")] + ratios))
    if entry.get("counted"):
        lines += ["", *header(["instructions per malloc + free", "plain", "preloaded", "attached",
                               "attached / preloaded", "of what is added"])]
    for counted in entry.get("counted", []):
        plain, preload, agent = (counted["instructions"][way]
                                 for way in ("plain", "preload", "agent"))
        lines.append(row([counted["workload"], *(number(n, 0) for n in (plain, preload, agent)),
                          f"{agent / preload:,.2f}×",
                          f"{(agent - plain) / (preload - plain):,.2f}×"]))
    return lines


def finish_lines(entry):
    size, seconds = entry["capture_bytes"], entry["finish_s"]
    return [f"The capture of {entry['workload']} has {number(size['median'] / 2**20, 2)} MiB and "
            f"is finished {number(seconds['median'] * 1e3, 0)} ms "
            f"({spread({k: v * 1e3 for k, v in seconds.items()}, 0)}) after the program's exit."]


def commands_lines(entry, title="seconds", key="wall_s"):
    lines = header(["Command", title, "range", "peak MiB"])
    for name, seconds in entry[key].items():
        peak = entry["peak_bytes"][name]["median"]
        lines.append(row([name, number(seconds["median"], 2), spread(seconds, 2),
                          number(peak / 2**20, 0)]))
    return lines


def naming_lines(entry):
    lines = [f"{entry['n_stacks']:,} stacks over {entry['n_addresses']:,} addresses of a C++ "
             f"program of {number(entry['program_bytes'] / 1e6, 0)} MB, most of it debug info.", ""]
    return lines + commands_lines(entry)


def imports_lines(entry):
    lines = [f"A recording of CPython by heaptrack: {entry['n_events']:,} events, "
             f"{number(entry['file_bytes'] / 1e6, 1)} MB.", ""]
    return lines + commands_lines(entry)


def looks_lines(entry):
    lines = header(["A heap of", "blocks", "RSS MiB", "processor seconds", "peak MiB",
                    "RSS, a half freed", "processor seconds", "peak MiB"])
    for one in entry:
        cells = [f"{one['words']}, {one['how']}", f"{one['n_live']:,}"]
        for look in one["full"], one["half"]:
            cells += [number(look["rss_bytes"] / 2**20, 0), number(look["cpu_s"], 2),
                      number(look["peak_bytes"] / 2**20, 1)]
        lines.append(row(cells))
    return lines


def regions_lines(rows):
    ways = list(rows[0]["ns"])
    lines = header(["ns each", *ways, *(f"{way}, at best" for way in ways),
                    "instructions, no recorder", "with it"])
    for one in rows:
        cells = [f"{number(one['ns'][way]['median'])} ({spread(one['ns'][way], 0)})"
                 for way in ways]
        cells += [number(one["low_ns"][way]["low"]) for way in ways]
        cells += [number(n, 0) if n else "" for n in one["instructions"]]
        lines.append(row([one["deed"], *cells]))
    return lines


def suites_lines(entry):
    lines = header([f"{entry['n_tests']:,} tests", "processor seconds", "times plain",
                    "at best", "wall seconds"])
    plain = entry["cpu_s"]["plain"]
    for name, cpu in entry["cpu_s"].items():
        wall = entry["wall_s"][name]
        lines.append(row([name, f"{number(cpu['median'], 3)} ({spread(cpu, 3)})",
                          number(cpu["median"] / plain["median"], 2),
                          number(cpu["low"] / plain["low"], 2),
                          f"{number(wall['median'], 3)} ({spread(wall, 3)})"]))
    return lines


def exports_lines(entry):
    lines = [f"{entry['n_stacks']:,} stacks of {entry['n_frames']:,} frames, names cached.", ""]
    lines += commands_lines(entry, "processor seconds", "cpu_s")
    if "many" not in entry:  # a table of an older run
        return lines
    many = entry["many"]
    lines += ["", f"{many['n_stacks']:,} stacks of {many['n_frames']:,} frames of code with debug "
                  "information, each command once.", ""]
    lines += header(["Command", "processor seconds", "peak MiB", "MB written"])
    for name, said in many["commands"].items():
        lines.append(row([name, number(said["cpu_s"], 2), number(said["peak_bytes"] / 2**20, 0),
                          number(said["bytes"] / 1e6, 1)]))
    return lines


def sampling_lines(entry):
    return sampling.lines(entry, sys.modules[__name__])


def steady_lines(entry):
    return steady.lines(entry, sys.modules[__name__])


DEEDS = [("zoom", "zooming"), ("hover", "hovering"), ("scroll", "scrolling"),
         ("search", "searching, a new pattern each frame")]


def page_stacks(one):
    return f"{one['n_stacks']:,}{' recorded' if one['is_recorded'] else ''}"


def page_views(files):
    """Of the largest, beside each other."""
    asked = (("seen", "seen_ms"), ("all there", "ms"), ("longest block", "block_ms"))
    lines = header(["First view of", *(f"{page_stacks(one)}: {words}" for one in files
                                       for words, _ in asked)])
    for name, seen in files[0]["views"].items():
        if "ms" in seen:
            lines.append(row([name, *(number(one["views"][name][key], 0) for one in files
                                      for _, key in asked)]))
    return lines + [""]


def page_file_row(one):
    views = {name: seen for name, seen in one["views"].items() if "ms" in seen}
    slowest = max(views, key=lambda name: views[name]["ms"])
    block = max(seen["block_ms"] for seen in views.values())
    held = [one["open"], one["views"]["memory"], one["views"]["again"]]
    mib = [of["bytes"] / 2**20 for of in held]
    return row([page_stacks(one), number(one["file_bytes"] / 1e6, 1),
                number(one["graph_ms"], 0), number(one["open_cpu_ms"], 0),
                number(one["open"]["block_ms"], 0), number(mib[0], 0),
                f"{number(views[slowest]['ms'], 0)} ({slowest})", number(block, 0),
                number(mib[1], 0), number(mib[2], 0), number(one["brush_ms"]["median"], 0)])


def page_lines(entry):
    paced, unlimited = entry["paced"], entry["unlimited"]
    lines = ["The page from a file in which nothing is gathered: until the graph is painted, the "
             "longest that the page did not answer meanwhile, and memory of the page's process; "
             "then every view for the first time, one after another, the inverted graph last, with "
             "memory while it is shown and when the first is again; then how long after a move "
             "over the timeline everything is drawn again. In ms, and MiB, after garbage was "
             "collected; each measured once. Captures are made up (bench/capture.c) but for one "
             "that was recorded (bench/stacks.c, branch), whose stacks weigh about the same.", ""]
    lines += header(["Stacks", "MB in the file", "graph", "CPU", "longest block", "memory",
                     "slowest view", "longest block", "inverted", "again", "after a move"])
    lines += [page_file_row(one) for one in entry["files"]] + [""]
    lines += page_views(entry["files"][-2:])
    lines += header([f"Graph of {paced['n_nodes']:,} nodes", "ms per frame", "95 % within",
                     "without limit", "CPU ms of that"])
    for deed, words in DEEDS:
        shown, free = paced["deeds"][deed], unlimited["deeds"][deed]
        lines.append(row([words, number(shown["frame_ms"]["median"]),
                          number(shown["frame_ms"]["p95"]), number(free["frame_ms"]["median"]),
                          number(free["cpu_ms"])]))
    return lines + ["", f"Chromium {paced['browser']}; the machine's load was "
                        f"{number(entry['load'])} at the start."]


SECTIONS = [
    ("pairs", "Cost of one allocation and its free",
     "Timed inside the program; starting and finishing do not count. As root a single thread keeps "
     "a core to itself, under every tool; several threads do not, and the slowest of them counts, "
     "so what threads cost each other shows at best, not in the medians. “Adds” is the median over "
     "the plain median; in brackets "
     f"the lowest and highest total of the runs, which are short and {PAIRS_TIMES} times as many "
     "as the repeats, in random order; dhat and gperftools ran the repeats alone, with a quarter "
     "of the pairs. “At best” compares the means of the lowest eighth of each: what a busy machine "
     "adds falls on the short times more than on the long ones. In brackets what tidemark adds "
     "then.", pairs_lines),
    ("programs", "Real programs",
     "Processor time of all processes and wall time of the whole command, the recording and the "
     "writing of the result included; of redis the wall time of its client. The ratio of the "
     "medians, and of the means of the lowest eighth (at best).",
     programs_lines),
    ("stages", "Where it goes",
     "Processor time by samples, in percent of what the program takes alone: its own code, slower "
     "or faster with the machine and for what the recorder leaves of the caches; the recorder's "
     "stages, where hooks are also a stack that was the last one and its booking; the kernel's, "
     "for all of it; and tidemark's, the writing at the end included.", stages_lines),
    ("devices", "What each device of the recorder gains",
     "What only makes the recorder faster, by what programs usually do (`src/rt/cost.h`), "
     "left out one by one: instructions counted by callgrind, of smaller runs without a "
     "supervisor. More without it is what it gains. Pairs of one stack that are booked together "
     "(pairs), the stack that came next the last time (foresight), and a memo that grows while "
     "stacks that come back have no room (growth).",
     devices_lines),
    ("said", "The overhead that a report says",
     "Processor time of all processes with the recorder, and of tidemark meanwhile, over that of "
     "all processes without: as measured, and as the report estimates it. With and without run at "
     "the same time on one core, so that a slow second of the machine hits both; servers get the "
     "same requests in the same pieces, one client's. Medians. Within: by a quarter of what is "
     "added, or 3 points where that is less than a tenth.", said_lines),
    ("sampling", "Samples alone",
     "With `--sample`, one for 512 KiB, beside jemalloc's profiler (`lg_prof_sample:19`) and "
     "gperftools' sampler (`TCMALLOC_SAMPLE_PARAMETER`), which come with their allocators: each is "
     "compared with its allocator that does not sample, tidemark with the program as it is, and so "
     "is a second run of that. All ways of a program run at the same time on one core and work in "
     "turns, tidemark's process counts as its; the median of many sessions, in brackets the "
     "interval that holds the true one with 95 % confidence. Starting and writing the capture are "
     "in the tables above and below. redis-server is linked to jemalloc.", sampling_lines),
    ("steady", "Samples, by the second",
     "What a service pays that always records samples, one for 512 KiB: processor time of the "
     "program itself, what is done there for tidemark included, without its beginning and end. A "
     "recorded process is compared with itself, on one core: its calls go past the recorder, "
     "past it once more and through it, in turns of three pieces of 5 to 10 ms. Of "
     "each start the median of its turns' ratios; the median of all starts, in brackets the "
     "interval that holds the true one with 95 % confidence. tidemark's own process, on the same "
     "core, was watched for ten seconds after twenty of work. Beginning and end, the capture "
     "written, are the processor time that both processes add where there is nothing to do.",
     steady_lines),
    ("startup", "A program that does nothing", "", startup_lines),
    ("finish", "The capture", "", finish_lines),
    ("forks", "Many processes",
     "Processor time of all processes and of the tool, per process; the start and the end of the "
     "run are shared among them. heaptrack records the first process alone and lets the others "
     "run without it.", forks_lines),
    ("memory", "Memory",
     "Proportional set size summed over every process the tool starts, the program included, while "
     "the program holds its blocks of 16 to 31 bytes. Each was measured once.", memory_lines),
    ("looks", "A look at where the memory is",
     "`tidemark maps` of a process that holds its blocks and then a random half of them: processor "
     "time and peak memory of the look. Of a recording they are at most a fiftieth of a core and "
     "what a run has to begin with, a quarter of a second, for programs that wait, and a hundredth "
     "and a thirty-second of a second for those that work.", looks_lines),
    ("regions", "What asking costs",
     "Functions of `<tidemark/tidemark.h>`, called through a pointer, in a loop and so with warm "
     "caches: by the program's own clock the median of 40 rounds of 20,000 (of a process's "
     "numbers 20), the medians of the repeats, and the lowest round of all. Instructions are "
     "callgrind's, of the whole call, in a preloaded program.", regions_lines),
    ("suites", "Rust tests under a profiler",
     "A suite of tests in one program, 2,000 words put into an index by each, some 3,500 "
     "allocations: each test under a `Profiler` of its own, with assertions about what it "
     "allocated. The command's start and its capture are in tidemark's numbers: of what it adds at "
     "best some 15 ms are the recording of 930,000 events, 4 the profilers' counting and 3 the "
     "command. “At best” compares the lowest of each.", suites_lines),
    ("threads", "Threads",
     "Each holds 64 blocks of 16 to 1,000 bytes and replaces a random one, a million times in all: "
     "nanoseconds of wall time per replacement, on all cores. How well the peak is known is the "
     "bound that the report states, of all repeats the widest. Memory is the recorder's own, what "
     "any program costs included.", threads_lines),
    ("attach", "A process that runs already",
     "Threads that allocate and then sleep for 50 µs, over and over: the longest round of any of "
     "them while nobody does anything, while a tool attaches and while it lets go; medians, lowest "
     "to highest in brackets. heaptrack attaches with gdb, and cannot be taken off. Then the cost "
     "of a pair as above, in a program that was started with the recorder and in one that it was "
     "put into; and the same counted (callgrind), which no other program disturbs.",
     attach_lines),
    ("stacks", "Stacks that were never seen before",
     "A program that walks down a tree of calls and allocates once at each stack: one new frame "
     "for a stack (leaf), or four (branch). Time is per stack, inside the program; processor time "
     "and memory are those of all processes, until the capture is written. Shared pages count "
     "once, memory files as far as they are in use.", stacks_lines),
    ("naming", "Names",
     "Wall time and peak memory of one command. `report` looks up what it shows, `symbolize` and "
     "its peers every address.", naming_lines),
    ("imports", "Another tool's file",
     "Wall time and peak memory of reading and reporting, beside the tool's own reader.",
     imports_lines),
    ("exports", "A large profile",
     "Processor time and peak memory of writing it in each format: memory is that of the profile, "
     "whatever is written.", exports_lines),
    ("page", "The page in a browser",
     "Chromium without a window, which draws in software, 1600 by 900 pixels. At 60 frames a "
     "second a frame takes 16.7 ms; without that limit it takes what it costs. CPU "
     "time is that of all processes of the browser.", page_lines),
]


def machine_words(result):
    machine = result["machine"]
    return (f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
            f"{machine['arch']}; {machine['system']}, Linux {machine['kernel']}, "
            f"{machine['libc']}.")


MEASURED_ONCE = {"page"}


def when(result, key=None):
    commit = f"Commit {result['commit']}, {result['date']}."
    if key in MEASURED_ONCE:
        return commit
    return f"{commit} Medians of {result['repeats']} repeats, lowest to highest in brackets."


def kept(text, elsewhere, old_when):
    """A section of an older page, with where it was measured, if not here, and when."""
    if not text.endswith("*"):
        return [text] + (["", f"*{elsewhere}{old_when}*"] if old_when != "Commit " else [])
    before, _, stamp = text.rpartition("\n*Commit ")
    return [f"{before}\n*{elsewhere}Commit {stamp}" if before and elsewhere else text]


def section(result, key, title, text, render):
    return ["", f"## {title}", ""] + ([text, ""] if text else []) + render(result[key])


def markdown(result):
    lines = ["# What recording costs", "",
             "Written by `make bench`; every tool in the same run, the repeats interleaved.", "",
             f"{machine_words(result)} {when(result)}"]
    if result["missing"]:
        lines += ["", f"Not installed, so left out: {', '.join(sorted(result['missing']))}."]
    for key, *rest in SECTIONS:
        if result.get(key):
            lines += section(result, key, *rest)
    return "\n".join(lines) + "\n"


def sections_of(page):
    """{title: text} of a page, and its machine and when it was measured."""
    head, *rest = ("\n" + page).split("\n## ")
    told = next((line for line in head.splitlines() if ", x86_64; " in line or
                 ", aarch64; " in line), "")
    machine, _, commit = told.partition(" Commit ")
    return {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in rest}, (
        machine, f"Commit {commit}")


def page_of(results, page):
    """The page of several runs' results, each section from the last that has it. What none has is
    taken from an older page. Every section says when it was measured."""
    old, (old_machine, old_when) = sections_of(page)
    lines = ["# What recording costs", "",
             "Written by `make bench`, section by section: of each, every tool in the same run, "
             "the repeats interleaved.", "", machine_words(results[-1])]
    for key, title, *rest in SECTIONS:
        found = [result for result in results if result.get(key)]
        if found and key == "steady":
            alike = [result for result in found if result["commit"] == found[-1]["commit"]]
            found.append({**found[-1], key: steady.pooled(alike)})
        if found:
            lines += section(found[-1], key, title, *rest) + ["", f"*{when(found[-1], key)}*"]
        elif title in old:
            elsewhere = "" if old_machine == machine_words(results[-1]) else f"{old_machine} "
            lines += ["", f"## {title}", "", *kept(old[title], elsewhere, old_when)]
    return "\n".join(lines) + "\n"
