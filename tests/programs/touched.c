// SPDX-License-Identifier: Apache-2.0
//
// Large blocks that come and go between two looks: how much of each was in memory at its end is
// known all the same, whoever frees it, and of one that shrinks as well. Smaller ones are left
// alone.
//
// agent: yes
// truth: site ^client: allocations=100, looked_blocks=100, looked_bytes=100*262144
// truth: site ^client: touched_bytes>=100*4000, touched_bytes<=100*8192
// truth: site ^filled: looked_blocks=10, looked_bytes=10*100000, touched_bytes=10*100000
// truth: site ^handed: looked_blocks=1, looked_bytes=500000, touched_bytes<=8192
// truth: site ^roomy: looked_blocks=1, looked_bytes=1000000, touched_bytes<=8192
// truth: site ^shrunk: looked_blocks=0
// truth: site ^below: allocations=10, looked_blocks=0
// truth: total: looked_blocks=112
#include "site.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

SITE static char *client(void)
{
  return malloc(262144);
}

SITE static char *filled(void)
{
  return memset(malloc(100000), 1, 100000);
}

SITE static char *handed(void)
{
  return malloc(500000);
}

SITE static char *roomy(void)
{
  return malloc(1000000);
}

SITE static char *shrunk(char *block)
{
  return realloc(block, 1000);
}

SITE static char *below(void)
{
  return malloc(65535);
}

static void *release(void *block)
{
  free(block);
  return NULL;
}

int main(void)
{
  char *clients[100];
  pthread_t thread;
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // a huge page is touched as a whole
  for (int i = 0; i < 100; i++) {
    clients[i] = client();
    clients[i][0] = 1;
  }
  char *one = handed(), *large = roomy();
  one[0] = large[0] = 1;
  MUST(!pthread_create(&thread, NULL, release, one) && !pthread_join(thread, NULL));
  free(shrunk(large));
  for (int i = 0; i < 100; i++)
    free(clients[i]);
  for (int i = 0; i < 10; i++) {
    free(filled());
    free(below());
  }
  return 0;
}
