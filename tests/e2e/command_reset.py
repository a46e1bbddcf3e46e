# SPDX-License-Identifier: Apache-2.0
"""The numbers of a recording are reset while it goes on: all that is counted is since then, what
lived is told as from before, and nothing of it is lost or called a leak."""
import json
import time

from command_ctl import Puppet, check, numbers, sampled_live
from command_inside import INCLUDE
from command_push import Sink, pushing, wait_for
from command_serve import begun, serving, values_of
from ground import expect, test

WAYS = "run", "agent", "attach"


def from_before(report):
    """Of each function: blocks and bytes that were live at the reset, and its temporaries."""
    found = {}
    for site in report["sites"]:
        if site["kind"] == "heap" and site["culprit"] is not None:
            row = found.setdefault(site["frames"][site["culprit"]]["function"], [0, 0, 0])
            for i, key in enumerate(("before_blocks", "before_bytes", "temporary")):
                row[i] += site.get(key, 0)
    return found


def leaks(ground, path, *options):
    report = ground.report(path, "--sort", "leak", *options)
    return {name: weight for name, weight in weights(report).items() if weight}


def weights(report):
    found = {}
    for site in report["sites"]:
        if site["culprit"] is not None and site["kind"] == "heap":
            name = site["frames"][site["culprit"]]["function"]
            found[name] = found.get(name, 0) + site["weight"]
    return found


@test
def reset_is_exact(ground):
    """At the reset 90 blocks of first, 10 of 3,000 bytes and 100 of a thread are live; of second
    none is. Then 50 of first go."""
    for how in WAYS:
        puppet = Puppet(ground, how)
        puppet.do("abprBtm")
        said = puppet.ctl("reset")
        expect("numbers of 1 process count from now on" in said and "from before" in said, said)
        puppet.do("cpA")
        puppet.ctl("mark", "later")
        puppet.do("t")
        path = puppet.end()
        report = ground.report(path)
        check(numbers(report), at_first=[0, 0, 40, 40000], at_second=[0] * 4,
              at_later=[100, 100000, 100, 100000], at_pair=[100, 100000, 0, 0],
              grow=[0, 0, 10, 30000], at_thread=[100, 100000, 200, 200000])
        before = from_before(report)
        wanted = {"at_first": [90, 90000, 0], "grow": [10, 30000, 0],
                  "at_thread": [100, 100000, 0], "at_pair": [0, 0, 100], "at_later": [0] * 3}
        got = {name: before.get(name, [0] * 3) for name in wanted}
        expect(got == wanted and "at_second" not in before, f"{how}: {before}")
        totals, image = report["totals"], report["image"]
        expect(image["reset"] is True, f"{how}: {image}")
        # Other blocks may live from before: those of libc, of threads.
        known = sum(row[1] for row in wanted.values())
        expect(totals["before_bytes"] - known in range(0, 6000), f"{how}: {totals}")
        expect(totals["temporary"] == 100 and totals["resizes"] == 0, f"{how}: {totals}")
        # Since the reset: first it grew by 100,000, then by one of the pairs.
        most = totals["before_bytes"] + 100000 + 1000
        after = totals["before_bytes"] + 200000 - 50000
        expect(totals["peak_bytes"] == max(most, after), f"{how}: {totals} {most} {after}")
        expect(leaks(ground, path) == {"at_later": 100000, "at_thread": 100000},
               f"{how}: {leaks(ground, path)}")
        expect(leaks(ground, path, "--range", "start..") == leaks(ground, path), f"{how}: a range")
        expect(leaks(ground, path, "--range", "later..") == {"at_thread": 100000}, f"{how}: later")
        text = " ".join(ground.run(ground.tidemark, "report", path).stdout.split())
        kept = "still live" if how == "attach" else "never freed"
        for words in (f"in 200 blocks {kept}, beside", "from before the reset",
                      "numbers are since a reset at "):
            expect(words in text, f"{how}: {words} is not in {text}")
        told = " ".join(one["text"] for one in report["verdict"]["sentences"])
        expect("from before the reset" in told, f"{how}: {report['verdict']}")
        info = ground.run(ground.tidemark, "info", path).stdout
        expect("numbers are since a reset at" in info, info)


@test
def reset_again_and_again(ground):
    """Each counts from itself. Nothing happens after the last one: all of it is from before."""
    puppet = Puppet(ground, "run")
    puppet.do("ab")
    puppet.ctl("reset")
    puppet.do("cB")
    puppet.ctl("reset")
    puppet.do("p")
    puppet.ctl("-q", "reset")
    path = puppet.end()
    report = ground.report(path)
    check(numbers(report), at_first=[0, 0, 100, 100000], at_second=[0] * 4,
          at_later=[0, 0, 100, 100000], at_pair=[0] * 4)
    totals = report["totals"]
    expect(totals["allocations"] == 0 and totals["peak_bytes"] == totals["before_bytes"] ==
           totals["live_bytes"] >= 200000, f"{totals}")
    expect(leaks(ground, path) == {}, f"{leaks(ground, path)}")
    text = " ".join(ground.run(ground.tidemark, "report", path).stdout.split())
    expect("every block allocated meanwhile was freed, beside" in text, text)


@test
def reset_after_a_pause(ground):
    """A pause that is over is none of the numbers' since; one that goes on is, from then on."""
    for how in WAYS:
        puppet = Puppet(ground, how)
        puppet.do("a")
        puppet.ctl("off")
        puppet.do("b")
        puppet.ctl("on")
        puppet.ctl("reset")
        puppet.do("c")
        path = puppet.end()
        report = ground.report(path)
        check(numbers(report), at_first=[0, 0, 100, 100000], at_later=[100, 100000, 100, 100000])
        complete, totals = report["completeness"], report["totals"]
        expect(report["image"]["pauses"] == 0, f"{how}: {report['image']}")
        expect(totals["allocations"] < 150 and totals["live_bytes"] < 250000, f"{how}: {totals}")
        text = ground.run(ground.tidemark, "report", path).stdout
        for words in "recording was off", "≥", "while it was on":
            expect(words not in text, f"{how}: {words!r} in {text}")
        expect("blocks from before" in " ".join(text.split()), f"{how}: {complete} {text}")
    puppet = Puppet(ground, "run")
    puppet.do("a")
    puppet.ctl("off")
    time.sleep(1)
    puppet.ctl("reset")
    puppet.do("b")
    puppet.ctl("on")
    puppet.do("c")
    report = ground.report(puppet.end())
    image = report["image"]
    expect(image["pauses"] == 1 and 0 < image["paused_ns"] < image["end_ns"] - image["start_ns"],
           f"{image}")
    check(numbers(report), at_first=[0, 0, 100, 100000], at_later=[100, 100000, 100, 100000])


@test
def reset_while_threads_go_on(ground):
    """Whatever falls on which side, what is live stays what it is, and blocks of before are no
    leaks: the program frees all that it allocates."""
    program = ground.build("storm", STORM, "-pthread")
    puppet = Puppet(ground, "run", program=program)
    puppet.do("gg")
    for _ in range(5):
        puppet.ctl("-q", "reset")
        puppet.do("g")
    puppet.do("s")
    path = puppet.end()
    report = ground.report(path)
    totals = report["totals"]
    new = totals["allocations"] + totals["before_blocks"] - totals["frees"]
    expect(new == totals["live_blocks"] and numbers(report).get("churn", [0] * 4)[2:] == [0, 0],
           f"{totals} {numbers(report)}")
    expect("churn" not in leaks(ground, path), f"{leaks(ground, path)}")
    expect(totals["peak_bytes"] < 4000000, f"the peak is that of before: {totals}")


# As PUPPET, and four threads that allocate and free 64 blocks each in turn, between two of 'g'
# without a rest. The first 'g' also makes a peak of 8 MB.
STORM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int stop;
static unsigned long rounds[4];
__attribute__((noipa)) static void churn(unsigned long *n)
{
  void *kept[64];
  for (int i = 0; i < 64; i++) { kept[i] = malloc(100 + i); __asm__("" ::"r"(kept[i])); }
  for (int i = 0; i < 64; i++) free(kept[i]);
  __atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}
static void *work(void *n)
{
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) churn(n);
  return NULL;
}
static void let_go_on(void)
{
  for (int i = 0; i < 4; i++) {
    unsigned long from = __atomic_load_n(&rounds[i], __ATOMIC_RELAXED);
    while (__atomic_load_n(&rounds[i], __ATOMIC_RELAXED) < from + 50) usleep(100);
  }
}
int main(void)
{
  pthread_t threads[4];
  char c;
  printf("%d\n", (int)getpid());
  fflush(stdout);
  void *volatile big = malloc(8000000);
  free(big);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &rounds[i]);
  while (read(0, &c, 1) == 1 && c != 'q') {
    if (c == 'g') let_go_on();
    if (c == 's') {
      __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
      for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    if (write(1, ".", 1) != 1) return 1;
  }
  return 0;
}"""


@test
def reset_of_samples(ground):
    for how in WAYS:
        puppet = Puppet(ground, how, "--sample=1KiB")
        puppet.do("abt")
        before = sampled_live(ground, puppet)
        puppet.ctl("reset")
        after = sampled_live(ground, puppet)
        expect(before == after and before["at_second"] > 10000, f"{how}: {before} {after}")
        puppet.do("cB")
        end = sampled_live(ground, puppet)
        expect(end.get("at_second", 0) == 0 and end["at_first"] == before["at_first"],
               f"{how}: {before} {end}")
        path = puppet.end()
        report = ground.report(path)
        found, totals = numbers(report), report["totals"]
        expect(found["at_first"][:2] == [0, 0] and found["at_later"][0] > 10, f"{how}: {found}")
        allocated = sum(row[1] for row in found.values())
        expect(totals["allocated_bytes"] == allocated, f"{how}: {totals}")
        live = totals["before_bytes"] + totals["allocated_bytes"] - totals["freed_bytes"]
        expect(totals["live_bytes"] == live, f"{how}: {totals}")
        expect("at_first" not in leaks(ground, path), f"{how}: {leaks(ground, path)}")


@test
def reset_of_several_processes(ground):
    """Those that have ended are not told any more; those that come later begin as always."""
    puppet = Puppet(ground, "run")
    puppet.do("aF")  # a child, which waits
    said = puppet.ctl("reset")
    expect("numbers of 2 processes" in said, said)
    puppet.write(".")  # it ends
    puppet.do("b")
    puppet.ctl("reset")
    puppet.do("cF")
    puppet.write(".")
    puppet.do("p")
    path = puppet.end()
    images = ground.report(path)["images"]
    expect(len(images) == 2, f"{images}")
    parent, child = ground.report(path, "-p", "#0"), ground.report(path, "-p", "#1")
    check(numbers(parent), at_first=[0, 0, 100, 100000], at_second=[0, 0, 100, 100000],
          at_later=[100, 100000, 100, 100000], at_pair=[100, 100000, 0, 0])
    check(numbers(child), at_child=[100, 100000, 50, 50000])
    expect(parent["image"]["reset"] and not child["image"]["reset"], "which was reset")
    done = ground.run(ground.tidemark, "merge", "--all", "-o", "all.tide", path)
    expect(done.status == 0, done.stderr)
    merged = ground.report("all.tide")
    both = [parent["totals"][key] + child["totals"].get(key, 0)
            for key in ("allocations", "live_bytes", "before_bytes")]
    got = [merged["totals"][key] for key in ("allocations", "live_bytes", "before_bytes")]
    expect(got == both, f"{got} {both}")


EVENTS = r"""
#include <stdio.h>
#include <tidemark/tidemark.h>
#include <unistd.h>
int main(void)
{
  char c;
  printf("%d\n", (int)getpid());
  fflush(stdout);
  while (read(0, &c, 1) == 1 && c != 'q') {
    tidemark_event(5);
    if (write(1, ".", 1) != 1) return 1;
  }
  return 0;
}"""


@test
def reset_of_events(ground):
    program = ground.build("events", EVENTS, f"-I{INCLUDE}")
    puppet = Puppet(ground, "run", program=program)
    puppet.do("eee")
    puppet.ctl("-q", "reset")
    puppet.do("ee")
    report = ground.report(puppet.end())
    told = report.get("events", {})
    expect((told.get("count"), told.get("weight")) == (2, 10), f"{told}")


@test
def reset_of_what_nobody_watches(ground):
    puppet = Puppet(ground, "bare")
    puppet.do("a")
    said = puppet.ctl("reset", status=1)
    expect("no tidemark watches" in said, said)
    puppet.do("b")
    check(numbers(ground.report(puppet.end())), at_first=[100, 100000, 100, 100000],
          at_second=[100, 100000, 100, 100000])


@test
def reset_as_collectors_see_it(ground):
    """Counters fall, gauges stay; no difference is below nothing."""
    with serving(ground) as service:
        pid = json.loads(service.get("/tidemark/facts"))["captures"][0]["images"][0]["pid"]
        first = service.metrics()
        done = ground.run(ground.tidemark, "ctl", pid, "reset")
        expect(done.status == 0, done.stderr)
        got = service.metrics()
        for name in ("heap_live_bytes", "heap_live_blocks"):
            expect(got[f"tidemark_{name}"] == first[f"tidemark_{name}"], f"{name}: {got}")
        for name in ("heap_allocated_bytes_total", "heap_frees_total", "heap_allocations_total"):
            expect(got[f"tidemark_{name}"] == 0, f"{name}: {got}")
        expect(got["tidemark_heap_before_bytes"] == got["tidemark_heap_peak_bytes"] ==
               first["tidemark_heap_live_bytes"], f"{got}")
        expect(got["tidemark_reset_time_seconds"] > 1e9, f"{got}")
        expect(first["tidemark_reset_time_seconds"] == 0, f"{first}")
        text = service.get("/debug/pprof/heap?debug=1").decode()
        expect("1000: 100000 [0: 0]" in text, text[:400])
        service.tell("x")
        got = service.metrics()
        expect(got["tidemark_heap_allocations_total"] == 1, f"{got}")
        waiting = begun(service, "/debug/pprof/heap?seconds=2")
        for _ in range(3):  # who asks later is answered later: it has begun then
            service.get("/debug/pprof/heap")
        service.tell("x")
        done = ground.run(ground.tidemark, "ctl", pid, "reset")
        expect(done.status == 0, done.stderr)
        service.tell("xxxxx")
        sums, _ = values_of(waiting.getresponse().read())
        waiting.close()
        # Allocations are those since the reset, what is in use that since it was asked for.
        expect(sums == [5, 500, 6, 600], f"{sums}")


@test
def reset_between_two_pushes(ground):
    """A server that sums what it is sent has all that was recorded, before and after."""
    with Sink() as sink:
        with pushing(ground, f"pyroscope={sink.url}") as service:
            service.tell("x" * 10)

            def pushed():
                return sum(one[1]["alloc_space"] for one in sink.profiles())
            wait_for(lambda: pushed() == 151000, "what was allocated before", 60)
            done = ground.run(ground.tidemark, "ctl", service.child.pid, "reset")
            expect(done.status == 0, done.stderr)
            service.tell("x" * 20)
            wait_for(lambda: pushed() == 153000, "what was allocated since", 60)
        last = sink.profiles()[-1][1]
        expect(last["inuse_space"] == 103000, f"{last}")
