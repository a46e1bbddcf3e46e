# SPDX-License-Identifier: Apache-2.0
"""A suite of Rust tests, each under a profiler: ours beside the crate dhat, and none at all."""
import sys

import measure


def programs(bench, root):
    """What to run, by name; None: no cargo, or no crates."""
    sys.path.append(str(root / "tests"))
    import crates
    try:
        built = crates.build_crate("tests/interop/dhat_rs", root / "build").parent
    except (crates.Missing, crates.Broken) as why:
        return None, str(why)
    n = str(bench.size(200, 5))
    recorded = [str(root / "build/tidemark"), "run", "-q", "-f", "-o",
                str(bench.scratch / "s.tide")]
    return {"plain": [str(built / "suite"), n],
            "tidemark": [*recorded, "--", str(built / "suite"), n, "profiler"],
            "dhat crate": [str(built / "suite-dhat"), n]}, n


def suites(bench, root, say):
    found, told = programs(bench, root)
    if not found:
        say(f"suites: left out: {told}")
        return None
    spent = {name: [] for name in found}
    for i in range(bench.repeats):
        say(f"suites: {i + 1} of {bench.repeats}")
        for name, argv in found.items():
            wall_s, cpu_s, _ = measure.run_alone(argv, {})  # times() counts in hundredths
            spent[name].append({"wall_s": wall_s, "cpu_s": cpu_s})
    return {"n_tests": int(told),
            "cpu_s": {name: measure.summary([one["cpu_s"] for one in runs])
                      for name, runs in spent.items()},
            "wall_s": {name: measure.summary([one["wall_s"] for one in runs])
                       for name, runs in spent.items()}}
