// SPDX-License-Identifier: Apache-2.0
//
// Random call paths through functions of many frame shapes, and every way a stack can be turned
// inside out: signals (raised, asynchronous, on a stack of their own), longjmp, coroutines,
// callbacks from libc. At the end of each path two judges look at the stack:
//   1. the recorder's fast capture must give the stack that a full walk gives;
//   2. the full walk must be, frame by frame, what libgcc's unwinder sees.
// The first judge alone would not do: both of its sides share the unwind rules.
//
// Built with and without frame pointers, and with alloca in the frames.
#define _GNU_SOURCE
#include "check.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

enum { MAX_DEPTH = 512 };
static uint64_t theirs[MAX_DEPTH], ours[MAX_DEPTH];
static int n_theirs;
static long n_ok, n_bad;
static int deepest;
static const char *scene = "";

static void verdict(int good, const char *judge, int a, int b)
{
  if (good) {
    n_ok++;
  } else if (n_bad++ < 5) {
    printf("%s: %s differs: %d against %d\n", scene, judge, a, b);
    for (int i = 0; i < a || i < b; i++)
      printf("  %#18llx %#18llx\n", i < a ? (unsigned long long)ours[i] : 0,
             i < b ? (unsigned long long)theirs[i] : 0);
  }
}

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *arg)
{
  if (n_theirs < MAX_DEPTH)
    theirs[n_theirs++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

__attribute__((noinline)) static void judge_frames(void)
{
  n_theirs = 0;
  _Unwind_Backtrace(take, NULL);
  int n = tidemark_check_frames(ours, MAX_DEPTH);
  if (n_theirs && !theirs[n_theirs - 1])
    n_theirs--; // libgcc closes with a 0
  int same = n == n_theirs;
  for (int i = 1; same && i < n; i++) // frame 0 is this function, at two different calls
    same = ours[i] == theirs[i];
  verdict(same, "the walk", n, n_theirs);
}

__attribute__((noinline)) static void judge(void)
{
  int depth = tidemark_check_id();
  void *p = malloc(24); // moves the caches on, as real events do
  __asm__ volatile("" : "+r"(p)::"memory");
  free(p);
  int again = tidemark_check_id();
  verdict(depth > 0 && again > 0, "the fast capture", depth, again);
  deepest = depth > deepest ? depth : deepest;
}

static uint64_t random_state = 0x9E3779B97F4A7C15ull;
static uint64_t random_number(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

typedef int step_function(uint64_t path, int depth, void (*leaf)(void));
static step_function *const steps[16];

#define NEXT(path, depth, leaf)                                                                    \
  ((depth) > 0 ? steps[(path)&15]((path) >> 4 | (path) << 60, (depth)-1, leaf) : ((leaf)(), 1))

#ifdef USE_ALLOCA
#define FRAME(bytes) volatile char *room = alloca((bytes) + (path & 7) * 16)
#else
#define FRAME(bytes) volatile char room[bytes]
#endif

#define STEP(number, bytes)                                                                        \
  __attribute__((noinline)) static int step##number(uint64_t path, int depth, void (*leaf)(void))  \
  {                                                                                                \
    FRAME(bytes);                                                                                  \
    room[0] = (char)depth;                                                                         \
    int sum = NEXT(path, depth, leaf);                                                             \
    room[(bytes)-1] = 1;                                                                           \
    return sum + (room[0] == (char)depth);                                                         \
  }
STEP(0, 16)
STEP(1, 32)
STEP(2, 48)
STEP(3, 64)
STEP(4, 24)
STEP(5, 80)
STEP(6, 112)
STEP(7, 16)
STEP(8, 40)
STEP(9, 56)
STEP(10, 160)
STEP(11, 1600)
STEP(12, 32)
STEP(13, 256)

// A frame too large for small offsets, and one that must be aligned beyond the stack's own.
__attribute__((noinline)) static int step14(uint64_t path, int depth, void (*leaf)(void))
{
  volatile char room[70000];
  room[depth] = 1;
  int sum = NEXT(path, depth, leaf);
  return sum + room[depth];
}
__attribute__((noinline)) static int step15(uint64_t path, int depth, void (*leaf)(void))
{
  _Alignas(64) volatile char line[64];
  volatile char *more = alloca(16 + (path & 63));
  line[0] = more[0] = 1;
  int sum = NEXT(path, depth, leaf);
  return sum + line[0] + more[0];
}
static step_function *const steps[16] = {step0,  step1,  step2,  step3, step4,  step5,
                                         step6,  step7,  step8,  step9, step10, step11,
                                         step12, step13, step14, step15};

// Asynchronous signals leave out the realigned frames (the last step): between popping fp and
// returning, gcc's unwind information for them is wrong, and libgcc no judge.
static uint64_t allowed = ~0ull;

static void walk_random(int times, int max_depth, void (*leaf)(void))
{
  for (int i = 0; i < times; i++) {
    uint64_t path = random_number() & allowed;
    steps[path >> 60](path, (int)(random_number() % (unsigned)max_depth), leaf);
  }
}

__attribute__((noinline)) static void judge_again(void)
{
  for (int i = 0; i < 4; i++) {
    int depth = tidemark_check_id();
    verdict(depth > 0, "what came again", depth, i);
  }
}

// The same frames in other orders: mostly the same stack pointer at the leaf, and nothing but the
// words to tell one stack from another.
static void walk_shuffled(int times, uint64_t path)
{
  for (int i = 0; i < times; i++) {
    uint64_t a = random_number() % 16 * 4, b = random_number() % 16 * 4;
    uint64_t differ = (path >> a ^ path >> b) & 15;
    path ^= differ << a | (a == b ? 0 : differ << b);
    step0(path, 2 * 16, judge_again);
  }
}

static int compare_and_judge(const void *a, const void *b)
{
  judge();
  judge_frames();
  return *(const int *)a - *(const int *)b;
}

static void callbacks(void)
{
  int v[40];
  for (int i = 0; i < 40; i++)
    v[i] = i * 37 % 41;
  qsort(v, 40, sizeof *v, compare_and_judge);
}

#ifdef __x86_64__ // an emulator may enter handlers with a misaligned stack, and libgcc uses SSE
__attribute__((force_align_arg_pointer))
#endif
static void
on_signal(int number)
{
  judge();
  judge_frames();
}

static void raise_here(void)
{
  raise(SIGUSR1);
}

static void signals(int flags)
{
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
  sigaction(SIGUSR1, &action, NULL);
  walk_random(300, 12, raise_here);
}

// The handler may strike anywhere, prologues and leaf functions included. libgcc is the judge; our
// own fast path cannot be asked while it may be at work.
static volatile sig_atomic_t n_strikes;
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
static void
on_timer(int number)
{
  n_strikes++;
  judge_frames();
}

static void spin(void)
{
  for (volatile int i = 0; i < 2000; i++)
    ;
}

static void asynchronous(int wanted)
{
  struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &action, NULL);
  n_strikes = 0;
  allowed = 0xeeeeeeeeeeeeeeeeull;
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 20000 && n_strikes < wanted; i++)
    walk_random(20, 20, spin);
  setitimer(ITIMER_REAL, &never, NULL);
  allowed = ~0ull;
}

static jmp_buf back;
static void jump(void)
{
  judge();
  longjmp(back, 1);
}

static void jumps(void)
{
  for (int i = 0; i < 500; i++) {
    if (!setjmp(back))
      walk_random(1, 20, jump);
    walk_random(1, 7, judge);
  }
}

static ucontext_t caller, coroutine;
static void other_stack(void)
{
  for (;;) {
    walk_random(1, 6, judge);
    judge_frames();
    swapcontext(&coroutine, &caller);
  }
}

static void coroutines(void)
{
  static char stack[1 << 20];
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = sizeof stack;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, other_stack, 0);
  for (int i = 0; i < 300; i++) {
    swapcontext(&caller, &coroutine);
    walk_random(1, 6, judge);
  }
}

static void judge_both(void)
{
  judge();
  judge_frames();
}

int main(void)
{
  if (!tidemark_check_id || tidemark_check_id() == -2) {
    puts("the recorder is not preloaded");
    return 1;
  }
  setvbuf(stdout, NULL, _IONBF, 0);
  scene = "paths";
  walk_random(20000, 40, judge);
  walk_random(2000, 60, judge_both);
  scene = "the same frames in other orders";
  walk_shuffled(1000, 0x0123456789abcd00ull);
  walk_shuffled(1000, 0x0000000000000001ull);
  scene = "words far away";
  walk_shuffled(500, 0xeeeee12345012345ull);
  scene = "callbacks";
  callbacks();
  scene = "raised signals";
  signals(0);
  stack_t own = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
  sigaltstack(&own, NULL);
  scene = "signals on a stack of their own";
  signals(SA_ONSTACK);
  char inside[1 << 18]; // ... which lies within our own stack
  stack_t nested = {.ss_sp = inside, .ss_size = sizeof inside};
  sigaltstack(&nested, NULL);
  scene = "signals on a stack within the stack";
  signals(SA_ONSTACK);
  sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
  scene = "asynchronous signals";
  asynchronous(300);
  scene = "longjmp";
  jumps();
  scene = "coroutines";
  coroutines();
  printf("%ld right, %ld wrong, deepest %d, %d asynchronous signals\n", n_ok, n_bad, deepest,
         (int)n_strikes);
  return n_bad != 0 || n_ok < 20000 || deepest < 40;
}
