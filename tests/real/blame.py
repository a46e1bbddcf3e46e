# SPDX-License-Identifier: Apache-2.0
"""Whom the report names: in programs that allocate only through libraries, the program's own
functions, at the peak, in all, for temporaries and for leaks; with debug information and with names
alone."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import crates
import record

HERE = pathlib.Path(__file__).resolve().parent


def rows(stage, sort):
    """(share in percent, function) of the report's rows, the largest first."""
    done = record.run([stage.tidemark, "report", "--rules", "/dev/null", "--sort", sort, "--json",
                       "--group", "place", stage.tide], env=stage.env)
    if done.status:
        raise record.Failure(f"report --sort {sort}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    found = [(100 * group["weight"] / report["whole"],
              group["function"] or f"0x? in {os.path.basename(group['module'])}")
             for group in report["groups"] if group["weight"] > 0]
    if not found:
        raise record.Failure(f"report --sort {sort} has no rows")
    return found


def blamed(stage, expected, own):
    """The first row names the expected function, and no row of a hundredth a stranger."""
    for sort, pattern in expected.items():
        table = rows(stage, sort)
        if not re.match(pattern, table[0][1]):
            raise record.Failure(f"--sort {sort} names {table[0][1]!r}, not {pattern}")
        for share, name in table:
            if share >= 1 and not re.match(own, name):
                raise record.Failure(f"--sort {sort} blames {name!r} for {share} %")


def checks_json(stage):
    """Folded frames are all there, and the culprit is the first of own code, or else the first that
    is not folded."""
    report = stage.capture().shown
    n_folded = 0
    for site in report["sites"]:
        folded = [frame["folded"] for frame in site["frames"]]
        n_folded += sum(folded)
        own = [not frame["folded"] and not frame["library"] for frame in site["frames"]]
        expected = own.index(True) if any(own) else folded.index(False) if not all(folded) else None
        if expected is not None and site["culprit"] != expected:
            raise record.Failure(f"culprit {site['culprit']} of {folded}, own {own}")
    if not n_folded:
        raise record.Failure("no frame is folded")


def run_and_judge(stage, program, expected, own):
    """As built, then without debug information: what was inlined is then its caller's."""
    stage.both([str(program)])
    blamed(stage, expected, own)
    checks_json(stage)
    subprocess.run(["strip", "-g", program], check=True)
    stage.both([str(program)])
    blamed(stage, {sort: own for sort in expected}, own)


def compile_with(command):
    if not shutil.which(command[0]):
        raise record.Skip(f"no {command[0]} here")
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise record.Failure(f"does not build: {done.stderr[-300:]}")


def cxx(compiler, level):
    def run(stage):
        program = stage.scratch / "containers"
        compile_with([compiler, "-std=c++17", level, "-g", "-pthread", "-o", program,
                      HERE / "containers.cpp"])
        rebuild = r"(.* )?app::\(anonymous namespace\)::rebuild"
        expected = {"peak": "app::Archive::keep", "leak": "app::Archive::keep", "total": rebuild,
                    "temp": "app::greet"}
        pool = r"\S+ +in libstdc"  # set aside for exceptions before main
        run_and_judge(stage, program, expected, rf"app::|main|{rebuild}|{pool}|in \d+ more")
    return run


def rust(*flags):
    def run(stage):
        program = stage.scratch / "ledger"
        compile_with(["rustc", "--edition=2021", "-g", *flags, "-o", program, HERE / "ledger.rs"])
        expected = {"peak": "<?ledger::Archive>?::keep", "leak": "<?ledger::Archive>?::keep",
                    "total": "ledger::rebuild", "temp": "<?ledger::Word as|ledger::Word.*::fmt"}
        run_and_judge(stage, program, expected, r"<?ledger::|in \d+ more")
    return run


def cargo(stage, name):
    """A copy of the crate's program; skipped where the crates are neither at hand nor to be had."""
    try:
        program = crates.build_crate(f"tests/real/{name}", HERE.parent.parent / "build")
    except crates.Missing as why:
        raise record.Skip(str(why)) from None
    except crates.Broken as why:
        raise record.Failure(str(why)) from None
    copy = stage.scratch / program.name
    shutil.copy(program, copy)
    return copy


def tokio(stage):
    program = cargo(stage, "tokio")
    expected = {"peak": "relay::Archive::archive", "leak": "relay::Archive::archive",
                "total": "relay::deliver::", "temp": "relay::greet"}
    run_and_judge(stage, program, expected, r"<?relay::|in \d+ more")


def serde(stage):
    """A library that allocates everything is named after the line that called it, with debug
    information and with names alone; --blame library names it first."""
    program = cargo(stage, "leaky")
    for debug in (True, False):
        if not debug:
            subprocess.run(["strip", "-g", program], check=True)
        stage.both([str(program)])
        command = [stage.tidemark, "report", "--rules", "/dev/null", "--json", "--group", "place",
                   stage.tide]
        report = json.loads(record.run(command, env=stage.env).stdout)
        top, wanted = report["groups"][0], ("leaky::decode", "leaky::producer", "leaky::main")
        if top["function"] not in wanted[:1 if debug else 3] or top["weight"] < report["whole"] / 2:
            raise record.Failure(f"names {top['function']}, {top['weight']} of {report['whole']}")
        if debug and (not top["file"].endswith("src/main.rs") or top["line"] != 9 or
                      not top["via"]["function"].startswith("serde_json::de::from_str") or
                      "/registry/src/" not in top["via"]["file"]):
            raise record.Failure(f"names {top['file']}:{top['line']} via {top['via']}")
        text = record.run([stage.tidemark, "report", "--rules", "/dev/null", stage.tide],
                          env=stage.env).stdout
        if debug and "via serde_json::de::from_str" not in text:
            raise record.Failure(f"the text names no library:\n{text}")
        theirs = json.loads(record.run(command + ["--blame", "library"], env=stage.env).stdout)
        if "serde_json" not in theirs["groups"][0]["function"] or theirs["groups"][0]["via"]:
            raise record.Failure(f"--blame library names {theirs['groups'][0]['function']}")
    checks_json(stage)


TESTS = {
    "blame-serde": serde,
    "blame-tokio": tokio,
    "blame-c++-O2": cxx("g++", "-O2"),
    "blame-c++-O0": cxx("g++", "-O0"),
    "blame-clang++-O2": cxx("clang++", "-O2"),
    "blame-rust-O": rust("-O"),
    "blame-rust-O0": rust(),
    "blame-rust-v0": rust("-O", "-Csymbol-mangling-version=v0"),
}
