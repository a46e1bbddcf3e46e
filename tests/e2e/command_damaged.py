# SPDX-License-Identifier: Apache-2.0
"""Programs whose unwind information is damaged run well as long as they throw nothing. With the
recorder they must run as they do without: what is damaged costs frames, never the program."""
import random
import shutil
import struct
import subprocess

import record
from ground import expect, test

# Frames of many shapes, on the thread's stack, a coroutine's, a signal's and another thread's.
SHAPES = """
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define SHAPE __attribute__((noipa)) static
static long total;
SHAPE void leaf(int n) { char *p = malloc(n + 1); memset(p, n, n + 1); total += p[n]; free(p); }
SHAPE void deep(int n) { leaf(n); if (n > 0) deep(n - 1); leaf(n); }
SHAPE void sized(int n) { char *p = alloca(n * 16 + 16); memset(p, 0, n); leaf(n); total += *p; }
SHAPE void aligned(int n) { _Alignas(64) char p[64] = {n}; leaf(n); total += p[0]; }
SHAPE int compare(const void *a, const void *b) { leaf(3); return *(int *)a - *(int *)b; }
SHAPE void all(int n) {
  int v[4] = {4, 3, 2, n};
  qsort(v, 4, sizeof *v, compare);
  deep(n); sized(n); aligned(n);
}
SHAPE void *worker(void *unused) { all(5); return unused; }
static ucontext_t home, away;
SHAPE void fiber(void) { all(4); swapcontext(&away, &home); }
SHAPE void handler(int number) { all(number % 3); }
int main(void)
{
  static char fiber_stack[65536], signal_stack[65536];
  stack_t alternate = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  pthread_t thread;
  all(6);
  getcontext(&away);
  away.uc_stack = (stack_t){.ss_sp = fiber_stack, .ss_size = sizeof fiber_stack};
  makecontext(&away, fiber, 0);
  swapcontext(&home, &away);
  sigaltstack(&alternate, NULL);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%ld\\n", total);
  return 7;
}
"""

THROWS = """
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <cstdio>
int main()
{
  std::map<std::string, int> seen;
  std::ostringstream out;
  for (int i = 0; i < 40; i++) { seen[std::to_string(i) + " is a name too long to be short"] = i; }
  for (auto &pair : seen) { out << pair.first << pair.second; }
  try { (void)std::stoi("none"); } catch (const std::invalid_argument &) { out << "caught"; }
  std::printf("%zu\\n", out.str().size());
  return 0;
}
"""


def sections(path, *names):
    """(offset, size) in the file of the sections with these names."""
    data = path.read_bytes()
    shoff, = struct.unpack_from("<Q", data, 40)
    entsize, n, texts_at = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, shoff + i * entsize) for i in range(n)]
    for row in rows:
        text = rows[texts_at][4] + row[0]
        if data[text:data.index(b"\0", text)].decode() in names:
            yield row[4], row[5]


def mutant(data, places, dice):
    """A copy with some bytes of the given places changed: one, a few, a stretch, or many."""
    copy = bytearray(data)
    many = sum(size for _, size in places) // 64
    for _ in range(dice.choice((1, 1, 2, 8, many))):
        at, size = dice.choice(places)
        n = min(dice.choice((1, 1, 1, 4, 16)), size)
        first = at + dice.randrange(size - n + 1)
        copy[first:first + n] = dice.choice((dice.randbytes(n), b"\xff" * n, b"\0" * n))
    return bytes(copy)


def put_in_place(path, data):
    """Never written while it runs; `cp`, because a child of another test, between fork and exec,
    would hold a file of ours open for writing, and nobody could run it."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(data)
    subprocess.run(["cp", "--remove-destination", draft, path], check=True)
    path.chmod(0o755)


def same_as_plain(ground, victim, command, n, seed, **env):
    """Damages the victim's unwind information in n ways; the command must not care."""
    whole = victim.read_bytes()
    places = list(sections(victim, ".eh_frame", ".eh_frame_hdr"))
    expect(len(places) == 2, f"sections {places}")
    dice = random.Random(seed)
    plain_env = dict(ground.env, **env)
    bare_env = dict(plain_env, LD_PRELOAD=ground.library,
                    TIDEMARK_OPTIONS=f"out={ground.scratch}/bare.store")
    differ = []
    for i in range(n):
        put_in_place(victim, mutant(whole, places, dice))
        plain = ground.run(*command, env=plain_env)
        bare = ground.run(*command, env=bare_env)
        if (plain.status, plain.stdout, plain.stderr) != (bare.status, bare.stdout, bare.stderr):
            differ.append(f"#{i}: {plain.status} plain, {bare.status} bare {bare.stderr[-100:]!r}")
        store = ground.scratch / "bare.store"
        expect(store.exists(), f"#{i} was not recorded")
        store.unlink()
    expect(not differ, f"{len(differ)} of {n} differ: {differ[:3]}")


@test
def damaged_unwind_information_of_a_program(ground):
    prog = ground.build("prog", SHAPES, "-pthread")
    same_as_plain(ground, prog, [prog], 110, "program")


@test
def damaged_unwind_information_of_a_library(ground):
    source = ground.scratch / "throws.cpp"
    source.write_text(THROWS)
    prog = ground.scratch / "throws"
    subprocess.run(["g++", "-O1", "-o", prog, source], check=True)
    real = subprocess.run(["g++", "-print-file-name=libstdc++.so.6"], capture_output=True,
                          text=True, check=True).stdout.strip()
    (ground.scratch / "lib").mkdir()
    copy = ground.scratch / "lib/libstdc++.so.6"
    shutil.copy(real, copy)
    same_as_plain(ground, copy, [prog], 40, "library", LD_LIBRARY_PATH=str(copy.parent))
