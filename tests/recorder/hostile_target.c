// SPDX-License-Identifier: Apache-2.0
//
// What a hostile supervisor's stores are recorded for: threads that allocate, free, resize and hand
// on blocks, and count events, at thousands of stacks, threads that come and go, fork children that
// do the same. Every block's content is checked when it goes. Says "survived" if all was well.
//
//   hostile_target MILLISECONDS [CHILDREN]
//
// CHILDREN: so many fork children and no other work, which all must end well.
#include <tidemark/tidemark.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, HELD = 64, RING = 32, DEPTH = 10 };

struct block {
  size_t n;
  unsigned char pattern, bytes[];
};

static _Atomic(struct block *) ring[RING];
static atomic_bool over;

static uint64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void must(bool ok, const char *what)
{
  if (ok)
    return;
  fprintf(stderr, "hostile_target: %s\n", what);
  _exit(9);
}

static struct block *fill(struct block *b, size_t n, unsigned char pattern)
{
  must(b != NULL, "no memory");
  b->n = n;
  b->pattern = pattern;
  memset(b->bytes, pattern, n);
  return b;
}

static void check(const struct block *b)
{
  for (size_t i = 0; i < b->n; i++)
    must(b->bytes[i] == b->pattern, "a block was overwritten");
}

// Paths through two functions that call each other: so many stacks.
__attribute__((noinline)) static struct block *left(unsigned path, int depth, struct block *old);
__attribute__((noinline)) static struct block *right(unsigned path, int depth, struct block *old)
{
  struct block *b = depth ? left(path >> 1, depth - 1, old) : NULL;
  if (depth)
    return b;
  tidemark_event(path);
  size_t n = path % 97 ? path % 900 : 200000;
  if (old) {
    check(old);
    return fill(realloc(old, sizeof *old + n), n, (unsigned char)path);
  }
  return fill(path & 1 ? malloc(sizeof *b + n) : calloc(1, sizeof *b + n), n, (unsigned char)path);
}

__attribute__((noinline)) static struct block *left(unsigned path, int depth, struct block *old)
{
  struct block *b = path & 1 ? left(path >> 1, depth > 1 ? depth - 1 : 1, old)
                             : right(path >> 1, depth > 0 ? depth - 1 : 0, old);
  __asm__ volatile("" ::: "memory");
  return b;
}

static struct block *make(unsigned *rng, struct block *old)
{
  unsigned path = (unsigned)rand_r(rng);
  return right(path & ~(path >> 7 & 1u) & 0x3fffffff, (int)(path % DEPTH), old);
}

static void drop(struct block *b)
{
  if (b)
    check(b);
  free(b);
}

static void churn(unsigned *rng, int rounds)
{
  struct block *held[HELD] = {0};
  for (int i = 0; i < rounds && !over; i++) {
    char scope[] = "scope  ";
    scope[6] = (char)('a' + i % 26);
    tidemark_scope_begin(scope);
    if (i % 3)
      tidemark_scope_end();
    unsigned what = (unsigned)rand_r(rng), at = what % HELD;
    switch (what >> 8 & 7) {
    case 0: held[at] = make(rng, held[at]); break; // a resize
    case 1: held[at] = atomic_exchange(&ring[what >> 12 & (RING - 1)], held[at]); break;
    case 2:
      for (int k = 0; k < 20; k++) // temporaries, which wait
        free(malloc(40));
      break;
    default: drop(held[at]); held[at] = make(rng, NULL);
    }
  }
  for (int i = 0; i < HELD; i++)
    drop(held[i]);
}

static void *work(void *seed)
{
  unsigned rng = (unsigned)(uintptr_t)seed;
  while (!over)
    churn(&rng, 2000);
  return NULL;
}

static void *work_shortly(void *seed)
{
  unsigned rng = (unsigned)(uintptr_t)seed;
  churn(&rng, 100);
  return NULL;
}

static void have_a_child(unsigned seed)
{
  int status = -1;
  pid_t child = fork();
  must(child >= 0, "no fork");
  if (!child) {
    unsigned rng = seed;
    churn(&rng, 300);
    _exit(0);
  }
  must(waitpid(child, &status, 0) == child && status == 0, "a child did not end well");
}

static void map_and_load(void)
{
  void *p = mmap(NULL, 3 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(p != MAP_FAILED && !munmap((char *)p + 4096, 4096) && !munmap(p, 3 << 12), "no mmap");
  void *library = dlopen("libutil.so.1", RTLD_NOW);
  if (library)
    dlclose(library);
  struct tidemark_event_stats stats; // whatever it says
  tidemark_event_stats_read(&stats);
}

int main(int argc, char **argv)
{
  must(argc >= 2, "arguments");
  uint64_t end = now_ms() + strtoull(argv[1], NULL, 10);
  int n_children = argc > 2 ? atoi(argv[2]) : 0;
  unsigned seed = 1;
  free(malloc(10));
  for (int i = 0; i < (n_children ? n_children : 1); i++)
    have_a_child(seed++);
  pthread_t workers[WORKERS];
  for (uintptr_t i = 0; !n_children && i < WORKERS; i++)
    must(!pthread_create(&workers[i], NULL, work, (void *)(i + 1)), "no thread");
  while (!n_children && now_ms() < end) {
    pthread_t shortly;
    must(!pthread_create(&shortly, NULL, work_shortly, (void *)(uintptr_t)seed++), "no thread");
    pthread_join(shortly, NULL);
    map_and_load();
    if (seed % 4 == 0)
      have_a_child(seed);
  }
  over = true;
  for (int i = 0; !n_children && i < WORKERS; i++)
    pthread_join(workers[i], NULL);
  for (int i = 0; i < RING; i++)
    drop(ring[i]);
  puts("survived");
  return 0;
}
