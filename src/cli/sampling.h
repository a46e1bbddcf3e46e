// SPDX-License-Identifier: Apache-2.0
//
// How often is sampled, as it is asked for.
#pragma once
#include <stdint.h>

// In bits (store/weight.h), 0 of 0 bytes. Where it is not what was asked for, says so.
uint32_t tide_sampling_bits(uint64_t bytes);
