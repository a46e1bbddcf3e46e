# SPDX-License-Identifier: Apache-2.0
"""tidemark explain: every planted fault is named first, with its line; healthy programs, ours and
others', get no finding of more than low confidence.

The programs are in tests/findings. Their faults are marked where they are: "fault: NAME RULE".
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess

import record
from ground import expect, test

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "findings"
COMPILERS = {".c": ("gcc", "-O1", "-g", "-pthread"), ".cpp": ("g++", "-O1", "-g", "-pthread"),
             ".rs": ("rustc", "-C", "opt-level=1", "-g")}
FAULT = re.compile(r"// fault: (\S+) (\S+)$")
MODE = re.compile(r'^ *(?:\{|if \(name == |else if \(name == )?"(\w+)"(?:, run_|\)| => )')
AT_ONCE = 6  # most of them sleep most of the time

Fault = collections.namedtuple("Fault", "name rule line source")

# Real programs, on input that is made here.
REAL = {
    "python3 json": ["python3", "-c",
                     "import json\nfor i in range(2): d = json.load(open('in.json'))"],
    "python3 strings": ["python3", "-c", "s = 0\nfor i in range(100000): s += len(str(i) * 3)"],
    "python3 threads": ["python3", "-c", "import concurrent.futures as c, hashlib\n"
                        "with c.ThreadPoolExecutor(4) as p:\n"
                        "  list(p.map(lambda i: hashlib.sha256(b'x' * i).digest(), range(5000)))"],
    "python3 email": ["python3", "-c", "import email\nfor i in range(2000): "
                      "email.message_from_string('From: a\\nTo: b\\n\\n' + 'hello ' * 50)"],
    "node": ["node", "-e", "const z = require('zlib'), d = Buffer.alloc(8000000, 'word ');"
             "for (let i = 0; i < 4; i++) z.gzipSync(d, {level: 1})"],
    "perl hash": ["perl", "-e", 'for (1..30000) { $h{"k".($_ % 500)} .= "x"; '
                  'my @a = split /,/, "a,b,c,$_"; $s += @a }'],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as "
                "(select 1 union all select x + 1 from c where x < 40000) "
                "insert into t select x, hex(x) from c; "
                "select count(*), max(b) from t group by a % 10;"],
    "jq": ["jq", "-c", "map(.id) | add", "in.json"],
    "cc1plus": ["g++", "-fsyntax-only", "in.cpp"],
    "cc1": ["gcc", "-O1", "-c", "in.c", "-o", "in.o"],
    "sort": ["sort", "-r", "in.c"],
    "awk": ["awk", "{ for (i = 1; i <= NF; i++) n[$i % 100]++ } END { print length(n) }", "RS=,",
            "in.json"],
    "bash": ["bash", "-c", "for i in $(seq 1 3000); do x=${x:0:20}$i; done"],
    "tar": ["tar", "cf", "/dev/null", "/usr/include/linux"],
    "git": ["git", "diff", "--no-index", "--stat", "in.c", "in.json"],
    "objdump": ["objdump", "-d", "/bin/ls"],
}


def faults():
    for source in sorted(SOURCES.glob("faults.*")):
        for line, text in enumerate(source.read_text().splitlines(), 1):
            found = FAULT.search(text)
            if found:
                yield Fault(found[1], found[2], line, source)


def built(ground, source):
    """The program of a source; None where its compiler is missing."""
    compiler, *flags = COMPILERS[source.suffix]
    path = ground.scratch / source.name.replace(".", "_")
    if not shutil.which(compiler):
        return None
    done = subprocess.run([compiler, *flags, str(source), "-o", str(path)], capture_output=True,
                          text=True)
    expect(done.returncode == 0, f"{source.name} does not build: {done.stderr.strip()[-300:]}")
    return path


def explained(ground, name, command, *options):
    """The findings about a command, recorded; of its largest process or each of them."""
    tide = ground.scratch / (re.sub(r"\W+", "_", name) + ".tide")
    done = ground.record("-q", "-f", "-o", tide, "--", *command)
    expect(tide.exists(), f"{name} left no capture: {done.stderr.strip()[-200:]}")
    told = ground.run(ground.tidemark, "explain", "--json", *options, tide)
    expect(told.status == 0, f"explain of {name} failed: {told.stderr.strip()}")
    return json.loads(told.stdout)


def tried(jobs, what):
    """what(job) for each, several at a time: {job: result}."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(jobs, pool.map(what, jobs)))


def places(document):
    return [(found["rule"], found["line"], os.path.basename(found["file"] or ""))
            for found in document["findings"]]


def wanted(fault):
    return fault.rule, fault.line, fault.source.name


@test
def explain_names_every_fault(ground):
    programs = {source: built(ground, source) for source in sorted(SOURCES.glob("faults.*"))}
    jobs = [fault for fault in faults() if programs[fault.source]]
    expect(len(jobs) >= 30, f"{len(jobs)} faults are not enough of them")
    results = tried(jobs, lambda fault: explained(ground, fault.name,
                                                  [programs[fault.source], fault.name]))
    # A machine that is busy elsewhere may leave a run with too few looks, or none at its pages.
    for fault in jobs:
        for _ in range(2):
            if places(results[fault])[:1] != [wanted(fault)]:
                results[fault] = explained(ground, fault.name,
                                           [programs[fault.source], fault.name])
    first = [fault for fault in jobs if places(results[fault])[:1] == [wanted(fault)]]
    named = [fault for fault in jobs if wanted(fault) in places(results[fault])]
    missed = [fault for fault in jobs if fault not in named]
    score = (f"faults: {len(jobs)} planted, {len(first)} named first, "
             f"{len(named) - len(first)} named later, {len(missed)} missed")
    print(f"  {score}", flush=True)
    expect(len(first) == len(jobs), score + "".join(
        f"\n    {fault.name}: {places(results[fault])[:3]}, not {wanted(fault)}"
        for fault in jobs if fault not in first))
    for fault in jobs:
        check_finding(results[fault]["findings"][0])


def check_finding(found):
    """No finding without numbers, and its sentence has the place."""
    expect(found["evidence"] and all(value >= 0 for value in found["evidence"].values()),
           f"evidence {found['evidence']}")
    expect(found["saving"]["value"] > 0, f"saves {found['saving']}")
    expect(f"{os.path.basename(found['file'])}:{found['line']}" in found["sentence"],
           found["sentence"])
    expect(re.search(r"\d", found["sentence"]) and found["advice"], found["sentence"])


def healthy_jobs(ground):
    for source in sorted(SOURCES.glob("healthy.*")):
        program = built(ground, source)
        for line in source.read_text().splitlines():
            found = MODE.search(line)
            if found and program:
                yield found[1], [program, found[1]]
    for name, command in REAL.items():
        if shutil.which(command[0]):
            yield name, command


@test
def explain_is_silent_on_healthy_programs(ground):
    (ground.scratch / "in.json").write_text(json.dumps(
        [{"id": i, "name": f"n{i}", "tags": ["a", f"b{i % 7}"]} for i in range(20000)]))
    (ground.scratch / "in.c").write_text("int printf(const char *, ...);\n" + "".join(
        f"int f{i}(int a) {{ int s = 0; for (int j = 0; j < a; j++) s += j * {i} ^ a; "
        f'printf("%d", s); return s; }}\n' for i in range(150)))
    (ground.scratch / "in.cpp").write_text("#include <map>\n#include <string>\n#include <vector>\n")
    jobs = dict(healthy_jobs(ground))
    expect(len(jobs) >= 20, f"{len(jobs)} programs are not enough of them")
    results = tried(jobs, lambda name: explained(ground, name, jobs[name]))
    alarms = {name: [(found["rule"], found["confidence"], found["sentence"])
                     for found in result["findings"] if found["confidence"] != "low"]
              for name, result in results.items()}
    quiet = sum(not result["findings"] for result in results.values())
    n_alarms = sum(bool(found) for found in alarms.values())
    score = (f"healthy: {len(jobs)} programs, {n_alarms} false alarms, {quiet} without any "
             f"finding, {len(jobs) - quiet - n_alarms} with one of low confidence")
    print(f"  {score}", flush=True)
    expect(not n_alarms, score + "".join(f"\n    {name}: {found}" for name, found in alarms.items()
                                         if found))


@test
def explain_compares_two(ground):
    program = built(ground, SOURCES / "faults.c")
    jobs = ["leak_request", "leak_strdup"]
    tried(jobs, lambda name: explained(ground, name, [program, name]))
    files = [f"{name}.tide" for name in jobs]
    done = ground.run(ground.tidemark, "explain", "--json", *files)
    expect(done.status == 0, done.stderr)
    document = json.loads(done.stdout)
    functions = [[found["function"] for found in document[key]] for key in ("findings", "gone")]
    expect(functions == [["leak_string"], ["leak_each_step"]], f"now and gone: {functions}")
    expect("less held at the peak" in document["change"], document["change"])
    expect(any("leak_each_step" in text and "less" in text
               for text in document["changes"]), document["changes"])
    done = ground.run(ground.tidemark, "explain", files[0], files[0])
    expect("there before, too" in done.stdout and "as much held" in done.stdout, done.stdout)
    expect("gone" not in done.stdout and "next:  tidemark diff" in done.stdout, done.stdout)
    done = ground.run(ground.tidemark, "explain", *files, files[0])
    expect(done.status == 2 and "one too many" in done.stderr, done.stderr)
