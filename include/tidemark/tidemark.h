// SPDX-License-Identifier: Apache-2.0
//
// What a program can ask of the recorder that is loaded into it: with `tidemark run`, or with
// libtidemark.so in LD_PRELOAD. Nothing is linked: a program that has this header runs as well
// where there is no recorder, and is told so.
#ifndef TIDEMARK_TIDEMARK_H
#define TIDEMARK_TIDEMARK_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

// What the recorder exports, by the version of what it means. NULL: there is no recorder, or it is
// older than this header.
__attribute__((weak)) int tidemark_v1_pprof_write(int fd);

// Writes the heap profile of this moment to fd, as profile.proto of pprof, not compressed, without
// names: `go tool pprof`, Pyroscope, Parca and `tidemark report` find them by build id, where the
// program's files are. Columns: alloc_objects, alloc_space, inuse_objects, inuse_space.
//
// Calls no malloc, takes no lock and stops nobody: threads that allocate meanwhile are seen at one
// moment or another. Safe in a signal handler, but for that of a fork child that has not allocated
// yet. fd must block.
//
// 0, or -1 with errno: ENOSYS where there is no recorder, ENODATA where it does not record, or not
// now, EPERM where the program has forbidden itself system calls, ENOMEM, or what write() said.
static inline int tidemark_pprof_write(int fd)
{
  if (tidemark_v1_pprof_write)
    return tidemark_v1_pprof_write(fd);
  errno = ENOSYS;
  return -1;
}

#ifdef __cplusplus
}
#endif
#endif
