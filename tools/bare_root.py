# SPDX-License-Identifier: Apache-2.0
"""Bare Debian systems, in which the package is installed and used (tests/release/run.py).

mmdebstrap makes one of the mirror that apt uses here: dpkg, apt and what these need, 20 to 30
seconds of a processor. Only root can.
"""
import pathlib
import re
import subprocess
import urllib.request

LISTS = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
LEAVE_OUT = ("locale",)


def mirror():
    """Where apt has its packages from; None: nowhere."""
    for path in filter(pathlib.Path.exists, map(pathlib.Path, LISTS)):
        text = path.read_text(encoding="utf-8")
        found = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?) +(\S+)", text, re.M)
        if found:
            return found.group(1).rstrip("/")
    return None


def is_served(suite):
    """The mirror has this Debian."""
    try:
        with urllib.request.urlopen(f"{mirror()}/dists/{suite}/InRelease", timeout=30):
            return True
    except (ValueError, OSError):
        return False


def make(suite, folder):
    """Leaves apt's lists in it, so that more can be installed at once."""
    words = ["--variant=apt", "--quiet", "--format=directory", "--skip=cleanup/apt/lists",
             '--aptopt=Acquire::Languages "none"',
             *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LEAVE_OUT)]
    done = subprocess.run(["mmdebstrap", *words, suite, folder, mirror()], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise OSError(f"mmdebstrap of {suite}: {done.stderr[-900:]}")
    subprocess.run(["cp", "-L", "/etc/resolv.conf", folder / "etc/resolv.conf"], check=True)
    return folder


def command(folder, script):
    """The words that run a script in there, with processes of its own."""
    return ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={folder}/proc",
            "chroot", folder, "env",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
            "LC_ALL=C.UTF-8", "HOME=/root", "sh", "-euc", script]
