// SPDX-License-Identifier: Apache-2.0
//
// C that Go calls, and that calls Go.
#include "_cgo_export.h"

void walk(void *list, int n)
{
  for (int i = 0; i < n; i++)
    visit(i);
}
