// SPDX-License-Identifier: Apache-2.0
//
// What follows from an image's sites: totals of the heap, and who held what at the peak and at the
// end. Pages a program mapped itself are no part of the heap's totals, but of the snapshots.
#pragma once
#include "base/units.h"
#include "model/model.h"

void tide_image_heap_sums(const struct tide_image *image, struct tide_image_sums *ret_sums);
// What is live follows from the others.
void tide_image_sums_live(struct tide_image_sums *sums);

// Recordings of several threads once told a peak that the shares of the stacks added up to only
// within its bound. Makes it what they add up to, and the bound wider by as much. Of a file that
// was cut, and of other tools' files, the peak stays what it is.
void tide_image_settle_peak(struct tide_image *image);

// The root flag of every stack: TIDE_FRAME_PAGES, TIDE_FRAME_LOST or 0; one entry per frame, owned
// by the caller.
uint16_t *tide_image_root_flags(const struct tide_image *image);

// Puts the snapshots at peak_ns and end_ns, made from the sites, among the others by time; not
// of what the image lacks. That of the end counts what no other has counted.
void tide_image_add_exact_snapshots(struct tide_image *image);

// Adds what `counts` (by rising stack) says was allocated to the rows of a snapshot; what it says
// of live blocks is ignored. The snapshot owns its rows; `counts` stays the caller's.
void tide_snapshot_add_counts(struct tide_snapshot *snapshot,
                              const struct tide_snapshot_row *counts, size_t n_counts);

// False: the capture is of a format that did not have it. What its images lack is another matter.
bool tide_number_is_kept(const struct tide_number *number, const struct tide_image *image);

// ---- how exactly they are known ----
//
// How far each number of an image can be believed. It follows from what the image says of itself:
// that it was sampled, that threads raced for its peak or processes were added up, that events were
// lost, that another tool's file lacks the number.

// Of all of the image, in bytes where there is a bound. A row of it is not off by more. Of what was
// sampled by tidemark the bound is a standard error: here one that is not exceeded whatever the
// sizes of the blocks; see tide_with_error().
struct tide_amount tide_image_bytes(const struct tide_image *image, enum tide_figure figure,
                                    int64_t bytes);
// The same in blocks: bounds are in bytes, so none is known.
struct tide_amount tide_image_blocks(const struct tide_image *image, enum tide_figure figure,
                                     int64_t blocks);

// With the standard error that is known of it (tide_error_of_bytes(), tide_error_of_blocks()), if
// it is estimated.
struct tide_amount tide_with_error(struct tide_amount amount, const struct tide_image *image,
                                   uint64_t error);

// The peak as it is told.
struct tide_amount tide_image_peak(const struct tide_image *image);

// What a number of RSS is off by is known only of the one at the peak.
struct tide_amount tide_image_rss_at_peak(const struct tide_image *image);

extern const char *const tide_exactness_words[]; // "exact", "within", … by enum tide_exactness

// ---- histograms ----
//
// The histograms of sites: how the sizes of a site's allocations are spread, and the lifetimes of
// what it freed. Nearly all buckets of nearly all sites are empty, so an image keeps the counts of
// the others alone, one site's behind another's, and a site the bits that say which they are. That
// is also how they are in a file.

// Adds a site's histograms to the given ones.
void tide_site_sum_buckets(const struct tide_image *image, const struct tide_site *site,
                           uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           uint64_t lifetimes[TIDE_LIFE_BUCKETS_N]);

// Adds to a site's histograms. Buckets that were empty until now make its counts move: what they
// leave is lost until the image goes, so whoever knows all buckets beforehand reserves them.
void tide_site_add_buckets(struct tide_image *image, struct tide_site *site,
                           const uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N]);

// Room for the counts of the buckets in a site's masks, all zero, sizes before lifetimes; in place
// of those it had. Valid until room is made for another site; NULL when there are no buckets.
uint64_t *tide_site_reserve_buckets(struct tide_image *image, struct tide_site *site);

// A site's counts, of all buckets in its masks; NULL when it has none.
static inline uint64_t *tide_site_counts(const struct tide_image *image,
                                         const struct tide_site *site)
{
  return site->size_mask || site->life_mask ? image->counts.items + site->first_count : NULL;
}
// Masks have few bits, mostly one, and without an instruction for it a count of bits is a call.
static inline unsigned tide_mask_bits(uint64_t mask)
{
  unsigned n = 0;
  for (; mask; mask &= mask - 1)
    n++;
  return n;
}
static inline unsigned tide_site_n_sizes(const struct tide_site *site)
{
  return tide_mask_bits(site->size_mask);
}
static inline unsigned tide_site_n_counts(const struct tide_site *site)
{
  return tide_site_n_sizes(site) + tide_mask_bits(site->life_mask);
}

// The longest time of the image between two snapshots that follow each other, its start and its end
// among them.
uint64_t tide_image_widest_gap_ns(const struct tide_image *image);
// More than that is worth a word.
#define TIDE_GAP_PER_RUN 50u
