#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the core without libc (core.c) and reads what it recorded, to the last byte.

  core_test.py CORE TIDEMARK|none [EMULATOR…]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

core, tidemark = (word if word == "none" else str(pathlib.Path(word).resolve())
                  for word in sys.argv[1:3])
emulator = sys.argv[3:]
TOTALS = {"allocations": 5, "allocated_bytes": 100 + 200 + 50 + 1000 + 3000, "frees": 4,
          "freed_bytes": 100 + 1000 + 3000 + 50, "resizes": 1, "resized_old_bytes": 1000,
          "resized_new_bytes": 3000, "moved": 1, "temporary": 1, "live_blocks": 1,
          "live_bytes": 200, "peak_bytes": 3000 + 200 + 50, "peak_blocks": 3,
          "peak_bound_bytes": 0}
COMPLETENESS = {"unknown_frees": 1, "failed_allocations": 1, "lost_busy": 0, "lost_full": 0,
                "broken_stacks": 0, "guessed_stacks": 0, "cut_stacks": 0, "stacks": 3}
# By what was called from run(): kind, allocations, bytes, live bytes, and in how many threads.
SITES = [("heap", ["_start", "run"], 1, 3000, 0, 1),
         ("heap", ["_start", "run", "place"], 1, 1000, 0, 1),
         ("heap", ["_start", "run", "place"], 3, 350, 200, 2)]


def site_of(report, site):
    site = {**report["site_defaults"], **site}
    stacks, names, at = report["stacks"], [], site["stack"]
    while at:
        names.insert(0, report["functions"][report["frames"][stacks["frame"][at]]["function"]])
        at = stacks["parent"][at]
    return (site["kind"], names, site["allocations"], site["bytes"], site["live_bytes"],
            site["thread_slots"])


def check(report):
    found = {key: report["totals"][key] for key in TOTALS}
    assert found == TOTALS, found
    found = {key: report["completeness"][key] for key in COMPLETENESS}
    assert found == COMPLETENESS, found
    assert report["image"]["command"] == ["core", "by hand"], report["image"]
    assert report["image"]["threads"] == 2, report["image"]
    pages = report["pages"]
    page = pages["unmapped_bytes"]
    assert page >= 4096 and pages["maps"] == 1 and pages["mapped_bytes"] == 2 * page, pages
    assert pages["live_bytes"] == page and pages["unmaps"] == 0, pages
    sites = sorted(site_of(report, site) for site in report["sites"])
    assert sites[:-1] == SITES, sites
    assert sites[-1] == ("pages", ["_start", "run"], 1, 2 * page, page, 1), sites


def main():
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([*emulator, core], cwd=scratch, timeout=60)
        assert done.returncode == 0, f"core: status {done.returncode}"
        assert (pathlib.Path(scratch) / "core.store").stat().st_size, "core.store is empty"
        if tidemark != "none":
            told = subprocess.run([tidemark, "report", "--json", "--all", "core.store"],
                                  cwd=scratch, check=True, capture_output=True, text=True)
            check(json.loads(told.stdout))


main()
