// SPDX-License-Identifier: Apache-2.0
//
// libstdc++ sets a pool of some 70 KiB aside before main. It is libstdc++'s, recorded as such,
// and none of the program's own sites.
//
// truth: site main: allocations=3, bytes=3*50, frees=3
// truth: site hold: allocations=3, bytes=150
// truth: total: allocations>=3, allocations<=4
#include "site.h"

SITE static char *hold()
{
  return new char[50];
}

int main()
{
  for (int i = 0; i < 3; i++)
    delete[] hold();
  return 0;
}
