// SPDX-License-Identifier: Apache-2.0
//
// The displacer of the machine that we run on.
#include "attach/displace.h"

#include "rt/arch.h"
#include "store/layout.h"

#define DISPLACER                                                                                  \
  (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? &tide_displacer_x86_64 : &tide_displacer_aarch64)

const struct tide_displacer *tide_displacer(void)
{
  return DISPLACER;
}
