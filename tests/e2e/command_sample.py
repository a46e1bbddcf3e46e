# SPDX-License-Identifier: Apache-2.0
"""Samples: estimates that are right in the mean and as far off as they say, of every way in, and
that nothing else is claimed. Seeds are given, so that a run is as good as the next."""
import math
import platform
import re
import shutil
import signal
import subprocess

import record
from ground import expect, finish, test

# What each function allocates is known: sizes from 8 B to 8 MiB.
MIX = r"""
#include <stdlib.h>
#include <string.h>
static void *kept[4096];
#define PLACE(name) __attribute__((noinline)) static void *name(size_t n) \
  { void *p = malloc(n); __asm__("" ::"r"(p)); return p; }
PLACE(small) PLACE(large) PLACE(mixed) PLACE(passing)
__attribute__((noinline)) static void *resized(void *old, size_t n)
  { void *p = realloc(old, n); __asm__("" ::"r"(p)); return p; }
int main(void)
{
  int n = 0;
  for (int i = 0; i < 2000; i++) kept[n++] = small(40);
  for (int i = 0; i < 4; i++) kept[n++] = large(8 << 20);
  for (int i = 0; i < 1000; i++) kept[n++] = mixed(i % 50 ? 8 + i % 400 : 200000);
  for (int i = 0; i < 20000; i++) free(passing(i % 1000));
  for (int i = 0; i < 8000; i++) free(resized(resized(NULL, 1 + i % 90), 900));
  return n != 3004;
}"""
MIX_BYTES = {
    "small": 2000 * 40,
    "large": 4 * (8 << 20),
    "mixed": sum(8 + i % 400 if i % 50 else 200000 for i in range(1000)),
    "passing": sum(i % 1000 for i in range(20000)),
    "resized": sum(1 + i % 90 + 900 for i in range(8000)),
}
MIX_BLOCKS = {"small": 2000, "large": 4, "mixed": 1000, "passing": 20000, "resized": 16000}

# Every block ends: freed by its own thread, by another one, resized by either, to nothing, aligned.
ENDS = r"""
#include <pthread.h>
#include <stdlib.h>
enum { THREADS = 8, BLOCKS = 4000 };
static void *blocks[THREADS][BLOCKS];
static void *make(void *context)
{
  void **mine = context;
  for (int i = 0; i < BLOCKS; i++) {
    size_t n = 1 + i % 3000;
    size_t whole = n / 64 * 64 + 64;
    mine[i] = i % 3 == 0 ? malloc(n) : i % 3 == 1 ? calloc(2, n) : aligned_alloc(64, whole);
    if (i % 5 == 0) mine[i] = realloc(mine[i], 2 * n);
    if (i % 7 == 0) mine[i] = realloc(mine[i], n / 2 + 1);
    free(malloc(0));
  }
  return NULL;
}
static void *end(void *context)
{
  void **others = context;
  for (int i = 0; i < BLOCKS; i++) {
    if (i % 4 == 0) others[i] = realloc(others[i], 1 + i % 2000);
    if (i % 4 == 1) others[i] = realloc(others[i], 0);
    free(others[i]);
  }
  return NULL;
}
int main(void)
{
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, make, blocks[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, end, blocks[THREADS - 1 - i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return 0;
}"""

FORKS = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[3][2000];
__attribute__((noinline)) static void in_child(int k)
{
  for (int i = 0; i < 2000; i++) kept[k][i] = malloc(100);
}
int main(void)
{
  for (int k = 0; k < 2; k++) {
    int status = 1;
    pid_t child = fork();
    if (!child) { in_child(k); for (int i = 0; i < 1000; i++) free(kept[k][i]); _exit(0); }
    if (waitpid(child, &status, 0) != child || status) return 1;
  }
  in_child(2);
  return 0;
}"""

MANY = r"""
#include <stdlib.h>
static void *kept[2000000];
int main(void) { for (int i = 0; i < 2000000; i++) kept[i] = malloc(24); return !kept[1999999]; }
"""

# No allocator has so many bytes, and the thread's samples go on as if it had not been asked.
TOO_MANY = r"""
#include <stdint.h>
#include <stdlib.h>
__attribute__((noinline)) static void *after(size_t n)
  { void *p = malloc(n); __asm__("" ::"r"(p)); return p; }
int main(void)
{
  volatile size_t sizes[] = {SIZE_MAX, SIZE_MAX - 100, (1ull << 63) + (1ull << 40), 1ull << 63};
  void *volatile kept = after(10);
  for (int i = 0; i < 4; i++) {
    if (malloc(sizes[i]) || realloc(kept, sizes[i])) return 1;
    for (int k = 0; k < 5000; k++) free(after(100));
  }
  free(kept);
  return 0;
}"""

# The last of what it asks for are refused, all by realloc.
REFUSED = r"""
#include <stdlib.h>
#include <sys/resource.h>
enum { EACH = 4 << 20, MOST = 64, AGAIN = 50 };
int main(void)
{
  struct rlimit limit = {128 << 20, 128 << 20};
  void *kept[MOST] = {0};
  int n = 0;
  if (setrlimit(RLIMIT_AS, &limit)) return 1;
  while (n < MOST && (kept[n] = realloc(NULL, EACH))) n++;
  if (!n || n == MOST) return 2;
  for (int i = 0; i < AGAIN; i++) if (realloc(kept[0], 2 * EACH)) return 3;
  while (n) free(kept[--n]);
  return 0;
}"""

# So often: a block comes and goes, and is resized before that.
OFTEN = r"""
#include <stdlib.h>
int main(int argc, char **argv)
{
  void *volatile block;
  int each = argc > 2 && *argv[2] == 'z', resized = argc > 2 && *argv[2] == 'r';
  for (int n = atoi(argv[1]); n > 0; n--) {
    block = each ? calloc(3, 8) : malloc(24);
    if (resized) block = realloc(block, 20);
    free(block);
  }
  return 0;
}"""

OFTEN_NEW = r"""
#include <cstdlib>
int main(int, char **argv)
{
  for (int n = std::atoi(argv[1]); n > 0; n--) {
    char *volatile block = new char[24];
    delete[] block;
  }
}"""

GOES_ON = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[2000];
int main(void)
{
  puts("ready"); fflush(stdout);
  getchar();
  for (int i = 0; i < 200000; i++) { free(kept[i % 2000]); kept[i % 2000] = malloc(500); }
  puts("done"); fflush(stdout);
  pause();
}"""


def sampled(ground, program, every, seed, *options, name="x.tide"):
    ground.env["TIDEMARK_OPTIONS"] = f"seed={seed}"
    done = ground.record("-q", "-f", "-o", name, f"--sample={every}", *options, "--", program)
    expect(done.status == 0, f"run failed with {done.status}: {done.stderr}")
    return ground.report(name)


def of_functions(report):
    """The numbers of each function's blocks, by the frame that is blamed; of several stacks, their
    sums: squares of errors add up."""
    found = {}
    for site in report["sites"]:
        if site["kind"] != "heap" or site["culprit"] is None:
            continue
        sums = found.setdefault(site["frames"][site["culprit"]]["function"], {})
        for key in "bytes", "allocations", "live_bytes":
            sums[key] = sums.get(key, 0) + site[key]
        for key in "allocated_bytes_error", "allocations_error", "live_bytes_error":
            sums[key] = math.hypot(sums.get(key, 0), site[key])
    return found


@test
def sample_estimates_are_right_in_the_mean(ground):
    program, n_seeds = ground.build("mix", MIX), 24
    scores = {}
    for seed in range(1, n_seeds + 1):
        report = sampled(ground, program, "4KiB", seed)
        found = of_functions(report)
        for name, truth in MIX_BYTES.items():
            site = found.get(name)
            expect(site, f"seed {seed}: nothing of {name}: {sorted(found)}")
            for value, error, true in (
                    (site["bytes"], site["allocated_bytes_error"], truth),
                    (site["allocations"], site["allocations_error"], MIX_BLOCKS[name])):
                score = (value - true) / error if error else (0 if value == true else math.inf)
                scores.setdefault((name, true), []).append(score)
    for key, values in scores.items():
        mean, near = sum(values) / len(values), sum(abs(value) <= 2 for value in values)
        expect(abs(mean) < 4 / math.sqrt(n_seeds), f"{key}: off by {mean:.2f} errors in the mean")
        expect(near >= 0.75 * n_seeds, f"{key}: {near} of {n_seeds} within two errors: {values}")


@test
def sample_all_that_ended_has_ended(ground):
    program = ground.build("ends", ENDS, "-pthread")
    for options in (), ("--how", "agent"):
        report = sampled(ground, program, "1KiB", 3, *options)
        ours = [site for site in report["sites"]
                if any(frame["function"] == "make" for frame in site["frames"])]
        n_samples = sum(site["samples"] for site in ours)
        expect(n_samples > 5000, f"{options}: {n_samples} samples of 100 MB")
        for site in ours:
            expect(site["live_bytes"] == site["live_blocks"] == site["live_bytes_error"] == 0 and
                   site["frees"] == site["allocations"], f"{options}: not all has ended: {site}")
        lost = report["completeness"]
        expect(lost["lost_busy"] == lost["lost_full"] == lost["unknown_frees"] == 0, f"{lost}")


@test
def sample_goes_on_after_sizes_that_nobody_has(ground):
    found = of_functions(sampled(ground, ground.build("too_many", TOO_MANY), "1KiB", 7))["after"]
    want = 4 * 5000 * 100 + 10
    expect(abs(found["bytes"] - want) < 5 * found["allocated_bytes_error"], f"{found}")
    expect(found["live_bytes"] == 0, f"{found}")


@test
def sample_counts_refusals_of_resizes(ground):
    report = sampled(ground, ground.build("refused", REFUSED), "64MiB", 6)
    n_refused = report["completeness"]["failed_allocations"]
    expect(n_refused == 51, f"{n_refused} refusals were counted, of 51")


@test
def sample_says_what_it_is(ground):
    program = ground.build("mix", MIX)
    report = sampled(ground, program, "16KiB", 5)
    expect(report["exactness"]["sampled"] == {"every_bytes": 16384}, f"{report['exactness']}")
    expect(report["exactness"]["peak"]["is"] == "estimated", f"{report['exactness']}")
    expect("temporary" not in report["totals"], "temporaries are not known of samples")
    text = ground.run(ground.tidemark, "report", "x.tide").stdout
    for words in ("sampled: ", "samples, one for 16.0 KiB in the mean", " ± ", "standard error"):
        expect(words in text, f"{words!r} is not said: {text}")
    for words in ("complete", "exact", "temporary", "untouched"):
        expect(words not in text, f"{words!r} is said of samples: {text}")
    csv = ground.run(ground.tidemark, "report", "--csv", "x.tide").stdout
    expect("peak_bytes_error" in csv.splitlines()[0], "no errors in CSV")
    merged = ground.run(ground.tidemark, "merge", "-f", "-o", "m.tide", "x.tide", "x.tide")
    expect(merged.status == 0, f"merge: {merged.stderr}")
    twice = ground.report("m.tide")["totals"]
    want = report["totals"]["allocated_bytes_error"] * math.sqrt(2)
    expect(abs(twice["allocated_bytes_error"] - want) < 2, f"{twice}: squares add up, to {want}")


@test
def sample_of_some_says_nothing_of_others(ground):
    """Of blocks that no sample fell on nobody knows whether they were freed, or were at all."""
    some = ground.program("for (int i = 0; i < 300; i++) free(malloc(1 << 20));\nreturn 0;", "some")
    for program, says in ((some, "every block that was sampled was freed"),
                          (ground.program("return 0;"), "no sample fell on anything")):
        report = sampled(ground, program, "1MiB", 3)
        expect(report["totals"]["live_blocks"] == 0, f"another seed is needed: {report['totals']}")
        for words in (("report",), ("report", "--sort", "leak")):
            text = ground.run(ground.tidemark, *words, "x.tide").stdout
            expect("every block was freed" not in text and "nothing was allocated" not in text,
                   f"100 blocks are left: {text}")
        expect(says in ground.run(ground.tidemark, "report", "x.tide").stdout, f"not said: {says}")


@test
def sample_fork_children_draw_their_own(ground):
    program = ground.build("forks", FORKS)
    ground.env["TIDEMARK_OPTIONS"] = "seed=9"
    done = ground.record("-q", "-f", "-o", "f.tide", "--sample=1KiB", "--", program)
    expect(done.status == 0, f"{done.stderr}")
    seen = []
    for number, live in ("#0", 200000), ("#1", 100000), ("#2", 100000):
        site = of_functions(ground.report("f.tide", "-p", number))["in_child"]
        error = site["allocated_bytes_error"]
        expect(abs(site["bytes"] - 200000) < 5 * error, f"{number}: {site['bytes']} ± {error}")
        error = site["live_bytes_error"]
        expect(abs(site["live_bytes"] - live) < 5 * error, f"{number}: {site['live_bytes']} live")
        seen.append(site["bytes"])
    expect(seen[1] != seen[2] or seen[0] != seen[1], "children repeat the draws of their parent")


@test
def sample_memory_does_not_grow_with_blocks(ground):
    report = sampled(ground, ground.build("many", MANY), "512KiB", 2)
    own = report["totals"]["recorder_rss_bytes"]
    expect(own < 4 << 20, f"two million blocks take {own} bytes of the recorder")


@test
def sample_without_a_supervisor(ground):
    program = ground.build("mix", MIX)
    ground.env["LD_PRELOAD"] = str(ground.library)
    ground.env["TIDEMARK_OPTIONS"] = "sample=4K,seed=4,out=bare.store"
    done = ground.run(program)
    expect(done.status == 0 and not done.stderr, f"{done.status} {done.stderr}")
    del ground.env["LD_PRELOAD"], ground.env["TIDEMARK_OPTIONS"]
    totals = ground.report("bare.store")["totals"]
    want = sum(MIX_BYTES.values())
    expect(abs(totals["allocated_bytes"] - want) < 5 * totals["allocated_bytes_error"], f"{totals}")


@test
def sample_attached_to_a_process(ground):
    program = ground.build("goes_on", GOES_ON)
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        attach = subprocess.Popen([ground.tidemark, "attach", str(child.pid), "-f", "-o", "a.tide",
                                   "--sample=4KiB"], cwd=ground.scratch, env=ground.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        expect("recording process" in attach.stderr.readline(), "not attached")
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        attach.send_signal(signal.SIGINT)
        status, _, err = finish(attach)
        expect(status in (0, 1), f"attach ended with {status}: {err}")
        totals = ground.report("a.tide")["totals"]
        error = totals["allocated_bytes_error"]
        expect(abs(totals["allocated_bytes"] - 100000000) < 5 * error, f"{totals}")
        expect(abs(totals["live_bytes"] - 1000000) < 5 * totals["live_bytes_error"], f"{totals}")
        expect(child.poll() is None, "the process did not survive")
    finally:
        child.kill()
        child.wait()


def instructions(ground, program, n, *words, library=None):
    """Of the whole process. The loader preloads, so that valgrind's own is left alone."""
    preloaded = ["--preload", str(library)] if library else []
    said = ground.run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                      "/lib64/ld-linux-x86-64.so.2", *preloaded, program, str(n), *words).stderr
    told = re.search(r"Collected : (\d+)", said)
    expect(told, said)
    return int(told.group(1))


@test
def sample_costs_few_instructions(ground):
    """What is no sample: a count down and a look into the filter, and jumps to the real ones."""
    if not shutil.which("valgrind") or platform.machine() != "x86_64":
        raise record.Skip("no valgrind here, or another processor's instructions")
    program = ground.build("often", OFTEN)
    ground.env["TIDEMARK_OPTIONS"] = "sample=64M,seed=1,out=often.store"
    few, many = 1000, 21000
    news = ground.build("often_new", OFTEN_NEW, compiler="g++")
    for path, words, most in ((program, (), 19), (program, ("z",), 22), (program, ("r",), 37),
                              (news, (), 43)):
        added = [instructions(ground, path, n, *words, library=ground.library)
                 - instructions(ground, path, n, *words) for n in (few, many)]
        each = (added[1] - added[0]) / (many - few)
        expect(each <= most + 0.5,
               f"{path.name} {words}: {each} instructions more for each, {most} at most")


@test
def sample_sizes_are_checked(ground):
    for size, words in ("100", "--sample takes 1.0 KiB to 64.0 MiB"), ("1GiB", "--sample takes"), \
            ("many", "is no size"):
        done = ground.record(f"--sample={size}", "--", "true")
        expect(done.status != 0 and words in done.stderr, f"{size}: {done.stderr}")
    done = ground.record("-f", "-o", "r.tide", "--sample=100KiB", "--", "true")
    expect("one sample for 128.0 KiB" in done.stderr, f"{done.stderr}")
