# SPDX-License-Identifier: Apache-2.0
"""What a look at the memory of a large process costs: `tidemark maps`, which does what the
supervisor of a recording does now and then. The process stands still meanwhile and is not stopped.
"""
import subprocess

import measure

GIB = 1 << 30
MIB = 1 << 20
# Words, bytes of a block, bytes in all, threads.
HEAPS = [("10 GiB in blocks of 1 MiB", MIB, 10 * GIB, 1),
         ("10 GiB in blocks of 16 to 4,096 bytes, 8 arenas", -4096, 10 * GIB, 8),
         ("1 GiB in blocks of 64 bytes", 64, GIB, 1)]


def look_at(tidemark, argv, recorder):
    """Processor seconds, peak and RSS of the process, with all of its blocks and with a half."""
    child = subprocess.Popen(recorder + argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    found = []
    with child:
        for _ in range(2):
            if not any(line.strip() == "ready" for line in child.stdout):
                raise measure.Failed(f"{' '.join(argv)}: ended before it was ready")
            pid = measure.children_of(child.pid)[0] if recorder else child.pid
            _, spent, peak = measure.run_alone([tidemark, "maps", str(pid)], {})
            found.append({"cpu_s": spent, "peak_bytes": peak, "rss_bytes": rss_of(pid)})
            child.stdin.write("\n")
            child.stdin.flush()
        child.stdin.close()
        child.stdout.read()
    return found


def rss_of(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Rss:"))


def looks(bench, build_dir, say):
    tidemark, rows = str(build_dir / "tidemark"), []
    for words, size, whole, threads in HEAPS:
        mean = size if size > 0 else 8 - size // 2
        n_live = bench.size(whole, whole // 256) // (mean + 16)
        argv = [bench.pairs, "hold", "-l", str(n_live), "-s", str(size), "-t", str(threads)]
        run = [tidemark, "run", "-q", "-f", "-o", str(bench.scratch / "looks.tide")]
        for how, recorder in (("recorded", run), ("not recorded", [])):
            say(f"looks: {words}, {how}")
            full, half = look_at(tidemark, argv, recorder)
            rows.append({"words": words, "how": how, "n_live": n_live, "full": full, "half": half})
    return rows
