# SPDX-License-Identifier: Apache-2.0
"""What must hold in any .tide file that was recorded, read by the second decoder (tests/compat).

Snapshots count what was allocated since the one before: over all of them, up to the end, that adds
up to what the sites say, for every stack, in allocations and in bytes. The peak's counts nothing.

Late frees fit the snapshots: of the blocks of a stack that were born between two there are never
fewer than none left, and there are never more late frees than frees.
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


def events(image):
    """Per stack and snapshot (not the peak's): blocks and bytes born and freed since the last."""
    live, found = {}, {}
    for index, snapshot in enumerate(image["snapshots"]):
        if snapshot["kind"] == PEAK:
            continue
        now = {stack: (blocks, size) for stack, size, blocks in snapshot["rows"]}
        more = {stack: (blocks, size) for stack, blocks, size in snapshot["counts"]}
        for stack in live.keys() | now.keys() | more.keys():
            born = more.get(stack, (0, 0))
            before, after = live.get(stack, (0, 0)), now.get(stack, (0, 0))
            freed = tuple(b + c - a for a, b, c in zip(after, before, born))
            found[stack, index] = born, freed
        live = now
    return found


def misfit(image):
    """The first stack whose late frees cannot be, as text; None when all can."""
    found, late_ends, late_births = events(image), {}, {}
    for freed, stack, born, blocks, size in image["late_frees"]:
        for sums, index in ((late_ends, freed), (late_births, born)):
            so_far = sums.get((stack, index), (0, 0))
            sums[stack, index] = so_far[0] + blocks, so_far[1] + size
    for key in late_ends.keys() | late_births.keys() | found.keys():
        born, freed = found.get(key, ((0, 0), (0, 0)))
        late, outlived = late_ends.get(key, (0, 0)), late_births.get(key, (0, 0))
        at_once = [a - b for a, b in zip(freed, late)]  # born and freed in this interval
        left = [a - b - c for a, b, c in zip(born, at_once, outlived)]
        if min(at_once) < 0 or min(left) < 0:
            return (f"stack {key[0]}, snapshot {key[1]}: born {born}, freed {freed}, late {late}, "
                    f"outlived {outlived}")
    return None


def check(path):
    """None, or a sentence about what is wrong with the file."""
    capture = tide_decode.decode(pathlib.Path(path).read_bytes())
    for index, image in enumerate(capture["images"]):
        if not image["has_counts"]:
            return f"image {index}: its snapshots do not count allocations"
        if image["snapshots"][-1]["kind"] != END:
            return f"image {index}: its last snapshot is not that of the end"
        found = difference(image) or (misfit(image) if image["has_late_frees"] else None)
        if found:
            return f"image {index}: {found}"
    return None
