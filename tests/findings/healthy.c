// SPDX-License-Identifier: Apache-2.0
//
// Programs without a fault, by the name in argv[1]: what they do looks like one to whoever does not
// look twice.
#include "steps.h"

struct node {
  struct node *next, *other;
  char text[100];
};

// Every request frees what it allocates.
static void run_server(void)
{
  for (int i = 0; i < STEPS; i++)
    step_work(i);
}

// A document that is read in, and taken down piece by piece at the end.
static void run_taken_down(void)
{
  struct node *first = NULL;
  for (int i = 0; i < 1000; i++) {
    struct node *node = filled(malloc(sizeof *node), sizeof *node);
    node->next = first;
    first = node;
    nap_us(200);
  }
  while (first) {
    struct node *next = first->next;
    free(first);
    first = next;
    nap_us(200);
  }
}

// A queue between threads that holds 32 items at most.
enum { ROOM = 32 };
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char *items[ROOM];
  int n, closed;
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *consume(void *arg)
{
  for (;;) {
    pthread_mutex_lock(&ring.lock);
    while (!ring.n && !ring.closed)
      pthread_cond_wait(&ring.changed, &ring.lock);
    char *item = ring.n ? ring.items[--ring.n] : NULL;
    pthread_cond_broadcast(&ring.changed);
    pthread_mutex_unlock(&ring.lock);
    if (!item)
      return arg;
    free(item);
    nap_us(200);
  }
}

static void run_bounded_queue(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, consume, NULL);
  for (int i = 0; i < 1500; i++) {
    char *item = filled(malloc(2000), 2000);
    pthread_mutex_lock(&ring.lock);
    while (ring.n == ROOM)
      pthread_cond_wait(&ring.changed, &ring.lock);
    ring.items[ring.n++] = item;
    pthread_cond_broadcast(&ring.changed);
    pthread_mutex_unlock(&ring.lock);
  }
  pthread_mutex_lock(&ring.lock);
  ring.closed = 1;
  pthread_cond_broadcast(&ring.changed);
  pthread_mutex_unlock(&ring.lock);
  pthread_join(thread, NULL);
}

// A cache with a limit: full after a while, then every newcomer replaces somebody.
static void run_bounded_cache(void)
{
  static char *slots[300];
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    for (int k = 0; k < 2; k++) {
      unsigned slot = (unsigned)(i * 2 + k) * 7919u % 300;
      free(slots[slot]);
      slots[slot] = filled(malloc(800), 800);
    }
  }
  for (int i = 0; i < 300; i++)
    free(slots[i]);
}

static void tree_free(struct node *tree)
{
  if (!tree)
    return;
  tree_free(tree->next);
  tree_free(tree->other);
  free(tree);
}

static struct node *tree_new(int depth)
{
  struct node *tree = filled(malloc(sizeof *tree), sizeof *tree);
  tree->next = depth ? tree_new(depth - 1) : NULL;
  tree->other = depth ? tree_new(depth - 1) : NULL;
  if (depth == 4)
    nap_us(300);
  return tree;
}

// Reads its input into a tree, from start to end: that is what it is for.
static void run_loader(void)
{
  tree_free(tree_new(14));
}

// Builds, works, takes down.
static void run_phases(void)
{
  for (int phase = 0; phase < 3; phase++) {
    struct node *tree = tree_new(9);
    for (int i = 0; i < STEPS / 4; i++)
      step_work(i);
    tree_free(tree);
  }
}

// A buffer that doubles, as it should.
static void run_doubling(void)
{
  char *text = NULL;
  size_t room = 0;
  for (size_t n = 0; n < 3 << 20; n += 4096) {
    if (n + 4096 > room)
      text = realloc(text, room = room ? room * 2 : 8192);
    memset(text + n, 't', 4096);
    nap_us(300);
  }
  free(text);
}

static void *worker(void *arg)
{
  char *scratch = filled(malloc(4096), 4096);
  for (int i = 0; i < STEPS / 2; i++)
    step_work(i);
  free(scratch);
  return arg;
}

static void run_workers(void)
{
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
}

// One arena, all of it used.
static void run_arena(void)
{
  char *arena = filled(malloc(8 << 20), 8 << 20);
  for (int i = 0; i < STEPS; i++)
    step_work(i);
  free(arena);
}

// Blocks that live for as long as they happen to.
static void run_random_lives(void)
{
  static char *held[512];
  unsigned seed = 7;
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    for (int k = 0; k < 4; k++) {
      seed = seed * 1664525u + 1013904223u;
      unsigned slot = seed >> 16 & 511;
      free(held[slot]);
      held[slot] = filled(malloc(100 + slot), 100 + slot);
    }
  }
  for (int i = 0; i < 512; i++)
    free(held[i]);
}

// What is left at exit was there from the start, and is used to the end.
static void run_reachable_at_exit(void)
{
  static char *names[200];
  for (int i = 0; i < 200; i++)
    names[i] = filled(malloc(300), 300);
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    sink = (unsigned char)names[i % 200][7];
  }
}

// Everything is allocated through one function, from everywhere: nobody alone keeps it.
APART static void *object_new(size_t bytes)
{
  return filled(malloc(bytes), bytes);
}

APART static void *evaluate(unsigned code, int depth)
{
  void *made = depth == 6          ? object_new(200 + code % 50)
               : code >> depth & 1 ? evaluate(code, depth + 1)
                                   : (sink++, evaluate(code, depth + 1));
  sink++; // neither is a tail call
  return made;
}

static void run_interpreter(void)
{
  static void *modules[STEPS];
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    modules[i] = evaluate((unsigned)i, 0);
  }
  for (int i = 0; i < STEPS; i++)
    free(modules[i]);
}

// What nobody uses any more is freed by another thread, now and then, all at once.
static char *garbage[STEPS];
static void *collect(void *arg)
{
  for (int i = 0; i < STEPS; i++) {
    free(garbage[i]);
    garbage[i] = NULL;
  }
  return arg;
}

static void run_collector(void)
{
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    garbage[i] = filled(malloc(2000), 2000);
    if (i % 500 == 499) {
      pthread_t thread;
      pthread_create(&thread, NULL, collect, NULL);
      pthread_join(thread, NULL);
    }
  }
  collect(NULL);
}

// Each block is filled a while after it was asked for, and freed at once: between two looks at it.
static void run_late_fill(void)
{
  for (int i = 0; i < 3; i++) {
    char *buffer = malloc(4 << 20);
    nap_us(100000);
    free(filled(buffer, 4 << 20));
    nap_us(10000);
  }
}

// Text that is begun by one, appended to by another and cut to size by a third: how often the
// second resizes says nothing about how many texts there are. Two are begun there, too.
APART static char *append(char *text, size_t bytes)
{
  return filled(realloc(text, bytes), bytes);
}

APART static char *cut(char *text, size_t bytes)
{
  char *fitting = realloc(text, bytes);
  return fitting ? fitting : text;
}

static void run_appended(void)
{
  char *first[2] = {append(NULL, 40), append(NULL, 40)};
  for (int i = 0; i < 10 * STEPS; i++) {
    char *text = filled(malloc(8), 8);
    for (size_t bytes = 16; bytes <= 48; bytes += 8)
      text = append(text, bytes);
    free(cut(text, 41));
  }
  free(first[0]);
  free(first[1]);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } modes[] = {
      {"server", run_server},
      {"taken_down", run_taken_down},
      {"bounded_queue", run_bounded_queue},
      {"bounded_cache", run_bounded_cache},
      {"loader", run_loader},
      {"phases", run_phases},
      {"doubling", run_doubling},
      {"workers", run_workers},
      {"arena", run_arena},
      {"random_lives", run_random_lives},
      {"reachable_at_exit", run_reachable_at_exit},
      {"interpreter", run_interpreter},
      {"collector", run_collector},
      {"late_fill", run_late_fill},
      {"appended", run_appended},
  };
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
      modes[i].run();
      return 0;
    }
  return 2;
}
