# SPDX-License-Identifier: Apache-2.0
"""Where the time of a recorded program goes: samples of its processes by stage of the recorder.

A sample belongs to the function it fell into. What compilers put into the hooks themselves, a known
stack and its booking in the usual case, counts as the hooks'.
"""
import collections
import re
import shutil
import subprocess

import measure

SAMPLES_PER_S = 4000
STAGES = [  # name, functions of the recorder
    ("clock", "tide_clock|tide_look_up|tide_leave_slow|tide_enter_slow"),
    ("known stacks", "tide_capture_slow|capture_searching|tide_memo|tide_rest_valid|pack_words"),
    ("walks", "incremental|capture_before_memo|capture_anew|tide_unwind_walk|tide_rule|tide_cfi"
              "|tide_eh|read_fde|run_cfa|tide_object|tide_walker|tide_step"),
    ("new stacks", "tide_intern|token_of|tide_node|tide_writer|meet|tide_modules|insert"),
    ("booking", "tide_run|tide_book|tide_late|tide_resize|tide_total|tide_live|free_entered"
                "|tide_record"),
    ("hooks", "malloc|calloc|realloc|free|memalign|aligned_alloc|_Zn|_Zd|valloc|sdallocx|dallocx"),
    ("rest", ""),
]
COLUMNS = ["the program", *(name for name, _ in STAGES), "kernel", "supervisor"]


def stage_of(comm, dso, symbol):
    if comm == "tidemark":
        return "supervisor"
    if "kernel" in dso:
        return "kernel"
    if "libtidemark" not in dso:
        return "the program"
    return next(name for name, functions in STAGES if re.match(functions, symbol))


def sample(bench, argv, env, stdin):
    """Milliseconds by stage."""
    data = str(bench.scratch / "perf.data")
    measure.run(["perf", "record", "-q", "-F", str(SAMPLES_PER_S), "-e", "cpu-clock", "-o", data,
                 "--", *argv], env, stdin)
    told = measure.run(["perf", "report", "-i", data, "--stdio", "-t", "|", "--sort",
                        "comm,dso,sym", "-F", "period,comm,dso,sym"])["stdout"]
    spent = collections.Counter()
    for line in told.splitlines():
        words = [word.strip() for word in line.split("|")]
        if len(words) == 4 and words[0].isdigit():
            spent[stage_of(words[1], words[2], words[3].removeprefix("[.] "))] += int(words[0])
    return {name: ns / 1e6 for name, ns in spent.items()}


def works():
    """Why it cannot be done here, or None."""
    if not shutil.which("perf"):
        return "perf is not there"
    tried = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "true"],
                           capture_output=True, check=False)
    return "perf may not sample here" if tried.returncode else None


def stages(bench, build, programs, say):
    lacking = works()
    if lacking:
        say(f"stages: left out: {lacking}")
        return []
    rows = []
    for name, argv, env, stdin in programs:
        if not re.search(bench.chosen, name) or not shutil.which(argv[0]):
            continue
        say(f"stages: {name}")
        recorded = [str(build / "tidemark"), "run", "-q", "-f", "-o",
                    str(bench.scratch / "stages.tide"), "--", *argv]
        plain, spent = [], collections.defaultdict(list)
        for _ in range(bench.repeats):
            plain.append(sum(sample(bench, argv, env, stdin).values()))
            told = sample(bench, recorded, env, stdin)
            for column in COLUMNS:
                spent[column].append(told.get(column, 0.0))
        rows.append({"workload": name, "plain_ms": measure.summary(plain),
                     "ms": {column: measure.summary(spent[column]) for column in COLUMNS}})
    return rows
