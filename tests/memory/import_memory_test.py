#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of other tools take memory for their stacks, not for their size.

  import_memory_test.py TIDEMARK

Each format comes through a pipe, FILE_BYTES long and made while it is read, into a tidemark whose
address space is limited to less than half of that. It must end well and count every stack. Likewise
for what stacks become a tree for, of stacks that written out would not fit.
"""
import json
import resource
import subprocess
import sys
import zlib

import big_files

FILE_BYTES = 110 << 20
LIMIT_BYTES = 46 << 20
STACKS = {"DHAT": lambda n: n > FILE_BYTES // 8000}  # elsewhere as many as frames


def packed(pieces):
    packer = zlib.compressobj(1, wbits=31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


def look(tidemark, pieces, *words):
    """What a verb says of the file; bytes that were piped."""
    process = subprocess.Popen([tidemark, *words, "/dev/stdin"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
    n = 0
    try:
        for piece in pieces:
            process.stdin.write(piece)
            n += len(piece)
    except BrokenPipeError:
        pass  # it gave up: its status tells
    out, err = process.communicate()
    return process.returncode, out, err.decode().strip(), n


def check(tidemark, name, pieces, min_bytes):
    status, out, err, n = look(tidemark, pieces, "info", "--json")
    if status:
        return f"exit status {status} after {n} bytes: {err}"
    n_stacks = json.loads(out)["images"][0]["stacks"]
    if n < min_bytes:
        return f"only {n} bytes were made"
    if not STACKS.get(name, lambda n: n == big_files.FRAMES)(n_stacks):
        return f"{n_stacks} stacks"
    return None


def check_tree(tidemark, *words):
    status, out, err, n = look(tidemark, big_files.dhat(FILE_BYTES), *words)
    if status:
        return f"exit status {status} after {n} bytes: {err}"
    return None if b"function_" in out else f"no function in {len(out)} bytes"


def main():
    tidemark = sys.argv[1]
    trees = (("tree", "--invert", "--min-share", "0.1%"), ("export", "--to", "svg"))
    cases = [(name, name, make(FILE_BYTES), FILE_BYTES) for name, make in big_files.ALL.items()]
    cases += [(name, f"{name}, packed", packed(big_files.ALL[name](FILE_BYTES)), 1)
              for name in ("heaptrack", "pprof")]
    n_failed = 0
    for name, title, pieces, min_bytes in cases:
        why = check(tidemark, name, pieces, min_bytes)
        n_failed += why is not None
        print(f"{'FAILED' if why else 'ok    '} {title}{': ' + why if why else ''}", flush=True)
    for words in trees:
        why = check_tree(tidemark, *words)
        n_failed += why is not None
        print(f"{'FAILED' if why else 'ok    '} {' '.join(words)}{': ' + why if why else ''}",
              flush=True)
    print(f"{len(cases) + len(trees) - n_failed} passed, {n_failed} failed")
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
