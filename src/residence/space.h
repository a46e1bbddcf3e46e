// SPDX-License-Identifier: Apache-2.0
//
// The memory of a process as the kernel has it: its mappings, and which of their pages are in
// memory. Nobody is stopped for it, so this is two moments: the list of mappings, and right after
// it the pages, with RSS read before and after those. Nothing is believed of what is read in the
// process itself, and nothing is read there but pages that are in memory: to read another one
// would map it, of shared memory even make it.
#pragma once
#include "base/err.h"
#include "base/proc.h"

#include <stddef.h>

struct tide_space_mapping {
  struct tide_mapping;       // its fields are ours
  uint64_t resident, cached; // bytes in memory; of these, pages of a file that the kernel may drop
};

// Pages in memory, one behind the other, all of one kind; or such that are not.
struct tide_space_run {
  uint64_t lo, hi;
  bool huge; // in pages of more than the usual size
};
struct tide_space_absent { // by address
  struct tide_space_run *items;
  size_t n, cap;
};

struct tide_space {
  uint32_t pid;
  uint64_t page_bytes;
  struct tide_space_mapping *mappings; // by address
  size_t n_mappings, cap_mappings;
  struct tide_space_run *runs; // by address
  size_t n_runs, cap_runs;
  struct tide_space_absent swaps, guards;  // swapped out; guards that madvise() made
  uint64_t resident, zeros, swapped, huge; // bytes; zeros: mapped, but in nobody's RSS
  uint64_t huge_pool;                      // in memory, and in nobody's RSS either
  uint64_t rss_before, rss_after;          // as the kernel counted around the look
  bool knows_zeros; // else pages of zeros may be among the resident ones (Linux before 6.7)
  int memory_fd, pagemap_fd;
  bool has_ended; // while it was read: what was told of it since is wrong
  size_t latest;  // the run that was asked for last: most questions are about the next
};

// Takes a look at a process. The caller closes it.
enum tide_err tide_space_take(uint32_t pid, struct tide_space **ret_space, struct tide_diag *diag);
void tide_space_close(struct tide_space *space); // NULL is fine

bool tide_space_is_anonymous(const struct tide_space_mapping *mapping);
// Anonymous, with no name or with one that the program or its libc gave it (PR_SET_VMA_ANON_NAME).
bool tide_space_is_plain(const struct tide_space_mapping *mapping);

// Bytes of [lo, hi) that are in memory. Quick when asked in the order of addresses.
uint64_t tide_space_resident(struct tide_space *space, uint64_t lo, uint64_t hi);
// Bytes of [lo, hi) that are swapped out. Of shared memory the kernel does not tell.
uint64_t tide_space_swapped(const struct tide_space *space, uint64_t lo, uint64_t hi);

// The first run that ends behind an address; n_runs: none.
size_t tide_space_run_at(struct tide_space *space, uint64_t address);

// Copies memory of the process; false, and nothing is copied, if not all of it is in memory.
bool tide_space_read(struct tide_space *space, uint64_t at, void *to, size_t n);
// Also what is not in memory: the process gets it.
bool tide_space_fetch(struct tide_space *space, uint64_t at, void *to, size_t n);

// A piece of its memory that is kept, for whoever reads word by word in the order of addresses.
struct tide_space_window {
  uint64_t lo, hi;
  char *bytes; // owned
};
bool tide_space_word(struct tide_space *space, struct tide_space_window *window, uint64_t at,
                     uint64_t *ret_word);
void tide_space_window_done(struct tide_space_window *window);
