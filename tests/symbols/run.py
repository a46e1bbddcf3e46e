#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names, lines and inlined calls: what the sources say, recorded and reported.

  tests/symbols/run.py [--filter REGEX] [--tidemark PATH] [--jobs N] [--list] [--keep DIR]

Each variant (variants.py) is built, recorded by `tidemark run`, and its report compared with the
chains its sources declare (chains.py). Some are then asked about all over their code and compared
with other tools (beside.py). A compiler that is not here means a skip, or with CI=true a failure.
Ends with the counts.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import beside  # noqa: E402
import chains  # noqa: E402
import record  # noqa: E402
import variants  # noqa: E402


def build(variant, scratch):
    missing = sorted(tool for tool in variant.needs if not shutil.which(tool))
    if missing:
        raise record.Skip(f"no {' and no '.join(missing)} here")
    done = record.run(["sh", "-c", variant.script], cwd=scratch, timeout=300,
                      env=record.clean_environment(S=str(HERE)))
    if done.status:
        raise record.Failure(f"does not build: {done.stderr.strip()[-500:]}")


def report(tidemark, tide, words, **env):
    done = record.run([tidemark, "report", "--json", "--all-frames", *words, tide],
                      cwd=tide.parent, env=record.clean_environment(**env))
    if done.status:
        raise record.Failure(f"report ends with {done.status}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def make_capture(tidemark, scratch):
    tide = scratch / "x.tide"
    done = record.run([tidemark, "run", "-q", "-o", tide, "--", scratch / "program"], cwd=scratch,
                      env=record.clean_environment())
    if done.status or done.stderr:
        raise record.Failure(f"run ends with {done.status}: {done.stderr.strip()[-300:]}")
    return tide


def without_files(tidemark, tide, truth, words):
    """Names kept in the capture are the same when the program is gone."""
    done = record.run([tidemark, "symbolize", *words, tide], cwd=tide.parent,
                      env=record.clean_environment())
    if done.status:
        raise record.Failure(f"symbolize ends with {done.status}: {done.stderr.strip()[-300:]}")
    for path in tide.parent.iterdir():
        if path != tide:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    truth.check(report(tidemark, tide, []))


def judge(variant, options, scratch):
    scratch.mkdir()
    build(variant, scratch)
    directory = variant.directory.replace("$S", str(HERE)).replace("$PWD", str(scratch))
    truth = chains.Truth([HERE / name for name in variant.sources], variant.tags, directory)
    tide = make_capture(options.tidemark, scratch)
    for _ in range(2):  # the second time the names come from the cache
        truth.check(report(options.tidemark, tide, variant.options,
                           TIDEMARK_CACHE=str(scratch / "cache")))
    if variant.compared:
        beside.check(options.look, scratch / "program")
    if not options.keep:
        without_files(options.tidemark, tide, truth, variant.options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only variants whose name matches")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--tidemark", type=pathlib.Path, default=ROOT / "build/tidemark")
    parser.add_argument("--look", type=pathlib.Path, default=ROOT / "build/tests/symbols/look")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="leave what is built in this directory")
    options = parser.parse_args()
    options.tidemark, options.look = options.tidemark.resolve(), options.look.resolve()
    wanted = [variant for variant in variants.VARIANTS if re.search(options.filter, variant.name)]
    if options.list:
        print("\n".join(variant.name for variant in wanted))
        return 0
    tally = record.Tally()
    with tempfile.TemporaryDirectory(prefix="tidemark-symbols-") as scratch:
        top = pathlib.Path(options.keep or scratch).resolve()
        top.mkdir(exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for variant in wanted:
                pool.submit(tally.run, variant.name,
                            lambda v=variant: judge(v, options, top / v.name))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
