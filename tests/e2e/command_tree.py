# SPDX-License-Identifier: Apache-2.0
"""tidemark tree: the shape of a program that is known, in all directions and formats."""
import csv
import io

import command_look
import report_json
from ground import expect, test

# 40 blocks: 10 of 1000 bytes by left and 10 of 3000 by right, both through inner; 10 of 100 at the
# end of down calling itself 20 times; 10 of 1 through even and odd, which call each other.
PROGRAM = """
#include <stdlib.h>
void *kept[40];
#define SITE __attribute__((noipa))
SITE void inner(int i, int n) { kept[i] = malloc(n); }
SITE void left(int i) { inner(i, 1000); __asm__(""); }
SITE void right(int i) { inner(i, 3000); __asm__(""); }
SITE int down(int i, int n)
{
  if (n > 1) return down(i, n - 1) + 1;
  kept[i] = malloc(100);
  return kept[i] == 0;
}
int even(int, int);
SITE int odd(int i, int n) { return even(i, n - 1) + 1; }
SITE int even(int i, int n) { if (n) return odd(i, n - 1) + 1; kept[i] = malloc(1); return 0; }
int main(void)
{
  int sum = 0;
  for (int i = 0; i < 10; i++) {
    left(i), right(i + 10);
    sum += down(i + 20, 20) + even(i + 30, 6);
  }
  return sum != 10 * (19 + 6);
}"""
WHOLE = 41010


def capture(ground):
    done = ground.record("-q", "-f", "-o", "x.tide", "--", ground.build("prog", PROGRAM))
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return "x.tide"


def tree_of(ground, *words):
    done = ground.run(ground.tidemark, "tree", "--json", *words)
    expect(done.status == 0 and not done.stderr, f"{words}: {done.status} {done.stderr}")
    found = report_json.loads_tree(done.stdout)
    check_sums(found["tree"])
    return found


def check_sums(node):
    below = sum(child["total"] for child in node["children"])
    rest = node.get("more", {"total": 0})["total"]
    expect(node["total"] == node["self"] + below + rest, f"{node}")
    for child in node["children"]:
        check_sums(child)


def shape(node):
    """{function: (total, self, how deep, what is below)}"""
    return {child["function"]: (child["total"], child["self"], child["deep"], shape(child))
            for child in node["children"]}


@test
def tree_both_ways(ground):
    tide = capture(ground)
    found = shape(tree_of(ground, tide)["tree"])
    want = {"main": (WHOLE, 0, 1, {
        "right": (30000, 0, 1, {"inner": (30000, 30000, 1, {})}),
        "left": (10000, 0, 1, {"inner": (10000, 10000, 1, {})}),
        "down": (1000, 1000, 20, {}),
        "even": (10, 0, 3, {"odd": (10, 0, 3, {"even": (10, 10, 1, {})})})})}
    expect(found == want, f"{found}")
    found = shape(tree_of(ground, "--invert", tide)["tree"])
    expect(found["inner"] == (40000, 0, 1, {
        "right": (30000, 0, 1, {"main": (30000, 30000, 1, {})}),
        "left": (10000, 0, 1, {"main": (10000, 10000, 1, {})})}), f"{found}")
    expect(found["down"] == (1000, 0, 20, {"main": (1000, 1000, 1, {})}), f"{found}")
    for words in ((), ("--invert",), ("--all-frames",), ("--lines",), ("--sort", "count"),
                  ("--sort", "leak", "--by", "blocks"), ("--at", "end"), ("--range", "..")):
        tree = tree_of(ground, *words, tide)
        blocks = tree["question"]["unit"] == "blocks"
        expect(tree["tree"]["total"] == tree["wanted"] == (40 if blocks else WHOLE), f"{words}")


@test
def tree_of_callers_and_callees(ground):
    tide = capture(ground)
    found = shape(tree_of(ground, "--callers", "^inner$", tide)["tree"])
    expect(found == {"inner": (40000, 0, 1, {
        "right": (30000, 0, 1, {"main": (30000, 30000, 1, {})}),
        "left": (10000, 0, 1, {"main": (10000, 10000, 1, {})})})}, f"{found}")
    for function, total in (("down", 1000), ("even", 10), ("odd", 10), ("main", WHOLE)):
        for option in ("--callers", "--callees"):
            tree = tree_of(ground, option, f"^{function}$", tide)["tree"]
            expect(tree["total"] == total, f"{option} {function}: {tree['total']}")
            expect(list(shape(tree)) == [function], f"{option} {function}: {list(shape(tree))}")
    found = shape(tree_of(ground, "--ignore", "^(down|odd)$", "--hide", "^inner$", tide)["tree"])
    expect(found == {"main": (40000, 0, 1, {"right": (30000, 30000, 1, {}),
                                            "left": (10000, 10000, 1, {})})}, f"{found}")


@test
def tree_text(ground):
    tide = capture(ground)
    text = ground.run(ground.tidemark, "tree", tide).stdout
    lines = [line.split() for line in text.splitlines()]
    expect(lines[0] == "prog: 40.0 KiB at the peak".split(), text)
    expect(lines[2][:5] == ["100.0", "%", "40.0", "KiB", "main"], text)
    expect(lines[3][:5] == ["73.2", "%", "29.3", "KiB", "├─right"], text)
    expect(lines[4][:4] == ["29.3", "KiB", "│", "inner"], text)  # an only child: nothing but self
    expect("└─… 1 more" in text and "├─down ×20" in text and "--min-share 0" in text, text)
    text = ground.run(ground.tidemark, "tree", "--min-share", "0", tide).stdout
    expect("even ×3" in text and "more" not in text, text)
    text = ground.run(ground.tidemark, "tree", "--min", "2K", "-n", "1", tide).stdout
    expect("├─… 3 more" in text and "─left" not in text, text)
    text = ground.run(ground.tidemark, "tree", "--depth", "1", tide).stdout
    expect("└─… 4 more" in text, text)
    text = ground.run(ground.tidemark, "tree", "--function", "^nobody$", tide).stdout
    expect(text == "prog: none of 40.0 KiB at the peak\n", text)
    text = ground.run(ground.tidemark, "tree", "--md", tide).stdout
    expect(text.startswith("```text\nprog: ") and text.endswith("\n```\n"), text)


@test
def tree_on_terminals(ground):
    tide = capture(ground)
    for columns in (60, 80, 160):
        text, _ = command_look.on_terminal(ground, "tree", tide, "--min-share", "0", rows=99,
                                           columns=columns, NO_COLOR="1")
        widest = max(map(len, text.splitlines()))
        expect(widest <= columns, f"{widest} columns on {columns}:\n{text}")
        expect(("prog.c" in text or ":5" in text) == (columns > 60), f"locations:\n{text}")
    text, _ = command_look.on_terminal(ground, "tree", tide, rows=99, LC_ALL="C", NO_COLOR="1")
    expect(text.isascii() and "`-... 1 more" in text, text)
    expect(command_look.is_paged(ground, "tree", tide, rows=6), "a long tree is not paged")
    expect(not command_look.is_paged(ground, "tree", "--csv", tide, rows=3), "CSV is paged")


@test
def tree_csv(ground):
    tide = capture(ground)
    for words in ((), ("-n", "1"), ("--depth", "2"), ("--min", "2K"), ("--hide", ".")):
        text = ground.run(ground.tidemark, "tree", "--csv", *words, tide).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        total = sum(int(row["self"]) for row in rows)
        expect(rows and total == WHOLE, f"{words}: {total}\n{text}")
        by_number = {row["node"]: row for row in rows}
        for row in rows:
            parent = by_number.get(row["parent"])
            expect(int(row["depth"]) == (int(parent["depth"]) + 1 if parent else 1), f"{row}")
            if row["function"] not in ("(rest)", "(hidden)"):
                below = [int(r["total"]) for r in rows if r["parent"] == row["node"]]
                expect(int(row["total"]) == int(row["self"]) + sum(below), f"{row}")


@test
def tree_refuses(ground):
    tide = capture(ground)
    for words, part in ((("--json", "--csv"), "one of --json"), (("--min-share", "5"), "0.5%"),
                        (("--callers", "a("), "--callers: \"a(\" is no regular expression"),
                        (("--callers", "a", "--callees", "b"), "one of --callers"),
                        (("--callees", "a", "--focus", "b"), "one of --callees"),
                        (("--invrt",), "did you mean --invert?"),
                        (("--sort", "count", "--min", "1K"), "--min"), (("x", "y"), "one file")):
        done = ground.run(ground.tidemark, "tree", *words, tide)
        expect(done.status == 2 and part in done.stderr and not done.stdout,
               f"{words}: {done.status} {done.stderr!r}")
