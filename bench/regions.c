// SPDX-License-Identifier: Apache-2.0
//
// What a program pays for asking the recorder (tidemark.h), one deed per run:
//
//   regions DEED N
//
// Says "ready", waits for a line or the end of standard input, so that a recorder can come, and
// prints the nanoseconds of one deed: of 40 rounds of N the lowest, and the median. 1,024 stacks
// have allocated before.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidemark/tidemark.h>
#include <time.h>

enum { ROUNDS = 40, LEVELS = 10 };

static struct tidemark_region outer;
static struct tidemark_stats stats;

static void nothing(void) {}
static void in_thread(void)
{
  (void)tidemark_region_begin(&outer, TIDEMARK_THREAD);
}
static void in_process(void)
{
  (void)tidemark_region_begin(&outer, TIDEMARK_PROCESS);
}

static void region(void)
{
  struct tidemark_region inner;
  (void)tidemark_region_begin(&inner, TIDEMARK_THREAD);
  (void)tidemark_region_end(&inner, &stats);
}

static void read_region(void)
{
  (void)tidemark_region_read(&outer, &stats);
}
static void read_thread(void)
{
  (void)tidemark_stats_read(TIDEMARK_THREAD, &stats);
}
static void read_process(void)
{
  (void)tidemark_stats_read(TIDEMARK_PROCESS, &stats);
}
static void event(void)
{
  (void)tidemark_event(1);
}

static void scope(void)
{
  (void)tidemark_scope_begin("scope");
  (void)tidemark_scope_end();
}

static void block(void)
{
  static char pool[64];
  (void)tidemark_block_alloc(pool, sizeof pool);
  (void)tidemark_block_free(pool);
}

static void pair(void)
{
  void *volatile p = malloc(64);
  free(p);
}

static const struct deed {
  const char *name;
  void (*first)(void), (*one)(void);
  long share; // of N: what takes long is done less often
} deeds[] = {
    {"region", nothing, region, 1},
    {"region-within", in_thread, region, 1},
    {"region-read", in_thread, read_region, 1},
    {"stats", nothing, read_thread, 1},
    {"stats-process", nothing, read_process, 1000},
    {"pair", nothing, pair, 1},
    {"pair-thread", in_thread, pair, 1},
    {"pair-process", in_process, pair, 1},
    {"event", nothing, event, 1},
    {"scope", nothing, scope, 1},
    {"block", nothing, block, 1},
};

// Two calls at each level, each in place, so that each path is a stack of its own.
static void __attribute__((noinline)) grow(int level)
{
  if (level == 0) {
    void *volatile p = malloc(48);
    free(p);
    return;
  }
  grow(level - 1);
  grow(level - 1);
  __asm__ volatile("");
}

static double now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// A function of its own: instructions are counted in here (callgrind --toggle-collect).
void __attribute__((noinline)) measured_round(void (*one)(void), long n)
{
  for (long i = 0; i < n; i++)
    one();
}

static int by_value(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
  const struct deed *deed = NULL;
  for (size_t i = 0; argc == 3 && i < sizeof deeds / sizeof *deeds; i++)
    if (!strcmp(argv[1], deeds[i].name))
      deed = &deeds[i];
  long n = deed ? strtol(argv[2], NULL, 10) / deed->share : 0;
  if (n < 1)
    return fprintf(stderr, "usage: regions DEED N\n"), 2;
  puts("ready");
  fflush(stdout);
  (void)getchar();
  grow(LEVELS);
  deed->first();
  for (long i = 0; i < n; i++)
    deed->one();
  double rounds[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    double start = now_ns();
    measured_round(deed->one, n);
    rounds[i] = (now_ns() - start) / (double)n;
  }
  qsort(rounds, ROUNDS, sizeof *rounds, by_value);
  printf("%.2f %.2f\n", rounds[0], rounds[ROUNDS / 2]);
  return 0;
}
