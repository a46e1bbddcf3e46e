// SPDX-License-Identifier: Apache-2.0
//
// Process images added up, as if they had all started at the same moment. Images of the same
// program become one, stack by stack: stacks are the same where the same places of the same files
// called each other, wherever those were loaded.
//
//   counts, bytes, histograms   sums of the inputs'
//   what was live at the end    likewise
//   the peak                    the sum of the inputs' own peaks: no less than what they could have
//                               held together; the bound reaches down to the largest of them
//   times                       since the start of each input
//   timeline, snapshots         sums at common moments, if every input has some; an input that has
//                               ended counts with what it held at its end
//
// Files of other tools hold less: what one input lacks, the sum lacks. Their stacks meet ours where
// they have the same addresses in the same files, else by names, in whatever gathers by names.
//
// 1. The sums hold exactly, modulo 2^64.
// 2. The result does not depend on the order of the inputs.
// 3. Code in no file (made at run time) is told apart by its address as it ran and, where names are
//    stored, by those.
#pragma once
#include "base/err.h"
#include "model/model.h"

struct tide_merge_input {
  const struct tide_capture *capture; // not owned
  size_t image_idx;
};

// One image per program, in the order of their names. The pid of an image that had several inputs
// is 0. Refuses inputs of two architectures, inputs of a program that share none of peak, live and
// total, and more modules than a capture can have. The result is the caller's and needs none of the
// inputs.
enum tide_err tide_merge(const struct tide_merge_input *inputs, size_t n_inputs,
                         struct tide_capture **ret_capture, struct tide_diag *diag);
