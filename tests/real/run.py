#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs under the recorder: they behave as without it, and their captures are sane.

  tests/real/run.py [--filter REGEX] [--only NAME]… [--tidemark PATH] [--list]

Each program runs twice, plain and recorded; output, files it makes and exit status must be the
same. Then the capture must hold a plausible amount of allocations, have lost nothing, agree with
itself, and name its largest site. A program that is not installed is skipped, or with CI=true in
the environment a failure. Ends with the counts.
"""
import argparse
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/e2e")]
import attached  # noqa: E402
import blame  # noqa: E402
import browsers  # noqa: E402
import cargo  # noqa: E402
import golang  # noqa: E402
import record  # noqa: E402
import truth  # noqa: E402
import web  # noqa: E402

TESTS = attached.TESTS | blame.TESTS | browsers.TESTS | cargo.TESTS | golang.TESTS | web.TESTS
TIMEOUT = 180


def test(name):
    def mark(function):
        TESTS[name] = function
        return function
    return mark


def need(program):
    found = shutil.which(program)
    if not found:
        raise record.Skip(f"no {program} here")
    return found


def expect(condition, why):
    if not condition:
        raise record.Failure(why)


class Stage:
    """One test's directory, and the plain and the recorded run in it."""

    def __init__(self, tidemark, scratch):
        self.tidemark, self.scratch = tidemark, scratch
        self.tide = scratch / "x.tide"
        self.env = record.clean_environment(LC_ALL="C.UTF-8")

    def both(self, command, fresh=(), stdin="", products=()):
        """Run plain and recorded, compare, and return the capture. `fresh` is removed before."""
        outcomes, files = [], []
        prefix = [self.tidemark, "run", "-q", "-f", "-o", self.tide, "--"]
        for words in (command, prefix + list(command)):
            for name in fresh:
                shutil.rmtree(self.scratch / name, ignore_errors=True)
            outcomes.append(record.run(words, cwd=self.scratch, env=self.env, stdin=stdin,
                                       timeout=TIMEOUT))
            files.append([(self.scratch / name).read_bytes() for name in products])
        plain, recorded = outcomes
        expect(plain.status == 0, f"without us: {plain.status}, {plain.stderr.strip()[-300:]}")
        for name in ("status", "stdout", "stderr"):
            want, got = getattr(plain, name), getattr(recorded, name)
            expect(want == got, f"{name} differs: {str(want)[-200:]!r} became {str(got)[-200:]!r}")
        expect(files[0] == files[1], f"the files {products} differ")
        return self.capture()

    def capture(self):
        return record.Capture(self.tidemark, [self.tide], "")


def sane(capture, program, at_least, broken_share=0.0):
    """The image of `program` with most allocations is a plausible capture; returns its report."""
    candidates = [(image["allocations"], at) for at, image in enumerate(capture.images)
                  if re.search(program, os.path.basename(image["exe"]))]
    expect(candidates, f"no image of {program} in {[i['exe'] for i in capture.images]}")
    report = capture.report(max(candidates)[1])
    totals, loss = report["totals"], report["completeness"]
    expect(totals["allocations"] >= at_least, f"only {totals['allocations']} allocations")
    expect(totals["peak_bytes"] > 0, "no peak")
    expect(totals["max_rss_bytes"] > 0, "no RSS")
    expect(totals["peak_bytes"] <= totals["max_rss_bytes"] + (64 << 20),
           f"peak {totals['peak_bytes']} beside an RSS of {totals['max_rss_bytes']}")
    for key in ("lost_busy", "lost_full", "fork_lost", "cut_stacks"):
        expect(loss[key] == 0, f"{key} is {loss[key]}")
    expect(loss["broken_stacks"] <= broken_share * loss["stacks"],
           f"{loss['broken_stacks']} of {loss['stacks']} stacks broken")
    expect(report["image"]["off_reason"] == 0, "the recorder stepped aside")
    truth.check_sums(report)
    top = max((s for s in report["sites"] if s["kind"] == "heap"), key=lambda s: s["peak_bytes"])
    expect(any(frame["function"] for frame in top["frames"]), "the largest site has no name")
    return report


@test("cpython")
def cpython(stage):
    program = """
import json
rows = [{"id": i, "name": "row %d" % i, "tags": ["a", "b", str(i % 7)]} for i in range(8000)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
print(len(rows), sum(row["id"] for row in rows))
"""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        raise record.Skip(f"no {python} here")
    stage.env.update(PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
    report = sane(stage.both([python, "-S", "-c", program]), "python3", 200000)
    expect(report["completeness"]["unknown_frees"] == 0, "unknown frees")


@test("cc1")
def cc1(stage):
    compiler = subprocess.run([need("gcc"), "-print-prog-name=cc1"], capture_output=True,
                              text=True).stdout.strip()
    if not os.path.isabs(compiler):
        raise record.Skip("no cc1 here")
    lines = ["struct s { int a, b; double c; };"]
    for i in range(600):
        lines += [f"static int f{i}(struct s *p, int n)", "{",
                  f"  for (int i = 0; i < n; i++) p->a += p->b * {i} + (int)(p->c / (i + 1));",
                  f"  return p->a + {f'f{i - 1}(p, n - 1)' if i else '0'};", "}"]
    lines.append("int main(void) { struct s s = {1, 2, 3}; return f599(&s, 10); }")
    (stage.scratch / "big.c").write_text("\n".join(lines) + "\n")
    sane(stage.both([compiler, "-quiet", "-O1", "big.c", "-o", "big.s"], products=["big.s"]),
         "cc1", 20000)


@test("perl")
def perl(stage):
    program = """
my %count; my @words = map { "word" . ($_ * 7919 % 5003) } 1 .. 60000;
$count{$_}++ for @words;
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
my $text = join ",", map { "$_=$count{$_}" } @sorted;
$text =~ s/(\\d+)/<$1>/g;
print length($text), " $sorted[0]\\n";
"""
    stage.env["PERL_HASH_SEED"] = "0"
    sane(stage.both([need("perl"), "-e", program]), "perl", 20000)


@test("sqlite3")
def sqlite3(stage):
    sql = """
create table t (id integer primary key, name text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
  insert into t select i, 'name ' || (i * 7919 % 10007), i * 0.5 from n;
create index by_name on t (name);
select count(*), sum(value), max(name) from t;
select name, count(*) from t group by name order by 2 desc, 1 limit 5;
select a.name from t a join t b on a.id = b.id + 1 where a.name > b.name order by a.id limit 3;
"""
    sane(stage.both([need("sqlite3"), ":memory:"], stdin=sql), "sqlite3", 5000)


@test("redis")
def redis(stage):
    server, client, bench = need("redis-server"), need("redis-cli"), need("redis-benchmark")
    socket = tempfile.mktemp(prefix="tide-", suffix=".sock")  # short: sun_path is 108 bytes
    words = [server, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
             "--dir", str(stage.scratch)]
    answers = []

    def ask(*question):
        done = subprocess.run([client, "-s", socket, *question], capture_output=True, text=True,
                              timeout=60)
        return done.stdout

    for prefix in ([], [stage.tidemark, "run", "-q", "-o", str(stage.tide), "--"]):
        child = subprocess.Popen(prefix + words, env=stage.env, cwd=stage.scratch,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
        try:
            deadline = time.time() + 30
            while "PONG" not in ask("ping"):
                expect(time.time() < deadline and child.poll() is None, "the server does not come")
                time.sleep(0.1)
            subprocess.run([bench, "-s", socket, "-q", "-n", "5000", "-c", "10", "-d", "100", "-t",
                            "ping,set,get,incr,lpush,rpop,sadd,hset,mset"], check=True,
                           stdout=subprocess.DEVNULL, timeout=TIMEOUT)
            ask("flushall")
            script = "for i=1,3000 do redis.call('set','k'..i,string.rep('x',i%300)) end return 1"
            ask("eval", script, "0")
            answers.append((ask("dbsize"), ask("get", "k299"), ask("debug", "digest")))
            ask("shutdown", "nosave")
            answers[-1] += (child.wait(30),)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, 9)
                child.wait()
    expect(answers[0] == answers[1], f"answers differ: {answers}")
    expect(answers[1][0].strip() == "3000" and answers[1][3] == 0, f"answers {answers[1]}")
    sane(stage.capture(), "redis", 20000)


@test("git")
def git(stage):
    need("git")
    (stage.scratch / "script.sh").write_text("""
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
git init -q -b main repo && cd repo
git config user.name Someone && git config user.email someone@example.org
for i in 1 2 3 4 5 6; do
  mkdir -p d$i
  for k in 1 2 3 4 5 6 7 8; do seq $((i * k * 50)) > d$i/f$k; done
  git add . && git commit -q -m "commit $i"
done
git log --stat --oneline
git gc -q
git fsck --full
git rev-parse HEAD
""")
    capture = stage.both(["sh", "script.sh"], fresh=["repo"])
    sane(capture, "^git$", 500)
    expect(len(capture.images) >= 20, f"only {len(capture.images)} images")


@test("node")
def node(stage):
    script = """
const rows = Array.from({length: 20000}, (_, i) => ({id: i, name: 'row ' + i, list: [i, i * 2]}));
let text = JSON.stringify(rows);
const again = JSON.parse(text);
const zlib = require('zlib');
const packed = zlib.gzipSync(text, {level: 6});
console.log(again.length, zlib.gunzipSync(packed).toString() === text);
"""
    # V8 makes code at run time, without unwind tables: walks through it may end there.
    sane(stage.both([need("node"), "-e", script]), "node", 2000, broken_share=1.0)


@test("rust-workers")
def rust_workers(stage):
    source = ROOT / "tests/real/workers.rs"
    program = stage.scratch / "workers"
    done = subprocess.run([need("rustc"), "--edition=2021", "-O", "-g", "-o", program, source],
                          capture_output=True, text=True)
    expect(done.returncode == 0, f"does not build: {done.stderr[-300:]}")
    report = sane(stage.both([str(program)]), "workers", 300000)
    expect(report["image"]["threads"] == 7, f"{report['image']['threads']} threads")
    expect(report["completeness"]["unknown_frees"] == 0, "unknown frees")
    names = {frame["function"] or "" for site in report["sites"] for frame in site["frames"]}
    expect(any("count_words" in name for name in names), "count_words is nowhere")


@test("initdb")
def initdb(stage):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        raise record.Skip("no initdb here")
    home = stage.scratch / "pg"
    home.mkdir()
    words = [found[-1], "-D", str(home / "data"), "-A", "trust", "-U", "someone", "--no-sync",
             "--locale=C.UTF-8", "-E", "UTF8"]
    if os.geteuid() == 0:
        there = subprocess.run(["id", "postgres"], capture_output=True).returncode == 0
        user = "postgres" if there else "nobody"
        shutil.chown(home, user)
        words = [need("runuser"), "-u", user, "--", *words]
    capture = stage.both(words, fresh=["pg/data"])
    sane(capture, "^initdb$", 1000)
    sane(capture, "^postgres$", 5000)


def place_tidemark(tidemark, scratch):
    """A copy that any user can reach, what goes into programs beside the command."""
    where = scratch / "bin"
    where.mkdir()
    for path in (tidemark, *tidemark.parent.glob("libtidemark*.so")):
        shutil.copy(path, where / path.name)
    return str(where / tidemark.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--tidemark", type=pathlib.Path, default=ROOT / "build/tidemark")
    options = parser.parse_args()
    wanted = [name for name in TESTS if record.is_chosen(options, name)]
    if options.list:
        print("\n".join(wanted))
        return 0
    tally = record.Tally()
    with tempfile.TemporaryDirectory(prefix="tidemark-real-") as top:
        top = pathlib.Path(top)
        top.chmod(0o755)
        tidemark = place_tidemark(options.tidemark.resolve(), top)
        for name in wanted:
            scratch = top / name
            scratch.mkdir()
            tally.run(name, lambda n=name, s=scratch: TESTS[n](Stage(tidemark, s)))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
