# SPDX-License-Identifier: Apache-2.0
"""Further checks that single programs ask for by name, made after each of their two runs."""
import time

import record


def nothing(scratch):
    """Most programs need none."""
    del scratch


def daemon(scratch):
    """The daemon outlives the command by a second and a half and leaves a file behind."""
    left = scratch / "daemon.done"
    for _ in range(60):
        if left.exists():
            left.unlink()
            return
        time.sleep(0.1)
    raise record.Failure("the daemon did not live to its end")
