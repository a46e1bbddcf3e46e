# SPDX-License-Identifier: Apache-2.0
"""What the payload of a part is made of (docs/tide-format.md): numbers, texts, columns, packed by
zstd. Needs Python's `zstandard`, or else the `zstd` program."""
import subprocess
import tempfile

MASK64 = (1 << 64) - 1


class Stop(Exception):
    """The file is cut, damaged or malformed from here on."""


def unpack_zstd(stored, n_raw, prefix=None):
    try:
        import zstandard

        before = None
        if prefix is not None:
            before = zstandard.ZstdCompressionDict(
                prefix, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        unpack = zstandard.ZstdDecompressor(dict_data=before)
        return unpack.decompress(stored, max_output_size=n_raw)
    except ImportError:
        with tempfile.NamedTemporaryFile() as before:
            before.write(prefix or b"")
            before.flush()
            argv = ["zstd", "-dcq"] + (["-D", before.name] if prefix is not None else [])
            done = subprocess.run(argv, input=stored, capture_output=True, check=False)
        if done.returncode != 0:
            raise Stop("zstd refuses a frame") from None
        return done.stdout


def signed(value):
    value &= MASK64
    return value - (1 << 64) if value >> 63 else value


class Payload:
    """A cursor over the payload of one part."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Stop("a payload is too short")
        self.at += n
        return self.data[self.at - n : self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self, bits=64):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
            if shift >= 70:
                raise Stop("a varint is too long")
        if value >> bits:
            raise Stop("a number is too large")
        return value

    def zigzag(self, bits=64):
        value = self.varint()
        value = (value >> 1) ^ -(value & 1)
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise Stop("a number is too large")
        return value

    def bytes(self):
        return self.take(self.varint())

    def string(self):
        data = self.bytes()
        if b"\0" in data:
            raise Stop("a string has a zero byte")
        return data.decode("latin-1")

    def column(self, n, read):
        return [read() for _ in range(n)]

    def diffs(self, n, as_signed=False):
        """A column of differences to the row before."""
        values, value = [], 0
        for _ in range(n):
            value = (value + self.zigzag()) & MASK64
            values.append(signed(value) if as_signed else value)
        return values

    def rises(self, n):
        values, value = [], 0
        for _ in range(n):
            value += self.varint()
            if value > MASK64:
                raise Stop("time runs out of 64 bits")
            values.append(value)
        return values

    def table(self, n_before):
        first, n = self.varint(), self.varint()
        if first != n_before:
            raise Stop("a table does not continue")
        if n > len(self.data):
            raise Stop("a table claims too many rows")
        return n

    def has_appended(self, n_before, n, had):
        """Does the table go on with what a version appended? All of its parts do, or none."""
        here = self.at < len(self.data)
        if n_before and n and here != had:
            raise Stop("a table changes its columns")
        return had if n_before else here
