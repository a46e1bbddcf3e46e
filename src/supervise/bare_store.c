// SPDX-License-Identifier: Apache-2.0
//
// Found among the process's mappings, opened below its root directory, and believed if it is the
// very file that is mapped.
#define _GNU_SOURCE
#include "supervise/bare_store.h"

#include "base/alloc.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_in(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

static bool is_store_mapping(const struct tide_mapping *m)
{
  return m->shared && m->writable && !m->offset && ends_in(m->path, ".store");
}

// NULL: there is none.
static char *find_path(uint32_t pid, uint64_t *ret_inode, bool *ret_is_hidden)
{
  TIDE_CLEANUP_FREE char *maps = tide_sprintf("/proc/%u/maps", pid);
  char *line = NULL, *path = NULL;
  size_t cap = 0;
  FILE *file = fopen(maps, "re");
  *ret_is_hidden = !file && (errno == EACCES || errno == EPERM);
  while (file && !path && getline(&line, &cap, file) > 0) {
    struct tide_mapping mapping;
    if (!tide_mapping_parse(line, &mapping))
      continue;
    if (is_store_mapping(&mapping)) {
      path = tide_strdup(mapping.path);
      *ret_inode = mapping.inode;
    }
    free(mapping.path);
  }
  if (file)
    fclose(file);
  free(line);
  return path;
}

enum tide_err tide_bare_store_open(uint32_t pid, struct tide_store_view *ret_view, char **ret_path,
                                   bool *ret_is_hidden, struct tide_diag *diag)
{
  uint64_t inode = 0;
  struct stat st;
  TIDE_CLEANUP_FREE char *inside = find_path(pid, &inode, ret_is_hidden);
  if (!inside)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %u writes to no store", pid);
  TIDE_CLEANUP_FREE char *path = tide_sprintf("/proc/%u/root%s", pid, inside);
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot write to the store of process %u, %s", pid, inside);
  if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != inode) {
    close(fd);
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "the store of process %u, %s, was removed or replaced: nobody can switch it "
                     "any more",
                     pid, inside);
  }
  if (flock(fd, LOCK_EX)) {
    enum tide_err err = tide_fail_errno(diag, "cannot lock %s", inside);
    close(fd);
    return err;
  }
  enum tide_err err = tide_store_view_open(ret_view, fd, diag);
  if (err)
    return err;
  err = tide_store_view_refresh(ret_view, diag);
  if (!err && ret_view->header.version != TIDE_STORE_VERSION)
    err = tide_fail(diag, TIDE_ERR_VERSION,
                    "process %u is recorded by an earlier tidemark (store version %u, this one "
                    "writes %u): switch it by the tidemark that belongs to its recorder",
                    pid, ret_view->header.version, TIDE_STORE_VERSION);
  if (err)
    tide_store_view_close(ret_view);
  else
    *ret_path = tide_strdup(path);
  return err;
}
