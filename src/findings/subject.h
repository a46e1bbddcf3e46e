// SPDX-License-Identifier: Apache-2.0
//
// What the rules look at: the places of a profile, each with its numbers, histograms and course in
// time. Made once; a rule reads it and adds findings.
#pragma once
#include "findings/finding.h"
#include "findings/thresholds.h"
#include "view/groups.h"

struct tide_course { // of one place, at MOMENTS moments that are evenly spread
  int64_t live_bytes[MOMENTS], live_blocks[MOMENTS];
  // The part that is still there at each later moment: what was not freed and replaced. These
  // moments end where the program begins to take down what it built.
  int64_t base_bytes[MOMENTS], base_blocks[MOMENTS];
  int64_t freed_blocks[MOMENTS]; // since the moment before, of those that had been there before it
};

struct tide_suspect {
  const struct tide_group *place;
  size_t group_idx;
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
  uint64_t n_ended;   // lives that ended
  uint64_t n_threads; // that allocated there
  struct tide_course course;
};

struct tide_subject {
  struct tide_findings *to;
  const struct tide_profile *profile;
  const struct tide_image *image;
  struct tide_naming *naming;
  const struct tide_groups *groups; // places, of all that was allocated
  struct tide_suspect *suspects;
  uint32_t *of_stack; // per frame of the image: its suspect's index + 1, 0: none
  size_t n_suspects;
  bool has_course;
  bool is_seldom_seen; // the course is one of few looks
  uint64_t start_ns, run_ns;
  uint64_t moments_ns[MOMENTS]; // of what grows
  uint64_t made[MOMENTS];       // blocks allocated since the moment before
  bool gets_on[MOMENTS];        // and not much fewer than at other times
  int64_t peak_bytes;
  int64_t memory_bytes; // the heap at its peak and what the program mapped besides
  // Of all blocks that were allocated before the last moment, so many were gone by then.
  uint64_t churned_percent;
};

#define TIDE_SUSPECT_NONE SIZE_MAX
static inline size_t tide_subject_of_stack(const struct tide_subject *subject, uint32_t stack)
{
  bool is_known = stack < subject->image->n_frames && subject->of_stack[stack];
  return is_known ? subject->of_stack[stack] - 1u : TIDE_SUSPECT_NONE;
}

// Whether a place's base rises all along.
bool tide_course_rises(const struct tide_subject *subject, const int64_t curve[MOMENTS]);
// How many steps the curve rises in before its highest, and falls in after that.
unsigned tide_course_climbs(const int64_t curve[MOMENTS]);
unsigned tide_course_falls(const int64_t curve[MOMENTS]);

// In how many steps blocks were freed that came before the step.
unsigned tide_course_frees(const int64_t freed[MOMENTS]);

// How many buckets of sizes are in use, of blocks that are worth counting; and in the mean.
unsigned tide_suspect_n_sizes(const struct tide_suspect *suspect);
// Of numbers that are not negative; of hostile ones the sum stays a number, too.
static inline int64_t tide_added(int64_t sum, int64_t more)
{
  return sum < INT64_MAX / 4 ? sum + more : sum;
}
static inline int64_t tide_mean(int64_t sum, int64_t n)
{
  return n > 0 ? sum / n : 0;
}

// A new finding at a place (NULL: none); its saving is as exact as the figure is in this image. One
// that its rule has low confidence in is a note.
// Valid until the next one.
struct tide_finding *tide_subject_find(const struct tide_subject *subject,
                                       enum tide_finding_rule rule,
                                       const struct tide_suspect *suspect,
                                       enum tide_confidence confidence, int64_t saving);
static inline void tide_finding_tell(struct tide_finding *finding, enum tide_evidence which,
                                     int64_t value)
{
  finding->evidence[which] = value > 0 ? value : 0;
  finding->has |= 1ull << which;
}

// ---- the rules, by family ----

void tide_rules_of_growth(const struct tide_subject *subject);    // leak, growth, backlog
void tide_rules_of_capacity(const struct tide_subject *subject);  // early, untouched, each, budget
void tide_rules_of_calls(const struct tide_subject *subject);     // temporary, steps, reserve, …
void tide_rules_of_blocks(const struct tide_subject *subject);    // small
void tide_rules_of_residence(const struct tide_subject *subject); // fragmented, arenas, end, …
