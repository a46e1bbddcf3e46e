// SPDX-License-Identifier: Apache-2.0
//
// Half a million random allocations, resizes and frees from eight sites. The program keeps the
// books itself and prints the truth: totals, the peak, and every site's share of the peak.
// Sizes are odd random numbers, so that the maximum is reached once.
//
// agent: yes
// truth: total: foreign_frees=0
#include "site.h"

enum { N_BLOCKS = 4096, N_SITES = 8, N_STEPS = 500000 };

static struct {
  char *at;
  unsigned long size;
  int site;
} block[N_BLOCKS];
static struct {
  unsigned long allocations, bytes, frees, live, at_peak, own_max;
} book[N_SITES];
static unsigned long seed = 12345, live, peak;

static unsigned long next_random(void)
{
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return seed >> 33;
}

#define SITES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DEFINE(k)                                                                                  \
  SITE static void *grab_##k(void *old, unsigned long size)                                        \
  {                                                                                                \
    return realloc(old, size);                                                                     \
  }
SITES(DEFINE)
#define NAME(k) grab_##k,
static void *(*const grab[N_SITES])(void *, unsigned long) = {SITES(NAME)};

static void enter(int i, int site, unsigned long size)
{
  block[i].size = size;
  block[i].site = site;
  book[site].allocations++;
  book[site].bytes += size;
  book[site].live += size;
  live += size;
  if (book[site].live > book[site].own_max)
    book[site].own_max = book[site].live;
  if (live > peak) {
    peak = live;
    for (int k = 0; k < N_SITES; k++)
      book[k].at_peak = book[k].live;
  }
}

static void leave(int i)
{
  book[block[i].site].frees++;
  book[block[i].site].live -= block[i].size;
  live -= block[i].size;
}

static void declare(void)
{
  char name[] = "truth: site ^grab_0: ";
  unsigned long allocations = 0, frees = 0, bytes = 0;
  for (int k = 0; k < N_SITES; k++) {
    name[18] = (char)('0' + k);
    say(name), say_number("allocations =", book[k].allocations);
    say(name), say_number("bytes =", book[k].bytes);
    say(name), say_number("frees =", book[k].frees);
    say(name), say_number("live_bytes =", book[k].live);
    say(name), say_number("peak_bytes =", book[k].at_peak);
    say(name), say_number("own_max_bytes =", book[k].own_max);
    allocations += book[k].allocations;
    frees += book[k].frees;
    bytes += book[k].bytes;
  }
  say_number("truth: total: allocations =", allocations);
  say_number("truth: total: bytes =", bytes);
  say_number("truth: total: frees =", frees);
  say_number("truth: total: live_bytes =", live);
  say_number("truth: total: peak_bytes =", peak);
}

// The one caller of all sites, so that each of them is one stack.
SITE static void take(int i, int site, unsigned long size)
{
  block[i].at = grab[site](block[i].at, size);
  enter(i, site, size);
}

int main(void)
{
  for (int step = 0; step < N_STEPS; step++) {
    int i = (int)(next_random() % N_BLOCKS), site = (int)(next_random() % N_SITES);
    unsigned long size = 1 + next_random() % (step % 4 ? 200 : 20000);
    // The tide: mostly rising for 50,000 steps, mostly falling for the next.
    int rising = step / 50000 % 2 == 0 ? next_random() % 4 > 0 : next_random() % 4 == 0;
    int resize = block[i].at && next_random() % 4 == 0;
    if (block[i].at && (resize || !rising))
      leave(i);
    if (resize || (!block[i].at && rising)) {
      take(i, site, size);
    } else if (block[i].at && !rising) {
      free(block[i].at);
      block[i].at = NULL;
    }
  }
  declare();
  return 0;
}
