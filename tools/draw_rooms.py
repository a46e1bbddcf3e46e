#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/rooms.svg from tools/layers.txt: the rooms of src/ and who may include whom.

A room stands above all that it may include. A line is left out where a longer way says the same.
With --check nothing is written, and the exit status is 1 if the picture is not that of the list.
"""
import sys
from html import escape

import tree

PICTURE = tree.ROOT / "docs/rooms.svg"
WIDE, HIGH, GAP_X, GAP_Y, EDGE = 170, 46, 26, 40, 20
STYLE = """
  rect { fill: #eef3f8; stroke: #456; } rect.recorder { fill: #fbeee0; stroke: #875; }
  text { font: 14px sans-serif; fill: #123; text-anchor: middle; } text.what { font-size: 11px; }
  path { fill: none; stroke: #789; stroke-width: 1.2; }
  @media (prefers-color-scheme: dark) {
    rect { fill: #24303c; stroke: #9ab; } rect.recorder { fill: #3a3024; stroke: #ca8; }
    text { fill: #def; } path { stroke: #89a; }
  }
"""


def read_rooms():
    rooms = {}
    for line in (tree.ROOT / "tools/layers.txt").read_text().splitlines():
        head, _, what = line.partition("#")
        name, colon, allowed = head.partition(":")
        if colon:
            rooms[name.strip()] = (set(allowed.split()), what.strip())
    return rooms


def below(rooms, name, seen=None):
    """All that a room stands on."""
    seen = set() if seen is None else seen
    for other in rooms[name][0] - seen:
        seen.add(other)
        below(rooms, other, seen)
    return seen


def direct(rooms, name):
    allowed = rooms[name][0]
    return {room for room in allowed
            if not any(room in below(rooms, other) for other in allowed - {room})}


def floors(rooms):
    """Each room as low as what it stands on allows, in the list's order."""
    level = {}
    for name in rooms:
        level[name] = max((level[other] + 1 for other in rooms[name][0]), default=0)
    rows = [[name for name in rooms if level[name] == i] for i in range(max(level.values()) + 1)]
    return rows


def place(rooms):
    """Corners of the boxes: each above the middle of what it stands on, as far as there is room."""
    rows, at = floors(rooms), {}
    for i, row in enumerate(rows):
        wish = {name: mean(at[other][0] for other in direct(rooms, name)) for name in row}
        row.sort(key=wish.get)
        xs = []
        for name in row:
            xs.append(max(wish[name], xs[-1] + WIDE + GAP_X) if xs else wish[name])
        shift = mean(xs) - mean(wish.values())
        for name, x in zip(row, xs):
            at[name] = (round(x - shift), EDGE + (len(rows) - 1 - i) * (HIGH + GAP_Y))
    left = min(x for x, _ in at.values()) - EDGE
    at = {name: (x - left, y) for name, (x, y) in at.items()}
    right, bottom = (max(corner) for corner in zip(*at.values()))
    return at, right + WIDE + EDGE, bottom + HIGH + EDGE


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0


def draw(rooms):
    at, width, height = place(rooms)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
           "<title>The rooms of src/: each may include those it stands on</title>",
           f"<style>{STYLE}</style>"]
    for name in rooms:
        x, y = at[name]
        for other in sorted(direct(rooms, name)):
            to_x, to_y = at[other]
            bend = (y + HIGH + to_y) / 2
            out.append(f'<path d="M{x + WIDE / 2:g} {y + HIGH:g} C{x + WIDE / 2:g} {bend:g} '
                       f'{to_x + WIDE / 2:g} {bend:g} {to_x + WIDE / 2:g} {to_y:g}"/>')
    for name, (_, what) in rooms.items():
        x, y = at[name]
        kind = ' class="recorder"' if name in tree.RECORDER else ""
        out += [f'<rect{kind} x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="6"/>',
                f'<text x="{x + WIDE / 2:g}" y="{y + 20:g}">{escape(name)}</text>',
                f'<text class="what" x="{x + WIDE / 2:g}" y="{y + 36:g}">{escape(what)}</text>']
    return "\n".join(out + ["</svg>", ""])


def main():
    picture = draw(read_rooms())
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text() != picture:
            print("docs/rooms.svg is not the picture of tools/layers.txt: run tools/draw_rooms.py")
            return 1
        return 0
    PICTURE.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
