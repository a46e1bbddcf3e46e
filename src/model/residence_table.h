// SPDX-License-Identifier: Apache-2.0
//
// Where the resident memory of a process is: one table whose rows add up to what the kernel counts
// as its RSS.
//
// What is known of the heap depends on who can be asked: of glibc's allocator every arena is
// walked, block by block; with the recorder in the process, too, every live block has its site and
// its size as it was asked for, whatever the allocator. src/residence takes such tables.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tide_residence_kind {
#define KIND(tag, key, band, words) TIDE_RESIDENCE_##tag,
#include "model/residence_kinds.def"
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

// A file, shared memory, or anonymous memory that the program gave a name ("[anon:…]").
struct tide_residence_file {
  char *path; // owned
  uint64_t resident, copied;
  uint32_t stack; // that mapped it, as a site's; 0: not known
};

// Blocks, or mappings of the program's own, that came from one stack. Bytes.
#define TIDE_RESIDENCE_LARGE (64u << 10)
struct tide_residence_site {
  uint32_t stack; // node of the recorder's store, and so the frame of its image
  bool is_mapped; // mappings
  uint64_t n_blocks, asked;
  uint64_t resident;  // of what was asked for
  uint64_t untouched; // of it, neither in memory nor swapped out
  uint64_t swapped;   // of it, of blocks
  uint64_t n_pinned;  // pages with free memory that no other site's blocks keep
  uint64_t pinned;    // the free bytes on them
  // Of the blocks those of TIDE_RESIDENCE_LARGE bytes and more: pages that nobody touches are in
  // these.
  uint64_t n_large, large_asked, large_touched; // touched: in memory, or swapped out
  uint64_t n_sparse; // runs less than half full in which no other site has more blocks
  uint64_t sparse;   // bytes of them that are free
};

// Runs of equal blocks, of one size: jemalloc's slabs, mimalloc's pages. Those without a block in
// use are not among them. Bytes in memory.
struct tide_residence_class {
  uint64_t block_bytes;
  uint64_t n_runs, n_blocks, n_slots; // blocks in use, and how many there is room for
  uint64_t resident, free;            // of the runs; free: of that
  uint64_t quarters[4];               // runs that are full to a quarter, to a half, and so on
  uint64_t sparse;                    // of the free, in runs that are less than half full
};

// A stretch of the heap's address space, bucket_bytes of it. Bytes in memory: what is not is in
// none of them.
enum { TIDE_RESIDENCE_BUCKETS = 256 };
struct tide_residence_bucket {
  uint64_t at;         // its address, in buckets
  uint64_t live, free; // blocks in use with their headers; free, ends of arenas included
  uint64_t pinned;     // of the free: on pages that hold a block in use
};

enum tide_residence_heap {
  TIDE_HEAP_UNKNOWN,  // an allocator whose memory cannot be told from other
  TIDE_HEAP_GLIBC,    // walked
  TIDE_HEAP_RECORDED, // another one: what lies between live blocks is its own
  TIDE_HEAP_JEMALLOC, // the same, and it is known what it can give back
};

struct tide_residence {
  uint64_t time_ns;                    // of one in a capture
  uint64_t rows[TIDE_RESIDENCE_KINDS]; // bytes in memory
  uint64_t sum;                        // of the rows
  uint64_t rss_before, rss_after;      // as the kernel counted around the look
  bool is_bounded;                     // the kernel cannot tell pages of zeros (before 6.7): the
                                       // sum may be too high
  uint64_t asked, untouched;           // of all recorded blocks; not in memory, nor swapped out
  uint64_t swapped_blocks;             // of them, swapped out
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
  struct tide_residence_arena *arenas;
  size_t n_arenas, cap_arenas;
  struct tide_residence_file *files; // by falling size
  size_t n_files, cap_files;
  struct tide_residence_site *sites; // by falling size
  size_t n_sites, cap_sites;
  struct tide_residence_bucket *map; // of the heap, by address; where there is nothing is left out
  size_t n_map;                      // TIDE_RESIDENCE_BUCKETS at most, of one that was taken
  uint64_t bucket_bytes;             // 0: there is no map
  struct tide_residence_class *classes; // by what of their runs is free in those half empty
  size_t n_classes, cap_classes;
  uint64_t n_shared_runs, n_unclear_runs; // sparse, with blocks of several sites; not understood
  uint64_t n_sites_left; // of a shortened table: those that are not in it, and their bytes
  uint64_t left_resident;
};

void tide_residence_done(struct tide_residence *residence);
struct tide_residence tide_residence_copy(const struct tide_residence *from);

// Keeps the sites that tell most, the arenas and files of the most bytes: at most so many of each.
void tide_residence_shorten(struct tide_residence *residence, size_t most);

// The largest file, or memory with a name, that a stack mapped; NULL: none is known.
const struct tide_residence_file *tide_residence_mapped_by(const struct tide_residence *residence,
                                                           uint32_t stack);

// The sum of its rows.
uint64_t tide_residence_sum(const struct tide_residence *residence);

// ---- few kinds ----
//
// Over time a few are enough.
enum tide_residence_band {
  TIDE_RESIDENT_LIVE,  // blocks in use, with their headers
  TIDE_RESIDENT_HELD,  // free, and kept by the allocator
  TIDE_RESIDENT_FILES, // and shared memory
  TIDE_RESIDENT_STACKS,
  TIDE_RESIDENT_OTHER, // mapped by the program, data, whatever else
  TIDE_RESIDENT_RECORDER,
  TIDE_RESIDENT_BANDS
};
const char *tide_residence_band_key(enum tide_residence_band band);
const char *tide_residence_band_words(enum tide_residence_band band);
void tide_residence_bands(const struct tide_residence *residence,
                          uint64_t ret_bytes[TIDE_RESIDENT_BANDS]);
