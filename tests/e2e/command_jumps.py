# SPDX-License-Identifier: Apache-2.0
"""Threads that leave a hook otherwise than by returning from it: they jump, or they are cancelled.
What they do afterwards is recorded, and the process can be let go."""
import signal
import time

from command_attach import Target, attach, let_go
from ground import expect, finish, test

# The end of an allocator that never gives anything back; before it comes what a size means.
CARVED = """\
  char *p = pool + __atomic_fetch_add(&used, (n + 127) / 64 * 64, __ATOMIC_SEQ_CST);
  return p + 64;
}
EXPORT void *malloc(size_t n) { return carve(n); }
EXPORT void *calloc(size_t n, size_t each) { return carve(n * each); }
EXPORT void *realloc(void *old, size_t n) { return old ? old : carve(n); }
EXPORT void free(void *p) { __asm__ volatile("" ::"r"(p)); }
"""
# An allocator with sizes that have a meaning: 12345 jumps away, 54321 waits to be cancelled.
ALLOCATOR = """
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <unistd.h>
#define EXPORT __attribute__((noipa, optimize("O0")))
static _Alignas(64) char pool[16 << 20];
static size_t used;
jmp_buf away;
volatile int waits;
static void *carve(size_t n)
{
  if (n == 12345) longjmp(away, 1);
  if (n == 54321) { waits = 1; for (;;) pause(); }
""" + CARVED
MAIN = """
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
extern jmp_buf away;
extern volatile int waits;
__attribute__((noipa)) static void *block(size_t n) { return malloc(n); }
static void *ends(void *arg)
{
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  block(54321);
  return arg;
}
__attribute__((noipa)) static void jump(void) { if (!setjmp(away)) block(12345); }
int main(void)
{
  char c;
  pthread_t t;
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    if (c == 'j') jump();
    if (c == 'c') {
      waits = 0;
      pthread_create(&t, NULL, ends, NULL);
      while (!waits) usleep(100);
      pthread_cancel(t);
      pthread_join(t, NULL);
    }
    if (c == 'p') for (int i = 0; i < 50; i++) free(block(100));
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""


def start(ground, is_library):
    """The allocator in the program, whose calls of it keep all registers, or in a library."""
    if not is_library:
        return Target(ground, ground.build("prog", ALLOCATOR + MAIN, "-rdynamic", "-pthread"))
    library = ground.build("libown.so", ALLOCATOR, "-shared", "-fPIC", "-pthread")
    return Target(ground, ground.build("prog", MAIN, "-x", "none", library, "-pthread",
                                       f"-Wl,-rpath,{ground.scratch}"))


def cycle(ground, target, words):
    child, _ = attach(ground, target.pid)
    for word in words:
        target.tell(word)
    return " ".join(let_go(child).split())


def check(ground, is_library):
    target = start(ground, is_library)
    target.tell("c")  # which loads a library
    code = target.code()
    for words in ("pjp", "pcp", "pjcjpc"):
        said = cycle(ground, target, words)
        report = ground.report("x.tide", "--group", "function", "--sort", "count")
        blocks = [g for g in report["groups"] if g["function"] == "block"]
        expect(len(blocks) == 1 and blocks[0]["allocations"] == 100, f"{words}: {blocks}")
        expect(target.code() == code and not target.ours(), f"{words}: not let go as it was")
        # What it left by a jump may have been done or not.
        expect("incomplete" in said or "j" not in words, f"{words}: {said}")
    cycle(ground, target, "p")
    expect(target.end() == 0, "it did not end well")


@test
def jumps_out_of_a_program(ground):
    check(ground, False)


@test
def jumps_out_of_a_library(ground):
    check(ground, True)


# Each thread is in a handler that came in the middle of malloc, on another stack: a part of its own
# above the hook, where one that has jumped out of it would be, or static memory; with much on it if
# there is a second word. All alike: one would keep the others safe.
HANDLERS = """
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 8, ROOM = 1 << 19, MUCH = 1 << 18 };
static _Alignas(64) char pool[16 << 20], elsewhere[THREADS][ROOM];
static size_t used;
static sem_t inside, gate, start, outside;
static int is_above, much;
static void wait_for(sem_t *sem) { while (sem_wait(sem) && errno == EINTR) ; }
#define EXPORT __attribute__((noipa, optimize("O0")))
static void *carve(size_t n)
{
  if (n == 24680) raise(SIGUSR1);
""" + CARVED + """__attribute__((noipa)) static char *block(size_t n) { return malloc(n); }
__attribute__((noipa)) static void pass(void) { sem_post(&inside); wait_for(&gate); }
__attribute__((noipa)) static void pass_with_much(void)
{
  volatile char bytes[MUCH];
  memset((char *)bytes, 1, MUCH);
  pass();
  if (bytes[MUCH - 1] != 1) _exit(3);
}
static void handle(int signal)
{
  (void)signal;
  if (much) pass_with_much(); else pass();
}
static void *rest(void *arg)
{
  char above[ROOM];
  long i = (long)arg;
  stack_t own = {.ss_sp = is_above ? above : elsewhere[i], .ss_size = ROOM};
  sigaltstack(&own, NULL);
  for (;;) {
    wait_for(&start);
    char *p = block(24680);
    p[0] = 1;
    if (!p[0]) _exit(4);
    free(p);
    sem_post(&outside);
  }
  return NULL;
}
int main(int argc, char **argv)
{
  char c;
  pthread_t t;
  is_above = !strcmp(argv[1], "above");
  much = argc > 2;
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (long i = 0; i < THREADS; i++) pthread_create(&t, NULL, rest, (void *)i);
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    for (int i = 0; i < THREADS; i++) sem_post(c == 'h' ? &start : &gate);
    for (int i = 0; i < THREADS; i++) wait_for(c == 'h' ? &inside : &outside);
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""


def check_handlers(ground, prog, *words):
    target = Target(ground, prog, *words)
    plain = target.code()
    child, _ = attach(ground, target.pid)
    target.tell("h")
    expect(target.code() != plain, "nothing is hooked")
    child.send_signal(signal.SIGINT)
    time.sleep(0.5)  # enough for it to try; it waits for longer than this
    expect(child.poll() is None, f"{words}: it did not wait for hooks at work")
    expect(target.ours(), f"{words}: what the hooks return to is gone")
    target.tell("g")  # they return, through the agent
    status, _, err = finish(child)
    expect(status == 0, f"{words}: {status}: {err}")
    expect(not target.ours(), f"{words}: left behind: {target.ours()}")
    totals = ground.report("x.tide")["totals"]
    expect(totals["allocations"] == 8, f"{words}: {totals}")
    target.tell("h")
    target.tell("g")
    expect(target.end() == 0, f"{words}: it did not end well")


def check_all_handlers(ground, *flags):
    prog = ground.build("prog", HANDLERS, "-pthread", *flags)
    for words in (["above"], ["above", "much"], ["elsewhere"], ["elsewhere", "much"]):
        check_handlers(ground, prog, *words)


@test
def handlers_within_hooks(ground):
    """A handler on a stack of its own, wherever that lies, that came in the middle of a hook:
    until it has returned nothing is unmapped."""
    check_all_handlers(ground)


@test
def handlers_within_hooks_static(ground):
    check_all_handlers(ground, "-static")
