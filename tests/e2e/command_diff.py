# SPDX-License-Identifier: Apache-2.0
"""Two recordings compared: a known change is found, over rebuilds and address randomisation."""
import csv
import io
import json

from ground import expect, test

# 40 blocks in keep(), SIZE bytes each; 10 in steady(); EXTRA adds code and shifts lines.
SOURCE = """
#include <stdlib.h>
#include <unistd.h>
static void *kept[64];
EXTRA
__attribute__((noipa)) void keep(int i) { kept[i] = malloc(SIZE); }
__attribute__((noipa)) void steady(int i) { kept[i] = malloc(1000); }
int main(int argc, char **argv)
{
  (void)argv;
  for (int i = 0; i < 40; i++) keep(i);
  for (int i = 40; i < 50; i++) steady(i);
  usleep(30000);
  MORE
  for (int i = 0; i < 64 && argc > 1; i++) free(kept[i]);
  return 0;
}
"""
EXTRA = "__attribute__((noipa)) void added(void) { kept[50] = malloc(777); }\n\n\n\n"


def recorded(ground, name, size, extra="", more="", *words):
    source = SOURCE.replace("SIZE", str(size)).replace("EXTRA", extra).replace("MORE", more)
    (ground.scratch / name).mkdir()
    (ground.scratch / name / "prog.c").write_text(source)
    prog = ground.scratch / name / "prog"
    done = ground.run("gcc", "-O1", "-g", "-fno-builtin", "-o", prog,
                      ground.scratch / name / "prog.c")
    expect(done.status == 0, f"does not build: {done.stderr}")
    tide = f"{name}.tide"
    done = ground.record("-q", "-f", "-o", tide, "--", prog, *words)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return tide


def diff(ground, *words, status=0):
    done = ground.run(ground.tidemark, "diff", *words)
    expect(done.status == status, f"diff {words}: {done.status}, not {status}: {done.stderr}")
    return done


def places(ground, *words):
    document = json.loads(diff(ground, "--json", *words).stdout)
    return {place["function"]: place for place in document["places"]}, document


@test
def diff_over_a_rebuild(ground):
    old = recorded(ground, "one", 100)
    new = recorded(ground, "two", 150, EXTRA, "added();")
    found, document = places(ground, old, new)
    expect(found["keep"]["change"] == "grown", f"{found['keep']}")
    expect(found["keep"]["change_bytes"] == 40 * 50, f"{found['keep']}")
    expect(found["keep"]["change_blocks"] == 0, f"{found['keep']}")
    expect(found["keep"]["line"] > found["keep"]["before_line"] > 0, f"{found['keep']}")
    expect(found["steady"]["change"] == "same", f"{found['steady']}")
    expect(found["added"]["change"] == "added", f"{found['added']}")
    expect(found["added"]["change_bytes"] == 777, f"{found['added']}")
    totals = document["totals"]
    expect(totals["change_bytes"] == 40 * 50 + 777, f"{totals}")
    for key in ("before_bytes", "after_bytes", "change_bytes", "change_blocks"):
        total = sum(place[key] for place in document["places"])
        expect(total + document["open"][key] == totals[key], f"{key}: {total}, not {totals[key]}")
    back, _ = places(ground, new, old)
    expect(back["added"]["change"] == "gone", f"{back['added']}")
    expect(back["keep"]["change_bytes"] == -40 * 50, f"{back['keep']}")
    rows = list(csv.DictReader(io.StringIO(diff(ground, "--csv", old, new).stdout)))
    expect(sum(int(row["change_bytes"]) for row in rows) == totals["change_bytes"], f"{rows}")
    text = diff(ground, old, new).stdout
    expect("in all" in text and "keep" in text, text)
    expect("two programs" not in text and "command lines differ" in text, text)


@test
def diff_under_randomisation(ground):
    """The same program twice: wherever it was loaded, nothing changed."""
    old = recorded(ground, "one", 100)
    done = ground.record("-q", "-o", "again.tide", "--", ground.scratch / "one" / "prog")
    expect(done.status == 0, f"status {done.status}")
    _, document = places(ground, old, "again.tide")
    expect(document["totals"]["same"] == len(document["places"]) > 1, f"{document['totals']}")
    expect("no place changed" in diff(ground, old, "again.tide").stdout, "not the same")
    diff(ground, "--exit-code", old, "again.tide")


@test
def diff_exit_codes(ground):
    old, new = recorded(ground, "one", 100), recorded(ground, "two", 150)
    diff(ground, old, new)
    diff(ground, "--exit-code", old, new, status=1)
    diff(ground, "--exit-code", new, old)
    diff(ground, "--exit-code", "--threshold", "2000", old, new)
    diff(ground, "--exit-code", "--threshold", "1999", old, new, status=1)
    diff(ground, "--exit-code", "--threshold", "50%", old, new)
    diff(ground, "--exit-code", "--threshold", "1%", old, new, status=1)
    diff(ground, "--exit-code", "--sort", "count", old, new)
    diff(ground, "--exit-code", "--function", "steady", old, new)
    diff(ground, "--exit-code", "--function", "keep", old, new, status=1)
    whole = (ground.scratch / new).read_bytes()
    (ground.scratch / "cut.tide").write_bytes(whole[:len(whole) - 40])
    done = diff(ground, "--exit-code", old, "cut.tide", status=2)
    expect("cannot tell" in done.stderr or "cut" in done.stderr, done.stderr)
    diff(ground, "--exit-code", old, "gone.tide", status=2)
    diff(ground, old, "gone.tide", status=1)


@test
def diff_of_two_moments(ground):
    tide = recorded(ground, "one", 100, "", "", "free")
    found, document = places(ground, "--from", "peak", "--to", "end", tide)
    expect(document["one_run"] and document["measure"] == "live", f"{document['measure']}")
    expect(found["keep"]["change"] == "gone", f"{found['keep']}")
    expect(found["keep"]["change_bytes"] == -4000, f"{found['keep']}")
    found, _ = places(ground, "--from", "start", "--to", "peak", tide)
    expect(found["keep"]["change_bytes"] == 4000, f"{found['keep']}")
    text = diff(ground, "--from", "0s", tide).stdout
    expect("the start" in text or "0 ns" in text, text)


@test
def diff_refusals(ground):
    tide = recorded(ground, "one", 100)
    for words, why in (((tide,), "needs two files"),
                       ((tide, tide, tide), "one too many"),
                       ((tide, tide, "--from", "peak"), "moments of one file"),
                       ((tide, "--from", "peak", "--at", "end"), "no --at"),
                       ((tide, "--from", "end", "--to", "start"), "before --from"),
                       ((tide, "--from", "peak", "--sort", "temp"), "whole run"),
                       ((tide, tide, "--threshold", "5%"), "--exit-code"),
                       ((tide, tide, "--exit-code", "--threshold", "5x"), "no size"),
                       ((tide, tide, "--csv", "--md"), "at a time"),
                       ((tide, tide, "--sort", "count", "--min", "5K"), "--min is a size")):
        done = diff(ground, *words, status=2)
        expect(why in done.stderr, f"{words}: {done.stderr}")
        expect(done.stdout == "" and done.stderr.count("\n") == 1, f"{words}: {done.stderr}")
