# SPDX-License-Identifier: Apache-2.0
"""What must hold in any .tide file that was recorded, read by the second decoder (tests/compat).

Snapshots count what was allocated since the one before: over all of them, up to the end, that adds
up to what the sites say, for every stack, in allocations and in bytes. The peak's counts nothing.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "compat"))
import tide_decode  # pylint: disable=wrong-import-position

TIMED, PEAK, END = range(3)


def difference(image):
    """The first stack whose counts do not add up, as text; None when all do."""
    sites, counted = {}, {}
    for site in image["sites"]:
        n_alloc, b_alloc = sites.get(site["stack"], (0, 0))
        sites[site["stack"]] = n_alloc + site["n_alloc"], b_alloc + site["b_alloc"]
    for snapshot in image["snapshots"]:
        if snapshot["kind"] == PEAK and snapshot["counts"]:
            return "the peak's snapshot counts allocations"
        for stack, n_more, b_more in snapshot["counts"]:
            n_alloc, b_alloc = counted.get(stack, (0, 0))
            counted[stack] = n_alloc + n_more, b_alloc + b_more
    for stack in sites.keys() | counted.keys():
        told, summed = sites.get(stack, (0, 0)), counted.get(stack, (0, 0))
        if told != summed:
            return f"stack {stack}: sites tell {told}, snapshots {summed}"
    return None


def check(path):
    """None, or a sentence about what is wrong with the file."""
    capture = tide_decode.decode(pathlib.Path(path).read_bytes())
    for index, image in enumerate(capture["images"]):
        if not image["has_counts"]:
            return f"image {index}: its snapshots do not count allocations"
        if image["snapshots"][-1]["kind"] != END:
            return f"image {index}: its last snapshot is not that of the end"
        found = difference(image)
        if found:
            return f"image {index}: {found}"
    return None
