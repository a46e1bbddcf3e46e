// SPDX-License-Identifier: Apache-2.0
//
// A program that allocates at N different stacks, once at each, as a compiler does that walks down
// a large tree. Knows nothing of any profiler: the same binary runs under each.
//
//   stacks MODE N [hold]
//
//   leaf    a tree of calls, sixteen functions to choose from, and an allocation in each call: a
//           stack is one of before and one new frame
//   branch  an allocation at the ends of the tree alone, three calls further on, of functions that
//           differ from end to end: a stack has four new frames
//
// Every other block is freed when the call that made it returns. Ten frames are below all. Prints
// nanoseconds per stack; with "hold", "ready" instead, and waits for a line on stdin.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_FUNCTIONS = 16, N_BELOW = 10, N_FURTHER = 3 };

struct walk {
  long n_left;
  long n_made;
  uint64_t further; // the functions of the calls further on, four bits each
  int n_further;    // 0: every call allocates
};

typedef void call_fn(struct walk *, int depth);
static call_fn *const calls[N_FUNCTIONS];

static void *block_new(struct walk *walk)
{
  walk->n_left--;
  size_t bytes = 16 + (size_t)(walk->n_made++ & 63);
  void *block = malloc(bytes);
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

// One call of the tree. Depth 0 is an end of it, below that are the calls further on.
static inline __attribute__((always_inline)) void visit(struct walk *walk, int depth)
{
  int is_last = depth == -walk->n_further;
  long number = walk->n_made;
  void *block = is_last || !walk->n_further ? block_new(walk) : NULL;
  if (depth > 0) {
    for (int i = 0; i < N_FUNCTIONS && walk->n_left > 0; i++)
      calls[i](walk, depth - 1);
  } else if (!is_last) {
    if (depth == 0)
      walk->further = (uint64_t)number * 0x9E3779B97F4A7C15u >> 40;
    walk->further >>= 4;
    calls[walk->further & 15](walk, depth - 1);
  }
  if (number & 1)
    free(block);
}

#define CALL(n, bytes)                                                                             \
  __attribute__((noinline)) static void call_##n(struct walk *walk, int depth)                     \
  {                                                                                                \
    volatile char local[bytes];                                                                    \
    local[0] = (char)depth;                                                                        \
    visit(walk, depth);                                                                            \
    local[0]++; /* not a tail call */                                                              \
  }
CALL(0, 16)
CALL(1, 32)
CALL(2, 48)
CALL(3, 64)
CALL(4, 24)
CALL(5, 80)
CALL(6, 112)
CALL(7, 17)
CALL(8, 40)
CALL(9, 56)
CALL(10, 160)
CALL(11, 18)
CALL(12, 33)
CALL(13, 256)
CALL(14, 19)
CALL(15, 96)
static call_fn *const calls[N_FUNCTIONS] = {
    call_0, call_1, call_2,  call_3,  call_4,  call_5,  call_6,  call_7,
    call_8, call_9, call_10, call_11, call_12, call_13, call_14, call_15,
};

// The root of the tree, below which nothing differs.
__attribute__((noinline)) static void descend(struct walk *walk, int n_below, int depth)
{
  if (n_below > 0)
    descend(walk, n_below - 1, depth);
  else
    calls[0](walk, depth);
  __asm__ volatile("" : : : "memory"); // not a tail call
}

// As deep as a tree of so many stacks is.
static int tree_depth(int every_call, long n_stacks)
{
  int depth = 0;
  for (long ends = 1, all = 1; (every_call ? all : ends) < n_stacks; depth++) {
    ends *= N_FUNCTIONS;
    all += ends;
  }
  return depth;
}

static double now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
  long n_stacks = argc > 2 ? atol(argv[2]) : 0;
  int is_leaf = argc > 1 && strcmp(argv[1], "leaf") == 0;
  int is_branch = argc > 1 && strcmp(argv[1], "branch") == 0;
  if (n_stacks < 1 || !(is_leaf || is_branch)) {
    fprintf(stderr, "usage: stacks leaf|branch N [hold]\n");
    return 2;
  }
  struct walk walk = {.n_left = n_stacks, .n_further = is_leaf ? 0 : N_FURTHER};
  double start = now_ns();
  descend(&walk, N_BELOW, tree_depth(is_leaf, n_stacks));
  double ns = (now_ns() - start) / (double)n_stacks;
  if (argc > 3) {
    puts("ready");
    fflush(stdout);
    (void)getchar();
  } else {
    printf("%.2f\n", ns);
  }
  return 0;
}
