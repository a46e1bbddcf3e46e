// SPDX-License-Identifier: Apache-2.0
//
// See file_state.h.
#include "serve/file_state.h"

#include <sys/stat.h>

enum { MAX_RESTLESS_LOOKS = 5 };

struct tide_file_state tide_file_state_of(const char *path)
{
  struct stat st;
  if (stat(path, &st) || !S_ISREG(st.st_mode))
    return (struct tide_file_state){0};
  return (struct tide_file_state){
      .exists = true,
      .device = st.st_dev,
      .inode = st.st_ino,
      .size_bytes = (uint64_t)st.st_size,
      .changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
  };
}

static bool is_same_file(const struct tide_file_state *a, const struct tide_file_state *b)
{
  return a->exists == b->exists && a->device == b->device && a->inode == b->inode;
}

static bool is_same(const struct tide_file_state *a, const struct tide_file_state *b)
{
  return is_same_file(a, b) && a->size_bytes == b->size_bytes && a->changed_ns == b->changed_ns;
}

bool tide_file_state_is_due(const struct tide_file_state *read, struct tide_file_state *seen,
                            const struct tide_file_state *now, unsigned *restless)
{
  bool rests = is_same(seen, now);
  *seen = *now;
  if (is_same(read, now)) {
    *restless = 0;
    return false;
  }
  *restless += !rests;
  if (is_same_file(read, now) && !rests && *restless < MAX_RESTLESS_LOOKS)
    return false;
  *restless = 0;
  return true;
}
