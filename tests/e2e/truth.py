# SPDX-License-Identifier: Apache-2.0
"""What a test program declares about itself, and whether a report agrees.

A truth is one comment line in the program's source:

  // truth: SCOPE: KEY=VALUE, KEY>=VALUE, …         of the program's own image
  // truth[RUN]@IMAGES: SCOPE: …                    of one run; of other images

SCOPE is `total`, `pages`, `complete`, `image`, `capture`, `site PATTERN` (heap) or
`page-site PATTERN`. A PATTERN names functions, innermost first, joined by ` from `; they need not
be adjacent. `^f` means that f itself called the allocator. Numbers of a site are summed over all
stacks that match; besides the report's own keys there are `stacks` (how many match) and
`frames(f)` (how often f occurs in each);
besides the report's totals, `bound_per_mille` (of the peak) and `peak_and_bound_bytes`. VALUE is an
integer expression or a word.
IMAGES: `0`, `1`, … by start; `fork` (every one), `fork1`, …; `exec`; `exe:NAME`.
"""
import ast
import functools
import operator
import re

LINE = re.compile(r"^\s*(?://|#) truth(?:\[([^\]]+)\])?(?:@([\w:.]+))?: (.*)$")
SAID = re.compile(r"^truth: (.*)$")
TERM = re.compile(r"([\w()]+)\s*(>=|<=|=)\s*(.+)$")
SCOPE = re.compile(r"^(total|pages|complete|image|capture|names|site .+?|page-site .+?): (.+)$")
SITE = re.compile(r"^((?:page-)?site .+?): (?=[\w()]+\s*(?:>=|<=|=))(.+)$")
COMPARE = {"=": operator.eq, ">=": operator.ge, "<=": operator.le}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.Div: operator.floordiv, ast.Pow: operator.pow}
# Whatever a program does not speak of must be zero: nothing lost, nothing invented.
MUST_BE_ZERO = ("unknown_frees", "lost_busy", "lost_full", "cut_stacks", "broken_stacks",
                "guessed_stacks", "fork_lost")
# How a process ended and which one matters most: nobody can tell from a store alone.
KNOWN_BY_WATCHING = ("end", "end_value", "shown")
TOTAL_KEYS = {"bytes": "allocated_bytes"}


class Wrong(Exception):
    """The report does not agree with the truth."""


def value_of(text):
    def walk(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        raise ValueError(text)
    try:
        return walk(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError):
        if not re.fullmatch(r"[\w.-]+", text):
            raise ValueError(f"neither a number nor a word: {text}") from None
        return text


class Truth:
    """One declared line, taken apart."""

    def __init__(self, run, images, text):
        self.run, self.images, self.text = run, images, text
        match = SITE.match(text) if "site " in text[:10] else SCOPE.match(text)
        if not match:
            raise ValueError(f"not a truth: {text}")
        self.scope = match.group(1)
        self.terms = []
        for part in match.group(2).split(", "):
            if self.scope == "names":
                self.terms.append((part, "=", True))
                continue
            term = TERM.match(part.strip())
            if not term:
                raise ValueError(f"not a term: {part} in {text}")
            self.terms.append((term.group(1), term.group(2), value_of(term.group(3).strip())))


def declared(source):
    """The truths in a program's source."""
    for line in source.splitlines():
        match = LINE.match(line)
        if match:
            yield Truth(match.group(1), match.group(2), match.group(3))


def said(output):
    """The truths a program printed itself, having kept its own books."""
    for line in output.splitlines():
        match = SAID.match(line)
        if match:
            yield Truth(None, None, match.group(1))


@functools.lru_cache(maxsize=None)
def bare_name(function):
    """A function's name without arguments, template arguments of the function, and clone marks."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", function or "")
    name = re.sub(r" ?\[clone [^\]]*\]", "", name)
    name = re.sub(r"\.(part|constprop|isra|cold|lto_priv)\.?\d*", "", name)
    name = re.sub(r" const$", "", name)
    for opening, closing in (("(", ")"), ("<", ">")):
        if name.endswith(closing) and not re.search(r"operator\W*$", name):
            depth, at = 0, len(name)
            while at > 0:
                at -= 1
                depth += (name[at] == closing) - (name[at] == opening)
                if depth == 0:
                    break
            name = name[:at].rstrip(":") if at > 0 else name
    return name


@functools.lru_cache(maxsize=None)
def same(function, wanted):
    name = bare_name(function)
    return any(name == word or name.endswith("::" + word) for word in wanted.split("|"))


def matches(site, pattern):
    names = pattern.split(" from ")
    frames = site["frames"]
    at = 0
    if names[0].startswith("^"):
        if not frames or not same(frames[0]["function"], names[0][1:]):
            return False
        names, at = names[1:], 1
    for name in names:
        while at < len(frames) and not same(frames[at]["function"], name):
            at += 1
        if at == len(frames):
            return False
        at += 1
    return True


def site_value(sites, key):
    counted = re.match(r"frames\((\w+)\)$", key)
    if key == "stacks":
        return len(sites)
    if counted:
        counts = {sum(same(frame["function"], counted.group(1)) for frame in site["frames"])
                  for site in sites}
        return counts.pop() if len(counts) == 1 else f"{sorted(counts)}"
    return sum(site[key] for site in sites)


def found_value(scope, key, report, capture):
    if scope == "total":
        totals = report["totals"]
        if key == "bound_per_mille":
            return 1000 * totals["peak_bound_bytes"] // max(totals["peak_bytes"], 1)
        if key == "peak_and_bound_bytes":
            return totals["peak_bytes"] + totals["peak_bound_bytes"]
        return totals[TOTAL_KEYS.get(key, key)]
    if scope == "pages":
        return report["pages"][key]
    if scope == "complete":
        return report["completeness"][key]
    if scope == "image":
        return report["image"][key]
    if scope == "capture":
        return capture.fact(key)
    if scope == "names":
        mangled = [frame["function"] for site in report["sites"] for frame in site["frames"]
                   if re.match(r"_Z|_R[A-Z]", frame["function"] or "")]
        return not mangled if not mangled else f"mangled {mangled[0]}"
    kind = "pages" if scope.startswith("page-site ") else "heap"
    pattern = scope.split(" ", 1)[1]
    sites = [site for site in report["sites"] if site["kind"] == kind and matches(site, pattern)]
    return site_value(sites, key)


def lost(report):
    """What is wrong may be told: that is another fault than a wrong number nobody speaks of."""
    told = [f"{key} {report['completeness'][key]}" for key in MUST_BE_ZERO
            if report["completeness"][key]]
    return f"; told as lost: {', '.join(told)}" if told else ""


def check(truth, report, capture):
    for key, how, wanted in truth.terms:
        if key in KNOWN_BY_WATCHING and not capture.supervised:
            continue
        found = found_value(truth.scope, key, report, capture)
        try:
            good = COMPARE[how](found, wanted)
        except TypeError:
            good = False
        if not good:
            raise Wrong(f"{truth.scope}: {key} is {found}, truth {how} {wanted}{lost(report)}")


def check_losses(truths, report):
    spoken_of = {key for truth in truths if truth.scope == "complete" for key, _, _ in truth.terms}
    for key in MUST_BE_ZERO:
        if key not in spoken_of and report["completeness"][key] != 0:
            raise Wrong(f"complete: {key} is {report['completeness'][key]}, none declared")
    if report["image"]["off_reason"]:
        raise Wrong(f"the recorder stepped aside: reason {report['image']['off_reason']}")


def check_sums(report):
    """A report must agree with itself: its sites add up to its totals."""
    heap = [site for site in report["sites"] if site["kind"] != "pages"]
    totals = report["totals"]
    for site_key, total_key in (("allocations", "allocations"), ("bytes", "allocated_bytes"),
                                ("frees", "frees"), ("freed_bytes", "freed_bytes"),
                                ("live_blocks", "live_blocks"), ("live_bytes", "live_bytes"),
                                ("temporary", "temporary"), ("resizes", "resizes"),
                                ("temporary_bytes", "temporary_bytes"),
                                ("resized_old_bytes", "resized_old_bytes"),
                                ("resized_new_bytes", "resized_new_bytes"),
                                ("moved_bytes", "moved_bytes"),
                                ("foreign_frees", "foreign_frees"),
                                ("looked_blocks", "looked_blocks"),
                                ("looked_bytes", "looked_bytes"),
                                ("touched_bytes", "touched_bytes")):
        summed = sum(site[site_key] for site in heap)
        if summed != totals[total_key]:
            raise Wrong(f"sites' {site_key} add up to {summed}, total says {totals[total_key]}")
    if totals["allocations"] - totals["frees"] != totals["live_blocks"]:
        raise Wrong("allocations - frees is not live_blocks")
    if totals["allocated_bytes"] - totals["freed_bytes"] != totals["live_bytes"]:
        raise Wrong("allocated - freed bytes is not live_bytes")
    at_peak = sum(site["peak_bytes"] for site in heap)
    if at_peak != totals["peak_bytes"]:
        raise Wrong(f"shares of the peak add up to {at_peak}, peak {totals['peak_bytes']}")
    if totals["peak_bytes"] + totals["peak_bound_bytes"] < totals["live_bytes"]:
        raise Wrong("the peak is below what is live at the end")
    for site in heap:
        if sum(n for _, n in site["sizes"]) != site["allocations"]:
            raise Wrong(f"size histogram is {site['sizes']}, of {site['allocations']}")


def check_roots(report):
    """Every stack through main goes on to the program's entry point."""
    loss = report["completeness"]
    if loss["broken_stacks"] or loss["cut_stacks"] or loss["guessed_stacks"]:
        return
    for site in report["sites"]:
        names = [frame["function"] for frame in site["frames"]]
        if "main" in names and names[-1] not in ("_start", "main"):
            raise Wrong(f"a stack through main ends in {names[-1]}, not in _start")
        if "main" in names and names[-1] == "main":
            raise Wrong("a stack ends in main: its root was lost")
