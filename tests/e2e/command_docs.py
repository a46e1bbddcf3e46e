# SPDX-License-Identifier: Apache-2.0
"""Commands in the documentation are run as they are written, so that none goes stale: every line of
README.md and docs/ that stands in a block and begins with `tidemark`.

FILE, PID and their like stand for something: STANDS_FOR says what is put in their place. A command
that is not run here is in NOT_RUN with the reason; of those the verb and the options are looked up.
Blocks of the case studies are run by examples/run.py. Pages are linked from the index, and links
lead to files.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

from ground import expect, test

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINE = re.compile(r"^    (tidemark [a-z].*(?:\n      .*)*)$", re.M)
STANDS_FOR = (
    (r"\b(BEFORE|AFTER|FILE)\b", r"\1.tide"),
    (r"\bOUT\b", "out.tide"),
    (r"\bPID\b", "$PID"),
    (r"--for 30s", "--for 1s"),
    (r"/var/(?:lib/tidemark|tmp)/", ""),
    (r"--serve (?:127.0.0.1:)?6060", "--serve 127.0.0.1:0"),
)
# What it begins with: why it is not run here, and who does.
NOT_RUN = {
    "tidemark view": "opens a browser: ui/browser, tests/e2e/command_view.py",
    "tidemark run --view": "opens a browser: tests/e2e/command_run_view.py",
    "tidemark top": "draws on a terminal: tests/e2e/command_top.py",
    "tidemark run --push": "asks a server: tests/fleet/run.py",
    "tidemark run -q --push": "asks a server: tests/fleet/run.py",
    "tidemark fetch": "asks a service: tests/e2e/command_fetch.py",
    "tidemark diff host:6060": "asks a service: tests/e2e/command_fetch.py",
    "tidemark diff server:6060": "asks a service: tests/e2e/command_fetch.py",
    "tidemark serve": "answers until it is ended: tests/e2e/command_serve.py",
}
# Some blocks, for so many hundredths of a second, or until it is ended.
PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <tidemark/tidemark.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  char *all[100];
  tidemark_event(1);
  for (int i = 0; i < 100; i++)
    all[i] = malloc(1000);
  for (int i = 0; argc > 1 && (i < atoi(argv[1]) || !strcmp(argv[1], "wait")); i++) {
    free(all[0]);
    all[0] = malloc(1000);
    usleep(10000);
  }
  for (int i = 0; i < 100; i++)
    free(all[i]);
  return 0;
}
"""


def commands(page):
    """What is told of one stands behind two spaces. Programs for jq go on below."""
    for found in LINE.findall(page.read_text(encoding="utf-8")):
        yield found if "| jq" in found else re.sub(r"  .*", "", found.partition("\n")[0])


def known(ground, command):
    """Its verb, and each of its options, as its help has them."""
    verb, *words = command.split(" -- ")[0].split()[1:]
    told = ground.run(ground.tidemark, "help", verb)
    expect(told.status == 0, f"{command}: {told.stderr}")
    for word in re.findall(r"^--[a-z-]+", "\n".join(words), re.M):
        expect(re.search(rf"(?<![\w-]){word}(?![\w-])", told.stdout), f"{command}: no {word}")


def prepare(ground):
    program = ground.build("program", PROGRAM, f"-I{ROOT}/include")
    folder = ground.scratch / "bin"
    folder.mkdir()
    (folder / "tidemark").symlink_to(ground.tidemark)
    for name in ("server", "tests", "test", "bin/server"):
        os.link(program, ground.scratch / name)
    (ground.scratch / "test_one.py").write_text("def test_one(): pass\n", encoding="utf-8")
    for name in ("BEFORE", "AFTER", "FILE"):
        ground.record("-q", "-o", f"{name}.tide", "--", "./program", "60")  # looked at meanwhile
    return {**ground.env, "PATH": f"{folder}:{os.environ['PATH']}"}


@contextlib.contextmanager
def waiting(ground, *launcher):
    """A program that runs on, started by somebody."""
    words = [*launcher, ground.scratch / "program", "wait"]
    with subprocess.Popen(words, cwd=ground.scratch, stderr=subprocess.DEVNULL) as child:
        try:
            yield child
        finally:
            child.send_signal(signal.SIGTERM)


@test
def docs_are_run(ground):
    env = prepare(ground)
    n_run = 0
    recorded = [ground.tidemark, "run", "-q", "-f", "-o", "recorded.tide", "--"]
    with waiting(ground) as alone, waiting(ground, *recorded) as told:
        for page in PAGES:
            for command in commands(page):
                if command.startswith(tuple(NOT_RUN)):
                    known(ground, command)
                    continue
                line = command
                for pattern, text in STANDS_FOR:
                    line = re.sub(pattern, text, line)
                if " -o " not in line:
                    line = line.replace("tidemark run", "tidemark run -f -o run.tide")
                pid = told.pid if " ctl " in line else alone.pid
                done = ground.run("sh", "-c", line, env={**env, "PID": str(pid)})
                expect(done.status == 0, f"{page.name}: {command}: {line}: {done.status} "
                                         f"{done.stdout[-300:]} {done.stderr[-300:]}")
                n_run += 1
    expect(n_run > 25, f"only {n_run} commands were found")


@test
def docs_lead_somewhere(ground):
    """Each page is in the index, each link leads to a file, help and the README to the index."""
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        expect(f"({page.name})" in index or page.name == "README.md", f"not listed: {page.name}")
    pages = [*PAGES, *(ROOT / "docs/case-studies").glob("*.md"), ROOT / "CONTRIBUTING.md"]
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            expect((page.parent / link).exists(), f"{page.name}: nothing at {link}")
    expect("(docs/README.md)" in PAGES[0].read_text(encoding="utf-8"), "README")
    expect("/docs/README.md" in ground.run(ground.tidemark, "help").stdout, "help")
    expect(len(PAGES[0].read_text(encoding="utf-8").splitlines()) < 150, "the README is too long")


@test
def docs_agree_on_others(_):
    """What the README says of other tools is what the pages of the case studies measured."""
    rows = re.findall(r"^\| (the queue|a connection|the table|the leak|the node) \|(.*)\|(.*)\|$",
                      (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    expect(len(rows) == 5, f"{rows}")
    for (hunt, ours, others), name in zip(rows, ("queue", "mqtt", "csv", "orders", "node")):
        page = (ROOT / f"docs/case-studies/{name}.md").read_text(encoding="utf-8")
        table = re.search(r"<!--=measured-->(.*?)<!--/-->", page, re.S)[1]
        cells = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()
                 if line.startswith("| ")]
        measured = {row[1]: row[4].rstrip("×") for row in cells if row[4].endswith("×")}
        said = [("tidemark", times) for times in re.findall(r"^ ([\d.]+)×", ours)]
        for tool, times in said + re.findall(r"([\w-]+) ([\d.]+)×", others):
            digits = len(times.partition(".")[2])
            expect(f"{float(measured[tool]):.{digits}f}" == times,
                   f"{hunt}: {tool} {times}×, measured {measured[tool]}×")
        if name == "orders":  # what the second scrape had more, and the third
            exact, found = ([f"{int(n.replace(',', '')) / 1e6:.1f}"
                             for n in re.findall(r"\d[\d,]+\d", row[4])]
                            for row in cells if row[1] in ("tidemark", "jemalloc_pprof"))
            text = f"{found[0]} and {found[1]} MB for {exact[0]}"
            expect(exact[0] == exact[1] and text in others, f"{hunt}: {exact}, {found}")


@test
def docs_have_every_schema(_):
    """What is printed for programs names its version, and that is explained."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.c"))
    schemas = set(re.findall(r'"schema", "([^"]*)"', sources))
    expect(len(schemas) > 7 and sources.count('"schema"') >= len(schemas), f"{schemas}")
    told = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for schema in schemas:
        expect(re.fullmatch(r"tidemark-[a-z]+-\d+", schema), f"no version: {schema}")
        expect(re.search(rf"{schema}\b", told), f"not explained: {schema}")
