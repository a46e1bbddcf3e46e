#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names, lines and inlined calls: what the sources say, recorded and reported.

  tests/symbols/run.py [--filter REGEX] [--only NAME]… [--tidemark PATH] [--jobs N] [--list]
                       [--keep DIR] [--arch aarch64 [--library PATH]]

Each variant (variants.py) is built, recorded by `tidemark run`, and its report compared with the
chains its sources declare (chains.py). Some are then asked about all over their code and compared
with other tools (beside.py). A compiler that is not here means a skip, or with CI=true a failure.
With --arch of another processor some variants are built for it and recorded under qemu; their names
are looked up here. Ends with the counts.
"""
import argparse
import concurrent.futures
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
import report_json  # noqa: E402
import variants  # noqa: E402


# Of the variants of another architecture: each way to find and read what gcc writes. Not C with
# DWARF 4 and -O2: there gcc 12 for aarch64 gives an inlined call an empty list of ranges, and
# addr2line says what we do.
CROSS = re.compile(r"c\+\+\.gcc\.dwarf4-O2"
                   r"|c(\+\+)?\.gcc\.(dwarf4-O0|dwarf5-O[02]|lto|split|apart|by-id|names)")
CROSS_TOOLS = ("gcc", "g++", "objcopy", "strip", "readelf")


def is_native(options):
    return options.arch == os.uname().machine


def cross_tools(arch, place):
    """A directory in which the usual names are the other architecture's tools."""
    place.mkdir()
    for tool in CROSS_TOOLS:
        path = shutil.which(f"{arch}-linux-gnu-{tool}")
        if not path:
            raise record.Skip(f"no {arch}-linux-gnu-{tool} here")
        (place / tool).symlink_to(path)
    return place


def build(variant, options, scratch):
    missing = sorted(tool for tool in variant.needs if not shutil.which(tool))
    if missing:
        raise record.Skip(f"no {' and no '.join(missing)} here")
    env = {"S": str(HERE)}
    if not is_native(options):
        env["PATH"] = f"{cross_tools(options.arch, scratch / 'bin')}:{os.environ['PATH']}"
    done = record.run(["sh", "-c", variant.script], cwd=scratch, timeout=300,
                      env=record.clean_environment(**env))
    if done.status:
        raise record.Failure(f"does not build: {done.stderr.strip()[-500:]}")


def report(tidemark, tide, words, **env):
    done = record.run([tidemark, "report", "--json", "--all", *words, tide],
                      cwd=tide.parent, env=record.clean_environment(**env))
    if done.status:
        raise record.Failure(f"report ends with {done.status}: {done.stderr.strip()[-300:]}")
    return report_json.loads(done.stdout)


def emulate(options, scratch):
    """The store that the other architecture's recorder leaves."""
    if not shutil.which(f"qemu-{options.arch}"):
        raise record.Skip(f"no qemu-{options.arch} here")
    recorder = record.Recorder(options.tidemark, options.library, "qemu", options.arch)
    outcome, _ = recorder.record([scratch / "program"], scratch, "x", record.clean_environment())
    stores = list(scratch.glob("tidemark.program.*.store"))
    if outcome.status or len(stores) != 1:
        raise record.Failure(f"{outcome.status}, {len(stores)} stores: {outcome.stderr[-300:]}")
    return stores[0]


def make_capture(options, scratch):
    if not is_native(options):
        return emulate(options, scratch)
    tidemark, tide = options.tidemark, scratch / "x.tide"
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
    build(variant, options, scratch)
    directory = variant.directory.replace("$S", str(HERE)).replace("$PWD", str(scratch))
    tags = variant.tags - {os.uname().machine} | {options.arch}
    truth = chains.Truth([HERE / name for name in variant.sources], tags, directory)
    tide = make_capture(options, scratch)
    for _ in range(2):  # the second time the names come from the cache
        truth.check(report(options.tidemark, tide, variant.options,
                           TIDEMARK_CACHE=str(scratch / "cache")))
    if variant.compared and is_native(options):
        beside.check(options.look, scratch / "program")
    if not options.keep and is_native(options):
        without_files(options.tidemark, tide, truth, variant.options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--tidemark", type=pathlib.Path, default=ROOT / "build/tidemark")
    parser.add_argument("--look", type=pathlib.Path, default=ROOT / "build/tests/symbols/look")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="leave what is built in this directory")
    parser.add_argument("--arch", default=os.uname().machine)
    parser.add_argument("--library", help="libtidemark.so for --arch")
    options = parser.parse_args()
    if options.only:
        options.jobs = 1
    options.tidemark, options.look = options.tidemark.resolve(), options.look.resolve()
    options.library = options.library or ROOT / f"build-{options.arch}/libtidemark.so"
    wanted = [variant for variant in variants.VARIANTS if record.is_chosen(options, variant.name)
              and (is_native(options) or CROSS.fullmatch(variant.name))]
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
