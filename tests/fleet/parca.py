# SPDX-License-Identifier: Apache-2.0
"""A Parca of one's own, and what it is asked: gRPC-Web, protobuf by hand."""
import contextlib
import pathlib
import struct
import tempfile
import time

from command_serve import fields
from engines import HOST, documented, post, program, started
from servers import free_port

INUSE = "memory:inuse_space:bytes:space:bytes"
ALLOCATED = "memory:alloc_space:bytes:space:bytes:delta"
NS_PER_S = 10**9


@contextlib.contextmanager
def parca(ground, targets=None, token=""):
    """Gives its URL. targets: addresses to scrape, by the names that their label `service` gets."""
    path, port = program("parca"), free_port()
    folder = pathlib.Path(tempfile.mkdtemp(dir=ground.scratch))
    (folder / "cache").mkdir()
    (folder / "token").write_text(token)
    (folder / "parca.yaml").write_text(documented("object_storage:", targets or {}, "2s"))
    words = [path, "--config-path=parca.yaml", f"--http-address={HOST}:{port}",
             "--storage-active-memory=67108864", "--debuginfod-upstream-servers=",
             "--debuginfo-cache-dir=./cache"]
    with started(folder, words, f"http://{HOST}:{port}/metrics"):
        yield f"http://{HOST}:{port}"


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def moment(seconds):
    return field(1, int(seconds))


def moment_ns(ns):
    return field(1, ns // NS_PER_S) + field(2, ns % NS_PER_S)


def ask(url, method, message):
    told = post(f"{url}/parca.query.v1alpha1.QueryService/{method}",
                b"\0" + struct.pack(">I", len(message)) + message,
                Content_Type="application/grpc-web+proto", X_Grpc_Web="1")
    out = b""
    while len(told) >= 5:
        n = struct.unpack(">I", told[1:5])[0]
        if not told[0] & 0x80:
            out += told[5:5 + n]
        told = told[5 + n:]
    return out


def parca_series(url, kind, selector="{}", until=None):
    """(labels, [(ns since 1970, value)]) of each series: the hour up to then, or to now."""
    until = until or time.time() + 60
    message = (field(1, kind + selector) + field(2, moment(until - 3600)) +
               field(3, moment(until)) + field(4, 1000))
    found = []
    for number, series in fields(ask(url, "QueryRange", message)):
        if number != 1:
            continue
        samples = [dict(fields(sample)) for key, sample in fields(series) if key == 2]
        labels = [tuple(text.decode() for _, text in sorted(fields(pair)))
                  for key, group in fields(series) if key == 1 for _, pair in fields(group)]
        found.append((dict(labels), [(time_ns(sample[1]), sample.get(2, 0)) for sample in samples]))
    return found


def time_ns(timestamp):
    found = dict(fields(timestamp))
    return found.get(1, 0) * NS_PER_S + found.get(2, 0)


def parca_points(url, kind, selector="{}", until=None):
    """(labels, [values]) of each series, likewise."""
    return [(labels, [value for _, value in samples])
            for labels, samples in parca_series(url, kind, selector, until)]


def pprof_of(told):
    return next((value for key, value in fields(told) if key == 6), b"")


def parca_profile(url, kind, selector="{}", until=None):
    """All of that hour merged, as a pprof."""
    until = until or time.time() + 60
    merge = field(1, kind + selector) + field(2, moment(until - 3600)) + field(3, moment(until))
    return pprof_of(ask(url, "Query", field(1, 2) + field(3, merge) + field(5, 1)))


def parca_changes(url, kind, selector, before_ns, after_ns):
    """{function: what it, and all that it called, holds more of}, as Parca compares two points."""
    sides = (field(number, field(3, field(1, moment_ns(ns)) + field(2, kind + selector)))
             for number, ns in ((1, before_ns), (2, after_ns)))
    told = ask(url, "Query", field(1, 1) + field(2, b"".join(sides)) + field(5, 2))
    top = next(value for key, value in fields(told) if key == 7)
    return dict(change_of(node) for key, node in fields(top) if key == 1)


def change_of(node):
    found = dict(fields(node))
    function = dict(fields(dict(fields(found[1])).get(3, b"")))
    change = found.get(4, 0)
    return function.get(3, b"").decode(), change - (1 << 64 if change >> 63 else 0)
