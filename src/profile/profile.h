// SPDX-License-Identifier: Apache-2.0
//
// One process image of a capture as a reader wants it: a site per distinct stack with the numbers
// of all threads summed, and the totals. Addresses and numbers only; names are joined in view/.
//
// A profile refers to the capture it was made from and must not outlive it.
#pragma once
#include "base/err.h"
#include "model/model.h"
#include "model/rows.h"
#include "profile/question.h"

// What all threads together did to the blocks of one stack.
struct tide_profile_site {
  uint32_t stack; // index in the image's frames
  enum tide_site_kind kind : 8;
  bool is_packed;             // in_block, not in_row
  uint8_t row;                // in the block
  uint32_t first_row, n_rows; // in tide_profile.rows
  // Of its only row, in the capture, or the sum of its rows, which is the profile's. A copy for
  // each would be most of the memory of a profile of a million stacks. See tide_site_number().
  union {
    const struct tide_counters *in_row;
    const struct tide_columns_block *in_block;
  };
  int64_t weight; // under the question asked last
};

// One of its numbers: TIDE_OF_SITE(site, n_alloc).
static inline uint64_t tide_site_number(const struct tide_profile_site *site, unsigned counter_idx)
{
  if (site->is_packed)
    return tide_columns_block_get(site->in_block, site->row,
                                  TIDE_SITE_COLUMN_COUNTERS + counter_idx);
  uint64_t number;
  memcpy(&number, (const uint64_t *)site->in_row + counter_idx, sizeof number);
  return number;
}
#define TIDE_OF_SITE(site, field)                                                                  \
  ((__typeof__(((struct tide_counters *)NULL)->field))tide_site_number(site,                       \
                                                                       TIDE_COUNTER_IDX(field)))

// What is live at the end; of an image that was reset, blocks from before among it.
static inline int64_t tide_site_live_blocks(const struct tide_profile_site *site)
{
  return (int64_t)((uint64_t)TIDE_OF_SITE(site, before_blocks) + TIDE_OF_SITE(site, n_alloc) -
                   TIDE_OF_SITE(site, n_free));
}

static inline int64_t tide_site_live_bytes(const struct tide_profile_site *site)
{
  return (int64_t)((uint64_t)TIDE_OF_SITE(site, before_bytes) + TIDE_OF_SITE(site, b_alloc) -
                   TIDE_OF_SITE(site, b_free));
}

// All of them.
struct tide_numbers tide_site_numbers(const struct tide_profile_site *site);

// In the mean; 0: there are none, or it is not known.
static inline uint64_t tide_mean_age_ns(int64_t age_ns, int64_t live_blocks)
{
  return live_blocks > 0 && age_ns > 0 ? (uint64_t)(age_ns / live_blocks) : 0;
}

struct tide_profile {
  const struct tide_capture *capture;
  const struct tide_image *image;
  size_t image_idx;
  struct tide_profile_site *sites; // by rising stack until asked
  size_t n_sites;
  uint32_t *rows;                // indexes of image->sites, grouped by stack
  struct tide_counters *sums;    // of sites that are not what their only row is
  struct tide_numbers totals;    // heap, with what was lost
  struct tide_numbers lost;      // the part of the totals that has no stack
  uint64_t n_stacks;             // distinct heap stacks
  struct tide_question question; // the one asked last
  int64_t whole;                 // what weights are shares of: the sum of them
  bool is_asked;
};

// Whether it is asked of such sites: of the heap with what was lost, or of pages.
static inline bool tide_question_is_about(const struct tide_question *question,
                                          enum tide_site_kind kind)
{
  return (kind == TIDE_SITE_PAGES) == question->of_pages;
}

struct tide_profile *tide_profile_new(const struct tide_capture *capture, size_t image_idx);
void tide_profile_free(struct tide_profile *profile); // NULL is fine

// Weighs the sites and sorts them: heap (and lost) before pages, then by falling weight; ties by
// allocated bytes, allocations and at last stack, so that an order is the same on every machine.
// The question must have been made for the profile's image.
void tide_profile_ask(struct tide_profile *profile, const struct tide_question *question);
// The same, and nothing where it is what was asked last.
void tide_profile_ask_anew(struct tide_profile *profile, const struct tide_question *question);

// What a site weighs under a question about the whole run, by its own numbers.
int64_t tide_profile_weight(const struct tide_profile_site *site,
                            const struct tide_question *question);

// The weight of every site under another question than the one asked, in the order of the sites;
// changes nothing.
void tide_profile_weigh(const struct tide_profile *profile, const struct tide_question *question,
                        int64_t *ret_weights);

// A number of the question asked, with how exact it is.
static inline struct tide_amount tide_profile_amount(const struct tide_profile *profile,
                                                     int64_t value)
{
  return tide_question_amount(profile->image, &profile->question, value);
}

// Totals of the heap with how exact they are; of samples, with the standard errors that are known.
struct tide_amount tide_profile_live(const struct tide_profile *profile, enum tide_unit unit);
struct tide_amount tide_profile_allocated(const struct tide_profile *profile, enum tide_unit unit);

// Histograms of a site, summed over its threads. They are not kept per site: they would be most of
// a profile's memory, and few readers ask.
void tide_profile_site_histograms(const struct tide_profile *profile,
                                  const struct tide_profile_site *site,
                                  uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                                  uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N]);

// What was never freed, in the heap: of an image that was reset, of what was allocated since
// (tide_reset_is_told(); else at least).
int64_t tide_profile_kept(const struct tide_profile *profile, enum tide_unit unit);

// How many lives a sum of lifetimes is of. A block that a resize took over was freed, but lives on,
// and is in no class of lifetimes; where those are lacking (DHAT) so are resizes, and every free
// ends a life.
uint64_t tide_profile_n_ended(const struct tide_image *image, uint64_t n_free,
                              const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N]);

// Several threads at one stack: the sum of their maxima is not below the stack's own maximum, but
// may be above it; so may the sum over merged processes. Limited by the image's peak, since no
// stack held more than all did.
bool tide_profile_own_max_is_bound(const struct tide_profile *profile,
                                   const struct tide_profile_site *site);

// Events of all kinds; and whether each one was recorded with a whole stack, and every program of
// the run (profile/completeness.h).
uint64_t tide_profile_events(const struct tide_profile *profile);
bool tide_profile_is_complete(const struct tide_profile *profile);

// How many times as much processor time the run took as it would have taken without recording, over
// all its processes and with what tidemark itself used; see tidemark-run(1). Where no supervisor
// summed that up, of this image alone. 0 when it is not known.
double tide_profile_overhead(const struct tide_profile *profile);

// What that added, as a share of one core over the whole run, where the processes waited for three
// quarters of it at least: many times next to nothing is not much. 0: they did not, or not known.
double tide_profile_overhead_of_core(const struct tide_profile *profile);

// Frames that lie in no known object (code made at run time, or unloaded since) and have no name.
uint64_t tide_profile_unknown_frames(const struct tide_image *image);

// Heap allocations of an image that need not be the profile's own.
uint64_t tide_profile_allocations(const struct tide_image *image);

// ---- what was never freed ----
//
// What was allocated in a part of a run and never freed. A block that was held at a snapshot and
// freed later is among the late frees of its stack, so what a stack held then less those is what it
// kept for good; and what it kept of a range is that at its end less that at its beginning.

// Whether an image tells: nobody looked at the peak.
bool tide_kept_is_known(const struct tide_image *image, const struct tide_window *window);

// Per site of the profile, in the question's unit, of its window; it must be known.
void tide_kept_weigh(const struct tide_profile *profile, const struct tide_question *question,
                     int64_t *ret_weights);
