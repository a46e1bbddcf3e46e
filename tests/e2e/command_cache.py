# SPDX-License-Identifier: Apache-2.0
"""The cache of names: what a report says does not depend on it, whatever is in it."""
import subprocess

from ground import expect, test

SOURCE = """
#include <stdlib.h>
static void *kept[64];
__attribute__((noipa)) void NAME(int i) { kept[i] = malloc(i * 100 + 1); }
int main(void) { for (int i = 0; i < 64; i++) NAME(i); return 0; }
"""


def recorded(ground, name="holder"):
    prog = ground.build("prog", SOURCE.replace("NAME", name))
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return prog, ground.scratch / "x.tide"


def with_cache(ground):
    del ground.env["TIDEMARK_CACHE"]
    ground.env["XDG_CACHE_HOME"] = str(ground.scratch / "cache")
    return ground.scratch / "cache/tidemark"


def text(ground, tide, *options):
    done = ground.run(ground.tidemark, "report", "--stacks", "--all-frames", *options, tide)
    expect(done.status == 0 and not done.stderr, f"{done.status}: {done.stderr!r}")
    return done.stdout


@test
def cache_changes_nothing(ground):
    prog, tide = recorded(ground)
    truth = text(ground, tide)
    place = with_cache(ground)
    expect(text(ground, tide) == truth, "the first look differs")
    files = sorted(place.iterdir())
    expect(files, "nothing is kept")
    expect(text(ground, tide) == truth, "the second look differs")
    for harm in (lambda old: b"", lambda old: old[:len(old) // 2], lambda old: b"\0" * len(old),
                 lambda old: old[:-3] + b"xyz"):
        for file in files:
            file.write_bytes(harm(file.read_bytes()))
        expect(text(ground, tide) == truth, "a damaged cache shows")
        expect(all(file.stat().st_size for file in files), "a damaged file was not replaced")
    many = [subprocess.Popen([ground.tidemark, "report", "--stacks", "--all-frames", tide],
                             env=ground.env, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    expect(all(child.communicate()[0] == truth for child in many), "eight at once differ")
    prog.write_bytes((ground.build("other", SOURCE.replace("NAME", "other"))).read_bytes())
    changed = text(ground, tide)
    expect("rebuilt" in changed and "holder" not in changed, f"names of a file gone:\n{changed}")


@test
def cache_can_be_refused(ground):
    _, tide = recorded(ground)
    place = with_cache(ground)
    truth = text(ground, tide, "--no-cache")
    ground.env["TIDEMARK_CACHE"] = "off"
    expect(text(ground, tide) == truth and not place.exists(), "kept though it was refused")
    ground.env["TIDEMARK_CACHE"] = str(ground.scratch / "own")
    expect(text(ground, tide) == truth and not place.exists(), "not where it was asked for")
    expect(list((ground.scratch / "own").iterdir()), "nothing is kept")
    ground.env["TIDEMARK_CACHE_MAX"] = "100"
    expect(text(ground, tide) == truth, "a tiny cache shows")
    ground.env["TIDEMARK_CACHE_MAX"] = "much"
    done = ground.run(ground.tidemark, "report", tide)
    expect(done.status == 0 and "TIDEMARK_CACHE_MAX" in done.stderr, f"{done.stderr!r}")


@test
def cache_follows_debug_info(ground):
    prog, tide = recorded(ground)
    with_cache(ground)
    whole = text(ground, tide)
    expect("prog.c" in whole or "<stdin>:" in whole, f"no lines:\n{whole}")
    debug = ground.scratch / "prog.debug"
    subprocess.run(["objcopy", "--only-keep-debug", prog, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", prog], check=True)
    bare = text(ground, tide)
    expect("<stdin>:" not in bare and "holder" in bare, f"lines of a file without any:\n{bare}")
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", prog], check=True)
    expect("<stdin>:" in text(ground, tide), "the debug file is not seen")
