// SPDX-License-Identifier: Apache-2.0
//
// See draft.h.
#include "supervise/draft.h"

#include "base/alloc.h"
#include "tide/format.h"

#include <stdlib.h>

enum tide_err tide_draft_new(const struct tide_capture *capture, uint64_t version,
                             struct tide_draft **ret_draft, struct tide_diag *diag)
{
  struct tide_draft *draft = tide_alloc(sizeof *draft);
  *draft = (struct tide_draft){.n_users = 1, .version = version, .time_ns = capture->duration_ns};
  enum tide_err err = tide_file_encode(capture, &draft->bytes, diag);
  if (err)
    tide_draft_free(draft);
  else
    *ret_draft = draft;
  return err;
}

struct tide_draft *tide_draft_share(struct tide_draft *draft)
{
  __atomic_fetch_add(&draft->n_users, 1, __ATOMIC_RELAXED);
  return draft;
}

// The last user must see all that the others did with it.
void tide_draft_free(struct tide_draft *draft)
{
  if (!draft || __atomic_fetch_sub(&draft->n_users, 1, __ATOMIC_ACQ_REL) > 1)
    return;
  tide_buf_done(&draft->bytes);
  free(draft);
}
