// SPDX-License-Identifier: Apache-2.0
//
// The agent in a process that puts it there itself: as a tracer does from outside, where there is
// no ptrace (qemu-user). The same displacers, islands, entry and agent; what is not tested by it is
// stopping threads, and finding allocators in files.
#pragma once
#include "store/codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inside_entry {
  void *at;
  enum tide_role role;
  uint64_t own_lo, own_bytes; // as store/agent_face.h has them
  bool has_quick;             // where it has a quick way in, callers elsewhere take it:
  uint64_t object_lo;
  uint32_t object_bytes;
};

struct inside_options {
  const char *agent; // path of libtidemark-agent.so
  const char *store; // a file that becomes the store
  const char *allocator;
  uint32_t blocks_are_apart;
};

// While the process has one thread. NULL: done; else what is wrong. Entries that are NULL, or there
// twice, are left out.
const char *inside_begin(const struct inside_options *options, const struct inside_entry *entries,
                         size_t n);
