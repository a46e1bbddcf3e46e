# SPDX-License-Identifier: Apache-2.0
"""The system calls that the agent makes in a process, and those that filters are asked about."""
import pathlib
import re
import shutil
import subprocess

import record
from command_attach import TOLD, Target, attach, let_go
from command_attach_objects import ENDING, PAGES, REPLACES
from ground import expect, test, wait_for

SANDBOX = pathlib.Path(__file__).parents[2] / "src/attach/sandbox.c"


def code_ranges(pid):
    """Code that is in no file: the agent, and islands."""
    ranges = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if "x" in words[1] and len(words) == 5:
            ranges.append([int(word, 16) for word in words[0].split("-")])
    return ranges


def calls_of_agent(ground, prog, words, *arguments):
    """Nobody traces a process that is recorded, so that another can: from its first event on."""
    target = Target(ground, prog, *arguments)
    child, _ = attach(ground, target.pid)
    ranges = code_ranges(target.pid)
    expect(ranges, "there is no agent")
    trace = ground.scratch / "calls"
    with subprocess.Popen(["strace", "-f", "-i", "-qq", "-o", str(trace), "-p", str(target.pid)],
                          stderr=subprocess.DEVNULL) as tracer:
        status = pathlib.Path(f"/proc/{target.pid}/status")
        wait_for(lambda: "TracerPid:\t0" not in status.read_text(), "strace")
        for word in words:
            target.tell(word)
        tracer.terminate()
    let_go(child)
    expect(target.end() == 0, "it ended otherwise")
    made = set()
    for at, name in re.findall(r"^\d+ +\[([0-9a-f]+)\] (\w+)\(", trace.read_text(), re.M):
        if any(lo <= int(at, 16) <= hi for lo, hi in ranges):
            made.add(name)
    return made


@test
def attach_makes_no_call_that_filters_are_not_asked_about(ground):
    if not shutil.which("strace"):
        raise record.Skip("no strace here")
    listed = set(re.findall(r"\{SYS_(\w+),", SANDBOX.read_text().replace("\n     ", "")))
    told = ground.build("told", TOLD, "-pthread")
    pages = ground.build("pages", PAGES)
    ending = ground.build("ending", ENDING, "-pthread")
    leaf = "#include <stdlib.h>\nvoid *leaf(void) { return malloc(9); }"
    library = ground.build("libleaf.so", leaf, "-shared", "-fPIC")
    made = calls_of_agent(ground, told, "ppo", 8)
    made |= calls_of_agent(ground, pages, "pp", "break", pages)
    made |= calls_of_agent(ground, ending, "ppp")
    made |= calls_of_agent(ground, ground.build("replaces", REPLACES), "p", library)
    expect({"mmap", "close"} <= made, f"the agent's calls were not seen: {made}")
    expect(made <= listed, f"not listed in {SANDBOX.name}: {sorted(made - listed)}")
