# SPDX-License-Identifier: Apache-2.0
"""Running commands and reading clocks and memory. Timings are reported, never judged."""
import os
import pathlib
import platform
import select
import socket
import statistics
import subprocess
import sys
import time


class Failed(Exception):
    """A command did not do what it was asked; the message says which and how."""


def summary(values):
    """Median, lowest and highest of repeated values, and the mean of the lowest eighth."""
    values = sorted(values)
    return {"median": statistics.median(values), "low": values[0], "high": values[-1],
            "low_eighth": statistics.mean(values[:max(1, len(values) // 8)]),
            "repeats": len(values)}


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "CPU part")):
            model = line.split(":", 1)[1].strip()
            break
    memory_kib = int(pathlib.Path("/proc/meminfo").read_text().split()[1])
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": round(memory_kib / 2**20, 1),
            "arch": platform.machine(), "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()), "system": system_name()}


def system_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown"


def commit(root):
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True).stdout
    dirty = "+" if git("status", "--porcelain", "--untracked-files=no").strip() else ""
    return (git("rev-parse", "--short=12", "HEAD").strip() or "unknown") + dirty


def environment(extra):
    # A clean, fixed environment: what a shell exports must not decide a number.
    base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C",
            "TIDEMARK_CACHE": "off"}
    return {**base, **extra}


def run(argv, env=None, stdin=None, check=True):
    """Wall and CPU seconds (of the whole tree that was waited for) and what it printed."""
    before = os.times()
    start = time.monotonic()
    done = subprocess.run(argv, env=environment(env or {}), input=stdin, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
    wall = time.monotonic() - start
    after = os.times()
    if check and done.returncode:
        raise Failed(f"{' '.join(argv)}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    cpu = (after.children_user + after.children_system
           - before.children_user - before.children_system)
    return {"wall_s": wall, "cpu_s": cpu, "stdout": done.stdout}


# A process counts the memory of the one it was forked from as its own, so the command is the child
# of a small one. Its last line on standard error is the answer.
ALONE = """
import os, sys, time
start = time.monotonic()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
print("", time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
      file=sys.stderr)
sys.exit(min(os.waitstatus_to_exitcode(status) % 256, 125))
"""


def run_alone(argv, env, stdin=None, stdout=None):
    """Wall seconds, processor seconds and peak bytes of one command."""
    with open(stdin or os.devnull, "rb") as source, open(stdout or os.devnull, "wb") as output:
        done = subprocess.run([sys.executable, "-S", "-c", ALONE, *argv], env=environment(env),
                              stdin=source, stdout=output, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode:
        raise Failed(f"{' '.join(argv)}: status {done.returncode}: {said[-300:]}")
    wall, spent, peak_kib = said.splitlines()[-1].split()
    return float(wall), float(spent), int(peak_kib) * 1024


def wait_for_socket(path, server):
    for _ in range(600):
        if server.poll() is not None:
            raise Failed(f"{path}: its server ended with status {server.returncode}")
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(path))
                return
        except OSError:
            time.sleep(0.05)
    raise Failed(f"{path}: nobody listened there within 30 s")


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            pass
    return found


def tree_of(pid):
    whole = [pid]
    for member in whole:
        whole += children_of(member)
    return whole


def memory_of_tree(pid):
    """Bytes in memory over a process and its descendants, each shared page counted once."""
    total_kib = 0
    for member in tree_of(pid):
        try:
            text = pathlib.Path(f"/proc/{member}/smaps_rollup").read_text()
        except OSError:
            continue
        total_kib += sum(int(line.split()[1]) for line in text.splitlines()
                         if line.startswith("Pss:"))
    return total_kib * 1024


def memory_in_use(pid):
    """Bytes of a process and its descendants: pages of their own and of files, shared ones once,
    and memory files that they hold open, mapped or not."""
    total, memory_files = 0, {}
    for member in tree_of(pid):
        try:
            text = pathlib.Path(f"/proc/{member}/smaps_rollup").read_text()
            total += 1024 * sum(int(line.split()[1]) for line in text.splitlines()
                                if line.startswith(("Pss_Anon:", "Pss_File:")))
            for fd in pathlib.Path(f"/proc/{member}/fd").iterdir():
                if os.readlink(fd).startswith("/memfd:"):
                    status = fd.stat()
                    memory_files[status.st_ino] = status.st_blocks * 512
        except OSError:
            continue  # it has ended
    return total + sum(memory_files.values())


def run_watched(argv, env=None):
    """The most memory that its processes had together at any look."""
    child = subprocess.Popen(argv, env=environment(env or {}), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak_bytes = 0
    while child.poll() is None:
        peak_bytes = max(peak_bytes, memory_in_use(child.pid))
        time.sleep(0.02)
    if child.returncode:
        raise Failed(f"{' '.join(argv)}: status {child.returncode}")
    return peak_bytes


def hold_memory(argv, env=None, times=1, lag_s=1):
    """Memory of everything that runs when the program says "ready", so many times; then it may
    go."""
    child = subprocess.Popen(argv, env=environment(env or {}), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = []
    for _ in range(times):
        for line in child.stdout:
            if line.strip() == "ready":
                break
        else:
            raise Failed(f"{' '.join(argv)}: ended before it was ready")
        time.sleep(lag_s)  # helpers that lag behind the program catch up
        found.append(memory_of_tree(child.pid))
        child.stdin.write("\n")
        child.stdin.flush()
    child.stdin.close()
    child.stdout.read()
    if child.wait():
        raise Failed(f"{' '.join(argv)}: status {child.returncode}")
    return found


def finish_time(argv, env=None):
    """Seconds from the end of the first child of argv's process to the end of argv itself."""
    parent = subprocess.Popen(argv, env=environment(env or {}), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children = []
    while not children and parent.poll() is None:
        children = children_of(parent.pid)
    if not children:
        raise Failed(f"{' '.join(argv)}: no child seen")
    watch = os.pidfd_open(children[0])
    select.select([watch], [], [])  # readable once the child has ended, reaped or not
    start = time.monotonic()
    os.close(watch)
    if parent.wait():
        raise Failed(f"{' '.join(argv)}: status {parent.returncode}")
    return time.monotonic() - start
