# SPDX-License-Identifier: Apache-2.0
"""Heap budgets for tests: @pytest.mark.heap(max_peak="64MiB", leaked=0).

The numbers are those of Tidemark's recorder, where it is in the process (`tidemark run -- python3
-m pytest`), through the functions of its C header.
"""
import collections
import ctypes
import errno
import gc
import inspect
import os
import re
import unittest

import pytest

PROCESS, THREAD = 0, 1
BUDGETS = ("max_peak", "leaked", "max_total", "max_allocs")
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9,
         "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$", re.IGNORECASE)


class Stats(ctypes.Structure):
    """struct tidemark_stats."""
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("allocations", "deallocations", "reallocations", "bytes_allocated",
                 "bytes_deallocated")]
    _fields_ += [(name, ctypes.c_int64) for name in
                 ("bytes_reallocated", "current_blocks", "current_bytes", "max_blocks",
                  "max_bytes")]


class Region(ctypes.Structure):
    """struct tidemark_region."""
    _fields_ = [("opaque", ctypes.c_uint64 * 24)]


class Recorder:
    """What the recorder exports into this process."""

    def __init__(self):
        here = ctypes.CDLL(None, use_errno=True)
        self.begin_region = getattr(here, "tidemark_v1_region_begin", None)
        self.end_region = getattr(here, "tidemark_v1_region_end", None)
        self.is_there = self.begin_region is not None and self.end_region is not None

    @staticmethod
    def why_not():
        """Why there is none to ask, and what to do."""
        start = "start it with 'tidemark run -- python3 -m pytest'"
        try:
            with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
                came_later = any("/memfd:tidemark-agent-store" in line for line in maps)
        except OSError:
            came_later = False
        if came_later:
            return ("the recorder was put into this process after it had begun (by 'tidemark "
                    "attach', or because its Python is not one of glibc's), and cannot be asked; "
                    f"{start}, with a Python of glibc's")
        return f"no recorder in this process; {start}"

    @staticmethod
    def _check(status):
        if status == 0:
            return
        code = ctypes.get_errno()
        if code == errno.ENODATA:
            raise Unknown("the recorder takes samples only, was switched off meanwhile, or lost "
                          "something")
        raise Unknown(os.strerror(code))

    def begin(self, whose):
        region = Region()
        self._check(self.begin_region(ctypes.byref(region), ctypes.c_size_t(ctypes.sizeof(region)),
                                      whose))
        return region

    def end(self, region):
        stats = Stats()
        self._check(self.end_region(ctypes.byref(region), ctypes.byref(stats),
                                    ctypes.c_size_t(ctypes.sizeof(stats))))
        return stats


class Unknown(Exception):
    """The recorder is there and cannot tell."""


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def refuse(sentence):
    pytest.fail(f"heap({sentence}", pytrace=False)


def size_of(value, name):
    """Bytes of 4096, "64KiB", "1.5 MB"."""
    if is_count(value):
        return value
    found = SIZE.match(value) if isinstance(value, str) else None
    unit = UNITS.get(found[2].lower()) if found else None
    if unit is None:
        refuse(f"{name}={value!r}): not a size; write 4096 or \"64KiB\"")
    return int(float(found[1]) * unit)


def count_of(value, name):
    if not is_count(value):
        refuse(f"{name}={value!r}): a number from 0 on is wanted")
    return value


class Budget:
    """What a mark asks for."""

    def __init__(self, mark, item):
        given = dict(mark.kwargs)
        self.whose = THREAD if given.pop("thread", False) else PROCESS
        self.warmup = count_of(given.pop("warmup", 0), "warmup")
        if mark.args or set(given) - set(BUDGETS):
            wrong = sorted(set(given) - set(BUDGETS)) or mark.args
            refuse(f"): {wrong!r}: it takes {', '.join(BUDGETS)}, thread and warmup, by name")
        if not given:
            refuse(f"): no limit; {', '.join(BUDGETS)} are some")
        if self.warmup and (is_of_unittest(item) or inspect.iscoroutinefunction(item.obj)):
            refuse("warmup=): only for a plain function, which can be called more than once")
        self.limits = {name: (count_of if name == "max_allocs" else size_of)(given[name], name)
                       for name in BUDGETS if name in given}

    def broken(self, stats):
        """A line for each limit that was not kept."""
        blocks = f"{stats.current_blocks} block{'' if stats.current_blocks == 1 else 's'}"
        found = {"max_peak": (stats.max_bytes, "bytes held at once"),
                 "leaked": (stats.current_bytes, f"bytes left, in {blocks}"),
                 "max_total": (stats.bytes_allocated, "bytes allocated in all"),
                 "max_allocs": (stats.allocations + stats.reallocations, "allocations")}
        return [f"heap budget broken: {found[name][0]:,} {found[name][1]}; {name} is {limit:,}"
                for name, limit in self.limits.items() if found[name][0] > limit]


recorder = Recorder()
UNJUDGED = "heap_budget_not_judged"  # a property of the test, with why: workers hand it on


def pytest_addoption(parser):
    parser.getgroup("tidemark").addoption(
        "--heap-required", action="store_true",
        help="fail tests with a heap budget where there is no recorder")


def pytest_configure(config):
    config.addinivalue_line("markers", "heap(max_peak=, leaked=, max_total=, max_allocs=, "
                            "thread=False, warmup=0): a budget of heap memory (pytest-tidemark)")


def is_of_unittest(item):
    """Such a test is run by unittest, with its setUp() and tearDown()."""
    return isinstance(getattr(item, "cls", None), type) and issubclass(item.cls, unittest.TestCase)


def budget_of(item):
    """What is to be judged; None: nothing, or nobody counts, which is noted."""
    mark = item.get_closest_marker("heap")
    budget = Budget(mark, item) if mark else None
    if not budget or recorder.is_there:
        return budget
    if item.config.getoption("heap_required"):
        pytest.fail(recorder.why_not(), pytrace=False)
    item.user_properties.append((UNJUDGED, recorder.why_not()))
    return None


def counted(budget):
    """Around the test, as a hook's wrapper is. A test that fails has failed by itself."""
    gc.collect()
    try:
        region = recorder.begin(budget.whose)
    except Unknown as why:
        pytest.fail(f"the heap's numbers cannot be told: {why}", pytrace=False)
    outcome = yield
    gc.collect()
    try:
        broken = budget.broken(recorder.end(region))
    except Unknown as why:
        broken = [f"the heap's numbers cannot be told: {why}"]
    if broken and not outcome.excinfo:
        failure = pytest.fail.Exception("\n".join(broken), pytrace=False)
        if not hasattr(outcome, "force_exception"):  # pluggy before 1.1
            raise failure
        outcome.force_exception(failure)


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    budget = budget_of(pyfuncitem)
    if not budget:
        yield
        return
    names = pyfuncitem._fixtureinfo.argnames  # as pytest itself calls it
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    for _ in range(budget.warmup):
        pyfuncitem.obj(**arguments)
    yield from counted(budget)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    budget = budget_of(item) if is_of_unittest(item) else None
    if budget:
        yield from counted(budget)
    else:
        yield


def pytest_terminal_summary(terminalreporter):
    reports = [report for group in terminalreporter.stats.values() for report in group
               if getattr(report, "when", None) == "call"]
    found = [why for report in reports for name, why in report.user_properties if name == UNJUDGED]
    for why, n in collections.Counter(found).items():
        terminalreporter.write_line(f"{n} heap budgets were not judged: {why}")
