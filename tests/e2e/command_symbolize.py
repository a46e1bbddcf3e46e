# SPDX-License-Identifier: Apache-2.0
"""Names stored in a capture: it says the same without its programs, and is never lost."""
import json
import os

from ground import expect, test

SOURCE = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[64];
static inline __attribute__((always_inline)) void *inner(int n) { return malloc(n * 100); }
__attribute__((noipa)) void outer(int i) { kept[i] = inner(i + 1); }
int main(void)
{
  for (int i = 0; i < 64; i++) outer(i);
  if (fork() == 0) { free(malloc(10)); _exit(0); }
  wait(0);
  return 0;
}
"""


def recorded(ground):
    prog = ground.build("prog", SOURCE)
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return prog, ground.scratch / "x.tide"


def symbolize(ground, *words):
    return ground.run(ground.tidemark, "symbolize", *words)


def reports(ground, tide):
    """What all reading verbs say of each process."""
    n_images = len(ground.report(tide)["images"])
    said = []
    for which in range(n_images):
        for words in (["report"], ["report", "--stacks", "--all-frames"], ["report", "--json"],
                      ["export", "--to", "dhat"]):
            done = ground.run(ground.tidemark, *words, "-p", f"#{which}", tide)
            expect(done.status == 0, f"{words}: {done.stderr}")
            said.append(done.stdout)
    return said


@test
def symbolize_travels(ground):
    prog, tide = recorded(ground)
    before = reports(ground, tide)
    done = symbolize(ground, tide)
    expect(done.status == 0 and not done.stdout, f"{done.status}: {done.stderr}")
    expect("addresses have names" in done.stderr and "saved" in done.stderr, done.stderr)
    away = prog.with_name("elsewhere")
    prog.rename(away)
    after = reports(ground, tide)
    facts = ground.run(ground.tidemark, "info", tide).stdout
    expect("names stored" in facts and "stored for" in facts, f"info does not tell:\n{facts}")
    for was, now in zip(before, after):
        expect(was == now, f"without the program:\n{now[:400]}\ninstead of\n{was[:400]}")
    expect("inner" in before[1] and "outer" in before[1], f"no names at all:\n{before[1]}")
    prog.write_text("rebuilt")
    expect(reports(ground, tide)[0] == before[0], "another file in its place changes the names")


@test
def symbolize_again(ground):
    prog, tide = recorded(ground)
    gone = prog.with_name("gone")
    prog.rename(gone)
    done = symbolize(ground, tide)
    said = " ".join(done.stderr.split())
    expect(done.status == 0 and "no longer there" in said, f"{done.stderr!r}")
    gone.rename(prog)
    done = symbolize(ground, tide)
    said = " ".join(done.stderr.split())
    expect(done.status == 0 and "no longer there" not in said, f"{done.stderr!r}")
    expect("saved" in done.stderr, f"nothing was added: {done.stderr!r}")
    stamp = tide.stat().st_mtime_ns, tide.stat().st_ino
    done = symbolize(ground, tide)
    expect(done.status == 0 and "nothing new" in done.stderr, f"{done.stderr!r}")
    expect(stamp == (tide.stat().st_mtime_ns, tide.stat().st_ino), "rewritten for nothing")


@test
def symbolize_elsewhere(ground):
    _, tide = recorded(ground)
    whole = tide.read_bytes()
    done = symbolize(ground, "-o", "y.tide", tide)
    expect(done.status == 0 and tide.read_bytes() == whole, f"the original changed: {done.stderr}")
    expect((ground.scratch / "y.tide").stat().st_size > len(whole), "no names in the copy")
    done = symbolize(ground, "-o", "y.tide", tide)
    expect(done.status == 1 and "-f" in done.stderr, f"overwrites: {done.stderr!r}")
    expect(symbolize(ground, "-f", "-o", "y.tide", tide).status == 0, "-f does not overwrite")
    os.chmod(tide, 0o600)
    expect(symbolize(ground, tide).status == 0, "in place")
    expect(tide.stat().st_mode & 0o777 == 0o600, f"mode {tide.stat().st_mode:o}")


@test
def symbolize_keeps_the_original(ground):
    _, tide = recorded(ground)
    whole = tide.read_bytes()
    done = ground.run("sh", "-c", f'ulimit -f 1; "{ground.tidemark}" symbolize "{tide}"')
    expect(done.status == 1 and "x.tide" in done.stderr, f"{done.status}: {done.stderr!r}")
    expect(tide.read_bytes() == whole, "a failed write changed the original")
    expect(ground.tides() == [tide], f"left behind: {ground.tides()}")
    tide.write_bytes(whole[:-30])
    done = symbolize(ground, tide)
    expect(done.status == 1 and "damaged" in done.stderr, f"{done.status}: {done.stderr!r}")
    expect(tide.read_bytes() == whole[:-30], "a damaged file was rewritten")
    done = symbolize(ground, "-o", "y.tide", tide)
    expect(done.status == 0, f"{done.stderr!r}")
    facts = ground.report("y.tide")["capture"]
    expect(not facts["complete"], f"the copy of a damaged file passes for whole: {facts}")
    tide.write_bytes(whole[:10] + b"\x63" + whole[11:])
    done = symbolize(ground, tide)
    expect(done.status == 1 and "newer" in done.stderr, f"{done.status}: {done.stderr!r}")
    expect(json.loads(ground.run(ground.tidemark, "info", "--json", tide).stdout), "not readable")


@test
def symbolize_a_store(ground):
    prog = ground.build("prog", SOURCE.replace("fork()", "1"))
    ground.run(prog, env={**ground.env, "LD_PRELOAD": str(ground.library)})
    store, = ground.scratch.glob("tidemark.prog.*.store")
    done = symbolize(ground, store)
    expect(done.status == 1 and "-o" in done.stderr, f"{done.status}: {done.stderr!r}")
    done = symbolize(ground, "-o", "y.tide", store)
    expect(done.status == 0, f"{done.stderr!r}")
    prog.unlink()
    expect("inner" in ground.run(ground.tidemark, "report", "y.tide").stdout, "no names")


@test
def symbolize_makes_captures_of_stores(ground):
    """A store of a version that is not read any more, or not yet: it is said, and what to do. A
    capture stays readable for good (tests/compat/golden.py)."""
    program = ground.program("return 0;")
    done = ground.run(program, env={**ground.env, "LD_PRELOAD": ground.library,
                                    "TIDEMARK_OPTIONS": "out=prog.store"})
    expect(done.status == 0, done.stderr)
    done = ground.run(ground.tidemark, "symbolize", "prog.store", "-o", "kept.tide")
    expect(done.status == 0, done.stderr)
    for version in 9, 13:
        with open(ground.scratch / "prog.store", "r+b") as store:
            store.seek(store.read(8192).index(b"TideStor") + 8)
            store.write(version.to_bytes(4, "little"))
        done = ground.run(ground.tidemark, "report", "prog.store")
        said = " ".join(done.stderr.split())
        expect(done.status != 0 and f"has version {version}, this tidemark reads versions 10 to 12"
               in said and "capture that its symbolize makes" in said, done.stderr)
    report = ground.report("kept.tide")
    expect(report["totals"]["live_bytes"] == 5000, f"{report['totals']}")
