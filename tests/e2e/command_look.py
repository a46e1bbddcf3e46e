# SPDX-License-Identifier: Apache-2.0
"""How output looks: on terminals of several sizes, through a pager, with and without colours."""
import csv
import errno
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios

from ground import expect, test

PROGRAM = """
#include <stdlib.h>
void *kept[40];
__attribute__((noipa)) void inner(int i, int n) { kept[i] = malloc(n); }
__attribute__((noipa)) void left(int i) { inner(i, 1000); __asm__(""); }
__attribute__((noipa)) void right(int i) { inner(i, 3000); __asm__(""); }
__attribute__((noipa)) void small(int i) { kept[i] = malloc(10); }
int main(void)
{
  for (int i = 0; i < 10; i++) left(i), right(i + 10), small(i + 20);
  return 0;
}"""
MARKING = "sed s/^/paged:/"  # a pager whose work can be seen


def capture(ground):
    done = ground.record("-q", "-f", "-o", "x.tide", "--", ground.build("prog", PROGRAM))
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return "x.tide"


def on_terminal(ground, *words, rows=24, columns=80, **more):
    """What a terminal is sent by `tidemark WORDS`; more is for the environment."""
    keep = ("TERM", "PAGER", "TIDEMARK_PAGER", "LESS", "LV", "COLUMNS", "LINES")
    env = {key: value for key, value in ground.env.items() if key not in keep}
    env["TERM"] = "xterm"
    env.update({key: value for key, value in more.items() if value is not None})
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen([str(ground.tidemark), *map(str, words)], cwd=ground.scratch, env=env,
                             stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
                             start_new_session=True)
    os.close(theirs)
    sent = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError as error:
            expect(error.errno == errno.EIO, f"{error}")
            break
        if not part:
            break
        sent += part
    os.close(ours)
    complaint = child.stderr.read().decode()
    status = child.wait(30)
    expect(status == 0, f"{words}: status {status}: {complaint}")
    return sent.decode(errors="replace").replace("\r\n", "\n"), complaint


def is_paged(ground, *words, **more):
    more.setdefault("TIDEMARK_PAGER", MARKING)
    text, _ = on_terminal(ground, *words, **more)
    marked = [line.startswith("paged:") for line in text.splitlines()]
    expect(marked and all(marked) == any(marked), f"{words}: half paged:\n{text}")
    return all(marked)


@test
def pager_when_it_is_long(ground):
    tide = capture(ground)
    for verb in ("report", "info"):
        expect(is_paged(ground, verb, tide, rows=6), f"{verb} of more than 6 lines is not paged")
        expect(not is_paged(ground, verb, tide, rows=99), f"{verb} that fits is paged")
        expect(not is_paged(ground, verb, tide, "--no-pager", rows=6), f"{verb} --no-pager")
    text, _ = on_terminal(ground, "report", tide, rows=99)
    n = len(text.splitlines())
    expect(is_paged(ground, "report", tide, rows=n), "the prompt needs a line, too")
    expect(not is_paged(ground, "report", tide, rows=n + 1), "it just fits and is paged")


@test
def pager_of_the_user(ground):
    tide = capture(ground)
    expect(is_paged(ground, "report", tide, rows=6, TIDEMARK_PAGER=None, PAGER=MARKING), "PAGER")
    expect(is_paged(ground, "report", tide, rows=6, PAGER="false"), "TIDEMARK_PAGER comes first")
    expect(not is_paged(ground, "report", tide, rows=6, TIDEMARK_PAGER=""), "an empty one is none")
    expect(not is_paged(ground, "report", tide, rows=6, TIDEMARK_PAGER="", PAGER=MARKING),
           "an empty one hides PAGER")
    expect(not is_paged(ground, "report", tide, rows=6, TERM="dumb"), "a dumb terminal is paged")
    show = 'cat >/dev/null; echo "LESS=$LESS"'
    text, _ = on_terminal(ground, "report", tide, rows=6, TIDEMARK_PAGER=show)
    expect(text == "LESS=FRX\n", f"{text!r}")
    text, _ = on_terminal(ground, "report", tide, rows=6, TIDEMARK_PAGER=show, LESS="S")
    expect(text == "LESS=S\n", f"{text!r}")


@test
def pager_that_fails(ground):
    tide = capture(ground)
    whole, _ = on_terminal(ground, "report", tide, rows=99, NO_COLOR="1")
    text, _ = on_terminal(ground, "report", tide, rows=6, TIDEMARK_PAGER="no-such-pager-here",
                          NO_COLOR="1")
    expect(text == whole, f"without its pager the text is\n{text}")
    text, complaint = on_terminal(ground, "report", tide, rows=6, TIDEMARK_PAGER="head -n 1")
    expect(len(text.splitlines()) == 1 and complaint == "", f"{text!r} {complaint!r}")


@test
def pager_never_for_data(ground):
    tide = capture(ground)
    for option in ("--json", "--csv", "--md"):
        expect(not is_paged(ground, "report", option, tide, rows=3), f"{option} is paged")
    expect(not is_paged(ground, "info", "--json", tide, rows=3), "info --json is paged")
    env = dict(ground.env, TERM="xterm", TIDEMARK_PAGER=MARKING)
    text = ground.run(ground.tidemark, "report", tide, env=env).stdout
    expect("paged:" not in text and "\x1b" not in text, "a pipe is treated as a terminal")


@test
def colours(ground):
    tide = capture(ground)

    def coloured(*words, terminal=True, **more):
        if terminal:
            return "\x1b[" in on_terminal(ground, "report", tide, *words, rows=99, **more)[0]
        env = dict(ground.env, TERM="xterm", **more)
        return "\x1b[" in ground.run(ground.tidemark, "report", tide, *words, env=env).stdout

    expect(coloured(), "none on a terminal")
    expect(not coloured(terminal=False), "in a pipe")
    expect(not coloured(NO_COLOR="1"), "NO_COLOR")
    expect(coloured(NO_COLOR=""), "an empty NO_COLOR says nothing")
    expect(not coloured(TERM="dumb"), "TERM=dumb")
    expect(coloured(terminal=False, CLICOLOR_FORCE="1"), "CLICOLOR_FORCE")
    expect(not coloured(terminal=False, CLICOLOR_FORCE="0"), "CLICOLOR_FORCE=0")
    expect(not coloured(terminal=False, CLICOLOR_FORCE="1", NO_COLOR="1"), "NO_COLOR wins")
    expect(not coloured("--color=never", CLICOLOR_FORCE="1"), "--color=never")
    expect(coloured("--color=always", terminal=False, NO_COLOR="1"), "--color=always")
    expect(coloured("--color", "auto"), "--color auto")


@test
def narrow_and_plain_terminals(ground):
    tide = capture(ground)
    for words in (("report",), ("tree",)):  # half a screen, or a telephone
        text, _ = on_terminal(ground, *words, tide, rows=99, columns=40, NO_COLOR="1")
        widest = max(map(len, text.splitlines()))
        expect(widest <= 40, f"{widest} columns on 40:\n{text}")
    for columns in (60, 80, 160):
        text, _ = on_terminal(ground, "report", tide, "--stacks=2", rows=99, columns=columns,
                              NO_COLOR="1")
        widest = max(map(len, text.splitlines()))
        expect(widest <= columns, f"{widest} columns on {columns}:\n{text}")
    for verb in (("report", "--stacks"), ("info",)):
        text, _ = on_terminal(ground, *verb, tide, rows=99, LC_ALL="C")
        expect(text.isascii(), f"{verb}: more than ASCII without UTF-8:\n{text}")


@test
def stacks_of_a_place(ground):
    tide = capture(ground)
    text = ground.run(ground.tidemark, "report", "--stacks", tide).stdout
    lines = [line.split() for line in text.splitlines()]
    at = next(i for i, words in enumerate(lines) if words[:2] == ["75.0", "%"])
    expect(lines[at + 1][0] == "inner" and lines[at + 2][0] == "right" and
           lines[at + 3][0] == "main", f"not the stack of right():\n{text}")
    expect("25.0 % of it, 9.8 KiB, through 1 more stack" in text, f"the other stack:\n{text}")
    text = ground.run(ground.tidemark, "report", "--stacks=2", tide).stdout
    expect("left" in text and "more stack" not in text, f"both were asked for:\n{text}")


@test
def stacks_of_recursion(ground):
    prog = ground.build("prog", """
#include <stdlib.h>
void *kept;
__attribute__((noipa)) int down(int n)
{ if (n) return down(n - 1) + 1; kept = malloc(100); return kept == 0; }
int even(int), odd(int);
__attribute__((noipa)) int even(int n) { return n ? odd(n - 1) + 1 : down(99); }
__attribute__((noipa)) int odd(int n) { return n ? even(n - 1) + 1 : down(99); }
int main(void) { return even(100) != 199; }""")
    ground.record("-q", "-o", "x.tide", "--", prog)
    text = ground.run(ground.tidemark, "report", "--stacks", "x.tide").stdout
    expect("(99 more of it)" in text, f"down() calls itself 99 times:\n{text}")
    expect(text.count(" even ") + text.count(" odd ") < 40 and "more frames)" in text, text)
    text = ground.run(ground.tidemark, "report", "--all-frames", "x.tide").stdout
    expect(text.count(" even ") == 51 and " more " not in text, f"not the whole stack:\n{text}")


@test
def places_of_a_least_size(ground):
    tide = capture(ground)
    text = ground.run(ground.tidemark, "report", "--min", "1K", tide).stdout
    expect(re.search(r" 100 B +▏? +in 1 place below 1.0 KiB\n", text), text)
    expect("small" not in text and "\n  complete: every event (30)" in text, text)
    for words, part in ((("--min", "1Q"), "64KiB"), (("--min", "1K", "--sort", "temp"), "blocks"),
                        (("--min", "1K", "--json"), "JSON"), (("--csv", "--md"), "--csv"),
                        (("--stacks", "--csv"), "--stacks")):
        done = ground.run(ground.tidemark, "report", *words, tide)
        expect(done.status == 2 and part in done.stderr and not done.stdout,
               f"{words}: {done.status} {done.stderr!r}")


@test
def tables_for_programs(ground):
    tide = capture(ground)
    totals = ground.report(tide)["totals"]
    text = ground.run(ground.tidemark, "report", "--csv", tide).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    expect(rows[0]["function"] == "inner" and rows[0]["line"] == "4", f"{rows[0]}")
    expect(rows[0]["peak_bytes"] == "40000" and rows[0]["allocations"] == "20" and
           rows[0]["stacks"] == "2", f"{rows[0]}")
    for column in ("peak_bytes", "live_bytes", "allocated_bytes", "allocations", "temporary"):
        for words in ((), ("-n", "1"), ("--min", "1K")):
            text = ground.run(ground.tidemark, "report", "--csv", *words, tide).stdout
            found = sum(int(row[column]) for row in csv.DictReader(io.StringIO(text)))
            expect(found == totals[column], f"{words}: {column}: {found}, not {totals[column]}")
    text = ground.run(ground.tidemark, "report", "--md", "-n", "1", tide).stdout
    expect(text.splitlines()[2].startswith("| 99.8 % | 39.1 KiB | `inner` | `") and
           text.splitlines()[3] == "| 0.2 % | 100 B | in 1 more place | |", text)


@test
def info_of_a_sparse_store(ground):
    prog = ground.build("prog", PROGRAM)
    ground.run(prog, env=dict(ground.env, LD_PRELOAD=str(ground.library)))
    store, = ground.scratch.glob("*.store")
    facts = json.loads(ground.run(ground.tidemark, "info", "--json", store).stdout)["capture"]
    # The file system may still be at work: what it takes changes by a few blocks.
    expect(0 < facts["file_bytes"] < store.stat().st_size // 4, f"{facts['file_bytes']} bytes")
