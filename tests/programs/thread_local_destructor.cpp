// SPDX-License-Identifier: Apache-2.0
//
// thread_local objects that allocate when first used and free, and allocate again, when the
// thread ends.
//
// build: -pthread
// truth: site on_first_use: allocations=40, frees=40, bytes=40*100
// truth: site on_the_way_out: allocations=40, frees=0, live_bytes=40*10
#include "site.h"
#include <pthread.h>

static char *left[64];
static int n_left;

struct holder {
  char *block;
  SITE holder() { on_first_use(); }
  SITE void on_first_use() { block = new char[100]; }
  SITE void on_the_way_out() { left[n_left++] = new char[10]; }
  ~holder()
  {
    delete[] block;
    on_the_way_out();
  }
};

static thread_local holder mine;

static void *work(void *unused)
{
  mine.block[0] = 1;
  return unused;
}

int main()
{
  for (int i = 0; i < 40; i++) {
    pthread_t thread;
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_join(thread, nullptr);
  }
  return 0;
}
