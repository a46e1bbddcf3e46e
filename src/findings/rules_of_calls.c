// SPDX-License-Identifier: Apache-2.0
//
// What the allocator is called for too often: blocks that grow in steps, containers that grow from
// small again and again, or into blocks with mappings of their own, temporaries of a loop.
#include "findings/subject.h"

#include "model/capture.h"

// ---- resizes ----

// How many blocks were resized here, one after another. Those that came from elsewhere count, too:
// of what was allocated here, resizes included, all but the blocks that a later resize took over.
static int64_t n_resized_blocks(const struct tide_subject *subject,
                                const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  uint64_t n_taken = place->n_free > suspect->n_ended ? place->n_free - suspect->n_ended : 0;
  if (subject->image->lacks & TIDE_LACK_LIFE_HIST) // then nobody knows which frees were resizes
    n_taken = place->n_resize;
  return place->n_alloc > n_taken ? (int64_t)(place->n_alloc - n_taken) : 0;
}

static bool is_much_copied(const struct tide_group *place, int64_t blocks)
{
  uint64_t mean_old = place->b_resize_old / place->n_resize;
  uint64_t step = place->b_resize_new > place->b_resize_old
                      ? (place->b_resize_new - place->b_resize_old) / place->n_resize
                      : 0;
  return step && step < mean_old / STEP_OF_BLOCK &&
         (!blocks || place->n_resize / (uint64_t)blocks >= STEPS_PER_BLOCK);
}

static void tell_resizes(struct tide_finding *finding, const struct tide_group *place,
                         int64_t blocks)
{
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_RESIZES, (int64_t)place->n_resize);
  if (!blocks)
    return;
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_CONTAINERS, blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_RESIZES_PER_BLOCK,
                    tide_mean((int64_t)place->n_resize, blocks));
}

static void look_for_steps(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t blocks = n_resized_blocks(subject, suspect); // 0: not known
  if (!subject->image->has_resized_bytes || place->n_resize < STEPS_RESIZES ||
      place->b_resize_old < STEPS_COPIED || !is_much_copied(place, blocks))
    return;
  bool is_copied = place->b_moved >= STEPS_COPIED;
  struct tide_finding *finding = tide_subject_find(
      subject, TIDE_RULE_STEPS, suspect, is_copied ? TIDE_CONFIDENCE_HIGH : TIDE_CONFIDENCE_LOW,
      is_copied ? (int64_t)place->b_moved : (int64_t)place->b_resize_old);
  tide_finding_saves(finding, TIDE_AT_MOST);
  tell_resizes(finding, place, blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_STEP_BYTES,
                    (int64_t)((place->b_resize_new - place->b_resize_old) / place->n_resize));
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_COPIED_BYTES, (int64_t)place->b_moved);
}

// A vector of C++ does not resize but allocates twice as much: the sizes of its blocks are a
// ladder, of which every container climbs the first rungs, and fewer the next. How many containers:
// the lowest rung has a block of each; of sizes up to 4 bytes several are one rung.
static uint64_t ladder_foot(const struct tide_suspect *suspect)
{
  unsigned first = 0, rungs = 1;
  uint64_t all = 0;
  while (first + LADDER_RUNGS < TIDE_SIZE_BUCKETS_N &&
         suspect->sizes[first] <= suspect->place->n_alloc / LADDER_ODD)
    first++;
  first += suspect->sizes[first] > suspect->sizes[first + 1] * 3 / 2;
  uint64_t foot = suspect->sizes[first];
  for (unsigned i = first + 1; i < TIDE_SIZE_BUCKETS_N; i++, rungs++)
    if (suspect->sizes[i] > suspect->sizes[i - 1] + foot / 8 || suspect->sizes[i] < foot / 4)
      break;
  for (unsigned i = 0; i < first + rungs; i++)
    all += suspect->sizes[i];
  bool is_all = all >= suspect->place->n_alloc - suspect->place->n_alloc / LADDER_ODD;
  return rungs >= LADDER_RUNGS && is_all ? foot : 0;
}

static void find_reserve(const struct tide_subject *subject, const struct tide_suspect *suspect,
                         int64_t calls, int64_t containers)
{
  const struct tide_group *place = suspect->place;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_RESERVE, suspect, TIDE_CONFIDENCE_MEDIUM, calls);
  tide_finding_saves(finding, TIDE_AT_MOST);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_CONTAINERS, containers);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_RESIZES, calls);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_RESIZES_PER_BLOCK, tide_mean(calls, containers));
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ALL_ALLOCATIONS,
                    (int64_t)subject->profile->totals.n_alloc);
  if (place->n_resize)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_COPIED_BYTES, (int64_t)place->b_moved);
}

static void look_for_reserve(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t containers = n_resized_blocks(subject, suspect);
  int64_t calls = (int64_t)place->n_resize;
  if (!calls) {
    containers = (int64_t)ladder_foot(suspect);
    calls = containers ? (int64_t)place->n_alloc - containers : 0;
  }
  // Those that come from elsewhere are another's: a library's buffer, which nobody can reserve.
  bool is_from_here = !place->n_resize || place->n_alloc > place->n_resize;
  if (!containers || !is_from_here || calls < RESERVE_CALLS ||
      calls / containers < RESERVE_PER_BLOCK || calls / containers > RESERVE_MOST_PER_BLOCK ||
      calls < (int64_t)subject->profile->totals.n_alloc / RESERVE_OF_CALLS)
    return;
  find_reserve(subject, suspect, calls, containers);
}

// How many blocks of a place are larger than what malloc maps apart, where their sizes climb past
// that without a gap, each as often as the one below or less. 0: they do not.
static int64_t n_climbed(const struct tide_suspect *suspect)
{
  const uint64_t *sizes = suspect->sizes;
  unsigned top = CROSSING_BUCKET - CROSSING_BELOW;
  uint64_t n = 0;
  if (!sizes[top])
    return 0;
  for (top++; top < TIDE_SIZE_BUCKETS_N && sizes[top]; top++) {
    if (sizes[top] > sizes[top - 1] + sizes[top - 1] / 2)
      return 0;
    n += top >= CROSSING_BUCKET ? sizes[top] : 0;
  }
  return top >= CROSSING_BUCKET + CROSSING_ABOVE && n < INT64_MAX ? (int64_t)n : 0;
}

// When it grew past that size: from the first look that saw more than that, up to the last growth.
static void tell_when_crossed(const struct tide_subject *subject,
                              const struct tide_suspect *suspect, struct tide_finding *finding)
{
  struct tide_growth growth;
  const struct tide_growth_step *since = NULL;
  tide_groups_growth(subject->groups, subject->image, suspect->group_idx, &growth);
  for (size_t i = 0; i < growth.n && !since; i++)
    since =
        growth.steps[i].rose > 0 && growth.steps[i].held > MAPPED_BYTES ? &growth.steps[i] : NULL;
  if (since && growth.last->time_ns > since->time_ns && since->time_ns >= subject->start_ns) {
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_SINCE_NS,
                      (int64_t)(since->time_ns - subject->start_ns));
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_UNTIL_NS,
                      (int64_t)(growth.last->time_ns - subject->start_ns));
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_LARGEST_STEP_BYTES, growth.largest->rose);
  }
  tide_growth_done(&growth);
}

// Blocks that are resized in place, or moved by their page tables, cost nobody a copy. Of those
// that are allocated anew, all but the last of each container were copied: half of what was
// allocated.
static void look_for_crossing(const struct tide_subject *subject,
                              const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  uint64_t copied = place->n_resize ? place->b_moved : place->b_alloc / 2;
  bool is_known = tide_image_is_glibc(subject->image); // others map as they like
  int64_t n = is_known && copied >= STEPS_COPIED ? n_climbed(suspect) : 0;
  if (!n)
    return;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_CROSSING, suspect, TIDE_CONFIDENCE_LOW, (int64_t)copied);
  tide_finding_saves(finding, TIDE_AT_MOST);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ALLOCATIONS, (int64_t)place->n_alloc);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_MAPPED, n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_COPIED_BYTES, (int64_t)copied);
  if (place->n_resize)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_RESIZES, (int64_t)place->n_resize);
  tell_when_crossed(subject, suspect, finding);
}

// ---- temporaries ----

// The processor time of the program without the recorder; where nobody knows it, the time that it
// ran, which is more unless several threads work.
static int64_t own_cpu_ns(const struct tide_subject *subject)
{
  const struct tide_image *image = subject->image;
  uint64_t ran = image->cpu_ns ? image->cpu_ns : subject->run_ns;
  uint64_t own = ran > image->recorder_ns ? ran - image->recorder_ns : 0;
  return own > 1ull << 60 ? 0 : (int64_t)own;
}

static void look_for_temporaries(const struct tide_subject *subject,
                                 const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t n = (int64_t)place->n_temp, all = (int64_t)subject->profile->totals.n_alloc;
  int64_t cpu_ns = own_cpu_ns(subject);
  if (n < LEAST_CALLS || n < (int64_t)place->n_alloc / 100 * TEMPORARY_PERCENT ||
      n < all / TEMPORARY_OF_CALLS || cpu_ns / n > TEMPORARY_EVERY_NS)
    return;
  bool is_one_size = tide_suspect_n_sizes(suspect) == 1;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_TEMPORARY, suspect,
                        is_one_size ? TIDE_CONFIDENCE_HIGH : TIDE_CONFIDENCE_MEDIUM, n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_TEMPORARY, n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ALLOCATIONS, (int64_t)place->n_alloc);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ALL_ALLOCATIONS, all);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCK_BYTES,
                    tide_mean((int64_t)place->b_alloc, (int64_t)place->n_alloc));
  if (cpu_ns)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_EVERY_NS, cpu_ns / n);
  if (subject->image->cpu_ns)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_CPU_NS, cpu_ns);
}

void tide_rules_of_calls(const struct tide_subject *subject)
{
  for (size_t i = 0; i < subject->n_suspects; i++) {
    look_for_steps(subject, &subject->suspects[i]);
    look_for_reserve(subject, &subject->suspects[i]);
    look_for_crossing(subject, &subject->suspects[i]);
    look_for_temporaries(subject, &subject->suspects[i]);
  }
}
