# SPDX-License-Identifier: Apache-2.0
"""Go programs that allocate in C: the stacks lead through cgo to the lines of Go."""
import json
import os
import pathlib
import subprocess

import record
import report_json

HERE = pathlib.Path(__file__).resolve().parent
WORKERS, ROUNDS = 8, 200


def build(stage, folder="cgo"):
    if subprocess.run(["which", "go"], capture_output=True).returncode:
        raise record.Skip("no go here")
    program = stage.scratch / "cgo"
    env = dict(os.environ, CGO_ENABLED="1", GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local")
    done = subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / folder, env=env,
                          capture_output=True, text=True)
    if done.returncode:
        raise record.Failure(f"does not build: {done.stderr[-300:]}")
    return program


def ask(stage, *words):
    done = record.run([stage.tidemark, *words, "--rules", "/dev/null", stage.tide], env=stage.env)
    if done.status:
        raise record.Failure(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout


def through(sites, *names):
    """Allocations of the stacks that have these functions, the innermost first."""
    total = 0
    for site in sites:
        functions = iter(frame["function"] for frame in site["frames"])
        if site["kind"] == "heap" and all(name in functions for name in names):
            total += site["allocations"]
    return total


def cgo(stage):
    program = build(stage)
    done = record.run([stage.tidemark, "run", "-q", "-f", "-o", stage.tide, "--", program],
                      cwd=stage.scratch, env=stage.env, timeout=120)
    if done.status or done.stdout != "done\n":
        raise record.Failure(f"ended {done.status}, said {done.stdout!r} {done.stderr[-200:]!r}")
    sites = report_json.loads(ask(stage, "report", "--json", "--all"))["sites"]
    every = WORKERS * ROUNDS
    work, begin = "main.work", "runtime.goexit"
    expected = [
        (("main.leaky", work, "main.main.func1", begin), every),
        (("main.leaky", "main.main", "runtime.main", begin), 50),
        (("main.leaky",), every + 50),
        (("main.decode", "main.deep", work, begin), every + WORKERS),
        (("main.decode",) + ("main.deep",) * 1501 + (work, begin), WORKERS),
        (("main.visit", "runtime.cgocallback"), 3 * every),
    ]
    for names, n in expected:
        if through(sites, *names) != n:
            shown = [name for i, name in enumerate(names) if name not in names[:i]]
            raise record.Failure(f"{through(sites, *names)} allocations through {shown}, not {n}")
    for site in sites:
        frames = site["frames"]
        functions = [frame["function"] or "" for frame in frames]
        if not any(name.startswith("main.") for name in functions):
            continue
        # From C back into Go nothing leads on, and that must be said.
        if "runtime.cgocallback" in functions:
            whole = "crosscall2" in functions and "cut" in frames[-1]["flags"]
        else:
            whole = functions[-1] == begin and "cut" not in frames[-1]["flags"]
        if not whole:
            raise record.Failure(f"a stack of Go ends at {frames[-1]}")
        if not any("guessed" in frame["flags"] for frame in frames):
            raise record.Failure("found by frame pointer, and not marked as such")
    groups = json.loads(ask(stage, "report", "--json", "--group", "place", "--sort",
                            "count"))["groups"]
    named = [group["function"] for group in groups[:3]]
    if named != ["main.visit", "take", "main.decode"]:
        raise record.Failure(f"blames {named}")
    tree = ask(stage, "tree", "--sort", "count")
    if "main.visit" not in tree or "runtime." in tree:
        raise record.Failure(f"the tree: {tree[:600]}")


TESTS = {"cgo": cgo}
