// SPDX-License-Identifier: Apache-2.0
//
// Has a file changed, and is it whole again? A capture is replaced at once, by a new file under its
// name; another tool's file, or a store, is written to in place. So a file of another identity may
// be read at once, one that only grew when it has come to rest, or after a while in any case.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct tide_file_state {
  bool exists;
  uint64_t device, inode, size_bytes, changed_ns; // realtime
};

struct tide_file_state tide_file_state_of(const char *path); // nothing but a regular file exists

// Whether to read it now. read: as it was when it was read; seen: at the last look, updated here;
// *restless counts looks at which it was still changing.
bool tide_file_state_is_due(const struct tide_file_state *read, struct tide_file_state *seen,
                            const struct tide_file_state *now, unsigned *restless);
