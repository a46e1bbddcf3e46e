# SPDX-License-Identifier: Apache-2.0
"""The tools that are compared: how each is put around a command. A peer that is not installed is
left out of the tables and named in the result as missing."""
import glob
import os
import shutil


class Peer:
    name = ""
    slow = False  # tens of times slower than native: gets a twentieth of the work, one workload

    def missing(self):
        """None, or what is not there."""
        return None

    def wrap(self, argv, output):
        """The command that runs argv under this tool; output is a path prefix for its files."""
        raise NotImplementedError

    def environment(self, output):
        return {}


class Plain(Peer):
    name = "plain"

    def wrap(self, argv, output):
        return list(argv)


class Tidemark(Peer):
    name = "tidemark"

    def __init__(self, command):
        self.command = str(command)

    def missing(self):
        return None if os.access(self.command, os.X_OK) else self.command

    def wrap(self, argv, output):
        return [self.command, "run", "-q", "-f", "-o", f"{output}.tide", "--", *argv]


class Heaptrack(Peer):
    name = "heaptrack"

    def missing(self):
        return None if shutil.which("heaptrack") else "heaptrack"

    def wrap(self, argv, output):
        return ["heaptrack", "-o", output, *argv]


class Dhat(Peer):
    name = "dhat"
    slow = True

    def missing(self):
        return None if shutil.which("valgrind") else "valgrind"

    def wrap(self, argv, output):
        return ["valgrind", "-q", "--tool=dhat", f"--dhat-out-file={output}.dhat", *argv]


class Gperftools(Peer):
    """Replaces the allocator too; what it adds is stated over the program with libc's."""
    name = "gperftools"
    slow = True

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/*/libtcmalloc.so.4"))
        self.library = found[0] if found else None

    def missing(self):
        return None if self.library else "libtcmalloc.so.4"

    def wrap(self, argv, output):
        return list(argv)

    def environment(self, output):
        # No dumps on the way: the cost of recording alone.
        return {"LD_PRELOAD": self.library, "HEAPPROFILE": f"{output}.hprof",
                "HEAP_PROFILE_ALLOCATION_INTERVAL": str(1 << 50),
                "HEAP_PROFILE_INUSE_INTERVAL": str(1 << 50)}


def all_peers(tidemark):
    return [Plain(), Tidemark(tidemark), Heaptrack(), Dhat(), Gperftools()]
