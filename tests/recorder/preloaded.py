#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a program with a library preloaded into it, and into nothing else.

  preloaded.py LIBRARY PROGRAM [RUNNER…]      RUNNER: an emulator and its options
"""
import os
import subprocess
import sys
import tempfile

library, program, runner = sys.argv[1], sys.argv[2], sys.argv[3:]
with tempfile.TemporaryDirectory() as directory:
    variables = {"LD_PRELOAD": library,
                 "TIDEMARK_OPTIONS": "out=" + os.path.join(directory, "%n.%p.store")}
    if runner:
        words = list(runner)
        for key, value in variables.items():
            words += ["-E", f"{key}={value}"]
        status = subprocess.run(words + [program]).returncode
    else:
        status = subprocess.run([program], env=dict(os.environ, **variables)).returncode
sys.exit(status if status >= 0 else 128 - status)
