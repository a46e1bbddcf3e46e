// SPDX-License-Identifier: Apache-2.0
//
// A process as it is seen from outside: its mappings and its memory, by /proc. It may end or change
// at any moment; whatever cannot be read is told as such.
#pragma once
#include "base/err.h"
#include "base/proc.h"

#include <limits.h>
#include <stddef.h>

struct tide_outside {
  uint32_t pid;
  int memory_fd; // /proc/PID/mem; -1: not open
  struct tide_mapping *mappings;
  size_t n_mappings, mappings_cap;
};

// Reads the mappings; with memory, too, opens what is in them, also to be written.
enum tide_err tide_outside_open(uint32_t pid, bool with_memory, struct tide_outside **ret_outside,
                                struct tide_diag *diag);
void tide_outside_close(struct tide_outside *outside); // NULL is fine

// False: the process has ended, or become another program, since this was opened with its memory.
bool tide_outside_lives(const struct tide_outside *outside);
bool tide_outside_read(const struct tide_outside *outside, uint64_t at, void *to, size_t n);
bool tide_outside_write(const struct tide_outside *outside, uint64_t at, const void *from,
                        size_t n);

// The mapping that an address is in; NULL: none.
const struct tide_mapping *tide_outside_find(const struct tide_outside *outside, uint64_t address);

// Is every byte of it private memory of no file? Advice may have split it into several mappings.
bool tide_outside_is_anonymous(const struct tide_outside *outside, uint64_t at, uint64_t n);

// Where a mapped file can be opened: under the root of the process, which may live in a container;
// or as it is named here, if that is the same file: a process that has changed its root since is
// told with our names; or, when its name is gone, through the mapping itself, which only some may.
void tide_outside_file(const struct tide_outside *outside, const struct tide_mapping *mapping,
                       char ret_name[PATH_MAX]);

// From now on the range is no gap.
void tide_outside_claim(struct tide_outside *outside, uint64_t at, uint64_t n);
// A free range of n bytes as near to an address as there is one, wholly within reach of it; 0:
// none. Keeps its distance from what is mapped: stacks and the heap grow into gaps.
uint64_t tide_outside_gap(const struct tide_outside *outside, uint64_t near, uint64_t n,
                          uint64_t reach);
