// SPDX-License-Identifier: Apache-2.0
//
// Courses and sizes of a place, and how a finding is made.
#include "findings/subject.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "profile/completeness.h"

// Growth that came in the last third of the steps, of the growth in all: enough to say that it goes
// on. Less is enough where the program itself did less by then, because it had the machine for less
// of the time, and what it did brought as much as before. What levels off brings less.
static bool goes_on(int64_t late, int64_t all, double made_late, double made)
{
  bool undiminished = (double)late * made >= (double)all * made_late * UNDIMINISHED_PERCENT / 100;
  return late >= all / (undiminished ? LATE_PART_UNDIMINISHED : LATE_PART);
}

// Of the growth from one moment to the next those steps count in which the program got on: one that
// waits for its input, or for a busy machine, neither allocates nor leaks. One that allocates at
// its start alone does not grow.
bool tide_course_rises(const struct tide_subject *subject, const int64_t curve[MOMENTS])
{
  int64_t all = curve[MOMENTS - 1] - curve[0], late = 0;
  int steps[MOMENTS];
  unsigned n = 0, n_rises = 0;
  double made = 0, made_late = 0;
  for (int i = 1; i < MOMENTS; i++)
    if (subject->gets_on[i])
      steps[n++] = i;
  for (unsigned k = 0; k < n; k++) {
    int i = steps[k];
    int64_t grown = curve[i] - curve[i - 1];
    bool is_late = k >= n - n / 3;
    n_rises += grown > all / n / STEP_PART;
    late += is_late ? grown : 0;
    made += (double)subject->made[i];
    made_late += is_late ? (double)subject->made[i] : 0;
  }
  return n >= STEPS_LEAST && steps[n - 1] >= MOMENTS - LAST_STEPS && all > 0 &&
         n_rises * 4 >= n * 3 && goes_on(late, all, made_late, made);
}

// A step is worth counting from a quarter of what it would be if the whole way took all moments.
static unsigned steps_between(const int64_t curve[MOMENTS], int first, int last, int sign)
{
  int64_t least = 0;
  unsigned n = 0;
  for (int i = 0; i < MOMENTS; i++)
    least = curve[i] > least ? curve[i] : least;
  least /= MOMENTS * STEP_PART;
  for (int i = first + 1; i <= last; i++)
    n += (curve[i] - curve[i - 1]) * sign > least;
  return n;
}

static int highest_of(const int64_t curve[MOMENTS])
{
  int highest = 0;
  for (int i = 1; i < MOMENTS; i++)
    if (curve[i] > curve[highest])
      highest = i;
  return highest;
}

unsigned tide_course_climbs(const int64_t curve[MOMENTS])
{
  return steps_between(curve, 0, highest_of(curve), 1);
}

unsigned tide_course_falls(const int64_t curve[MOMENTS])
{
  return steps_between(curve, highest_of(curve), MOMENTS - 1, -1);
}

unsigned tide_course_frees(const int64_t freed[MOMENTS])
{
  int64_t all = 0;
  unsigned n = 0;
  for (int i = 1; i < MOMENTS; i++)
    all = tide_added(all, freed[i]);
  for (int i = 1; i < MOMENTS; i++)
    n += freed[i] > all / (MOMENTS * STEP_PART);
  return n;
}

unsigned tide_suspect_n_sizes(const struct tide_suspect *suspect)
{
  enum { FEW = 100 }; // a hundredth of all: the odd one
  unsigned n = 0;
  for (unsigned i = 0; i < TIDE_SIZE_BUCKETS_N; i++)
    n += suspect->sizes[i] > suspect->place->n_alloc / FEW;
  return n;
}

static enum tide_figure figure_of(enum tide_finding_rule rule)
{
  if (tide_rule_rows[rule].saving != TIDE_SAVING_BYTES)
    return TIDE_FIGURE_ALLOCATED;
  return rule == TIDE_RULE_LEAK || rule == TIDE_RULE_GROWTH ? TIDE_FIGURE_LIVE : TIDE_FIGURE_PEAK;
}

static bool is_of_course(enum tide_finding_rule rule)
{
  return rule == TIDE_RULE_LEAK || rule == TIDE_RULE_GROWTH || rule == TIDE_RULE_BACKLOG ||
         rule == TIDE_RULE_EARLY || rule == TIDE_RULE_FRAGMENTED || rule == TIDE_RULE_THRESHOLD;
}

static unsigned missing_of(const struct tide_subject *subject)
{
  const struct tide_capture *capture = subject->profile->capture;
  return (tide_image_is_whole(subject->image) ? 0 : TIDE_MISSING_EVENTS) |
         (capture->cut ? TIDE_MISSING_PARTS : 0) |
         ((capture->finished && !capture->taken) || capture->cut ? 0 : TIDE_MISSING_END) |
         (capture->roll.n_rows ? TIDE_MISSING_PROCESSES : 0);
}

// One step less where blocks were sampled, and where the line is not known.
// What is missing of the program itself may be what would have told against it.
static enum tide_confidence confidence_in(const struct tide_subject *subject,
                                          const struct tide_suspect *suspect,
                                          enum tide_confidence confidence)
{
  const struct tide_loss *loss = &subject->image->loss;
  int steps = subject->image->sampled_every_bytes != 0;
  steps += loss->n_lost_busy || loss->n_lost_full || subject->image->off_reason ||
           subject->image->n_pauses || subject->profile->capture->cut;
  const struct tide_named_frame *frame = suspect ? suspect->place->frame : NULL;
  steps += frame && !frame->line;
  return (int)confidence > steps ? confidence - (enum tide_confidence)steps : TIDE_CONFIDENCE_LOW;
}

// A rule that is itself not sure has a fact, and no fault. Nothing is sure of a place without a
// name, which may be the allocator's wrapper of the whole program; nor of a course that few looks
// were taken at, where a working set looks like what was forgotten.
static bool is_fact(const struct tide_subject *subject, enum tide_finding_rule rule,
                    const struct tide_suspect *suspect, enum tide_confidence by_rule)
{
  const struct tide_named_frame *frame = suspect ? suspect->place->frame : NULL;
  return by_rule == TIDE_CONFIDENCE_LOW || (frame && !frame->function) ||
         (subject->is_seldom_seen && is_of_course(rule));
}

struct tide_finding *tide_subject_find(const struct tide_subject *subject,
                                       enum tide_finding_rule rule,
                                       const struct tide_suspect *suspect,
                                       enum tide_confidence confidence, int64_t saving)
{
  struct tide_findings *to = subject->to;
  const struct tide_image *image = subject->image;
  TIDE_GROW(to->items, to->n, to->cap);
  struct tide_finding *finding = &to->items[to->n++];
  bool is_note = is_fact(subject, rule, suspect, confidence);
  *finding = (struct tide_finding){
      .rule = rule,
      .confidence = is_note ? TIDE_CONFIDENCE_LOW : confidence_in(subject, suspect, confidence),
      .is_note = is_note,
      .frame = suspect ? suspect->place->frame : NULL,
      .saving = tide_rule_rows[rule].saving == TIDE_SAVING_CALLS
                    ? tide_image_blocks(image, figure_of(rule), saving)
                    : tide_image_bytes(image, figure_of(rule), saving),
      .is_sampled = image->sampled_every_bytes,
      .missing = missing_of(subject),
  };
  return finding;
}
