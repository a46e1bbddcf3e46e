# SPDX-License-Identifier: Apache-2.0
"""The page in one file: what is in it, where it goes, what is refused."""
import json
import re

import page_data
from ground import expect, test

SOURCE = """
#include <stdlib.h>
static void *kept[100];
__attribute__((noipa)) void big(int i) { kept[i] = malloc(10000); }
__attribute__((noipa)) void many(void) { free(malloc(8)); }
__attribute__((noipa)) void left(int i, int n) { kept[i] = malloc(n); }
int main(int argc, char **argv)
{
  for (int i = 0; i < 50; i++) big(i);
  for (int i = 0; i < 50; i++) free(kept[i]);
  for (int i = 0; i < 5000; i++) many();
  for (int i = 0; i < 20; i++) left(i, argc > 1 ? atoi(argv[1]) : 100);
  return 0;
}
"""
SUMS = {"n_alloc": "allocations", "b_alloc": "allocated_bytes", "n_free": "frees",
        "b_free": "freed_bytes", "peak_bytes": "peak_bytes", "n_temp": "temporary",
        "b_temp": "temporary_bytes"}


def capture(ground, tide="x.tide", *words):
    prog = ground.scratch / "prog"
    if not prog.exists():
        ground.build("prog", SOURCE)
    done = ground.record("-q", "-o", tide, "--", prog, *words)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return tide


def html(ground, *words, status=0):
    done = ground.run(ground.tidemark, "html", *words)
    expect(done.status == status, f"html {words}: {done.status}, not {status}: {done.stderr}")
    expect(done.stderr.startswith("tidemark: ") and done.stderr.count("\n") == 1,
           f"html {words} says {done.stderr!r}")
    return done


def agrees(block, report):
    for column, key in SUMS.items():
        mine, theirs = block.total(column), report["totals"][key]
        expect(mine == theirs, f"{key}: {mine} on the page, {theirs} in the report")
    for key in ("image", "images", "totals", "pages", "completeness"):
        expect(block.facts[key] == report[key], f"{key}: {block.facts[key]}, not {report[key]}")


@test
def html_of_a_run(ground):
    tide = capture(ground)
    done = html(ground, tide)
    path = ground.scratch / "x.html"
    text = path.read_text()
    expect(re.fullmatch(r"tidemark: wrote x\.html, [0-9.]+ KiB\n", done.stderr), done.stderr)
    (block,) = page_data.blocks(text)
    agrees(block, ground.report(tide))
    expect({"big", "many", "left", "main"} <= block.functions(), f"{block.functions()}")
    expect(block.facts["pruned"] is None, "stacks are gathered without need")
    offer = page_data.offer(text)
    expect(offer["captures"][0]["file"] == "x.tide" and not offer["live"], f"{offer}")
    expect("default-src 'none'" in text and "connect-src" not in text, "the policy is too weak")
    links = re.findall(r'(?:src|href)="([^"]*)"', text.split("<script", 1)[0])
    expect(all(link.startswith("data:") for link in links), f"the page asks for {links}")


@test
def html_goes_where_it_is_told(ground):
    tide = capture(ground)
    html(ground, tide, "-o", "other.html")
    first = (ground.scratch / "other.html").read_bytes()
    done = html(ground, tide, "-o", "other.html", status=1)
    expect("exists already; -f overwrites it" in done.stderr, done.stderr)
    (ground.scratch / "other.html").write_text("something else")
    html(ground, tide, "-o", "other.html", "-f")
    expect((ground.scratch / "other.html").read_bytes() == first, "two pages of one file differ")
    done = html(ground, tide, "-o", "-")
    expect(done.stdout.encode() == first, "standard output gets another page")
    done = html(ground, tide, "-o", "/dev/full", "-f", status=1)
    expect("/dev/full" in done.stderr and "No space left" in done.stderr, done.stderr)
    html(ground, tide, "-o", "nowhere/x.html", status=1)


def told_program(ground, name="told.c"):
    """A capture of a program whose source stands in a file of that name; its path."""
    source = ground.scratch / name
    source.write_text('#include <stdlib.h>\nvoid *volatile p;\n' + "// secret\n" * 40 +
                      'int main(void)\n{\n  p = malloc(7000); // </script><b>\n  return 0;\n}\n')
    done = ground.run("gcc", "-g", "-x", "c", source, "-o", "told")
    expect(done.status == 0, done.stderr)
    ground.record("-q", "-f", "-o", "told.tide", "--", ground.scratch / "told")
    return source


def sources_of(ground, *words):
    """What is said, and path: (note, lines by number) of the source text in the report."""
    done = html(ground, "told.tide", "-o", "told.html", "-f", *words)
    text = (ground.scratch / "told.html").read_text()
    found = page_data.sources(text)
    expect(page_data.offer(text)["sources"] == (found is not None), "not what is offered")
    expect("</script><b>" not in text, "source text stands in the page")
    return done.stderr, found


@test
def html_with_sources(ground):
    source = told_program(ground)
    said, found = sources_of(ground)
    expect(found is None and "source" not in said, f"sources without being asked: {found}")
    said, found = sources_of(ground, "--sources")
    expect(said.endswith(", with source lines of 1 file\n"), said)
    note, lines = found[str(source)]
    written = source.read_text().splitlines()
    expect(note is None and all(written[i - 1] == line for i, line in lines.items()), f"{lines}")
    expect(45 in lines and min(lines) == 45 - 8 and max(lines) == 47, f"{sorted(lines)}")
    source.write_text("changed\n" * 50)
    said, found = sources_of(ground, "--sources")
    note, lines = found[str(source)]
    expect("changed after the recording" in note and not lines, f"{note}: {lines}")
    expect("no source file could be put into it" in said, said)
    source.unlink()
    note, lines = sources_of(ground, "--sources")[1][str(source)]
    expect("No such file" in note and not lines, f"{note}: {lines}")


@test
def html_sources_are_sources(ground):
    """A capture may name any file, and a report is sent on."""
    for name in ("id_rsa", ".c", "told.pem", "shadow.txt"):
        source = told_program(ground, name)
        note, lines = sources_of(ground, "--sources")[1][str(source)]
        expect("Not named like source code" in note and not lines, f"{name}: {note} {lines}")


@test
def html_of_two(ground):
    capture(ground, "a.tide")
    capture(ground, "b.tide", "3000")
    html(ground, "a.tide", "b.tide")
    text = (ground.scratch / "a-b.html").read_text()
    for name, block in zip(("a.tide", "b.tide"), page_data.blocks(text)):
        expect(block.facts["capture"]["file"] == name, f"{block.facts['capture']}")
        agrees(block, ground.report(name))
    expect(len(page_data.offer(text)["captures"]) == 2, "one capture is offered")
    done = html(ground, "a.tide", "b.tide", "a.tide", status=2)
    expect("one too many" in done.stderr, done.stderr)


@test
def html_keeps_a_limit(ground):
    prog = ground.build("deep", """
#include <stdlib.h>
__attribute__((noipa)) void *one(unsigned n);
__attribute__((noipa)) void *two(unsigned n)
{
  return n < 2 ? malloc(48) : n & 1 ? one(n / 2) : two(n / 2);
}
__attribute__((noipa)) void *one(unsigned n)
{
  return n < 2 ? malloc(16) : n & 1 ? one(n / 2) : two(n / 2);
}
int main(void)
{
  for (unsigned i = 1; i < 8192; i++) { void *p = one(i); if (i % 3) free(p); }
  return 0;
}""", "-fno-optimize-sibling-calls")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    html(ground, "x.tide", "-o", "whole.html")
    text = (ground.scratch / "whole.html").read_text()
    limit = len(text.encode()) - len(page_data.DATA.search(text).group(2)) * 2 // 3
    done = html(ground, "x.tide", "-o", "small.html", "--max-bytes", str(limit))
    said = re.search(r"; ([\d,]+) of ([\d,]+) stacks gathered to stay within "
                     r".*; 'tidemark view x\.tide' shows all\n$", done.stderr)
    expect(said, done.stderr)
    expect((ground.scratch / "small.html").stat().st_size <= limit, "the limit is exceeded")
    (block,) = page_data.blocks((ground.scratch / "small.html").read_text())
    agrees(block, ground.report("x.tide"))
    pruned = block.facts["pruned"]
    expect(pruned["limit_bytes"] == limit and "[other]" in block.functions(), f"{pruned}")
    expect([f"{pruned['stacks']:,}", f"{pruned['of']:,}"] == list(said.groups()), f"{pruned}")
    done = html(ground, "x.tide", "-o", "none.html", "--max-bytes", "1k", status=1)
    expect("too little" in done.stderr, done.stderr)
    expect(not (ground.scratch / "none.html").exists(), "a part of a file is left behind")


@test
def html_of_other_files(ground):
    """Names of another tool's file are whatever somebody wrote into it."""
    names = ["</script><script>alert(1)</script>", "<!--", "a\"b'c&d", "x" * 100000, "\x01\x1b[31m"]
    (ground.scratch / "evil.folded").write_bytes(
        b"".join(b"main;" + name.encode() + b" 10\n" for name in names) + b"main;\xff\xfe 1\n")
    html(ground, "evil.folded")
    text = (ground.scratch / "evil.folded.html").read_text()
    (block,) = page_data.blocks(text)
    expect(set(names) <= block.functions(), "names are not what they were")
    expect("\ufffd\ufffd" in block.functions(), "broken bytes are not marked")
    expect("alert(1)" not in text, "a name stands in the page")
    expect("peak" in block.facts["image"]["lacks"], f"{block.facts['image']}")
    expect("peak_bytes" not in block.facts["totals"], f"{block.facts['totals']}")
    prog = ground.build("prog", SOURCE)
    env = dict(ground.env, LD_PRELOAD=str(ground.library))
    ground.run(prog, env=env)
    (store,) = ground.scratch.glob("*.store")
    html(ground, store, "-o", "store.html")
    (block,) = page_data.blocks((ground.scratch / "store.html").read_text())
    expect(block.total("n_temp") >= 5000, "a store's page lacks numbers")


FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile held;
int main(void)
{
  for (int i = 1; i <= 3; i++)
    if (!fork())
      return !(held = malloc(1000 * i));
  while (wait(NULL) > 0)
    continue;
  return !(held = malloc(10));
}
"""


def processes_in(path):
    return re.findall(r'id="tidemark-data-0(?:-(\d+))?"', path.read_text())


# As many as there is room for, the highest peaks first, and one alone where that is asked for.
@test
def html_of_several_processes(ground):
    program = ground.build("forks", FORKS)
    ground.record("-q", "-o", "x.tide", "--", program)
    info = ground.run(ground.tidemark, "info", "--json", "x.tide")
    peaks = [image["peak_bytes"] for image in json.loads(info.stdout)["images"]]
    expect(len(peaks) == 4, f"{peaks}")
    first, *others = sorted(range(4), key=lambda i: -peaks[i])
    path = ground.scratch / "x.html"
    done = html(ground, "x.tide")
    expect(done.stderr.endswith(", with all 4 processes\n"), done.stderr)
    wanted = ["", *[str(i) for i in others]]
    expect(processes_in(path) == wanted, f"{processes_in(path)}, not {wanted}")
    whole = path.stat().st_size
    html(ground, "x.tide", "-f", "-p", f"#{first}")
    expect(processes_in(path) == [""], "more than what was asked for")
    alone = path.stat().st_size
    for limit in (alone + 100, (alone + whole) // 2):
        done = html(ground, "x.tide", "-f", "--max-bytes", str(limit))
        expect(path.stat().st_size <= limit, f"{path.stat().st_size} bytes, {limit} allowed")
        held = processes_in(path)
        expect(held == [one for one in wanted if one in held], f"{held} in another order")
        told = f", with {len(held)} of 4 processes\n" if len(held) > 1 else "KiB\n"
        expect(done.stderr.endswith(told), done.stderr)
        expect(len(held) < 4, "all of them in half of the room")


@test
def html_refuses(ground):
    capture(ground)
    html(ground, "missing.tide", status=1)
    html(ground, "--max-bytes", "x", "x.tide", status=2)
    html(ground, "--process", "99999", "x.tide", status=1)
    (ground.scratch / "x.tide").write_bytes((ground.scratch / "x.tide").read_bytes()[:300])
    done = ground.run(ground.tidemark, "html", "x.tide", "-o", "cut.html")
    expect(done.status in (0, 1) and done.stderr.count("\n") == 1, done.stderr)


# 5,832 stacks, in a tree, each with a block; and memory that grows by three mappings.
LARGE = """
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
typedef void *visit(int depth);
static visit *const visits[18];
static inline void *go_on(int depth)
{
  if (!depth)
    return malloc(100);
  for (int i = 0; i < 18; i++)
    *(void *volatile *)&(void *){0} = visits[i](depth - 1);
  return 0;
}
#define VISIT(n) __attribute__((noipa)) static void *visit_##n(int depth) { return go_on(depth); }
VISIT(0) VISIT(1) VISIT(2) VISIT(3) VISIT(4) VISIT(5) VISIT(6) VISIT(7) VISIT(8)
VISIT(9) VISIT(10) VISIT(11) VISIT(12) VISIT(13) VISIT(14) VISIT(15) VISIT(16) VISIT(17)
static visit *const visits[18] = {
  visit_0, visit_1, visit_2, visit_3, visit_4, visit_5, visit_6, visit_7, visit_8,
  visit_9, visit_10, visit_11, visit_12, visit_13, visit_14, visit_15, visit_16, visit_17};
int main(void)
{
  for (int i = 0; i < 3; i++) {
    mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    usleep(50000);
  }
  go_on(3);
  return 0;
}
"""


@test
def html_of_a_large_capture(ground):
    """What is kept packed of it is told as it is: what the program mapped, and all sums."""
    ground.record("-q", "-o", "x.tide", "--", ground.build("large", LARGE))
    report = ground.report("x.tide")
    expect(report["totals"]["allocations"] == 5832 and len(report["sites"]) > 5832, "stacks")
    pages = []
    for _ in range(2):
        done = ground.run(ground.tidemark, "html", "-f", "-o", "x.html", "x.tide")
        expect(done.status == 0, done.stderr)
        pages.append((ground.scratch / "x.html").read_bytes())
    expect(pages[0] == pages[1], "another page the second time")
    grown = page_data.blocks(pages[0].decode())[0].facts["residence"]["grown"]
    # Where it was looked at too seldom, nothing is told of that.
    expect(all(row["bytes"] == 3 << 20 for row in grown), f"{grown}")
    for words in (["export", "--to", "speedscope"], ["export", "--to", "massif"], ["explain"],
                  ["tree"], ["merge", "-f", "-o", "both.tide", "x.tide"]):
        done = ground.run(ground.tidemark, *words, "x.tide")
        expect(done.status == 0, f"{words}: {done.status} {done.stderr}")
    totals = ground.report("both.tide")["totals"]
    expect(totals["allocations"] == 2 * 5832, f"{totals}")
