#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder never calls malloc: an allocator that counts, preloaded behind it, sees exactly the
calls that it sees without us.

  silent_test.py LIBTIDEMARK COUNTING PROGRAM [RUNNER…]
"""
import os
import subprocess
import sys
import tempfile


def calls(preload, program, runner, directory):
    read_end, write_end = os.pipe()
    variables = {"LD_PRELOAD": preload, "COUNT_FD": str(write_end),
                 "TIDEMARK_OPTIONS": "out=" + os.path.join(directory, "silent.%p.store")}
    if runner:
        words = list(runner)
        for key, value in variables.items():
            words += ["-E", f"{key}={value}"]
        environment = dict(os.environ)
    else:
        words, environment = [], dict(os.environ, **variables)
    subprocess.run(words + [program], env=environment, pass_fds=[write_end], check=True)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        return [int(line) for line in pipe]


def main():
    library, counting, program, runner = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    with tempfile.TemporaryDirectory() as directory:
        without = calls(counting, program, runner, directory)
        recorded = calls(f"{library}:{counting}", program, runner, directory)
        stores = [name for name in os.listdir(directory) if name.endswith(".store")]
    print(f"calls without the recorder {without}, with it {recorded}, {len(stores)} stores")
    if not without or without != recorded or len(stores) != 2:
        sys.exit("the recorder allocates, or did not record")


main()
