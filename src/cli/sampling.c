// SPDX-License-Identifier: Apache-2.0
//
// How often is sampled, as it is asked for: --sample of run and attach, and ctl.
#include "cli/sampling.h"

#include "base/units.h"
#include "cli/terminal.h"
#include "supervise/run.h"

uint32_t tide_sampling_bits(uint64_t bytes)
{
  char got[TIDE_UNITS_MAX], asked[TIDE_UNITS_MAX];
  const struct tide_style style = {.units = TIDE_UNITS_IEC};
  uint32_t bits = tide_weight_bits(bytes);
  if (bits && bytes != 1u << bits)
    tide_say("one sample for %s: the power of two nearest to %s",
             tide_units_bytes(got, tide_exact(1 << bits), style),
             tide_units_bytes(asked, tide_exact((int64_t)bytes), style));
  return bits;
}
