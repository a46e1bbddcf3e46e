# SPDX-License-Identifier: Apache-2.0
"""report --json as a program reads it: what is left out and what is not, names of any bytes, and
the lines for jq that the documentation shows."""
import json
import pathlib
import re
import subprocess

import record
import report_json
from ground import expect, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMS = {"allocations": "allocations", "bytes": "allocated_bytes", "frees": "frees",
        "freed_bytes": "freed_bytes", "temporary": "temporary", "live_blocks": "live_blocks",
        "live_bytes": "live_bytes", "peak_bytes": "peak_bytes", "peak_blocks": "peak_blocks"}
PROGRAM = """
#include <stdlib.h>
#include <sys/mman.h>
#define APART __attribute__((noipa))
APART void *hold(int n) { void *p = malloc(n); __asm__(""); return p; }
APART void early(void) { for (int i = 0; i < 7; i++) free(hold(100)); __asm__(""); }
APART void *late(int n) { void *p = n ? late(n - 1) : hold(300); __asm__(""); return p; }
APART void *grown(void) { void *p = realloc(hold(40), 4000); __asm__(""); return p; }
int main(void)
{
  early();
  mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 16);
  void *one = late(3), *two = late(5), *three = grown();
  free(hold(90000));
  free(two);
  free(three);
  return one == NULL;
}"""


def capture(ground):
    tide = ground.scratch / "x.tide"
    if not tide.exists():
        ground.record("-q", "-o", tide, "--", ground.build("prog", PROGRAM, "-g"))
    return tide


def report(ground, *words):
    done = ground.run(ground.tidemark, "report", "--json", *words)
    expect(done.status == 0, f"{words}: {done.stderr}")
    return report_json.loads(done.stdout)


def is_pages(site):
    return site["kind"] == "pages"


def without_number(site):
    return {key: value for key, value in site.items() if key != "stack"}


def check_omitted(told, left_out, where):
    for of_pages, key in ((False, "heap"), (True, "pages")):
        sites = [site for site in left_out if is_pages(site) == of_pages]
        omitted = told["omitted"][key]
        expect(omitted["sites"] == len(sites), f"{where}: {omitted['sites']} {key} sites omitted")
        for name in ("weight", *SUMS):
            expect(omitted[name] == sum(site[name] for site in sites), f"{where}: {key} {name}")


@test
def only_what_weighs_nothing_is_left_out(ground):
    """And it is counted: what is there and what is omitted add up to the totals."""
    tide, n_left_out = capture(ground), 0
    for sort, by in (("peak", "bytes"), ("live", "bytes"), ("leak", "bytes"), ("total", "bytes"),
                     ("temp", "blocks"), ("grown", "blocks"), ("count", "auto")):
        words = ("--sort", sort, "--by", by, tide)
        told, whole = report(ground, *words), report(ground, "--all", *words)
        expect([without_number(site) for site in whole["sites"] if site["weight"]] ==
               [without_number(site) for site in told["sites"]], f"{sort}: not the same sites")
        left_out = [site for site in whole["sites"] if not site["weight"]]
        n_left_out += len(left_out)
        check_omitted(told, left_out, sort)
        check_omitted(whole, [], f"{sort} --all")
        for key, total in SUMS.items():
            found = sum(site[key] for site in told["sites"] if not is_pages(site))
            expect(found + told["omitted"]["heap"][key] == told["totals"][total], f"{sort}: {key}")
        few = report(ground, "-n", "2", *words)
        expect([site["weight"] for site in few["sites"]] ==
               [site["weight"] for site in told["sites"][:2]], f"{sort} -n 2: other sites")
        check_omitted(few, told["sites"][2:] + left_out, f"{sort} -n 2")
    expect(n_left_out > 5, f"only {n_left_out} were left out: this proves nothing")
    done = ground.run(ground.tidemark, "report", "--all", tide)
    expect(done.status == 2 and "--json" in done.stderr, f"--all of text: {done.stderr}")


@test
def no_age_exceeds_the_run(ground):
    """Blocks are no older than the process; of pages nobody noted when they came."""
    prog = ground.build("mapper", """
#include <stdlib.h>
#include <sys/mman.h>
static void *kept[8];
int main(void)
{
  for (int i = 0; i < 8; i++) {
    kept[i] = malloc(100);
    if (mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 1;
  }
  return 0;
}
""")
    ground.record("-q", "-o", "ages.tide", "--", prog)
    told = report(ground, "--all", "ages.tide")
    ages = {"heap": [], "pages": []}
    for site in told["sites"]:
        if site["live_blocks"]:
            ages[site["kind"]].append(site["mean_age_ns"])
    end_ns = told["images"][0]["end_ns"]
    expect(ages["heap"] and all(0 < age <= end_ns for age in ages["heap"]), str(ages))
    expect(ages["pages"] and all(age is None for age in ages["pages"]), str(ages))


@test
def the_text_says_the_same(ground):
    """Rows of the table are sums over the sites that blame one place."""
    tide = capture(ground)
    done = ground.run(ground.tidemark, "report", "--json", "--all", tide)
    frames = [str(frame) for frame in json.loads(done.stdout)["frames"]]
    expect(len(set(frames)) == len(frames) > 5, "a frame is written twice")
    table = ground.run(ground.tidemark, "report", "--csv", "--sort", "total", tide).stdout
    told, sums = report(ground, "--sort", "total", tide), {}
    for site in told["sites"]:
        if not is_pages(site):
            name = site["frames"][site["culprit"]]["function"]
            sums[name] = sums.get(name, 0) + site["weight"]
    head, *rows = [line.split(",") for line in table.splitlines()]
    shown = {}
    for row in rows:
        fields = dict(zip(head, row))
        shown[fields["function"]] = shown.get(fields["function"], 0) + int(fields["weight"])
    shown.pop("(rest)", None)
    expect(sums and sums == shown, f"{sums}, the table has {shown}")


@test
def names_of_any_bytes(ground):
    """Two that differ in bytes that are no text are one name; the document is JSON all the same."""
    names = [b'say "hi"', b"back\\slash", b"tab\there", b"esc\x1b[31m", b"\xff\xfe", b"\xfd\xfc",
             "größe".encode(), b"half \xe2\x82", b"\xed\xa0\x80", b"{}[],:"]
    lines = b"".join(b"main;%s;leaf %d\n" % (name, 10 + i) for i, name in enumerate(names))
    plain = b"main;plain 1\n" * 400  # a file is told by its first 4 KiB
    (ground.scratch / "odd.folded").write_bytes(plain + lines)
    done = subprocess.run([ground.tidemark, "report", "--json", ground.scratch / "odd.folded"],
                          capture_output=True, check=True, env=ground.env)
    told = report_json.loads(done.stdout.decode("utf-8"))  # strictly
    found = {frame["function"] for site in told["sites"] for frame in site["frames"]}
    wanted = {name.decode("utf-8") for name in names if name.isascii() or b"\xc3" in name}
    expect(wanted <= found, f"not there: {wanted - found}")
    expect("\ufffd\ufffd" in found and len(told["sites"]) == len(names) + 1, f"{sorted(found)}")
    text = json.dumps({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True,
                       "bkacc": False, "tu": "instrs", "Mtu": "Minstr", "tuth": 500,
                       "cmd": 'a "b"\n\\c', "pid": 1, "tg": 1, "te": 2, "pps": [
                           {"tb": 64, "tbk": 1, "tl": 1, "mb": 64, "mbk": 1, "gb": 64, "gbk": 1,
                            "eb": 0, "ebk": 0, "fs": [1]}],
                       "ftbl": ["[root]", "0x400000: new\nline\u2028 \"q\" (dir\\a\tb.c:7)"]})
    (ground.scratch / "odd.json").write_text(text)
    site = report(ground, "odd.json")["sites"][0]
    expect(site["frames"] and site["weight"] == 64, f"{site}")


def documented_lines():
    """Commands of docs/json.md that go through jq, in order."""
    text = (ROOT / "docs/json.md").read_text()
    return re.findall(r"^    (tidemark report --json[^\n]* \| jq (?:.+\n)+)", text, re.M)


ONCE = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) void *deep(int n)
{
  void *p = n ? deep(n - 1) : malloc(10);
  __asm__("");
  return p;
}
int main(void)
{
  for (int i = 0; i < 300; i++) {
    if (!deep(i)) return 1;
    if (i % 10 == 0) usleep(100);
  }
  return 0;
}"""


@test
def times_of_a_stack_are_in_order(ground):
    """The first allocation of a stack is no later than its latest, which is the same here."""
    ground.record("-q", "-o", "t.tide", "--", ground.build("once", ONCE))
    sites = report(ground, "t.tide", "--all")["sites"]
    odd = [site for site in sites if site["first_ns"] > site["last_ns"]]
    expect(len(sites) >= 300 and not odd, f"{len(odd)} of {len(sites)} are not: {odd[:1]}")


@test
def documented_lines_for_jq(ground):
    if ground.run("sh", "-c", "command -v jq").status:
        raise record.Skip("no jq here")
    tide, lines = capture(ground), documented_lines()
    expect(len(lines) == 3, f"{len(lines)} lines for jq in the documentation")
    told = report(ground, tide)
    out = []
    for line in lines:
        script = line.replace("tidemark ", f"'{ground.tidemark}' ", 1).replace("FILE", "x.tide")
        done = ground.run("sh", "-c", script)
        expect(done.status == 0 and done.stdout, f"{line}\n{done.stderr}")
        out.append(done.stdout.splitlines())
    top, stack, functions = out
    frame = told["sites"][0]["frames"][told["sites"][0]["culprit"]]
    expect(top[0].split("\t") == [str(told["sites"][0]["weight"]), frame["function"],
                                  f"{frame['file']}:{frame['line']}"], f"{top[0]}")
    expect([line.split("\t")[0] for line in stack] ==
           [str(frame["function"]) for frame in told["sites"][0]["frames"]], f"{stack}")
    sums = {}
    for site in told["sites"]:
        if not is_pages(site):
            name = str(site["frames"][site["culprit"]]["function"])
            sums[name] = sums.get(name, 0) + site["weight"]
    found = [line.split("\t") for line in functions]
    expect({name: int(weight) for weight, name in found} == sums, f"{found}, not {sums}")
    expect([int(weight) for weight, _ in found] == sorted(sums.values(), reverse=True), f"{found}")
