# SPDX-License-Identifier: Apache-2.0
"""Is the overhead true that a report says? Processor time of whole trees, with and without.

What the processes took with the recorder, and what tidemark took beside them, is the kernel's count
in both; only what they would have taken without is estimated by the one and measured by the other.
The least of several runs counts: what else the machine does only adds.
"""
import json
import subprocess

import measure

CLOSE_ENOUGH = 0.25  # of what recording adds, where it adds a tenth or more
FEW_POINTS = 0.03    # else


def workloads(bench, programs, root):
    tree = bench.scratch / "tree.sh"
    tree.write_text("i=0; while [ $i -lt %s ]; do /bin/true; i=$(expr $i + 1); done\n"
                    % bench.size("200", "10"))
    source = bench.scratch / "work.cpp"
    source.write_text("#include <iostream>\n#include <map>\n#include <regex>\n#include <string>\n"
                      "int main() { std::map<std::string, int> m; m[\"a\"] = 1;\n"
                      "std::cout << std::regex_match(\"ab\", std::regex(\"a+b\")) << m.size(); }\n")
    return programs + [
        ("g++ -O1, a tree of four", ["g++", "-O1", "-c", str(source), "-o", "/dev/null"], {}, None),
        ("400 short processes of a shell", ["sh", str(tree)], {}, None),
        ("git log --stat", ["git", "-C", str(root), "log", "--stat", "-n", "200"], {}, None),
    ]


def cost_of(tidemark, capture):
    told = subprocess.run([str(tidemark), "report", "--json", str(capture)], capture_output=True,
                          text=True, check=True, env=measure.environment({})).stdout
    cost = json.loads(told)["capture"]["cost"]
    return {key: value / 1e9 for key, value in cost.items()}


def judge(plain_s, costs):
    """Said and true ratio of one workload, of the run that took least."""
    least = min(costs, key=lambda cost: cost["cpu_ns"])
    spent = least["cpu_ns"] + least["supervisor_ns"]
    said = spent / max(least["cpu_ns"] - least["recorder_ns"], 1e-9)
    true = spent / plain_s
    room = CLOSE_ENOUGH * (true - 1) if true >= 1.1 else FEW_POINTS
    return {"said": said, "true": true, "within": abs(said - true) <= room}


def said(bench, build, programs, root, say):
    rows = []
    output = bench.scratch / "said.tide"
    for name, argv, env, stdin in workloads(bench, programs, root):
        say(f"overhead said: {name}")
        plain, costs = [], []
        for _ in range(max(bench.repeats, 1)):
            plain.append(measure.run(argv, env, stdin)["cpu_s"])
            measure.run([str(build / "tidemark"), "run", "-q", "-f", "-o", str(output), "--",
                         *argv], env, stdin)
            costs.append(cost_of(build / "tidemark", output))
        rows.append({"workload": name, "plain_s": measure.summary(plain),
                     **judge(min(plain), costs)})
    return rows

