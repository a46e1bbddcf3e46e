# SPDX-License-Identifier: Apache-2.0
"""What the stacks held at the peak adds up to the peak, to the byte: with threads that disturb each
other and free each other's blocks, killed or not, merged, in every verb and every format."""
import csv
import io
import json
import pathlib
import re
import sys

import page_data
from ground import expect, test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
import export_decode  # noqa: E402

PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static void *ring[256];
static int killed;
__attribute__((noipa)) void *few(size_t n) { void *p = malloc(n); __asm__(""); return p; }
__attribute__((noipa)) void *many(size_t n) { void *p = malloc(n); __asm__(""); return p; }
static void *work(void *seed)
{
  unsigned rng = (unsigned)(long)seed;
  for (int i = 0; i < 4000; i++) {
    size_t n = 1 + (unsigned)rand_r(&rng) % 3000;
    if (killed && i == 3000) raise(SIGKILL);
    void *p = n % 3 ? few(n) : many(n);
    free(__atomic_exchange_n(&ring[rand_r(&rng) % 256], p, __ATOMIC_ACQ_REL));
  }
  return NULL;
}
int main(int argc, char **argv)
{
  pthread_t threads[64];
  int n = atoi(argv[1]);
  killed = argc > 2;
  for (long i = 0; i < n; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
  return 0;
}"""


def output(ground, *words):
    done = ground.run(ground.tidemark, *words)
    expect(done.status == 0, f"{words}: {done.status} {done.stderr}")
    return done.stdout


def massif_peaks(text):
    """The amounts beside the snapshots of trees, and of what is right below each tree's root."""
    for part in text.split("#-----------\nsnapshot=")[1:]:
        if "heap_tree=peak" not in part:
            continue
        yield "massif", int(re.search(r"mem_heap_B=(\d+)", part).group(1))
        yield "its tree", sum(int(n) for n in re.findall(r"^ n\d+: (\d+)", part, re.M))


def exported(ground, tide):
    def export(form, *words):
        return output(ground, "export", "--to", form, *words, tide)

    yield "folded", sum(int(line.rsplit(" ", 1)[1]) for line in export("folded").splitlines())
    yield "dhat", sum(point["gb"] for point in json.loads(export("dhat"))["pps"])
    yield from massif_peaks(export("massif"))
    profiles = {p["name"]: p for p in json.loads(export("speedscope"))["profiles"]}
    yield "speedscope", sum(profiles["bytes held at the peak"]["weights"])
    heap = export("gperftools", "--sort", "peak")
    held = [int(n) for n in re.findall(r"^ *\d+: (\d+) \[.*@ 0x", heap, re.M)]
    yield "gperftools", sum(held)
    yield "its head", int(re.match(r"heap profile: *\d+: *(\d+)", heap).group(1))
    held = [int(n) for n in re.findall(r"t\*: \d+: (\d+) ", export("jemalloc", "--sort", "peak"))]
    yield "jemalloc", sum(held[1:])
    yield "its head", held[0]
    output(ground, "export", "--to", "pprof", "-f", "-o", "x.pb.gz", tide)
    sums = export_decode.Pprof((ground.scratch / "x.pb.gz").read_bytes()).sums()
    yield "pprof", sums["peak_space"]
    output(ground, "html", "-f", "-o", "x.html", tide)
    yield "page", page_data.blocks((ground.scratch / "x.html").read_text())[0].total(
        "peak_bytes")


def text_sum(ground, tide):
    text = output(ground, "report", "--units", "bytes", "-n", "1", "--color", "never", tide)
    rows = re.findall(r"^ +[\d.<>]+ %  +([\d,]+) B", text, re.M)
    return sum(int(n.replace(",", "")) for n in rows)


def csv_sum(ground, kind, tide, column="weight"):
    table = output(ground, "report", "--csv", "--group", kind, "-n", "1", tide)
    return sum(int(row[column]) for row in csv.DictReader(io.StringIO(table)))


def shown(ground, tide):
    for kind in ("place", "function", "file", "module", "thread", "stack"):
        groups = json.loads(output(ground, "report", "--json", "--group", kind, tide))["groups"]
        yield kind, sum(group["weight"] for group in groups)
        yield f"{kind} as CSV", csv_sum(ground, kind, tide)
    yield "tree", json.loads(output(ground, "tree", "--json", tide))["tree"]["total"]
    yield "text", text_sum(ground, tide)


@test
def the_peak_is_the_sum_of_its_rows(ground):
    program = ground.build("crowd", PROGRAM, "-pthread")
    for name, words in (("one.tide", ("1",)), ("eight.tide", ("8",)), ("many.tide", ("40",)),
                        ("killed.tide", ("8", "killed"))):
        ground.record("-q", "-f", "-o", name, "--", program, *words)
    output(ground, "merge", "-o", "merged.tide", "eight.tide", "many.tide")
    for tide in ("one.tide", "eight.tide", "many.tide", "killed.tide", "merged.tide"):
        report = json.loads(output(ground, "report", "--json", tide))
        peak = report["totals"]["peak_bytes"]
        expect(peak > 100000 and report["whole"] == report["wanted"] == peak, f"{tide}: {peak}")
        found = [*shown(ground, tide), *exported(ground, tide)]
        expect(len(found) == 25, f"{len(found)} views of {tide}")
        for where, total in found:
            expect(total == peak, f"{tide}: {where} has {total}, not {peak}")


# 4096 stacks: a file keeps them in several parts.
STACKS = """
#include <stdlib.h>
__attribute__((noipa)) void *left(int n, int path);
__attribute__((noipa)) void *right(int n, int path);
static void *on(int n, int path) { return path & 1 ? right(n, path / 2) : left(n, path / 2); }
void *left(int n, int path) { void *p = n ? on(n - 1, path) : malloc(40); __asm__(""); return p; }
void *right(int n, int path) { void *p = n ? on(n - 1, path) : malloc(70); __asm__(""); return p; }
int main(void) { for (int i = 0; i < 8192; i++) on(12, i); return 0; }"""


@test
def what_a_cut_file_lost_of_the_peak_is_in_the_rest(ground):
    ground.record("-q", "-f", "-o", "x.tide", "--", ground.build("stacks", STACKS))
    whole = (ground.scratch / "x.tide").read_bytes()
    peak = json.loads(output(ground, "report", "--json", "x.tide"))["totals"]["peak_bytes"]
    seen = 0
    for part in range(4, 30):
        (ground.scratch / "cut.tide").write_bytes(whole[:len(whole) * part // 30])
        done = ground.run(ground.tidemark, "report", "-n", "1", "cut.tide")
        if done.status or "are left in the file" not in done.stdout:
            continue
        seen += 1
        expect("no longer in the file" in done.stdout, done.stdout)
        expect(text_sum(ground, "cut.tide") == peak, f"{part}: {done.stdout}")
        found = csv_sum(ground, "function", "cut.tide", "peak_bytes")
        expect(found == peak, f"{part}: {found}, not {peak}")
    expect(seen > 1, f"{seen} files were cut among their stacks")
