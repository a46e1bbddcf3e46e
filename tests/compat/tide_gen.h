// SPDX-License-Identifier: Apache-2.0
//
// Captures made from a seed: the same seed gives the same capture on every machine. They keep the
// promises of model/model.h and nothing else: values come from all over their range, extremes
// and negative ones included, and any table may be empty.
#pragma once
#include "model/model.h"

// scale: about how many sites and frames per image. Free with tide_capture_free().
struct tide_capture *tide_gen_capture(uint64_t seed, size_t scale);

// A capture as a real program of n_stacks stacks and n_snapshots snapshots would give, for sizes
// and times.
struct tide_capture *tide_gen_program(uint64_t seed, size_t n_stacks, size_t n_snapshots);
