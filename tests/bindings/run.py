#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bindings of the header for other languages, with the real tools of those.

  tests/bindings/run.py [--tidemark PATH] [--filter REGEX] [--only NAME]

The crate's own tests under every kind of recorder and under none; the crates dhat and stats_alloc
beside ours on the same work, number by number; assertions that fail; `cargo tidemark`. A tool that
is not here means a skip, or with CI=true a failure. Ends with the counts.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/e2e")]
import crates  # noqa: E402
import record  # noqa: E402
import report_json  # noqa: E402

CRATE = ROOT / "bindings/rust"
# Where the tests of a test program are counted.
RESULT = re.compile(r"^test result: ok\. (\d+) passed; 0 failed; 0 ignored", re.M)


def expect(condition, what):
    if not condition:
        raise record.Failure(what)


class Ground:
    def __init__(self, options, scratch):
        self.tidemark = options.tidemark
        self.library = options.tidemark.parent / "libtidemark.so"
        self.target = options.tidemark.parent / "bindings-rust"
        self.scratch = pathlib.Path(scratch)

    def run(self, *command, cwd=None, env=(), status=0, given=None):
        """What it printed, and what it said."""
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, input=given,
                              cwd=cwd or self.scratch, timeout=300, check=False,
                              env={**os.environ, "RUST_BACKTRACE": "0", **dict(env)})
        expect(done.returncode == status,
               f"{command[0]} {command[1:3]}: status {done.returncode}, not {status}: "
               f"{done.stdout[-300:]} {done.stderr[-600:]}")
        return done.stdout, done.stderr

    def cargo(self, *words, **options):
        """cargo's command on our crate, which depends on nothing, so nothing is fetched."""
        try:
            return self.run("cargo", *words, "--offline", "--manifest-path", CRATE / "Cargo.toml",
                            "--target-dir", self.target, **options)
        except FileNotFoundError:
            raise record.Skip("no cargo here") from None

    def built(self, *words):
        """Programs that cargo made, by name."""
        told, _ = self.cargo("build", "--message-format=json", *words)
        lines = [json.loads(line) for line in told.splitlines()]
        return {line["target"]["name"]: pathlib.Path(line["executable"])
                for line in lines if line.get("executable")}

    def from_crates(self, directory):
        """A program of crates.io's, with those beside it."""
        try:
            return crates.build_crate(directory, self.tidemark.parent)
        except crates.Missing as why:
            raise record.Skip(str(why)) from None

    def recorded(self, *command, **options):
        return self.run(self.tidemark, "run", "-q", "-f", "-o", self.scratch / "run.tide", "--",
                        *command, **options)

    def report(self, path):
        told, _ = self.run(self.tidemark, "report", "--json", "--all", path)
        return report_json.loads(told)


def n_passed(printed):
    found = RESULT.search(printed)
    expect(found, f"no result: {printed[-300:]}")
    return int(found[1])


def crate_under_each_recorder(ground):
    """Its tests look for exact numbers where there is a recorder; and each runs everywhere."""
    program = ground.built("--tests")["numbers"]
    plain, said = ground.run(program, "--nocapture")
    expect(said.count("no recorder here") == 1, f"it is not told once: {said}")
    n = n_passed(plain)
    expect(n >= 11, f"{n} tests")
    for _ in range(3):
        expect(n_passed(ground.recorded(program, "--test-threads=8")[0]) == n, "under run")
    expect(n_passed(ground.run(program, env={"LD_PRELOAD": str(ground.library)})[0]) == n,
           "with a bare preload")


def crate_documents_what_works(ground):
    printed, _ = ground.cargo("test", "--doc")
    expect(n_passed(printed) >= 5, printed)


def crate_is_packed(ground):
    """As it would be published, built from that alone; and what docs.rs would show of it."""
    _, said = ground.cargo("package", "--allow-dirty")
    unwanted = [line for line in said.splitlines() if line.startswith(("warning", "error"))
                and "manifest has no documentation, homepage or repository" not in line]
    expect(not unwanted, "\n".join(unwanted))
    listed, _ = ground.cargo("package", "--allow-dirty", "--list")
    for name in ("README.md", "build.rs", "src/lib.rs", "src/bin/cargo-tidemark.rs"):
        expect(name in listed.splitlines(), f"{name} is not in it: {listed}")
    env = {"RUSTDOCFLAGS": "-D warnings", "TIDEMARK_LIB_DIR": str(ground.library.parent)}
    ground.cargo("doc", "--no-deps", "--lib", "--features", "link", env=env)
    expect((ground.target / "doc/tidemark/index.html").exists(), "no page of it was made")


def has_the_numbers_of(ground, other, *ways):
    programs = ground.from_crates("tests/interop/dhat_rs").parent
    wanted, _ = ground.run(programs / other)
    expect(len(wanted.splitlines()) == 9, wanted)
    for way in ways:
        found, _ = ground.recorded(programs / "with-tidemark", way)
        expect(found == wanted, f"{way}:\n{found}is not that of {other}\n{wanted}")


def crate_has_the_numbers_of_dhat(ground):
    has_the_numbers_of(ground, "with-dhat", "dhat", "dhat-thread")


def crate_has_the_events_of_dhat(ground):
    """Its sums after each piece of work, what it says, and the points of its file, as many."""
    programs = ground.from_crates("tests/interop/dhat_rs").parent
    wanted, said = ground.run(programs / "with-dhat", "ad-hoc", ground.scratch / "dhat.json")
    expect(wanted.splitlines()[-1] == "end [1802, 520507, 0, 0, 0, 0]", wanted)
    expect("Total:     520,507 units in 1,802 events" in said, said)
    found, said = ground.recorded(programs / "with-tidemark", "ad-hoc", "own.tide")
    expect(found == wanted, f"{found}is not\n{wanted}")
    expect("tidemark: total 520507 units in 1802 events\ntidemark: saved own.tide; next: tidemark "
           "report --events own.tide\n" in said, said)
    ground.run(ground.tidemark, "export", "--events", "--to", "dhat", "-o", "own.json", "own.tide")
    points = [sorted((point["tb"], point["tbk"]) for point in
                     json.loads((ground.scratch / name).read_text())["pps"])
              for name in ("dhat.json", "own.json")]
    expect(points[0] == points[1] and len(points[0]) == 5, f"{points}")


def crate_has_the_numbers_of_stats_alloc(ground):
    has_the_numbers_of(ground, "with-stats-alloc", "stats", "stats-thread")


# Of churn(10): each time a zeroed block, one that grows and shrinks, one of 256 bytes' alignment.
CHURNED = """\
Stats { allocations: 30, deallocations: 30, reallocations: 20, bytes_allocated: 56129, \
bytes_deallocated: 56129, bytes_reallocated: -90 }
"""


def crate_carries_the_recorder(ground):
    """Linked in, around four allocators: no launcher, every event once, with its stack."""
    programs = ground.from_crates("tests/bindings/linked").parent
    wanted, said = ground.run(programs / "around-none")
    expect(wanted.startswith(CHURNED) and "\nchild 0\n" in wanted and not said, wanted + said)
    for allocator in "none", "system", "mimalloc", "jemalloc":
        name = f"around-{allocator}"
        for old in ground.scratch.glob("*.store"):
            old.unlink()
        found, said = ground.run(programs / name)
        expect(found.splitlines()[:4] == wanted.splitlines()[:4] and not said, f"{name}: {found}")
        stores = list(ground.scratch.glob(f"tidemark.{name}.*.store"))
        expect(len(stores) == 2, f"{stores}")  # its own, and the fork child's
        # jemalloc's crate names libc before us, so that C code's malloc is not ours; as it is told.
        is_whole = found == wanted
        expect(is_whole or allocator == "jemalloc", f"{name}: {found} is not {wanted}")
        expect_kept(ground, max(stores, key=lambda s: s.stat().st_blocks), is_whole)
        expect(ground.recorded(programs / name)[0] == wanted, f"{name} under run")
        expect_kept(ground, ground.scratch / "run.tide", True)
        ground.run(ground.tidemark, "run", "-q", "-f", "--sample=64KiB", "-o", "s.tide", "--",
                   programs / name, status=101)  # where there are only samples it has no numbers


def expect_kept(ground, capture, is_whole):
    """One place has 100 blocks of 1,000 bytes, by its name; and what is not known is told."""
    printed, _ = ground.run(ground.tidemark, "report", capture)
    expect(re.search(r"97\.7 KiB .* linked::keep ", printed), f"{capture}: {printed}")
    expect(("\n  complete: every event" in printed) == is_whole, f"{capture}: {printed}")
    expect(is_whole or "libc comes before libtidemark.so" in " ".join(printed.split()), printed)


def crate_says_what_it_cannot_link(ground):
    _, said = ground.cargo("check", "--features", "link", status=101,
                           env={"TIDEMARK_LIB_DIR": str(ground.scratch)})
    expect("the feature `link` needs libtidemark.so: TIDEMARK_LIB_DIR: no libtidemark.so in "
           f"{ground.scratch}" in said and "Install Tidemark, or set" in said, said)


def crate_asserts(ground):
    """A budget that holds, one that breaks with a capture that names who, and no recorder."""
    program = ground.built("--examples")["budget"]
    printed, said = ground.recorded(program, 60)
    expect(printed == "60 KiB held\n" and not said, f"{printed} {said}")
    printed, said = ground.run(program, 1000)
    expect(printed == "1000 KiB held\n" and said.count("no recorder here") == 1, said)
    printed, said = ground.run(program, 1000, env={"TIDEMARK_REQUIRED": "1"}, status=101)
    expect(not printed and re.search(r"panicked at .*:\ntidemark: no recorder here, and "
                                     "TIDEMARK_REQUIRED is set; start it with", said), said)
    printed, _ = ground.recorded(program, 60, env={"TIDEMARK_REQUIRED": "1"})
    expect(printed == "60 KiB held\n", printed)
    printed, said = ground.recorded(program, 1000, status=101)
    expect(not printed, printed)
    saved = re.search(r"saved (budget\.(?:tide|pb)); next: tidemark report \1", said)
    expect(saved, said)
    expect(re.search(r"panicked at .*budget\.rs:\d+:5:\ntidemark: assertion failed: "
                     r"stats\.max_bytes <= 64 << 10: 1048000 bytes at once", said), said)
    capture = ground.report(ground.scratch / saved[1])
    sites = json.dumps(capture)
    expect("budget.rs" in sites and "read" in sites, sites[:500])


def crate_writes_profiles(ground):
    program = ground.built("--examples")["profile"]
    for name in "own.tide", "own.pb":
        _, said = ground.recorded(program, name)
        expect("tidemark: total 60800 bytes in 102 blocks, at most 60800 bytes in 102 blocks at "
               "once, at the end 50800 bytes in 101 blocks" in said, said)
        saved = re.search(r"saved (own\.(?:tide|pb))", said)
        expect(saved and (name != "own.pb" or saved[1] == name), said)
        expect(ground.report(ground.scratch / saved[1]), "nothing in it")


@contextlib.contextmanager
def started(*command, **options):
    """A process to speak with, gone in the end."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def answer(process, line):
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().rstrip("\n")


@contextlib.contextmanager
def attached(ground, pid):
    """What happens meanwhile is in x.tide."""
    with subprocess.Popen([ground.tidemark, "attach", "-f", "-o", "x.tide", str(pid)],
                          cwd=ground.scratch, stderr=subprocess.PIPE, text=True) as tracer:
        try:
            said = tracer.stderr.readline()
            expect("recording process" in said, said)
            yield
            tracer.send_signal(signal.SIGINT)
            said = tracer.communicate(timeout=60)[1]
            expect(tracer.returncode == 0, said)
        finally:
            if tracer.poll() is None:
                tracer.kill()


def crate_is_heard_when_attached_to(ground):
    """Scopes, events and profiles, of a recorder that came later; none before it and after."""
    def requests(n, is_profiled):
        for _ in range(n):
            said = answer(service, "users")
            expect(said.endswith(f"is profiled: {is_profiled}"), said)

    with started(ground.built("--examples")["service"]) as service:
        service.stdout.readline()
        requests(2, "false")
        with attached(ground, service.pid):
            requests(3, "true")
        requests(2, "false")
        service.stdin.close()
        expect(service.wait(timeout=30) == 0, "it ended otherwise")
    told, _ = ground.run(ground.tidemark, "report", "--json", "--group", "scope", "x.tide")
    scopes = {row["scope"]: row["live_blocks"] for row in json.loads(told)["groups"]}
    expect(scopes["GET /users"] == 3, scopes)
    told, _ = ground.run(ground.tidemark, "report", "--json", "--events", "x.tide")
    counts = [(site["allocations"], site["bytes"]) for site in json.loads(told)["sites"]]
    expect(counts == [(3, 15)], counts)


def expect_pools(ground, capture, n_words, n_bytes):
    """Words that an arena keeps are blocks, by who took them, and its piece of 1 MiB is none."""
    report = ground.report(capture)
    sites = [site for site in report["sites"]
             if "keep_words" in str([frame["function"] for frame in site["frames"]])]
    counts = [sum(site[key] for site in sites) for key in ("allocations", "bytes", "frees")]
    expect(counts == [n_words, n_bytes, n_words], f"{capture}: {counts} {sites}")
    pools = {row["name"]: row for row in report["image"]["allocators"]}["its own pools"]
    expect(pools["allocations"] == n_words, f"{capture}: {pools}")
    expect(report["totals"]["peak_bytes"] < 100_000, f"{capture}: {report['totals']}")
    expect(not report["completeness"]["unknown_frees"], f"{capture}: {report['completeness']}")


def crate_tells_of_pools(ground):
    """Under every kind of recorder; without one nothing is done, and nothing is said."""
    program = ground.built("--examples")["arena"]
    lines = "to be or\nnot to be\n\nthat is the question\n"
    told = ("ready\n{} of its words recorded\n{} of its words recorded\nall gone, recorded: {}\n"
            "{} of its words recorded\n")
    printed, said = ground.run(program, given=lines)
    expect(printed == told.format(0, 0, "false", 0) and not said, f"{printed} {said}")
    printed, said = ground.recorded(program, given=lines)
    expect(printed == told.format(3, 3, "true", 4) and not said, f"{printed} {said}")
    expect_pools(ground, "run.tide", 10, 30)
    linked = ground.from_crates("tests/bindings/linked").parent / "arena"
    printed, said = ground.run(linked, given=lines)
    expect(printed == told.format(3, 3, "true", 4) and not said, f"{printed} {said}")
    expect_pools(ground, next(ground.scratch.glob("tidemark.arena.*.store")), 10, 30)
    with started(program) as arena:
        arena.stdout.readline()
        expect((said := answer(arena, "to be")) == "0 of its words recorded", said)
        with attached(ground, arena.pid):
            expect((said := answer(arena, "or not")) == "2 of its words recorded", said)
            expect((said := answer(arena, "")) == "all gone, recorded: true", said)
        expect((said := answer(arena, "to be")) == "0 of its words recorded", said)
    expect_pools(ground, "x.tide", 2, 5)


def cargo_tidemark(ground):
    """Programs, tests and budgets of a crate of somebody's."""
    command = ground.built("--bins")["cargo-tidemark"]
    env = {"TIDEMARK": str(ground.tidemark), "CARGO_TARGET_DIR": str(ground.target / "theirs"),
           "PATH": f"{command.parent}:{os.environ['PATH']}", "CARGO_NET_OFFLINE": "true"}
    theirs = ground.scratch / "theirs"
    (theirs / "src").mkdir(parents=True)
    (theirs / "Cargo.toml").write_text('[package]\nname = "theirs"\nversion = "0.1.0"\n'
                                       'edition = "2021"\n[workspace]\n')
    (theirs / "src/main.rs").write_text("""
fn load(n: usize) -> Vec<Box<[u8]>> {
    (0..n).map(|_| vec![1u8; 1000].into_boxed_slice()).collect()
}
fn main() {
    println!("{} words", std::env::args().count());
    std::mem::forget(load(500));
}
#[test]
fn loads() {
    assert_eq!(load(300).len(), 300);
}
""")
    printed, _ = ground.run("cargo", "tidemark", "-q", "-f", "-o", "theirs.tide", "run", "-q",
                            "--", "two words", cwd=theirs, env=env)
    expect(printed == "2 words\n", printed)
    report = ground.report(theirs / "theirs.tide")
    expect(report["totals"]["live_bytes"] >= 500_000, f"{report['totals']}")
    printed, _ = ground.run("cargo", "tidemark", "-q", "-f", "-o", "tests.tide", "test", "-q",
                            cwd=theirs, env=env)
    expect(n_passed(printed) == 1, printed)
    report = ground.report(theirs / "tests.tide")
    expect(report["totals"]["peak_bytes"] >= 300_000, f"{report['totals']}")
    for limit, status in ("64MiB", 0), ("100KiB", 1):
        printed, said = ground.run("cargo", "tidemark", "-q", "-f", "-o", "judged.tide",
                                   "--max-peak", limit, "test", "-q", cwd=theirs, env=env,
                                   status=status)
        expect(n_passed(printed) == 1, printed)
        expect(("broken" in printed and "main.rs:3" in printed) == (status != 0),
               f"{printed} {said}")
    # Of a workspace, where tests are started in another directory than the user is in.
    (ground.scratch / "limits.toml").write_text('max-peak = "100KiB"\n')
    relative = os.path.relpath(ground.tidemark, ground.scratch)
    printed, _ = ground.run("cargo", "tidemark", "-q", "-oheap.tide", "--budget=limits.toml",
                            "test", "-q", "--manifest-path", "theirs/Cargo.toml",
                            env={**env, "TIDEMARK": relative}, status=1)
    expect("broken   peak" in printed and (ground.scratch / "heap.tide").exists(), printed)
    printed, _ = ground.run("cargo", "tidemark", "--help", env=env)
    expect("nextest" in printed, printed)
    _, said = ground.run("cargo", "tidemark", "-q", "paint", env=env, status=125)
    expect("none of run, test, bench and nextest" in said, said)


# cargo, for what cargo-tidemark tells nextest: lists tests through the runner, as terse as nextest
# asks for them and as strictly as it reads them, then runs each as a process of its own.
NEXTEST = r"""#!/usr/bin/env python3
import json, os, re, subprocess, sys
# cargo keeps what it is told before the name of somebody else's command to itself.
assert sys.argv[1:4] == ["nextest", "run", "--config"] and len(sys.argv) == 5, sys.argv
runner = json.loads(re.fullmatch(r"target\.'cfg\(all\(\)\)'\.runner = (\[.*\])", sys.argv[4])[1])
def ask(*words):
    command = [*runner, os.environ["TEST_PROGRAM"], *words]
    return subprocess.run(command, capture_output=True, text=True)
listed = ask("--list", "--format", "terse")
assert listed.returncode == 0, listed
failed = 0
for line in listed.stdout.splitlines():
    assert line.endswith(": test"), f"line {line!r} did not end with the string ': test'"
    name = line.removesuffix(": test")
    done = ask("--exact", name, "--nocapture")
    print("PASS" if done.returncode == 0 else "FAIL", name)
    if done.returncode:
        failed = 1
        print(done.stderr)
sys.exit(100 if failed else 0)
"""
NEXTEST_TESTS = """
#[test]
fn frugal() { assert_eq!(std::hint::black_box(vec![1u8; 1000]).len(), 1000); }
#[test]
fn lavish() { assert_eq!(std::hint::black_box(vec![1u8; 300_000]).len(), 300_000); }
#[test]
fn wrong() { assert_eq!(1, 2); }
"""


def nextest_budgets(ground):
    """Every test is a process under nextest, and so has the budget for itself. nextest itself is
    no package of Debian's: what it does to a runner is played here, for where it is not."""
    command = ground.built("--bins")["cargo-tidemark"]
    theirs = ground.scratch / "tests.rs"
    theirs.write_text(NEXTEST_TESTS)
    ground.run("rustc", "--test", "-g", theirs, "-o", "tests")
    cargo = ground.scratch / "cargo"
    cargo.write_text(NEXTEST)
    cargo.chmod(0o755)
    env = {"CARGO": str(cargo), "TIDEMARK": str(ground.tidemark),
           "TEST_PROGRAM": str(ground.scratch / "tests")}
    told = {}
    for limit in (), ("--max-peak", "200KiB"), ("--max-peak", "64MiB", "--result", "/dev/null"):
        printed, _ = ground.run(command, "tidemark", "-q", "-f", "-o", "n.%p.tide", *limit,
                                "nextest", "run", env=env, status=100)
        told[limit] = printed
        expect("PASS frugal" in printed and "FAIL wrong" in printed, printed)
    expect(len(list(ground.scratch.glob("n.*.tide"))) == 9, "one for each test, none for lists")
    verdict = told["--max-peak", "200KiB"]
    expect("FAIL lavish" in verdict and "broken   peak" in verdict, verdict)
    expect(re.search(r"tests::lavish, \S*tests\.rs:5", verdict), verdict)
    expect(all("PASS lavish" in told[limit] for limit in told if limit[1:2] != ("200KiB",)),
           f"{told}")
    printed, _ = ground.run(command, "tidemark", "-q", "--max-peak", "1KiB", "nextest", "run",
                            env=env, status=100)
    expect(printed.count("FAIL ") == 3, printed)  # and not that they cannot be listed
    for word in ("-o", "n.tide"), ("--output=n.tide",), ("-on.tide",):
        _, said = ground.run(command, "tidemark", *word, "nextest", "run", env=env, status=125)
        expect(f"-o {ground.scratch}/n.tide: with nextest every test has a capture of its own; put "
               "%p into its name" in said, said)


def real_nextest(ground):
    """Where it is."""
    own = ground.tidemark.parent / "nextest/bin"
    path = f"{own}:{os.environ['PATH']}"
    if not shutil.which("cargo-nextest", path=path):
        raise record.Excused("no cargo-nextest here; cargo install cargo-nextest --locked --root "
                             "build/nextest")
    return path


NEXTEST_ODD_TESTS = NEXTEST_TESTS + """
#[test]
fn crashes() { std::process::abort(); }
#[test]
fn flaky() {
    let seen = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("seen");
    let is_second = seen.exists();
    std::fs::write(seen, "").unwrap();
    assert!(is_second, "for the first time");
}
"""


def nextest_itself(ground):
    """The same by the real one, tests in parallel: what passes, fails, crashes and is tried again;
    a list; and the crate's own tests."""
    path = real_nextest(ground)
    command = ground.built("--bins")["cargo-tidemark"]
    env = {"TIDEMARK": str(ground.tidemark), "CARGO_TARGET_DIR": str(ground.target / "nextest"),
           "PATH": f"{command.parent}:{path}", "CARGO_NET_OFFLINE": "true"}
    theirs = ground.scratch / "theirs"
    (theirs / "src").mkdir(parents=True)
    (theirs / "Cargo.toml").write_text('[package]\nname = "theirs"\nversion = "0.1.0"\n'
                                       'edition = "2021"\n[workspace]\n')
    (theirs / "src/lib.rs").write_text(NEXTEST_ODD_TESTS)

    def nextest(*words, status):
        _, said = ground.run("cargo", "tidemark", "-q", "-o", "n.%p.tide", *words, cwd=theirs,
                             env=env, status=status)
        return re.sub(r"\[ *[\d.]+s\] +|\((?:─+| *\d+/\d+)\) +", "", said)

    said = nextest("--max-peak", "200KiB", "nextest", "run", "--no-fail-fast", "--retries", "1",
                   status=100)
    for line in ("PASS theirs frugal", "TRY 2 FAIL theirs lavish", "TRY 2 FAIL theirs wrong",
                 "TRY 2 ABRT theirs crashes", "TRY 2 PASS theirs flaky"):
        expect(line in said, f"{line}: {said}")
    expect(re.search(r"broken   peak: .*?theirs::lavish, src/lib\.rs:5", said, re.S), said)
    expect("5 tests run: 2 passed (1 flaky), 3 failed" in said, said)
    captures = list(theirs.glob("n.*.tide"))
    expect(len(captures) == 9, f"{captures}")  # two of those that were tried twice, no list
    said = nextest("--max-peak", "64MiB", "nextest", "run", "--", "frugal", "lavish", status=0)
    expect("2 tests run: 2 passed" in said, said)
    printed, _ = ground.run("cargo", "tidemark", "--max-peak", "1KiB", "nextest", "list",
                            cwd=theirs, env=env)
    names = {line.split()[-1] for line in printed.splitlines()}
    expect(names >= {"crashes", "flaky", "frugal", "lavish", "wrong"}, printed)
    _, said = ground.run("cargo", "tidemark", "-q", "-o", ground.scratch / "own.%p.tide", "nextest",
                         "run", "--manifest-path", CRATE / "Cargo.toml", "--offline", env=env)
    expect(re.search(r"(\d+) tests run: \1 passed", said), said)


def get(address, path):
    """Status and body."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@contextlib.contextmanager
def served(*command):
    """The address that a service says it listens on."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as service:
        try:
            yield service.stdout.readline().split()[-1]
        finally:
            service.terminate()


def axum_example(ground):
    """Its profile names the handler that keeps, to the byte; no recorder is an error."""
    program = ground.from_crates("bindings/rust/examples/axum")
    with served(program, "127.0.0.1:0") as address:
        status, body = get(address, "/debug/pprof/heap")
        expect(status == 503 and body, f"{status} {body}")
    with served(ground.tidemark, "run", "-q", "-o", ground.scratch / "s.tide", "--", program,
                "127.0.0.1:0") as address:
        for n in 1, 2, 3:
            expect(get(address, "/keep/1000000") == (200, f"{n} kept\n".encode()), f"keep {n}")
        status, profile = get(address, "/debug/pprof/heap")
    expect(status == 200, f"{status} {profile}")
    (ground.scratch / "heap.pb").write_bytes(profile)
    printed, _ = ground.run(ground.tidemark, "report", "--sort", "live", "heap.pb")
    expect(re.search(r"2\.9 MiB .*keep", printed), printed)


# Extension modules allocate through libc, and so does this.
PYTHON_TESTS = """
import ctypes
import unittest
import pytest
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def use(n):
    libc.free(libc.malloc(n))


@pytest.mark.heap(max_peak=1_000_000, leaked="16KiB", max_total="1.1MB", warmup=1)
def test_kept():
    use(500_000)


@pytest.mark.heap(max_peak="1MiB")
def test_peak():
    use(2_000_000)


@pytest.mark.heap(leaked=1000, thread=True)
def test_leak():
    libc.malloc(1 << 20)


@pytest.mark.heap(max_allocs=99)
def test_calls():
    for _ in range(100):
        use(10)


@pytest.mark.heap(max_peak="1MiB")
def test_fails_by_itself():
    use(2_000_000)
    assert False, "its own reason"


@pytest.mark.heap(max_peak="64 parsecs")
def test_size():
    pass


@pytest.mark.heap(peak=1)
def test_name():
    pass


@pytest.mark.heap(max_allocs="many")
def test_count():
    pass


@pytest.mark.heap(max_peak="1MiB", warmup=-1)
def test_warm():
    pass


@pytest.mark.heap()
def test_limitless():
    pass


class TestOfUnittest(unittest.TestCase):
    def setUp(self):
        use(900_000)

    @pytest.mark.heap(max_peak="1MiB")
    def test_case(self):
        use(2_000_000)

    @pytest.mark.heap(max_peak="1MiB")
    def test_case_kept(self):
        use(1000)

    @pytest.mark.heap(max_peak="1KiB")
    def test_case_fails(self):
        self.fail("of unittest")

    @pytest.mark.heap(max_peak="1MiB", warmup=1)
    def test_case_warm(self):
        pass


def test_without():
    use(10_000_000)
"""


# One budget before somebody attaches, and one after.
PYTHON_ATTACHED = """
import pathlib
import time
import pytest


@pytest.mark.heap(max_peak="1GiB")
def test_before():
    pathlib.Path("ready").touch()


def wait_for(name):
    deadline = time.monotonic() + 60
    while not pathlib.Path(name).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_waits():
    wait_for("attached")


@pytest.mark.heap(max_peak="1KiB")
def test_after():
    assert len(bytearray(2_000_000)) == 2_000_000
    pathlib.Path("after").touch()
    wait_for("detached")
"""


def pytest_command():
    for python in "python3", "/usr/bin/python3":
        found = subprocess.run([python, "-m", "pytest", "--version"], capture_output=True)
        if found.returncode == 0:
            return [python, "-m", "pytest", "-p", "pytest_tidemark", "-p", "no:cacheprovider", "-q"]
    raise record.Skip("no pytest here; tools/setup.sh test installs it")


def pytest_plugin(ground):
    command = pytest_command()
    env = {"PYTHONPATH": str(ROOT / "bindings/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    (ground.scratch / "test_heap.py").write_text(PYTHON_TESTS)
    printed, _ = ground.recorded(*command, "test_heap.py", env=env, status=1)
    for name, why in (("peak", "2,000,000 bytes held at once; max_peak is 1,048,576"),
                      ("leak", r"1,048,576 bytes left, in 1 block; leaked is 1,000"),
                      ("calls", r"\d+ allocations; max_allocs is 99"),
                      ("fails_by_itself", "its own reason"),
                      ("count", "heap\\(max_allocs='many'\\): a number from 0 on"),
                      ("warm", "heap\\(warmup=-1\\): a number from 0 on"),
                      ("limitless", "heap\\(\\): no limit"),
                      ("case", r"2,00\d,\d+ bytes held at once; max_peak is 1,048,576"),
                      ("case_fails", "of unittest"),
                      ("case_warm", "warmup=\\): only for a plain function"),
                      ("size", "heap\\(max_peak='64 parsecs'\\): not a size"),
                      ("name", "heap\\(\\): \\['peak'\\]: it takes max_peak")):
        wanted = rf"_ (?:TestOfUnittest\.)?test_{name} _.*?{why}"
        expect(re.search(wanted, printed, re.S), f"{name}: {printed}")
    expect("12 failed, 3 passed" in printed and "not judged" not in printed, printed)
    printed, _ = ground.run(*command, "test_heap.py", env=env, status=1)
    expect("8 heap budgets were not judged" in printed and "8 failed, 7 passed" in printed, printed)
    printed, _ = ground.run(*command, "--heap-required", "-k", "kept", env=env, status=1)
    expect("no recorder in this process" in printed, printed)


def await_file(path, process):
    while not path.exists():
        expect(process.poll() is None, f"it ended before it made {path.name}")
        time.sleep(0.01)


def pytest_plugin_when_attached_to(ground):
    """Budgets are not judged, and it is said why, by test; the process is recorded."""
    (ground.scratch / "test_attached.py").write_text(PYTHON_ATTACHED)
    env = {"PYTHONPATH": str(ROOT / "bindings/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    with started(*pytest_command(), "test_attached.py", cwd=ground.scratch,
                 env={**os.environ, **env}) as tests:
        await_file(ground.scratch / "ready", tests)
        with attached(ground, tests.pid):
            (ground.scratch / "attached").touch()
            await_file(ground.scratch / "after", tests)
        (ground.scratch / "detached").touch()
        printed = tests.communicate(timeout=60)[0]
    expect("3 passed" in printed, printed)
    expect("1 heap budgets were not judged: no recorder in this process; start it" in printed,
           printed)
    expect("1 heap budgets were not judged: the recorder was put into this process after it had "
           "begun" in printed, printed)
    expect(ground.report("x.tide")["totals"]["peak_bytes"] >= 2_000_000, "it is not recorded")


CASES = (crate_under_each_recorder, crate_documents_what_works, crate_is_packed,
         crate_has_the_numbers_of_dhat, crate_has_the_events_of_dhat,
         crate_has_the_numbers_of_stats_alloc, crate_carries_the_recorder,
         crate_says_what_it_cannot_link, crate_asserts, crate_writes_profiles,
         crate_is_heard_when_attached_to, crate_tells_of_pools, cargo_tidemark, nextest_budgets,
         nextest_itself, axum_example, pytest_plugin, pytest_plugin_when_attached_to)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--tidemark", type=pathlib.Path, default=ROOT / "build/tidemark")
    options = parser.parse_args()
    options.tidemark = options.tidemark.resolve()
    tally = record.Tally()
    for case in CASES:
        if record.is_chosen(options, case.__name__):
            with tempfile.TemporaryDirectory(prefix="tidemark-bindings-") as scratch:
                tally.run(case.__name__, lambda c=case, s=scratch: c(Ground(options, s)))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
