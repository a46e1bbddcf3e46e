// SPDX-License-Identifier: Apache-2.0
//
// Does a process still write to the store in a file, or has it ended? Another pid namespace's
// processes are known by a lease of the file alone, and those on a file system without leases by
// their mappings. Where neither is told to us (a file that another user shows), a process of that
// pid has to do.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct stat;

enum tide_writer_seen { TIDE_WRITER_UNKNOWN, TIDE_WRITER_NONE, TIDE_WRITER_SOME };

// fd: the file, open for reading alone, and what fstat() says of it. pid: as the store has it.
bool tide_store_is_written(int fd, const struct stat *st, uint32_t pid);

// By one of the two. A lease to read is given only while nobody has the file open for writing,
// mapped or not; it is given back at once.
enum tide_writer_seen tide_writer_by_lease(int fd);
// Of a process that we may look at. Some file systems tell stat() of another device.
enum tide_writer_seen tide_writer_by_maps(const struct stat *st, uint32_t pid);
