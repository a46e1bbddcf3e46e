// SPDX-License-Identifier: Apache-2.0
//
// Six threads allocate, resize and free at random, mostly blocks that another thread put in a
// shared place. Every block carries its size and site, every thread keeps its own books, and the
// program prints their sum as the truth; the peak within the promised bound.
//
// build: -pthread
// truth: total: moved>=1
#include "site.h"
#include <pthread.h>

enum { N_THREADS = 6, N_PLACES = 2000, N_SITES = 4, N_STEPS = 60000 };

struct block {
  unsigned size, site;
};
struct book {
  unsigned long allocations, bytes, frees, freed;
};

static struct block *_Atomic place[N_PLACES];
static struct book total[N_SITES];
static pthread_mutex_t totals = PTHREAD_MUTEX_INITIALIZER;
static _Atomic long live, peak;

#define SITES(X) X(0) X(1) X(2) X(3)
#define DEFINE(k)                                                                                  \
  SITE static struct block *grab_##k(struct block *old, unsigned size)                             \
  {                                                                                                \
    return realloc(old, size);                                                                     \
  }
SITES(DEFINE)
#define NAME(k) grab_##k,
static struct block *(*const grab[N_SITES])(struct block *, unsigned) = {SITES(NAME)};

static void change_live(long by)
{
  long now = __atomic_add_fetch(&live, by, __ATOMIC_RELAXED), seen = peak;
  while (now > seen &&
         !__atomic_compare_exchange_n(&peak, &seen, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

static struct block *take(struct book *book, struct block *old, unsigned site, unsigned size)
{
  if (old) {
    book[old->site].frees++;
    book[old->site].freed += old->size;
    change_live(-(long)old->size);
  }
  struct block *block = grab[site](old, size);
  MUST(block);
  *block = (struct block){size, site};
  book[site].allocations++;
  book[site].bytes += size;
  change_live(size);
  return block;
}

static void give_back(struct book *book, struct block *block)
{
  book[block->site].frees++;
  book[block->site].freed += block->size;
  change_live(-(long)block->size);
  free(block);
}

static void *work(void *seed)
{
  struct book book[N_SITES] = {0};
  unsigned long random = (unsigned long)seed;
  for (int step = 0; step < N_STEPS; step++) {
    random = random * 6364136223846793005ul + 1442695040888963407ul;
    unsigned at = (unsigned)(random >> 33) % N_PLACES, size = 8 + (unsigned)(random >> 45) % 3000;
    unsigned site = (unsigned)(random >> 60) % N_SITES, what = (unsigned)(random >> 25) % 8;
    struct block *block = __atomic_exchange_n(&place[at], NULL, __ATOMIC_ACQ_REL);
    if (block && what < 3)
      give_back(book, block), block = NULL;
    else if (what < 7)
      block = take(book, block, site, size);
    if (block)
      block = __atomic_exchange_n(&place[at], block, __ATOMIC_ACQ_REL);
    if (block) // somebody was quicker
      give_back(book, block);
  }
  pthread_mutex_lock(&totals);
  for (int k = 0; k < N_SITES; k++) {
    total[k].allocations += book[k].allocations;
    total[k].bytes += book[k].bytes;
    total[k].frees += book[k].frees;
    total[k].freed += book[k].freed;
  }
  pthread_mutex_unlock(&totals);
  return NULL;
}

int main(void)
{
  pthread_t thread[N_THREADS];
  char name[] = "truth: site ^grab_0: ";
  for (unsigned long i = 0; i < N_THREADS; i++)
    pthread_create(&thread[i], NULL, work, (void *)(i * 104729 + 7));
  for (int i = 0; i < N_THREADS; i++)
    pthread_join(thread[i], NULL);
  for (int k = 0; k < N_SITES; k++) {
    name[18] = (char)('0' + k);
    say(name), say_number("allocations =", total[k].allocations);
    say(name), say_number("bytes =", total[k].bytes);
    say(name), say_number("frees =", total[k].frees);
    say(name), say_number("live_bytes =", total[k].bytes - total[k].freed);
  }
  unsigned long slack = (unsigned long)peak / 1000 + N_THREADS * 8192;
  say_number("truth: total: peak_bytes >=", (unsigned long)peak - slack);
  say_number("truth: total: peak_bytes <=", (unsigned long)peak + slack + 4096);
  return 0;
}
