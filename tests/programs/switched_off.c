// SPDX-License-Identifier: Apache-2.0
//
// Recording is off for a while, twice: new blocks are not taken in, in any thread, ends of known
// ones are counted, and a known one that is resized stays known.
//
// build: -pthread
// agent: yes
// truth: complete: unknown_frees=50
// truth: site ^before: allocations=100, bytes=10000, live_blocks=40, live_bytes=4000
// truth: site ^while_off: stacks=0
// truth: site ^grown: allocations=10, bytes=5000, live_blocks=10, live_bytes=5000
// truth: site ^after: allocations=60, bytes=6000, live_blocks=30
// truth: site ^paired: allocations=80, live_blocks=0
#include "own_maps.h"
#include <pthread.h>

static char *store;
static void *kept[100], *unknown[50];

SITE static void *before(void)
{
  return malloc(100);
}
SITE static void *while_off(void)
{
  return malloc(100);
}
SITE static void *grown(void *p)
{
  return realloc(p, 500);
}
SITE static void *after(void)
{
  return malloc(100);
}
SITE static void paired(void)
{
  free(malloc(100));
}

static void *in_thread(void *nothing)
{
  for (volatile int i = 0; i < 20; i++)
    MUST(while_off());
  return nothing;
}

int main(void)
{
  unsigned long bytes;
  pthread_t thread;
  for (volatile int i = 0; i < 100; i++)
    MUST(kept[i] = before());
  store = store_found(&bytes);
  for (volatile int i = 0; i < 40; i++)
    paired();
  switch_recording(store, 1);
  for (volatile int i = 0; i < 50; i++) {
    MUST(unknown[i] = while_off());
    free(kept[i]);
  }
  MUST(!pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, NULL));
  for (volatile int i = 50; i < 60; i++)
    MUST(kept[i] = grown(kept[i]));
  switch_recording(store, 0);
  for (volatile int i = 0; i < 30; i++)
    MUST(after());
  switch_recording(store, 1);
  for (volatile int i = 0; i < 50; i++)
    free(unknown[i]); // nobody knows them
  MUST(while_off());
  switch_recording(store, 0);
  for (volatile int i = 0; i < 40; i++)
    paired();
  for (volatile int i = 0; i < 30; i++)
    free(after());
  return 0;
}
