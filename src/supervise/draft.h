// SPDX-License-Identifier: Apache-2.0
//
// A draft: the capture so far of a run that goes on, as the bytes of a .tide file. Compact (some 12
// bytes for a stack), whole in itself and never changed, so any number of threads may share one.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

struct tide_draft {
  unsigned n_users; // atomic
  uint64_t version; // 1 is a run's first, each later one has the next
  uint64_t time_ns; // what moment it is of, on the capture's clock
  struct tide_buf bytes;
};

// With one user.
enum tide_err tide_draft_new(const struct tide_capture *capture, uint64_t version,
                             struct tide_draft **ret_draft, struct tide_diag *diag);
struct tide_draft *tide_draft_share(struct tide_draft *draft);
void tide_draft_free(struct tide_draft *draft); // one user less; NULL is fine
