// SPDX-License-Identifier: Apache-2.0
//
// What a packed image holds, given back. See pack.h.
#include "model/pack.h"

#include <stdlib.h>

void tide_pack_free(struct tide_pack *pack)
{
  if (!pack)
    return;
  tide_buf_done(&pack->tables);
  tide_buf_done(&pack->snapshots);
  free(pack->stacks);
  free(pack);
}
