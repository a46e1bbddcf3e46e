// SPDX-License-Identifier: Apache-2.0
//
// The allocation patterns whose cost we state, one per run, timed from the inside so that starting
// up and finishing do not count. Knows nothing of any profiler: the same binary runs under each.
//
//   pairs MODE [-d DEPTH] [-n PAIRS] [-t THREADS] [-l LIVE] [-s SIZE] [-w]
//
//   hot     one stack, DEPTH frames deep, malloc and free in a loop
//   fresh   the innermost four frames change with every pair, the outer ones stay (256 stacks)
//   random  64 stacks that differ from the root on, in random order
//   live    a set of LIVE blocks; each pair frees a random one and allocates another
//   cross   one thread allocates, another frees
//   hold    allocate LIVE blocks of SIZE bytes in THREADS threads (0: 16 to 31 bytes; negative:
//           16 to -SIZE, at random), print "ready", wait for a line on stdin; free a random half,
//           print "ready", wait for another
//
// With -w it first prints "ready" and waits for a line on stdin: to be attached to.
//
// Prints nanoseconds per pair (per thread, the slowest thread). A tenth of the pairs are run first,
// unmeasured. The frames are real calls of sixteen functions with frames of different sizes. Where
// it may (as root), a single thread keeps to one core and is not interrupted for other programs.
#define _GNU_SOURCE
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FRESH_FRAMES = 4, N_STACKS = 64, N_FUNCTIONS = 16, RING = 1024 };

// What a walk down the frames carries; leaf is called at the innermost one.
struct walk {
  uint64_t path; // four bits choose the function at each depth
  uint64_t random;
  long n_pairs;
  void **live;
  long n_live;
  void *(*leaf)(struct walk *);
  int turn_depth; // at this depth call turn once, -1: nowhere
  void *(*turn)(struct walk *, int depth);
};

typedef void *(*frame_fn)(struct walk *, int depth);
static const frame_fn frames[N_FUNCTIONS];

static uint64_t random_next(struct walk *walk)
{
  uint64_t x = walk->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return walk->random = x;
}

static void *descend(struct walk *walk, int depth)
{
  return frames[(walk->path >> ((depth * 4) & 63)) & 15](walk, depth);
}

#define FRAME(n, bytes)                                                                            \
  __attribute__((noinline)) static void *frame_##n(struct walk *walk, int depth)                   \
  {                                                                                                \
    volatile char local[bytes];                                                                    \
    local[0] = (char)depth;                                                                        \
    void *result;                                                                                  \
    if (depth == walk->turn_depth) {                                                               \
      walk->turn_depth = -1;                                                                       \
      result = walk->turn(walk, depth - 1);                                                        \
    } else {                                                                                       \
      result = depth > 0 ? descend(walk, depth - 1) : walk->leaf(walk);                            \
    }                                                                                              \
    return (char *)result + (local[0] - (char)depth); /* not a tail call */                        \
  }
FRAME(0, 16)
FRAME(1, 32)
FRAME(2, 48)
FRAME(3, 64)
FRAME(4, 24)
FRAME(5, 80)
FRAME(6, 112)
FRAME(7, 16)
FRAME(8, 40)
FRAME(9, 56)
FRAME(10, 160)
FRAME(11, 16)
FRAME(12, 32)
FRAME(13, 256)
FRAME(14, 16)
FRAME(15, 96)
static const frame_fn frames[N_FUNCTIONS] = {
    frame_0, frame_1, frame_2,  frame_3,  frame_4,  frame_5,  frame_6,  frame_7,
    frame_8, frame_9, frame_10, frame_11, frame_12, frame_13, frame_14, frame_15,
};

// The compiler may not see that a block is freed unused.
static void *block_new(size_t bytes)
{
  void *block = malloc(bytes);
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

__attribute__((noinline)) static void *leaf_pairs(struct walk *walk)
{
  for (long i = 0; i < walk->n_pairs; i++)
    free(block_new(16 + (size_t)(i & 63)));
  return NULL;
}

__attribute__((noinline)) static void *leaf_replace(struct walk *walk)
{
  for (long i = 0; i < walk->n_pairs; i++) {
    uint64_t at = (uint64_t)((unsigned __int128)random_next(walk) * (uint64_t)walk->n_live >> 64);
    free(walk->live[at]);
    walk->live[at] = block_new(16 + (size_t)(i & 15));
  }
  return NULL;
}

__attribute__((noinline)) static void *leaf_block(struct walk *walk)
{
  return block_new(16 + (walk->path & 63));
}

__attribute__((noinline)) static void *turn_fresh(struct walk *walk, int depth)
{
  for (long i = 0; i < walk->n_pairs; i++) {
    walk->path = random_next(walk) & 0x3333333333333333u; // 4 functions to choose from: 4^4 stacks
    free(descend(walk, depth));
  }
  return NULL;
}

static void run_hot(struct walk *walk, int depth)
{
  walk->leaf = leaf_pairs;
  descend(walk, depth);
}

static void run_fresh(struct walk *walk, int depth)
{
  walk->leaf = leaf_block;
  walk->turn = turn_fresh;
  walk->turn_depth = FRESH_FRAMES;
  descend(walk, depth);
}

static void run_random(struct walk *walk, int depth)
{
  uint64_t paths[N_STACKS];
  for (int i = 0; i < N_STACKS; i++)
    paths[i] = random_next(walk);
  walk->leaf = leaf_block;
  for (long i = 0; i < walk->n_pairs; i++) {
    walk->path = paths[random_next(walk) % N_STACKS];
    free(descend(walk, depth));
  }
}

static void run_live(struct walk *walk, int depth)
{
  walk->leaf = leaf_replace;
  descend(walk, depth);
}

// A ring between the thread that allocates and the one that frees; each side owns one end.
static struct {
  void *slots[RING];
  _Alignas(64) uint64_t head; // written by the allocating thread
  _Alignas(64) uint64_t tail; // written by the freeing thread
} ring;

static void *cross_free(void *argument)
{
  long n_pairs = *(long *)argument;
  for (uint64_t i = 0; i < (uint64_t)n_pairs; i++) {
    while (__atomic_load_n(&ring.head, __ATOMIC_ACQUIRE) == i)
      ;
    free(ring.slots[i % RING]);
    __atomic_store_n(&ring.tail, i + 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

__attribute__((noinline)) static void *leaf_hand_over(struct walk *walk)
{
  for (uint64_t i = 0; i < (uint64_t)walk->n_pairs; i++) {
    while (i - __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE) == RING)
      ;
    ring.slots[i % RING] = block_new(16 + (i & 63));
    __atomic_store_n(&ring.head, i + 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void run_cross(struct walk *walk, int depth)
{
  pthread_t thread;
  memset(&ring, 0, sizeof ring);
  if (pthread_create(&thread, NULL, cross_free, &walk->n_pairs) != 0)
    abort();
  walk->leaf = leaf_hand_over;
  descend(walk, depth);
  pthread_join(thread, NULL);
}

struct job {
  void (*run)(struct walk *, int depth);
  int depth;
  long n_pairs, n_live;
  uint64_t seed;
  double ns_per_pair;
};

static pthread_barrier_t start_line;

static double now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Not from malloc: the table of blocks is ours, not the workload's.
static void **table_new(long n)
{
  void *table = mmap(NULL, (size_t)n * sizeof(void *) + 1, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table == MAP_FAILED)
    abort();
  return table;
}

static void *job_main(void *argument)
{
  struct job *job = argument;
  struct walk walk = {.random = 0x9E3779B97F4A7C15u ^ (job->seed * 77777),
                      .path = 0x123456789abcdefu,
                      .turn_depth = -1,
                      .n_live = job->n_live};
  walk.live = table_new(job->n_live);
  for (long i = 0; i < job->n_live; i++)
    walk.live[i] = block_new(16 + (size_t)(i & 15));
  // Both rounds from one place: another would make other stacks of the same frames. (Volatile, so
  // that no compiler makes two places of it.)
  for (volatile int measured = 0; measured <= 1; measured++) {
    struct walk round = walk;
    round.n_pairs = measured ? job->n_pairs : job->n_pairs / 10;
    if (measured)
      pthread_barrier_wait(&start_line);
    double start = now_ns();
    job->run(&round, job->depth);
    job->ns_per_pair = (now_ns() - start) / (double)round.n_pairs;
  }
  return NULL;
}

struct share {
  void **live;
  long n, size;
  uint64_t seed;
};

static void *share_fill(void *argument)
{
  struct share *share = argument;
  struct walk random = {.random = share->seed};
  for (long i = 0; i < share->n; i++) {
    size_t bytes = 16 + (size_t)(i & 15);
    if (share->size)
      bytes = share->size > 0 ? (size_t)share->size
                              : 16 + (random_next(&random) >> 20) % (uint64_t)(-share->size - 15);
    char *block = share->live[i] = block_new(bytes);
    for (size_t at = 0; at < bytes; at += 4096)
      block[at] = 1;
  }
  return NULL;
}

static void *share_halve(void *argument)
{
  struct share *share = argument;
  struct walk random = {.random = share->seed + 1};
  for (long i = 0; i < share->n; i++)
    if (random_next(&random) >> 20 & 1)
      free(share->live[i]);
  return NULL;
}

static void ready(void)
{
  puts("ready");
  fflush(stdout);
  (void)getchar();
}

static void hold(long n_live, long size, int n_threads)
{
  struct share shares[64];
  void *(*const steps[])(void *) = {share_fill, share_halve};
  for (int i = 0; i < n_threads; i++)
    shares[i] = (struct share){table_new(n_live / n_threads), n_live / n_threads, size,
                               0x9E3779B97F4A7C15u * (uint64_t)(i + 1)};
  for (int step = 0; step < 2; step++) {
    pthread_t threads[64];
    for (int i = 1; i < n_threads; i++)
      if (pthread_create(&threads[i], NULL, steps[step], &shares[i]) != 0)
        abort();
    steps[step](&shares[0]);
    for (int i = 1; i < n_threads; i++)
      pthread_join(threads[i], NULL);
    ready();
  }
}

static void (*mode_run(const char *name))(struct walk *, int)
{
  static const struct {
    const char *name;
    void (*run)(struct walk *, int);
  } modes[] = {{"hot", run_hot},
               {"fresh", run_fresh},
               {"random", run_random},
               {"live", run_live},
               {"cross", run_cross}};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (strcmp(modes[i].name, name) == 0)
      return modes[i].run;
  return NULL;
}

// The tool's own processes and threads have the other cores: with one core there is nothing to
// keep.
static void keep_core(void)
{
  long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (n_cores < 2)
    return;
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET((size_t)n_cores - 1, &last);
  struct sched_param priority = {.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &priority) == 0)
    sched_setaffinity(0, sizeof last, &last);
}

int main(int argc, char **argv)
{
  const char *mode = argc > 1 ? argv[1] : "";
  int depth = 20, n_threads = 1;
  long n_pairs = 1000000, n_live = 0, size = 0;
  bool waits = false;
  optind = 2;
  for (int option; (option = getopt(argc, argv, "d:n:t:l:s:w")) != -1;)
    switch (option) {
    case 'd': depth = atoi(optarg); break;
    case 'n': n_pairs = atol(optarg); break;
    case 't': n_threads = atoi(optarg); break;
    case 'l': n_live = atol(optarg); break;
    case 's': size = atol(optarg); break;
    case 'w': waits = true; break;
    default: return 2;
    }
  if (strcmp(mode, "hold") == 0 && n_threads >= 1 && n_threads <= 64) {
    hold(n_live, size, n_threads);
    return 0;
  }
  void (*run)(struct walk *, int) = mode_run(mode);
  if (run == NULL || n_threads < 1 || n_threads > 64 || n_pairs < 10 ||
      (run == run_cross && n_threads != 1) || (run == run_live && n_live < 1)) {
    fprintf(stderr, "usage: pairs MODE [-d DEPTH] [-n PAIRS] [-t THREADS] [-l LIVE] "
                    "[-s SIZE]\n");
    return 2;
  }
  if (waits)
    ready();
  if (n_threads == 1 && run != run_cross)
    keep_core();
  struct job jobs[64];
  pthread_t threads[64];
  pthread_barrier_init(&start_line, NULL, (unsigned)n_threads);
  for (int i = 0; i < n_threads; i++) {
    jobs[i] = (struct job){
        .run = run, .depth = depth, .n_pairs = n_pairs, .n_live = n_live, .seed = (uint64_t)i + 1};
    if (i > 0 && pthread_create(&threads[i], NULL, job_main, &jobs[i]) != 0)
      abort();
  }
  job_main(&jobs[0]);
  double slowest = jobs[0].ns_per_pair;
  for (int i = 1; i < n_threads; i++) {
    pthread_join(threads[i], NULL);
    if (jobs[i].ns_per_pair > slowest)
      slowest = jobs[i].ns_per_pair;
  }
  printf("%.2f\n", slowest);
  return 0;
}
