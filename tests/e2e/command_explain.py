# SPDX-License-Identifier: Apache-2.0
"""tidemark explain: every planted fault is named first, with its line; healthy programs, ours and
others', get no fault of any confidence.

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
import time

import record
from ground import expect, test

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "findings"
COMPILERS = {".c": ("gcc", "-O1", "-g", "-pthread"), ".cpp": ("g++", "-O1", "-g", "-pthread"),
             ".rs": ("rustc", "-C", "opt-level=1", "-g")}
FAULT = re.compile(r"// fault: (\S+) (\S+)$")
MODE = re.compile(r'^ *(?:\{|if \(name == |else if \(name == )?"(\w+)"(?:, run_|\)| => )')
AT_ONCE = 6  # most of them sleep most of the time

NOTES = {"early", "each", "budget", "crossing"}
COUNTED = {"small", "reserve", "temporary", "untouched"}
Fault = collections.namedtuple("Fault", "name rule line source")

# Real programs, on input that is made here.
REAL = {
    "python3 json": ["python3", "-c",
                     "import json\nfor i in range(2): d = json.load(open('in.json'))"],
    "python3 strings": ["python3", "-c", "s = 0\nfor i in range(100000): s += len(str(i) * 3)"],
    "python3 threads": ["python3", "-c", "import concurrent.futures as c, hashlib\n"
                        "with c.ThreadPoolExecutor(4) as p:\n"
                        "  for k in range(50):\n"  # all at once would be a queue without a limit
                        "    list(p.map(lambda i: hashlib.sha256(b'x' * i).digest(), range(100)))"],
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
    notes = [fault for fault in first if results[fault]["findings"][0]["kind"] == "note"]
    score = (f"faults: {len(jobs)} planted, {len(first)} named first ({len(notes)} by a note), "
             f"{len(named) - len(first)} named later, {len(missed)} missed")
    print(f"  {score}\n  by a note: {', '.join(fault.name for fault in notes)}", flush=True)
    expect(len(first) == len(jobs), score + "".join(
        f"\n    {fault.name}: {places(results[fault])[:3]}, not {wanted(fault)}"
        for fault in jobs if fault not in first))
    for fault in jobs:
        check_finding(results[fault]["findings"][0])
        check_kinds(results[fault]["findings"])


def check_finding(found):
    """No finding without numbers, and its sentence has the place."""
    expect(found["evidence"] and all(value >= 0 for value in found["evidence"].values()),
           f"evidence {found['evidence']}")
    expect(found["saving"]["value"] > 0, f"saves {found['saving']}")
    expect(f"{os.path.basename(found['file'])}:{found['line']}" in found["sentence"],
           found["sentence"])
    expect(re.search(r"\d", found["sentence"]) and found["advice"], found["sentence"])


def check_kinds(findings):
    """Notes stand behind all faults and are not said to be wrong; those of some rules always are,
    and those that need no looks at the run never."""
    kinds = [found["kind"] for found in findings]
    expect(kinds == sorted(kinds) and {*kinds} <= {"fault", "note"}, f"{kinds}")
    for found in findings:
        is_note = found["kind"] == "note"
        expect(("a note: nothing wrong by itself" in found["heading"]) == is_note and
               ("confidence" in found["heading"]) == (not is_note), found["heading"])
        if found["rule"] in NOTES | COUNTED:
            expect(is_note == (found["rule"] in NOTES), f"{found['rule']} is a {found['kind']}")


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
                     for found in result["findings"] if found["kind"] != "note"]
              for name, result in results.items()}
    for result in results.values():
        check_kinds(result["findings"])
    quiet = sum(not result["findings"] for result in results.values())
    n_alarms = sum(bool(found) for found in alarms.values())
    score = (f"healthy: {len(jobs)} programs, {n_alarms} false alarms, {quiet} of which nothing "
             f"is told, {len(jobs) - quiet - n_alarms} with notes")
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


# ---- processes that run, and what settings of malloc would give back ----

SETTINGS = {"arenas": {"MALLOC_ARENA_MAX": "1"}, "end": {"MALLOC_TRIM_THRESHOLD_": "131072"},
            "threshold": {"MALLOC_MMAP_THRESHOLD_": "131072"}}


class Living:
    """A program of tests/findings/held.c that has freed what it had, and stays."""

    def __init__(self, ground, program, mode, *before, **env):
        self.child = subprocess.Popen([*before, str(program), mode], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                      cwd=ground.scratch, env={**ground.env, **env})
        self.resident = int(self.child.stdout.readline()) * 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()

    def pid(self, program):
        """Of the program, which the child is or has started."""
        children = pathlib.Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children")
        for pid in [self.child.pid, *map(int, children.read_text().split())]:
            if os.readlink(f"/proc/{pid}/exe") == str(program):
                return pid
        raise record.Failure(f"{program} is not among the children of {self.child.pid}")


def explained_process(ground, pid):
    told = ground.run(ground.tidemark, "explain", "--json", pid)
    expect(told.status == 0, told.stderr)
    return json.loads(told.stdout)


def said_of(ground, pid):
    return " ".join(ground.run(ground.tidemark, "explain", pid).stdout.split())


def check_saving(document, mode, truth):
    found = document["findings"][0] if document["findings"] else {"rule": "nothing"}
    expect(found["rule"] == mode, f"{mode}: {found}")
    saving = found["saving"]["value"]
    expect(abs(saving - truth) <= truth // 10, f"{mode}: {saving}, and it gave back {truth}")
    expect(found["advice"].count(next(iter(SETTINGS[mode]))), found["advice"])


def wait_for_table(ground, capture, least):
    """Until a checkpoint has a table of when malloc kept so much, and for half as long again as it
    had run by then: what is kept for a moment only is no finding."""
    began = time.monotonic()
    while time.monotonic() < began + 100:
        time.sleep(0.1)
        told = ground.run(ground.tidemark, "maps", "--json", "--at", "end", capture)
        table = json.loads(told.stdout) if told.status == 0 else {"rows": {}}
        rows = table["rows"]
        if rows.get("free", 0) + rows.get("top", 0) >= least * 9 // 10:
            time.sleep(0.5 + table["time_ns"] / 2e9)
            return
    raise record.Failure(f"{capture}: nobody looked in 100 s when malloc kept {least}")


@test
def explain_of_a_process_says_what_settings_give_back(ground):
    program = built(ground, SOURCES / "held.c")
    for mode in "arenas", "end":  # what large blocks left takes a recording from the start
        setting = SETTINGS[mode]
        with Living(ground, program, mode, **setting) as other, \
             Living(ground, program, mode) as living:
            truth = living.resident - other.resident
            document = explained_process(ground, living.child.pid)
            check_saving(document, mode, truth)
            expect("leak" in document["unjudged"], document["unjudged"])
            rules = [found["rule"]
                     for found in explained_process(ground, other.child.pid)["findings"]]
            expect(mode not in rules, f"with {setting} still {rules}")
            for process, is_told in (living, True), (other, False):
                text = ground.run(ground.tidemark, "maps", process.child.pid).stdout
                expect((next(iter(setting)) in text) == is_told, f"{setting}: {text}")
            text = said_of(ground, living.child.pid)
            expect("nobody records it" in text and
                   f"next: tidemark maps {living.child.pid}" in text, text)
        with Living(ground, program, mode, str(ground.tidemark), "run", "-q", "-f", "-o",
                    f"{mode}.tide", "--") as living:
            pid = living.pid(program)
            document = explained_process(ground, pid)
            check_saving(document, mode, truth)
            expect(document["findings"][0]["evidence"]["heap_bytes"] < 2 << 20, document)
            text = said_of(ground, pid)
            expect("as of its last checkpoint" in text, text)


@test
def explain_says_of_glibc_alone_what_malloc_maps(ground):
    program = built(ground, SOURCES / "faults.cpp")
    if not program:
        raise record.Skip("no compiler of C++ here")
    for libraries, is_told in ("", True), ("libjemalloc.so.2", False):
        done = ground.record("-f", "-o", "x.tide", "--", "env", f"LD_PRELOAD={libraries}", program,
                             "cxx_crossing")
        expect(done.status == 0, done.stderr)
        told = ground.run(ground.tidemark, "explain", "--json", "x.tide").stdout
        rules = [found["rule"] for found in json.loads(told)["findings"]]
        expect(("crossing" in rules) == is_told, f"{libraries}: {rules}")
        text = ground.run(ground.tidemark, "report", "--details", "--sort", "total",
                          "x.tide").stdout
        expect(("maps such apart" in " ".join(text.split())) == is_told, text)


@test
def maps_says_what_another_allocator_would_not_keep(ground):
    """Up to the pages without a block in use: jemalloc, told to keep none, comes near that."""
    program = built(ground, SOURCES / "held.c")
    with Living(ground, program, "arenas", LD_PRELOAD="libjemalloc.so.2",
                MALLOC_CONF="dirty_decay_ms:0,muzzy_decay_ms:0,narenas:8") as other, \
         Living(ground, program, "arenas") as living:
        truth = living.resident - other.resident
        text = ground.run(ground.tidemark, "maps", "--units", "bytes", living.child.pid).stdout
    words = " ".join(text.split())
    told = re.search(r"\(jemalloc, mimalloc\) would keep up to ([\d,]+) B less", words)
    expect(told, text)
    estimate = int(told[1].replace(",", ""))
    expect(estimate * 85 // 100 <= truth <= estimate, f"{estimate} told, {truth} in truth")


@test
def explain_of_a_capture_says_what_settings_give_back(ground):
    program = built(ground, SOURCES / "held.c")
    for mode, setting in SETTINGS.items():
        with Living(ground, program, mode, **setting) as other, \
             Living(ground, program, mode) as living:
            truth = living.resident - other.resident
        with Living(ground, program, mode, str(ground.tidemark), "run", "-q", "-f", "-o",
                    f"{mode}.tide", "--") as living:
            wait_for_table(ground, f"{mode}.tide", truth)
        told = ground.run(ground.tidemark, "explain", "--json", f"{mode}.tide")
        expect(told.status == 0, told.stderr)
        check_saving(json.loads(told.stdout), mode, truth)
        said = ground.run(ground.tidemark, "report", f"{mode}.tide").stdout
        expect("hardly recorded" not in said and " complete: every event" in said, said)


@test
def explain_refuses_what_is_no_process(ground):
    for word, why in (("4194305", "there is no process 4194305"),
                      ("99999999999", "is not the number of a process"),
                      ("0", "is not the number of a process")):
        done = ground.run(ground.tidemark, "explain", word)
        expect(done.status not in (0, 139) and why in done.stderr, f"{word}: {done.stderr}")
    if os.geteuid() == 0:  # else init is somebody else's as it is
        done = ground.run("setpriv", "--reuid=65534", "--clear-groups", ground.tidemark, "explain",
                          os.getpid())
    else:
        done = ground.run(ground.tidemark, "explain", "1")
    expect(done.status != 0 and "by its own user and by root" in done.stderr, done.stderr)


@test
def report_ends_with_the_first_finding(ground):
    program = built(ground, SOURCES / "faults.c")
    done = ground.record("-f", "-o", "x.tide", "--", program, "leak_request")
    judged = ground.run(ground.tidemark, "explain", "--json", "x.tide")
    findings = json.loads(judged.stdout)["findings"]
    told = json.loads(ground.run(ground.tidemark, "report", "--json", "x.tide").stdout)
    expect(told["findings"] == findings, f"{told['findings']} and {findings}")
    is_sure = bool(findings) and findings[0]["confidence"] != "low"
    for text in (done.stderr, ground.run(ground.tidemark, "report", "x.tide").stdout):
        words = " ".join(text.split())
        expect(("finding: " in words) == is_sure, words)
        expect(not is_sure or "finding: leak_each_step, findings/faults.c" in words, words)
    chosen = ground.run(ground.tidemark, "report", "--sort", "total", "x.tide").stdout
    expect("finding: " not in chosen, chosen)
