// SPDX-License-Identifier: Apache-2.0
//
// Where a capture comes from that somebody looks at again and again: a file that may be replaced
// (serve/file_source.h), or a recording that goes on (supervise/living.h). Whoever looks neither
// knows nor cares which. One thread at a time.
#pragma once
#include "base/err.h"
#include "model/model.h"

struct tide_source {
  const struct tide_source_kind *kind;
  char *name; // what it is called in front of people: the file's path. Owned
};

struct tide_source_kind {
  // Never waits for anybody. *ret_capture is another capture than the one given before, the
  // caller's now, or NULL: that is still it. A failure says in a whole sentence why the latest
  // cannot be had, once. is_wanted: somebody will look at it; what costs something is done then.
  enum tide_err (*look)(struct tide_source *source, bool is_wanted,
                        struct tide_capture **ret_capture, struct tide_diag *diag);
  // Will there be others? As far as can be seen. shown is the one given last.
  bool (*is_live)(const struct tide_source *source, const struct tide_capture *shown);
  void (*free)(struct tide_source *source);
};

static inline void tide_source_free(struct tide_source *source) // NULL is fine
{
  if (source)
    source->kind->free(source);
}
