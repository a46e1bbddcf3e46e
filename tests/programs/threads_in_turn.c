// SPDX-License-Identifier: Apache-2.0
//
// 300 threads one after another, while the first sleeps or allocates a little itself. Only one is
// at work at any time, so the peak is exact, to the byte and in its moment: the program keeps its
// own books of what each site holds, and what they say of its highest moment must be the shares.
//
// build: -pthread
// truth: total: peak_bound_bytes=0
// truth: image: threads=301
#include "site.h"
#include <pthread.h>

enum { N_THREADS = 300, N_SITES = 3, N_BLOCKS = 24 };

static unsigned long live[N_SITES], at_peak[N_SITES], total, peak, random_state = 11;

static unsigned below(unsigned n)
{
  random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(random_state >> 33) % n;
}

#define SITES(X) X(0) X(1) X(2)
#define DEFINE(k)                                                                                  \
  SITE static void *grab_##k(unsigned size)                                                        \
  {                                                                                                \
    return malloc(size);                                                                           \
  }
SITES(DEFINE)
#define NAME(k) grab_##k,
static void *(*const grab[N_SITES])(unsigned) = {SITES(NAME)};

struct block {
  void *at;
  unsigned size, site;
};

static void take(struct block *block, unsigned site, unsigned size)
{
  *block = (struct block){grab[site](size), size, site};
  MUST(block->at);
  live[site] += size;
  total += size;
  if (total > peak) {
    peak = total;
    for (int k = 0; k < N_SITES; k++)
      at_peak[k] = live[k];
  }
}

static void give_back(struct block *block)
{
  live[block->site] -= block->size;
  total -= block->size;
  free(block->at);
  block->at = NULL;
}

// A few of them work for long. Temporaries, blocks that stay for a while, and some that another
// thread frees.
static void *work(void *shared)
{
  struct block own[N_BLOCKS] = {0};
  for (unsigned n = below(20) ? 5 + below(200) : 5000; n; n--) {
    unsigned at = below(N_BLOCKS);
    struct block *block = at ? &own[at] : shared;
    if (block->at)
      give_back(block);
    else
      take(block, below(N_SITES), 1 + below(500));
  }
  for (int i = 0; i < N_BLOCKS; i++)
    if (own[i].at)
      give_back(&own[i]);
  return NULL;
}

int main(void)
{
  struct block shared = {0}, mine = {0};
  char name[] = "truth: site ^grab_0: ";
  for (int i = 0; i < N_THREADS; i++) {
    pthread_t thread;
    if (i % 7 == 0)
      take(&mine, 2, 1 + below(300));
    MUST(pthread_create(&thread, NULL, work, &shared) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    if (i % 7 == 0)
      give_back(&mine);
  }
  for (int k = 0; k < N_SITES; k++) {
    name[18] = (char)('0' + k);
    say(name), say_number("peak_bytes =", at_peak[k]);
  }
  return 0;
}
