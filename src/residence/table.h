// SPDX-License-Identifier: Apache-2.0
//
// Where the resident memory of a process is: one table whose rows add up to what the kernel counts
// as its RSS.
//
// What is known of the heap depends on who can be asked: of glibc's allocator every arena is
// walked, block by block; with the recorder in the process, too, every live block has its site and
// its size as it was asked for, whatever the allocator.
#pragma once
#include "base/err.h"

#include <stddef.h>

enum tide_residence_kind {
#define KIND(tag, key, words) TIDE_RESIDENCE_##tag,
#include "residence/kinds.def"
#undef KIND
  TIDE_RESIDENCE_KINDS
};

const char *tide_residence_key(enum tide_residence_kind kind);
const char *tide_residence_words(enum tide_residence_kind kind);

// An arena of glibc's allocator. Bytes in memory.
struct tide_residence_arena {
  bool is_main;
  uint32_t n_heaps;
  uint64_t size;          // of its heaps, in memory or not
  uint64_t in_use, free;  // of blocks, recorded or not; free: in lists
  uint64_t trim;          // of the free, what malloc_trim(0) would give back
  uint64_t top, trim_top; // at the end, and what malloc_trim(0) would give back of that
};

struct tide_residence_file {
  char *path; // owned
  uint64_t resident, copied;
};

// Blocks, or mappings of the program's own, that came from one stack. Bytes.
struct tide_residence_site {
  uint32_t stack; // node of the recorder's store
  bool is_mapped; // mappings
  uint64_t n_blocks, asked;
  uint64_t resident;  // of what was asked for
  uint64_t untouched; // of it, not in memory
  uint64_t n_pinned;  // pages with free memory that no other site's blocks keep
  uint64_t pinned;    // the free bytes on them
};

enum tide_residence_heap {
  TIDE_HEAP_UNKNOWN,  // an allocator whose memory cannot be told from other
  TIDE_HEAP_GLIBC,    // walked
  TIDE_HEAP_RECORDED, // another one: what lies between live blocks is its own
  TIDE_HEAP_JEMALLOC, // the same, and it is known what it can give back
};

struct tide_residence {
  uint64_t rows[TIDE_RESIDENCE_KINDS]; // bytes in memory
  uint64_t sum;                        // of the rows
  uint64_t rss_before, rss_after;      // as the kernel counted around the look
  bool is_bounded;                     // the kernel cannot tell pages of zeros (before 6.7): the
                                       // sum may be too high
  uint64_t asked, untouched;           // of all recorded blocks; not in memory
  uint64_t swapped, zeros, huge_pool;  // beside the rows
  uint64_t huge;                       // among them
  enum tide_residence_heap heap;
  uint64_t trim, trim_top;                // what malloc_trim(0) would give back
  uint64_t purge;                         // of jemalloc: what it could give back, at most
  uint64_t pinned;                        // free bytes on pages that hold a block in use
  uint64_t edges;                         // free bytes that fill no page, with nobody on it
  uint64_t thread_tops;                   // ends of arenas that malloc_trim() leaves as they are
  uint64_t n_pinned_pages, n_shared_pins; // pages; of these, with blocks of several sites
  uint64_t n_resyncs, skipped; // times the heap changed under the walk, and bytes not told then
  uint64_t n_unread;           // tables of live blocks that could not be read
  bool has_recorder;
  int store_fd; // a copy of its store, in which the sites' stacks are; -1: none
  struct tide_residence_arena *arenas;
  size_t n_arenas, cap_arenas;
  struct tide_residence_file *files; // by falling size
  size_t n_files, cap_files;
  struct tide_residence_site *sites; // by falling size
  size_t n_sites, cap_sites;
};

void tide_residence_done(struct tide_residence *residence);

// ---- taken ----
//
// Taking the table of a process: see table.h for what is in it. It is made from outside, from what
// is in memory and what is written there, and stops nobody.

enum tide_err tide_residence_take(uint32_t pid, struct tide_residence *ret_residence,
                                  struct tide_diag *diag);
