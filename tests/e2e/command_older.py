# SPDX-License-Identifier: Apache-2.0
"""Stores of earlier versions, kept in tests/golden as store_vFORMAT.tar.xz, open as ever; beside
each lie the program that it is of, and what the reader of its day saw. Captures: tests/compat."""
import json
import pathlib
import sys
import tarfile

from command_stores import live, serving
from ground import expect, test

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "compat"))
from golden import missing  # noqa: E402

GOLDEN = TESTS / "golden"


def without_times(value):
    """What is told of the same store on any machine, at any time."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items()
                if not key.endswith("_ns") and key not in ("lifetimes", "culprit", "via", "stack")}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def site_of(site, defaults):
    """Its numbers, and its addresses in place of names, those of files on this machine."""
    places = [f"{frame['module'].rpartition('/')[2]} {frame['address']}"
              for frame in site["frames"] if not frame["inlined"]]
    return defaults | site | {"frames": places}


def seen(report):
    image = report["image"]
    told = {"program": image["program"], "marks": image["marks"], "threads": image["threads"],
            "allocators": image["allocators"], "totals": report["totals"],
            "pages": report["pages"], "events": report.get("events"),
            "completeness": report["completeness"],
            "sites": sorted((site_of(site, report["site_defaults"])
                             for site in report["sites"]),
                            key=lambda site: (site["kind"], site["bytes"], site["allocations"]))}
    return without_times(told)


@test
def stores_of_earlier_versions(ground):
    """By report, and by the capture that symbolize makes; serve, while somebody writes to it."""
    stores = sorted(GOLDEN.glob("store_v*.tar.xz"))
    expect(stores, "no golden store")
    for packed in stores:
        name = packed.name.partition(".")[0]
        with tarfile.open(packed) as tar:
            tar.extractall(ground.scratch)
        store = ground.scratch / f"{name}.store"
        expected = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
        expect(not (wrong := missing(expected, seen(ground.report(store)))), f"{name}{wrong}")
        done = ground.run(ground.tidemark, "symbolize", "-o", f"{name}.tide", store)
        expect(done.status == 0, done.stderr)
        wrong = missing(expected, seen(ground.report(f"{name}.tide")))
        expect(not wrong, f"{name}, symbolized{wrong}")
        totals = expected["totals"]
        with store.open("r+b"), serving(ground, store) as service:
            found = live(ground, service)
            expect(found == (totals["live_blocks"], totals["live_bytes"]), f"{name}: {found}")
            found = service.metrics()["tidemark_heap_allocations_total"]
            expect(found == totals["allocations"], f"{name}: {found}")
