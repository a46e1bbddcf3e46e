// SPDX-License-Identifier: Apache-2.0
//
// What is held for long, for many, or for nothing: blocks from the start, blocks for each instance,
// capacity that was never touched, and what an item costs.
#define _GNU_SOURCE
#include "findings/subject.h"

#include <string.h>
#include <strings.h>

// ---- from the start to the end ----

static void look_for_early(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  const struct tide_image *image = subject->image;
  int64_t bytes = place->peak_bytes, last = suspect->course.live_bytes[MOMENTS - 1];
  if (!subject->has_course || bytes < EARLY_BYTES || bytes < subject->peak_bytes / EARLY_OF_PEAK ||
      last < bytes / 100 * KEPT_PERCENT ||
      place->last_ns > subject->start_ns + subject->run_ns / EARLY_PART ||
      image->peak_ns < place->last_ns ||
      image->peak_ns - place->last_ns < subject->run_ns / EARLY_PART)
    return;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_EARLY, suspect, TIDE_CONFIDENCE_LOW, bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, place->peak_blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_UNTIL_NS,
                    (int64_t)(place->last_ns - subject->start_ns));
}

// ---- instances ----
//
// A place that makes several blocks for each connection, request or other instance has as many of
// each kind at the peak: every stack of it the same number, all of one size.

struct instances {
  int64_t n, n_stacks; // instances, and the blocks of each
  int64_t bytes;       // of all
};

static bool are_as_many(int64_t blocks, int64_t n)
{
  return blocks >= n - n / BUDGET_ALIKE && blocks <= n + n / BUDGET_ALIKE;
}

static bool is_of_one_size(const struct tide_subject *subject, const struct tide_profile_site *site)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
  unsigned n = 0;
  tide_profile_site_histograms(subject->profile, site, sizes, lives);
  for (unsigned i = 0; i < TIDE_SIZE_BUCKETS_N; i++)
    n += sizes[i] > 0;
  return n == 1 && !TIDE_OF_SITE(site, n_resize);
}

// What is of other numbers may be a fiftieth of the bytes: what was allocated once beside them.
static bool has_instances(const struct tide_subject *subject, const struct tide_suspect *suspect,
                          struct instances *ret_instances)
{
  const struct tide_groups *groups = subject->groups;
  const uint32_t *sites = groups->sites + groups->first[suspect->group_idx];
  size_t n_sites = groups->first[suspect->group_idx + 1] - groups->first[suspect->group_idx];
  struct instances found = {0};
  int64_t most = 0;
  for (size_t i = 0; i < n_sites; i++) {
    const struct tide_profile_site *site = &subject->profile->sites[sites[i]];
    if (TIDE_OF_SITE(site, peak_bytes) > most) {
      most = TIDE_OF_SITE(site, peak_bytes);
      found.n = TIDE_OF_SITE(site, peak_blocks);
    }
  }
  if (found.n < EACH_BLOCKS)
    return false;
  for (size_t i = 0; i < n_sites; i++) {
    const struct tide_profile_site *site = &subject->profile->sites[sites[i]];
    if (!are_as_many(TIDE_OF_SITE(site, peak_blocks), found.n) || !is_of_one_size(subject, site))
      continue;
    found.n_stacks++;
    found.bytes = tide_added(found.bytes, TIDE_OF_SITE(site, peak_bytes));
  }
  *ret_instances = found;
  return found.n_stacks > 1 &&
         found.bytes >= suspect->place->peak_bytes - suspect->place->peak_bytes / BUDGET_ALIKE;
}

// ---- never touched ----
//
// How much of the heap was never in memory is known of all of it at once. But only large blocks can
// hide an untouched page: what those of all other places together cannot hide is this place's.
//
// Of the largest the recorder asks when they are freed (store/touch.h), so of each place it is
// known what it used of them, also where they came and went between two looks.

static void tell_instances(const struct tide_subject *subject, const struct tide_suspect *suspect,
                           struct tide_finding *finding)
{
  struct instances found;
  if (subject->image->lacks & TIDE_LACK_SIZE_HIST || !has_instances(subject, suspect, &found))
    return;
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ITEMS, found.n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PLACES, found.n_stacks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ITEM_BYTES, found.bytes / found.n);
}

static int64_t could_hide(const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t each = tide_mean(place->peak_bytes, place->peak_blocks);
  return each >= LARGE_BLOCK ? place->peak_bytes : 0;
}

static const struct tide_suspect *look_for_untouched(const struct tide_subject *subject)
{
  const struct tide_image *image = subject->image;
  const struct tide_suspect *most = NULL;
  int64_t all = 0, untouched = (int64_t)image->untouched_bytes;
  if (!image->has_resident || image->resident_is_lost || untouched < EARLY_BYTES ||
      untouched < subject->peak_bytes / UNTOUCHED_OF_PEAK || untouched > subject->peak_bytes ||
      image->swapped_bytes)
    return NULL;
  for (size_t i = 0; i < subject->n_suspects; i++) {
    int64_t mine = could_hide(&subject->suspects[i]);
    all = tide_added(all, mine);
    if (mine && (!most || mine > could_hide(most)))
      most = &subject->suspects[i];
  }
  if (!most)
    return NULL;
  int64_t least = untouched - (all - could_hide(most));
  if (least < untouched / 2 || least < subject->peak_bytes / UNTOUCHED_OF_PEAK)
    return NULL;
  least = least < most->place->peak_bytes ? least : most->place->peak_bytes;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_UNTOUCHED, most, TIDE_CONFIDENCE_HIGH, least);
  tide_finding_saves(finding, TIDE_AT_LEAST);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, most->place->peak_blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, most->place->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCK_BYTES,
                    tide_mean(most->place->peak_bytes, most->place->peak_blocks));
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_UNTOUCHED_BYTES, untouched);
  tell_instances(subject, most, finding);
  return most;
}

// What it held at the peak and did not use, if those that were looked at are like the others.
static int64_t unused_bytes(const struct tide_group *place)
{
  double used = (double)place->b_touched / (double)place->b_looked;
  return used < 1 ? (int64_t)((double)place->peak_bytes * (1 - used)) : 0;
}

static void look_for_unused(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  bool all_seen = place->n_looked >= place->n_free;
  if (!subject->image->has_touches || subject->image->swapped_bytes || !place->n_looked ||
      (!all_seen && place->n_looked < LEAST_BLOCKS) ||
      place->b_touched > place->b_looked / UNUSED_PART ||
      tide_mean(place->peak_bytes, place->peak_blocks) < LOOKED_BLOCK)
    return;
  int64_t unused = unused_bytes(place);
  if (unused < EARLY_BYTES || unused < subject->peak_bytes / UNTOUCHED_OF_PEAK)
    return;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_UNTOUCHED, suspect,
                        all_seen ? TIDE_CONFIDENCE_HIGH : TIDE_CONFIDENCE_MEDIUM, unused);
  tide_finding_saves(finding, TIDE_ESTIMATED);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, place->peak_blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, place->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_LOOKED_BLOCKS, (int64_t)place->n_looked);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_LOOKED_BYTES,
                    (int64_t)(place->b_looked / place->n_looked));
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_TOUCHED_BYTES,
                    (int64_t)(place->b_touched / place->n_looked));
}

// ---- for each ----

// What an instance is, by the name of the function or type that makes it.
static const char *instance_noun(const struct tide_subject *subject,
                                 const struct tide_suspect *suspect)
{
  static const char *const nouns[] = {"connection", "client", "session", "request", "peer",
                                      "worker",     "thread", "task",    "stream",  "socket",
                                      "channel",    "job",    "user",    "actor"};
  const char *function = suspect->place->frame->function;
  for (size_t i = 0; function && i < sizeof nouns / sizeof *nouns; i++)
    if (strcasestr(function, nouns[i]))
      return nouns[i];
  bool by_thread = !(subject->image->lacks & TIDE_LACK_THREADS) && suspect->n_threads >= 4 &&
                   (uint64_t)suspect->place->peak_blocks <= suspect->n_threads;
  return by_thread ? "thread" : NULL;
}

static void look_for_each(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  const char *noun = instance_noun(subject, suspect);
  struct instances found;
  bool is_several = has_instances(subject, suspect, &found);
  int64_t n = is_several ? found.n : place->peak_blocks;
  int64_t each = is_several ? found.bytes / found.n : tide_mean(place->peak_bytes, n);
  int64_t least = noun && !strcmp(noun, "thread") ? EACH_BLOCKS / 4 : EACH_BLOCKS;
  if (n < least || each < EACH_BYTES || place->peak_bytes < LEAST_BYTES ||
      place->peak_bytes < subject->peak_bytes / EACH_OF_PEAK ||
      (!is_several && (tide_suspect_n_sizes(suspect) != 1 || place->n_resize)))
    return;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_EACH, suspect, TIDE_CONFIDENCE_LOW, place->peak_bytes);
  finding->noun = noun;
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCK_BYTES, each);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, place->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  if (is_several)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_PLACES, found.n_stacks);
  if (suspect->n_threads > 1)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_THREADS, (int64_t)suspect->n_threads);
}

// ---- what an item costs ----
//
// Places with the same number of blocks at the peak allocate for the same items.

static bool is_of_items(const struct tide_suspect *suspect, int64_t n)
{
  return are_as_many(suspect->place->peak_blocks, n);
}

static void look_for_budget(const struct tide_subject *subject)
{
  const struct tide_suspect *first = NULL;
  int64_t bytes = 0, n_places = 0;
  for (size_t i = 0; i < subject->n_suspects; i++)
    if (!first || subject->suspects[i].place->peak_bytes > first->place->peak_bytes)
      first = &subject->suspects[i];
  if (!first || first->place->peak_blocks < BUDGET_BLOCKS)
    return;
  int64_t n = first->place->peak_blocks;
  for (size_t i = 0; i < subject->n_suspects; i++) {
    if (!is_of_items(&subject->suspects[i], n))
      continue;
    bytes = tide_added(bytes, subject->suspects[i].place->peak_bytes);
    n_places++;
  }
  if (bytes < LEAST_BYTES || bytes < subject->peak_bytes / BUDGET_OF_PEAK)
    return;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_BUDGET, first, TIDE_CONFIDENCE_LOW, bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PLACES, n_places);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ITEM_BYTES, bytes / n);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
}

void tide_rules_of_capacity(const struct tide_subject *subject)
{
  const struct tide_suspect *told = look_for_untouched(subject);
  for (size_t i = 0; i < subject->n_suspects; i++) {
    if (!told || told != &subject->suspects[i])
      look_for_unused(subject, &subject->suspects[i]);
    look_for_early(subject, &subject->suspects[i]);
    look_for_each(subject, &subject->suspects[i]);
  }
  look_for_budget(subject);
}
