# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles, decoded by the field numbers of opentelemetry.proto.profiles.v1development.

Written from the specification, for judging what `--push otlp=` sends; tests/fleet asks the
OpenTelemetry project's own decoder as well.
"""
import gzip

from command_serve import fields
from ground import expect

TABLES = {1: "mapping", 2: "location", 3: "function", 4: "link", 5: "string", 6: "attribute",
          7: "stack"}


def varints(packed):
    begin = 0
    for at, byte in enumerate(packed):
        if byte < 128:
            value = 0
            for one in reversed(packed[begin:at + 1]):
                value = value << 7 | one & 127
            yield value
            begin = at + 1


def is_zero(message):
    """A collector spells out that ids and values are nothing."""
    return not any(value if isinstance(value, int) else any(value) for _, value in fields(message))


class Request:
    """profiles: a dict each, with all that its numbers refer to."""

    def __init__(self, body):
        message = list(fields(gzip.decompress(body)))
        expect({key for key, _ in message} == {1, 2}, f"{[key for key, _ in message]}")
        (dictionary,) = [value for key, value in message if key == 2]
        self.tables = {name: [] for name in TABLES.values()}
        for key, value in fields(dictionary):
            self.tables[TABLES[key]].append(value)
        for name, rows in self.tables.items():
            expect(rows and (rows[0] == b"" or name != "string" and is_zero(rows[0])),
                   f"{name}: entry 0 is not empty")
            expect(len(set(rows)) == len(rows), f"{name}: an entry twice")
        self.profiles = [profile for key, value in message if key == 1
                         for profile in self.of_resource(value)]

    def text(self, idx):
        return self.tables["string"][idx].decode()

    def plain(self, any_value):
        """What an AnyValue holds; a collector refers to the table of strings."""
        (number, value), = fields(any_value)
        if number == 1:
            return value.decode()
        if number == 8:
            return self.text(value)
        if number == 5:
            return [self.plain(one) for key, one in fields(value) if key == 1]
        expect(number == 3, f"an attribute of kind {number}")
        return value

    def of_resource(self, resource_profiles):
        found = dict(fields(resource_profiles))
        attributes = {}
        for _, pair in fields(found[1]):
            row = dict(fields(pair))
            key = row[1].decode() if 1 in row else self.text(row[3])  # a collector's
            expect(key not in attributes, f"{key} twice")
            attributes[key] = self.plain(row[2])
        scope = list(fields(found[2]))
        expect(dict(fields(dict(scope)[1]))[1] == b"tidemark", "scope")
        for key, value in scope:
            if key == 2:
                yield dict(self.profile(value), resource=attributes)

    def value_type(self, message):
        found = dict(fields(message))
        return self.text(found[1]), self.text(found[2])

    def attributes(self, packed):
        out = {}
        for idx in varints(packed):
            row = dict(fields(self.tables["attribute"][idx]))
            out[self.text(row[1])] = self.plain(row[2])
        return out

    def profile(self, message):
        found = list(fields(message))
        one = dict(found)
        samples = [self.sample(value) for key, value in found if key == 2]
        stacks = [stack for stack, _ in samples]
        expect(len(set(stacks)) == len(stacks), "a stack twice")
        expect(len(one[7]) == 16, "no id")
        return {"type": self.value_type(one[1]), "samples": samples, "id": one[7],
                "time": int.from_bytes(one[3], "little"), "duration": one.get(4, 0),
                "period": (self.value_type(one[5]), one.get(6, 0)),
                "sum": sum(value for _, value in samples),
                "attributes": self.attributes(one.get(11, b""))}

    def sample(self, message):
        """((frames, innermost first), value)"""
        found = dict(fields(message))
        value, = varints(found[4])
        stack = dict(fields(self.tables["stack"][found[1]]))
        return tuple(frame for idx in varints(stack[1]) for frame in self.frames(idx)), value

    def frames(self, idx):
        """(name, source file, line, address, build id) of each function at a location."""
        found = list(fields(self.tables["location"][idx]))
        one = dict(found)
        mapping = dict(fields(self.tables["mapping"][one.get(1, 0)]))
        build_id = self.attributes(mapping.get(5, b"")).get("process.executable.build_id.gnu")
        lines = [dict(fields(line)) for key, line in found if key == 3]
        for line in lines or [{}]:
            function = dict(fields(self.tables["function"][line.get(1, 0)]))
            yield (self.text(function.get(1, 0)), self.text(function.get(3, 0)), line.get(2, 0),
                   one.get(2, 0), build_id)
