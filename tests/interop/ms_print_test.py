#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our massif files in the hands of ms_print and massif-visualizer.

Both must find as many snapshots as the file has, the same peak, and the same bytes; ms_print must
print every function of the peak's tree, whole. The judges are judged as well: a file with a '#' in
a name, or without its commands, must fail here.

usage: ms_print_test.py FILE…     exit 77 (skipped) when neither is installed
"""
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time


def facts(text):
    """What the file itself says: snapshots, the peak's number and bytes, the frames of its tree."""
    parts = text.split("#-----------\nsnapshot=")[1:]
    peak = next(i for i, part in enumerate(parts) if "heap_tree=peak" in part)
    size = int(re.search(r"mem_heap_B=(\d+)", parts[peak]).group(1))
    frames = re.findall(r"^ +n\d+: \d+ (0x.*)$", parts[peak], re.M)
    return {"snapshots": len(parts), "peak": peak, "bytes": size, "frames": frames}


def ms_print(path, want):
    done = subprocess.run(["ms_print", path], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return f"ms_print: status {done.returncode}: {done.stderr.strip()}"
    out = done.stdout
    if f"Number of snapshots: {want['snapshots']}\n" not in out:
        return "ms_print: another number of snapshots"
    marked = re.search(r"(\d+) \(peak\)", out)
    if not marked or int(marked.group(1)) != want["peak"]:
        return "ms_print: another peak"
    if f"({want['bytes']:,}B) (heap allocation functions)" not in out:
        return f"ms_print: the peak is not {want['bytes']} bytes"
    for frame in want["frames"]:
        if f"B) {frame}\n" not in out:
            return f"ms_print: does not show {frame!r}"
    return None


def visualizer(path, want):
    """It is a window without a way to end it, but says what it loaded."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": home, "XDG_RUNTIME_DIR": home}
        shown = subprocess.Popen(["massif-visualizer", path], stderr=subprocess.PIPE, env=env)
        text, until = "", time.monotonic() + 60
        while time.monotonic() < until and "peak cost" not in text and "invalid" not in text:
            if select.select([shown.stderr], [], [], 0.2)[0]:
                more = os.read(shown.stderr.fileno(), 65536).decode(errors="replace")
                text += more
                if not more:
                    break
        shown.kill()
        shown.wait()
    if not re.search(rf"^snapshots: {want['snapshots']}$", text, re.M):
        return "massif-visualizer: did not load all snapshots: " + text[-200:]
    if not re.search(rf"^peak: snapshot # {want['peak']} ", text, re.M):
        return "massif-visualizer: another peak"
    return None


def broken(text):
    """What must be refused, or noticed."""
    name = facts(text)["frames"][0]
    yield text.replace(name, name.replace(" (", "{closure#0} (", 1))
    yield re.sub(r"^cmd: .*\n", "", text, flags=re.M)


def main():
    judges = [judge for judge, tool in ((ms_print, "ms_print"), (visualizer, "massif-visualizer"))
              if shutil.which(tool)]
    if not judges:
        print("neither ms_print nor massif-visualizer is installed")
        return 77
    failures = []
    for name in sys.argv[1:]:
        text = pathlib.Path(name).read_text()
        for judge in judges:
            failures.append(judge(name, facts(text)))
        with tempfile.NamedTemporaryFile("w", suffix=".out") as bad:
            for worse in broken(text):
                bad.truncate(0)
                bad.seek(0)
                bad.write(worse)
                bad.flush()
                if judges[0] is ms_print and not ms_print(bad.name, facts(worse)):
                    failures.append(f"{name}: a broken file was not noticed")
    failures = [failure for failure in failures if failure]
    print("\n".join(failures) or f"ok with {len(judges)} readers")
    return 1 if failures or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
