// SPDX-License-Identifier: Apache-2.0
//
// Up, down, up higher with another site, down: the peak is the second hill, and each site's
// share of it is what it held then, not its own maximum. (The last two blocks of the second hill
// are freed with no allocation between: temporary, by the definition.)
//
// agent: yes
// truth: total: allocations=1350, bytes=1751000, frees=850, live_blocks=500, live_bytes=500000
// truth: total: peak_bytes=1250000, peak_blocks=750, temporary=102
// truth: site ^first_hill: allocations=1000, bytes=1000000, frees=500, peak_bytes=500000
// truth: site ^first_hill: own_max_bytes=1000000, live_blocks=500
// truth: site ^second_hill: allocations=250, bytes=750000, frees=250, peak_bytes=750000
// truth: site ^second_hill: own_max_bytes=750000, live_blocks=0, temporary=2
// truth: site ^brief: allocations=100, bytes=1000, frees=100, temporary=100, peak_bytes=0
#include "site.h"

static void *kept[1000];

SITE static void first_hill(int i)
{
  kept[i] = malloc(1000);
}

SITE static void second_hill(int i)
{
  kept[i] = malloc(3000);
}

SITE static void brief(void)
{
  free(malloc(10));
}

int main(void)
{
  for (int i = 0; i < 1000; i++)
    first_hill(i); // 1,000,000 live
  for (int i = 0; i < 500; i++)
    free(kept[i]); // 500,000
  for (int i = 0; i < 250; i++)
    second_hill(i); // 1,250,000: the peak
  for (int i = 0; i < 250; i++)
    free(kept[i]);
  for (int i = 0; i < 100; i++)
    brief();
  return 0;
}
