# SPDX-License-Identifier: Apache-2.0
"""Readers of the formats that `tidemark export` writes, made from the formats' own descriptions.

They are strict where a real tool would be: a wrong file raises ValueError. None shares code with
the writers.
"""
import gzip
import json
import re
import xml.etree.ElementTree

WORD = 1 << 64
SVG = "{http://www.w3.org/2000/svg}"


def need(condition, text):
    if not condition:
        raise ValueError(text)


def signed(value):
    return value - WORD if value >> 63 else value


# profile.proto: a message is a row of (field, value), a value a number or bytes.

def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number that does not end")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            need(value < WORD, "a number of more than 64 bits")
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            need(key & 7 == 2, f"wire type {key & 7}")
            length, at = varint(data, at)
            need(at + length <= len(data), "a part that is longer than the whole")
            value, at = data[at:at + length], at + length
        yield key >> 3, value


def numbers(value):
    """A repeated number, packed or not."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def message(data, **names):
    """A message as a dictionary: name=field for one value, name=(field, reader) for a list."""
    result = {name: [] if isinstance(kind, tuple) else 0 for name, kind in names.items()}
    by_field = {kind[0] if isinstance(kind, tuple) else kind: name for name, kind in names.items()}
    for field, value in fields(data):
        need(field in by_field, f"field {field} is unknown")
        name = by_field[field]
        if isinstance(names[name], tuple):
            read = names[name][1](value)
            result[name] += read if names[name][1] is numbers else [read]
        else:
            result[name] = value
    return result


def value_type(data):
    return message(data, type=1, unit=2)


def label(data):
    return message(data, key=1, str=2, num=3, num_unit=4)


def sample(data):
    return message(data, location_id=(1, numbers), value=(2, numbers), label=(3, label))


def mapping(data):
    return message(data, id=1, memory_start=2, memory_limit=3, file_offset=4, filename=5,
                   build_id=6, has_functions=7, has_filenames=8, has_line_numbers=9,
                   has_inline_frames=10)


def line(data):
    return message(data, function_id=1, line=2)


def location(data):
    return message(data, id=1, mapping_id=2, address=3, line=(4, line), is_folded=5)


def function(data):
    return message(data, id=1, name=2, system_name=3, filename=4, start_line=5)


class Pprof:
    """A profile with everything that refers to something checked."""

    def __init__(self, data):
        raw = gzip.decompress(data)
        p = message(raw, sample_type=(1, value_type), sample=(2, sample), mapping=(3, mapping),
                    location=(4, location), function=(5, function),
                    string_table=(6, lambda text: text.decode("utf-8")), drop_frames=7,
                    keep_frames=8, time_nanos=9, duration_nanos=10, period_type=11, period=12,
                    comment=(13, numbers), default_sample_type=14)
        self.strings = p["string_table"]
        need(self.strings and self.strings[0] == "", "string 0 is not empty")
        need(len(set(self.strings)) == len(self.strings), "a string twice")
        for kind in ("mapping", "location", "function"):
            ids = [item["id"] for item in p[kind]]
            need(ids == list(range(1, len(ids) + 1)), f"numbers of {kind}s are not dense")
        self.types = [(self.strings[t["type"]], self.strings[t["unit"]]) for t in p["sample_type"]]
        self.default = self.strings[p["default_sample_type"]]
        self.comments = [self.strings[number] for number in p["comment"]]
        self.period, self.duration = p["period"], p["duration_nanos"]
        self.mappings, self.functions, self.locations = p["mapping"], p["function"], p["location"]
        self.samples = p["sample"]
        self.check()

    def check(self):
        for m in self.mappings:
            need(m["memory_start"] == 0 and m["memory_limit"] == WORD - 1 and m["file_offset"] == 0,
                 "a mapping that is not the whole file")
            self.text(m["filename"]), self.text(m["build_id"])
        for f in self.functions:
            need(self.text(f["name"]) != "" and self.text(f["filename"]) is not None, "no name")
        for place in self.locations:
            need(place["mapping_id"] <= len(self.mappings), "no such mapping")
            for at in place["line"]:
                need(0 < at["function_id"] <= len(self.functions), "no such function")
            if place["line"] and place["mapping_id"]:
                owner = self.mappings[place["mapping_id"] - 1]
                need(all(owner[f"has_{what}"] == 1 for what in
                         ("functions", "filenames", "line_numbers", "inline_frames")),
                     "names in a mapping that says it has none")
        for s in self.samples:
            need(s["location_id"] and all(0 < number <= len(self.locations)
                                          for number in s["location_id"]), "no such location")
            need(len(s["value"]) == len(self.types), "not a value per type")

    def text(self, number):
        need(number < len(self.strings), "no such string")
        return self.strings[number]

    def sums(self):
        return {kind: sum(s["value"][i] for s in self.samples) % WORD
                for i, (kind, _) in enumerate(self.types)}

    def by_addresses(self):
        """Values of all samples, by the addresses of their locations."""
        found = {}
        for s in self.samples:
            key = tuple(self.locations[number - 1]["address"] for number in s["location_id"])
            held = found.setdefault(key, [0] * len(self.types))
            found[key] = [(a + b) % WORD for a, b in zip(held, s["value"])]
        return found

    def frames(self, one):
        """Names of a sample, innermost first, inlined ones included."""
        return [self.text(self.functions[at["function_id"] - 1]["name"])
                for number in one["location_id"] for at in self.locations[number - 1]["line"]]


def folded(text):
    """A list of (names from the outermost in, weight), as flamegraph.pl reads it."""
    stacks = []
    for one in text.split("\n")[:-1]:
        found = re.fullmatch(r"(.+) (\d+)", one)
        need(found and "\r" not in one, f"no stack and weight: {one!r}")
        need(not re.search(r"\s\d+(\.\d*)?$", found[1]), f"two weights: {one!r}")
        stacks.append((tuple(found[1].split(";")), int(found[2])))
    need(text == "" or text.endswith("\n"), "the last line has no end")
    need(len({names for names, _ in stacks}) == len(stacks), "a stack twice")
    return stacks


def sampled(profile, names):
    need(len(profile["samples"]) == len(profile["weights"]), "not a weight per sample")
    need(profile["endValue"] == sum(profile["weights"]) % WORD, "ends")
    return [(tuple(names[at] for at in stack), weight) for stack, weight
            in zip(profile["samples"], profile["weights"])]


def evented(profile, names):
    """Frames opened and closed in turn, the outermost of which is a part of the run."""
    stacks, is_open, last = [], [], 0
    for event in profile["events"]:
        need(event["at"] >= last and event["type"] in "OC", "events out of order")
        if event["at"] > last:
            need(len(is_open) > 1, "a weight without a stack")
            stacks.append((tuple(names[at] for at in is_open), event["at"] - last))
        last = event["at"]
        if event["type"] == "O":
            is_open.append(event["frame"])
        else:
            need(is_open and is_open.pop() == event["frame"], "another frame is open")
    need(not is_open and profile["endValue"] == last, "ends")
    parts = [stack[0] for stack, _ in stacks]
    turns = [part for i, part in enumerate(parts) if not i or part != parts[i - 1]]
    need(len(turns) <= 16, "too many parts")
    return stacks


def speedscope(text):
    """Profiles by name, each a list of (names from the outermost in, weight)."""
    data = json.loads(text)
    need(data["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
    names = [frame["name"] for frame in data["shared"]["frames"]]
    need(0 <= data["activeProfileIndex"] < len(data["profiles"]), "no such profile")
    profiles = {}
    for profile in data["profiles"]:
        need(profile["startValue"] == 0 and profile["unit"] in ("bytes", "none"), "unit")
        need(profile["name"] not in profiles, "a profile twice")
        read = {"sampled": sampled, "evented": evented}[profile["type"]]
        profiles[profile["name"]] = read(profile, names)
    return profiles


class Box:
    """A box of a flame graph: pixels and the lines of its title."""

    def __init__(self, group):
        rect = group.find(f"{SVG}rect")
        self.x, self.width = float(rect.get("x")), float(rect.get("width"))
        self.row = (int(rect.get("y")) - 64) // 18
        self.title = group.find(f"{SVG}title").text.split("\n")
        self.is_rest = rect.get("class") == "o"


def svg(text):
    """The boxes of a flame graph: well-formed, and nothing in it that would load something."""
    root = xml.etree.ElementTree.fromstring(text)
    need(root.tag == f"{SVG}svg" and root.get("width") == "1200", "no SVG, or another width")
    for element in root.iter():
        need(not any("href" in key or "src" in key for key in element.attrib), "loads something")
    return [Box(group) for group in root.iter(f"{SVG}g")]


def check_places(boxes):
    """Boxes are within one of the row above, beside each other."""
    rows = {}
    for box in boxes:
        rows.setdefault(box.row, []).append(box)
    for row, among in rows.items():
        among.sort(key=lambda box: box.x)
        for a, b in zip(among, among[1:]):
            need(a.x + a.width <= b.x + 0.01, "boxes over each other")
        for box in among:
            need(10 <= box.x and box.x + box.width <= 1190.01, "a box outside")
            need(row == 0 or any(above.x <= box.x + 0.01 and
                                 box.x + box.width <= above.x + above.width + 0.01
                                 for above in rows[row - 1]), "a box under none")
